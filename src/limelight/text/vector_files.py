"""GloVe and word2vec files: recognised by their content, streamed once, numbers parsed only if wanted."""

import re
from collections import Counter
from collections.abc import Callable, Container
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import LimelightError, damaged
from ..storage.compression import check_file, open_bytes, tidy_reading
from ..tables.formats import shorten

BLOCK = 1 << 18
PARSED_AT_ONCE = 1000  # lines
LINES_PER_TICK = 1000  # of the progress bar
HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})[ \t\r]*\n")
MAX_SIZE = 100_000  # numbers of a vector
MAX_LINE = 2**24  # bytes; a file without line ends is not one of vectors
NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
# Characters that text never has, and four-byte numbers soon do.
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

Take = Callable[[bytes, np.ndarray], None]
Tick = Callable[[], object]


class VectorFile:
    """A vectors file: text or binary, the size d of a vector, and the number of words its header promises."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        with open_bytes(self.path) as file:
            head = file.read(BLOCK)
        header = HEADER.match(head)
        self.words = int(header[1]) if header else None
        self._begin = header.end() if header else 0
        body = head[self._begin :]
        self.size = int(header[2]) if header else _usual_spaces(body)
        if not body.strip() or self.size < 1:
            raise self._damaged(" has no vectors; each line must be a word and its numbers")
        if self.size > MAX_SIZE:
            raise self._damaged(f" has vectors of {self.size:,} numbers; the limit is {MAX_SIZE:,}")
        self.binary = header is not None and _is_binary(body, self.size)
        if not self.binary:
            number, first = 2 if header else 1, body.split(b"\n", 1)[0]
            self._spaces = self.size + first.endswith((b" ", b" \r"))  # the word2vec tool writes one more
            word = self._word(number, first)
            self._parse([(number, word, first[len(word) :])])

    def read(self, wanted: Container[bytes], take: Take, progress: bool = False) -> None:
        """Read the file once and call `take` with every wanted word and its vector (d,)."""
        from tqdm import tqdm  # not on every machine that trains from encoded data

        check_file(self.path)
        size, hidden = self.path.stat().st_size, None if progress else True
        with (
            tqdm(total=size, desc="reading vectors", unit="B", unit_scale=True, disable=hidden) as bar,
            tidy_reading(self.path),
            open(self.path, "rb") as raw,
            open_bytes(self.path, raw) as file,
        ):
            file.read(self._begin)
            read = self._read_binary if self.binary else self._read_text
            count = read(file, wanted, take, lambda: bar.update(raw.tell() - bar.n))
        if self.words is not None and count != self.words:
            promised = f" promises {self.words:,} words in its first line but has {count:,}"
            raise self._damaged(f"{promised}; download it again")

    def _read_text(self, file: BinaryIO, wanted: Container[bytes], take: Take, tick: Tick) -> int:
        """Take the wanted words, and return the number of all of them."""
        count, pending = 0, list[tuple[int, bytes, bytes]]()
        number = 1 if self.words is None else 2
        while line := file.readline(MAX_LINE + 1):
            if len(line) > MAX_LINE:
                raise self._too_long()
            if line[:1] > b" " or not line.isspace():
                word = self._word(number, line)
                count += 1
                if word in wanted:
                    pending.append((number, word, line[len(word) :]))
                    if len(pending) == PARSED_AT_ONCE:
                        self._take(pending, take)
            number += 1
            if number % LINES_PER_TICK == 0:
                tick()
        self._take(pending, take)
        return count

    def _word(self, number: int, line: bytes) -> bytes:
        """The word of a line: all but the last d fields, since a word may have spaces ('. . .')."""
        if line.count(b" ") == self._spaces:
            return line[: line.find(b" ")]
        word, *values = line.rstrip().rsplit(b" ", self.size)
        if len(values) != self.size:
            raise self._bad_line(number, f"{len(values)} numbers instead of {self.size}")
        _, space, last = word.rpartition(b" ")
        if space and NUMBER.fullmatch(last):
            raise self._bad_line(number, f"more than {self.size} numbers")
        return word

    def _take(self, lines: list[tuple[int, bytes, bytes]], take: Take) -> None:
        for (_, word, _), vector in zip(lines, self._parse(lines), strict=True):
            take(word, vector)
        lines.clear()

    def _parse(self, lines: list[tuple[int, bytes, bytes]]) -> np.ndarray:
        """The vectors (lines, d) of numbered lines: a word each, and the numbers behind it."""
        if not lines:
            return np.empty((0, self.size), np.float32)
        texts = [text.strip() for _, _, text in lines]
        try:
            if not all(texts):  # numpy would skip such a line
                raise ValueError
            vectors = np.loadtxt(texts, dtype=np.float32, comments=None, ndmin=2)
        except ValueError:
            raise self._unreadable(lines) from None
        if vectors.shape != (len(lines), self.size):
            raise self._unreadable(lines)
        bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if bad.size:
            raise self._bad_line(lines[bad[0]][0], "a number is not finite")
        return vectors

    def _unreadable(self, lines: list[tuple[int, bytes, bytes]]) -> LimelightError:
        """The error that names which of these lines cannot be read, and why."""
        for number, _, text in lines:
            values = text.split()
            for value in values:
                if not NUMBER.fullmatch(value):
                    shown = shorten(value.decode(errors="replace"))
                    return self._bad_line(number, f"{shown!r} is not a number")
            if len(values) != self.size:
                return self._bad_line(number, f"{len(values)} numbers instead of {self.size}")
        return self._bad_line(lines[0][0], "its numbers cannot be read")

    def _read_binary(self, file: BinaryIO, wanted: Container[bytes], take: Take, tick: Tick) -> int:
        """Records of a word, a space, d little-endian floats and perhaps a line end; returns their number."""
        buffer, start, count = b"", 0, 0
        while block := file.read(BLOCK):
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
                        raise self._damaged(f": a number of word {count:,} is not finite")
                    take(word, vector)
                start = end
            if len(buffer) - start > MAX_LINE:
                raise self._too_long()
            tick()
        if buffer[start:].strip(b"\n"):
            raise self._damaged(f" ends inside the vector of word {count + 1:,}; download it again")
        return count

    def _too_long(self) -> LimelightError:
        return self._damaged(f" has a line or a word of more than {MAX_LINE:,} bytes")

    def _bad_line(self, number: int, what: str) -> LimelightError:
        return self._damaged(f", line {number}: {what}; correct the line or download the file again")

    def _damaged(self, what: str) -> LimelightError:
        return damaged(f"{self.path}{what}")


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
