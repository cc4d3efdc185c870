"""What to know of a table before learning from it: small classes, HTML, emoji alone, repeated rows."""

import re
import unicodedata
from array import array
from collections.abc import Hashable, Mapping

import numpy as np

from ..tables.formats import join_names

FEW_ROWS = 2  # rows of a class that is hardly learnt
MAX_COMPARED = 2**20  # rows that duplicates are looked for in, 16 bytes each
_HTML = re.compile(
    r"</?(a|b|blockquote|br|div|em|font|h[1-6]|hr|i|img|li|ol|p|pre|script|span|strong|style|table|td|tr|u|ul)"
    r"(\s[^<>]*)?/?>|&(nbsp|amp|lt|gt|quot|apos|#\d+|#x[0-9a-f]+);",
    re.IGNORECASE,
)


class TextRemarks:
    """Looks at text after text, and says in a line each what there is."""

    def __init__(self) -> None:
        self._with_html = self._wordless = 0
        self._html = ""
        self._texts, self._labels = array("q"), array("q")

    def add(self, text: str, label: Hashable, text2: str | None = None) -> None:
        if ("<" in text or "&" in text) and (found := _HTML.search(text)):
            self._with_html, self._html = self._with_html + 1, self._html or found[0]
        if not any(map(str.isalnum, text)):
            self._wordless += "So" in map(unicodedata.category, text)  # an emoji
        if len(self._texts) < MAX_COMPARED:
            self._texts.append(hash((text, text2)))
            self._labels.append(hash(label))

    def lines(self, rows: Mapping[str, int]) -> list[str]:
        """What there is to say, and nothing of what there is not; `rows` are those of each class."""
        texts, labels = np.array(self._texts), np.array(self._labels)
        order = np.lexsort((labels, texts))
        same_text, same_label = np.diff(texts[order]) == 0, np.diff(labels[order]) == 0
        same = int((same_text & same_label).sum())
        different = len(np.unique(texts[order][1:][same_text & ~same_label]))  # texts with several labels
        first = f" of the first {MAX_COMPARED:,}" if len(self._texts) == MAX_COMPARED else ""
        few = [name for name, count in rows.items() if count <= FEW_ROWS]
        said = {
            "classes of two rows or fewer": join_names(few),
            f"texts with HTML in them, such as {self._html[:40]!r}": self._with_html,
            "texts of emoji alone": self._wordless,
            f"rows{first} that repeat another, text and label": same,
            f"texts{first} that have different labels in different rows": different,
        }
        shown = {
            what: f"{found:,}" if isinstance(found, int) else found for what, found in said.items() if found
        }
        return [f"{what}: {found}" for what, found in shown.items()]
