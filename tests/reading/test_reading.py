"""The Reading itself: the overall attention, and how it prints."""

import json
from dataclasses import fields, replace

import numpy as np
import pytest

from limelight.reading import to_html, to_json
from limelight.reading.reading import PairReading, Reading
from reading.readings import SOUP, focused, make_reading


def test_the_max_pooled_row_is_not_part_of_the_overall_attention():
    rows = focused(SOUP, "cold", "rude", "bill")
    attention, reading = make_reading(SOUP, rows[:2]), replace(make_reading(SOUP, rows), max_row=True)
    np.testing.assert_allclose(reading.overall, attention.overall)
    assert json.loads(to_json(reading))["overall"] == pytest.approx(attention.overall.tolist())
    drawn = [to_html(each).split("Strongest: ")[1].split(".</span>")[0] for each in (reading, attention)]
    assert drawn[0] == drawn[1]


def test_the_only_row_counts_even_if_it_is_pooled():
    reading = make_reading(SOUP, focused(SOUP, "cold"))
    for max_row in (False, True):
        np.testing.assert_allclose(replace(reading, max_row=max_row).overall, reading.attention[0], rtol=1e-6)


def test_a_reading_prints_on_one_short_line():
    reading = make_reading(SOUP * 50, r=30)
    assert str(reading) == repr(reading)
    assert "The soup was cold" in repr(reading)
    assert "…" in repr(reading)
    assert "label='bad' (0.800)" in repr(reading)
    assert f"attention={reading.attention.shape}" in repr(reading)
    pair = PairReading(reading, make_reading("We left.\n"))
    assert r"'We left.\n'" in repr(pair)
    assert "label='bad' (0.800)" in repr(pair)
    assert str(reading.attention.shape) in repr(pair)
    for each in (reading, pair):
        assert "\n" not in repr(each)
        assert len(repr(each)) < 250


def test_a_reading_is_still_a_dataclass():
    assert [field.name for field in fields(Reading)][:2] == ["text", "offsets"]
    assert replace(make_reading(SOUP), text="x").text == "x"


def test_a_contraction_is_one_of_the_top_words():
    reading = make_reading("I can't go", pattern=r"ca|n't|\w+", decided=np.array([0.1, 0.25, 0.5, -0.2]))
    assert reading.words == ("I", "ca", "n't", "go")
    assert reading.top_words(2) == [("can't", 0.75), ("go", -0.2)]
