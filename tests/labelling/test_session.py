"""A labelling from its first text to its table: what is said, taken back, chosen, learnt and written."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from limelight.labelling import LabelSession
from limelight.labelling.people import RELEASED
from limelight.labelling.vectors import reading_order
from refusing import refuses
from reviews import write_csv

WORDS = {
    "rooms": ["bed", "bath", "pillow"],
    "food": ["soup", "bread", "egg"],
    "staff": ["waiter", "clerk", "cook"],
}


class ToyReader:
    """Counts of the words above, of length 1: texts of a class lie close together."""

    sha256 = "toy"

    def __init__(self) -> None:
        self.vocabulary = [word for words in WORDS.values() for word in words] + ["other"]
        self.read = 0

    def get_sentence_embedding_dimension(self) -> int:
        return len(self.vocabulary)

    def encode(self, texts: list[str]) -> np.ndarray:
        self.read += len(texts)
        found = np.zeros((len(texts), len(self.vocabulary)), np.float32)
        for place, text in enumerate(texts):
            for word in text.split():
                found[place, self.vocabulary.index(word) if word in self.vocabulary else -1] += 1
        return found / np.linalg.norm(found, axis=1, keepdims=True).clip(1e-6)


def make_texts(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    choose = random.Random(seed)
    labels = [choose.choice(list(WORDS)) for _ in range(count)]
    return [
        " ".join(["the", *choose.choices(WORDS[label], k=3), str(k)]) for k, label in enumerate(labels)
    ], labels


def start(texts: list[str], **options: object) -> LabelSession:
    options = {"reader": ToyReader(), "classes": list(WORDS), "background": False, **options}
    return LabelSession(texts, **options)  # type: ignore[arg-type]


def run(session: LabelSession, labels: list[str], count: int) -> None:
    for _ in range(count):
        (shown,) = session.next()
        session.label(shown.row, labels[shown.row])


def view(session: LabelSession) -> object:
    said = {key: session.said(row) for row, key in enumerate(session.keys)}
    return session.classes, session.descriptions, said, [session.marks(k) for k in range(len(said))]


def test_it_learns_estimates_and_says_when_to_stop():
    texts, labels = make_texts(200)
    session = start(texts)
    run(session, labels, 120)
    progress = session.progress()
    assert progress.labelled == 120
    assert progress.drawn >= 60
    assert sum(progress.by_class.values()) == 120
    assert progress.low <= progress.accuracy <= progress.high + 1e-9
    assert progress.accuracy > 0.9
    assert [point.labels for point in progress.history] == sorted({p.labels for p in progress.history})
    P = session.answers().probabilities(range(200))
    assert np.mean([session.classes[k] == y for k, y in zip(P.argmax(axis=1), labels, strict=True)]) == 1.0
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-5)


def test_every_second_is_drawn_and_they_are_among_the_first_of_a_random_order():
    texts, labels = make_texts(100)
    session = start(texts)
    run(session, labels, 50)
    order = reading_order(session.keys, 0)
    drawn = session.progress().drawn
    assert drawn >= 25
    first = next(k for k, row in enumerate(order) if session.said(row) is None)
    assert [session.said(row).chosen for row in order[:first]].count("random") == drawn


def test_the_same_texts_come_in_the_same_order_whatever_the_order_of_the_table():
    texts, labels = make_texts(40)
    order = random.Random(1).sample(range(40), 40)
    one, other = start(texts), start([texts[k] for k in order])
    for _ in range(12):
        (first,), (second,) = one.next(), other.next()
        assert first.text == second.text
        one.label(first.row, labels[first.row])
        other.label(second.row, labels[first.row])


DOES = [
    lambda session, row: session.label(row, session.classes[0], marks=[(0, 3)]),
    lambda session, row: session.skip(row),
    lambda session, row: session.unsure(row),
    lambda session, row: session.add_class(f"new {row}", "about it"),
    lambda session, row: session.merge(session.classes[0], session.classes[-1]),
    lambda session, row: session.rename_class(session.classes[0], f"name {row}"),
    lambda session, row: session.accept([0, 1, 2], session.classes[-1]),
    lambda session, row: (
        session.remove_class(session.classes[-1]) if len(session.classes) > 1 else session.skip(row)
    ),
]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from(DOES), min_size=1, max_size=6), st.integers(1, 6))
def test_undo_restores_what_was_before(does, back):
    session = start(make_texts(6)[0], reader=None)
    before = [view(session)]
    for row, do in enumerate(does):
        do(session, row)
        before.append(view(session))
    for _ in range(min(back, len(does))):
        before.pop()
        assert session.undo() is not None
        assert view(session) == before[-1]


def test_a_group_is_accepted_and_undone_at_once():
    texts, _ = make_texts(60)
    session = start(texts)
    group = session.groups(3)[0]
    session.accept(group.rows, "food", sample_checked=group.rows[:2])
    assert session.progress().labelled == len(group.rows)
    assert {session.said(row).chosen for row in group.rows} == {"group"}
    taken_back = session.undo()
    assert taken_back["rows"] == group.rows
    assert session.progress().labelled == 0
    assert session.undo() is None


def test_a_closed_labelling_reads_no_further():
    session = start(["soup"] * 30_000, background=True)
    session.close()
    assert not session.vectors._thread.is_alive()


def test_two_people_on_one_file(tmp_path):
    texts, labels = make_texts(30)
    ann, ben = (start(texts, journal=tmp_path / "j", by=name) for name in ("ann", "ben"))
    for row in range(10):
        ann.label(row, labels[row])
        ben.label(row, labels[row] if row else "food" if labels[0] != "food" else "staff")
    assert (ann.refresh(), ann.refresh()) == (1, 0)  # she read the others before she wrote
    assert ann.said(3).by == "ben"
    assert ann.agreement().people == ("ann", "ben")
    assert ann.agreement().texts == 10
    assert ann.agreement().pairs["ann", "ben"][1] == 0.9
    assert [row for row, _ in ann.disagreements()] == [0]
    ann.undo()
    assert ben.undo(by="cy") is None
    ben.refresh()
    assert ben.said(9).by == "ben"
    assert ben.agreement().texts == 9


def test_two_people_and_two_tabs_of_one_are_given_different_texts():
    texts, _ = make_texts(20)
    session = start(texts)
    ann = {shown.row for shown in session.next(count=5, by="ann")}
    ben = {shown.row for shown in session.next(count=5, by="ben")}
    tab = {shown.row for shown in session.next(count=5, by="ben", tab="2")}
    assert len(ann | ben | tab) == 15
    assert {shown.row for shown in session.next(count=5, by="ben", tab="2")} == tab  # it was loaded again


def test_what_a_closed_page_had_is_given_to_others_in_the_end():
    session = start(make_texts(3)[0])
    first = session.next(by="ann")[0].row
    assert session.next(by="ben")[0].row != first
    for _ in range(RELEASED):
        session.note(2, "odd", by="ben")
    assert session.next(by="ben")[0].row == first


def test_skipped_texts_come_last_and_unsure_ones_not_at_all():
    session = start(["the bed", "the soup", "the cook"])
    first, second = (session.next()[0].row, session.next(count=2)[1].row)
    session.skip(first)
    session.unsure(second)
    third = session.next()[0].row
    session.label(third, "food")
    assert {first, second, third} == {0, 1, 2}
    assert [shown.row for shown in session.next(count=5)] == [first]


def test_a_labelling_goes_on_where_it_ended_and_with_a_sorted_table(tmp_path):
    texts, labels = make_texts(30)
    session = start(texts, journal=tmp_path / "j")
    run(session, labels, 10)
    session.rename_class("food", "eating")
    again = start(sorted(texts), journal=tmp_path / "j")
    assert again.classes == session.classes == ("rooms", "eating", "staff")
    said = {texts[row]: session.said(row) for row in range(30)}
    assert {text: again.said(row) for row, text in enumerate(sorted(texts))} == said


def test_find_by_words_phrase_likeness_and_confidence():
    texts, labels = make_texts(80)
    session = start(texts)
    assert session.find(words="soups").rows == [k for k, text in enumerate(texts) if "soup" in text]
    assert session.find(phrase="SOUP E").rows == [k for k, text in enumerate(texts) if "soup e" in text]
    assert {labels[row] for row in session.find(similar_to="soup egg bread", limit=5).rows} == {"food"}
    assert {labels[row] for row in session.find(similar_to=labels.index("staff"), limit=5).rows} == {"staff"}
    run(session, labels, 30)
    sure = session.find(above=0.9, label="food").rows
    assert sure
    assert {labels[row] for row in sure} == {"food"}
    assert not any(session.said(row) for row in sure)
    assert set(session.answers().sample(sure, 3)) <= set(sure)
    with refuses("class-unknown"):
        session.find(label="pool")
    with refuses("option-value"):
        session.find(similar_to=80)


def test_a_search_holds_no_lock_and_ends_in_time(monkeypatch):
    session = start(make_texts(20)[0])

    def looked(texts, rows, words, phrase, until):
        assert not session._lock._is_owned()
        assert (words, phrase, until) == ("soup", "(a+)+$", 5.0)
        return rows[:3], 3

    monkeypatch.setattr("limelight.labelling.session.matching_rows", looked)
    assert session.find(words="soup", phrase="(a+)+$", until=5.0) == ([0, 1, 2], 3, 20)


class Guarded(dict):
    """A dictionary that may be looked at only by who holds the lock."""

    lock = None


def _guard(name):
    def call(self, *given):
        assert self.lock._is_owned(), name
        return getattr(dict, name)(self, *given)

    return call


for _name in ("__iter__", "__getitem__", "__contains__", "get", "items", "keys", "values", "__or__"):
    setattr(Guarded, _name, _guard(_name))


@pytest.mark.parametrize(
    "look",
    [
        lambda session, out: session.said(0),
        lambda session, out: session.said(0, by="me"),
        lambda session, out: (session.marks(0), session.noted(0)),
        lambda session, out: (session.classes, session.descriptions, session.every_class, session.by_class),
        lambda session, out: (session.agreement(), session.disagreements()),
        lambda session, out: (session.next(), session.progress(), session.groups(2)),
        lambda session, out: (session.find(words="soup"), session.answers()),
        lambda session, out: (session.label(1, "food"), session.undo(), session.merge("staff", "food")),
        lambda session, out: (session.save(out), session.refresh()),
    ],
)
def test_nothing_is_looked_at_without_the_lock(tmp_path, look):
    session = start(make_texts(6)[0])
    session.label(0, "food", marks=[(0, 3)])
    session.note(0, "odd")
    state, Guarded.lock = session._state, session._lock
    for name in ("said", "settled", "marks", "notes", "descriptions"):
        setattr(state, name, Guarded(getattr(state, name)))
    look(session, tmp_path / "out.csv")


def test_texts_accepted_at_once_count_for_one_and_a_half_together():
    texts, labels = make_texts(12)
    session = start(texts)
    session.label(0, labels[0])
    session.accept([1], "food")
    session.accept([2, 3], "food")
    session.accept([4, 5, 6, 7, 8, 9], "staff")
    session.progress()
    assert session._learner.rows.tolist() == list(range(10))
    np.testing.assert_allclose(session._learner.weights, [1, 1, 0.75, 0.75] + [0.25] * 6)


def test_marks_of_an_old_journal_that_are_not_in_the_text_are_no_marks(tmp_path):
    texts, labels = make_texts(12)
    for marks in ([[0, 3]], [[0, 3], [5, 999]]):
        session = start(texts, journal=tmp_path / f"{len(marks)}")
        for row in range(6):
            session.label(row, labels[row])
        session._journal.append("marks", by="ann", rows=[session.keys[0]], marks=marks)
        session.refresh()
        assert session.marks(0) == [(0, 3)]
        assert session.progress().labelled == 6


ASKED = [
    (lambda session: session.by_class, lambda said, left: {"rooms": 0, "food": 2, "staff": 0}),
    (lambda session: session.progress().labelled, lambda said, left: 2),
    (lambda session: session.answers().probabilities([0]).argmax(), lambda said, left: 1),
    (lambda session: [shown.row for shown in session.next(count=9)], lambda said, left: left),
    (lambda session: session.find().rows, lambda said, left: left),
    (lambda session: session.groups(1)[0].rows, lambda said, left: left),
    (lambda session: session.groups(1)[0].labelled, lambda said, left: {"food": 2}),
]


@pytest.mark.parametrize(("ask", "expected"), ASKED)
def test_who_asks_right_after_a_label_is_told_of_it(ask, expected):
    session = start(["the bed", "the bath", "a pillow", "some soup", "a cook"])
    said, left = session._order[[0, 3]].tolist(), sorted(session._order[[1, 2, 4]].tolist())
    for row in said:
        session.label(row, "food")
    found = ask(session)
    assert (sorted(found) if isinstance(found, list) else found) == expected(said, left)


def test_what_counts_is_counted_before_the_texts_are_read():
    """After a restart the labels are there at once, and the vectors come little by little."""
    session = start(make_texts(12)[0], several=True)
    session.label(0, ["food", "staff"])
    session.label(1, "food")
    session.vectors.is_read[:] = False
    session._learner.is_stale = True
    found = session.progress()
    assert (found.labelled, found.by_class) == (2, {"rooms": 0, "food": 2, "staff": 1})
    assert session.by_class == found.by_class
    assert {each.name: each.labels for each in found.needs} == found.by_class


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_the_output_has_all_columns_of_the_table(tmp_path, suffix, several):
    from limelight.tables.table import open_table

    texts, _ = make_texts(4)
    table = write_csv(tmp_path / "in.csv", id=[7, 8, 9, 10], text=texts)
    session = start(texts, several=several)
    session.label(2, "food", marks=[(0, 3)])
    session.note(2, "odd")
    session.label(0, ["rooms", "staff"] if several else "rooms", chosen="search")
    out = tmp_path / f"out.{suffix}"
    assert session.save(out, table) == 2
    lists = several and suffix in ("jsonl", "parquet")
    names = ["labels" if lists else "label", "by", "when", "marks", "note", "chosen"]
    with open_table(out) as opened:
        assert list(opened.names) == [*names, "id", "text"]
        rows = [
            list(each.values) if hasattr(each, "values") else list(each) for each in opened.rows(opened.names)
        ]
    first = [cells[0] for cells in rows]
    assert [list(x) if not isinstance(x, str) else x for x in first] == (
        [["rooms", "staff"], ["food"]] if lists else ["rooms|staff" if several else "rooms", "food"]
    )
    assert [cells[5] for cells in rows] == ["search", "picked"]
    assert json.loads(rows[1][3]) == [[0, 3]]
    assert rows[1][4] == "odd"


def test_a_table_that_is_another_is_refused(tmp_path):
    texts, _ = make_texts(4)
    session = start(texts)
    for changed in (texts[:3], [*texts, "more"], texts[::-1]):
        with refuses("table-changed"):
            session.save(tmp_path / "out.csv", write_csv(tmp_path / "in.csv", text=changed))
    assert not (tmp_path / "out.csv").exists()


def test_what_cannot_be_is_refused():
    session = start(["a", "b"], reader=None)
    several = start(["a", "b"], reader=None, several=True)
    with refuses("class-unknown"):
        session.label(0, "pool")
    with refuses("label-count"):
        session.label(0, ["food", "staff"])
    with refuses("class-exists"):
        session.rename_class("food", "staff")
    for wrong in (
        lambda: session.label(2, "food"),
        lambda: session.label(0, "food", marks=[(0, 9)]),
        lambda: session.add_class(" "),
        lambda: session.add_class("pool "),
        lambda: several.accept([0], ["a", "b|c"]),
        lambda: several.rename_class("food", "a|b"),
        lambda: session.next("best"),
        lambda: session.next(count=0),
        lambda: session.label(0, 5),
        lambda: several.label(0, ["food", None]),
        lambda: start(["a"], classes=[1, 2]),
        lambda: start(["a"], several=True, ordered=True),
    ):
        with refuses("option-value"):
            wrong()


def test_a_class_that_is_named_twice_is_one():
    session = start(["a"], classes=np.array(["food", "staff", "food"]))
    assert session.classes == ("food", "staff")


def test_several_labels_a_text():
    texts = [f"the {a} {b}" for a in ("bed", "bath", "egg") for b in ("soup", "bread", "cook")] * 4
    texts = [f"{text} {k}" for k, text in enumerate(texts)]
    truth = [[name for name in WORDS if any(word in text.split() for word in WORDS[name])] for text in texts]
    session = start(texts, several=True)
    for row in range(24):
        session.label(row, truth[row])
    (shown,) = session.next()
    answer = session.answers().probabilities([shown.row])[0]
    assert [name for name, p in zip(session.classes, answer, strict=True) if p > 0.5] == truth[shown.row]
    session.label(30, [])
    assert session.said(30).labels == ()


def test_an_answer_has_the_words_that_decided_and_they_add_up():
    texts = ["The soup was cold.", "The bread was stale.", "My bed was hard.", "The pillow was dirty."] * 4
    session = LabelSession(texts, classes=["food", "rooms"], background=False)
    for row in range(8):
        session.label(row, "food" if row % 4 < 2 else "rooms")
    answer = session.answer(8)
    assert answer.label == "food"
    assert answer.told is None
    assert list(answer.probabilities) == ["food", "rooms"]
    assert max(answer.words, key=lambda word: word.weight).text == "soup"
    assert [texts[8][word.start : word.end] for word in answer.words] == [word.text for word in answer.words]
    fitted = session._learner.fitted
    direction = (fitted.W[0] - fitted.W[1]) / fitted.temperature
    expected = session.vectors.matrix[8] @ direction
    assert sum(word.weight for word in answer.words) == pytest.approx(expected, abs=1e-3)


def test_descriptions_of_the_classes_give_the_first_guess():
    texts, labels = make_texts(40)
    told = {name: " ".join(words) for name, words in WORDS.items()}
    session = start(texts, descriptions=told)
    assert [session.classes[k] for k in session.answers().probabilities(range(40)).argmax(axis=1)] == labels
    plain = start(texts, classes=["1", "2"])  # their names say nothing, and nothing is known
    assert np.isnan(plain.answers().probabilities(range(40))).all()
    plain.add_class("1", told["food"])
    plain.add_class("2", told["staff"])
    assert [plain.answers().probabilities([labels.index(name)]).argmax() for name in ("food", "staff")] == [
        0,
        1,
    ]


def test_a_model_to_start_from_gives_the_first_guess():
    class Model:
        labels = ("food", "rooms", "staff")

        def predict_proba(self, texts: list[str]) -> np.ndarray:
            return np.array(
                [[any(w in t for w in WORDS[name]) for name in self.labels] for t in texts], float
            )

    texts, labels = make_texts(40)
    session = start(texts, classes=(), model=Model())
    assert session.classes == Model.labels
    assert [session.classes[k] for k in session.answers().probabilities(range(40)).argmax(axis=1)] == labels


def test_marked_words_teach(tmp_path: Path):
    """Two texts with the same words: only the mark says which of them is the reason."""
    texts = ["soup waiter", "egg clerk", "bread", "cook"] + [f"x {k}" for k in range(6)]
    plain, marked = start(texts), start(texts)
    for session, marks in ((plain, None), (marked, [(0, 4)])):
        session.label(0, "food", marks=marks)
        session.label(3, "staff")
    soup = [session._learner for session in (plain, marked) if session.progress()]
    probe = ToyReader().encode(["soup"])
    before, after = (each.fitted.logits(probe)[0] * each.fitted.temperature for each in soup)
    assert after[1] > before[1]


def test_ordered_classes_say_how_many_answers_are_at_most_one_class_away():
    texts, labels = make_texts(80)
    wrong = [labels[0] if k % 4 == 0 else label for k, label in enumerate(labels)]  # a quarter, any distance
    plain, ordered = start(texts), start(texts, ordered=True)
    for session in (plain, ordered):
        for row in range(80):
            session.label(row, wrong[row], chosen="random")
    found, learner = ordered.progress(), ordered._learner
    assert plain.progress().near is None
    answers = learner.fitted.left_out[learner.drawn].argmax(axis=1)
    truth = learner.Y[learner.drawn].argmax(axis=1)
    assert found.near == np.mean([abs(a - b) < 2 for a, b in zip(answers, truth, strict=True)])
    assert found.near >= found.low
