"""Make a pretrained reader a bundled one; what its rows read is described on the bundled sentences.

python experiments/reader/bundle.py READER
python experiments/reader/bundle.py SHARED --fast      which reads the words of READER
python experiments/reader/bundle.py MULTI --multilingual
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from limelight.bundled import sentences
from limelight.network.weights import TABLES, pack_all
from limelight.reading.rows import row_words
from limelight.runtime.card import reader_card
from limelight.runtime.config_file import format_config
from limelight.runtime.folder import BUNDLED, FAST, LAYOUT, Parts, open_folder
from limelight.runtime.reader import Reader
from limelight.storage.array_files import safetensors_pieces
from limelight.storage.files import atomic_folder
from limelight.storage.json_file import to_json_values
from limelight.text.tokenizer import SPECIAL

LICENCES = (
    "Every teacher is under Apache-2.0. The README.md of the folder above lists every source of the texts with "
    "its licence; none of the texts is in this folder."
)
MULTILINGUAL = Path(__file__).parents[2] / "packages/multilingual/src/limelight_multilingual/reader"
TEXTS = 3000


def describe_rows(folder: str) -> dict[str, Any]:
    """The words of each row and its name; case is ignored."""
    reader, texts = Reader.load(folder), sentences("train")[0]
    some = np.random.default_rng(0).permutation(len(texts))[:TEXTS]
    readings = [reader.read(texts[k]) for k in some]
    words = sorted({word.lower() for reading in readings for word in reading.words})
    numbers = {word: k for k, word in enumerate(words)}
    found = row_words(
        words,
        np.array([numbers[word.lower()] for reading in readings for word in reading.words]),
        np.concatenate([reading.attention for reading in readings], axis=1),
        np.array([len(reading.words) for reading in readings]),
    )
    listed = [[words[k] for k, _ in row.words] if row.name else [] for row in found]
    return {"rows": listed, "row_names": [row.name for row in found]}


def save_fast(path: Path, parts: Parts) -> None:
    """Write a folder without words, which must be those of the bundled reader."""
    own = {name: array for name, array in parts.weights.items() if name not in TABLES}
    tensors = b"".join(safetensors_pieces(pack_all(own)))
    facts, words = to_json_values(parts.facts), len(open_folder(BUNDLED).tokenizer) - len(SPECIAL)
    about = {"kind": "fast", "labels": [], "recipe": parts.recipe.to_dict(), "facts": facts}
    config = format_config({"model.safetensors": tensors}, **about)
    card = reader_card(recipe=parts.recipe, vocabulary=words, facts=facts)
    with atomic_folder(path, LAYOUT, overwrite=True) as folder:
        for name, content in (("model.safetensors", tensors), ("config.json", config)):
            (folder / name).write_bytes(content)
        (folder / "README.md").write_text(card)


if __name__ == "__main__":
    found = Reader.load(sys.argv[1])
    where = f"{TEXTS:,} of the bundled sentences"
    found.facts |= {**describe_rows(sys.argv[1]), "rows_from": where, "licences": LICENCES}
    place = FAST if "--fast" in sys.argv else MULTILINGUAL if "--multilingual" in sys.argv else BUNDLED
    if place == FAST:
        save_fast(FAST, replace(open_folder(sys.argv[1]), facts=found.facts))
    else:
        found.save(place, overwrite=True)
    print(f"{place}: {sum(path.stat().st_size for path in place.iterdir()):,} bytes")
