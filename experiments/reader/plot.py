r"""Quality against speed in one picture.

    python experiments/reader/plot.py evaluated.jsonl speeds.md --out docs/readers.svg

evaluated.jsonl is what evaluate.py printed (names as in NAMES), speeds.md the lines of
experiments/benchmarks/readers.py.
"""

from __future__ import annotations

import argparse
import json
import math
from html import escape
from pathlib import Path

NAMES = {  # as evaluate.py has them: as the benchmark has them
    "reader": "reader, float32", "reader-fast": "reader-fast, float32", "MiniLM": "MiniLM, float32",
    "WordLlama": "WordLlama", "TF-IDF": "TF-IDF",
}  # fmt: skip
SIMILARITY = ("STS-B", "sts12", "sts13", "sts14", "sick")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 380, 300, 46, 40, 44
FASTEST, SLOWEST = 200_000, 100  # sentences a second
STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".title{font-weight:bold}.rule{stroke:#dddddd}.ours{fill:#c8452c}.other{fill:#0c74dc}"
)

Point = tuple[str, float, float]  # name, sentences a second, quality


def read_speeds(path: Path) -> dict[str, float]:
    rows = [line.strip("| \n").split("|") for line in path.read_text().splitlines() if line.startswith("|")]
    return {name.strip(): float(rate.replace(",", "")) for name, rate, *_ in rows}


def panel(title: str, points: list[Point], left: int, low: float, high: float) -> list[str]:
    """A chart: quality upwards, speed to the right, on a logarithmic scale."""
    size = math.log(FASTEST / SLOWEST)
    inside = WIDTH - LEFT - 20

    def x(rate: float) -> float:
        return left + LEFT + inside * math.log(rate / SLOWEST) / size

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<text class="title" x="{left + LEFT}" y="20">{escape(title)}</text>']
    for value in range(math.ceil(low / 5) * 5, int(high) + 1, 5):
        parts.append(f'<path class="rule" d="M{left + LEFT} {y(value):.1f}h{inside}"/>')
        parts.append(f'<text class="end" x="{left + LEFT - 6}" y="{y(value) + 4:.1f}">{value}</text>')
    for rate in (100, 1_000, 10_000, 100_000):
        parts.append(f'<text class="mid" x="{x(rate):.1f}" y="{HEIGHT - 24}">{rate:,}</text>')
    parts.append(
        f'<text class="mid" x="{left + LEFT + inside / 2}" y="{HEIGHT - 6}">sentences a second, one core</text>'
    )
    for name, rate, value in points:
        kind = "ours" if name.startswith("reader") else "other"
        parts.append(f'<circle class="{kind}" cx="{x(rate):.1f}" cy="{y(value):.1f}" r="5"/>')
        place = "mid" if rate < FASTEST / 4 else "end"
        parts.append(
            f'<text class="{place}" x="{x(rate):.1f}" y="{y(value) + (-10 if kind == "ours" else 20):.1f}">{escape(name)}</text>'
        )
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("evaluated", type=Path)
    parser.add_argument("speeds", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    speeds = read_speeds(arguments.speeds)
    found = [json.loads(line) for line in arguments.evaluated.read_text().splitlines()]
    alike = [
        (each["name"], speeds[NAMES[each["name"]]], sum(each[k] for k in SIMILARITY) / len(SIMILARITY))
        for each in found
    ]
    search = [(each["name"], speeds[NAMES[each["name"]]], each["scifact"]) for each in found]
    parts = panel("Similarity: mean of five sets", alike, 0, 60, 82)
    parts += panel("Search: SciFact, nDCG at 10", search, WIDTH, 50, 70)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}" width="{2 * WIDTH}">'
    whole = [
        head,
        f"<style>{STYLE}</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *parts,
        "</svg>",
    ]
    arguments.out.write_text("\n".join(whole) + "\n")


if __name__ == "__main__":
    main()
