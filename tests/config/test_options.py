"""Every option documents itself: its sentence, its values, when it matters, and the generated reference."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from limelight.config.presets import PRESETS
from limelight.config.recipe import Recipe, options

HERE = Path(__file__).parents[2]


def test_the_reference_is_up_to_date():
    """If this fails: python scripts/build_options.py"""
    made = runpy.run_path(str(HERE / "scripts" / "build_options.py"))["reference"]()
    assert (HERE / "docs" / "options.md").read_text(encoding="utf-8") == made


@pytest.mark.parametrize("name", list(options()))
def test_every_option_is_a_sentence_with_a_valid_default(name):
    f = options()[name]
    help = f.metadata["help"]
    assert help[0].isupper() or help[0] == "'"
    assert help.endswith(".")
    assert Recipe().override(**{name: f.default}) == Recipe()
    assert not f.metadata["choices"] or f.default in f.metadata["choices"]


def test_short_help_shows_about_a_dozen():
    assert 10 <= sum(f.metadata["basic"] for f in options().values()) <= 16


def test_presets_survive_json():
    for recipe in PRESETS.values():
        assert Recipe.from_dict(recipe.to_dict()) == recipe
