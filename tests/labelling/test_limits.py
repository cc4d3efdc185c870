"""The limits of a labelling: what holds on either side of each."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from labelling.test_groups import reference_centres
from labelling.test_health_rules import EvenReader
from labelling.test_session import ToyReader, make_texts, start
from limelight.labelling import groups
from limelight.labelling.groups import Grouping, find_centres
from limelight.labelling.health import (
    Duplicate,
    Health,
    Suspect,
    TextIssue,
    _Found,
    check,
    health_page,
    other_languages,
    save_health,
)
from limelight.labelling.learner import Estimate, Learner, Surroundings, advise, uncertain
from limelight.labelling.left_out import Judged, find_neighbours
from limelight.labelling.people import Assigned
from limelight.labelling.refit import Fitted
from limelight.labelling.vectors import HEADER, VectorCache
from refusing import refuses

# ---------------------------------------------------------------- what is before whom


def test_a_tab_has_the_last_twenty_texts_for_fifty_events():
    assigned, ann, ben = Assigned(), ("ann", "1"), ("ben", "1")
    assigned.give(ann, [(row, "auto") for row in range(20)], events=0)
    assert assigned.to_others(ben, events=49) == list(range(20))
    assigned.give(ann, [(20, "random")], events=10)
    assert assigned.to_others(ben, events=49) == list(range(1, 21))
    assert assigned.to_others(ben, events=50) == [20]
    assert assigned.to_others(ann, events=49) == []
    assert [assigned.how_chosen(row, "ann") for row in (0, 1, 20)] == ["picked", "auto", "random"]
    assert assigned.how_chosen(1, "ben") == "picked"


def test_a_text_about_which_something_was_said_is_before_nobody():
    assigned, ann, ben = Assigned(), ("ann", "1"), ("ben", "1")
    assigned.give(ann, [(1, "auto"), (2, "auto")], events=0)
    assigned.give(ben, [(2, "random")], events=0)
    assigned.take_back([2, 9])  # nobody has the ninth
    assert (assigned.to_others(ben, 0), assigned.to_others(ann, 0)) == ([1], [])
    assert assigned.how_chosen(2, "ben") == "picked"


# ---------------------------------------------------------------- what is chosen


def test_an_interval_of_a_fifth_is_not_too_wide():
    assert (
        advise(Estimate(10, 100, 0.0, 0.2), 100) == "Where the curve no longer rises, more labels add little."
    )
    rough = "The estimate is rough: go on, more texts drawn at random are needed."
    assert advise(Estimate(10, 100, 0.0, 0.2001), 100) == rough


def test_a_model_of_one_class_is_uncertain_of_everything_and_nothing_overflows():
    assert uncertain(np.array([[5.0], [-3.0]]), several=False).tolist() == [1, 1]
    assert uncertain(np.array([[50.0, 0], [1e6, 0]]), several=False) == pytest.approx(2 / (1 + np.exp(50)))


def gain(X: np.ndarray, measured: np.ndarray, directions: int) -> np.ndarray:
    """By the plain formula in the directions in which the texts vary most, of one labelled text, the last."""
    D = X - measured.mean(axis=0)
    _, U = np.linalg.eigh(np.cov(measured.T))
    D = D @ U[:, ::-1][:, :directions]
    V = np.linalg.inv(np.eye(directions) + np.outer(D[-1], D[-1]) / 0.3)
    return np.array([np.sum((D @ V @ d) ** 2) / (0.3 + d @ V @ d) for d in D])


def test_texts_vary_in_64_directions_measured_on_two_thousand():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(80, 70)) * np.linspace(1, 0.5, 70)
    found = Surroundings(X, np.arange(80)).gain(np.arange(80), np.ones(80), np.array([79]))
    np.testing.assert_allclose(found, gain(X, X, 64), rtol=1e-3)
    X = draw.normal(size=(2001, 3))
    X[2000] *= 1000
    found = Surroundings(X, np.arange(2001)).gain(np.arange(9), np.ones(9), np.array([8]))
    np.testing.assert_allclose(found, gain(X[:9], X[:2000], 3), rtol=1e-3)


@pytest.mark.parametrize(("best", "found"), [(1999, 1999), (2000, 0)])
def test_the_next_text_is_chosen_from_the_first_two_thousand(best, found):
    matrix = np.zeros((2001, 2), np.float32)
    matrix[:, 0], matrix[best] = 1, [0, 1]
    about = {"order": np.arange(2001), "is_read": np.ones(2001, bool), "ready": 2001, "reader": None}
    learner = Learner(SimpleNamespace(matrix=matrix, **about), [""] * 2001, several=False)
    learner.fitted = Fitted(np.array([[9.0, 0], [0, 0]]), np.zeros(2), 1.0, False, np.zeros((0, 2)))
    learner._around, learner.drawn = Surroundings(matrix, np.arange(2001)), np.ones(9, bool)
    assert learner.choose(np.ones(2001, bool), "auto", 1) == [(found, "auto")]


def test_a_model_to_start_from_is_asked_about_five_hundred_texts():
    asked: list[int] = []

    class Model:
        labels = ("food", "staff")

        def predict_proba(self, texts: list[str]) -> np.ndarray:
            asked.append(len(texts))
            return np.full((len(texts), 2), 0.5)

    start(make_texts(501)[0], model=Model()).progress()
    assert asked == [500]


def test_marked_words_count_for_half_a_text():
    session = start(make_texts(6)[0])
    session.label(0, "food", marks=[(4, 7)])
    session.progress()
    places, vectors, weight = session._learner._marked(session._state, session.texts)
    assert (places.tolist(), weight) == ([0], 0.5)
    np.testing.assert_allclose(vectors, ToyReader().encode([session.texts[0][4:7]]))


def test_distances_are_measured_again_when_twice_as_many_texts_are_read_and_when_all_are():
    matrix = np.random.default_rng(0).normal(size=(5000, 2)).astype(np.float32)
    vectors: Any = SimpleNamespace(matrix=matrix, order=np.arange(45), ready=0)
    learner = Learner(vectors, [""] * 45, several=False)
    looked = []
    for vectors.ready in (0, 10, 10, 19, 20, 39, 40, 44, 45, 45):
        looked.append(learner._look_around())
    assert looked == [False, True, False, False, True, False, True, False, True, False]
    np.testing.assert_allclose(learner.space.centre, matrix[:45].mean(axis=0), atol=1e-6)
    vectors.order = np.arange(5000)
    learner = Learner(vectors, [""] * 5000, several=False)
    found = []
    for vectors.ready in (2500, 3999, 4000, 5000):
        found.append(learner._look_around())
    assert found == [True, False, True, False]  # four thousand are enough


# ---------------------------------------------------------------- groups


def test_a_group_shows_five_examples_labelled_or_not():
    inside, is_open = [list(range(10, 40)), [5, 1, 2, 3, 4, 6]], np.ones(40, bool)
    is_open[[10, 11, 1]] = False
    grouping = Grouping((40, None), inside[::-1], [("small",), ("large", "one")])
    large, small = grouping.with_labels({10: ("a", "b"), 11: ("b",), 1: ("a",), 0: ("c",)}, is_open)
    rows, shown = list(range(12, 40)), [10, 11, 12, 13, 14]
    assert large == (0, "large, one", ("large", "one"), rows, {"a": 1, "b": 2}, shown)
    assert small == (1, "small", ("small",), [5, 2, 3, 4, 6], {"a": 1}, [5, 1, 2, 3, 4])


@pytest.mark.parametrize(("count", "made"), [(None, 55), (7, 7), (5000, 3001)])
def test_centres_are_found_with_three_thousand_texts(monkeypatch, count, made):
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(groups, "find_centres", lambda X, n: seen.append((len(X), n)) or X[:2])
    Grouping.of(np.eye(2)[np.arange(3001) % 2], np.arange(3001), ["x"] * 3001, count)
    assert seen == [(3000, made)]


def test_twelve_rounds_make_the_centres():
    """Points spread over a circle: their centres still move then."""
    turn = np.sort(np.random.default_rng(0).uniform(0, np.pi / 2, 200))
    X = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    expected = reference_centres(X, 6)
    np.testing.assert_allclose(find_centres(X, 6), expected, atol=1e-9)
    own = (X @ expected.T).argmax(axis=1)
    after = np.array([X[own == k].mean(axis=0) for k in range(6)])
    assert np.abs(after / np.linalg.norm(after, axis=1, keepdims=True) - expected).max() > 1e-3


# ---------------------------------------------------------------- the health of a table


def test_a_label_is_suspected_below_three_hundredths_or_a_tenth_beside_a_clear_class():
    def suspected(*P: float) -> bool:
        Y, first = np.array([[*P, 0, 0]] * 5), np.zeros(5, int)
        return bool(Judged(Y, Y, np.eye(5)).suspected(first)[0])

    assert not suspected(0.0075, 0.79, 0.2025)  # times the other four classes: 0.03
    assert suspected(0.0074, 0.79, 0.2026)
    assert suspected(0.0249, 0.8, 0.1751)
    assert not suspected(0.0249, 0.79, 0.1851)
    assert not suspected(0.025, 0.8, 0.175)


def rule(P: np.ndarray, y: np.ndarray, suspected: bool = False) -> _Found:
    """Of texts in two places, each class further against every word than the one before."""
    X = np.tile(np.eye(2, dtype=np.float32), (-(-len(y) // 2), 1))[: len(y)]
    W, names = -np.arange(P.shape[1])[:, None] * np.ones(2), [f"c{k}" for k in range(P.shape[1])]
    judged: Any = SimpleNamespace(P=P, W=W, suspected=lambda y: np.full(len(y), suspected))
    return _Found(["x y"] * len(y), list(range(len(y))), y, names, find_neighbours(X), judged, EvenReader())


def test_of_two_hundred_suspects_the_words_are_found():
    y = np.ones(201, int)
    found = rule(np.tile([0.9, 0.1], (201, 1)), y, suspected=True).suspects()
    assert [bool(each.words) for each in found] == [True] * 200 + [False]


def test_ten_pairs_of_classes_at_most_are_confused_from_fifteen_in_a_hundred_on():
    y = np.repeat([0, 1], 10)
    for wrong, share in ((3, [0.15]), (2, [])):
        P = np.eye(2)[np.where(np.arange(20) < wrong, 1, y)]
        assert [pair.share for pair in rule(P, y).confused()] == share
    y = np.repeat(np.arange(6), 10)
    found = rule(np.eye(6)[np.roll(np.arange(60), 5) % 6], y).confused()
    assert len(found) == 10
    assert found == sorted(found, key=lambda pair: -pair.share)


def test_a_page_shows_a_hundred_findings_of_each_kind():
    many = [TextIssue(k, "language", f"about {k}.") for k in range(101)]
    page = health_page(Health(["x"] * 101, ["a"] * 101, {"a": 101}, [], [], [], many, {}), "x.csv")
    assert "about 99." in page
    assert "about 100." not in page


@pytest.mark.parametrize("nothing", [None, float("nan"), "", "  "])
def test_texts_and_labels_that_hold_nothing_are_named(nothing):
    texts, labels = ["x", nothing, "y", "z", "x", "y"], ["a", "a", nothing, "b", "b", "a"]
    found = check(texts, labels, reader=EvenReader(), vectors=np.eye(6, dtype=np.float32))
    assert found.issues == [(1, "empty", "there is no text"), (2, "no label", "there is no label")]
    assert found.counts == {"a": 2, "b": 2}
    assert list(found.quality) == [0, 3, 4, 5]


FOUND = Health(
    ["cold soup", "", "late train", "warm beer"], ["a", "b", "", "b"], {"a": 1, "b": 2},
    [Suspect(0, "a", "b", 0.0123, "b", 0.9, (("cold", 0.5), ("soup", 0.25))),
     Suspect(3, "b", "a", 0.5, "b", 0.25)],
    [Duplicate(0, 3, "a", "b", 0.97)], [], [TextIssue(1, "empty", "there is no text")], {}, (), (2, 3, 7, 9),
)  # fmt: skip


def test_a_table_of_findings_says_what_is_known_of_each(tmp_path: Path):
    save_health(FOUND, tmp_path / "found.csv")
    assert (tmp_path / "found.csv").read_text().splitlines() == [
        "row,issue,label,suggested,about,text",
        '2,label,a,b,"chance 1.2% by the other texts; 90% of the texts around it are b; words: cold, soup",'
        "cold soup",
        "9,label,b,a,chance 50.0% by the other texts; 25% of the texts around it are b,warm beer",
        '2,duplicate,a,,"nearly the same as row 9, which is b",cold soup',
        "3,empty,b,,there is no text,",
    ]
    with refuses("exists"):
        save_health(FOUND, tmp_path / "found.csv")
    save_health(FOUND._replace(numbers=()), tmp_path / "found.csv", overwrite=True)
    rows = (tmp_path / "found.csv").read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["row", "1", "4", "1", "2"]


def test_a_page_of_findings_has_only_the_kinds_that_were_found(tmp_path: Path):
    save_health(FOUND, tmp_path / "found.HTM", data="x.csv")
    page = (tmp_path / "found.HTM").read_text()
    assert "The labels of x.csv" in page
    assert "Empty" in page
    assert not any(f"{title}</h" in page for title in ("Without a label", "In another language", "Cut"))
    with refuses("exists"):
        save_health(FOUND, tmp_path / "found.HTM")
    save_health(FOUND, tmp_path / "found.HTM", overwrite=True)
    assert "The labels of the table" in (tmp_path / "found.HTM").read_text()


# ---------------------------------------------------------------- languages


GERMAN = "Der Zug ist nicht da und das Essen auch nicht"


@pytest.mark.parametrize(("text", "found"), [
    ("und zug", {}), ("und nicht zug", {3: "German"}), ("und nicht the zug", {}),
    ("und nicht der the zug", {3: "German"}),
    ("a" * 200 + "б" * 200 + "б", {}), ("a" * 199 + "б" * 201, {3: "Cyrillic"}), ("12 !", {}),
])  # fmt: skip
def test_two_small_words_more_are_another_language_and_most_of_400_letters_another_script(text, found):
    assert other_languages([*["The soup was cold and the waiter was rude"] * 3, text]) == found


# ---------------------------------------------------------------- vectors on the disk


def test_a_vector_on_the_disk_is_a_key_of_16_bytes_halves_and_a_checksum(tmp_path: Path):
    path, texts = tmp_path / "vectors", ["some soup", "a bed", "some soup"]
    found = VectorCache(path, ToyReader()).encode(texts)
    assert (found.dtype, found.shape) == (np.float32, (3, 10))
    np.testing.assert_array_equal(found, ToyReader().encode(texts).astype(np.float16))
    content = path.read_bytes()
    assert content.startswith(b"Limelight: vectors of texts, 2.\n")
    assert len(content) == len(HEADER) + 2 * (16 + 2 * 10 + 4)
    key = hashlib.sha256(b"toy\0some soup").digest()[:16]
    record = content[len(HEADER) :][:40]
    assert record[:16] == key
    assert record[36:] == crc32(record[:36]).to_bytes(4, "little")
    np.testing.assert_array_equal(np.frombuffer(record[16:36], "<f2"), found[0])
