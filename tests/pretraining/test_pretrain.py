"""From texts and a teacher to a reader's folder: what it learns, what it stores, and what it refuses."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from limelight.config.pretrain_recipe import ReaderRecipe
from limelight.errors import LimelightError
from limelight.runtime.reader import Reader
from limelight.training import teacher as teaching
from limelight.training.pretrain_job import PretrainJob
from limelight.training.step import Stepper
from pretraining.teachers import SMALL, FakeTeacher, texts, write
from refusing import refuses


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> tuple[Path, Reader]:
    folder = tmp_path_factory.mktemp("made")
    lines, vectors = write(folder)
    options = {**SMALL, "epochs": 60, "hidden": 12, "words": 40}
    reader = limelight.pretrain(lines, vectors, out=folder / "reader", progress=False, **options)
    return folder, reader


# ---------------------------------------------------------------- what comes out


def test_a_reader_learns_the_teachers_vectors(made):
    folder, reader = made
    wanted = np.load(folder / "vectors.npy")
    found = reader.encode(texts())
    cosines = (found * wanted).sum(1) / np.linalg.norm(wanted, axis=1)
    assert found.shape == (70, 8)
    assert cosines.mean() > 0.85
    assert 0.5 < reader.facts["cosine"] <= 1


def test_the_folder_is_a_reader_for_every_command(made):
    folder, reader = made
    assert sorted(path.name for path in (folder / "reader").iterdir()) == [
        "README.md", "config.json", "model.onnx", "model.safetensors", "modules.json", "tokenizer.json",
    ]  # fmt: skip
    assert not (folder / "reader.run").exists()
    again = limelight.load(folder / "reader")
    assert isinstance(again, Reader)
    np.testing.assert_array_equal(again.encode(texts(5)), reader.encode(texts(5)))
    assert again.embed(texts(2)).shape == (2, 3, 24)
    assert again.read("The soup is cold.").attention.shape == (3, 5)
    with refuses("model-kind"):
        limelight.Model.load(folder / "reader")


def test_its_card_says_what_each_row_reads(made):
    folder, reader = made
    card = (folder / "reader" / "README.md").read_text()
    assert "What each row reads" in card
    assert "texts.txt" in card
    assert "Licences" in card
    assert len(reader.facts["rows"]) == 3
    assert 0 <= reader.facts["overlap"] <= 1


def test_max_pooling_has_one_row(tmp_path):
    lines, vectors = write(tmp_path)
    reader = limelight.pretrain(
        lines, vectors, out=tmp_path / "reader", progress=False, **{**SMALL, "pooling": "max"}
    )
    assert reader.embed(["soup"]).shape == (1, 1, 10)
    assert limelight.load(tmp_path / "reader").encode("soup").shape == (8,)


def test_tables_and_compressed_lines_give_the_same_bytes(tmp_path):
    lines, vectors = write(tmp_path)
    (tmp_path / "blank.txt.gz").write_bytes(gzip.compress(lines.read_bytes().replace(b"\n", b"\n\n")))
    rows = [json.dumps({"text": text, "stars": 5}) for text in texts()]
    (tmp_path / "table.jsonl").write_text("\n".join(rows))
    made = []
    files = {"lines": lines, "gz": tmp_path / "blank.txt.gz", "table": tmp_path / "table.jsonl"}
    for name, given in files.items():
        limelight.pretrain(given, vectors, out=tmp_path / name, progress=False, **{**SMALL, "epochs": 1})
        made.append((tmp_path / name / "model.safetensors").read_bytes())
    assert made[0] == made[1] == made[2]


def test_an_encoder_is_asked_for_texts_and_for_words(tmp_path):
    lines, _ = write(tmp_path)
    teacher = FakeTeacher()
    reader = limelight.pretrain(lines, teacher, out=tmp_path / "reader", progress=False, **SMALL)
    assert teacher.asked == 70 + 12
    assert reader.facts["teacher"] == "FakeTeacher"


def test_word_vectors_can_come_from_a_file(tmp_path):
    lines, vectors = write(tmp_path)
    (tmp_path / "glove.txt").write_text("soup 1 2 3\ntrain 2 -1 0\nthe 0 1 1\n")
    options = {**SMALL, "epochs": 1, "words": 40}
    given = tmp_path / "glove.txt"
    reader = limelight.pretrain(
        lines, vectors, word_vectors=given, out=tmp_path / "reader", progress=False, **options
    )
    assert reader.encode("soup").shape == (8,)


# ---------------------------------------------------------------- interrupted and resumed


def job(folder: Path, name: str, teacher: str, **options) -> PretrainJob:
    recipe = ReaderRecipe().override(**{**SMALL, **options})
    return PretrainJob(folder / name, recipe, [str(folder / "texts.txt")], teacher)


def test_a_run_that_is_interrupted_anywhere_ends_with_the_same_bytes(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(teaching, "SHARD", 32)
    whole = job(tmp_path, "whole", "fake")
    whole.run(encoder=FakeTeacher(), show=False)
    expected = contents(tmp_path / "whole")

    class Dies(FakeTeacher):
        def encode(self, texts):
            if self.asked >= 60:
                raise KeyboardInterrupt
            return super().encode(texts)

    broken = job(tmp_path, "broken", "fake")
    with pytest.raises(KeyboardInterrupt):
        broken.run(encoder=Dies(), show=False)  # in the teacher's third shard
    assert len(list(broken.folder.glob("vectors-*.npy"))) == 2
    rest = FakeTeacher()
    steps = []

    step = Stepper.step

    def stop(self, rows, number):
        steps.append(number)
        if number == 6 and len(steps) < 10:
            os.kill(os.getpid(), signal.SIGINT)
        step(self, rows, number)

    monkeypatch.setattr(Stepper, "step", stop)
    assert broken.run(encoder=rest, show=False, resume=True, checkpoint_every=0) is None
    assert rest.asked == 2 + 6 + 12  # a text of each shard that is there, those of the last one, the words
    assert not broken.out.exists()
    loaded = PretrainJob.load(broken.out)
    assert loaded.recipe == broken.recipe
    assert loaded.run(encoder=None, show=False, resume=True)
    assert contents(tmp_path / "broken").keys() == expected.keys()
    assert contents(tmp_path / "broken")["model.safetensors"] == expected["model.safetensors"]
    assert not broken.folder.exists()


def test_a_disk_that_is_full_at_the_end_loses_nothing(tmp_path, monkeypatch):
    write(tmp_path)
    from limelight.runtime import folder as saving

    this = job(tmp_path, "reader", str(tmp_path / "vectors.npy"), epochs=1)
    with monkeypatch.context() as patch:

        def full(*arguments, **more):
            raise LimelightError("cannot write reader: No space left on device", code="disk-full")

        patch.setattr(saving, "atomic_folder", full)
        with refuses("disk-full") as failed:
            this.run(show=False)
        assert "limelight pretrain --resume" in str(failed.value)
    assert PretrainJob.load(this.out).run(show=False, resume=True)
    assert limelight.load(this.out).encode("soup").shape == (8,)


def test_resuming_in_python_needs_the_same_arguments(tmp_path):
    lines, vectors = write(tmp_path)
    this = job(tmp_path, "reader", str(vectors))
    with this.owned(resume=False), refuses("run-differs"):
        limelight.pretrain(lines, vectors, out=this.out, resume=True, progress=False, rows=2)


class StoppedError(Exception):
    """In place of a kill."""


def other_teacher(folder: Path) -> None:
    np.save(folder / "vectors.npy", -np.load(folder / "vectors.npy"))


def flipped_ids(folder: Path) -> None:
    path = folder / "reader.run" / "data" / "train.ids.npy"
    ids = np.load(path)
    ids[:2] = ids[1::-1]
    np.save(path, ids)


def swapped_shards(folder: Path) -> None:
    first, second = (folder / "reader.run" / f"vectors-00000{k}.npy" for k in range(2))
    both = first.read_bytes(), second.read_bytes()
    second.write_bytes(both[0])
    first.write_bytes(both[1])


def other_start(folder: Path) -> None:
    path = folder / "reader.run" / "start.npy"
    np.save(path, -np.load(path))


@pytest.mark.parametrize(
    ("change", "with_encoder", "stop_at"),  # there is no checkpoint at step 0
    [
        (other_teacher, False, 6),
        (flipped_ids, False, 6),
        (swapped_shards, True, 6),
        (swapped_shards, True, 0),
        (other_start, True, 0),
    ],
)
def test_a_run_goes_on_only_with_its_own_teacher_and_data(
    change, with_encoder, stop_at, tmp_path, monkeypatch
):
    _, vectors = write(tmp_path)
    monkeypatch.setattr(teaching, "SHARD", 32)
    this = job(tmp_path, "reader", "fake" if with_encoder else str(vectors))
    step = Stepper.step

    def stop(self, rows, number):
        if number == stop_at:
            raise StoppedError
        step(self, rows, number)

    with monkeypatch.context() as patch:
        patch.setattr(Stepper, "step", stop)
        with pytest.raises(StoppedError):
            this.run(encoder=FakeTeacher() if with_encoder else None, show=False, checkpoint_every=0)
    change(tmp_path)
    with refuses("run-differs"):
        PretrainJob.load(this.out).run(show=False, resume=True)


def test_vectors_of_two_teachers_are_not_mixed(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.setattr(teaching, "SHARD", 32)

    class Dies(FakeTeacher):
        def encode(self, texts):
            if self.asked:
                raise StoppedError
            return super().encode(texts)

    class Other(FakeTeacher):
        def encode(self, texts):
            return super().encode(texts)[:, ::-1]

    this = job(tmp_path, "reader", "fake")
    with pytest.raises(LimelightError):
        this.run(encoder=Dies(), show=False)
    with refuses("run-differs"):
        this.run(encoder=Other(), show=False, resume=True)


def test_the_teacher_does_not_read_other_texts_than_were_encoded(tmp_path, monkeypatch):
    """As many, and the first the same: only their checksum tells."""
    monkeypatch.setattr("limelight.training.job.SLOW_ENCODING", -1.0)  # what it encoded is kept
    file, _ = write(tmp_path)

    class Dies(FakeTeacher):
        def encode(self, texts):
            raise StoppedError

    this = job(tmp_path, "reader", "fake")
    with pytest.raises(LimelightError):
        this.run(encoder=Dies(), show=False)
    first, *others = file.read_text().splitlines()
    file.write_text("\n".join([first, *reversed(others)]) + "\n")
    with refuses("run-differs"):
        this.run(encoder=FakeTeacher(), show=False, resume=True)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (np.ones((69, 8), np.float32), "69 rows and there are 70 texts"),
        (np.ones(70, np.float32), "a vector of floats per text"),
        (np.ones((70, 8), np.int64), "a vector of floats per text"),
        (np.ones((70, 8), ">f4"), "holds >f4 of shape"),
        (np.ones((70, 8), np.float32), "all vectors are the same"),
        (np.vstack([np.eye(69, 8), np.full((1, 8), np.nan)]), "row 9 is zero or not finite"),
    ],
)
def test_vectors_that_do_not_fit_the_texts(rows, match, tmp_path):
    lines, vectors = write(tmp_path)
    np.save(vectors, rows)
    with pytest.raises(LimelightError, match=match):
        limelight.pretrain(lines, vectors, out=tmp_path / "reader", progress=False, **SMALL)
    assert not (tmp_path / "reader").exists()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"One sentence.\n", "1 texts are too few"),
        (b"", "no rows"),
        (b"\n \n", "no rows"),
        (b"Caf\xc3\xa9.\nCaf\xe9 \xc3\xa9.\n", "line 2.*not UTF-8"),
    ],
)
def test_texts_that_cannot_be_learnt_from(content, match, tmp_path):
    _, vectors = write(tmp_path)
    (tmp_path / "bad.txt").write_bytes(content)
    with pytest.raises(LimelightError, match=match):
        limelight.pretrain(tmp_path / "bad.txt", vectors, out=tmp_path / "reader", progress=False, **SMALL)
    assert not (tmp_path / "reader.run").exists()


@pytest.mark.parametrize(
    ("answer", "match"),
    [
        (lambda texts: np.zeros((len(texts), 3, 4)), "one vector per text"),
        (lambda texts: np.zeros((len(texts), 4)), "row 1 is zero"),
        (lambda texts: 1 / 0, "cannot encode the texts"),
    ],
)
def test_a_teacher_that_is_no_sentence_encoder(answer, match, tmp_path):
    lines, _ = write(tmp_path)
    teacher = FakeTeacher()
    teacher.encode = answer
    with pytest.raises(LimelightError, match=match):
        limelight.pretrain(lines, teacher, out=tmp_path / "reader", progress=False, **SMALL)


def test_a_teacher_that_is_not_there(tmp_path):
    lines, _ = write(tmp_path)
    with refuses("file-missing"):
        limelight.pretrain(lines, tmp_path / "missing.npy", out=tmp_path / "reader", progress=False)
    with refuses("needs-extra"):
        limelight.pretrain(lines, tmp_path / "no model", out=tmp_path / "reader", progress=False)
    assert not (tmp_path / "reader.run").exists()


def test_options_are_checked():
    with refuses("option-value"):
        ReaderRecipe(word_size=40)
    with refuses("option-unknown"):
        ReaderRecipe().override(row=3)


@pytest.mark.parametrize(("rows", "batch", "epochs"), [(2_000, 64, 40), (3_000_000, 2048, 5)])
def test_batches_and_epochs_suit_the_texts(rows: int, batch: int, epochs: int):
    found = ReaderRecipe().for_rows(rows)
    assert (found.batch_size, found.epochs) == (batch, epochs)


def test_a_run_that_is_killed_in_every_stage_ends_with_the_same_bytes(tmp_path):
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(tests), str(tests.parent / "src")])
    command = [sys.executable, str(tests / "pretraining" / "killing_readers.py"), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["same"]
    assert {"start", "encoding", "teacher", "training"} <= set(found["stages"])
    assert found["left"] == []


# ---------------------------------------------------------------- translations

GERMAN = {
    "soup": "Suppe",
    "train": "Zug",
    "dog": "Hund",
    "garden": "Garten",
    "letter": "Brief",
    "cold": "kalt",
}


def translated(text: str) -> str:
    return " ".join(GERMAN.get(word.strip("."), word + "o") for word in text.split())


@pytest.fixture
def pairs(tmp_path) -> Path:
    rows = [{"english": text, "other": translated(text)} for text in texts(40)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_translation_learns_the_vector_of_the_english_text(tmp_path, pairs):
    lines, _ = write(tmp_path)
    teacher, options = FakeTeacher(), {**SMALL, "epochs": 30, "hidden": 12, "words": 80}
    reader = limelight.pretrain(lines, teacher, pairs=pairs, out=tmp_path / "r", progress=False, **options)
    assert teacher.asked == 70 + 40  # the English sides, and nothing else
    assert reader.facts["texts"]["rows"] == 70 + 2 * 40
    wanted = FakeTeacher().encode(texts(40))
    found = reader.encode([translated(text) for text in texts(40)])
    assert ((found * wanted).sum(1) / np.linalg.norm(wanted, axis=1)).mean() > 0.8


def test_vectors_of_pairs_come_after_those_of_the_texts(tmp_path, pairs):
    lines, _ = write(tmp_path)
    job = PretrainJob(
        out=tmp_path / "r", recipe=ReaderRecipe(), texts=[str(lines)], teacher=str(tmp_path / "v.npy"),
        pairs=str(pairs),
    )  # fmt: skip
    job.folder.mkdir()
    np.save(tmp_path / "v.npy", np.random.default_rng(0).standard_normal((110, 8)))
    found = np.asarray(job._all_vectors(job._encode(show=False)))
    np.testing.assert_array_equal(found, np.load(tmp_path / "v.npy")[[*range(110), *range(70, 110)]])


def test_a_table_of_translations_must_have_both_columns(tmp_path):
    lines, vectors = write(tmp_path)
    (tmp_path / "bad.csv").write_text("english,german\nsoup,Suppe\n")
    with refuses("column-missing"):
        limelight.pretrain(lines, vectors, pairs=tmp_path / "bad.csv", out=tmp_path / "r", progress=False)


def test_translations_alone_are_enough_and_the_card_names_their_file(tmp_path, pairs):
    np.save(tmp_path / "v.npy", FakeTeacher().encode(texts(40)))
    reader = limelight.pretrain(
        None, tmp_path / "v.npy", pairs=pairs, out=tmp_path / "r", progress=False, **SMALL
    )
    assert reader.facts["texts"]["files"] == ["pairs.jsonl"]
    assert "on 80 texts (pairs.jsonl)" in (tmp_path / "r" / "README.md").read_text()


def test_vectors_that_are_too_few_for_translations_are_counted(tmp_path, pairs):
    lines, vectors = write(tmp_path)
    with refuses("vectors-rows") as found:
        limelight.pretrain(lines, vectors, pairs=pairs, out=tmp_path / "r", progress=False)
    assert "110 texts" in str(found.value)
    assert "the last 40 for the English texts" in str(found.value)


def test_a_translation_that_cannot_be_used_is_named_or_skipped(tmp_path, pairs):
    good = pairs.read_text()
    pairs.write_text('{"english": "Nobody said it.", "other": " "}\nnothing\n' + good)
    options: dict[str, Any] = {"pairs": pairs, "out": tmp_path / "r", "progress": False, **SMALL}
    np.save(tmp_path / "v.npy", FakeTeacher().encode(texts(40)))
    with refuses("row-unusable") as found:
        limelight.pretrain(None, tmp_path / "v.npy", **options)
    assert "pairs.jsonl, line 1: only spaces in column 'other'" in str(found.value)
    with pytest.warns(UserWarning, match="skipped 2 of its 42 rows"):
        reader = limelight.pretrain(None, tmp_path / "v.npy", on_bad="skip", **options)
    assert reader.facts["texts"]["rows"] == 80
