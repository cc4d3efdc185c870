"""The vectors of neighbours follow their definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from experiments.paper.neighbours import fill_from_neighbours, start_from_neighbours
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.config.recipe import TextRecipe
from limelight.text.dataset import Split
from limelight.text.encode import encode_texts

FOUND = np.array([False, False, True, True, True, True, False, True, False])
MATRIX = np.random.default_rng(0).normal(size=(len(FOUND), 5)).astype(np.float32)


def neighbours_by_hand(sentences: list[list[int]], word: int) -> np.ndarray | None:
    beside = [
        sentence[j]
        for sentence in sentences
        for i, w in enumerate(sentence)
        for j in (i - 1, i + 1)
        if w == word and 0 <= j < len(sentence) and FOUND[sentence[j]]
    ]
    return MATRIX[beside].astype(np.float64).mean(axis=0) if beside else None


def split_of(sentences: list[list[int]], second: list[list[int]] | None = None) -> Split:
    def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([i for r in rows for i in r], np.uint16), np.array([len(r) for r in rows], np.int32)

    return Split(*flat(sentences), None, None, *(flat(second) if second else ()))


sentence_lists = st.lists(
    st.lists(st.integers(1, len(FOUND) - 1), min_size=1, max_size=6), min_size=1, max_size=6
)


@examples(60)
@given(sentence_lists, st.none() | sentence_lists)
def test_neighbours_equal_the_plain_definition(
    first: list[list[int]], second: list[list[int]] | None
) -> None:
    got = MATRIX.copy()
    fill_from_neighbours(got, FOUND, split_of(first, second))
    for word in range(len(FOUND)):
        mean = neighbours_by_hand(first + (second or []), word) if word > 1 and not FOUND[word] else None
        np.testing.assert_allclose(got[word], MATRIX[word] if mean is None else mean, rtol=1e-5, atol=1e-7)


def test_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("soup 1 2 3\npie 4 5 6\n")
    recipe = TextRecipe(vectors=str(tmp_path / "glove.txt"))
    texts, labels = ["fine pie", "cold soup", "fine pie", "cold soup"], [1, 0] * 2
    dataset = encode_texts(texts, labels, recipe=recipe, holdout=0)
    dataset = start_from_neighbours(dataset, recipe.vectors, seed=0)
    assert dataset.vectors is not None
    row = dict(zip(dataset.tokenizer.vocabulary, dataset.vectors.tolist(), strict=True))
    assert (row["fine"], row["cold"], row["soup"]) == ([4, 5, 6], [1, 2, 3], [1, 2, 3])
