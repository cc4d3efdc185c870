"""What a reader was trained on is what the corpus script reads, and its licences allow it to be shipped."""

import json
import re
import sys
from pathlib import Path

import pytest

READER = Path(__file__).parents[2] / "experiments/reader"
NOT_TO_SHIP = re.compile(r"\bNC\b|non-?commercial|not stated|(?<!or )\bGPL", re.I)


@pytest.fixture
def sources(monkeypatch):
    monkeypatch.syspath_prepend(str(READER))
    import sources

    yield {source.name: source for source in sources.SOURCES}
    for name in ("sources", "inputs", "translations"):
        sys.modules.pop(name, None)


def test_the_list_of_sources_and_the_corpus_script_agree(sources):
    listed = json.loads((READER / "sources.json").read_text())
    assert len(listed) > 50
    for entry in listed:
        source = sources[entry["source"]]
        assert (entry["kind"], entry["licence"]) == (source.kind, source.licence)
        where = [f"GitHub {name} at" for name in source.repositories] + [
            f"Debian {p} " for p in source.packages
        ]
        assert [part for part in where if part not in entry["where"]] == []


def test_a_source_of_the_corpus_may_be_shipped(sources):
    assert [name for name, source in sources.items() if NOT_TO_SHIP.search(source.licence)] == []


def test_so_may_the_pairs_of_several_languages_and_the_package_lists_all(sources):
    import translations

    listed = json.loads((READER / "sources-multilingual.json").read_text())
    assert [tuple(source.values()) for source in listed["sources"]] == list(translations.SOURCES)
    assert [licence for _, licence, _ in translations.SOURCES if NOT_TO_SHIP.search(licence)] == []
    texts = [(each["source"], each["licence"]) for each in json.loads((READER / "sources.json").read_text())]
    card = (READER.parents[1] / "packages/multilingual/README.md").read_text()
    rows = re.findall(r"^\| (?!source)([^|]+?) \| ([^|]+?) \|$", card, re.M)
    assert rows == texts + [source[:2] for source in translations.SOURCES]
    assert f"{sum(listed['texts'].values()):,} English texts" in card
    assert f"{sum(listed['pairs'].values()):,} pairs" in card


@pytest.mark.parametrize(
    ("licence", "forbidden"),
    [
        ("CC BY-NC 2.0", 1),
        ("GPL 3+ (de)", 1),
        ("CC BY-SA 3.0 or GPL 2+", 0),
        ("Artistic or GPL 1+", 0),
        ("CC0", 0),
    ],
)
def test_what_may_not_be_shipped(licence, forbidden):
    assert bool(NOT_TO_SHIP.search(licence)) == bool(forbidden)
