"""The model card: what it says, and that no text can break it."""

from __future__ import annotations

from typing import Any

import pytest

from limelight.config.recipe import Recipe
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
    assert "b\\|c" in text
    assert text.count("\n---\n") == 1  # the block ends where we end it


def test_pairs_are_called_pairs() -> None:
    assert "pairs of sentences" in card(pair=True)
    assert 'model.read("A man plays the guitar.", "A man makes music.")' in card(pair=True)
