"""Reads our HTML as a browser would: the texts of the maps, and every word with its attributes."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Map:
    """One coloured text."""

    text: str = ""
    words: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def titles(self) -> list[tuple[str, str]]:
        return [(word, attributes["title"]) for word, attributes in self.words]


class Parsed(HTMLParser):
    """`maps` in the order of the page; `tags` counts every element."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.maps: list[Map] = []
        self.tags: dict[str, int] = {}
        self.all_text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.tags[tag] = self.tags.get(tag, 0) + 1
        if tag == "p" and attributes.get("dir") == "auto":
            self.maps.append(Map())
            self._open = ["p"]
        elif self._open:
            self._open.append(tag)
            if tag in ("b", "span"):
                self.maps[-1].words.append(("", attributes))

    def handle_endtag(self, tag: str) -> None:
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self.all_text += data
        if self._open:
            self.maps[-1].text += data
            if len(self._open) > 1 and self._open[-1] in ("b", "span"):
                word, attributes = self.maps[-1].words[-1]
                self.maps[-1].words[-1] = (word + data, attributes)
