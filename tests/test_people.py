"""What people marked beside what a model names: the measures, on examples made by hand."""

from __future__ import annotations

import doctest
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import trained

BENCHMARKS = Path(__file__).parents[1] / "experiments" / "benchmarks"


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    found = import_module("people")
    monkeypatch.setattr(found, "minilm", lambda int8=False: None)
    return found


def reading(*words: tuple[int, int]) -> SimpleNamespace:
    return SimpleNamespace(offsets=np.array(words))


def test_the_examples_of_the_measures(people):
    found = doctest.testmod(people, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0
    assert found.attempted > 6


def test_average_precision_counts_each_marked_one_at_its_rank(people):
    marked = np.array([True, False, False, True, False])
    assert people.precision(marked, np.array([5.0, 4, 3, 2, 1])) == pytest.approx((1 / 1 + 2 / 4) / 2)
    assert people.precision(marked, np.array([1.0, 2, 3, 4, 5])) == pytest.approx((1 / 2 + 2 / 5) / 2)
    assert people.precision(marked, np.zeros(5)) == pytest.approx(2 / 5)


def test_a_token_has_the_sum_of_its_words_and_a_pair_their_mean(people):
    spans = people.token_spans("don't stop  -- ok")
    words = np.array([[0, 2], [2, 5], [6, 10], [15, 17]])
    assert (people.overlaps(spans, words) @ np.array([1.0, 2, 4, 8])).tolist() == [3, 4, 0, 8]
    assert (people.shares(spans, words) @ np.array([1.0, 2, 4, 8])).tolist() == [1.5, 4, 0, 8]


def test_marks_of_a_movie_end_where_the_model_stops_reading(people):
    row = {"text": "not a good film at all", "evidence": [[0, 1], [2, 4]]}
    marked, words = people.movie_marks(row, reading((0, 3), (4, 5), (6, 10)))
    assert marked.tolist() == [True, False, True]
    np.testing.assert_array_equal(words, np.eye(3))


def test_two_of_three_people_mark_a_word_and_of_a_neutral_pair_only_the_hypothesis(people):
    row = {
        "premise": "A cat", "hypothesis": "Two dogs", "label": "contradiction",
        "premise_highlights": [[1], [1], []], "hypothesis_highlights": [[0, 1], [1], []],
    }  # fmt: skip
    pair = SimpleNamespace(sides=(reading((0, 1), (2, 5)), reading((0, 3), (4, 8))))
    marked, words = people.pair_marks(row, pair)
    assert marked.tolist() == [False, True, False, True]
    np.testing.assert_array_equal(words, np.eye(4))
    marked, words = people.pair_marks(row | {"label": "neutral"}, pair)
    assert marked.tolist() == [False, True]
    np.testing.assert_array_equal(words, np.eye(4)[2:])


def aligned_row(first: str, second: str, places: list[int]) -> dict[str, object]:
    aligned = [{"first": [k], "second": [k], "type": "EQUI"} for k in places]
    none = {"first": [0], "second": [0], "type": "NOALI"}
    sides = {"first": first.split(), "second": second.split()}
    return {"source": "images", **sides, "alignments": [*aligned, none]}


def test_ists_prints_a_row_for_each_score(people, monkeypatch, capsys, tmp_path):
    rows = [
        aligned_row("Dogs bark", "Dogs sleep", [0]),
        aligned_row("A dog", "Some cats", []),
        aligned_row("a", "a", [0]),
    ]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows[:1] * 4 + rows), tmp_path / "ists.parquet")
    monkeypatch.setattr(sys, "argv", ["people.py", "ists", str(tmp_path / "ists.parquet")])
    monkeypatch.setattr(people, "lines_that_agree", lambda rows: (2 / 3, len(rows)))
    people.main()
    lines = capsys.readouterr().out.splitlines()
    assert "all (5)" in lines[0]
    figures = {line.split(" | ")[0]: line.split(" | ")[3] for line in lines[2:-1]}
    assert figures == {
        "| chance": "0.250", "| the same word": "1.000", "| reader: `matrix`": "1.000",
        "| reader: `together`": "1.000",
    }  # fmt: skip
    assert lines[-1] == "a picture has 5.0 lines; 66.7% of them join words that people aligned"


def test_lines_of_a_picture_that_join_words_people_aligned(people):
    twice = [aligned_row("Dogs bark", "Dogs bark", places) for places in ([0, 1], [0])]
    assert people.lines_that_agree(twice[:1]) == (1.0, 2.0)
    assert people.lines_that_agree(twice) == (0.75, 2.0)


def test_movies_and_three_print_a_row_for_each_method(people, monkeypatch, capsys, tmp_path):
    model = str(trained.save(tmp_path / "model"))
    rows = [{"text": text, "label": "0", "evidence": [[0, 1]]} for text in ("w1 w2 w3", "w3 w1 w4 w5")]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "movies.parquet")
    monkeypatch.setattr(people, "sentences", lambda split: (["w1 w2", "w3 w4 w1", "w5"], []))
    methods = ["--methods", "effect", "attention", "leave-one-out"]
    for kind, paths in (("movies", [model, str(tmp_path / "movies.parquet")]), ("three", [model])):
        monkeypatch.setattr(sys, "argv", ["people.py", kind, *paths, *methods])
        people.main()
        names = [line.split(" | ")[0][2:] for line in capsys.readouterr().out.splitlines()]
        at = names.index("chance")
        assert names[at : at + 4] == ["chance", "What decided", "Overall attention", "Leave one out"]


def test_esnli_explains_the_prediction_and_the_label_people_explained(people, monkeypatch, capsys, tmp_path):
    model = str(trained.save(tmp_path / "model", pair="gated"))
    row = {"premise": "w1 w2 w3", "hypothesis": "w4 w5", "premise_highlights": [[0]] * 3}
    rows = [row | {"hypothesis_highlights": [[1]] * 3, "label": label} for label in trained.LABELS]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "esnli.parquet")
    arguments = ["people.py", "esnli", model, str(tmp_path / "esnli.parquet"), "--methods", "effect"]
    monkeypatch.setattr(sys, "argv", arguments)
    people.main()
    head, _, _, effect, given = (line.split(" | ") for line in capsys.readouterr().out.splitlines())
    assert head[1:3] == ["all (3)", "where right (1)"]
    assert effect[2] == given[2]  # where both are the same
