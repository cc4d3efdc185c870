"""What nearest.py measured, in one picture: recall against time.

python experiments/benchmarks/nearest_plot.py nearest.jsonl --out docs/nearest.svg
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import Any

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 400, 50, 20, 40, 110
SHORTEST, LONGEST, LOW, HIGH = 0.4, 12, 86, 100  # milliseconds, per cent
COLOURS = ("#c8452c", "#0c74dc", "#7a7a7a", "#2a8f5b", "#8a4fbf", "#b58900")
STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".title{font-weight:bold}.rule{stroke:#dddddd}"
)


def x(ms: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * math.log(ms / SHORTEST) / math.log(LONGEST / SHORTEST)


def y(recall: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (HIGH - recall) / (HIGH - LOW)


def axes() -> list[str]:
    parts = [f'<text class="title" x="{LEFT}" y="20">Of the ten nearest of 301,500, found (%)</text>']
    for value in range(LOW, HIGH + 1, 2):
        parts.append(f'<path class="rule" d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text class="end" x="{LEFT - 6}" y="{y(value) + 4:.1f}">{value}</text>')
    for ms in (0.5, 1, 2, 5, 10):
        parts.append(f'<text class="mid" x="{x(ms):.1f}" y="{HEIGHT - BOTTOM + 20}">{ms:g}</text>')
    about = "milliseconds of processor time a query, one core"
    return [*parts, f'<text class="mid" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - BOTTOM + 38}">{about}</text>']


def line(colour: str, points: list[dict[str, Any]]) -> list[str]:
    """A way at all its settings."""
    at = [(x(each["ms"]), y(100 * each["recall"])) for each in points if 100 * each["recall"] >= LOW]
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in at)
    dots = [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>' for a, b in at]
    return [f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>', *dots]


def legend(row: int, colour: str, way: dict[str, Any]) -> list[str]:
    left, top = LEFT + row // 3 * 370, HEIGHT - 48 + 18 * (row % 3)
    built = f"{way['build_s']:.0f} s" if way["build_s"] >= 1 else f"{way['build_s']:.2f} s"
    text = f"{way['way']}: {built} to build, {way['mb']:.0f} MB"
    return [
        f'<circle cx="{left}" cy="{top}" r="4" fill="{colour}"/>',
        f'<text x="{left + 10}" y="{top + 4}">{escape(text)}</text>',
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("measured", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    ways = defaultdict(list)
    for each in map(json.loads, args.measured.read_text().splitlines()):
        ways[each["way"]].append(each)
    named = sorted(ways.values(), key=lambda points: not points[0]["way"].startswith("limelight"))
    parts = axes()
    for row, (colour, points) in enumerate(zip(COLOURS, named, strict=True)):
        parts += line(colour, points) + legend(row, colour, points[0])
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">'
    ground = f'<style>{STYLE}</style>\n<rect width="100%" height="100%" fill="#ffffff"/>'
    args.out.write_text("\n".join([head, ground, *parts, "</svg>"]) + "\n")


if __name__ == "__main__":
    main()
