"""The hotel reviews, made from a small repository, and the first rows of an encoded data set."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
from experiments.hotels import first_rows, growth, make_data

from limelight.config.recipe import TextRecipe
from limelight.text.dataset import Dataset
from limelight.text.encode import Texts, encode_texts
from refusing import refuses
from reviews import reviews

TRAIN, OTHER_TRAIN, DEV, TEST, MORE = 1, 3, 99, 16, 23  # hotels by their splits


def git(folder: Path, *arguments: str) -> None:
    named = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "gc.auto=0")
    subprocess.run(["git", *named, *arguments], cwd=folder, check=True, capture_output=True)


def review(text: object, stars: object = "4.0") -> dict[str, Any]:
    return {"Ratings": {"Overall": stars}, "Content": text, "Author": "A"}


def commit(folder: Path, hotels: dict[int, list[Any]]) -> Path:
    (folder / "json").mkdir(parents=True)
    for hotel, found in hotels.items():
        (folder / "json" / f"{hotel}.json").write_text(json.dumps({"Reviews": found, "HotelInfo": {}}))
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", "Add hotels")
    return folder


def several(hotel: int, count: int = 4) -> list[Any]:
    return [review(f"Stay {k} at the hotel {hotel} by the sea.", f"{k % 5 + 1}.0") for k in range(count)]


HOTELS = {hotel: several(hotel) for hotel in (TRAIN, OTHER_TRAIN, DEV, TEST, MORE)}


@pytest.fixture(autouse=True)
def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_data, "SIZES", {"train": 5, "dev": 2, "test": 2, "test-10k": 3})
    monkeypatch.setattr(make_data, "PART", 3)


def texts(out: Path, split: str) -> list[str]:
    files = sorted(out.glob(f"{split}*.parquet" if split == "train" else f"{split}.parquet"))
    return [text for file in files for text in pyarrow.parquet.read_table(file)["text"].to_pylist()]


def test_make_data_writes_splits_of_different_hotels(tmp_path, capsys):
    repository, out = commit(tmp_path / "clone", HOTELS), tmp_path / "out"
    assert make_data.main([str(repository), "--out", str(out)]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((out / "about.json").read_text())
    assert {name: about["rows"] for name, about in printed["splits"].items()} == make_data.SIZES
    assert printed["dropped"] == {"more than needed": 8}
    hotels = {split: {text.split()[5] for text in texts(out, split)} for split in make_data.SIZES}
    assert hotels == {"train": {"1", "3"}, "dev": {"99"}, "test": {"16"}, "test-10k": {"23"}}
    assert sorted(file.name for file in out.glob("train*")) == ["train-0.parquet", "train-1.parquet"]
    table = pyarrow.parquet.read_table(out / "dev.parquet")
    lines = [f"{stars}\t{text}\n" for stars, text in zip(*table.to_pydict().values(), strict=True)]
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == printed["splits"]["dev"]["sha256"]


def test_a_bare_repository_gives_the_same(tmp_path, capsys):
    repository = commit(tmp_path / "clone", HOTELS)
    git(tmp_path, "clone", "-q", "--bare", "clone", "bare")
    printed = []
    for source in (repository, tmp_path / "bare"):
        assert make_data.main([str(source), "--out", str(tmp_path / f"out-{source.name}")]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_files_that_share_a_text_are_one_hotel(tmp_path, capsys):
    """Left out under one of its ids, a hotel is left out under all; and it keeps its first id's split."""
    shared = review("The same stay in two of the files.")
    copy = {TRAIN: [shared, *several(TRAIN)], 500: [shared, *several(500)], DEV: [*several(DEV)]}
    repository = commit(tmp_path / "clone", {**HOTELS, **copy, 600: several(600, 8)})
    (tmp_path / "not.txt").write_text("500\n")
    options = ["--without", str(tmp_path / "not.txt"), "--out", str(tmp_path / "out")]
    assert make_data.main([str(repository), *options]) == 0
    dropped = json.loads(capsys.readouterr().out)["dropped"]
    assert (dropped["hotel left out"], dropped["duplicate"]) == (9, 1)
    assert {text.split()[5] for text in texts(tmp_path / "out", "train")} <= {"3", "600"}


def test_hotels_are_joined_in_any_order():
    found = make_data.Reviews()
    for hotel, parts in {5: "ab", 7: "c", 9: "bc", 2: "c", 11: "d"}.items():
        found.add(hotel, [review(part * make_data.SHORTEST) for part in parts])
    assert [found.hotel(file) for file in (2, 5, 7, 9, 11)] == [2, 2, 2, 2, 11]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (review("A  clean room,\n kind staff. ", "5"), make_data.Review(5, "A clean room, kind staff.")),
        (review("A clean room, kind staff.", "0"), "stars not 1 to 5"),
        (review("A clean room, kind staff.", "3.5"), "stars not 1 to 5"),
        (review("A clean room, kind staff.", "nan"), "stars not 1 to 5"),
        (review("A clean room   showReview(2884676, 'full');"), "title only"),
        (review("A clean room."), "too short"),
        (review("A clean room, kind staff: \ud83d"), "no text or stars"),
        (review(None), "no text or stars"),
        ({"Content": "A clean room, kind staff."}, "no text or stars"),
        ("A clean room, kind staff.", "no text or stars"),
    ],
)
def test_parse_review(given, expected):
    assert make_data.parse_review(given) == expected


def make(repository: Path, out: Path, without: str = "", ignore: tuple[int, ...] = ()) -> None:
    listed = out.parent / "not.txt"
    listed.write_text(without)
    make_data.make(repository, [listed], list(ignore), out, False)


def test_make_data_refuses(tmp_path):
    repository = commit(tmp_path / "clone", HOTELS)
    with refuses("source-damaged"):
        make(tmp_path, tmp_path / "out")
    for listed in ("12345", "Hilton"):
        with refuses("option-value"):
            make(repository, tmp_path / "out", listed)
    with refuses("no-rows"):
        make(repository, tmp_path / "out", str(DEV))
    assert not (tmp_path / "out").exists()


def test_a_repository_without_reviews(tmp_path):
    with refuses("file-missing"):
        make(commit(tmp_path / "clone", {}), tmp_path / "out")


def test_damaged_and_missing_files_are_named(tmp_path, capsys):
    repository = commit(tmp_path / "clone", {**HOTELS, 700: several(700)})
    name = make_data.list_files(repository)[700]
    (repository / ".git" / "objects" / name[:2] / name[2:]).unlink()
    with refuses("file-missing"):
        make(repository, tmp_path / "out")
    make(repository, tmp_path / "out", ignore=(700,))
    assert json.loads(capsys.readouterr().out)["splits"]["train"]["rows"] == 5
    damaged = commit(tmp_path / "damaged", {**HOTELS, 700: []})
    (damaged / "json" / "700.json").write_text('{"Reviews": [')
    git(damaged, "commit", "-q", "-a", "-m", "Cut a file")
    with refuses("source-damaged"):
        make(damaged, tmp_path / "out-2")


def spell(dataset: Dataset, split: str) -> list[str]:
    return [dataset.tokenizer.vocabulary[i] for i in dataset.splits[split].ids]


@pytest.mark.parametrize("vectors", ["", "default"])
def test_first_rows_are_as_if_encoded_alone(tmp_path, vectors):
    recipe = TextRecipe(min_count=2, vectors=vectors, extra_words=5 if vectors else 0)
    rare, labels = reviews(60)
    rare[50] = rare[51] = "A borscht, and a borscht again."
    dev = Texts(*reviews(6, 1))
    whole = encode_texts(rare, labels, recipe=recipe, dev=dev)
    alone = encode_texts(rare[:20], labels[:20], recipe=recipe, dev=dev)
    whole.save(tmp_path / "whole")
    first_rows.main([str(tmp_path / "whole"), "--rows", "20", "--out", str(tmp_path / "cut")])
    cut = Dataset.open(tmp_path / "cut")
    assert "borscht" in whole.tokenizer.vocabulary
    assert sorted(cut.tokenizer.vocabulary) == sorted(alone.tokenizer.vocabulary)
    for split in ("train", "dev"):
        assert spell(cut, split) == spell(alone, split)
        assert np.array_equal(cut.splits[split].labels, alone.splits[split].labels)
    assert {name: cut.facts[name] for name in ("rows", "words", "classes")} == {
        name: alone.facts[name] for name in ("rows", "words", "classes")
    }
    if vectors:
        soup = [each.vectors[each.tokenizer.vocabulary.index("soup")] for each in (cut, alone)]
        assert np.array_equal(*soup)


def test_first_rows_refuses_more_than_there_are():
    with refuses("option-value"):
        first_rows.first_rows(encode_texts(*reviews(20), recipe=TextRecipe()), 100)


def test_growth_tables_and_draws_each_encoder(tmp_path):
    for size, accuracies in ((1000, (0.50, 0.52)), (10_000, (0.6, 0.6))):
        (tmp_path / str(size)).mkdir()
        for seed, accuracy in enumerate(accuracies):
            run = {"name": "rows", "seed": seed, "seconds": 10 * seed, "test": {"accuracy": accuracy}}
            (tmp_path / str(size) / f"rows-{seed}.json").write_text(json.dumps(run))
    found = growth.read(tmp_path)
    assert "| 1,000 | 51.0 ± 1.4 | 5 |" in growth.table(found)
    drawn = growth.figure(found)
    assert drawn.count("<circle") == 2
    assert "10,000" in drawn
