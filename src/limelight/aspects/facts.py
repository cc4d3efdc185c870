"""What a model has to have for aspects, and how config.json has them: as facts, with a list of edits."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import LimelightError, damaged, wrong_task
from ..text.tasks import find_task
from .seeds import Aspects

MAX_EDITS = 1000  # that are kept


def takes_aspects(task: str, pair: bool) -> bool:
    """Whether a model gives one answer for one text: only that is a sum over the words of aspects."""
    return not pair and not find_task(task).has_several


def check_takes_aspects(task: str, pair: bool, own_pooling: bool = False) -> None:
    """Raise unless such a model can have aspects."""
    if own_pooling:
        raise wrong_task("aspects are sums over words; with a pooling of your own there are none")
    if pair:
        raise LimelightError("aspects are for single texts; this model reads pairs", code="pair-or-text")
    if not takes_aspects(task, pair):
        raise wrong_task("aspects are for one answer a text; this model gives several labels")


def require_aspects(aspects: Aspects) -> Aspects:
    """Raise unless one of them is in use."""
    if not aspects:
        todo = "give it some with 'limelight aspects MODEL --set hotels' (in Python: model.with_aspects)"
        raise LimelightError(f"this model has no aspects; {todo}", code="no-aspects")
    return aspects


def saved_aspects(fact: Any) -> Aspects:
    """What config.json has as aspects, checked; none if it has none."""
    if fact is None:
        return Aspects()
    try:
        if not _is_as_written(fact):
            raise LimelightError("they are not as Limelight writes them", code="aspects")
        return Aspects.of(fact["definition"])
    except LimelightError as error:
        fault = f"the aspects in config.json are damaged: {error}"
        raise damaged(f"{fault}; 'limelight aspects MODEL --set' replaces them") from error


def _is_as_written(fact: Any) -> bool:
    if not isinstance(fact, dict) or fact.keys() != {"definition", "history"}:
        return False
    definition, edits = fact["definition"], fact["history"]
    if not isinstance(definition, dict) or not isinstance(edits, list) or len(edits) > MAX_EDITS:
        return False
    return all(isinstance(edit, dict) and edit.keys() == {"date", "edit"} for edit in edits) and all(
        isinstance(each, str) for edit in edits for each in edit.values()
    )


def aspect_facts(aspects: Aspects, before: Any = None, *edits: str) -> dict[str, Any]:
    """What config.json is to have of them, after the edits that `before` had and these."""
    return with_edits({"definition": aspects.to_dict()}, before, *edits)


def with_edits(fact: dict[str, Any], before: Any, *edits: str) -> dict[str, Any]:
    """What is to be in config.json, with its history: that of `before` it, and these edits, of now."""
    date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    history = [*(before or {}).get("history", ()), *({"date": date, "edit": edit[:200]} for edit in edits)]
    return {**fact, "history": history[-MAX_EDITS:]}


def facts_of_training(
    given: Aspects, before: Mapping[str, Any] | None, task: str, pair: bool
) -> dict[str, Any]:
    """The facts for a model that is being trained: the aspects given, or those of the model it goes on with.

    `before` are that model's facts. There is no date, so that the same training gives the same bytes.
    """
    if given:
        check_takes_aspects(task, pair)
    elif before and takes_aspects(task, pair):
        given = saved_aspects(before.get("aspects"))
    return {"aspects": aspect_facts(given)} if given else {}
