"""Writes what the JavaScript package takes from elsewhere; a test checks that nothing of it is out of date.

    python scripts/build_js.py

js/page/ has the modules of the explorer's page that run a model, js/known.js the options and rules that a
folder may have, and js/test/vectors.json what the bundled reader makes of some texts, for programs in any
language to be tested with (docs/languages.md).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE, COPIES = ROOT / "src" / "limelight" / "serve" / "explorer" / "page", ROOT / "js" / "page"
VECTORS = ROOT / "js" / "test" / "vectors.json"
KNOWN = ROOT / "js" / "known.js"
MODULES = ("kernel.js", "model_file.js", "network.js", "tokenizer.js")
TEXTS = [
    "I can't pay",
    "The soup was cold, but the waiter was lovely.",
    "We don't know; they'll've gone. It's Anna's, isn't it?",
    "She'd cannot gonna wanna y'all 'em rock 'n' roll",
    "Dr. Smith paid $1,000.50 (2 1/2 % more) at 10:30 a.m. on 3/4/2024 in the U.S.",
    "Call +1 555-123-4567, room no. 7!!! Really?!",
    "A five-star, state-of-the-art and/or well_known check-in.",
    "See https://example.com/a?b=1, mail info@example.org or ask @anna #soup :-)",
    "So tired 😴 but 👩‍🍳 made 👍🏽 soup 🇧🇪 ❤️",
    "Der Zug war verspätet, naïve Gäste aßen Crème brûlée.",
    "Поезд опоздал. Το τρένο άργησε. القطار متأخر",
    "電車が遅れた。レストランは良い。รถไฟมาช้า",
    "İstanbul ﬁne ǅ ΑΣ",
    "macrophages genome-wide hepatocytes zorbleflux unfriendlyish qwxzv",
    "Macrophage-derived TNF-alpha, soooooup-like lateness'",
    "<b>bold</b> &amp; “quoted” words ... -- *** C++ AT&T",
    "soft\u00adhyphen zero\u200dwidth tab\tand\nline\u00a0break",
    "lone \ud800 half",
    "...",
    "",
]


def spelled(words: list[str], ids: list[int], known: dict[str, int], buckets: int) -> dict[str, Any]:
    """The rows of n-grams and the ids of known words that make up each word outside the vocabulary."""
    from limelight.text.spelling import pieces

    unknown = [word for word, number in zip(words, ids, strict=True) if number == 1 and word]
    found = {word: pieces(word, known) for word in unknown}
    return {
        word: {"grams": [each % buckets + 1 for each in one.grams], "stems": one.stems}
        for word, one in found.items()
    }


def vectors() -> str:
    """The file, a text on each line."""
    import limelight

    reader = limelight.load("reader")
    tokenizer, lines = reader.tokenizer, []
    buckets = len(reader.weights["grams.weight"]) - 1
    for text in TEXTS:
        ids, offsets = tokenizer.locate(text)
        words = tokenizer.words(text) or [""]
        numbers = ids.tolist()
        lines.append(json.dumps({
            "text": text, "words": words, "offsets": offsets.tolist(), "ids": numbers,
            "spelled": spelled(words, numbers, tokenizer.ids, buckets),
            "vector": [round(float(x), 5) for x in reader.encode(text)],
        }))  # fmt: skip
    head = json.dumps({"reader_sha256": reader.sha256})[:-1]
    return f'{head}, "texts": [\n' + ",\n".join(lines) + "\n]}\n"


def known() -> str:
    """The values that each option may have, and the rules of words, as a module."""
    from dataclasses import fields

    from limelight.config.recipe import SECTIONS, TASKS
    from limelight.network.parts import MAX_LAYERS
    from limelight.text.rules import CHARACTERS, WORD
    from limelight.text.tasks import find_task

    lines = ["// What a folder may say; written by scripts/build_js.py.", "", "export const OPTIONS = {"]
    for section in ("text", "model"):
        lines.append(f"  {section}: {{")
        for each in fields(SECTIONS[section]):
            limits = {name: each.metadata[name] for name in ("low", "high", "choices")}
            about = {"type": type(each.default).__name__, "default": each.default}
            about |= {name: value for name, value in limits.items() if value not in (None, ())}
            if each.name == "layers":
                about["high"] = MAX_LAYERS
            lines.append(f"    {each.name}: {json.dumps(about)},")
        lines.append("  },")
    lines += ["}", "export const TASKS = {"]
    for name in ("auto", *TASKS):
        task = find_task(name)
        flags = {"activation": task.operator, "isNumber": task.is_number, "hasSeveral": task.has_several}
        lines.append(f"  {json.dumps(name)}: {json.dumps({**flags, 'isOrdered': task.is_ordered})},")
    lines += [
        "}",
        f"export const WORD = {json.dumps(WORD)}",
        f"export const CHARACTERS = {json.dumps(CHARACTERS)}",
    ]
    return "\n".join(lines) + "\n"


def contents() -> dict[Path, str]:
    """Every file, and what it must hold."""
    copies = {COPIES / name: (PAGE / name).read_text("utf-8") for name in MODULES}
    return {**copies, KNOWN: known(), VECTORS: vectors()}


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "src"))
    for path, content in contents().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
