"""Heat maps as SVG: lines are wrapped here, words placed by measured widths, colours follow dark mode."""

from functools import cache
from html import escape

from markupsafe import Markup

from . import captions
from .colours import LEVELS, HeatMap, colour_class
from .comparison import Drawable
from .html import render_style, templates
from .links import Links, draw_links, fitted, signed
from .picture import AspectMaps, Picture, make_picture
from .wrap import Atom, ems, is_right_to_left, shorten, visual_order, wrap

_MARGIN, _LABELS, _BETWEEN = 28.0, 150.0, 28.0  # around the picture; row names; between two texts
_BIG, _SMALL, _NOTE = 16.0, 15.0, 12.5  # font sizes
_BOLD = 1.12  # bold letters are about this much wider than the regular ones that `ems` knows
_LEADING = 1.72  # line height, as a multiple of the font size
_FONT = "Helvetica,Arial,'Liberation Sans',Arimo,sans-serif"


def to_svg(reading: Drawable, *, rows: bool = False) -> str:
    """A reading as an SVG picture: the prediction, what decided, and with `rows` what each row read.

    Without a prediction, the rows are what there is to see, and are always drawn.

    A comparison: the similarity, the texts, and lines between the words that belong together.
    """
    picture = make_picture(reading)
    sheet = _Sheet(picture, width=760.0 if len(picture.texts) == 1 else 960.0)
    if picture.labels:
        sheet.prediction()
    elif picture.links:
        sheet.title(f"Similarity {signed(picture.links.similarity)}", picture.links.SCALE_NOTE, "note")
        sheet.y += 36
    else:
        sheet.y += 16
    sheet.decided(picture.first, picture.label if picture.decided else "")
    for label, heat in picture.further:
        sheet.decided(heat, label)
    if picture.aspects:
        sheet.aspects(picture.aspects)
    if picture.links:
        sheet.links(picture.links)
    with_rows = bool(picture.groups) and (rows or not picture.rows_summary)
    if with_rows:
        sheet.caption(captions.ROWS, picture.groups[0])
        for group in picture.shown_groups:
            sheet.row(group)
    sheet.notes(with_rows)
    return sheet.finish()


class _Sheet:
    """A sheet filled from the top; `y` is where the next element goes."""

    def __init__(self, picture: Picture, width: float) -> None:
        self.picture, self.width, self.y = picture, width, _MARGIN
        self.parts: list[str] = []

    def text(self, x: float, text: str, kind: str, anchor: str = "start") -> None:
        place = f' text-anchor="{anchor}"' if anchor != "start" else ""
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{self.y:.1f}"{place}>{escape(text)}</text>')

    def box(self, x: float, y: float, width: float, height: float, kind: str, round_by: float = 3) -> None:
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self.parts.append(f'<rect class="{kind}" {place} rx="{round_by}"/>')

    def prediction(self) -> None:
        """The predicted label, and a bar for every class."""
        inside = self.width - 2 * _MARGIN
        label = shorten(self.picture.answer, (inside - 100) / (22 * _BOLD), ems)  # room for the percentage
        self.title(label, self.picture.certainty, "percent")
        if self.picture.true_label:
            self.y += 20
            self.text(_MARGIN, shorten(self.picture.true_label, inside / _NOTE, ems), "note")
        self.y += 8
        shown, more = self.picture.shown_classes, len(self.picture.classes) - len(self.picture.shown_classes)
        widest = max((_NOTE * 1.1 * ems(label) for label, _, _ in shown), default=0)
        column = min(inside - 280, widest) + 12
        for label, probability, is_predicted in shown:
            self.y += 18
            ink = " ink" if is_predicted else ""
            self.text(_MARGIN, shorten(label, (column - 12) / (_NOTE * 1.1), ems), f"note{ink}")
            self.box(_MARGIN + column, self.y - 7.5, 200, 6, "line")
            if probability * 200 >= 0.5:
                self.box(_MARGIN + column, self.y - 7.5, 200 * probability, 6, f"bar{ink}")
            self.text(_MARGIN + column + 210, f"{probability:.3f}", f"note{ink}")
        if more:
            self.y += 18
            self.text(_MARGIN, f"and {more} more classes", "note")
        if self.picture.median:
            self.y += 4
            self.note(self.picture.median)
        self.y += 34

    def title(self, label: str, beside: str, kind: str) -> None:
        """What the picture says first, and something beside it."""
        self.y += 16
        self.text(_MARGIN, label, "label")
        if beside:
            self.text(_MARGIN + 22 * _BOLD * ems(label) + 10, beside, kind)

    def decided(self, heat: HeatMap, label: str) -> None:
        """The map of the whole text; for a label, with what the colours mean."""
        self.caption(heat.name, heat)
        if label:
            self.y += 14
            self.text(_MARGIN, self.picture.colours(shorten(label, 20, ems)), "note")
            self.y += 6
        self.map(heat, _MARGIN, _BIG, brief=self.picture.links is not None)
        self.y -= 3
        self.note(heat.sum_line, self.picture.joint * (heat is self.picture.first))
        self.y += 29

    def aspects(self, aspects: AspectMaps) -> None:
        """A line for each aspect that is mentioned, and what they add up to."""
        if aspects.maps:
            self.caption(captions.BY_ASPECT, aspects.maps[0])
        else:
            self.text(_MARGIN, captions.BY_ASPECT, "caption")
        if aspects.maps and aspects.in_stars:
            self.y += 14
            self.text(_MARGIN, captions.STARS_LINE, "note")
            self.y += 12
        for each in aspects.maps:
            self.row(each)
        self.note(aspects.sum_line, aspects.not_mentioned)
        self.y += 29

    def links(self, links: Links) -> None:
        self.text(_MARGIN, links.EFFECTS_NOTE, "note")
        self.y += 26
        self.text(_MARGIN, links.PAIRS, "caption")
        self.y += 18
        parts, width, height = draw_links(self.picture.texts, self.picture.first, links)
        left = max(_MARGIN, (self.width - width) / 2)
        self.parts += [f'<g transform="translate({left:.1f} {self.y:.1f})">', *parts, "</g>"]
        self.y += height + 26
        self.text(_MARGIN, links.PAIRS_NOTE, "note")
        self.y += 18
        self.text(_MARGIN, links.total, "note")

    def caption(self, name: str, heat: HeatMap) -> None:
        self.text(_MARGIN, name, "caption")
        right, end = self.width - _MARGIN, f"{heat.top:.2g}"
        self.text(right, end, "note", "end")
        steps = [f"c{k}" for k in range(LEVELS, 0, -2)] * heat.signed
        steps += [f"h{k}" for k in range(1, LEVELS + 1, 2)]
        left = right - _NOTE * ems(end) - 8 - 17 * len(steps)
        for k, step in enumerate(steps):
            self.box(left + 17 * k, self.y - 9, 16, 9, step, round_by=1)
        self.text(left - 8, f"−{end}" if heat.signed else "0", "note", "end")
        self.y += 6

    def row(self, group: HeatMap) -> None:
        """A group of rows: its name on the left, its map beside it."""
        self.parts.append(f'<path class="rule" d="M{_MARGIN} {self.y:.1f}H{self.width - _MARGIN}"/>')
        top = self.y = self.y + 4
        self.y += 6
        lines = _wrap_words(group.name, (_LABELS - 14) / _NOTE)[:4]
        for line in [*lines, *([shorten(group.note, (_LABELS - 14) / _NOTE, ems)] if group.note else [])]:
            self.y += 15
            self.text(_MARGIN, line, "note ink" if line in lines else "note")
        bottom, self.y = self.y, top
        self.map(group, _MARGIN + _LABELS, _SMALL, brief=True)
        self.y = max(bottom + 4, self.y) + 5

    def map(self, heat: HeatMap, left: float, size: float, brief: bool) -> None:
        count = len(self.picture.texts)
        width = (self.width - _MARGIN - left - _BETWEEN * (count - 1)) / count
        top = bottom = self.y
        for text in range(count):
            self.y = top
            self._column(heat, text, left + text * (width + _BETWEEN), width, size, brief)
            bottom = max(bottom, self.y)
        self.y = bottom

    def _column(self, heat: HeatMap, text: int, left: float, width: float, size: float, brief: bool) -> None:
        pieces = self.picture.texts[text]
        self.y -= size * 0.3  # the first line needs no space above it
        if not pieces.text:
            self.y += size * _LEADING
            self.text(left, "empty text", "note")
        for place, (first, end) in enumerate(self.picture.passages(heat, text, brief)):
            self.y += 6 if place else 0  # a gap for the words left out
            for line in wrap(pieces, first, end, width / size, ems) if pieces.text else []:
                self.y += size * _LEADING
                self._line(line, heat, text, left, width, size)
        self.y += size * 0.5

    def _line(
        self, line: list[Atom], heat: HeatMap, text: int, left: float, width: float, size: float
    ) -> None:
        """One line: all colours first, because a box must not cover the letters of its neighbour."""
        pieces, levels = self.picture.texts[text], heat.levels[text]
        right_to_left = is_right_to_left(pieces.text)
        x = left + (width - size * sum(atom.width for atom in line)) * right_to_left
        words = []
        for k, shown in visual_order([atom.text for atom in line], right_to_left):
            atom, wide = line[k], size * line[k].width
            word = fitted("big" if size == _BIG else "small", x, self.y, wide, shown)
            if atom.piece is None:
                words += [word] * (not shown.isspace())
            else:
                level, known = int(levels[atom.piece]), pieces.known[atom.piece]
                if level:
                    self.box(x - 1.5, self.y - size * 1.05, wide + 3, size * 1.42, colour_class(level))
                unknown = "" if known else ", not in the vocabulary"
                title = self.picture.number(heat)(heat.weights[text][atom.piece]) + unknown
                dots = "" if known else f'<path class="dots" d="M{x:.1f} {self.y + 3.5:.1f}h{wide:.1f}"/>'
                words.append(f"<g><title>{title}</title>{word}{dots}</g>")
            x += wide
        self.parts += words

    def note(self, *notes: str) -> None:
        width = (self.width - 2 * _MARGIN) / _NOTE
        for line in [line for note in filter(None, notes) for line in _wrap_words(note, width)]:
            self.y += 17
            self.text(_MARGIN, line, "note")

    def notes(self, with_rows: bool) -> None:
        """Notes on what is not shown and what dots mean."""
        notes, rows = [], self.picture.rows_left_out
        if rows and with_rows:
            notes.append(f"{rows} more {'row is' if rows == 1 else 'rows are'} not shown")
        if self.picture.has_unknown_words:
            notes.append("dotted words are not in the model's vocabulary")
        if notes:
            note = "; ".join(notes)
            notes = [f"{note[0].upper()}{note[1:]}."]
        if self.picture.rows_summary and not with_rows:
            notes.insert(0, f"{self.picture.rows_summary}.")
        if self.picture.trust and self.picture.decided:
            notes.append(f"How far to trust it: {self.picture.trust}")
        self.y += 6 * bool(notes)
        self.note(*notes)

    def finish(self) -> str:
        width, height = self.width, self.y + _MARGIN
        label = "Similarity of two texts" if self.picture.links else "What the model reads"
        if self.picture.labels:
            label = self.picture.answer
            if self.picture.certainty:
                label += f", {self.picture.probabilities[self.picture.answers[0]]:.3f}"
        first = self.picture.first
        read = f"{first.name}: {', '.join(map(' '.join, self.picture.strongest(first)))}"
        description = escape(f"{' / '.join(text.text for text in self.picture.texts)} — {read}")
        return "\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}">',
            f"<desc>{description}</desc>",
            f"<style>{_style()}</style>",
            f'<rect class="paper" width="{width:.0f}" height="{height:.0f}" rx="10"/>',
            *self.parts,
            "</svg>",
        ]) + "\n"  # fmt: skip


def _wrap_words(text: str, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        lines = [*lines[:-1], longer] if ems(longer) <= width or not lines[-1] else [*lines, word]
    return [shorten(line, width, ems) for line in lines]


@cache
def _style() -> str:
    sizes = {"big": _BIG, "small": _SMALL, "note": _NOTE}
    return render_style(templates(), "svg.css.jinja", font=Markup(_FONT), **sizes)
