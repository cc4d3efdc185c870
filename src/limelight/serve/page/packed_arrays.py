"""Arrays as bytes, and bytes as text that is safe in a page; page/model_file.js reads both."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

ALPHABET = bytes(c for c in range(32, 127) if c not in b'&<>"')  # 91 letters
BITS = 13  # of two letters: 91 x 91 is just above 2^13, and base64 has 12


def pack_arrays(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray | Steps]) -> bytes:
    """The length of a JSON header in four bytes, the header, the arrays it names; as gzip."""
    named, parts = [], []
    for name, array in arrays.items():
        entry: dict[str, Any] = {"name": name}
        if isinstance(array, Steps):
            entry["step"], array = array.step, array.counts
        named.append({**entry, "type": str(array.dtype), "shape": array.shape})
        part = array.astype(array.dtype.newbyteorder("<")).tobytes()
        # of two-byte numbers all first bytes, then all second bytes, which gzip packs better
        parts.append(part[::2] + part[1::2] if array.dtype.itemsize == 2 else part)
    text = json.dumps({**header, "arrays": named}, ensure_ascii=False, separators=(",", ":"))
    content = text.encode(errors="replace")  # half a character is not text
    # Level 9 takes twice as long for weights, and saves 0.2%.
    return gzip.compress(b"".join([len(content).to_bytes(4, "little"), content, *parts]), 6, mtime=0)


class Steps:
    """Numbers as multiples of one step, the `parts`-th part of their root mean square.

    Half the bytes of float32, and fewer after gzip than float16, which spends bits on the smallest numbers.
    """

    def __init__(self, values: np.ndarray, parts: int = 512) -> None:
        self.step = float(np.sqrt(np.mean(np.square(values, dtype=np.float64)))) / parts or 1.0
        counts = np.rint(values / self.step)
        self.fits = bool(np.abs(counts).max(initial=0) < 2**15)  # into 16 bits
        self.counts = counts.astype(np.int16) if self.fits else counts


def to_text(content: bytes) -> str:
    """Bytes as letters, two for 13 bits; the length in four bytes comes first."""
    whole = np.frombuffer(len(content).to_bytes(4, "little") + content, np.uint8)
    bits = np.unpackbits(whole)
    groups = np.pad(bits, (0, -len(bits) % BITS)).reshape(-1, BITS)
    values = groups @ (1 << np.arange(BITS)[::-1])
    pairs = np.stack(np.divmod(values, len(ALPHABET)), axis=1)
    return str(np.frombuffer(ALPHABET, np.uint8)[pairs].tobytes(), "ascii")
