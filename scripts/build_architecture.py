"""Draws docs/architecture.svg from the contract on rooms in pyproject.toml; a test holds it to that.

python scripts/build_architecture.py
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "architecture.svg"
ABOUT = {
    "cli": "one file per command", "serve": "the API, the explorer, labelling", "bulk": "millions of rows",
    "estimators": "scikit-learn's way in",
    "labelling": "what to label, what is learnt", "explain": "why, how far to trust it",
    "search": "index, search", "training": "labels, or a teacher's vectors",
    "runtime": "a trained model, devices", "reading": "readings and pictures",
    "aspects": "what a text speaks of", "network": "the parts, torch/ and onnx/",
    "text": "words, labels, batches", "tables": "any table in and out", "config": "every option once",
    "storage": "whole or not at all", "bundled": "what comes along", "errors": "the one exception",
}  # fmt: skip
COLOURS = {"none": ("#fff3e0", "#e08a2c"), "part": ("#f1f1f1", "#888888"), "all": ("#e8eef7", "#5b7fb5")}
KEY = {"none": "without PyTorch", "part": "PyTorch in one part only", "all": "PyTorch"}
PYTORCH = {"training": "all", "runtime": "part", "network": "part"}
WIDE, HIGH, GAP, LINE, MIDDLE = 210, 46, 24, 68, 380


def rooms() -> list[list[str]]:
    """The rooms of each layer, from the top down."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    layers = [[name.strip() for name in layer.split("|")] for layer in contract["layers"]]
    return [[name for name in layer if name in ABOUT] for layer in layers]


def draw() -> str:
    """The picture."""
    layers = rooms()
    height = 16 + LINE * len(layers) + 40
    label = "The rooms of Limelight, from the command line at the top to errors at the bottom"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" viewBox="0 0 760 {height}" '
        f'font-family="Helvetica,Arial,sans-serif" role="img" aria-label="{label}"><defs><marker id="a" '
        'viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" fill="#888"/></marker></defs><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for number, layer in enumerate(layers):
        y, left = 16 + LINE * number, MIDDLE - (len(layer) * (WIDE + GAP) - GAP) // 2
        parts += [_box(left + k * (WIDE + GAP), y, name) for k, name in enumerate(layer)]
        if layer is not layers[-1]:
            arrow = 'stroke="#888" stroke-width="1.5" marker-end="url(#a)"'
            parts.append(f'<path d="M{MIDDLE} {y + HIGH + 3} v14" {arrow}/>')
    for k, (kind, words) in enumerate(KEY.items()):
        fill, edge = COLOURS[kind]
        x, y = 70 + 230 * k, height - 30
        parts.append(
            f'<rect x="{x}" y="{y}" width="14" height="14" rx="3" fill="{fill}" stroke="{edge}"/>'
            f'<text x="{x + 22}" y="{y + 12}" font-size="12" fill="#555">{words}</text>'
        )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _box(x: int, y: int, name: str) -> str:
    fill, edge = COLOURS[PYTORCH.get(name, "none")]
    at = f'x="{x + WIDE // 2}" text-anchor="middle"'
    return (
        f'<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="8" fill="{fill}" stroke="{edge}"/>'
        f'<text {at} y="{y + 20}" font-weight="bold" font-size="15" fill="#222">{name}</text>'
        f'<text {at} y="{y + 37}" font-size="12" fill="#555">{ABOUT[name]}</text>'
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), "utf-8")
