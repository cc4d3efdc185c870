"""Install the libraries of docs/integrations.md; what cannot be had on this machine is named, and left out.

python scripts/install_integrations.py integrations.txt
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--prefer-binary")


def main() -> None:
    """All at once where that works; or else one after another, each at its version."""
    file = Path(sys.argv[1])
    if not subprocess.run([*PIP, "-r", file], check=False).returncode:
        return
    head = file.read_text().partition("# What they bring along")[0]
    libraries = [line for line in head.splitlines() if "==" in line]
    missing = [each for each in libraries if subprocess.run([*PIP, each, "-c", file], check=False).returncode]
    print(f"Not installed, and so not tested: {', '.join(missing) or 'nothing'}")


if __name__ == "__main__":
    main()
