"""One configuration: what to read, which network, how to train it. A preset is an instance of it.

The command line's flags, the estimators' arguments and the saved `config.json` are all made from
these fields, so a field's sentence below is also its `--help`.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass, field
from typing import Any

from ..errors import LimelightError


def option(
    default: Any,
    help: str,
    *,
    choices: tuple[str, ...] = (),
    low: float | None = None,
    high: float | None = None,
) -> Any:
    """A dataclass field with its sentence and the values it accepts."""
    return field(default=default, metadata={"help": help, "choices": choices, "low": low, "high": high})


@dataclass(frozen=True)
class TextRecipe:
    """From raw text to word ids."""

    lowercase: bool = option(True, "Read every word in lower case.")
    min_count: int = option(1, "Leave out words seen fewer times than this in the training data.", low=1)
    max_words: int = option(100_000, "Keep at most this many words, the most frequent ones.", low=1)
    max_length: int = option(0, "Cut a text after this many words; 0 reads all of it.", low=0)
    vectors: str = option(
        "",
        "Start from pretrained word vectors: 'default', or a GloVe or word2vec file; or several with commas "
        "between them, whose vectors then stand side by side.",
    )
    spare_words: int = option(
        0, "Also know the first this many words of the pretrained vectors, seen in training or not.", low=0
    )
    missing: str = option(
        "noise",
        "What a word without a pretrained vector starts from: small noise, the mean of its neighbours, or "
        "the mean of the words it is spelt like.",
        choices=("noise", "neighbours", "spelling"),
    )


@dataclass(frozen=True)
class ModelRecipe:
    """The network. The paper's symbol stands in brackets."""

    embedding: str = option(
        "self-attention",
        "How a sentence becomes an embedding: the paper's structured self-attention, or a baseline.",
        choices=("self-attention", "max", "mean", "last", "inner", "cnn"),
    )
    word_size: int = option(100, "Size of a word vector [d]; pretrained vectors bring their own.", low=1)
    project: int = option(
        0,
        "Size of a trained projection of the word vectors, read in their place: relu(W w + b); 0: none.",
        low=0,
    )
    hidden: int = option(
        300, "Hidden units of the LSTM in each direction [u]; a CNN has twice as many filters.", low=1
    )
    layers: int = option(
        1, "Stacked bidirectional LSTM layers; each reads the words and the layers below.", low=1
    )
    filter_width: int = option(3, "Words a CNN filter sees at once.", low=1)
    attention: str = option(
        "structured",
        "One weight per row and word, as in the paper, or generalised: one per row, word and hidden unit.",
        choices=("structured", "generalised"),
    )
    attention_hidden: int = option(350, "Hidden units of the attention [d_a].", low=1)
    rows: int = option(30, "Rows of the embedding matrix, each with its own attention [r].", low=1)
    max_row: bool = option(
        False, "Join one more row to M: each unit's maximum over the words. Not in the paper."
    )
    attention_bias: bool = option(
        False, "Give the attention biases, as the author's code does and the paper does not."
    )
    pair: str = option(
        "gated",
        "How two sentences meet: the gated encoder of appendix B, or [u; v; |u-v|; u*v] row by row.",
        choices=("gated", "concat"),
    )
    head: str = option(
        "full",
        "The classifier's hidden layer: fully connected, or pruned as in appendix A.",
        choices=("full", "pruned"),
    )
    head_hidden: int = option(3000, "Hidden units of the full head [b].", low=1)
    row_units: int = option(150, "Hidden units per row of M in the pruned head [p].", low=0)
    column_units: int = option(10, "Hidden units per column of M in the pruned head [q].", low=0)
    head_layers: int = option(1, "Hidden layers of the pruned head, stacked.", low=1)
    mix_units: int = option(
        0,
        "Hidden units of a last layer that reads all units of the pruned head; 0: none, as in the paper.",
        low=0,
    )
    dropout: float = option(0.0, "Dropout on the classifier's hidden layer.", low=0, high=0.99)
    dropout_words: float = option(0.0, "Dropout on the word vectors, projected or not.", low=0, high=0.99)
    dropout_layers: float = option(
        0.0,
        "Dropout on what a stacked LSTM layer reads from those below, the same for all words of a sentence.",
        low=0,
        high=0.99,
    )
    dropout_states: float = option(0.0, "Dropout on the LSTM's states H.", low=0, high=0.99)
    dropout_matrix: float = option(
        0.0, "Dropout on M (for a pair, on F_r) before the classifier.", low=0, high=0.99
    )
    dropout_rows: float = option(
        0.0,
        "Dropout of whole rows of M (for a pair, of F_r) before the classifier; an only row always stays.",
        low=0,
        high=0.99,
    )
    initialisation: str = option(
        "torch",
        "Starting weights: PyTorch's usual ones or those of the author's code.",
        choices=("torch", "author"),
    )

    @property
    def attention_rows(self) -> int:
        """Rows of M that self-attention makes [r]; the penalty is theirs."""
        return self.rows if self.embedding == "self-attention" else 0

    @property
    def has_max_row(self) -> bool:
        """Whether the last row of M is the max-pooled one."""
        return self.embedding == "self-attention" and self.max_row

    @property
    def matrix_rows(self) -> int:
        """Rows of M; only self-attention has several."""
        return self.attention_rows + self.has_max_row or 1


@dataclass(frozen=True)
class TrainingRecipe:
    """How the network learns."""

    penalty: float = option(1.0, "Coefficient of the penalty that keeps the rows different.", low=0)
    penalty_scale: str = option(
        "paper",
        "Form of the penalty: ||AA'-I||^2 per sentence, the same over n^2 as in the author's code, or KL.",
        choices=("paper", "author", "kl"),
    )
    optimiser: str = option("adam", "The update rule.", choices=("sgd", "adagrad", "adam", "adamw"))
    rate: float = option(1e-3, "Learning rate.", low=0)
    schedule: str = option(
        "constant",
        "The rate over the epochs: constant, or falling to nothing at the end of the last one, in a straight "
        "line or along a cosine.",
        choices=("constant", "linear", "cosine"),
    )
    batch: int = option(32, "Sentences (or pairs) per update.", low=1)
    epochs: int = option(10, "Passes over the training data at most.", low=1)
    l2: float = option(0.0, "Weight decay: L2 regularisation of the weights (decoupled with adamw).", low=0)
    clip_norm: float = option(0.0, "Scale the gradient down to this norm; 0 leaves it.", low=0)
    clip_value: float = option(0.0, "Clip each entry of the gradient to this size; 0 leaves it.", low=0)
    clip_gates: float = option(
        0.0,
        "Clip each gradient at the LSTM's gates to this size, as the author's code does; 0 leaves it.",
        low=0,
    )
    tune_words: bool = option(True, "Train the word vectors along; otherwise they stay as they start.")
    class_weight: str = option(
        "none",
        "Weigh rare classes more: 'balanced' gives every class the same total.",
        choices=("none", "balanced"),
    )
    label_smoothing: float = option(
        0.0, "Share of each label that is spread evenly over all classes while training.", low=0, high=0.99
    )
    consistency: float = option(
        0.0,
        "Read every batch twice, under different dropout, and add this much of the difference between the "
        "two answers (R-Drop); takes twice the time.",
        low=0,
    )
    noisy_copies: int = option(
        0,
        "Learn so many copies of every text too, in which some words are left out and some replaced by "
        "similar ones (without word vectors, by the unknown word); their label is the text's or, with "
        "teachers, the teachers' answer. They are held in memory, and an epoch takes as much longer.",
        low=0,
        high=100,
    )
    teachers: int = option(
        0,
        "Train this many networks first, each from a seed of its own; the one that is kept learns from their "
        "answers beside the labels. Each takes as long as a training without noisy copies.",
        low=0,
        high=1000,
    )
    teaching: float = option(0.5, "Share of each label that is the teachers' answer.", low=0, high=1)
    judge_after: int = option(
        0,
        "Steps at the start in which the development set has no say and the newest weights are kept: "
        "with few texts, a network that has hardly learnt can look best by chance.",
        low=0,
    )
    patience: int = option(
        0, "Stop after this many evaluations without a better one; 0 never stops early.", low=0
    )
    halve: bool = option(
        False, "After an evaluation that is not better, halve the rate and return to the best weights."
    )
    average: float = option(
        0.0,
        "Judge and keep a moving average of the weights, with this decay per step (such as 0.999); 0: none.",
        low=0,
        high=0.999999,
    )
    precision: str = option(
        "float32", "Arithmetic on a GPU; the weights themselves stay float32.", choices=("float32", "bf16")
    )
    seed: int = option(0, "Every random choice follows from this number.", low=0, high=2**63 - 1)


@dataclass(frozen=True)
class Recipe:
    """A whole recipe: text, model and training.

    >>> recipe = Recipe().override(rows=8, epochs=5)
    >>> recipe.model.rows, recipe.training.epochs
    (8, 5)
    >>> Recipe.from_dict(recipe.to_dict()) == recipe
    True
    >>> Recipe().override(row=8)
    Traceback (most recent call last):
    limelight.errors.LimelightError: there is no option 'row'; did you mean 'rows'?
    """

    text: TextRecipe = TextRecipe()
    model: ModelRecipe = ModelRecipe()
    training: TrainingRecipe = TrainingRecipe()

    def __post_init__(self) -> None:
        for section in (self.text, self.model, self.training):
            for f in dataclasses.fields(section):
                _check(f, getattr(section, f.name))
        if self.model.head == "pruned" and self.model.row_units + self.model.column_units == 0:
            raise LimelightError("a pruned head needs row_units or column_units above 0")

    def override(self, **options: Any) -> Recipe:
        """The same recipe with some fields changed, whichever section they are in."""
        sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
        for name, value in options.items():
            sections[section_of(name)][name] = plain(value)
        return Recipe(**{s: dataclasses.replace(getattr(self, s), **o) for s, o in sections.items()})

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Plain nested dictionaries, ready for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, dict[str, Any]]) -> Recipe:
        """The inverse of `to_dict`; fields that are not given keep their defaults."""
        if not isinstance(data, dict) or not all(isinstance(v, dict) for v in data.values()):
            raise LimelightError(f"a recipe is a JSON object of {', '.join(SECTIONS)}; got {str(data)[:60]}")
        for name in data:
            if name not in SECTIONS:
                raise LimelightError(f"a recipe has the parts {', '.join(SECTIONS)}; got {name!r}")
        return cls().override(**{k: v for section in data.values() for k, v in section.items()})


ELSEWHERE = {  # what other libraries call an option
    "random_state": "seed", "lr": "rate", "learning_rate": "rate", "batch_size": "batch",
    "weight_decay": "l2", "embedding_dim": "word_size", "hidden_size": "hidden", "num_layers": "layers",
    "n_epochs": "epochs", "heads": "rows", "lower": "lowercase", "min_df": "min_count",
}  # fmt: skip
SECTIONS: dict[str, type] = {"text": TextRecipe, "model": ModelRecipe, "training": TrainingRecipe}


def plain(value: Any) -> Any:
    """Python's own number in place of one of numpy's, which searches hand over.

    >>> import numpy
    >>> plain(numpy.float64(0.5)), plain("adam")
    (0.5, 'adam')
    """
    return value.item() if hasattr(value, "dtype") and getattr(value, "ndim", 1) == 0 else value


def options() -> dict[str, dataclasses.Field]:
    """Every field by name, over all sections: what the command line and the estimators offer."""
    return {f.name: f for section in SECTIONS.values() for f in dataclasses.fields(section)}


def section_of(name: str) -> str:
    """Which section a field is in; an unknown name is an error that suggests the nearest."""
    for section, cls in SECTIONS.items():
        if name in {f.name for f in dataclasses.fields(cls)}:
            return section
    near = [ELSEWHERE[name]] if name in ELSEWHERE else difflib.get_close_matches(name, options(), n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(options())}"
    raise LimelightError(f"there is no option {name!r}; {hint}")


def _check(f: dataclasses.Field, value: Any) -> None:
    kind = type(f.default)
    right = isinstance(value, kind) or (kind is float and isinstance(value, int))
    if not right or (isinstance(value, bool) and kind is not bool):
        raise LimelightError(f"{f.name} is {value!r}; it must be of type {kind.__name__}")
    choices, low, high = f.metadata["choices"], f.metadata["low"], f.metadata["high"]
    if choices and value not in choices:
        raise LimelightError(f"{f.name} is {value!r}; it must be one of: {', '.join(choices)}")
    if low is not None and not value >= low:
        raise LimelightError(f"{f.name} is {value}; it must be at least {low}")
    if high is not None and not value <= high:
        raise LimelightError(f"{f.name} is {value}; it must be at most {high}")
