"""GloVe and word2vec files: told apart by their content, streamed once, numbers parsed only where wanted."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from tqdm import tqdm

from ..errors import LimelightError
from .formats import short
from .opening import check_file, open_bytes, tidy_reading

BLOCK = 1 << 20
HEADER = re.compile(rb"(\d+)[ \t]+(\d+)[ \t\r]*\n")
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# What text never holds, and what four-byte numbers soon do.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

Take = Callable[[bytes, np.ndarray], None]


class VectorFile:
    """One vectors file: its form (text or binary), the size d of a vector and what its header promises.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "glove.txt")
    >>> _ = path.write_text("soup 0.5 1\\ngood -1 2\\n")
    >>> file = VectorFile(path)
    >>> file.size, file.binary
    (2, False)
    >>> file.read({b"good"}, lambda word, vector: print(word, vector))
    b'good' [-1.  2.]
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with open_bytes(self.path) as file:
            head = _read(file, BLOCK)
        header = HEADER.match(head)
        self.words = int(header[1]) if header else None
        self._begin = header.end() if header else 0
        body = head[self._begin :]
        self.size = int(header[2]) if header else _usual_spaces(body)
        if not body.strip() or self.size < 1:
            raise LimelightError(f"{self.path} holds no vectors; each line must be a word and its numbers")
        self.binary = header is not None and _is_binary(body, self.size)
        if not self.binary:
            first = body.split(b"\n", 1)[0]
            self._parse([(2 if header else 1, first)])
            self._spaces = self.size + first.endswith((b" ", b" \r"))  # word2vec's own tool writes one more

    def read(self, wanted: Container[bytes], take: Take, progress: bool = False) -> None:
        """Go through the file once and hand every wanted word with its vector (d,) to `take`."""
        check_file(self.path)
        with tidy_reading(self.path), open(self.path, "rb") as raw, open_bytes(self.path, raw) as file:
            _read(file, self._begin)
            blocks = _blocks(file, raw, progress)
            if self.binary:
                self._read_binary(blocks, wanted, take)
            else:
                self._read_text(blocks, wanted, take)

    def _read_text(self, blocks: Iterator[bytes], wanted: Container[bytes], take: Take) -> None:
        number = first = 1 if self.words is None else 2
        blank, rest = 0, b""
        for block in itertools.chain(blocks, [b"\n"]):
            block = rest + block
            end = block.rfind(b"\n") + 1
            block, rest = block[:end], block[end:]
            blank += self._check_sizes(block, number)
            number = self._read_lines(block, number, wanted, take)
        self._check_words(number - first - blank)

    def _read_lines(self, block: bytes, number: int, wanted: Container[bytes], take: Take) -> int:
        """Take what is wanted from whole lines, the first of which is `number`; the number after the last."""
        found: list[tuple[int, bytes]] = []
        start, find = 0, block.find
        while (end := find(b"\n", start)) >= 0:
            # A word may hold spaces ('. . .'): what stands before the first one only says where to look.
            if block[start : find(b" ", start)] in wanted:
                found.append((number, block[start:end]))
            start = end + 1
            number += 1
        for word, vector in self._parse(found, wanted):
            take(word, vector)
        return number

    def _parse(
        self, lines: list[tuple[int, bytes]], wanted: Container[bytes] | None = None
    ) -> list[tuple[bytes, np.ndarray]]:
        """Words and vectors (d,) of numbered lines; the last d fields of a line are its numbers."""
        words, numbers = [], []
        for number, line in lines:
            word, *values = line.rstrip().rsplit(b" ", self.size)
            self._check_size(number, word, len(values))
            if wanted is None or word in wanted:
                words.append(word)
                numbers.append((number, line[len(word) :]))
        if not words:
            return []
        try:
            vectors = np.loadtxt([text for _, text in numbers], dtype=np.float32, comments=None, ndmin=2)
        except ValueError:
            raise self._not_a_number(numbers) from None
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise self._error(numbers[row][0], "a number is not finite")
        return list(zip(words, vectors, strict=True))

    def _check_sizes(self, block: bytes, number: int) -> int:
        """See that each line has d numbers, and count the blank lines.

        A block whose lines have the usual number of spaces on the whole is taken to be right, which costs
        next to nothing; only another one is looked at line by line.
        """
        spaces = np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == ord(" "))
        if spaces == self._spaces * block.count(b"\n"):
            return 0
        blank = 0
        for count, line in enumerate(block.split(b"\n")[:-1], number):
            word, *values = line.rstrip().rsplit(b" ", self.size)
            if values or word:
                self._check_size(count, word, len(values))
            else:
                blank += 1
        return blank

    def _check_size(self, number: int, word: bytes, values: int) -> None:
        if values != self.size:
            raise self._error(number, f"{values} numbers where {self.size} should be")
        _, space, last = word.rpartition(b" ")
        if space and NUMBER.fullmatch(last):
            raise self._error(number, f"more than the {self.size} numbers that should be there")

    def _check_words(self, count: int) -> None:
        if self.words is not None and count != self.words:
            raise LimelightError(
                f"{self.path} promises {self.words:,} words in its first line but holds {count:,}; "
                "get it again"
            )

    def _read_binary(self, blocks: Iterator[bytes], wanted: Container[bytes], take: Take) -> None:
        """Records of a word, a space, d little-endian floats and perhaps a line end."""
        buffer, start, count = b"", 0, 0
        for block in blocks:
            buffer, start = buffer[start:] + block, 0
            while (space := buffer.find(b" ", start)) >= 0:
                end = space + 1 + 4 * self.size
                if end > len(buffer):
                    break
                word = buffer[start:space].lstrip(b"\n")
                count += 1
                if word in wanted:
                    vector = np.frombuffer(buffer, "<f4", self.size, space + 1)
                    if not np.isfinite(vector).all():
                        raise LimelightError(f"{self.path}: a number of word {count:,} is not finite")
                    take(word, vector)
                start = end
        if buffer[start:].strip(b"\n"):
            raise LimelightError(f"{self.path} ends inside the vector of word {count + 1:,}; get it again")
        self._check_words(count)

    def _not_a_number(self, lines: list[tuple[int, bytes]]) -> LimelightError:
        for number, line in lines:
            for value in line.split():
                if not NUMBER.fullmatch(value):
                    shown = short(value.decode("utf-8", "replace"))
                    return self._error(number, f"{shown!r} is not a number")
        return self._error(lines[0][0], "its numbers cannot be read")

    def _error(self, number: int, what: str) -> LimelightError:
        return LimelightError(f"{self.path}, line {number}: {what}; correct the line or get the file again")


def _read(file: BinaryIO, size: int) -> bytes:
    """So many bytes, fewer only at the end: a decompressor may hand out less at a time."""
    pieces = []
    while size > 0 and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _blocks(file: BinaryIO, raw: BinaryIO, progress: bool) -> Iterator[bytes]:
    """The rest of a file; the bar goes by the file on disk, whose size is known."""
    size = os.fstat(raw.fileno()).st_size
    disable = None if progress else True
    with tqdm(total=size, desc="reading vectors", unit="B", unit_scale=True, disable=disable) as bar:
        while block := file.read(BLOCK):
            bar.update(raw.tell() - bar.n)
            yield block


def _usual_spaces(body: bytes) -> int:
    """How many spaces a line has, by most of the first hundred: a word with spaces in it is rare."""
    lines = [line.rstrip().count(b" ") for line in body.split(b"\n")[:100] if line.strip()]
    return Counter(lines).most_common(1)[0][0] if lines else 0


def _is_binary(body: bytes, size: int) -> bool:
    line = body.split(b"\n", 1)[0].split()
    if len(line) > size and all(NUMBER.fullmatch(value) for value in line[-size:]):
        return False
    try:
        body[:4096].decode()
    except UnicodeDecodeError as error:
        return error.start < 4092  # not a character cut in two by the end
    return CONTROL.search(body, 0, 4096) is not None
