"""The health of a labelled table: planted faults are found, and named as what they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from limelight.cli import main
from limelight.labelling.health import Health, Suspect, check, findings, other_languages, save_health
from limelight.labelling.left_out import find_neighbours, judge
from refusing import refuses
from shared_reader import share_reader

FOOD = ["soup", "bread", "cheese", "salad", "cake", "rice", "pasta", "fish"]
ROOM = ["bed", "shower", "window", "carpet", "pillow", "balcony", "mirror", "lamp"]
TEXTS = [f"The {word} tasted great" for word in FOOD] + [f"The {word} in our room broke" for word in ROOM]
LABELS = ["food"] * 8 + ["room"] * 8
MORE = [f"{start} {word}" for start in ("We had", "I liked", "They served", "Who ate") for word in FOOD]
MORE += [f"{start} {word}" for start in ("We broke", "Behind", "They fixed", "Who cleaned") for word in ROOM]
MORE_LABELS = ["food"] * 32 + ["room"] * 32
WRONG = 3  # its label is changed


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    share_reader(monkeypatch)
    return


def planted() -> tuple[list[str], list[str]]:
    labels = list(LABELS)
    labels[WRONG] = "room"
    texts = [*TEXTS, "The lamp in our room broke!", "", "Das Bett ist nicht gut und die Lampe", "No label"]
    return [*texts, *MORE], [*labels, "food", "food", "room", "", *MORE_LABELS]


@pytest.fixture(scope="module")
def found() -> Health:
    return check(*planted())


def test_the_wrong_label_comes_first_with_the_right_one_and_its_words(found: Health) -> None:
    first = next(each for each in found.suspects if each.row == WRONG)
    assert found.suspects.index(first) < 3  # beside the two duplicates
    assert (first.label, first.suggested, first.around) == ("room", "food", "food")
    assert first.chance < 0.5
    assert {word for word, _ in first.words} & {"salad", "tasted", "great"}


def test_near_duplicates_with_different_labels_are_named_once(found: Health) -> None:
    assert [(each.row, each.row2, each.label, each.label2) for each in found.duplicates] == [
        (15, 16, "room", "food")
    ]


def test_texts_that_cannot_be_used_are_named(found: Health) -> None:
    assert {(each.row, each.kind) for each in found.issues} == {
        (17, "empty"), (18, "language"), (19, "no label"),
    }  # fmt: skip


def test_a_second_run_finds_the_same(found: Health) -> None:
    assert check(*planted()) == found


def test_classes_that_are_not_told_apart_are_a_pair() -> None:
    labels = [name for _ in range(8) for name in ("a", "b")]
    (pair,) = check([*TEXTS], labels).confused
    assert (pair.label, pair.label2, pair.texts) == ("a", "b", 16)


def test_left_out_probabilities_do_not_see_the_own_label() -> None:
    X = np.eye(4, dtype=np.float32)[[0, 0, 0, 1, 1, 1]]
    near = find_neighbours(X, 2)
    assert near.rows[0].tolist() == [1, 2]
    for label in (0, 1):  # whatever the first text is called, the others say 0
        P = judge(X, np.array([label, 0, 0, 1, 1, 1]), 2, near).P
        assert P[0].argmax() == 0


def test_languages_follow_the_majority() -> None:
    german = ["Die Suppe ist nicht gut und der Wein"] * 3
    assert other_languages([*german, "The soup was cold and this is it"]) == {3: "English"}


def test_a_page_escapes_what_it_shows_and_a_table_has_every_finding(found: Health, tmp_path: Path) -> None:
    nasty = found._replace(texts=["<script>alert(1)</script>", *found.texts[1:]], duplicates=[
        found.duplicates[0]._replace(row=0)])  # fmt: skip
    save_health(nasty, tmp_path / "page.html", data="<b>.csv")
    page = (tmp_path / "page.html").read_text()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;.csv" in page
    save_health(found, tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(list(findings(found)))
    assert (rows[0]["issue"], rows[0]["text"]) == ("label", found.texts[found.suspects[0].row])


def test_the_command_prints_json_and_writes_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *zip(*planted(), strict=True)])
    page = tmp_path / "check.html"
    assert main(["check", str(tmp_path / "data.csv"), "--json", "--out", str(page)]) == 0
    given = json.loads(capsys.readouterr().out)
    assert given["rows"] == 84
    assert WRONG in [each["row"] for each in given["suspects"][:3]]
    assert "Suspected wrong labels" in page.read_text()


def test_a_number_among_the_texts_is_its_text() -> None:
    found = check([*TEXTS, 3, float("nan")], [*LABELS, "food", "food"])
    assert found.texts[16] == "3"
    assert [(each.row, each.kind) for each in found.issues] == [(17, "empty")]


def test_rows_are_numbered_as_in_the_table_and_what_cannot_be_read_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts, labels = planted()
    usable = [*range(16), *range(20, 84)]
    lines = [f"{texts[row]},{labels[row]}" for row in usable]
    table = tmp_path / "data.csv"
    table.write_text("\n".join(["text,label", "", "odd", *lines, ",food"]) + "\n")
    assert main(["check", str(table)]) == 2
    assert "data.csv, row 3: it has 1 fields" in capsys.readouterr().err
    page = tmp_path / "check.html"
    assert main(["check", str(table), "--skip-bad", "--out", str(page)]) == 0
    out, err = capsys.readouterr()
    assert "skipped 2 of its 82 rows, which cannot be used: rows 3, 84" in err
    assert str(4 + WRONG) in [line.split()[0] for line in out.split("suggested")[-1].splitlines() if line]
    assert f'<th scope="row">{4 + WRONG}</th>' in page.read_text()


def test_what_is_there_to_know_is_said_in_a_line_each(tmp_path: Path) -> None:
    texts = [*TEXTS, "Fine<br>soup", "Fine<br>soup", "😀", "Fine<br>soup"]
    found = check(texts, [*LABELS, "food", "food", "odd", "odd"])
    assert found.remarks == [
        "classes of two rows or fewer: odd",
        "texts with HTML in them, such as '<br>': 3",
        "texts of emoji alone: 1",
        "rows that repeat another, text and label: 1",
        "texts that have different labels in different rows: 1",
    ]
    assert found.to_dict()["remarks"] == found.remarks
    save_health(found, tmp_path / "page.html")
    assert "such as &#39;&lt;br&gt;&#39;: 3" in (tmp_path / "page.html").read_text()


def test_what_is_not_a_table_of_classes_is_refused(tmp_path: Path) -> None:
    with refuses("lengths-differ"):
        check(["a"], [])
    with refuses("one-class"):
        check(["good soup", "bad soup"], ["a", "a"])
    with refuses("too-many-classes"):
        check(["good soup", "bad soup"], ["a", "b"])
    with refuses("file-suffix"):
        save_health(check(TEXTS, LABELS), tmp_path / "page.pdf")


@pytest.mark.parametrize(
    ("suspects", "says"), [(0, "None of 10 labels"), (1, "If one label in twenty is wrong")]
)
def test_what_a_suspicion_means_is_said_in_one_sentence(suspects, says):
    each = Suspect(0, "a", "b", 0.1, "b", 0.5)
    quality = dict.fromkeys(range(10), 0.5)
    health = Health(["x"] * 10, ["a"] * 10, {"a": 10}, [each] * suspects, [], [], [], quality)
    assert says in health.about_suspects
