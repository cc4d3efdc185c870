"""What an option is: its default, its sentence, the values it accepts, and when it has an effect."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, NamedTuple

from ..errors import LimelightError, bad_value, check_choice


class Needs(NamedTuple):
    """What must hold for an option to have an effect, in words and as a test of all options' values."""

    what: str
    holds: Callable[[Any], bool]


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    further: tuple[str, ...] = (),  # choices that stand in recipes, but nobody types them
    low: float | None = None,
    high: float | None = None,
    needs: Needs | tuple[Needs, ...] = (),
    basic: bool = False,
    flag: bool = True,
    metavar: str = "",
) -> Any:
    """A dataclass field: `basic` ones are in the short help; without a `flag`, presets alone set it."""
    conditions = (needs,) if isinstance(needs, Needs) else needs
    values = {"choices": choices, "low": low, "high": high, "metavar": metavar}
    about = {"help": help, **values, "further": further, "needs": conditions, "basic": basic, "flag": flag}
    return field(default=default, metadata=about)


def check_value(f: dataclasses.Field, value: Any) -> None:
    """Raise unless `value` is of the option's type, one of its choices and within its bounds."""
    kind, choices = type(f.default), f.metadata["choices"]
    low, high = f.metadata["low"], f.metadata["high"]
    right = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not right or (isinstance(value, bool) and kind is not bool):
        allowed = f"of type {kind.__name__}"
    elif choices and value not in (*choices, *f.metadata["further"]):
        allowed = f"one of: {', '.join(choices)}"
    elif low is not None and not value >= low:
        allowed = f"at least {low}"
    elif high is not None and not value <= high:
        allowed = f"at most {high}"
    else:
        return
    raise bad_value(f"{f.name} is {value!r}; it must be {allowed}")


def to_builtin(value: Any) -> Any:
    """A Python number for a numpy one, which hyper-parameter searches pass."""
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


# ---------------------------------------------------------------- options as versions 0.1 and 0.2 wrote them

RENAMED = {
    "rate": "learning_rate", "batch": "batch_size", "l2": "weight_decay", "optimiser": "optimizer",
    "tune_words": "fine_tune_words", "judge_after": "min_steps", "halve": "halve_on_plateau",
    "average": "ema_decay", "project": "projection", "spare_words": "extra_words",
    "missing": "missing_vectors", "attention_bias": "author_code",
}  # fmt: skip
TRAINING_ONLY = {  # a trained network does not depend on these
    "initialisation", "clip_value", "consistency", "dropout_layers", "dropout_rows", "label_smoothing",
    "teachers", "teacher_weight", "teaching", "noisy_copies",
}  # fmt: skip
REMOVED_VALUES = {"penalty_scale": "kl", "missing_vectors": "neighbours"}  # for training only, too
REMOVED: dict[str, tuple[Any, dict[str, str]]] = {  # the one value that is left, and where it matters
    "attention": ("structured", {"embedding": "self-attention"}),
    "filter_width": (3, {"embedding": "cnn"}),
    "head_layers": (1, {"head": "pruned"}),
}
GONE = {*REMOVED, *TRAINING_ONLY}
EMBEDDINGS = {  # one option until 0.2 -> encoder and pooling
    "self-attention": ("bilstm", "self-attention"), "max": ("bilstm", "max"), "cnn": ("cnn", "max"),
}  # fmt: skip


def upgrade(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under their present names, without those that are gone."""
    for name, (left, where) in REMOVED.items():
        matters = all(options.get(key, value) == value for key, value in where.items())
        if matters and (was := options.get(name, left)) != left:
            wrong = f"{name} is {was!r}, which only Limelight 0.1 knows; this version has only {left!r}"
            raise LimelightError(wrong, code="option-removed")
    kept = {RENAMED.get(name, name): value for name, value in options.items() if name not in GONE}
    found = {k: v for k, v in kept.items() if v != REMOVED_VALUES.get(k, object)}
    if (was := found.pop("embedding", None)) is not None:
        check_choice("embedding", was, EMBEDDINGS)
        found["encoder"], found["pooling"] = EMBEDDINGS[was]
    return found
