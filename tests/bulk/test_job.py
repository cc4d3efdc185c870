"""Folders of tables to folders of Parquet: each piece once, whole or not there, and every row counted."""

from __future__ import annotations

import glob
import json
import os
import shutil
import signal
import warnings
from dataclasses import replace
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trained
from limelight.bulk import Predictor, job, pieces, run, work
from limelight.bulk.predictor import fixed_lists
from limelight.runtime.model import Model
from limelight.runtime.reader import model_sha256
from refusing import refuses
from training.killing import dies_while_writing, ended, forked


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return trained.save(tmp_path_factory.mktemp("model") / "model")


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setattr(pieces, "PIECE_ROWS", 10)


def texts(count: int, seed: int = 0) -> list[str]:
    return [text or "w1" for text in trained.texts_of(count, longest=8, seed=seed)]


def write_tables(folder: Path) -> Path:
    """35 rows of parquet in row groups of 7, 5 of csv, 4 of jsonl, and files that are not tables."""
    (folder / "day").mkdir(parents=True)
    rows = {"id": list(range(35)), "text": texts(35), "tags": [["a", "b"][: k % 3] for k in range(35)]}
    pq.write_table(pa.table(rows), folder / "a.parquet", row_group_size=7)
    lines = [f"{100 + k},{text}" for k, text in enumerate(texts(5, seed=1))]
    (folder / "day" / "b.csv").write_text("\n".join(["id,text", *lines]))
    (folder / "day" / "c.jsonl").write_text(
        "\n".join(json.dumps({"id": 200 + k, "text": text}) for k, text in enumerate(texts(4, seed=2)))
    )
    (folder / "_SUCCESS").touch()
    (folder / "README.txt").write_text("about these tables")
    (folder / ".hidden.csv").write_text("text\nnot this one\n")
    return folder


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def rows_of(folder: Path) -> list[dict]:
    return [row for path in sorted(folder.glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


def test_all_tables_with_all_columns(model, tmp_path):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    assert run(Predictor(model, embed="vector"), data, out) == job.Summary(6, 0, 44, 44, 0)
    found = {int(row["id"]): row for row in rows_of(out)}
    assert sorted(found) == [*range(35), *range(100, 105), *range(200, 204)]
    expected = [*texts(35), *texts(5, seed=1), *texts(4, seed=2)]
    M = Model.load(model).embed(expected, flat=True)
    np.testing.assert_allclose([row["embedding"] for row in found.values()], M, atol=1e-5)
    assert [row["text"] for row in found.values()] == expected
    assert found[5]["tags"] == ["a", "b"]
    manifest = json.loads((out / "_manifest.json").read_text())
    assert manifest["settings"]["model_sha256"] == model_sha256(model)
    assert pq.read_schema(next(out.glob("a-*"))).field("embedding").type == pa.list_(pa.float32(), 24)


def test_the_same_again_does_only_what_is_missing(model, tmp_path, monkeypatch):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    run(Predictor(model), data, out)
    before = outputs(out)
    lost = sorted(before)[2]
    (out / lost).unlink()
    done: list[str] = []
    call = work.Worker.__call__
    monkeypatch.setattr(work.Worker, "__call__", lambda self, p: done.append(p.out) or call(self, p))
    assert run(Predictor(model), data, out).pieces_before == 5
    assert done == [lost]
    assert outputs(out) == before
    pq.write_table(pa.table({"id": [7], "text": ["w1 w2"]}), data / "later.parquet")
    assert run(Predictor(model), data, out).rows_out == 45
    assert len(done) == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"precision": "int8"}, "precision 'float32', not 'int8'"),
        ({"embed": "vector", "dtype": "int8"}, "dtype 'float32', not 'int8'"),
        ({"embed": "matrix"}, "embed 'vector', not 'matrix'"),
        ({"text": "id"}, "text 'text', not 'id'"),
    ],
)
def test_other_options_are_refused(model, tmp_path, options, reason):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    run(Predictor(model, embed="vector"), data, out)
    with refuses("model-differs") as error:
        run(Predictor(model, **{"embed": "vector", **options}), data, out)
    assert reason in str(error.value)


def test_another_model_is_refused(model, tmp_path):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    run(Predictor(model), data, out)
    other = trained.save(tmp_path / "other", facts={"data": {"train": 1}})
    with refuses("model-differs"):
        run(Predictor(other), data, out)


def test_changed_input_and_foreign_folders_are_refused(model, tmp_path):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    run(Predictor(model), data, out)
    (data / "day" / "b.csv").write_text("id,text\n1,w1\n")
    with refuses("input-changed") as error:
        run(Predictor(model), data, out)
    assert "b-000000000-" in str(error.value)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with refuses("exists") as error:
        run(Predictor(model), data, tmp_path / "mine")
    assert "thesis.txt" in str(error.value)


def test_a_file_that_changes_while_the_job_runs(model, tmp_path, monkeypatch):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    cut = job.cut

    def cut_and_change(*given):
        found = cut(*given)
        os.utime(data / "a.parquet", (1, 1))
        return found

    monkeypatch.setattr(job, "cut", cut_and_change)
    with refuses("file-changed") as error:
        run(Predictor(model), data, out)
    assert "a.parquet" in str(error.value)
    assert not outputs(out)


def with_bad_rows(folder: Path) -> Path:
    folder.mkdir()
    given = texts(25)
    given[12], given[24] = None, "  "
    pq.write_table(pa.table({"text": given, "id": list(range(25))}), folder / "a.parquet")
    (folder / "b.csv").write_text("text,id\nw1,1\nw2,2,3\n,4\n")
    (folder / "c.jsonl").write_text('{"text": [5]}\nnot json\n{"text": "w1"}\n')
    return folder


def test_a_bad_row_is_an_error_that_names_it_and_keeps_what_is_done(model, tmp_path):
    data, out = with_bad_rows(tmp_path / "data"), tmp_path / "out"
    with refuses("row-unusable") as error:
        run(Predictor(model), data, out)
    assert "a.parquet, row 13" in str(error.value)
    assert [path.split("-")[1] for path in outputs(out)] == ["000000000"]
    assert [p.name for p in out.iterdir() if p.name.endswith(".part")] == []


def test_bad_rows_are_skipped_and_listed(model, tmp_path):
    data, out = with_bad_rows(tmp_path / "data"), tmp_path / "out"
    with refuses("row-unusable"):
        run(Predictor(model), data, out)
    assert run(Predictor(model), data, out, on_bad="skip") == job.Summary(5, 1, 31, 25, 6)
    listed = [json.loads(line) for line in (out / "_skipped.jsonl").read_text().splitlines()]
    assert [(each["file"], each["row"]) for each in listed] == [
        ("a.parquet", 13), ("a.parquet", 25), ("b.csv", 3), ("b.csv", 4), ("c.jsonl", 1), ("c.jsonl", 2),
    ]  # fmt: skip
    assert "3 fields" in listed[2]["fault"]
    assert len(rows_of(out)) == 25


def test_a_piece_without_a_usable_row_is_an_empty_file(model, tmp_path):
    pq.write_table(pa.table({"text": pa.array([None] * 3, pa.string())}), tmp_path / "a.parquet")
    assert run(Predictor(model), tmp_path / "a.parquet", tmp_path / "out", on_bad="skip").skipped == 3
    (path,) = (tmp_path / "out").glob("*.parquet")
    assert pq.read_table(path).column_names == ["label", "confidence", "text"]


@pytest.mark.parametrize("rows", [1, 9, 10, 11, 35])
@pytest.mark.parametrize("group", [1, 3, 10, 100])
def test_pieces_cut_across_row_groups_hold_every_row_once(model, tmp_path, rows, group):
    pq.write_table(
        pa.table({"text": texts(rows), "id": list(range(rows))}), tmp_path / "a.parquet", row_group_size=group
    )
    assert run(Predictor(model), tmp_path / "*.parquet", tmp_path / "out").pieces == -(-rows // 10)
    assert [row["id"] for row in rows_of(tmp_path / "out")] == list(range(rows))


def test_patterns_and_single_files(tmp_path):
    data = write_tables(tmp_path / "data")
    assert [each.name for each in pieces.list_files(data)] == ["a.parquet", "day/b.csv", "day/c.jsonl"]
    assert [each.name for each in pieces.list_files(data / "*" / "?.csv")] == ["day/b.csv"]
    assert [each.name for each in pieces.list_files(f"file://{data}/a.parquet")] == ["a.parquet"]
    with refuses("no-rows"):
        pieces.list_files(data / "*.tsv")


def test_patterns_in_a_folder_whose_name_looks_like_one(tmp_path, monkeypatch):
    data = write_tables(tmp_path / "may[1]")
    monkeypatch.chdir(data)
    assert [each.name for each in pieces.list_files("*.parquet")] == ["a.parquet"]
    found = pieces.list_files("../may[[]1]/day/?.csv")
    assert [(each.name, Path(each.address)) for each in found] == [
        ("may[1]/day/b.csv", data / "day" / "b.csv")
    ]


def test_an_fsspec_address(model, tmp_path):
    data, store = write_tables(tmp_path / "data"), fsspec.filesystem("memory")
    store.put(str(data), "/bulk-test", recursive=True)
    try:
        assert run(Predictor(model), "memory://bulk-test", tmp_path / "out").rows_out == 44
        assert run(Predictor(model), "memory://bulk-test", tmp_path / "out").pieces_before == 6
        assert run(Predictor(model), "memory://bulk-test/*.parquet", tmp_path / "one").rows_out == 35
    finally:
        store.rm("/bulk-test", recursive=True)
    with refuses("file-missing"):
        pieces.list_files("memory://gone")
    with refuses("remote-output"):
        run(Predictor(model), data, "s3://bucket/out")


def test_without_pyarrow(model, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "find_spec", lambda name: None)
    with refuses("needs-extra"):
        run(Predictor(model), tmp_path, tmp_path / "out")


def rewrite(path: Path, **changes: object) -> None:
    """The same table with another record of what it was made of."""
    table, record = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[pieces.MARK])
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({"limelight": json.dumps(record | changes)})


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(path.read_bytes()[:10] + path.read_bytes()[20:]),
        lambda path: flip(path, 30),  # in the data
        lambda path: flip(path, path.read_bytes().rindex(b"confidence")),  # in the footer
        lambda path: flip(path, path.read_bytes().rindex(b"sha256")),
        lambda path: rewrite(path, skipped=[[1, 2, 3]]),
        lambda path: rewrite(path, skipped=5),
        lambda path: rewrite(path, rows_in="many"),
        lambda path: rewrite(path, input="another.csv"),
        lambda path: rewrite(path, more=1),
    ],
)
def test_a_damaged_output_file_is_said(model, tmp_path, damage):
    (tmp_path / "data.csv").write_text("text\nw1 w2\nw3\n")
    out = tmp_path / "out"
    run(Predictor(model), tmp_path / "data.csv", out)
    (path,) = out.glob("*.parquet")
    damage(path)
    with refuses("file-damaged") as error:
        run(Predictor(model), tmp_path / "data.csv", out)
    assert path.name in str(error.value)


def test_output_files_of_earlier_versions_count(model, tmp_path):
    data, out = write_tables(tmp_path / "data"), tmp_path / "out"
    run(Predictor(model), data, out)
    for path in out.glob("*.parquet"):
        table, record = pq.read_table(path), json.loads(pq.read_metadata(path).metadata[pieces.MARK])
        del record["sha256"]
        with pq.ParquetWriter(path, table.schema.remove_metadata()) as writer:
            writer.write_table(table.replace_schema_metadata())
            writer.add_key_value_metadata({"limelight": json.dumps(record)})
    assert run(Predictor(model), data, out).pieces_before == 6


@pytest.mark.parametrize("pattern", ["", "**/[ab]*"])
def test_the_output_is_not_its_own_input(model, tmp_path, pattern):
    data = write_tables(tmp_path / "data")
    first = run(Predictor(model), data / pattern, data / "out")
    assert run(Predictor(model), data / pattern, data / "out") == replace(first, pieces_before=first.pieces)


def test_the_output_of_another_job_is_not_an_input(model, tmp_path):
    data = write_tables(tmp_path / "data")
    run(Predictor(model), data / "a.parquet", data / "out")
    with refuses("input-is-output"):
        run(Predictor(model), data, tmp_path / "out")


@pytest.mark.parametrize("address", ["{}", "{}/**/*.csv", "{}/*/*.csv"])
def test_a_folder_that_cannot_be_read_is_an_error(tmp_path, monkeypatch, address):
    data = write_tables(tmp_path / "data")
    address, scandir = address.format(data), os.scandir
    assert "day/b.csv" in [each.name for each in pieces.list_files(address)]

    def shut(folder):
        if Path(folder).name == "day":
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", shut)
    with refuses("os-error") as error:
        pieces.list_files(address)
    assert "Permission denied" in str(error.value)


class ShutFileSystem(fsspec.AbstractFileSystem):
    """A folder `data` with a table, and with a folder `day` that cannot be read."""

    protocol = "shut"

    def ls(self, path: str, detail: bool = True, **_: object) -> list[dict]:
        if path == "data/day":
            raise PermissionError(13, "Permission denied", path)
        inside = {"": {"data": "directory"}, "data": {"data/a.csv": "file", "data/day": "directory"}}[path]
        return [{"name": name, "type": kind, "size": 1} for name, kind in inside.items()]


def test_a_remote_folder_that_cannot_be_read_is_an_error():
    fsspec.register_implementation("shut", ShutFileSystem, clobber=True)
    for address in ("shut://data", "shut://data/*/*.csv", "shut://data/**/*.csv"):
        with refuses("os-error"):
            pieces.list_files(address)


def test_a_hidden_folder_is_not_looked_into(tmp_path, monkeypatch):
    data = write_tables(tmp_path / "data")
    names = [each.name for each in pieces.list_files(data)]
    (data / ".Trash").mkdir()
    scandir = os.scandir

    def shut(folder):
        if Path(folder).name == ".Trash":
            raise PermissionError(13, "Permission denied", folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", shut)
    assert [each.name for each in pieces.list_files(data)] == names


def test_tables_in_the_output_folder_are_said_to_be_there(model, tmp_path):
    data = write_tables(tmp_path / "data")
    for inside in data.iterdir():
        if inside.is_dir():
            shutil.rmtree(inside)
    with refuses("out-holds-data"):
        run(Predictor(model), data, data)


def test_a_pattern_names_what_glob_says_it_does(tmp_path, monkeypatch):
    data = write_tables(tmp_path / "data")
    (data / ".git").mkdir()
    (data / ".git" / "d.csv").touch()
    monkeypatch.chdir(data)
    patterns = ("*", "*/*.csv", "**/*.csv", ".*", "**", "day/[!b]*", "*/no/*", "**/day/**/?.csv")
    for pattern in patterns:
        expected = {
            os.path.normpath(each)
            for each in glob.glob(pattern, recursive=True)
            if os.path.isfile(each) and not each.startswith((".", "_"))
        }
        every = [os.path.relpath(each) for each in pieces._walk(str(data))]
        found = {each for each in every if pieces._is_wanted(each, pattern)}
        assert found == expected, pattern


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["data/b.parquet", "out/_manifest.json", "piece"])
def test_a_pipe_is_not_waited_for(model, tmp_path, name):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    (data / "a.csv").write_text("text\nw1\n")
    run(Predictor(model), data, out)
    path = next(out.glob("*.parquet")) if name == "piece" else tmp_path / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with refuses("file-type"):
        run(Predictor(model), data, out)


def test_killed_at_every_point_of_its_writing(model, tmp_path):
    """A process that dies at its n-th step with files, then one left alone: the same bytes as undisturbed."""
    data, alone = write_tables(tmp_path / "data"), tmp_path / "alone"
    warnings.simplefilter("ignore")  # forks of a process with threads
    run(Predictor(model, threads=1), data, alone)
    out, killed = tmp_path / "out", 0
    for point in range(1, 200, 3):

        def work(point: int = point) -> None:
            dies_while_writing(point)
            run(Predictor(model, threads=1), data, out)

        status = ended(forked(work))
        assert status in (0, -signal.SIGKILL)
        killed += status != 0
        if status == 0:
            break
    assert killed >= 5
    assert run(Predictor(model, threads=1), data, out).rows_out == 44
    assert outputs(out) == outputs(alone)
    assert sorted(path.name for path in out.iterdir()) == sorted([*outputs(alone), "_manifest.json"])


def test_the_names_of_output_files_stay_those_of_earlier_versions():
    file = pieces.InputFile("/data/may.csv", "may.csv", "1")
    found = pieces.output_name(file, 0, None, {"model_sha256": "3f"})
    assert found == "may-000000000-6968808a6119f2e7.parquet"


def test_nested_arrays_are_lists_of_fixed_size_in_lists_of_fixed_size():
    assert str(fixed_lists(np.zeros((2, 3, 4), np.float16)).type).count("fixed_size_list") == 2
