import numpy as np
import pytest

from limelight.reading.colours import DARK, LEVELS, LIGHT, Theme, levels

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])


def contrast(first: str, second: str) -> float:
    """The WCAG contrast of two colours, from 1 (the same) to 21 (black on white)."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def linear(colour: str) -> np.ndarray:
    encoded = np.array(list(bytes.fromhex(colour[1:]))) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def luminance(colour: str) -> float:
    """Relative luminance, from 0 (black) to 1 (white), as WCAG defines it."""
    return float(linear(colour) @ (0.2126, 0.7152, 0.0722))


@THEMES
def test_ink_is_legible_on_every_colour(theme: Theme):
    for colour in (*theme.warm, *theme.cold):
        assert contrast(theme.ink, colour) >= 4.5, colour


@THEMES
def test_captions_are_legible(theme: Theme):
    assert contrast(theme.muted, theme.paper) >= 4.5


@THEMES
@pytest.mark.parametrize("name", ["warm", "cold"])
def test_lightness_falls_or_rises_steadily_away_from_the_paper(theme: Theme, name: str):
    scale = getattr(theme, name)
    assert len(scale) == LEVELS + 1
    assert scale[0] == theme.paper
    # CIE lightness: what is left for a reader who sees no hue at all
    lightness = np.array([116 * np.cbrt(max(luminance(colour), 0.009)) - 16 for colour in scale])
    steps = np.diff(lightness) * (1 if theme is DARK else -1)
    assert (steps > 1.5).all(), steps


@THEMES
def test_warm_and_cold_differ_for_colour_blind_readers(theme: Theme):
    """Reds and greens collapse for them; blue against yellow does not, and the scales end far apart on it."""
    warm, cold = (bytes.fromhex(scale[-1][1:]) for scale in (theme.warm, theme.cold))
    blue_yellow = [int(colour[2]) - (int(colour[0]) + int(colour[1])) / 2 for colour in (warm, cold)]
    assert blue_yellow[1] - blue_yellow[0] > 100


def test_contrast_is_that_of_wcag():
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


def test_levels():
    assert levels(np.array([0.0, 0.5, 1.0, 2.0, -1.0]), top=1.0).tolist() == [0, 4, 9, 9, -9]
    assert levels(np.array([0.0, 0.0]), top=0.0).tolist() == [0, 0]
