"""GloVe and word2vec files: recognised by their content, streamed once, numbers parsed only if wanted."""

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
from ..storage.compression import check_file, open_bytes, tidy_reading
from ..tables.formats import shorten

BLOCK = 1 << 18
HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*\n")
MAX_SIZE = 100_000  # numbers of a vector
MAX_LINE = 2**24  # bytes; a file without line ends is not one of vectors
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# Characters that text never has, and four-byte numbers soon do.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

Take = Callable[[bytes, np.ndarray], None]


class VectorFile:
    """A vectors file: text or binary, the size d of a vector, and the number of words its header promises.

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
            raise LimelightError(
                f"{self.path} has no vectors; each line must be a word and its numbers", code="file-damaged"
            )
        if self.size > MAX_SIZE:
            raise LimelightError(
                f"{self.path} has vectors of {self.size:,} numbers; the limit is {MAX_SIZE:,}",
                code="file-damaged",
            )
        self.binary = header is not None and _is_binary(body, self.size)
        if not self.binary:
            first = body.split(b"\n", 1)[0]
            self._spaces = self.size + first.endswith((b" ", b" \r"))  # the word2vec tool writes one more
            self._parse([(2 if header else 1, first)])

    def read(self, wanted: Container[bytes], take: Take, progress: bool = False) -> None:
        """Read the file once and call `take` with every wanted word and its vector (d,)."""
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
        blank = 0
        for block, start, stop in self._whole_lines(blocks):
            after = self._read_lines(block, start, stop, number, wanted, take)
            blank += self._check_sizes(block, start, stop, number, after - number)
            number = after
        self._check_words(number - first - blank)

    def _whole_lines(self, blocks: Iterator[bytes]) -> Iterator[tuple[bytes, int, int]]:
        """Yield pieces block[start:stop] of whole lines; only lines that two blocks share are copied."""
        rest = b""
        for block in itertools.chain(blocks, [b"\n"]):
            first, last = block.find(b"\n") + 1, block.rfind(b"\n") + 1
            if last:
                line, rest = rest + block[:first], b""
                yield line, 0, len(line)
                yield block, first, last
            rest += block[last:]
            self._check_held(rest)

    def _check_held(self, rest: bytes) -> None:
        if len(rest) > MAX_LINE:
            raise LimelightError(
                f"{self.path} has a line or a word of more than {MAX_LINE:,} bytes", code="file-damaged"
            )

    def _read_lines(
        self, block: bytes, start: int, stop: int, number: int, wanted: Container[bytes], take: Take
    ) -> int:
        """Take wanted words from block[start:stop], whose first line is `number`; return the next number."""
        found: list[tuple[int, bytes]] = []
        find = block.find
        while start < stop:
            end = find(b"\n", start)
            # A word may have spaces ('. . .'): what comes before the first one only says where to look.
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
            word = self._word(number, line)
            if wanted is None or word in wanted:
                words.append(word)
                numbers.append((number, line[len(word) :]))
        if not words:
            return []
        if any(text.isspace() for _, text in numbers):  # numpy would skip such a line
            raise self._unreadable(numbers)
        try:
            vectors = np.loadtxt([text for _, text in numbers], dtype=np.float32, comments=None, ndmin=2)
        except ValueError:
            raise self._unreadable(numbers) from None
        if vectors.shape != (len(words), self.size):
            raise self._unreadable(numbers)
        if not np.isfinite(vectors).all():
            row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
            raise self._error(numbers[row][0], "a number is not finite")
        return list(zip(words, vectors, strict=True))

    def _word(self, number: int, line: bytes) -> bytes:
        if line.count(b" ") == self._spaces:
            return line[: line.find(b" ")]
        word, *values = line.rstrip().rsplit(b" ", self.size)
        self._check_size(number, word, len(values))
        return word

    def _check_sizes(self, block: bytes, start: int, stop: int, number: int, lines: int) -> int:
        """Check that each line of block[start:stop] has d numbers, and count the blank lines.

        A block with the usual number of spaces in total is taken to be right, which is fast; only other
        blocks are checked line by line.
        """
        spaces = np.count_nonzero(np.frombuffer(block, np.uint8, stop - start, start) == ord(" "))
        if spaces == self._spaces * lines:
            return 0
        blank = 0
        for count, line in enumerate(block[start:stop].split(b"\n")[:-1], number):
            if line.strip():
                self._word(count, line)
            else:
                blank += 1
        return blank

    def _check_size(self, number: int, word: bytes, values: int) -> None:
        if values != self.size:
            raise self._error(number, f"{values} numbers instead of {self.size}")
        _, space, last = word.rpartition(b" ")
        if space and NUMBER.fullmatch(last):
            raise self._error(number, f"more than {self.size} numbers")

    def _check_words(self, count: int) -> None:
        if self.words is not None and count != self.words:
            raise LimelightError(
                f"{self.path} promises {self.words:,} words in its first line but has {count:,}; "
                "download it again",
                code="file-damaged",
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
                        raise LimelightError(
                            f"{self.path}: a number of word {count:,} is not finite", code="file-damaged"
                        )
                    take(word, vector)
                start = end
            self._check_held(buffer[start:])
        if buffer[start:].strip(b"\n"):
            raise LimelightError(
                f"{self.path} ends inside the vector of word {count + 1:,}; download it again",
                code="file-damaged",
            )
        self._check_words(count)

    def _unreadable(self, lines: list[tuple[int, bytes]]) -> LimelightError:
        """The error that names which of these lines cannot be read, and why."""
        for number, line in lines:
            values = line.split()
            for value in values:
                if not NUMBER.fullmatch(value):
                    return self._error(number, f"{shorten(value.decode(errors='replace'))!r} is not a number")
            if len(values) != self.size:
                return self._error(number, f"{len(values)} numbers instead of {self.size}")
        return self._error(lines[0][0], "its numbers cannot be read")

    def _error(self, number: int, what: str) -> LimelightError:
        return LimelightError(
            f"{self.path}, line {number}: {what}; correct the line or download the file again",
            code="file-damaged",
        )


def _read(file: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end: a decompressor may return less at a time."""
    pieces = []
    while size > 0 and (piece := file.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _blocks(file: BinaryIO, raw: BinaryIO, progress: bool) -> Iterator[bytes]:
    """Yield the rest of a file; the bar follows the file on disk, whose size is known."""
    size = os.fstat(raw.fileno()).st_size
    disable = None if progress else True
    with tqdm(total=size, desc="reading vectors", unit="B", unit_scale=True, disable=disable) as bar:
        while block := file.read(BLOCK):
            bar.update(raw.tell() - bar.n)
            yield block


def _usual_spaces(body: bytes) -> int:
    """The most common number of spaces in the first hundred lines: a word with spaces in it is rare."""
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
