"""The labelling page in a browser: every key and every form, as a person uses them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from browsers import needs_chromium, new_context
from limelight.labelling.session import LabelSession
from limelight.serve.labelling.labeller import TableSaver
from limelight.serve.labelling.texts import create_label_app
from serve.labels import TEXTS, TinyReader, WaitingReader, start
from serve.live import in_thread
from serve.test_labeller import truth

pytestmark = needs_chromium
KEYS = {"food": "1", "room": "2"}


@contextmanager
def labelling(
    folder: Path, *, token: str = "t", wide: int = 1000, **options: Any
) -> Iterator[tuple[Any, Any]]:
    """The page and its session; it must not complain, nor ask anyone else for anything."""
    complaints: list[str] = []
    session, app = start(folder, **options)
    with in_thread(app) as port, new_context(viewport={"width": wide, "height": 900}) as context:
        root = f"http://127.0.0.1:{port}/"
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: asked.url.startswith(root) or complaints.append(asked.url))
        page.goto(f"{root}#token={token}")
        page.locator("[data-view=label], .token").first.wait_for()
        yield page, session
    assert [each for each in complaints if "status of 4" not in each] == []


def row_of(page: Any) -> int:
    page.locator(".now").wait_for()
    return int(page.evaluate("limelight.views.label.current.row"))


def press(page: Any, key: str) -> None:
    """Press a key that brings another text, and wait for it."""
    row = row_of(page)
    page.keyboard.press(key)
    page.wait_for_function("row => limelight.views.label.current?.row !== row", arg=row)


def status(page: Any, words: str) -> None:
    page.wait_for_function(
        "words => document.querySelector('[data-part=status]').textContent.includes(words)", arg=words
    )


def test_a_table_that_cannot_be_written_is_said_and_one_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(TableSaver, "touch", TableSaver._save_soon)
    (tmp_path / "labels.csv").mkdir()
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        warning = page.locator("[data-part=unwritten]")
        first = row_of(page)
        press(page, "1")
        warning.wait_for()
        assert warning.inner_text().startswith("You can go on, but the table is not written: ")
        assert warning.inner_text().endswith(f"all labels are in {tmp_path}/labels.csv.journal")
        assert session.said(first).labels == ("food",)
        (tmp_path / "labels.csv").rmdir()
        press(page, "1")
        warning.wait_for(state="hidden")


def test_keys_label_skip_doubt_and_undo(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        first = row_of(page)
        assert page.locator(".now .words").text_content() == TEXTS[first]  # markup is text
        assert page.locator(".answer").count() == 0  # one is not led
        press(page, KEYS[truth(first)])
        assert session.said(first).labels == (truth(first),)
        page.locator(".last .answer").wait_for()
        second = row_of(page)
        press(page, "s")
        third = row_of(page)
        press(page, "?")
        assert (session.said(second).status, session.said(third).status) == ("skip", "unsure")
        for row in (third, second, first):
            page.keyboard.press("u")
            page.wait_for_function("row => limelight.views.label.current.row === row", arg=row)
        assert session.said(first) is None
        page.keyboard.press("u")
        status(page, "nothing to undo")


def test_two_tabs_have_texts_of_their_own_and_one_that_comes_too_late_is_told(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        other = page.context.new_page()
        other.goto(page.url)
        first, second = row_of(page), row_of(other)
        assert first != second
        other.reload()
        assert row_of(other) == second
        session.label(second, "food")  # as in a tab that was duplicated
        other.keyboard.press("2")
        problem = other.locator("[data-part=problem]")
        problem.wait_for()
        assert "you said 'food' about this text in another tab" in problem.inner_text()
        assert session.said(second).labels == ("food",)


def test_the_answer_is_shown_when_asked_for_and_progress_counts(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, _):
        for _ in range(6):
            press(page, KEYS[truth(row_of(page))])
        page.keyboard.press("a")
        page.locator(".now .answer .bars li.predicted").wait_for()
        assert page.locator(".now .answer .word").count() == len(TEXTS[row_of(page)].split(" "))
        page.keyboard.press("a")
        page.locator(".now .answer").wait_for(state="detached")
        page.wait_for_function(
            "() => document.querySelector('[data-part=counts]').textContent.startsWith('6 of 16')"
        )


def test_words_are_marked_with_keys_and_with_a_stroke(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        row = row_of(page)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        page.keyboard.press("Shift+ArrowRight")
        press(page, "1")
        words = TEXTS[row].split(" ")
        start_at = len(words[0]) + 1
        assert session.marks(row) == [(start_at, start_at + len(f"{words[1]} {words[2]}"))]
        row, boxes = row_of(page), page.locator(".now .markable")
        last = boxes.count() - 1
        places = [boxes.nth(k).bounding_box() for k in (last - 1, last)]
        middles = [(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for box in places]
        page.mouse.move(*middles[0])
        page.mouse.down()
        page.mouse.move(*middles[1], steps=3)
        page.mouse.up()
        assert page.locator(".now .marked").count() == 2
        press(page, "1")
        (mark,) = session.marks(row)  # in characters as Python counts them, whatever smileys there are
        assert TEXTS[row][slice(*mark)].split(" ") == TEXTS[row].split(" ")[-2:]


def test_notes_new_classes_and_the_finder(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        row = row_of(page)
        page.keyboard.press("n")
        page.keyboard.type("us1")  # keys in a field are letters
        page.keyboard.press("Enter")
        page.locator(".note").wait_for()
        assert session.noted(row) == "us1"
        page.keyboard.press("c")
        page.keyboard.type("Bad <i>")
        page.keyboard.press("Enter")
        page.locator(".class[data-class='Bad <i>']").wait_for()
        assert session.classes == ("food", "room", "Bad <i>")
        page.keyboard.press("/")
        page.keyboard.type("bad")
        page.keyboard.press("Enter")
        page.wait_for_function("row => limelight.views.label.current?.row !== row", arg=row)
        assert session.said(row).labels == ("Bad <i>",)


def test_nothing_yet_starts_with_groups_and_a_key_makes_a_class(tmp_path):
    with labelling(tmp_path) as (page, session):
        page.locator(".group.at").wait_for()
        page.keyboard.press("c")
        status(page, "Press u to undo")
        assert len(session.classes) == 1
        labelled = [row for row in range(16) if session.said(row)]
        assert labelled
        page.keyboard.press("u")  # the labels; the class was added before them
        status(page, "Undone")
        assert not any(session.said(row) for row in range(16))


def test_groups_come_by_themselves_once_the_texts_are_read(tmp_path):
    reader = WaitingReader()
    with labelling(tmp_path, reader=reader, background=True) as (page, session):
        page.get_by_text("groups come in a moment").wait_for()
        assert page.locator(".group").count() == 0
        reader.go.set()
        page.locator(".group.at").wait_for()
        assert session.vectors.ready == len(TEXTS)


def test_a_group_is_looked_at_and_what_does_not_belong_is_left_out(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        page.keyboard.press("g")
        page.locator(".group.at").wait_for()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        page.keyboard.press("Enter")
        page.locator(".sample").wait_for()
        shown = page.locator(".sample li").all_inner_texts()
        page.locator(".sample input[type=checkbox]").first.uncheck()
        page.locator(".sample input[type=text]").fill("food")
        page.keyboard.press("Enter")
        status(page, "Press u to undo")
        assert session.said(TEXTS.index(shown[0])) is None
        assert session.said(TEXTS.index(shown[1])).labels == ("food",)


def test_a_search_labels_many_and_is_undone(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        page.keyboard.press("m")
        page.locator("input[name=phrase]").fill("BROKE 😀")
        page.locator(".many button").click()
        page.locator(".sample input[type=text]").fill("room")
        page.keyboard.press("Enter")
        status(page, "8 texts are now room")
        assert [row for row in range(16) if session.said(row)] == list(range(8, 16))
        page.locator("h1").click()
        page.keyboard.press("u")
        status(page, "of 8 texts")
        page.locator("input[name=phrase]").fill("(a+)+$")
        page.locator(".many button").click()
        page.get_by_text("No text without a label fits").wait_for()
        page.locator("input[name=phrase]").fill("")
        page.locator("input[name=above]").fill("0.5")
        page.locator(".many button").click()
        page.wait_for_function("() => document.querySelector('.problem').textContent.includes('one class')")


def test_a_rectangle_on_the_map_becomes_a_class_with_one_key(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        page.locator("[data-view=map]").click()
        box = page.locator(".map").bounding_box()
        page.mouse.move(box["x"] + 2, box["y"] + 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 2, steps=3)
        page.mouse.up()
        page.locator(".selected").wait_for()
        page.keyboard.press("c")
        status(page, "8 texts are now")
        labelled = [row for row in range(16) if session.said(row)]
        assert labelled in (list(range(8)), list(range(8, 16)))


def test_several_labels_are_chosen_and_confirmed(tmp_path):
    with labelling(tmp_path, classes=["food", "room"], several=True) as (page, session):
        row = row_of(page)
        page.keyboard.press("Enter")
        status(page, "at least one")
        page.keyboard.press("2")
        page.keyboard.press("1")
        page.keyboard.press("2")
        page.keyboard.press("2")
        assert page.locator(".class[aria-pressed=true]").count() == 2
        press(page, "Enter")
        assert session.said(row).labels == ("food", "room")


def test_classes_are_renamed_merged_and_removed(tmp_path):
    with labelling(tmp_path, classes=["food", "room", "bath"]) as (page, session):
        page.locator("[data-view=classes]").click()
        page.get_by_label("Name of bath").fill("room")
        page.keyboard.press("Enter")
        page.get_by_label("Name of bath").wait_for(state="detached")
        page.get_by_label("Name of food").fill("meals")
        page.keyboard.press("Enter")
        page.get_by_label("Name of meals").wait_for()
        page.locator(".class-list li").last.get_by_text("Remove").click()
        page.get_by_label("Name of room").wait_for(state="detached")
        assert session.classes == ("meals",)


def test_two_people_settle_what_they_differ_on(tmp_path):
    with labelling(tmp_path, classes=["food", "room"], by="ann") as (page, session):
        session.label(0, "food", by="bob")
        session.label(0, "room", by="cat")
        page.keyboard.press("p")
        page.locator(".settle li").wait_for()
        page.keyboard.press("1")
        page.locator(".settle li").wait_for(state="detached")
        assert session.said(0).labels == ("food",)
        page.get_by_label("Your name").fill("dan")
        page.keyboard.press("Enter")
        row = row_of(page)
        press(page, "1")
        assert session.said(row).by == "dan"


def test_suspects_are_corrected_kept_and_undone(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        for row in range(16):
            session.label(row, "food" if row == 9 else truth(row))
        page.keyboard.press("h")
        page.locator(".settle li[data-row]").first.wait_for()
        first = int(page.locator(".settle li[data-row]").first.get_attribute("data-row"))
        assert first == 9
        page.keyboard.press("Enter")
        status(page, f"It is {truth(first)} now")
        assert session.said(first).labels == (truth(first),)
        page.keyboard.press("u")
        status(page, "Undone")
        page.locator(f".settle li[data-row='{first}']").wait_for()
        page.keyboard.press("k")
        page.locator(f".settle li[data-row='{first}']").wait_for(state="detached")
        assert session.said(first).labels != (truth(first),)


def test_the_command_that_trains_is_shown(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        session.label(0, "food", [(0, 3)])
        page.keyboard.press("t")
        assert "--reasons marks --out" in page.locator(".train code").inner_text()


def count_is(page: Any, name: str, count: int) -> None:
    """Wait until a class is shown with so many labels."""
    page.wait_for_function(
        "([name, count]) => document.querySelector(`[data-count=${name}]`)?.textContent === String(count)",
        arg=[name, count],
    )


def test_every_class_has_its_count_at_once_and_after_the_page_is_opened_again(tmp_path):
    with labelling(tmp_path, classes=["food", "room"]) as (page, session):
        for count in (1, 2, 3):
            press(page, "1")
            count_is(page, "food", count)  # not only when the next key is pressed
        page.reload()
        count_is(page, "food", 3)
        count_is(page, "room", 0)
        page.locator("[data-view=classes]").click()
        count_is(page, "food", 3)
        session.label(next(row for row in range(16) if session.said(row) is None), "room", by="ann")
        page.locator("[data-view=label]").click()
        press(page, "2")
        count_is(page, "room", 2)


def test_without_classes_letters_are_a_name(tmp_path):
    with labelling(tmp_path) as (page, session):
        page.keyboard.press("l")
        page.get_by_text("There are no classes yet").wait_for()
        page.keyboard.type("magic lush")  # each of these letters is a key where there are classes
        page.keyboard.press("Enter")
        page.locator("[data-class='magic lush']").wait_for()
        assert list(session.classes) == ["magic lush"]
        press(page, "1")
        page.locator("[data-view=classes]").click()
        page.get_by_role("button", name="Remove").click()
        page.locator(".class-list li").wait_for(state="detached")
        page.locator("[data-view=label]").click()
        page.get_by_role("button", name="Groups", exact=True).click()
        page.locator(".group").first.wait_for()


@contextmanager
def tab(context: Any, port: int, token: str) -> Iterator[Any]:
    """A page of a server that may go: the browser complains of that, the page must not."""
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"http://127.0.0.1:{port}/#token={token}")
    page.locator(".now").wait_for()
    yield page
    assert errors == []


def test_a_server_that_stopped_is_said_and_found_again(tmp_path):
    session, app = start(tmp_path, classes=["food", "room"], by="it's me")
    with new_context() as context:
        with in_thread(app) as port:
            stack = ExitStack()
            page = stack.enter_context(tab(context, port, "t"))
            row = row_of(page)
        with stack:
            banner = page.locator("[data-part=away]")
            for key in ("1", "a", "s", "u"):
                page.keyboard.press(key)
                banner.wait_for()
                assert "The server has stopped. Your labels are safe" in banner.inner_text()
            assert f"labels.csv', port={port})" in banner.inner_text().replace('"', "'")
            assert page.locator("[data-part=problem]").is_hidden()  # said once
            assert session.said(row) is None
            page.keyboard.press("p")
            with in_thread(app, port=port):
                banner.wait_for(state="hidden")
                page.get_by_text("Label under this name").wait_for()  # the view that was asked for meanwhile
                page.keyboard.press("l")
                assert row_of(page) == row
                press(page, "1")
                assert session.said(row).labels == ("food",)


def test_an_old_tab_says_nothing_to_a_new_server_and_follows_when_it_is_opened(tmp_path):
    _, app = start(tmp_path, classes=["food", "room"])
    with new_context() as context:
        with in_thread(app) as port:
            stack = ExitStack()
            old = stack.enter_context(tab(context, port, "t"))
        session, other = start(tmp_path, "other.csv", classes=["cold", "warm"], token="new")
        with stack, in_thread(other, port=port):
            old.keyboard.press("1")
            old.get_by_text("The server was started again.").wait_for()
            assert [row for row in range(16) if session.said(row)] == []
            with tab(context, port, "new"):
                old.locator("[data-class=cold]").wait_for()  # it has the classes of the new one
            row = row_of(old)
            press(old, "2")
            assert session.said(row).labels == ("warm",)


def test_the_command_to_go_on_is_that_of_this_table(tmp_path):
    table = tmp_path / "the texts.csv"
    table.write_text("review\nCold soup\nWarm bed\n")
    session = LabelSession(["Cold soup", "Warm bed"], reader=TinyReader(), journal=tmp_path / "out.journal",
                           background=False, by="it's me", ordered=True)  # fmt: skip
    session.add_class("food")
    app = create_label_app(session, tmp_path / "out.csv", token="t", table=table, text="review")
    with new_context() as context:
        with in_thread(app) as port:
            stack = ExitStack()
            page = stack.enter_context(tab(context, port, "t"))
        with stack:
            page.keyboard.press("1")
            shown = shlex.split(page.locator("[data-part=away] code").inner_text())
            assert shown == [
                "limelight", "label", str(table), "--text", "review", "--out", str(tmp_path / "out.csv"),
                "--by", "it's me", "--ordered", "--port", str(port),
            ]  # fmt: skip


def test_without_the_token_the_page_asks_for_it(tmp_path):
    with labelling(tmp_path, token="wrong", classes=["food"]) as (page, _):
        page.get_by_label("Token").fill("t")
        page.keyboard.press("Enter")
        page.locator(".now").wait_for()


@pytest.mark.parametrize("wide", [390, 2000])
def test_nothing_is_wider_than_the_window(tmp_path, wide):
    with labelling(tmp_path, wide=wide, classes=["a very long name of a class " * 3, "b"]) as (page, _):
        for view in ("label", "groups", "map", "many", "classes", "check", "people", "train"):
            page.locator(f"[data-view={view}]").click()
            page.locator(f"[data-view={view}][aria-pressed=true]").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth") <= wide, view
