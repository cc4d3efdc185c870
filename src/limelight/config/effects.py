"""Options that someone has given and that cannot do anything: such as rows beside a max-pooled embedding."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict

from ..errors import warn
from ..text.dataset import Dataset
from .recipe import Recipe, section_of


def idle(recipe: Recipe, given: Iterable[str], dataset: Dataset | None = None) -> dict[str, str]:
    """Of the options that were `given`, those that change nothing in this recipe, each with a sentence.

    Or nothing on this data, if it is there already.

    One that was given as 0 or False is no surprise: whoever says "without it" gets just that.

    >>> idle(Recipe().override(embedding="max", rows=8), ["embedding", "rows"])
    {'rows': "rows has no effect: embedding is 'max', not 'self-attention'"}
    """
    reasons: dict[str, str] = {}
    for holds, names, reason in (*_rules(recipe), *(_rules_of_data(dataset) if dataset else ())):
        if holds:
            reasons = dict.fromkeys(names.split(), reason) | reasons  # the first reason is the plainest
    return {
        name: f"{name} has no effect: {reasons[name]}"
        for name in given
        if name in reasons and getattr(getattr(recipe, section_of(name)), name)
    }


def warn_idle(recipe: Recipe, given: Iterable[str], dataset: Dataset | None = None) -> None:
    """A warning for each of them; and one if the words mean nothing, whoever has chosen that."""
    for line in idle(recipe, given, dataset).values():
        warn(line)
    if not recipe.text.vectors and not recipe.training.tune_words:
        why = "there are no pretrained ones, and tune_words is off"
        warn(f"every word keeps the random vector it begins with: {why}; switch it on to train them")


def warn_settled(recipe: Recipe, encoded: Recipe) -> None:
    """A warning if the text options of a preset that someone has named are not those of the encoded data.

    Those of the data hold: its words are chosen and its texts cut already.
    """
    was = asdict(encoded.text)
    other = [name for name, value in asdict(recipe.text).items() if value != was[name]]
    if other:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        warn(f"the text options are those that the data was encoded with; the preset has another {flags}")


def _rules(recipe: Recipe) -> Iterator[tuple[bool, str, str]]:
    """Whether it holds, the options that are idle then, and why."""
    model, training = recipe.model, recipe.training
    attends, cnn = model.embedding == "self-attention", model.embedding == "cnn"
    instead = f"embedding is {model.embedding!r}, not"
    yield not recipe.text.vectors, "spare_words missing", "there are no pretrained vectors"
    yield bool(recipe.text.vectors), "word_size", "pretrained vectors bring their own size"
    yield not attends, "attention attention_hidden attention_bias rows max_row", f"{instead} 'self-attention'"
    yield not attends, "penalty penalty_scale", f"{instead} 'self-attention'"
    yield not cnn, "filter_width", f"{instead} 'cnn'"
    yield cnn, "layers dropout_layers clip_gates", "embedding is 'cnn', which has no LSTM"
    yield model.layers == 1, "dropout_layers", "layers is 1, and it drops what one layer reads from another"
    yield model.head == "full", "row_units column_units head_layers mix_units", "head is 'full', not 'pruned'"
    yield model.head == "pruned", "head_hidden", "head is 'pruned', not 'full'"
    yield model.matrix_rows == 1, "dropout_rows", "M has a single row, which always stays"
    yield training.penalty == 0, "penalty_scale", "penalty is 0"
    yield training.penalty_scale == "kl" and model.rows == 1, "penalty", "'kl' takes two rows, and rows is 1"
    yield training.teachers == 0, "teaching", "there are no teachers"
    silent = training.teaching == 0 and training.noisy_copies == 0
    yield silent, "teachers", "teaching is 0, and there are no noisy copies to answer for"
    alike = "without dropout both readings of a batch are the same; it only takes twice the time"
    yield not _drops(recipe), "consistency", alike


def _rules_of_data(dataset: Dataset) -> Iterator[tuple[bool, str, str]]:
    yield "dev" not in dataset.splits, "patience halve judge_after", "there is no development set to go by"
    yield not dataset.pair, "pair", "these are single texts"


def _drops(recipe: Recipe) -> bool:
    """Whether any dropout is at work."""
    model = recipe.model
    anywhere = model.dropout + model.dropout_words + model.dropout_states + model.dropout_matrix
    between = model.dropout_layers if model.layers > 1 and model.embedding != "cnn" else 0
    whole = model.dropout_rows if model.matrix_rows > 1 else 0
    return anywhere + between + whole > 0
