"""The model card: what it says, and that no text can break it."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from limelight.config.recipe import Recipe
from limelight.network.parts import POOLINGS, Pooling, Rows
from limelight.runtime.card import model_card

yaml = pytest.importorskip("yaml")  # comes with huggingface_hub

FACTS: dict[str, Any] = {
    "name": "Soup reviews",
    "license": "mit",
    "data": {"name": "soups", "train": 12_000, "test": 500},
    "results": {"dev": {"accuracy": 0.875, "loss": 0.5}, "test": {"accuracy": 0.8125}},
    "confusion": [[30, 2], [4, 64]],
    "confusion_split": "test",
}


def card(**changes: Any) -> str:
    recipe = Recipe().override(rows=8, penalty=0.3)
    parts = {"recipe": recipe, "labels": ("bad", "good"), "pair": False, "vocabulary": 5000, "facts": FACTS}
    return model_card(**{**parts, **changes})


def metadata(text: str) -> dict[str, Any]:
    return yaml.safe_load(text.split("---\n")[1])


def test_the_hub_can_read_it() -> None:
    found = metadata(card())
    assert found["library_name"] == "limelight"
    assert found["pipeline_tag"] == "text-classification"
    assert found["license"] == "mit"
    result = found["model-index"][0]["results"][0]
    assert result["metrics"] == [{"type": "accuracy", "value": 0.8125}]
    assert result["dataset"]["name"] == "soups"


def test_people_can_read_it() -> None:
    text = card()
    assert "# Soup reviews" in text
    assert "- bad\n- good" in text
    assert "| train | 12,000 |" in text
    assert "| dev | 0.8750 | 0.5000 |" in text
    assert "| test | 0.8125 |  |" in text
    assert "| bad | 30 | 2 |" in text
    assert "| `penalty` | 0.3 | Coefficient of the penalty" in text
    assert "`min_count`" not in text  # as usual, so not worth a line
    assert "## Intended use" in text
    assert "## Limits" in text


@pytest.mark.parametrize(
    "facts",
    [{}, {"data": 3, "results": "good", "confusion": [[1]]}, {"results": {"dev": 1}, "confusion": [1, 2]}],
)
def test_few_or_odd_facts_still_give_a_card(facts: dict[str, Any]) -> None:
    text = card(facts=facts)
    assert "## Labels" in text
    assert not {"model-index", "language"} & set(metadata(text))
    assert "## Confusion" not in text


def test_text_cannot_break_out() -> None:
    evil = "x\n---\nlicense: gpl\n| a <script>alert(1)</script>"
    text = card(labels=(evil, "b|c"), facts={**FACTS, "name": evil, "license": evil, "data": {"name": evil}})
    assert metadata(text)["license"] == evil  # as a string, not as a field
    assert "<script" not in text.split("---\n", 2)[2]
    assert "- b|c" in text
    assert "| b\\|c |" in text
    assert text.count("\n---\n") == 1  # the block ends where we end it


def test_pairs_are_called_pairs() -> None:
    assert "pairs of sentences" in card(pair=True)
    assert 'model.read("A man plays the guitar.", "A man makes music.")' in card(pair=True)


@pytest.mark.parametrize(
    "evil",
    [
        "![x](https://evil.example/x.png)", "[click](javascript:x)", "<https://evil.example>", "`code`",
        "https://evil.example", "www.evil.example", "evil@evil.example", "*b* _i_ ~s~ $m$", "# head",
        "- item", "1. item", "> quote", "=====", "a\\", "a\\|b", "&lt;img src=x&gt;",
    ],
)  # fmt: skip
def test_markdown_in_labels_has_no_effect(evil: str) -> None:
    """What a Markdown program would see as a mark is spelled as an entity, and reads as it was."""
    text = card(labels=(evil, "good"), facts={**FACTS, "name": evil, "data": {"name": evil, evil: 3}})
    shown = text.split("---\n", 2)[2]
    label = next(line for line in shown.splitlines() if line.startswith("- ")).removeprefix("- ")
    assert html.unescape(label).replace("\u200b", "") == evil
    assert not re.search(r"[\\`*_\[\]#~<>$]", re.sub(r"&#?\w+;", "", label))
    assert not re.search(r"://|@\w|www\.", html.unescape(label))
    assert not re.match(r"[-+=]|\d+[.)]", label)
    assert sum(line.count(label) for line in shown.splitlines()) >= 3 or "|" in evil
    assert metadata(text)["model-index"][0]["name"] == " ".join(evil.split())


def test_yaml_keeps_emoji() -> None:
    text = card(facts={**FACTS, "name": "soup \U0001f372 \x85 \u2028 \x9b", "license": "a\ud800b"})
    assert metadata(text)["model-index"][0]["name"] == "soup \U0001f372 \x9b"
    assert metadata(text)["license"] == "a\ufffd\ufffd\ufffdb"


def test_the_card_takes_the_name_of_a_pooling_from_its_entry(monkeypatch):
    entry = Pooling(lambda recipe: f"the median over {recipe.hidden} units", lambda recipe: Rows(maxima=1))
    monkeypatch.setitem(POOLINGS, "max", entry)
    recipe = Recipe().override(pooling="max")
    card = model_card(recipe=recipe, labels=["bad", "good"], pair=False, vocabulary=9, facts={})
    assert "the median over 300 units" in card
    assert "max pooling" not in card
