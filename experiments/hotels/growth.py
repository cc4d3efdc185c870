"""How accuracy and time grow with the number of training reviews: a table and a figure.

    python experiments/hotels/first_rows.py encoded --rows 1000 --out encoded-1000       (and so on)
    python experiments/hotels/train_runs.py encoded-1000 rows max --test test-10k.jsonl --out growth/1000
    python experiments/hotels/growth.py growth --out docs/growth.svg

Each folder of `growth` is named by its number of reviews and has the results of train_runs.py.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections import defaultdict
from html import escape
from pathlib import Path
from typing import NamedTuple

NAMES = {
    "rows": ("30 rows of attention", "#c8452c"),
    "max": ("max pooling", "#0c74dc"),
    "best": ("both", "#4dbd8b"),
}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 380, 56, 32, 24, 48
STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".rule{stroke:#dddddd}polyline{fill:none;stroke-width:2}"
)


class Point(NamedTuple):
    """The runs of one encoder at one size."""

    size: int
    accuracy: list[float]  # per cent, one for each seed
    seconds: list[float]

    @property
    def mean(self) -> float:
        return statistics.mean(self.accuracy)

    @property
    def spread(self) -> float:
        return statistics.stdev(self.accuracy) if len(self.accuracy) > 1 else 0.0


def read(folder: Path) -> dict[str, list[Point]]:
    """The points of each encoder, by size."""
    found: dict[str, dict[int, Point]] = defaultdict(dict)
    for file in sorted(folder.glob("*/*.json")):
        run, size = json.loads(file.read_text()), int(file.parent.name)
        point = found[run["name"]].setdefault(size, Point(size, [], []))
        point.accuracy.append(100 * run["test"]["accuracy"])
        point.seconds.append(run["seconds"])
    return {name: [points[size] for size in sorted(points)] for name, points in found.items()}


def table(found: dict[str, list[Point]]) -> str:
    """Markdown: accuracy ± standard deviation over seeds, and seconds, by size."""
    sizes = sorted({point.size for points in found.values() for point in points})
    names = [name for name in NAMES if name in found]
    head = "".join(f" {NAMES[name][0]} | seconds |" for name in names)
    lines = [f"| reviews |{head}", "|---|" + "---|---|" * len(names)]
    for size in sizes:
        cells = []
        for name in names:
            point = next((each for each in found[name] if each.size == size), None)
            shown = (
                f"{point.mean:.1f} ± {point.spread:.1f} | {statistics.mean(point.seconds):.0f}"
                if point
                else " | "
            )
            cells.append(shown)
        lines.append(f"| {size:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def figure(found: dict[str, list[Point]]) -> str:
    """An SVG: accuracy against the number of reviews, which has a logarithmic scale."""
    points = [point for name in found if name in NAMES for point in found[name]]
    low, high = min(p.mean - p.spread for p in points), max(p.mean + p.spread for p in points)
    low, high = math.floor(low / 5) * 5, math.ceil(high / 5) * 5
    first, last = (math.log10(pick(p.size for p in points)) for pick in (min, max))

    def x(size: int) -> float:
        return LEFT + (math.log10(size) - first) / max(last - first, 1e-9) * (WIDTH - LEFT - RIGHT)

    def y(accuracy: float) -> float:
        return HEIGHT - BOTTOM - (accuracy - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    ]
    parts.append(f"<style>{STYLE}</style><rect width='{WIDTH}' height='{HEIGHT}' fill='#ffffff'/>")
    for level in range(low, high + 1, 5):
        parts.append(
            f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(level):.1f}" y2="{y(level):.1f}"/>'
        )
        parts.append(f'<text class="end" x="{LEFT - 8}" y="{y(level) + 4:.1f}">{level}%</text>')
    for size in sorted({p.size for p in points}):
        parts.append(f'<text class="mid" x="{x(size):.1f}" y="{HEIGHT - BOTTOM + 18}">{size:,}</text>')
    parts.append(f'<text class="mid" x="{WIDTH / 2}" y="{HEIGHT - 8}">training reviews</text>')
    for number, (name, (title, colour)) in enumerate(each for each in NAMES.items() if each[0] in found):
        line = " ".join(f"{x(p.size):.1f},{y(p.mean):.1f}" for p in found[name])
        parts.append(f'<polyline points="{line}" stroke="{colour}"/>')
        for p in found[name]:
            top, bottom = y(p.mean + p.spread), y(p.mean - p.spread)
            parts.append(
                f'<line x1="{x(p.size):.1f}" x2="{x(p.size):.1f}" y1="{top:.1f}" y2="{bottom:.1f}" stroke="{colour}"/>'
            )
            parts.append(f'<circle cx="{x(p.size):.1f}" cy="{y(p.mean):.1f}" r="3" fill="{colour}"/>')
        parts.append(
            f'<text x="{LEFT + 12}" y="{TOP + 14 + 18 * number}" style="fill:{colour}">{escape(title)}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="folder of folders of results")
    parser.add_argument("--out", type=Path, required=True, help="the figure")
    args = parser.parse_args()
    found = read(args.results)
    args.out.write_text(figure(found), encoding="utf-8")
    print(table(found))


if __name__ == "__main__":
    main()
