"""The readers on small files in the formats of the official distributions, odd rows included."""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tarfile
import types
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from experiments.paper import readers
from experiments.paper.readers import pan, sources, splits
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.errors import LimelightError
from refusing import refuses

LABELS = ("entailment", "neutral", "contradiction")


def rows(folder: Path, split: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text("utf-8").splitlines()]


def every(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {split: rows(folder, split) for split in splits.SPLITS}


def about(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "about.json").read_text())


# --- SNLI


def snli_pairs(split: str) -> list[tuple[str, str, str]]:
    pairs = [(LABELS[i % 3], f"{split} dog {i}.", f"It's {i} “cats”.") for i in range(30)]
    pairs[3] = ("-", "Nobody agrees.", "On this.")
    pairs[7] = ("neutral", '"Quoted', "an odd mark")  # a lone quotation mark must not swallow rows
    return pairs


def write_snli(folder: Path, kind: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for split in splits.SPLITS:
        pairs = snli_pairs(split)
        if kind == "jsonl":
            lines = [
                json.dumps({"annotator_labels": [g], "gold_label": g, "sentence1": a, "sentence2": b})
                for g, a, b in pairs
            ]
            lines.append('{"gold_label": "neutral", "sentence1": "cut')
        else:
            lines = ["gold_label\tsentence1_parse\tsentence1\tsentence2\tlabel1\tlabel2"]
            lines += [f"{g}\t(ROOT)\t{a}\t{b}\t{g}\t" for g, a, b in pairs]
            lines.append("neutral\t(ROOT)\tcut")
        (folder / f"snli_1.0_{split}.{kind}").write_bytes("\r\n".join([*lines, ""]).encode())
    return folder


def zipped(folder: Path, archive: Path, inside: str) -> Path:
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in sorted(folder.iterdir()):
            file.write(path, f"{inside}/{path.name}")
            file.writestr(f"__MACOSX/{inside}/._{path.name}", b"\0\0")
    return archive


@pytest.mark.parametrize(("kind", "broken"), [("jsonl", "broken JSON"), ("txt", "too few columns")])
@pytest.mark.parametrize("packed", [False, True])
def test_snli(tmp_path: Path, kind: str, broken: str, packed: bool) -> None:
    source = write_snli(tmp_path / "snli_1.0", kind)
    if packed:
        source = zipped(source, tmp_path / "snli_1.0.zip", "snli_1.0")
    given_back = readers.prepare_snli(source, tmp_path / "out")
    for split in splits.SPLITS:
        expected = [(g, a, b) for g, a, b in snli_pairs(split) if g != "-"]
        found = rows(tmp_path / "out", split)
        assert [(row["label"], row["premise"], row["hypothesis"]) for row in found] == expected
        assert list(found[0]) == ["premise", "hypothesis", "label"]
    said = about(tmp_path / "out")
    assert said == given_back
    assert said["source"] == "snli"
    assert said["rows"] == {"train": 29, "dev": 29, "test": 29}
    assert said["dropped"] == {"no gold label": 3, broken: 3}
    assert [Path(file["name"]).name for file in said["files"]] == [
        f"snli_1.0_{split}.{kind}" for split in splits.SPLITS
    ]


def test_snli_prefers_jsonl_and_finds_the_folder_inside(tmp_path: Path) -> None:
    write_snli(tmp_path / "download" / "snli_1.0", "jsonl")
    for split in splits.SPLITS:
        (tmp_path / "download" / "snli_1.0" / f"snli_1.0_{split}.txt").write_text("not read")
    assert readers.prepare_snli(tmp_path / "download", tmp_path / "out")["rows"]["dev"] == 29


def test_snli_missing_file_is_named(tmp_path: Path) -> None:
    source = write_snli(tmp_path / "snli", "jsonl")
    (source / "snli_1.0_dev.jsonl").unlink()
    with pytest.raises(
        LimelightError, match=r"holds no snli_1.0_dev.jsonl or snli_1.0_dev.txt; it holds: snli"
    ):
        readers.prepare_snli(source, tmp_path / "out")
    with refuses("file-missing"):
        readers.prepare_snli(tmp_path / "nowhere", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_snli_wrong_columns_or_many_odd_rows_write_nothing(tmp_path: Path) -> None:
    source = write_snli(tmp_path / "snli", "txt")
    (source / "snli_1.0_test.txt").write_text("label\ttext\n1\tno\n")
    with pytest.raises(
        LimelightError, match="has the columns label, text; it must have gold_label, sentence1"
    ):
        readers.prepare_snli(source, tmp_path / "out")
    (source / "snli_1.0_test.txt").write_text("gold_label\tsentence1\tsentence2\n" + "maybe\ta\tb\n" * 20)
    with refuses("source-damaged"):
        readers.prepare_snli(source, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["snli"]


def test_an_existing_folder_is_kept_unless_asked(tmp_path: Path) -> None:
    source = write_snli(tmp_path / "snli", "jsonl")
    readers.prepare_snli(source, tmp_path / "out")
    with refuses("exists"):
        readers.prepare_snli(source, tmp_path / "out")
    readers.prepare_snli(source, tmp_path / "out", overwrite=True)
    for out in (source, tmp_path):
        with refuses("exists"):
            readers.prepare_snli(source, out, overwrite=True)
    assert len(list(source.iterdir())) == 3


# --- Yelp, the academic data set

ODD_REVIEWS = {
    '{"stars": 4, "text": "cut off': "broken JSON",
    "[1, 2]": "broken JSON",
    '{"stars": 4.0}': "no text",
    '{"stars": 4, "text": "  \\n"}': "no text",
    '{"stars": 3.5, "text": "half a star"}': "stars not 1 to 5",
    '{"stars": 6, "text": "six"}': "stars not 1 to 5",
    '{"stars": true, "text": "yes"}': "stars not 1 to 5",
    '{"stars": NaN, "text": "none"}': "stars not 1 to 5",
    '{"text": "no stars at all"}': "stars not 1 to 5",
    '{"stars": 2, "text": "half a pair \\ud83d"}': "not Unicode",
}


def star(i: int) -> Any:
    return (i % 5 + 1, float(i % 5 + 1), f"{i % 5 + 1}.0")[i % 3]


def yelp_lines(odd: bool = True) -> list[str]:
    lines = [
        json.dumps({"review_id": str(i), "stars": star(i), "text": f"Review {i}\nénd"}) for i in range(300)
    ]
    for position, line in enumerate(ODD_REVIEWS if odd else ()):
        lines.insert(position * 25, line)
    return lines


def write_yelp(path: Path, lines: list[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "\n".join([*lines, "", ""]).encode()
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(data, mtime=0))
    else:
        path.write_bytes(data)
    return path


def numbers(table: list[dict[str, Any]]) -> list[int]:
    return [int(row["text"].split()[1]) for row in table]


def test_yelp_rows_splits_and_counts(tmp_path: Path) -> None:
    source = write_yelp(tmp_path / "yelp_academic_dataset_review.json", yelp_lines())
    said = readers.prepare_yelp(source, tmp_path / "out", sizes=(200, 30, 20), seed=5)
    tables = every(tmp_path / "out")
    assert [len(table) for table in tables.values()] == [200, 30, 20]
    for table in tables.values():
        assert numbers(table) == sorted(numbers(table))  # the order of the file
        for row, i in zip(table, numbers(table), strict=True):
            assert row == {"text": f"Review {i}\nénd", "label": i % 5 + 1}
            assert type(row["label"]) is int
    drawn = [i for table in tables.values() for i in numbers(table)]
    assert len(drawn) == len(set(drawn)) == 250
    assert said["dropped"] == {"broken JSON": 2, "no text": 2, "not Unicode": 1, "stars not 1 to 5": 5}
    assert (said["seed"], said["not_drawn"]) == (5, 50)


def test_yelp_complete_and_dev_test_do_not_depend_on_the_training_size(tmp_path: Path) -> None:
    source = write_yelp(tmp_path / "review.json", yelp_lines())
    readers.prepare_yelp(source, tmp_path / "all", sizes=(None, 30, 20))
    readers.prepare_yelp(source, tmp_path / "few", sizes=(50, 30, 20))
    assert sorted(i for t in every(tmp_path / "all").values() for i in numbers(t)) == list(range(300))
    for split in ("dev", "test"):
        assert rows(tmp_path / "all", split) == rows(tmp_path / "few", split)
    assert set(numbers(rows(tmp_path / "few", "train"))) < set(numbers(rows(tmp_path / "all", "train")))


@pytest.mark.parametrize("packing", ["plain", "gz", "folder", "zip", "tar", "tgz"])
def test_yelp_however_it_is_packed(tmp_path: Path, packing: str) -> None:
    name = "yelp_academic_dataset_review.json"
    plain = write_yelp(tmp_path / "yelp" / name, yelp_lines())
    source = {"plain": plain, "folder": plain.parent}.get(packing, tmp_path / f"yelp.{packing}")
    if packing == "gz":
        source = write_yelp(tmp_path / f"{name}.gz", yelp_lines())
    elif packing == "zip":
        zipped(plain.parent, source, "Yelp JSON")
    elif packing in ("tar", "tgz"):
        with tarfile.open(source, "w:gz" if packing == "tgz" else "w") as tar:
            tar.addfile(tarfile.TarInfo("Dataset_Agreement.pdf"), io.BytesIO())
            tar.add(plain, f"./{name}")
    readers.prepare_yelp(plain, tmp_path / "expected", sizes=(200, 30, 20))
    readers.prepare_yelp(source, tmp_path / "out", sizes=(200, 30, 20))
    assert every(tmp_path / "out") == every(tmp_path / "expected")


def test_yelp_seeds(tmp_path: Path) -> None:
    source = write_yelp(tmp_path / "review.json", yelp_lines())
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        readers.prepare_yelp(source, tmp_path / name, sizes=(None, 30, 20), seed=seed)
    assert every(tmp_path / "one") == every(tmp_path / "again")
    assert about(tmp_path / "one") == about(tmp_path / "again")
    assert rows(tmp_path / "one", "dev") != rows(tmp_path / "two", "dev")
    # Fixed for good: another version of Python or NumPy must draw the same rows.
    assert numbers(rows(tmp_path / "one", "dev"))[:6] == [11, 12, 18, 27, 29, 58]


def test_yelp_errors_in_one_line(tmp_path: Path) -> None:
    source = write_yelp(tmp_path / "review.json", yelp_lines())
    business = write_yelp(tmp_path / "business.json", ['{"stars": 4.5, "name": "Soup bar"}'] * 40)
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.zip").write_bytes(b"PK no archive")
    (tmp_path / "bad.tgz").write_bytes(b"no archive")
    (tmp_path / "none.json").write_bytes(b"")
    cases: list[tuple[Path, dict[str, Any], str]] = [
        (source, {}, r"300 usable rows are too few for the sizes \(500000, 2000, 2000\)"),
        (source, {"sizes": (None, None, 5)}, "give train, dev and test, one may be 'rest'"),
        (source, {"sizes": (5, -1, 5)}, "give train, dev and test"),
        (source, {"sizes": (None, 200, 100)}, "too few"),
        (source, {"sizes": (5, 5, 5), "seed": -1}, "the seed is -1"),
        (business, {}, r"40 of 40 rows cannot be used \(stars not 1 to 5: 40\); check"),
        (tmp_path / "empty", {}, "holds no yelp_academic_dataset_review.json or review.json; it is empty"),
        (tmp_path / "bad.zip", {}, "cannot read .*bad.zip"),
        (tmp_path / "bad.tgz", {}, "cannot read .*bad.tgz"),
        (tmp_path / "none.json", {}, "0 usable rows"),
    ]
    for path, options, message in cases:
        with pytest.raises(LimelightError, match=message) as raised:
            readers.prepare_yelp(path, tmp_path / "out", **options)
        assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_yelp_damaged_archive_half_way(tmp_path: Path) -> None:
    noise = random.Random(0)
    lines = [json.dumps({"stars": 3, "text": noise.randbytes(500).hex()}) for _ in range(300)]
    source = write_yelp(tmp_path / "review.json.gz", lines)
    source.write_bytes(source.read_bytes()[:-20_000])
    with refuses("file-damaged"):
        readers.prepare_yelp(source, tmp_path / "out", sizes=(5, 5, 5))


# --- yelp_review_full_csv


def write_full(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, count in (("train", 100), ("test", 40)):
        lines = [f'"{i % 5 + 1}","{name} {i}\\n\\nSaid ""good"", \\""fine\\"", ünd."' for i in range(count)]
        lines.insert(10, '"9","nine stars"')
        lines.insert(20, '"3",""')
        (folder / f"{name}.csv").write_bytes("\n".join([*lines, ""]).encode())
    return folder


@pytest.mark.parametrize("packed", [False, True])
def test_yelp_full(tmp_path: Path, packed: bool) -> None:
    source = write_full(tmp_path / "yelp_review_full_csv")
    if packed:
        with tarfile.open(tmp_path / "full.tgz", "w:gz") as tar:
            tar.add(source, source.name)
        source = tmp_path / "full.tgz"
    said = readers.prepare_yelp_full(source, tmp_path / "out", sizes=(None, 15, None))
    tables = every(tmp_path / "out")
    assert said["rows"] == {"train": 85, "dev": 15, "test": 40}
    assert said["dropped"] == {"no text": 2, "stars not 1 to 5": 2}
    expected = 'test 0\n\nSaid "good", "fine", ünd.'
    assert tables["test"][0] == {"text": expected, "label": 1}  # the first row is no header
    assert numbers(tables["test"]) == list(range(40))
    assert sorted(numbers(tables["train"]) + numbers(tables["dev"])) == list(range(100))
    assert all(row["text"].startswith("train") for row in tables["dev"])


def test_yelp_full_sizes_and_errors(tmp_path: Path) -> None:
    source = write_full(tmp_path / "csv")
    said = readers.prepare_yelp_full(source, tmp_path / "out", sizes=(50, 10, 5))
    assert (said["rows"], said["not_drawn"]) == ({"train": 50, "dev": 10, "test": 5}, 75)
    with refuses("option-value"):
        readers.prepare_yelp_full(source, tmp_path / "no", sizes=(50, 10))
    (source / "test.csv").write_text('"4","good"\n"3","never closed\n')
    with refuses("source-damaged") as found:
        readers.prepare_yelp_full(source, tmp_path / "no", sizes=(None, 10, None))
    assert "test.csv, line 2" in str(found.value)
    (source / "test.csv").unlink()
    with refuses("file-missing") as found:
        readers.prepare_yelp_full(source, tmp_path / "no")
    assert "it holds: train.csv" in str(found.value)


# --- PAN

AGES = ("18-24", "25-34", "35-49", "50-64", "65-xx")


def author_xml(texts: list[str], language: str = "en") -> str:
    documents = "".join(f"<document id='{i}'><![CDATA[ {t} \n]]></document>" for i, t in enumerate(texts))
    return f'<?xml version="1.0" encoding="UTF-8"?><author lang="{language}">{documents}</author>'


def write_pan(folder: Path, year: int) -> Path:
    folder.mkdir(parents=True)
    truth = []
    for i in range(20):
        texts = [f"{i} tweet {j} <b>& é" for j in range(5 + i % 3)]
        (folder / f"user{i}.xml").write_text(author_xml(texts), encoding="utf-8")
        age = AGES[i % 5] if year == 2016 else (*AGES[:3], "50-XX")[i % 4]
        truth.append(f"user{i}:::{'MALE' if year == 2016 else 'M'}:::{age}")
    (folder / "user3.xml").write_text(author_xml(["3 one", "   ", "3 two"]), encoding="utf-8")
    (folder / "dutch.xml").write_text(author_xml(["hallo"], "nl"))
    (folder / "stranger.xml").write_text(author_xml(["who am I"]))
    (folder / "ageless.xml").write_text(author_xml(["secret"]))
    truth += ["dutch:::F:::25-34", "gone:::F:::25-34", "ageless:::F:::XX-XX", ""]
    traits = ":::0.3:::0.1:::0.2:::0.4:::0.0" if year == 2015 else ""
    text = "\n".join(line and line + traits for line in truth)
    (folder / "truth.txt").write_text(text)
    return folder


def expected_tweets(year: int) -> set[tuple[str, str, str]]:
    tweets = set()
    for i in range(20):
        age = AGES[i % 5] if year == 2016 else (*AGES[:3], "50-XX")[i % 4]
        texts = [f"{i} tweet {j} <b>& é" for j in range(5 + i % 3)] if i != 3 else ["3 one", "3 two"]
        tweets |= {(f"user{i}", age.upper(), text) for text in texts}
    return tweets


def tweets_of(table: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    assert all(list(row) == ["text", "label", "author"] for row in table)
    return [(row["author"], row["label"], row["text"]) for row in table]


@pytest.mark.parametrize("year", [2015, 2016])
@pytest.mark.parametrize("by", ["tweet", "author"])
def test_pan(tmp_path: Path, year: int, by: Any) -> None:
    source = write_pan(tmp_path / "pan", year)
    said = readers.prepare_pan(source, tmp_path / "out", by=by, sizes=(None, 20, 10), seed=4)
    tables = {split: tweets_of(table) for split, table in every(tmp_path / "out").items()}
    together = [tweet for table in tables.values() for tweet in table]
    assert set(together) == expected_tweets(year)
    assert len(together) == len(set(together)) == 116
    authors = {split: {author for author, _, _ in table} for split, table in tables.items()}
    if by == "author":
        assert sum(map(len, authors.values())) == 20
        assert 20 <= len(tables["dev"]) <= 26
        assert 10 <= len(tables["test"]) <= 16
    else:
        assert [len(tables[split]) for split in splits.SPLITS] == [86, 20, 10]
        assert authors["dev"] & authors["train"]
    reasons = (pan.NO_AGE, pan.NOT_ENGLISH, pan.NO_FILE, pan.NO_TRUTH, "no text")
    assert said["dropped"] == dict.fromkeys(reasons, 1)
    assert said["by"] == by


@pytest.mark.parametrize("by", ["tweet", "author"])
def test_pan_seeds_and_zip(tmp_path: Path, by: Any) -> None:
    source = write_pan(tmp_path / "pan", 2016)
    archive = zipped(source, tmp_path / "pan16.zip", "pan16-english")
    for name, path, seed in (("one", source, 1), ("zip", archive, 1), ("two", source, 2)):
        readers.prepare_pan(path, tmp_path / name, by=by, sizes=(60, 20, 10), seed=seed)
    assert every(tmp_path / "one") == every(tmp_path / "zip")
    assert rows(tmp_path / "one", "dev") != rows(tmp_path / "two", "dev")


def test_pan_refuses_a_doctype(tmp_path: Path) -> None:
    source = write_pan(tmp_path / "pan", 2016)
    laughs = '<!DOCTYPE a [<!ENTITY b "ha">' + "".join(
        f'<!ENTITY b{i} "{f"&b{i - 1 or str()};" * 10}">' for i in range(1, 12)
    )
    (source / "user5.xml").write_text(f"{laughs}]><author><document>&b11;</document></author>")
    with refuses("source-damaged") as found:
        readers.prepare_pan(source, tmp_path / "out", sizes=(None, 5, 5))
    assert "user5.xml" in str(found.value)
    assert not (tmp_path / "out").exists()


def test_pan_errors(tmp_path: Path) -> None:
    source = write_pan(tmp_path / "pan", 2016)
    with refuses("option-value"):
        readers.prepare_pan(source, tmp_path / "out", by="week")  # type: ignore[arg-type]
    with refuses("no-rows") as found:
        readers.prepare_pan(source, tmp_path / "out")
    assert "116 usable rows" in str(found.value)
    with refuses("no-rows") as found:
        readers.prepare_pan(source, tmp_path / "out", by="author", sizes=(None, 113, 1))
    assert "20 groups" in str(found.value)
    (source / "user1.xml").write_text("<author><document>cut")
    with refuses("source-damaged"):
        readers.prepare_pan(source, tmp_path / "out", sizes=(None, 5, 5))
    for line in ("user1:::MALE", "user1:::25-34:::MALE", "user1:::M:::25-34\nuser1:::M:::25-34"):
        (source / "truth.txt").write_text(line)
        with refuses("source-damaged"):
            readers.prepare_pan(source, tmp_path / "out", sizes=(None, 5, 5))
    (source / "truth.txt").unlink()
    with refuses("file-missing"):
        readers.prepare_pan(source, tmp_path / "out")


# --- the hub


def test_snli_from_the_hub(tmp_path: Path) -> None:
    rows_of = [{"premise": f"A {i}.", "hypothesis": f"B {i}.", "label": i % 4 - 1} for i in range(40)]
    rows_of.append({"premise": "A.", "hypothesis": "", "label": 1})
    copy = {"train": rows_of, "validation": rows_of[:9], "test": rows_of[:5]}
    said = readers.prepare_snli_hub(copy, tmp_path / "out")
    assert rows(tmp_path / "out", "test") == [
        {"premise": f"A {i}.", "hypothesis": f"B {i}.", "label": LABELS[i - 1]} for i in (1, 2, 3)
    ]
    assert said["rows"] == {"train": 30, "dev": 6, "test": 3}
    assert said["dropped"] == {"no gold label": 15, "no text": 1}
    with refuses("split-missing") as found:
        readers.prepare_snli_hub({"train": [], "test": []}, tmp_path / "no")
    assert "it has: train, test" in str(found.value)
    with refuses("no-rows") as found:
        readers.prepare_snli_hub({**copy, "validation": []}, tmp_path / "no")
    assert "for dev" in str(found.value)


def test_yelp_from_the_hub(tmp_path: Path) -> None:
    train = [{"label": i % 5, "text": f"R {i}\\nend"} for i in range(50)]
    test = [{"label": 4, "text": 'T 0 \\"ok\\"'}, {"label": 0, "text": "T 1"}]
    readers.prepare_yelp_hub({"train": train, "test": test}, tmp_path / "out", sizes=(None, 10, None))
    assert rows(tmp_path / "out", "test") == [{"text": 'T 0 "ok"', "label": 5}, {"text": "T 1", "label": 1}]
    found = rows(tmp_path / "out", "train") + rows(tmp_path / "out", "dev")
    assert sorted(numbers(found)) == list(range(50))
    assert all(row["label"] == i % 5 + 1 for row, i in zip(found, numbers(found), strict=True))


def test_the_library_datasets_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with refuses("needs-extra") as found:
        readers.prepare_snli_hub("some/snli", tmp_path / "out")
    assert "pip install datasets" in str(found.value)
    row = {"premise": "A.", "hypothesis": "B.", "label": 0}
    asked: list[tuple[str, str | None]] = []
    library = types.SimpleNamespace(
        load_dataset=lambda name, revision: (
            asked.append((name, revision)) or {split: [row] for split in ("train", "validation", "test")}
        ),
        load_from_disk=lambda name: (_ for _ in ()).throw(FileNotFoundError("no\ndata set")),
    )
    monkeypatch.setitem(sys.modules, "datasets", library)
    assert readers.prepare_snli_hub("ok/snli", tmp_path / "out")["files"] == [{"name": "ok/snli"}]
    pinned = readers.prepare_snli_hub("ok/snli@4d1f", tmp_path / "pinned")
    assert pinned["files"] == [{"name": "ok/snli@4d1f"}]
    assert asked == [("ok/snli", None), ("ok/snli", "4d1f")]
    with refuses("source-damaged"):
        readers.prepare_snli_hub(tmp_path, tmp_path / "no")


# --- what they share


def test_prepare_by_name(tmp_path: Path) -> None:
    source = write_yelp(tmp_path / "review.json", yelp_lines())
    said = readers.prepare("yelp", source, tmp_path / "out", sizes=(10, 5, 5), seed=9)
    assert said == about(tmp_path / "out")
    with refuses("reader-unknown"):
        readers.prepare("imdb", source, tmp_path / "no")
    with refuses("option-unknown") as found:
        readers.prepare("yelp", source, tmp_path / "no", by="author")
    assert "sizes, seed, overwrite" in str(found.value)


def test_two_files_of_one_name_are_not_guessed(tmp_path: Path) -> None:
    for folder in ("full", "polarity"):
        write_full(tmp_path / "both" / folder)
    with sources.open_source(tmp_path / "both") as source, refuses("source-ambiguous"):
        source.find("train.csv")


def test_csv_with_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    source = write_full(tmp_path / "csv")
    with open(source / "train.csv", "ab") as file:
        file.write(b'"3","caf\xe9"\n')
    said = readers.prepare_yelp_full(source, tmp_path / "out", sizes=(None, 5, None))
    assert said["dropped"]["not Unicode"] == 1


@examples(60)
@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=60),
    st.integers(0, 8),
    st.integers(0, 8),
    st.integers(0, 99),
)
def test_splits_are_disjoint_and_exact(table: list[tuple[bool, int]], dev: int, test: int, seed: int) -> None:
    usable = np.array([u for u, _ in table], dtype=bool)
    groups = np.array([g for _, g in table], dtype=np.int64)
    if usable.sum() <= dev + test:
        with pytest.raises(LimelightError):
            splits.by_row(usable, (None, dev, test), seed)
        return
    which = splits.by_row(usable, (None, dev, test), seed)
    assert [(which == s).sum() for s in (splits.DEV, splits.TEST)] == [dev, test]
    assert ((which > 0) == usable).all()
    try:
        which = splits.by_group(usable, groups, (None, dev, test), seed)
    except LimelightError:
        return
    assert ((which > 0) <= usable).all()
    for group in set(groups.tolist()):
        assert len(set(which[usable & (groups == group)].tolist())) <= 1


def test_written_rows_read_back_with_any_text(tmp_path: Path) -> None:
    texts = ["line\u2028break", 'tab\tand \\ "quotes"', "emoji 🙂", "nul \0 byte", "café"] * 8
    lines = [json.dumps({"stars": 1, "text": text}, ensure_ascii=i % 2 == 0) for i, text in enumerate(texts)]
    source = write_yelp(tmp_path / "review.json", lines)
    readers.prepare_yelp(source, tmp_path / "out", sizes=(None, 0, 0))
    written = (tmp_path / "out" / "train.jsonl").read_bytes().split(b"\n")[:-1]
    assert [json.loads(line)["text"] for line in written] == texts
