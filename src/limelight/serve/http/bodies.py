"""The bodies of requests: JSON from anyone, and the texts in it."""

import json
from collections.abc import Mapping
from typing import Any

from ...text.tokenizer import Tokenizer
from .limits import Limits, RequestError, check_count

Body = Mapping[str, Any]
Item = tuple[str, ...]  # a text, or a pair of texts
PIECE = 4096  # characters that words are looked for in at once
MAX_DEPTH, TOO_DEEP = 16, "the body is nested too deeply"
MARGIN = 8  # words: where a text is cut, they may be others than in the whole text


def parse_body(content: bytes) -> Body:
    try:
        body = json.loads(content.decode())
    except UnicodeDecodeError:
        raise RequestError(400, "the body is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise RequestError(400, f"the body is not JSON at character {error.pos}") from None
    except ValueError:
        raise RequestError(400, "a number in the body has too many digits") from None
    except RecursionError:
        raise RequestError(400, TOO_DEEP) from None
    if content.count(b"[") + content.count(b"{") > MAX_DEPTH and _is_deep(body):
        raise RequestError(400, TOO_DEEP)
    if not isinstance(body, dict):
        raise RequestError(422, 'the body must be an object such as {"inputs": "text"}')
    return body


def _is_deep(body: Any) -> bool:
    """Whether a value is nested deeper than any request needs: what looks into it later may call itself."""
    level = [body]
    for _ in range(MAX_DEPTH):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [value for values in inside for value in values if isinstance(value, dict | list)]
        if not level:
            return False
    return True


def texts_of(value: Any, limits: Limits, name: str = "inputs") -> tuple[list[Item], bool]:
    """One text or a list of them, and whether it was one."""
    if isinstance(value, str):
        return [(value,)], True
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        first = value[0] if isinstance(value, list) and value else None
        if type(first[0] if isinstance(first, list) and first else first) is int:
            fault = f"{name} holds token ids, which mean nothing to this model; send the texts themselves"
            fault += " (LangChain: check_embedding_ctx_length=False)"
            raise RequestError(422, fault, code="token-ids")
        raise RequestError(422, f"{name} must be a text or a list of texts")
    check_count(len(value), limits)
    return [(text,) for text in value], False


def items_of(value: Any, limits: Limits, pair: bool) -> tuple[list[Item], bool]:
    """What a classifier takes: a text, a list of texts, or of lists of one text; for pairs [text, text2]."""
    if pair and _is_item(value, 2):
        return [tuple(value)], True
    first = next(iter(value), "") if isinstance(value, list) else value
    if not pair and isinstance(first, str):
        return texts_of(value, limits)
    size, what = (2, "[text, text2] or a list of such pairs") if pair else (1, "a text or a list of texts")
    if not isinstance(value, list) or not all(_is_item(item, size) for item in value):
        reads = "pairs of texts" if pair else "single texts"
        raise RequestError(422, f"inputs must be {what}: this model reads {reads}")
    check_count(len(value), limits)
    return [tuple(item) for item in value], False


def check_words(items: list[Item], tokenizer: Tokenizer, limits: Limits, truncate: bool) -> list[Item]:
    """Raise if the texts have too many words or characters; with `truncate`, cut each to an even share."""
    texts = [text for item in items for text in item]
    fault = _too_long(texts, tokenizer, limits)
    if not fault:
        return items
    if not truncate:
        raise RequestError(413, f'{fault}; send fewer, or "truncate": true to cut long texts')
    if len(texts) > limits.words:
        fault = f"the request has {len(texts):,} texts; at most {limits.words:,} words are allowed"
        raise RequestError(413, f"{fault}: not even one for each")
    words = min(limits.text_words, limits.words // len(texts))
    share = limits.characters_of(limits.words) // len(texts)
    characters = min(limits.characters_of(limits.text_words), share)
    return [tuple(_cut(text[:characters], tokenizer, words) for text in item) for item in items]


def _too_long(texts: list[str], tokenizer: Tokenizer, limits: Limits) -> str:
    """What is too long, if anything is: a single text, or all of them together."""
    parts = [([text], "a text has", limits.text_words) for text in texts if len(text) > limits.text_words]
    for some, has, most in [*parts, (texts, "the texts have", limits.words)]:
        size, most_characters = sum(map(len, some)), limits.characters_of(most)
        if size > most_characters:
            return f"{has} more than {most_characters:,} characters"
        # A word has a letter: where there are no more letters than words allowed, no need to count.
        if size > most and _has_more_words(some, tokenizer, most):
            return f"{has} more than {most:,} words"
    return ""


def count_words(items: list[Item], tokenizer: Tokenizer) -> int:
    return int(tokenizer.encode([text for item in items for text in item])[1].sum())


def _has_more_words(texts: list[str], tokenizer: Tokenizer, most: int) -> bool:
    """Whether there are more words than that; of texts with far more, only as much is read as it takes."""
    left = most
    for text in texts:
        size = max(PIECE, left)
        while (count := count_words([(text[:size],)], tokenizer)) <= left + MARGIN and size < len(text):
            size *= 2
        left -= count
        if left < 0:
            return True
    return False


def _cut(text: str, tokenizer: Tokenizer, words: int) -> str:
    """The first words of a text, read in pieces: while one is read, no other thread runs."""
    end = 0
    while len(text) - end > words:
        piece = text[end : end + PIECE]
        _, offsets = tokenizer.locate(piece)
        if not offsets[-1][1]:  # no word at all
            end += len(piece)
            continue
        if len(piece) == PIECE and len(offsets) > 1:  # the last word may go on
            offsets = offsets[:-1]
        if len(offsets) >= words:
            return text[: end + int(offsets[words - 1][1])]
        words, end = words - len(offsets), end + int(offsets[-1][1])
    return text


def _is_item(value: Any, size: int) -> bool:
    return isinstance(value, list) and len(value) == size and all(isinstance(text, str) for text in value)
