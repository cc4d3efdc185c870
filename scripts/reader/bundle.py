"""Make a pretrained reader the bundled one.

python scripts/reader/bundle.py READER
"""

from __future__ import annotations

import sys

from limelight.runtime.reader_folder import BUNDLED, open_reader, save_reader

LICENCES = (
    "The teacher is under Apache-2.0. The README.md of the folder above lists every source of the texts with "
    "its licence; none of the texts is in this folder."
)

if __name__ == "__main__":
    found = open_reader(sys.argv[1])
    facts = {**found.facts, "licences": LICENCES}
    save_reader(BUNDLED, found.words, found.weights, found.recipe, facts, overwrite=True)
    print(f"{BUNDLED}: {sum(path.stat().st_size for path in BUNDLED.iterdir()):,} bytes")
