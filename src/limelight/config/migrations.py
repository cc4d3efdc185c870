"""Options as versions 0.1 and 0.2 wrote them into saved folders, runs and checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import LimelightError, check_choice

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


def split_embedding(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with `encoder` and `pooling` in place of `embedding`, which 0.2 had.

    >>> split_embedding({"embedding": "max", "rows": 8})
    {'rows': 8, 'encoder': 'bilstm', 'pooling': 'max'}
    """
    found = dict(options)
    if (was := found.pop("embedding", None)) is None:
        return found
    check_choice("embedding", was, EMBEDDINGS)
    encoder, pooling = EMBEDDINGS[was]
    return {**found, "encoder": encoder, "pooling": pooling}


def upgrade(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under their present names, without those that are gone.

    >>> upgrade({"rate": 0.06, "label_smoothing": 0.1, "rows": 8})
    {'learning_rate': 0.06, 'rows': 8}
    >>> upgrade({"head": "pruned", "head_layers": 2})
    Traceback (most recent call last):
    limelight.errors.LimelightError: head_layers is 2, which only Limelight 0.1 knows; this version has only 1
    """
    for name, (left, where) in REMOVED.items():
        matters = all(options.get(key, value) == value for key, value in where.items())
        if matters and (was := options.get(name, left)) != left:
            wrong = f"{name} is {was!r}, which only Limelight 0.1 knows; this version has only {left!r}"
            raise LimelightError(wrong, code="option-removed")
    kept = {RENAMED.get(name, name): value for name, value in options.items() if name not in GONE}
    return split_embedding({k: v for k, v in kept.items() if v != REMOVED_VALUES.get(k, object)})
