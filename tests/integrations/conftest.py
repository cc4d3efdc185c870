"""Tests with other libraries, which `make integrations` installs; `make test` leaves them out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

os.environ |= {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False"}

LISTED = (Path(__file__).parents[2] / "integrations.txt").read_text().partition("# What they bring")[0]
LIBRARIES = {name.replace("-", "_") for name in re.findall(r"^([\w-]+)[\[=]", LISTED, re.MULTILINE)}
LIBRARIES |= {"haystack", "llama_index"}  # their modules' names

collect_ignore = [] if find_spec("sentence_transformers") else ["test_sentence_transformers.py"]
if not any(find_spec(name) for name in ("bertopic", "chromadb", "haystack", "mteb", "spacy", "txtai")):
    collect_ignore += ["test_adapters.py", "test_pages.py"]
if not any(find_spec(name) for name in ("qdrant_client", "lancedb")):
    collect_ignore += ["test_databases.py"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    """What `make integrations` could not install is skipped by name."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0].replace("-", "_") in LIBRARIES:
            pytest.skip(f"{error.name} is not installed")
        raise
