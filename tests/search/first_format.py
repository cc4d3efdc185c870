"""An index as 0.2 wrote it: without words, the shards of each corpus by themselves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from limelight import Index
from limelight.search import index_folder
from limelight.search.build import build, new_config
from limelight.search.corpus import Corpus


def write_first_format(
    folder: Path, corpora: Sequence[Any], model: str | Path = "reader", approximate: Any = None, **source: Any
) -> Index:
    """Small corpora, each in one shard; `source` has what is said of each otherwise."""
    config, opened = new_config(model, False, "int8")
    build(folder, list(map(Corpus, corpora)), config, opened, False, False)
    path = folder / "index.json"
    data = json.loads(path.read_text())
    shards = data.pop("shards")
    for each, shard in zip(data["sources"], shards, strict=True):
        del each["rows"], each["before"]
        each |= {"shards": [shard], **source}
    for name in ("sha256", "key", "numbered", "deleted", "words", "passages", "language"):
        del data[name]
    data |= {"format": 1, "approximate": approximate}
    path.write_text(json.dumps({**data, "sha256": index_folder._checksum(data)}))
    return Index.open(folder)
