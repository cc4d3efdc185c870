"""The recipe: what to read, which network, how to train it. A preset is an instance of it.

The command line's flags, the estimators' arguments, docs/options.md and the saved `config.json` are all made
from these fields, so a field's sentence below is also its `--help`.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from types import SimpleNamespace
from typing import Any

from ..errors import LimelightError, bad_value, warn
from .options import RENAMED, Needs, check_value, option, to_builtin, upgrade

ATTENTION = Needs("pooling 'self-attention'", lambda o: o.pooling == "self-attention")
LSTM = Needs("encoder 'bilstm'", lambda o: o.encoder == "bilstm")
VECTORS = Needs("pretrained vectors", lambda o: bool(o.vectors))
WORDS = Needs("pretrained vectors, or start", lambda o: bool(o.vectors or o.start))
NO_START = Needs("start ''; the weights to start from bring their own", lambda o: not o.start)
NO_VECTORS = Needs(
    "random initial word vectors; pretrained ones set the size", lambda o: not (o.vectors or o.start)
)
READER = Needs("head 'vector'", lambda o: o.head == "vector")
FULL = Needs("head 'full'", lambda o: o.head == "full")
PRUNED = Needs("head 'pruned'", lambda o: o.head == "pruned")
PENALTY = Needs("a penalty above 0", lambda o: o.penalty > 0)
DEV_SET = Needs("a development set", lambda o: o.has_dev)
PAIRS = Needs("pairs of texts", lambda o: o.pairs)
PAIR_VECTORS = Needs("pair 'vectors'", lambda o: o.pair == "vectors")
SEVERAL = Needs("task 'multi-label'", lambda o: o.task in ("auto", "multi-label"))
# An encoder of the user's own, which reads word vectors, or the words themselves; `hidden` is the size of H.
MODULES = ("module", "word-module")  # encoders of the user's own
POOLING_MODULE = "module"
TASKS = ("classification", "multi-label", "ordinal", "regression")
DEFAULT_TASK = TASKS[0]

# Below an option's sentence, one line says which values it takes and when it matters.
# fmt: off


@dataclass(frozen=True)
class TextRecipe:
    """From raw text to word ids, and from labels to numbers."""

    task: str = option(
        "auto",
        "What a label is: one class, any number of them (multi-label), a class in an order of numbers such "
        "as stars (ordinal), or a number (regression). 'auto': lists of labels are multi-label, all others "
        "classification.",
        choices=("auto", *TASKS), basic=True,
    )
    separator: str = option(
        "",
        "What separates the labels in a cell of a table, such as '|': a text then has any number of labels.",
        needs=SEVERAL, basic=True, metavar="MARK",
    )
    lowercase: bool = option(True, "Convert text to lower case.")
    split_characters: bool = option(
        True,
        "Split Chinese, Japanese, Thai, Lao, Khmer and Burmese into characters; not if the texts already "
        "have spaces between their words.",
    )
    min_count: int = option(1, "Ignore words seen fewer times than this in the training data.", low=1)
    max_words: int = option(100_000, "Maximum vocabulary size; the most frequent words are kept.", low=1)
    max_length: int = option(0, "Truncate texts to this many words; 0 keeps all.", low=0, basic=True)
    start: str = option(
        "",
        "Pretrained weights to start from: 'reader' (bundled), a folder written by 'limelight pretrain', or "
        "a trained model; they set the sizes of the network. '' starts from random weights.",
        basic=True,
    )
    vectors: str = option(
        "",
        "Pretrained word vectors: 'default' (bundled), a GloVe or word2vec file, or several files separated "
        "by commas, whose vectors are concatenated.",
        needs=NO_START, basic=True,
    )
    extra_words: int = option(
        0, "Add the first N words of the pretrained vectors, or of the weights to start from, to the "
        "vocabulary, seen in training or not.",
        low=0, needs=WORDS,
    )
    missing_vectors: str = option(
        "noise",
        "Initial vector of a word without a pretrained one: noise, or the mean of similarly spelled words.",
        choices=("noise", "spelling"), needs=(VECTORS, NO_START), flag=False,
    )


@dataclass(frozen=True)
class ModelRecipe:
    """The network, with the paper's symbols."""

    encoder: str = option(
        "bilstm",
        "How words are read: the paper's bidirectional LSTM, the CNN of its baseline, or each by itself.",
        choices=("bilstm", "cnn", "words"), further=MODULES, basic=True,
    )
    pooling: str = option(
        "self-attention",
        "From words to rows of the embedding matrix: structured self-attention, or each unit's maximum.",
        choices=("self-attention", "max"), further=(POOLING_MODULE,),
    )
    word_size: int = option(100, "Size of the word vectors [d].", low=1, needs=NO_VECTORS)
    buckets: int = option(
        0, "Vectors for hashed character n-grams, which spell the words outside the vocabulary of a reader.",
        low=0, needs=READER, flag=False,
    )
    stems: bool = option(
        False, "Read such a word also from the known words in it: genome-wide from genome and wide.",
        needs=READER, flag=False,
    )
    projection: int = option(
        0, "Project the word vectors to this size with a trained layer, relu(W w + b); 0 disables it.", low=0
    )
    hidden: int = option(
        300, "LSTM units in each direction [u]; a CNN has twice as many filters.", low=1, basic=True
    )
    layers: int = option(
        1, "Stacked biLSTM layers; each reads the words and the layers below it.", low=1, needs=LSTM
    )
    attention_hidden: int = option(350, "Hidden units of the attention [d_a].", low=1, needs=ATTENTION)
    rows: int = option(
        30, "Rows of the embedding matrix, each with its own attention [r].",
        low=1, needs=ATTENTION, basic=True,
    )
    max_row: bool = option(
        False, "Append a row to M with each unit's maximum over the words. Not in the paper.", needs=ATTENTION
    )
    author_code: bool = option(
        False, "Follow the author's code, not the paper: attention biases and its weight initialisation."
    )
    pair: str = option(
        "gated",
        "How two sentences are combined: the gated encoder of appendix B, or [u; v; |u-v|; u*v], row by row "
        "(concat) or of one vector each (vectors). 'auto': vectors for numbers if training starts from a "
        "reader, whose cosine they hold; otherwise concat.",
        choices=("gated", "concat", "vectors", "auto"), needs=PAIRS,
    )
    vector_size: int = option(384, "Size of the vectors of a pair.", low=1, needs=(PAIRS, PAIR_VECTORS))
    vector_rank: int = option(
        128, "Size of a row of M after the map that all rows share, on the way to a vector.",
        low=1, needs=(PAIRS, PAIR_VECTORS),
    )
    head: str = option(
        "full",
        "Hidden layer of the classifier: fully connected, pruned as in appendix A, or none (linear; pairs "
        "then have the pruned one, unless pair is 'vectors'). A reader has none and gives a vector.",
        choices=("full", "pruned", "linear", "vector"),
    )
    head_hidden: int = option(3000, "Hidden units of the full head [b].", low=1, needs=FULL)
    row_units: int = option(150, "Hidden units per row of M in the pruned head [p].", low=0, needs=PRUNED)
    column_units: int = option(
        10, "Hidden units per column of M in the pruned head [q].", low=0, needs=PRUNED, flag=False
    )
    mix_units: int = option(
        0, "Units of a second hidden layer on top of the pruned one; 0 for none, as in the paper.",
        low=0, needs=PRUNED, flag=False,
    )
    dropout: float = option(
        0.0, "Dropout on the classifier's hidden layer; after a start from a reader, on the reader's vector.",
        low=0, high=0.99, basic=True,
    )
    dropout_words: float = option(0.0, "Dropout on the word vectors.", low=0, high=0.99)
    dropout_states: float = option(0.0, "Dropout on the LSTM's states H.", low=0, high=0.99)
    dropout_matrix: float = option(
        0.0, "Dropout on M (for pairs, on F_r) before the classifier.", low=0, high=0.99
    )

    @property
    def has_encoder_module(self) -> bool:
        """Whether the encoder is a module of the user's own."""
        return self.encoder in MODULES

    @property
    def has_pooling_module(self) -> bool:
        """Whether the pooling is a module of the user's own."""
        return self.pooling == POOLING_MODULE

    @property
    def has_module(self) -> bool:
        return self.has_encoder_module or self.has_pooling_module

    @property
    def reads_words(self) -> bool:
        """Whether the encoder reads the words themselves, and not their vectors."""
        return self.encoder == "word-module"

    @property
    def is_reader(self) -> bool:
        """Whether the head gives a vector."""
        return READER.holds(self)

    @property
    def table_size(self) -> int:
        """Columns of the table of word vectors: none, if the encoder reads the words themselves."""
        return 0 if self.reads_words else self.word_size

    @property
    def spells_words(self) -> bool:
        """Whether words outside the vocabulary are read by their spelling, as a reader does."""
        return self.is_reader and self.buckets > 0


@dataclass(frozen=True)
class TrainingRecipe:
    """How the network is trained."""

    penalty: float = option(
        1.0, "Coefficient of the penalty that keeps the rows different.", low=0, needs=ATTENTION, basic=True
    )
    penalty_scale: str = option(
        "paper", "Form of the penalty: ||AA'-I||^2 per sentence, or the author's code's, divided by n^2.",
        choices=("paper", "author"), needs=(ATTENTION, PENALTY), flag=False,
    )
    aspect_penalty: float = option(
        0.0,
        "Coefficient of a penalty on rows that read the same words throughout a batch, so that each keeps "
        "to an aspect: try 0.03.",
        low=0, needs=ATTENTION,
    )
    optimizer: str = option("adam", "Update rule.", choices=("sgd", "adagrad", "adam", "adamw"))
    learning_rate: float = option(1e-3, "Learning rate.", low=0, basic=True)
    encoder_rate: float = option(
        1.0, "The encoder's learning rate as a multiple of the others': 0.1 for a transformer.", low=0,
        flag=False,
    )
    schedule: str = option(
        "constant",
        "Learning-rate schedule: constant, or decaying to 0 over all epochs, linearly or as a cosine; with "
        "start it first rises, over a tenth of the steps.",
        choices=("constant", "linear", "cosine"),
    )
    batch_size: int = option(32, "Texts (or pairs) per update.", low=1, basic=True)
    epochs: int = option(
        10,
        "Maximum number of passes over the training data; 0 leaves a reader as it is and fits a classifier "
        "to its vectors.",
        low=0, basic=True,
    )
    weight_decay: float = option(0.0, "L2 regularisation of the weights (decoupled with adamw).", low=0)
    clip_norm: float = option(0.0, "Clip the gradient to this norm; 0 disables this.", low=0)
    clip_gates: float = option(
        0.0,
        "Clip each gradient at the LSTM's gates to this size, as the author's code does; 0 disables this.",
        low=0, needs=LSTM, flag=False,
    )
    fine_tune_words: bool = option(True, "Fine-tune the word vectors; otherwise they stay frozen.")
    class_weight: str = option(
        "none", "'balanced' gives every class the same total weight, so that rare classes count more.",
        choices=("none", "balanced"), basic=True,
    )
    min_steps: int = option(
        0,
        "Ignore dev scores for the first N steps: with few texts, a network that has hardly learnt can look "
        "best by chance.",
        low=0, needs=DEV_SET, flag=False,
    )
    patience: int = option(
        0, "Stop after N evaluations in a row without improvement; 0 never stops early.",
        low=0, needs=DEV_SET, basic=True,
    )
    halve_on_plateau: bool = option(
        False,
        "After an evaluation without improvement, halve the learning rate and return to the best weights.",
        needs=DEV_SET, flag=False,
    )
    ema_decay: float = option(
        0.0,
        "Evaluate and save an exponential moving average of the weights with this decay per step, such as "
        "0.999; 0 disables averaging.",
        low=0, high=0.999999,
    )
    precision: str = option(
        "float32", "Arithmetic on a GPU; the weights themselves stay float32.", choices=("float32", "bf16")
    )
    seed: int = option(0, "Random seed.", low=0, high=2**63 - 1, basic=True)


# fmt: on

SECTIONS: dict[str, type] = {"text": TextRecipe, "model": ModelRecipe, "training": TrainingRecipe}
OTHER_NAMES = {  # what other libraries, and older versions, call an option
    "random_state": "seed", "lr": "learning_rate", "wd": "weight_decay", "embedding_dim": "word_size",
    "hidden_size": "hidden", "num_layers": "layers", "n_epochs": "epochs", "max_epochs": "epochs",
    "heads": "rows", "lower": "lowercase", "min_df": "min_count", "max_features": "max_words",
    **RENAMED,
}  # fmt: skip


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
                check_value(f, getattr(section, f.name))
        if self.model.head == "pruned" and self.model.row_units + self.model.column_units == 0:
            raise bad_value("a pruned head needs row_units above 0")

    def override(self, **options: Any) -> Recipe:
        """The same recipe with some fields changed, whichever section they are in."""
        sections: dict[str, dict[str, Any]] = {name: {} for name in SECTIONS}
        for name, value in options.items():
            sections[section_of(name)][name] = to_builtin(value)
        return Recipe(**{s: dataclasses.replace(getattr(self, s), **o) for s, o in sections.items()})

    def values(self) -> dict[str, Any]:
        """Every option's value by name, over all sections."""
        return {name: value for section in self.to_dict().values() for name, value in section.items()}

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, dict[str, Any]]) -> Recipe:
        """The inverse of `to_dict`, also for what older versions wrote; missing fields get their defaults."""
        if not isinstance(data, dict) or not all(isinstance(v, dict) for v in data.values()):
            what = f"a recipe is a JSON object of {', '.join(SECTIONS)}"
            raise LimelightError(f"{what}; got {str(data)[:60]}", code="recipe-format")
        if wrong := [name for name in data if name not in SECTIONS]:
            what = f"a recipe has the sections {', '.join(SECTIONS)}"
            raise LimelightError(f"{what}; got {wrong[0]!r}", code="recipe-format")
        return cls().override(**upgrade({k: v for section in data.values() for k, v in section.items()}))


def options() -> dict[str, dataclasses.Field]:
    """Every field by name, over all sections; the command line offers those with a flag."""
    return {f.name: f for section in SECTIONS.values() for f in dataclasses.fields(section)}


def section_of(name: str) -> str:
    """The section a field is in; an unknown name is an error that suggests the nearest."""
    for section, cls in SECTIONS.items():
        if name in {f.name for f in dataclasses.fields(cls)}:
            return section
    near = [OTHER_NAMES[name]] if name in OTHER_NAMES else difflib.get_close_matches(name, options(), n=1)
    offered = [name for name, f in options().items() if f.metadata["flag"]]
    hint = f"did you mean {near[0]!r}?" if near else f"the options are: {', '.join(offered)}"
    raise LimelightError(f"there is no option {name!r}; {hint}", code="option-unknown")


# ---------------------------------------------------------------- warnings about options that have no effect

# What the classifier on a frozen reader has no use for:
IN_EPOCHS = {field.name for field in fields(TrainingRecipe)} - {"epochs", "class_weight", "precision", "seed"}


def unused_options(
    recipe: Recipe, given: Iterable[str], *, has_dev: bool = True, pairs: bool = True
) -> dict[str, str]:
    """The options in `given` that have no effect in this recipe, or on data of this kind, and why.

    An option that is switched off (0 or False) is not reported: its user gets what they asked for.
    """
    values = recipe.values()
    state = SimpleNamespace(**values, has_dev=has_dev, pairs=pairs)
    unused: dict[str, str] = {}
    for name in given:
        if name in IN_EPOCHS and not recipe.training.epochs and values[name]:
            unused[name] = f"{name} has no effect: it needs epochs above 0"
        for needs in options()[name].metadata["needs"] if values[name] else ():
            if not needs.holds(state):
                unused.setdefault(name, f"{name} has no effect: it needs {needs.what}")
    return unused


def warn_unused(recipe: Recipe, given: Iterable[str], *, has_dev: bool = True, pairs: bool = True) -> None:
    """Warn about each unused option, and about frozen random word vectors, whoever chose them."""
    for line in unused_options(recipe, given, has_dev=has_dev, pairs=pairs).values():
        warn(line)
    has_words = recipe.text.vectors or recipe.text.start or recipe.training.fine_tune_words
    if recipe.model.table_size and not has_words:
        warn("the word vectors stay random: there are no pretrained ones, and fine_tune_words is off")


def warn_ignored(recipe: Recipe, encoded: Recipe) -> None:
    """Warn if a preset's text options differ from those that the data was encoded with, which apply."""
    was = asdict(encoded.text)
    given = {name: value for name, value in asdict(recipe.text).items() if value != "auto"}  # the data's own
    other = [name for name, value in given.items() if value != was[name]]
    if other:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in other)
        warn(f"ignoring the preset's {flags}: the data is already encoded")
