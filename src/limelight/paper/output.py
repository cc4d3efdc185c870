"""Progress lines, and files that appear whole or not at all."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from ..storage.files import atomic_file


def log(line: str) -> None:
    """Print a line of progress."""
    print(line, file=sys.stderr, flush=True)


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically."""
    with atomic_file(path) as file:
        file.write((json.dumps(content, indent=1) + "\n").encode())
