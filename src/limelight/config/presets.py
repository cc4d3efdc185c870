"""Named recipes: the paper's, its author's code where that differed, the best we know, and small ones."""

from __future__ import annotations

from ..errors import LimelightError
from .recipe import Recipe

# Section 4.1 and 4.2. Where the paper is silent (case, number of epochs, the CNN's width) the
# defaults of `Recipe` stand; case is kept, as word2vec keeps it.
_PAPER = Recipe().override(
    lowercase=False, min_count=2, word_size=100, hidden=300, attention_hidden=350, rows=30,
    penalty=1.0, penalty_scale="paper", optimiser="sgd", rate=0.06, dropout=0.5, l2=1e-4,
    clip_norm=0.5, epochs=20, patience=4,
)  # fmt: skip

# Section 4.3: no dropout, no L2; GloVe of 300 dimensions; AdaGrad. The batch is from the author's code.
_PAPER_SNLI = Recipe().override(
    lowercase=False, word_size=300, hidden=300, attention_hidden=150, rows=30, pair="gated", head_hidden=4000,
    penalty=0.3, penalty_scale="paper", optimiser="adagrad", rate=0.01, batch=50, epochs=12, patience=4,
)  # fmt: skip

_AUTHOR = {
    "attention_bias": True,
    "initialisation": "author",
    "missing": "neighbours",
    "penalty_scale": "author",
}

# What each ingredient gave is in docs/recipes.md. Frozen vectors behind a trained projection, rows that keep
# units of their own in the classifier, a max-pooled row beside them, and an average of the weights.
_BEST = Recipe().override(
    vectors="default", spare_words=40_000, missing="spelling", tune_words=False, project=300, hidden=300,
    attention_hidden=150, max_row=True, head="pruned", row_units=64, column_units=0, dropout=0.2,
    dropout_words=0.2, penalty=0.1, penalty_scale="author", optimiser="adamw", l2=0.1, rate=8e-4,
    clip_norm=5.0, average=0.999, halve=True, judge_after=100, patience=4, precision="bf16",
)  # fmt: skip

PRESETS: dict[str, Recipe] = {
    "yelp": _PAPER.override(head_hidden=3000, batch=32),
    "age": _PAPER.override(head_hidden=2000, batch=16),
    "snli": _PAPER_SNLI,
    "yelp-author": _PAPER.override(
        **_AUTHOR, word_size=300, rate=0.001, batch=50, head_hidden=3000, clip_norm=0.0, clip_gates=0.5,
        dropout=0.3, dropout_words=0.3, dropout_states=0.3, dropout_matrix=0.3,
    ),
    "snli-author": _PAPER_SNLI.override(
        **_AUTHOR, penalty=0.1, dropout=0.5, dropout_matrix=0.5, clip_gates=100.0
    ),
    "best-single": _BEST.override(rows=8, batch=128, epochs=10),
    # Teachers give a point more, and training takes several times as long. Without them and their copies two
    # layers, no layer over all units and 14 epochs are as good.
    "best-pair": _BEST.override(
        layers=3, rows=16, mix_units=512, pair="concat", batch=256, epochs=8, teachers=5, noisy_copies=2
    ),
    # The penalty is just large enough that the rows read different words: the author's form at 1.0 left them
    # alike. Words seen once and unknown to the vectors stand in for the unknown word.
    "small": Recipe().override(
        vectors="default", spare_words=40_000, min_count=2, word_size=100, hidden=64, attention_hidden=50,
        rows=8, head="pruned", row_units=32, column_units=0, pair="concat", penalty=0.03,
        penalty_scale="paper", optimiser="adam", rate=2e-3, batch=32, epochs=30, clip_norm=1.0, dropout=0.5,
        dropout_words=0.4, average=0.999, judge_after=100, patience=5,
    ),
    "tiny": Recipe().override(
        word_size=50, hidden=32, attention_hidden=24, rows=4, head="pruned", row_units=16, column_units=0,
        pair="concat", penalty=1.0, penalty_scale="author", optimiser="adam", rate=3e-3, batch=32, epochs=5,
        clip_norm=1.0, dropout=0.2,
    ),
}  # fmt: skip

# The others do for texts and pairs alike, or for texts.
FOR_PAIRS = frozenset({"snli", "snli-author", "best-pair"})


def preset(name: str) -> Recipe:
    """A recipe by its name.

    >>> preset("snli").model.rows
    30
    """
    if name not in PRESETS:
        raise LimelightError(f"there is no preset {name!r}; there are: {', '.join(PRESETS)}")
    return PRESETS[name]
