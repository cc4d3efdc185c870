"""Tests with other libraries, which `make integrations` installs; `make test` leaves them out."""

from __future__ import annotations

import os
from importlib.util import find_spec

os.environ |= {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False"}

NEED_LIBRARIES = ["test_adapters.py", "test_pages.py", "test_sentence_transformers.py"]
collect_ignore = [] if find_spec("mteb") and find_spec("sentence_transformers") else NEED_LIBRARIES
