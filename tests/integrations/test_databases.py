"""The databases of docs/vectors.md, the real ones in this process."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from integrations.snippets import check_snippet, snippets
from limelight.bulk import Predictor, run

DATABASES = snippets("vectors.md")
TEXTS = ["The train is late.", "Chilly broth!", "A friendly host."]


@pytest.mark.parametrize("database", DATABASES)
def test_a_database_finds_and_limelight_explains(database, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "reviews").mkdir()
    pq.write_table(pa.table({"id": range(3), "text": TEXTS}), tmp_path / "reviews" / "part.parquet")
    run(Predictor("reader"), "reviews", "vectors", engine="local")
    check_snippet(DATABASES[database], capsys)
