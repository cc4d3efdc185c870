"""The colours of the heat maps, in light and dark: even steps of lightness, safe for colour-blind readers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVELS = 9  # steps of colour above plain paper; more are indistinguishable in running text


@dataclass(frozen=True)
class Theme:
    """The colours of one mode. Level 0 of both scales is the paper itself."""

    paper: str
    ink: str
    muted: str  # captions and numbers
    line: str  # rules and the empty part of bars
    warm: tuple[str, ...]  # attention, and evidence for the class
    cold: tuple[str, ...]  # evidence against it


def levels(weights: np.ndarray, top: float) -> np.ndarray:
    """The colour level, -9 to 9, of every weight; `top` is the weight with the strongest colour.

    >>> levels(np.array([0.0, 0.02, 0.1, 0.4, -0.2]), top=0.4).tolist()
    [0, 0, 2, 9, -4]
    """
    if top <= 0:
        return np.zeros(len(weights), dtype=int)
    return np.asarray(np.clip(np.rint(weights * (LEVELS / top)), -LEVELS, LEVELS).astype(int))


def colour_class(level: int) -> str:
    """The CSS class of a colour level: h for support and attention, c for what speaks against.

    >>> colour_class(9), colour_class(-4), colour_class(0)
    ('h9', 'c4', '')
    """
    return f"{'h' if level > 0 else 'c'}{abs(level)}" if level else ""


def scale(paper: str, end: str) -> tuple[str, ...]:
    """`LEVELS` + 1 colours from `paper` to `end`, perceptually even (a straight line in OKLab).

    >>> scale("#ffffff", "#f58220")[0], scale("#ffffff", "#f58220")[-1]
    ('#ffffff', '#f58220')
    """
    steps = np.linspace(0.0, 1.0, LEVELS + 1)[:, None]
    lab = np.cbrt(_linear(paper) @ _RGB_TO_LMS) * (1 - steps) + np.cbrt(_linear(end) @ _RGB_TO_LMS) * steps
    linear = np.clip(lab**3 @ np.linalg.inv(_RGB_TO_LMS), 0.0, 1.0)
    encoded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return tuple("#" + bytes(np.rint(row * 255).astype(np.uint8)).hex() for row in encoded)


def rgb(colour: str) -> tuple[int, int, int]:
    """The three channels of `#rrggbb`.

    >>> rgb("#f58220")
    (245, 130, 32)
    """
    red, green, blue = bytes.fromhex(colour[1:])
    return red, green, blue


def _linear(colour: str) -> np.ndarray:
    encoded = np.array(rgb(colour)) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


# Linear sRGB to cone responses. OKLab is linear in their cube roots, so a straight line there is one here.
_RGB_TO_LMS = np.array(
    [[0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
     [0.0883024619, 0.2817188376, 0.6299787005]]
).T  # fmt: skip

_WHITE, _BLACK = "#ffffff", "#17181b"
LIGHT = Theme(_WHITE, "#1f1b16", "#6b655c", "#e6e1d9", scale(_WHITE, "#f58220"), scale(_WHITE, "#5b9cf0"))
DARK = Theme(_BLACK, "#ece9e4", "#a39d94", "#33343a", scale(_BLACK, "#9a4a05"), scale(_BLACK, "#1f5fae"))
