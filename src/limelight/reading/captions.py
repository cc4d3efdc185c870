"""What pictures say in words: the same in a terminal, a page, a notebook, a picture file and a report."""

from __future__ import annotations

from typing import Any

from .answers import answers_of

DECIDED, ROWS = "What decided", "What each row read"
NO_ASPECT, NO_LABEL = "no clear aspect", "no label"
METHODS = {  # Reading.decided_by -> what the weights are
    "sum": "Each weight is what the word adds to the score of this class. The weights and the bias, which "
    "the class has before a word is read, add up to it exactly.",
    "linear part": "Each weight is about what the word adds to the score of this class. The weights and the "
    "bias, which belongs to no word, add up to it.",
    "left out of attention": "Each weight is what the score of this class loses when the word is left out of "
    "the attention.",
    "leave-one-out": "Each weight is how far the probability of this class falls without the word.",
    "gradients": "Each weight is what the word adds to the score of this class, by integrated gradients.",
}
NOT_MEASURED = "How far to trust it was not measured for this model."
MORE = "https://arxiv.org/abs/1703.03130"


def method(decided_by: str, task: str = "classification") -> str:
    """What the weights are, in a sentence; empty for an unknown way.

    >>> method("linear part", "regression")
    'Each weight is about what the word adds to the value. The weights and the bias, which belongs to no...'
    """
    sentence = METHODS.get(decided_by, "")
    if not answers_of(task).is_number:
        return sentence
    for of_a_class in ("score of this class", "probability of this class", "class"):
        sentence = sentence.replace(of_a_class, "value")
    return sentence


def sum_line(words: float, bias: float, task: str = "classification") -> str:
    """What a score, or a number, is the sum of.

    >>> sum_line(1.04, -0.25)
    'The words add +1.04 and the bias −0.25: a score of +0.79.'
    """
    what = "value" if answers_of(task).is_number else "score"
    added, before, total = (f"{x:+.2f}".replace("-", "−") for x in (words, bias, words + bias))
    return f"The words add {added} and the bias {before}: a {what} of {total}."


def colours_line(label: str, without_colours: bool = False) -> str:
    """What the colours, or the signs, mean for a class; for a number, which has none, pass ''.

    >>> colours_line("good")
    'Orange words support “good”, blue words speak against it.'
    >>> colours_line("", without_colours=True)
    'Words above 0 raise the value, words below 0 lower it.'
    """
    up, down = ("Words above 0", "words below 0") if without_colours else ("Orange words", "blue words")
    if not label:
        return f"{up} raise the value, {down} lower it."
    return f"{up} support “{label}”, {down} speak against it."


def rows_line(count: int) -> str:
    """What a row is, for someone who has never heard of attention; a `count` of 0 leaves out how many.

    >>> rows_line(24).partition(";")[0]
    'The model reads the text 24 times at once'
    """
    often = f"{count} times" if count > 1 else "once" if count else "several times"
    return (
        f"The model reads the text {often}{'' if count == 1 else ' at once'}; each reading is a row. "
        "The stronger a word's colour, the more the row read it. What was read is not always what decided."
    )


def trust_sentence(measured: Any) -> str:
    """How far to trust what decided, from the figures saved with a model; empty if there are none.

    >>> trust_sentence({"texts": 100, "data": "held-out texts", "without": 0.314, "random": 0.062})
    'On 100 held-out texts, the probability of the predicted class fell by 31 points without the words...'
    """
    if not isinstance(measured, dict):
        return ""
    try:
        texts, data = int(measured["texts"]), str(measured["data"])
        without, random = (100 * float(measured[name]) for name in ("without", "random"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return ""  # a folder from elsewhere may hold anything
    return (
        f"On {texts:,} {data}, the probability of the predicted class fell by {without:.0f} points without "
        f"the words that support it most, and by {random:.0f} without as many words chosen at random."
    )
