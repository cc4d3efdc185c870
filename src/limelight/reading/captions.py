"""What pictures say in words: the same in a terminal, a page, a notebook, a picture file and a report."""

import math
from collections.abc import Sequence
from typing import Any

from ..config.recipe import DEFAULT_TASK
from ..text.tasks import find_task
from .reading import JointWords

DECIDED, ROWS, BY_ASPECT = "What decided", "What each row read", "What decided, by aspect"
ASPECTS_LINE = (
    "A clause counts for the aspects whose words it has, in equal parts; all other words are the rest. What "
    "the answer would be without a word, the aspects and the rest add up to it exactly."
)
GROUPED = "Rows that read the same words are shown as one"
NO_ASPECT, NO_LABEL = "no clear aspect", "no label"
METHODS = {  # Reading.decided_by -> what the weights are
    "sum": "Each weight is what the word adds to the probability of this class. The weights add up to it "
    "exactly, with what it would be without a word.",
    "linear part": "Each weight is about what the word adds to the probability of this class. The weights "
    "add up to it, with what belongs to no word.",
    "left out of attention": "Each weight is how far the probability of this class falls when no row reads "
    "the word. The weights do not add up to it.",
    "leave-one-out": "Each weight is how far the probability of this class falls without the word.",
    "phrase": "The words of a clause share evenly what they do for the probability of this class.",
}
NOT_MEASURED = "How far to trust it was not measured for this model."
MORE = "https://arxiv.org/abs/1703.03130"


def method(decided_by: str, task: str = DEFAULT_TASK, versus: str = "") -> str:
    """What the weights are, in a sentence; empty for an unknown way."""
    sentence = METHODS.get(decided_by, "")
    if versus:
        both = "probability of this class if only these two are possible"
        return sentence.replace("probability of this class", both, 1)
    amount = find_task(task).amount
    return sentence.replace("probability of this class", amount) if amount else sentence


def median_line(answer: str, most: str, share: float) -> str:
    """How the answer was chosen among ordered classes, of which `most` is the most probable one."""
    line = f"The answer is the median: added up in order, the probabilities reach 50% at “{answer}”."
    return line if answer == most else f"{line} The most probable is “{most}”, with {100 * share:.1f}%."


def sum_line(words: float, bias: float, task: str = DEFAULT_TASK, versus: str = "", label: str = "") -> str:
    """What the words add up to; `label` is a class that it was asked for, rather than the predicted one."""
    if (amount := find_task(task).amount) and not versus:
        before, after = (f"{x:.2f}".replace("-", "−") for x in (bias, bias + words))
        return f"Without a word the {amount} would be {before}; the words bring it to {after}."
    before, after = (f"{100 * min(max(x, 0), 1):.0f}%" for x in (bias, bias + words))
    of = (f" of “{label}”" if label else "") + (f" beside “{versus}” alone" if versus else "")
    return f"Without a word the probability{of} would be {before}; the words bring it to {after}."


def joint_line(
    found: Sequence[tuple[str, str, JointWords]], task: str = DEFAULT_TASK, versus: str = ""
) -> str:
    """Words that are read together, and how the answer changes without them."""
    is_share = bool(versus) or not find_task(task).amount

    def change(fall: float) -> str:
        size = f"{100 * abs(fall):.0f}" if is_share else f"{abs(fall):.2f}"
        return f"{'−' if fall > 0 else '+'}{size}" if size.strip("0.") else size

    unit = " points" if is_share else ""
    told = [
        f"“{first}{' ' if each.first[1] == each.second[0] else ' … '}{second}” "
        f"(without both {change(each.without_both)}{unit}; "
        f"without “{first}” {change(each.without_first)}, without “{second}” {change(each.without_second)})"
        for first, second, each in found
    ]
    return f"Read together: {'; '.join(told)}." if told else ""


STARS_LINE = "Orange words raise the stars, blue words lower them."  # where what decided is a probability
UNITS = {"stars": " stars", "points": " points"}  # of an effect; a number has none


def aspect_effects(parts: Sequence[float], unit: str) -> list[str]:
    """Effects of aspects as they are shown: rounded so that the rounded ones add up, too."""
    digits = 1 if unit == "points" else 2
    exact = [x * (1000 if unit == "points" else 100) for x in parts]  # in hundredths, or tenths of a point
    counts = [math.floor(x) for x in exact]
    order = sorted(range(len(exact)), key=lambda k: counts[k] - exact[k])  # the largest remainder first
    for k in order[: math.floor(sum(exact) + 0.5) - sum(counts)]:
        counts[k] += 1
    return [f"{'−' if x < 0 else '+' if x else ''}{abs(x) / 10**digits:.{digits}f}" for x in counts]


def aspect_sum_line(bias: str, effects: Sequence[tuple[str, str]], answer: str, unit: str) -> str:
    """The answer as a sum; `effects` are names and, as `aspect_effects` gives them, what they add."""
    percent = "%" if unit == "points" else ""
    terms = "".join(f" {'−' if x[0] == '−' else '+'} {x.lstrip('+−')} {name}" for name, x in effects)
    amount = percent if percent else UNITS.get(unit, "")
    return f"{bias.lstrip('+')}{percent} without a word{terms} = {answer.lstrip('+')}{amount}"


def colours_line(
    label: str, without_colours: bool = False, task: str = DEFAULT_TASK, versus: str = ""
) -> str:
    """What the colours, or the signs, mean for a class."""
    up, down = ("Words above 0", "words below 0") if without_colours else ("Orange words", "blue words")
    if versus:
        return f"{up} speak for “{label}” rather than “{versus}”, {down} for “{versus}”."
    if amount := find_task(task).amount:
        return f"{up} raise the {amount}, {down} lower it."
    return f"{up} support “{label}”, {down} speak against it."


def rows_line(count: int) -> str:
    """What a row is, for someone who has never heard of attention; a `count` of 0 leaves out how many."""
    often = f"{count} times" if count > 1 else "once" if count else "several times"
    return (
        f"The model reads the text {often}{'' if count == 1 else ' at once'}; each reading is a row. "
        "The stronger a word's colour, the more the row read it. What was read is not always what decided."
    )


def rows_summary(count: int, most: Sequence[str]) -> str:
    """The rows in a line; `most` are those that count most for the answer, as `row_in_line` calls them."""
    found = f"{ROWS}: {count} {'row' if count == 1 else 'rows'}"
    return f"{found}; most for this answer: {', '.join(most)}" if most else found


def row_in_line(row: int, name: str, word: str) -> str:
    """A row by its name; without one by its number, from 0, and the word that it read most in a text."""
    return f"“{name}”" if name else f"row {row + 1} (here “{word}”)"


def trust_sentence(measured: Any) -> str:
    """How far to trust what decided, from the figures saved with a model; empty if there are none."""
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
