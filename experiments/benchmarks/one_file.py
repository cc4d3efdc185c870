"""A model in one HTML file against Python: size, time, probabilities, words. Needs Chromium and Playwright.

limelight demo --out demo && python experiments/benchmarks/one_file.py demo/model --data DATA/tweets.parquet DATA/...
"""

from __future__ import annotations

import argparse
import itertools
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from limelight.bundled import sentences
from limelight.runtime.model import Model
from limelight.serve import save_page
from limelight.tables.columns import choose_columns
from limelight.tables.rows import TableRows

SENTENCE = (
    "the movie was not as good as i had hoped it would be , and the actors were bad , "
    "but the music was lovely and i cried a bit"
)
TIME = """async ([text, pair]) => {
    const model = limelight.model, texts = pair ? [text, text] : [text], times = [[], []]
    for (let k = 0; k < 30; k++) {
        model.network.inputs.clear()
        for (const found of times) {
            const start = performance.now()
            await model.read(texts)
            found.push(performance.now() - start)
        }
    }
    return times.map(found => [found.sort((a, b) => a - b)[15], found[0]])
}"""
READ = """async texts => {
    const found = []
    for (const each of texts) found.push(await limelight.model.read(each))
    const isKept = word => word.known && !word.readAs
    return found.map(each => [each.probabilities, each.sides.map(side => side.words.map(isKept))])
}"""
SPLIT = (
    "texts => texts.map(text => limelight.model.tokenizer.locate(text).map(word => [word.start, word.end]))"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="folder of a saved model")
    parser.add_argument("--words", type=int, nargs="*", default=[0], help="0: as many as fit into 5 MB")
    parser.add_argument("--precision", default="float16")
    parser.add_argument("--texts", type=int, default=2000, help="bundled test sentences to predict")
    parser.add_argument("--data", nargs="*", default=[], help="tables whose texts are split into words")
    parser.add_argument("--split", type=int, default=10_000, help="texts to split, of all tables together")
    args = parser.parse_args()
    model = Model.load(args.model)
    for words in args.words:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "page.html")
            kept = save_page(model, file, words=words or None, precision=args.precision)
            print(f"{file.stat().st_size / 1e6:.2f} MB, {kept:,} of {len(model.tokenizer) - 2:,} words")
            with opened(file) as page:
                print_times(page, model)
                print_probabilities(page, model, args.texts)
                if args.data:
                    print_words(page, model, args.data, args.split)


@contextmanager
def opened(file: Path) -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(file.as_uri())
        page.wait_for_selector(".bars li", state="attached")
        yield page
        browser.close()


def print_times(page: Any, model: Model) -> None:
    n = len(model.tokenizer.split(SENTENCE))
    (first, first_best), (again, again_best) = page.evaluate(TIME, [SENTENCE, model.pair])
    best = f"best: {first_best:.1f}, {again_best:.1f}"
    print(f"  {n} words: {first:.1f} ms, with its words read before {again:.1f} ms ({best})")


def print_probabilities(page: Any, model: Model, count: int) -> None:
    """Texts whose known words are all in the page must agree; others cannot."""
    texts = [*map(list, zip(*[iter(sentences("test")[0][:count])] * (1 + model.pair), strict=False))]
    readings = model.read_many(*map(list, zip(*texts, strict=True)))
    differences, whole, same = [], [], 0
    for reading, (P, known) in zip(readings, page.evaluate(READ, texts), strict=True):
        differences.append(np.abs(reading.probabilities - P).max())
        whole.append(all(side.known.tolist() == k for side, k in zip(reading.sides, known, strict=True)))
        same += int(np.argmax(P) == reading.probabilities.argmax())
    found, is_whole = np.array(differences), np.array(whole)
    print(f"  {is_whole.sum():,} of {len(texts):,} texts have no dropped word: largest difference "
          f"{found[is_whole].max(initial=0):.1e}")  # fmt: skip
    print(f"  all texts: mean difference {found.mean():.4f}, the same label for {same / len(texts):.1%}")


def print_words(page: Any, model: Model, tables: list[str], count: int) -> None:
    texts = list(itertools.chain.from_iterable(some_texts(table, count // len(tables)) for table in tables))
    differ = words = 0
    for start in range(0, len(texts), 500):
        chunk = texts[start : start + 500]
        for text, found in zip(chunk, page.evaluate(SPLIT, chunk), strict=True):
            units = np.cumsum([0, *(1 + (ord(letter) > 0xFFFF) for letter in text)])  # UTF-16
            expected = units[model.tokenizer.locate(text)[1]].tolist()
            words += len(expected)
            differ += expected != found
    others = len(texts) - sum(map(str.isascii, texts))
    print(f"  {len(texts):,} texts ({others:,} not ASCII), {words:,} words: {differ} texts differ")


def some_texts(table: str, count: int) -> list[str]:
    """Half of them chosen among those that are not ASCII, as far as there are such."""
    columns = choose_columns(table, None, None, None, need_label=False, pair=False)
    rows = itertools.islice(TableRows(table, columns, on_bad="skip"), 100_000)
    texts = [row.text for row in rows]
    random.Random(0).shuffle(texts)
    texts.sort(key=str.isascii)
    half = texts[: count // 2]
    return half + random.Random(1).sample(texts[count // 2 :], min(count - len(half), len(texts) - len(half)))


if __name__ == "__main__":
    main()
