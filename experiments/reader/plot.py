"""Quality against speed in one picture, and the table below it, of what docs/results.md has.

    python experiments/reader/plot.py

Reads the tables of "The reader" (made by evaluate.py) and "What each costs" (by experiments/benchmarks/readers.py) in
docs/results.md; writes docs/readers.svg and the table of docs/readers.md.
"""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
QUALITY, COSTS = "### The reader\n", "### What each costs\n"
MARK = "<!-- made by experiments/reader/plot.py -->\n"
SIMILARITY = ("STS-B dev", "STS 12", "STS 13", "STS 14", "SICK")
NAMES = ("`reader`", "`reader-fast`", "MiniLM", "static vectors", "TF-IDF")
HEADER = (
    "", "STS-B dev", "STS 2012-14, SICK", "SciFact", "sentences a second", "in int8", "abstracts", "in int8",
    "files, MB", "memory, MB", "first answer, ms",
)  # fmt: skip
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 420, 400, 46, 40, 44
LETTER = 6.3  # width of one
FASTEST, SLOWEST = 200_000, 20  # sentences a second
STYLE = (
    "text{font:12px Helvetica,Arial,sans-serif;fill:#222222}.mid{text-anchor:middle}.end{text-anchor:end}"
    ".title{font-weight:bold}.rule{stroke:#dddddd}.ours{fill:#c8452c}.other{fill:#0c74dc}.size{fill:#666666}"
)

Table = dict[str, dict[str, str]]  # row -> column -> cell
Point = tuple[str, str, float, float]  # name, megabytes, sentences a second, quality
Box = tuple[float, float, float, float]  # left, top, right, bottom


def read_table(results: str, heading: str, column: str) -> Table:
    """The table of a section that has this column."""
    section = re.split(r"^##", results[results.index(heading) + len(heading) :], maxsplit=1, flags=re.M)[0]
    for block in re.findall(r"(?:^\|.*\n)+", section, re.M):
        header, _, *rows = [
            [cell.strip(" *") for cell in line.strip()[1:-1].split("|")] for line in block.splitlines()
        ]
        if column in header:
            return {row[0]: dict(zip(header, row, strict=False)) for row in rows}
    raise SystemExit(f"no table with {column!r} under {heading.strip()!r}")


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def costs_of(costs: Table, name: str, precision: str = "float32") -> dict[str, str]:
    return costs.get(f"{name}, {precision}") or (costs[name] if precision == "float32" else {})


def page_table(quality: Table, costs: Table) -> str:
    lines = ["| " + " | ".join(HEADER) + " |", "|---" * len(HEADER) + "|"]
    for name in NAMES:
        one, own, small = quality[name], costs_of(costs, name), costs_of(costs, name, "int8")
        cells = [one["STS-B dev"], one["mean of the four"], one["SciFact"]]
        cells = [f"{number(cell):.1f}" for cell in cells]
        for kind in ("sentences a second", "abstracts a second"):
            cells += [own[kind], small.get(kind, "")]
        cells += [own["files, MB"], own["memory, MB"], own["first answer, ms"]]
        lines.append("| " + " | ".join([name, *cells]) + " |")
    return "\n".join(lines) + "\n"


def panel(title: str, points: list[Point], left: int) -> list[str]:
    """A chart: quality upwards, speed to the right, on a logarithmic scale."""
    values = [value for *_, value in points]
    low, high = min(values) - 6, max(values) + 4
    size = math.log(FASTEST / SLOWEST)
    inside = WIDTH - LEFT - 20

    def x(rate: float) -> float:
        return left + LEFT + inside * math.log(rate / SLOWEST) / size

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)

    parts = [f'<text class="title" x="{left + LEFT}" y="20">{escape(title)}</text>']
    for value in range(math.ceil(low / 10) * 10, int(high) + 1, 10):
        parts.append(f'<path class="rule" d="M{left + LEFT} {y(value):.1f}h{inside}"/>')
        parts.append(f'<text class="end" x="{left + LEFT - 6}" y="{y(value) + 4:.1f}">{value}</text>')
    for rate in (100, 1_000, 10_000, 100_000):
        parts.append(f'<text class="mid" x="{x(rate):.1f}" y="{HEIGHT - 24}">{rate:,}</text>')
    parts.append(
        f'<text class="mid" x="{left + LEFT + inside / 2}" y="{HEIGHT - 6}">sentences a second, one core</text>'
    )
    taken = [(x(rate) - 6, y(value) - 6, x(rate) + 6, y(value) + 6) for *_, rate, value in points]
    for name, megabytes, rate, value in points:
        kind = "ours" if name.startswith("reader") else "other"
        parts.append(f'<circle class="{kind}" cx="{x(rate):.1f}" cy="{y(value):.1f}" r="5"/>')
        about = f' <tspan class="size">{megabytes} MB</tspan>' if megabytes else ""
        letters = len(name) + (len(megabytes) + 4 if megabytes else 0)
        place, across, up = free_place(x(rate), y(value), letters * LETTER, left + WIDTH, taken)
        parts.append(f'<text class="{place}" x="{across:.1f}" y="{up:.1f}">{escape(name)}{about}</text>')
    return parts


def free_place(x: float, y: float, width: float, right: float, taken: list[Box]) -> tuple[str, float, float]:
    """Where a name stands beside its point: the first place that is free, which is then taken."""
    for place, across, up in (
        ("mid", x, y - 10),
        ("mid", x, y + 20),
        ("", x + 9, y + 4),
        ("end", x - 9, y + 4),
    ):
        start = across - {"mid": width / 2, "": 0, "end": width}[place]
        box = start, up - 11, start + width, up + 3
        if box[2] <= right and not any(_meet(box, other) for other in taken):
            taken.append(box)
            return place, across, up
    return "end", x, y + 20


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def picture(quality: Table, costs: Table) -> str:
    alike, search = [], []
    for name in NAMES:
        one, own = quality[name], costs_of(costs, name)
        known = name.strip("`"), own["files, MB"], number(own["sentences a second"])
        alike.append((*known, sum(number(one[each]) for each in SIMILARITY) / len(SIMILARITY)))
        search.append((*known, number(one["SciFact"])))
    parts = panel("Similarity: mean of five sets", alike, 0)
    parts += panel("Search: SciFact, nDCG at 10", search, WIDTH)
    size = f'viewBox="0 0 {2 * WIDTH} {HEIGHT}" width="{2 * WIDTH}"'
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', f"<style>{STYLE}</style>"]
    return "\n".join([*head, '<rect width="100%" height="100%" fill="#ffffff"/>', *parts, "</svg>"]) + "\n"


def made() -> dict[Path, str]:
    """The plot and the page, as they should be."""
    results, page = (DOCS / "results.md").read_text("utf-8"), DOCS / "readers.md"
    quality, costs = read_table(results, QUALITY, "SciFact"), read_table(results, COSTS, "memory, MB")
    head, rest = page.read_text("utf-8").split(MARK)
    after = re.sub(r"\A\n(?:\|.*\n)*", "", rest)
    whole = f"{head}{MARK}\n{page_table(quality, costs)}{after}"
    return {DOCS / "readers.svg": picture(quality, costs), page: whole}


def main() -> None:
    for path, content in made().items():
        path.write_text(content, "utf-8")


if __name__ == "__main__":
    main()
