"""The Python of a page, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
SECTION = re.compile(r"^#+ (.+?)\n(.*?)(?=^#+ |\Z)", re.MULTILINE | re.DOTALL)
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^print\(.*\)  # (.+)$", re.MULTILINE)


def snippets(page: str) -> dict[str, str]:
    """The code of each section of a page that has some."""
    text = re.sub(FENCE, lambda found: found[0].replace("\n#", "\n\0"), (DOCS / page).read_text())
    found = {title: FENCE.search(body) for title, body in SECTION.findall(text)}
    return {title: match[1].replace("\0", "#") for title, match in found.items() if match}


def check_snippet(code: str, capsys: Any) -> dict[str, Any]:
    """Run it: what it prints is what the comments say. Gives its names."""
    names: dict[str, Any] = {}
    capsys.readouterr()
    exec(compile(code, "snippet", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    expected = SHOWN.findall(code)
    assert expected
    assert [line for line in printed if line in expected] == expected, printed
    return names
