"""The coloured words of a picture as HTML, and its weights as a table."""

from __future__ import annotations

from html import escape

import numpy as np
from markupsafe import Markup

from .colours import colour_class, levels
from .links import Links, signed
from .picture import HeatMap, Picture
from .pieces import passages

_MAX_TABLE_CELLS = 3_000  # of all weights; for a longer text it shows the most read words
_MAX_TABLE_WORDS = 100


class WordPainter:
    """Draws the heat maps of one picture as coloured words, escaping its texts only once."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.words = [[_escape(word) for word in text.words] for text in picture.texts]
        self.gaps = [[_escape(gap) for gap in text.gaps] for text in picture.texts]

    def maps(self, heat: HeatMap, brief: bool) -> Markup:
        """The coloured text, or both texts of a pair; with `brief`, only passages of long texts."""
        paint = self._passages if brief and self.picture.is_long else self._whole
        found = [
            f'<p dir="auto">{paint(heat, text)}</p>' if pieces.text else '<p class="empty">empty text</p>'
            for text, pieces in enumerate(self.picture.texts)
        ]
        return Markup(f'<div class="texts">{"".join(found)}</div>')

    def strongest(self, heat: HeatMap) -> Markup:
        """The words with the most weight, for screen readers."""
        number = self.picture.number(heat)
        words = ", ".join([f"{word} {number(weight)}" for word, weight in heat.strongest(self.picture.texts)])
        return Markup(f'<span class="unseen">Strongest: {_escape(words)}.</span>')

    def table(self, text: int) -> Markup:
        """The rows of a table of all weights of a text; for a long text, of its most read words."""
        maps, words = [self.picture.first], self.words[text]
        order = np.arange(len(words))
        if len(order) * (len(maps) + len(self.picture.rows)) <= _MAX_TABLE_CELLS:
            maps += sorted(self.picture.rows, key=lambda row: row.rows)
        else:
            order = np.argsort(-np.abs(maps[-1].weights[text]), kind="stable")[:_MAX_TABLE_WORDS]
        cells = np.stack([heat.weights[text][order] for heat in maps], axis=1).tolist()
        first, rest = self.picture.number(maps[0]), self.picture.number(self.picture.overall)
        head = "".join(f"<th scope=col>{_escape((heat.note or heat.name).capitalize())}" for heat in maps)
        body = "\n".join(
            f"<tr><th scope=row dir=auto>{words[k]}<td>{first(row[0])}"
            + "".join([f"<td>{rest(weight)}" for weight in row[1:]])
            for k, row in zip(order, cells, strict=True)
        )
        return Markup(f"<thead><tr><th scope=col>Word{head}\n<tbody>\n{body}")

    def matrix(self, links: Links) -> Markup:
        """The rows of a table of what each pair of words contributes; for long texts, of the words drawn."""
        rows, columns = (list(range(size)) for size in links.matrix.shape)
        if links.matrix.size > _MAX_TABLE_CELLS:
            rows, columns = links.columns()
        head = "".join(f"<th scope=col>{self.words[1][t]}" for t in columns)
        body = "\n".join(
            f"<tr><th scope=row dir=auto>{self.words[0][s]}"
            + "".join(f"<td{_shade(links, s, t)}>{signed(links.matrix[s, t])}" for t in columns)
            for s in rows
        )
        return Markup(f"<thead><tr><th>{head}\n<tbody>\n{body}")

    def _whole(self, heat: HeatMap, text: int) -> str:
        return "".join(self._words(heat, text, 0, len(self.words[text]))) + self.gaps[text][-1]

    def _passages(self, heat: HeatMap, text: int) -> str:
        parts, at = [], 0
        for first, end in passages(heat.levels[text]):
            parts += [self._ellipsis(heat, text, at, first), *self._words(heat, text, first, end)]
            at = end
        return "".join([*parts, self._ellipsis(heat, text, at, len(self.words[text]))]).strip()

    def _words(self, heat: HeatMap, text: int, first: int, end: int) -> list[str]:
        cells = zip(
            self.gaps[text][first:end],
            self.words[text][first:end],
            heat.weights[text][first:end].tolist(),
            heat.levels[text][first:end].tolist(),
            self.picture.texts[text].known[first:end],
            strict=True,
        )
        number = self.picture.number(heat)
        return [
            f"{gap}<b class=h{level} title={number(weight)}>{word}</b>"
            if level > 0 and known
            else f"{gap}<span title={number(weight)}>{word}</span>"
            if level == 0 and known
            else f"{gap}{_marked_word(word, number(weight), level, known)}"
            for gap, word, weight, level, known in cells
        ]

    def _ellipsis(self, heat: HeatMap, text: int, first: int, end: int) -> str:
        if first == end:
            return ""
        total = float(np.abs(heat.weights[text][first:end]).sum())
        return f' <i title="{end - first:,} words, {self.picture.number(heat)(total)} together">…</i> '


def _shade(links: Links, s: int, t: int) -> str:
    """The colour of a cell, as an attribute."""
    (level,) = levels(links.matrix[s, t : t + 1], links.top)
    return f" class={colour_class(level)}" if level else ""


def _marked_word(word: str, number: str, level: int, known: bool) -> str:
    """A word with a negative weight or outside the vocabulary."""
    tag = "b" if level else "span"
    classes = [colour_class(level)] * bool(level) + ["u"] * (not known)
    title = number if known else f"{number}, not in the vocabulary"
    return f'<{tag} class="{" ".join(classes)}" title="{title}">{word}</{tag}>'


def _escape(text: str) -> str:
    """Escape for HTML, carriage returns too: a browser would turn them into line feeds."""
    return escape(text).replace("\r", "&#13;")
