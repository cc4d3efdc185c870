"""The Hugging Face hub's copies of SNLI and `yelp_review_full`, through the library `datasets`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from limelight.errors import LimelightError
from limelight.tables.formats import join_names

from .prepared import About, Parsed, prepared
from .snli import LABELS, NO_GOLD, pair
from .splits import SPLITS, Sizes
from .yelp import review, split_full, unescape

# A `datasets.DatasetDict`, or anything like it: split -> rows.
Copy = Mapping[str, Iterable[Mapping[str, Any]]]
NAMES = {"dev": "validation"}  # the hub's name for a split, where it is not ours


def prepare_snli_hub(source: str | Path | Copy, out: str | Path, *, overwrite: bool = False) -> About:
    """SNLI from its name on the hub, a folder made by `save_to_disk`, or a `DatasetDict`.

    A name may end in `@` and a commit, which pins it: "stanfordnlp/snli@COMMIT".

    >>> prepare_snli_hub("stanfordnlp/snli", "data/snli")["rows"]  # doctest: +SKIP
    {'train': 549367, 'dev': 9842, 'test': 9824}
    """
    copy = _load(source)
    rows = {split: _split(copy, NAMES.get(split, split)) for split in SPLITS}
    with prepared(out, "snli-hub", overwrite, expected=[NO_GOLD], files=_source_files(source)) as tables:
        for split in SPLITS:
            tables.copy(split, rows[split], _pair)
    return tables.about


def prepare_yelp_hub(
    source: str | Path | Copy,
    out: str | Path,
    *,
    sizes: Sizes = (None, 2_000, None),
    seed: int = 1,
    overwrite: bool = False,
) -> About:
    """`yelp_review_full` in the same way; development rows are drawn from its training set.

    >>> prepare_yelp_hub("Yelp/yelp_review_full", "data/yelp-full")["rows"]  # doctest: +SKIP
    {'train': 648000, 'dev': 2000, 'test': 50000}
    """
    copy = _load(source)
    train, test = _split(copy, "train"), _split(copy, "test")
    with prepared(out, "yelp-hub", overwrite, files=_source_files(source), seed=seed) as tables:
        split_full(tables, lambda: train, lambda: test, _review, sizes, seed)
    return tables.about


def _load(source: str | Path | Copy) -> Copy:
    if isinstance(source, Mapping):
        return source
    try:
        import datasets
    except ImportError:
        raise LimelightError(f"{source} needs datasets: pip install datasets", code="needs-extra") from None
    try:
        if Path(source).is_dir():
            return cast(Copy, datasets.load_from_disk(str(source)))
        name, _, revision = str(source).partition("@")
        copy: Copy = datasets.load_dataset(name, revision=revision or None)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise LimelightError(f"datasets cannot load {source}: {reason}", code="source-damaged") from error
    return copy


def _split(copy: Copy, name: str) -> Iterable[Mapping[str, Any]]:
    if name not in copy:
        raise LimelightError(
            f"the copy has no split {name!r}; it has: {join_names(list(copy))}", code="split-missing"
        )
    return copy[name]


def _pair(row: Mapping[str, Any]) -> Parsed:
    """The hub numbers the labels, with -1 for '-'."""
    label = row.get("label")
    if isinstance(label, int) and -1 <= label < len(LABELS):
        label = "-" if label == -1 else LABELS[label]
    return pair(label, row.get("premise"), row.get("hypothesis"))


def _review(row: Mapping[str, Any]) -> Parsed:
    """The hub numbers the stars from 0."""
    label, text = row.get("label"), row.get("text")
    stars = label + 1 if isinstance(label, int) else None
    return review(stars, unescape(text) if isinstance(text, str) else None)


def _source_files(source: str | Path | Copy) -> list[dict[str, str]]:
    return [] if isinstance(source, Mapping) else [{"name": str(source)}]
