"""How the bytes of a text table are read: as UTF-8, as was asked for, or as its first bytes suggest."""

import codecs
import os
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import bad_value

VARIABLE = "LIMELIGHT_ENCODING"  # also set by --encoding: other processes that read the tables see it
HEAD = 2**20  # bytes that a guess is made from
UTF8 = "utf-8-sig"
WESTERN = "cp1252"  # Windows-1252: all of Latin-1, and the quotation marks that offices write
LOST = "\ufffd"  # what stands for a character that could not be read
_MARKS = {  # that of UTF-16 is the beginning of one of UTF-32
    codecs.BOM_UTF8: UTF8, codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
_ZEROS: dict[tuple[bool, ...], str] = {  # which of four bytes are mostly zero where most letters are Latin
    (False, True, False, True): "utf-16-le", (True, False, True, False): "utf-16-be",
    (False, True, True, True): "utf-32-le", (True, True, True, False): "utf-32-be",
}  # fmt: skip


@contextmanager
def text_encoding(name: str | None) -> Iterator[None]:
    """Read all text tables in this encoding; with None, as before."""
    before = os.environ.get(VARIABLE)
    if name is not None:
        os.environ[VARIABLE] = name
    try:
        stated_encoding()
        yield
    finally:
        if name is not None:
            os.environ.pop(VARIABLE)
            os.environ.update({VARIABLE: before} if before is not None else {})


def stated_encoding() -> str | None:
    """The encoding that was asked for, as Python names it."""
    stated = os.environ.get(VARIABLE)
    if not stated:
        return None
    try:
        found = codecs.lookup(stated)
        "".encode(found.name)  # refused by those between bytes, such as base64
    except (LookupError, ValueError):
        known = "such as utf-8, utf-16, cp1252, latin-1, cp1251, gb18030 or shift_jis"
        raise bad_value(f"--encoding is {stated[:40]!r}; it must be one that Python knows, {known}") from None
    return UTF8 if found.name == "utf-8" else found.name


def guess_encoding(head: bytes) -> str | None:
    """The encoding of a text that begins with `head`; None if it is UTF-8 or not to be guessed."""
    marked = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if marked:
        return None if marked == UTF8 else marked
    if wide := _ZEROS.get(tuple(2 * head[k::4].count(0) > len(head) // 4 for k in range(4))):
        return wide
    whole = len(head) < HEAD  # otherwise the last character may be cut
    valid = codecs.getincrementaldecoder("utf-8")("replace").decode(head, whole)
    wrong = valid.count(LOST) - head.count(LOST.encode())  # the text itself may have some, in UTF-8
    if not wrong:
        return None
    others = sum(not each.isascii() for each in valid) - wrong
    return WESTERN if wrong > others and _is_western(head) else None  # otherwise it is UTF-8, damaged


def _is_western(head: bytes) -> bool:
    """Whether text in Windows-1252 would look like Western European: few letters have accents."""
    try:
        letters = [each for each in head.decode(WESTERN) if each.isalpha()]
    except UnicodeDecodeError:
        return False
    return b"\0" not in head and 3 * sum(not each.isascii() for each in letters) <= len(letters)
