import builtins
import json
import warnings
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from limelight.reading import save, save_picture, to_json, to_page, to_png, to_svg, to_terminal
from limelight.reading.reading import PairReading
from reading.readings import SOUP, focused, make_reading
from refusing import refuses


def test_json_has_every_number_and_the_groups():
    reading = make_reading("Good soup 👍", [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    reading = replace(reading, decided=np.array([1.0, -2.0, 0.0]), decided_by="sum", row_names=("a", "", "b"))
    found = json.loads(to_json(reading))
    assert found["text"] == "Good soup 👍"
    assert found["attention"] == reading.attention.tolist()
    assert [group["rows"] for group in found["groups"]] == [[1], [0, 2]]
    assert (found["decided"], found["decided_by"]) == ([1.0, -2.0, 0.0], "sum")
    assert found["row_names"] == ["a", "", "b"]


def test_json_of_a_pair_and_of_nothing():
    pair = PairReading(make_reading("A dog", [[1.0, 0.0]]), make_reading("Animals", [[1.0]]))
    found = json.loads(to_json(pair))
    assert (found["second"]["words"], found["groups"][0]["rows"]) == (["Animals"], [0])
    assert found["second"]["decided"] is None
    assert json.loads(to_json(make_reading("")))["groups"] == []


def test_the_name_decides_the_format(tmp_path: Path):
    reading = make_reading(SOUP, focused(SOUP, "cold", "rude"))
    for name in ("a.html", "a.SVG", "a.json", "a.txt"):
        save_picture(reading, tmp_path / name)
    assert (tmp_path / "a.html").read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "a.SVG").read_text("utf-8") == to_svg(reading)
    assert (tmp_path / "a.json").read_text("utf-8") == to_json(reading)
    assert (tmp_path / "a.txt").read_text("utf-8") == to_terminal(reading, colour=False, width=80) + "\n"


@pytest.mark.parametrize("name", ["a.gif", "a"])
def test_other_names_are_refused_and_nothing_is_written(tmp_path: Path, name: str):
    with refuses("file-type"):
        save_picture(make_reading("Soup"), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_png_is_twice_the_size_of_the_svg(tmp_path: Path):
    pytest.importorskip("resvg_py", reason="PNG pictures need the extra 'pictures'")
    save_picture(make_reading(SOUP), tmp_path / "a.png")
    data = (tmp_path / "a.png").read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20]) == 2 * 760


def test_png_is_the_same_on_every_machine():
    """Fonts of the machine are for letters that the bundled typeface lacks; and it has words to draw."""
    resvg = pytest.importorskip("resvg_py", reason="PNG pictures need the extra 'pictures'")
    svg = to_svg(make_reading("Größe “naïve” – Łódź, Привет, Ελλάδα, שלום!"))
    found = save.svg_to_png(svg)
    assert found == bytes(resvg.svg_to_bytes(svg_string=svg, zoom=2, skip_system_fonts=True, **save._fonts()))
    assert found != bytes(resvg.svg_to_bytes(svg_string=svg, zoom=2, skip_system_fonts=True))


def test_png_says_which_characters_no_font_has(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("resvg_py", reason="PNG pictures need the extra 'pictures'")
    fonts = {**save._fonts(), "skip_system_fonts": True}
    monkeypatch.setattr(save, "_fonts", lambda: fonts)
    save._draw.cache_clear()
    try:
        with pytest.warns(UserWarning, match="汤 冷: .*svg"):
            save.svg_to_png(to_svg(make_reading("汤 冷 汤 soup")))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            save.svg_to_png(to_svg(make_reading("Größe “naïve” – Привет, שלום!"), rows=True))
    finally:
        save._draw.cache_clear()


@pytest.mark.parametrize("family", ["monospace", "serif", "Times,'DejaVu Serif'", "Courier New"])
def test_every_family_is_drawn_in_the_bundled_typeface(family: str):
    pytest.importorskip("resvg_py", reason="PNG pictures need the extra 'pictures'")
    frame = '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="30">{}</svg>'
    named = [
        f'<g font-family="{family}"><text y="20">soup</text></g>',
        f'<text y="20" font-family="{family}">soup</text>',
        f'<text y="20" style="font-family:{family}">soup</text>',
        f'<style>text{{font-family:{family}}}</style><text y="20">soup</text>',
    ]
    pictures = {save.svg_to_png(frame.format(text)) for text in [*named, '<text y="20">soup</text>']}
    assert len(pictures) == 1
    assert pictures != {save.svg_to_png(frame.format("<g/>"))}


def test_without_the_renderer_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    real = builtins.__import__

    def without(name: str, *rest, **named):
        if name == "resvg_py":
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with refuses("needs-extra"):
        to_png(make_reading("Soup"))


def test_what_is_no_reading_is_one_line(tmp_path: Path):
    reading = make_reading(SOUP, focused(SOUP, "cold", "rude"))
    for wrong, suffix in product(("soup", None), ("svg", "txt")):
        with refuses("argument-type"):
            save_picture(wrong, tmp_path / f"a.{suffix}")
    with refuses("file-type"):
        save_picture([reading, reading], tmp_path / "a.svg")
    with refuses("argument-type"):
        to_page(reading)
    assert not any(tmp_path.iterdir())


def test_several_readings_make_one_file(tmp_path: Path):
    first, second = (make_reading(text, focused(text, "soup")) for text in ("Cold soup", "Warm soup"))
    for suffix in ("html", "json", "txt"):
        save_picture(["Row 7", first, "Row 9", second], tmp_path / f"page.{suffix}")
    assert [each["text"] for each in json.loads((tmp_path / "page.json").read_text())] == [
        "Cold soup",
        "Warm soup",
    ]
    shown = (tmp_path / "page.txt").read_text(encoding="utf-8")
    assert shown.index("Row 7") < shown.index("Cold") < shown.index("Row 9") < shown.index("Warm")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<h2>") == 2
