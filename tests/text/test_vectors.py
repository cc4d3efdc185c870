"""Word vectors: every file form gives the same matrix; noise follows its definition."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.errors import LimelightError
from limelight.text.dataset import Split
from limelight.text.vector_files import VectorFile
from limelight.text.vectors import Vectors, check_vectors, first_words, read_vectors
from refusing import refuses

D = 5
WORDS = ["the", "soup", "Good", "good", "ünï", "<unk>", "café", "pie"]
MATRIX = np.random.default_rng(0).normal(size=(len(WORDS), D)).astype(np.float32)
VOCABULARY = ["<pad>", "<unk>", "soup", "pie", "Good", "SOUP", "borscht", "ünï", "Café"]
FOUND = [False, False, True, True, True, True, False, True, True]
SOURCES = {2: "soup", 3: "pie", 4: "Good", 5: "soup", 7: "ünï", 8: "café"}


def lines(words: list[str] = WORDS, matrix: np.ndarray = MATRIX, end: str = "\n") -> str:
    return "".join(f"{w} {' '.join(map(repr, v.tolist()))}{end}" for w, v in zip(words, matrix, strict=True))


def binary(words: list[str] = WORDS, matrix: np.ndarray = MATRIX, end: bytes = b"\n") -> bytes:
    records = (
        w.encode() + b" " + v.astype("<f4").tobytes() + end for w, v in zip(words, matrix, strict=True)
    )
    return f"{len(words)} {matrix.shape[1]}\n".encode() + b"".join(records)


FORMS = {
    "glove": lines().encode(),
    "header": f"{len(WORDS)} {D}\n{lines()}".encode(),
    "crlf": f"{len(WORDS)} {D}\r\n{lines(end=chr(13) + chr(10))}".encode(),
    "trailing spaces": f"{len(WORDS)} {D}\n{lines(end=' ' + chr(10))}".encode(),
    "no last newline": lines().encode().rstrip(),
    "blank lines at the end": lines().encode() + b"\n\n",
    "binary": binary(),
    "binary without newlines": binary(end=b""),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_matrix(tmp_path: Path, form: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(FORMS[form])
    vectors = read_vectors(path, VOCABULARY, seed=3)
    assert vectors.matrix.dtype == np.float32
    assert vectors.matrix.shape == (len(VOCABULARY), D)
    assert vectors.found.tolist() == FOUND
    for row, word in SOURCES.items():
        np.testing.assert_array_equal(vectors.matrix[row], MATRIX[WORDS.index(word)])
    assert not vectors.matrix[0].any()
    assert (vectors.matrix[[1, 6]] != 0).all()
    assert np.abs(vectors.matrix[[1, 6]]).max() < 0.06


@pytest.mark.parametrize("form", ["glove", "binary"])
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2", ".zst", ".zip"])
def test_compressed(tmp_path: Path, form: str, suffix: str) -> None:
    plain, packed = tmp_path / "v", tmp_path / f"v{suffix}"
    plain.write_bytes(FORMS[form])
    if suffix == ".zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(plain, "glove.txt")
    else:
        compress = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}
        compress[".zst"] = lambda data: zstandard.ZstdCompressor().compress(data)
        packed.write_bytes(compress[suffix](FORMS[form]))
    expected, got = (read_vectors(path, VOCABULARY, seed=0) for path in (plain, packed))
    np.testing.assert_array_equal(got.matrix, expected.matrix)


def test_zip_of_several_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("a.50d.txt", "a 1")
        archive.writestr("a.100d.txt", "a 1 2")
    with refuses("archive-files"):
        check_vectors(tmp_path / "v.zip")


@pytest.mark.parametrize("size", [1, 7, 64])
def test_blocks_may_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(FORMS["binary"])
    expected = read_vectors(path, VOCABULARY, seed=0)
    file, found = VectorFile(path), list[tuple[bytes, list[float]]]()
    monkeypatch.setattr("limelight.text.vector_files.BLOCK", size)
    file.read({b"soup", b"pie"}, lambda word, vector: found.append((word, vector.tolist())))
    assert found == [(b"soup", expected.matrix[2].tolist()), (b"pie", expected.matrix[3].tolist())]


def test_words_with_spaces_are_split_from_the_right(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("the 1 2\n. . . 3 4\n. 5 6\nat name@domain.com 7 8\n\u00a0 9 9\nat 0 1\n")
    vectors = read_vectors(path, ["<pad>", "<unk>", ".", "at", ". . ."], seed=0)
    assert vectors.matrix[2:].tolist() == [[5, 6], [0, 1], [3, 4]]


def test_the_first_of_duplicates_and_the_exact_word_win(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("good 1 1\nGood 2 2\ngood 3 3\nGood 4 4\n")
    vectors = read_vectors(path, ["<pad>", "<unk>", "Good", "good", "GOOD"], seed=0)
    assert vectors.matrix[2:].tolist() == [[2, 2], [1, 1], [1, 1]]


def test_noise_belongs_to_the_word_alone(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text(lines())
    first = read_vectors(path, ["<pad>", "<unk>", "borscht", "kvass"], seed=1)
    other = read_vectors(path, ["<pad>", "<unk>", "soup", "kvass", "x", "borscht"], seed=1)
    np.testing.assert_array_equal(first.matrix[[1, 2, 3]], other.matrix[[1, 5, 3]])
    assert not np.array_equal(first.matrix[2], first.matrix[3])
    reseeded = read_vectors(path, ["<pad>", "<unk>", "borscht", "kvass"], seed=2)
    assert not np.array_equal(first.matrix[2], reseeded.matrix[2])


def test_noise_is_normal_with_deviation_one_hundredth(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("a " + "0 " * 100)
    words = ["<pad>", "<unk>", *(f"w{i}" for i in range(500))]
    noise = read_vectors(path, words, seed=0).matrix[1:]
    assert abs(float(noise.mean())) < 2e-4
    assert abs(float(noise.std()) - 0.01) < 2e-4


def split_of(sentences: list[list[int]], second: list[list[int]] | None = None) -> Split:
    def flat(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        return np.array([i for r in rows for i in r], np.uint16), np.array([len(r) for r in rows], np.int32)

    return Split(*flat(sentences), None, None, *(flat(second) if second else ()))


def test_share_of_a_corpus() -> None:
    vectors = Vectors(np.zeros((5, 1)), np.array([False, False, True, False, True]))
    assert vectors.coverage(split_of([[2, 3], [4]])) == pytest.approx(2 / 3)
    assert vectors.coverage(split_of([[2, 3], [4]], [[1], [3]])) == pytest.approx(2 / 5)


def test_default_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    import types

    data = types.ModuleType("limelight.bundled")
    data.default_vectors = lambda: (WORDS, MATRIX)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "limelight.bundled", data)
    check_vectors("default")
    vectors = read_vectors("default", VOCABULARY, seed=0)
    assert vectors.found.tolist() == FOUND
    np.testing.assert_array_equal(vectors.matrix[8], MATRIX[WORDS.index("café")])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no vectors"),
        (b"\n\n", "has no vectors"),
        (b"3 5\n", "has no vectors"),
        (b"word\nanother\n", "has no vectors"),
        (b"Once upon a time\nthere was a soup\n", "line 1: 'upon' is not a number"),
        (b"the 1 2\nsoup 3 x4\n", "line 2: 'x4' is not a number"),
        (b"the 1 2\nsoup 3\n", "line 2: 1 numbers instead of 2"),
        (b"the 1 2\nsoup  3\n", "line 2: 1 numbers instead of 2"),
        (b"the 1\nsoup \n", "line 2: 0 numbers instead of 1"),
        (b"the 1 2\nother 3\n", "line 2: 1 numbers instead of 2"),
        (b"the 1 2\na 1 2\nother 3 4 5\n", "line 3: more than 2 numbers"),
        (b"the 1 2\na 1 2\nsoup 3 4 5\n", "line 3: more than 2 numbers"),
        (b"the 1 2\nsoup 3 nan\n", "line 2: a number is not finite"),
        (b"the 1 2\n\nsoup 3 1e400\n", "line 3: a number is not finite"),
        (b"2 2\nthe 1 2\n", "promises 2 words in its first line but has 1"),
        (b"2 2\nthe 1 2\na 1 2\nb 1 2\n", "promises 2 words in its first line but has 3"),
        (b"2 3\nthe 1 2\na 1 2\n", "line 2: 2 numbers instead of 3"),
        (binary()[:-8], "ends inside the vector of word 8"),
        (binary()[: -4 * D - 5], "promises 8 words in its first line but has 7"),
        (binary() + b"more" + b" " + bytes(4 * D), "promises 8 words in its first line but has 9"),
        (binary(matrix=MATRIX * np.float32(np.inf)), "is not finite"),
    ],
)
def test_bad_files_are_one_clear_line(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with refuses("file-damaged") as error:
        read_vectors(path, VOCABULARY, seed=0)
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_file_folder_and_options(tmp_path: Path) -> None:
    with refuses("file-missing"):
        check_vectors(tmp_path / "glove.txt")
    with refuses("file-type"):
        check_vectors(tmp_path)
    with refuses("option-value"):
        read_vectors(tmp_path, VOCABULARY, seed=0, missing="zeros")


@examples(300)
@given(
    st.sampled_from(["glove", "header", "binary"]),
    st.integers(0, 10**6),
    st.integers(0, 9),
    st.binary(max_size=4),
)
def test_whatever_the_damage_it_is_vectors_or_one_line(
    tmp_path_factory: pytest.TempPathFactory, form: str, position: int, cut: int, inserted: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    position %= len(FORMS[form]) + 1
    path.write_bytes(FORMS[form][:position] + inserted + FORMS[form][position + cut :])
    try:
        vectors = read_vectors(path, VOCABULARY, seed=0)
    except LimelightError as error:
        said = str(error)
    else:
        said = ""
        assert np.isfinite(vectors.matrix).all()
    assert "\n" not in said


def test_a_word_without_a_vector_starts_from_the_words_it_is_spelt_like(tmp_path: Path) -> None:
    path = tmp_path / "glove.txt"
    path.write_text("umbrella 1 3\ntrash 2 0\ncan 4 2\n")
    vocabulary = ["<pad>", "<unk>", "umbrella", "Umbrellas", "trash", "can", "trashcan", "xyzzy"]
    got = read_vectors(path, vocabulary, seed=0, missing="spelling")
    noise = read_vectors(path, vocabulary, seed=0)
    assert got.matrix[[3, 6]].tolist() == [[1.0, 3.0], [3.0, 1.0]]
    np.testing.assert_array_equal(got.matrix[[0, 1, 2, 4, 5, 7]], noise.matrix[[0, 1, 2, 4, 5, 7]])
    np.testing.assert_array_equal(got.found, noise.found)


def test_several_files_stand_side_by_side(tmp_path: Path) -> None:
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("soup 1 2\nstew 3 4\n")
    second.write_text("soup 5\nbroth 6\n")
    vocabulary = ["<pad>", "<unk>", "soup", "stew", "broth", "tea"]
    both = read_vectors(f"{first},{second}", vocabulary, seed=0)
    alone = [read_vectors(path, vocabulary, seed=seed) for seed, path in enumerate((first, second))]
    np.testing.assert_array_equal(both.matrix, np.hstack([each.matrix for each in alone]))
    assert both.matrix[2].tolist() == [1.0, 2.0, 5.0]
    assert both.found.tolist() == [False, False, True, True, True, False]
    assert first_words(f"{first},{second}", 9) == ["soup", "stew"]
    with refuses("file-missing"):
        check_vectors(f"{first},{tmp_path / 'third.txt'}")
    check_vectors(f"{first}, {second}")
    with refuses("option-value"):
        check_vectors(f"{first},")
    with refuses("file-missing"):
        check_vectors(",".join(["no"] * 3000))


def test_a_comma_in_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a,b.txt"
    path.write_text("soup 1 2\n")
    assert read_vectors(path, ["<pad>", "<unk>", "soup"], seed=0).matrix[2].tolist() == [1.0, 2.0]


def test_a_file_without_ends(tmp_path: Path) -> None:
    """Sizes that a stranger's file claims are never held in memory."""
    bomb = tmp_path / "bomb.txt.bz2"
    bomb.write_bytes(bz2.compress(b"good 1 2\n" + b"x" * 2**25))
    with refuses("file-damaged"):
        read_vectors([str(bomb)], VOCABULARY, seed=0)
    for header in (b"2 1000000000\n", b"1 100001\n"):
        (tmp_path / "wide.bin").write_bytes(header + b"good " + b"\0" * 100)
        with refuses("file-damaged"):
            read_vectors([str(tmp_path / "wide.bin")], VOCABULARY, seed=0)
    (tmp_path / "digits.txt").write_bytes(b"9" * 5000 + b" 2\ngood 1\n")
    assert read_vectors([str(tmp_path / "digits.txt")], VOCABULARY, seed=0).matrix.shape == (9, 1)
