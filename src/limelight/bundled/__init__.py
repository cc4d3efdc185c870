"""What comes along: rated sentences for the demo, word vectors to start from, aspects, and a typeface."""

import csv
import lzma
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from ..errors import check_choice

LABELS = ("very negative", "negative", "neutral", "positive", "very positive")

FONT_FAMILY = "Limelight Sans"

ASPECT_LISTS = ("hotels", "restaurants", "products", "apps")

_HERE = Path(__file__).parent


def default_vectors() -> tuple[list[str], np.ndarray]:
    """Frequent English words in lower case, and their vectors (n, 100) in float32.

    >>> words, vectors = default_vectors()
    >>> good, great, table = vectors[[words.index(word) for word in ("good", "great", "table")]]
    >>> bool(good @ great > good @ table)
    True
    """
    stored = load_file(_HERE / "vectors.safetensors")
    words = stored["words"].tobytes().decode().split("\n")
    return words, stored["vectors"] * stored["scales"][:, None]


def sentences(split: str = "train") -> tuple[list[str], list[str]]:
    """Texts and labels of the demo data: reviews, news and tweets as people rated them.

    >>> texts, labels = sentences("dev")
    >>> len(texts), labels.count("very positive")
    (2359, 344)
    """
    with lzma.open(sentences_path(split), "rt", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [row["text"] for row in rows], [row["label"] for row in rows]


def sentences_path(split: str = "train") -> Path:
    """The file behind `sentences`: a csv with the columns id, source, label and text.

    >>> sentences_path("test").name
    'sentences-test.csv.xz'
    """
    check_choice("split", split, ("train", "dev", "test"))
    return _HERE / f"sentences-{split}.csv.xz"


def font_files() -> list[Path]:
    """The typeface of PNG pictures, plain and bold: `FONT_FAMILY`, with Helvetica's widths."""
    return [_HERE / "sans-regular.ttf", _HERE / "sans-bold.ttf"]


def aspects_path(name: str) -> Path:
    """A list of aspects with their seed words, as JSON."""
    check_choice("aspects", name, ASPECT_LISTS)
    return _HERE / "aspects" / f"{name}.json"
