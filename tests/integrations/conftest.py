"""Tests with other libraries, which `make integrations` installs; `make test` leaves them out."""

from __future__ import annotations

import os
from importlib.util import find_spec

os.environ |= {"HF_HUB_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HAYSTACK_TELEMETRY_ENABLED": "False"}

collect_ignore_glob = [] if find_spec("mteb") and find_spec("sentence_transformers") else ["test_*.py"]
