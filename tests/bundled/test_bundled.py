from __future__ import annotations

import csv
import lzma
import re
import string
import struct
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import limelight.bundled
from limelight.bundled import LABELS, default_vectors, font_files, sentences, sentences_path
from limelight.reading.wrap import _EMS
from refusing import refuses

FOLDER = Path(limelight.bundled.__file__).parent
SPLITS = ("train", "dev", "test")
COUNTS = {
    "train": (1954, 5170, 3619, 5265, 2724),
    "dev": (247, 651, 455, 662, 344),
    "test": (248, 648, 454, 662, 343),
}


@pytest.fixture(scope="module")
def words_and_vectors() -> tuple[list[str], np.ndarray]:
    return default_vectors()


@pytest.fixture(scope="module")
def cosine(words_and_vectors):
    words, vectors = words_and_vectors
    place = {word: i for i, word in enumerate(words)}
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return lambda one, other: float(unit[place[one]] @ unit[place[other]])


@pytest.fixture(scope="module")
def rows() -> dict[str, list[dict[str, str]]]:
    found = {}
    for split in SPLITS:
        with lzma.open(sentences_path(split), "rt", encoding="utf-8", newline="") as file:
            found[split] = list(csv.DictReader(file))
    return found


def test_vectors_have_the_promised_shape(words_and_vectors):
    words, vectors = words_and_vectors
    assert vectors.shape == (len(words), 100)
    assert vectors.dtype == np.float32
    assert len(words) >= 30_000
    assert np.isfinite(vectors).all()
    lengths = np.linalg.norm(vectors, axis=1)
    assert 1 < lengths.min() < lengths.max() < 15


def test_words_are_distinct_lower_case_and_without_spaces(words_and_vectors):
    words, _ = words_and_vectors
    assert len(set(words)) == len(words)
    assert all(word == word.lower() and re.fullmatch(r"\S+", word) for word in words)


def test_frequent_words_come_in_order(words_and_vectors):
    place = {word: i for i, word in enumerate(words_and_vectors[0])}
    order = [place[word] for word in ("the", "people", "good", "terrible", "unfunny")]
    assert order == sorted(order)


def test_the_data_stays_small():
    files = [path for path in FOLDER.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    sizes = {str(path.relative_to(FOLDER)): path.stat().st_size for path in files}
    assert sizes["vectors.safetensors"] <= 4_000_000
    assert sizes["reader/model.safetensors"] <= 10_000_000
    assert sizes["reader-fast/model.safetensors"] <= 2_100_000
    assert sum(sizes.values()) <= 18_000_000


@pytest.mark.parametrize(
    "words",
    [
        string.ascii_lowercase,
        string.digits,
        string.punctuation,
        ["n't", "'s", "'m", "'re", "'ve", "'ll", "'d", "n’t", "’s", "’ll"],
        ["``", "''", "--", "...", "–", "—", "“", "”", "‘", "’", "…", "!!!", "?!", "-lrb-", "-rrb-"],
        [
            "10",
            "25",
            "99",
            "100",
            "300",
            "1000",
            "1,000",
            "1985",
            "2024",
            "1980s",
            "80s",
            "1st",
            "2nd",
            "12th",
        ],
        ["mr.", "mrs.", "dr.", "u.s.", "p.m.", "jan.", "etc.", "j."],
        ["ca", "wo", "do", "did", "is", "lol", "crap", ":)", ":(", "<3"],
    ],
)
def test_nothing_that_a_tokenizer_gives_often_is_missing(words_and_vectors, words):
    assert [word for word in words if word not in set(words_and_vectors[0])] == []


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("good", "great", "table"),
        ("cat", "dog", "government"),
        ("paris", "london", "soup"),
        ("3", "4", "good"),
        ("7", "seven", "the"),
        ("25", "26", "soup"),
        ("1994", "1995", "25"),
        ("3rd", "third", "three"),
        ("n't", "not", "table"),
        ("n't", "'ll", "the"),
        ("a", "an", "soup"),
        ("i", "me", "the"),
        ("u", "you", "the"),
        ("``", '"', "!"),
        (":)", "happy", "sad"),
        (":(", "sad", "happy"),
        ("mr.", "mrs", "soup"),
        ("u.s.", "american", "french"),
        ("x", "y", "i"),
    ],
)
def test_neighbours_make_sense(cosine, word, near, far):
    assert cosine(word, near) > cosine(word, far) + 0.1


def test_both_apostrophes_are_one_clitic(cosine):
    assert cosine("n't", "n’t") == pytest.approx(1)


@pytest.mark.parametrize("split", SPLITS)
def test_label_counts(split):
    texts, labels = sentences(split)
    assert len(texts) == len(labels) == sum(COUNTS[split])
    assert tuple(Counter(labels)[label] for label in LABELS) == COUNTS[split]
    assert all(re.search(r"\w", text) and text == " ".join(text.split()) for text in texts)


def test_no_sentence_is_in_two_splits_however_it_is_written(rows):
    keys = [" ".join(re.findall(r"\w+", row["text"].casefold())) for split in SPLITS for row in rows[split]]
    assert len(keys) == len(set(keys))


def test_no_review_or_article_is_in_two_splits(rows):
    groups = [{(row["source"], row["id"].split("_")[0]) for row in rows[split]} for split in SPLITS]
    assert sum(map(len, groups)) == len(set.union(*groups))


def test_splits_are_alike_in_source_and_label(rows):
    everything = [row for split in SPLITS for row in rows[split]]
    total = Counter((row["source"], row["label"]) for row in everything)
    for split in SPLITS:
        part = Counter((row["source"], row["label"]) for row in rows[split])
        share = len(rows[split]) / len(everything)
        assert all(abs(part[kind] - share * n) <= 3 for kind, n in total.items())


def test_the_first_sentences_are_a_fair_sample(rows):
    share = Counter(row["source"] for row in rows["train"][:2000])["movie"] / 2000
    assert share == pytest.approx(8478 / 18732, abs=0.03)


def test_an_unknown_split_is_one_clear_line():
    with refuses("option-value"):
        sentences("valid")


def test_the_typeface_has_the_widths_that_pictures_are_measured_with():
    """Read from the file: a table of the characters' glyphs, and one of the glyphs' widths."""
    widths = advance_widths(font_files()[0])
    assert len(widths) == 1455
    for character, ems in _EMS.items():
        assert widths[ord(character)] == pytest.approx(ems, abs=0.001), character
    assert sum(path.stat().st_size for path in font_files()) <= 250_000


def advance_widths(font: Path) -> dict[int, float]:
    """In ems, by character: TrueType's tables head, hhea, hmtx and cmap (its format 4)."""
    content = font.read_bytes()

    def numbers(kind: str, start: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f">{count}{kind}", content, start)

    entries = [struct.unpack_from(">4sIII", content, 12 + 16 * k) for k in range(numbers("H", 4, 1)[0])]
    table = {tag.decode().strip(): start for tag, _, start, _ in entries}
    (per_em,), (last,) = numbers("H", table["head"] + 18, 1), numbers("H", table["hhea"] + 34, 1)
    advances = numbers("H", table["hmtx"], 2 * last)[::2]
    records = [struct.unpack_from(">HHI", content, table["cmap"] + 4 + 8 * k)
               for k in range(numbers("H", table["cmap"] + 2, 1)[0])]  # fmt: skip
    at = table["cmap"] + next(start for platform, coding, start in records if (platform, coding) == (3, 1))
    count = numbers("H", at + 6, 1)[0] // 2
    ends, starts = numbers("H", at + 14, count), numbers("H", at + 16 + 2 * count, count)
    deltas, places = numbers("h", at + 16 + 4 * count, count), at + 16 + 6 * count
    widths = {}
    for k, (first, end, delta) in enumerate(zip(starts, ends, deltas, strict=True)):
        place = places + 2 * k
        (offset,) = numbers("H", place, 1)
        for code in range(first, min(end, 0xFFFE) + 1):
            glyph = numbers("H", place + offset + 2 * (code - first), 1)[0] if offset else code
            widths[code] = advances[min((glyph + delta) % 65536, last - 1)] / per_em
    return widths


def test_licences_come_along():
    assert "SIL OPEN FONT LICENSE Version 1.1" in (FOLDER / "LICENSE-LiberationFonts.txt").read_text()
    assert "C.J. Hutto" in (FOLDER / "LICENSE-vaderSentiment.txt").read_text()
    assert "GRAYPE" in (FOLDER / "LICENSE-wink-embeddings.txt").read_text()
    assert "Version 2.0, January 2004" in (FOLDER / "LICENSE-teachers.txt").read_text()
    assert "Public Domain Dedication" in (FOLDER / "README.md").read_text()


def test_readme_tells_the_counts():
    readme = (FOLDER / "README.md").read_text()
    for i, label in enumerate(LABELS):
        row = " | ".join(f"{COUNTS[split][i]:,}" for split in SPLITS)
        assert re.search(rf"\| {label} \| [^|]+ \| {re.escape(row)} \|", readme)
    assert f"{len(default_vectors()[0]):,} lower-case" in readme


def test_loads_without_torch():
    code = (
        "import sys, limelight.bundled as d; d.default_vectors(); d.sentences('dev'); "
        "print([m for m in ('torch', 'pandas', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
