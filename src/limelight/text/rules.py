"""The word-splitting rules: one regular expression for the `tokenizers` library (Oniguruma syntax)."""

from __future__ import annotations

WORD = (
    r"(?:Mr|Mrs|Dr|mr|mrs|dr)\."
    r"|[A-Za-z]+?(?=n['’]t\b)"
    r"|n['’]t\b|['’](?:s|m|d|ll|re|ve)\b"
    r"|[\p{L}\p{M}\p{N}]++(?:(?!['’](?:s|m|d|ll|re|ve)\b)[-.,:'’/][\p{L}\p{N}]++)*"
    r"|[.]++|[!?]++|-++|[^\s]"
)
