"""Training from the command line: the folder, interruptions, resuming, several processes."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import limelight
from limelight.cli import main
from limelight.cli.train import _format_outcome
from limelight.config import presets
from limelight.config.presets import preset
from limelight.config.recipe import TrainingRecipe
from limelight.runtime.start import start_of
from limelight.training import Callback
from limelight.training.checkpoint import State
from limelight.training.context import catch_interrupts
from limelight.training.run import Fitted
from limelight.training.train_job import Outcome, TrainJob
from reviews import FLAGS, pairs, review_table, write_csv
from torchruns import torchrun

LIMELIGHT = [sys.executable, "-m", "limelight"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}
TINY = ["--preset", "tiny", "--epochs", "4", "--learning-rate", "0.02"]


def weights(model: Path) -> dict[str, np.ndarray]:
    return dict(limelight.load(model).weights)


def same(one: Path, other: Path) -> bool:
    first, second = weights(one), weights(other)
    return all(np.array_equal(first[name], second[name]) for name in first)


def test_train_writes_one_complete_folder(call, tmp_path):
    table, test = review_table(tmp_path / "reviews.csv"), review_table(tmp_path / "test.csv", 40, 4)
    out = tmp_path / "models" / "soup"
    code, said, err = call("train", table, "--test", test, "--out", out, *FLAGS[:-1])
    assert code == 0
    assert "held out 20 of the 200 rows" in err
    assert "epoch 3/3" in err
    assert "saved " in said
    assert sorted(path.name for path in out.parent.iterdir()) == ["soup"]
    facts = limelight.load(out).facts
    assert facts["data"]["test"] == 40
    assert facts["results"]["test"] == {"accuracy": 1.0, "macro_f1": 1.0, "rows": 40} | {
        "loss": facts["results"]["test"]["loss"]
    }
    assert len(facts["training"]["history"]) == 3
    card = (out / "README.md").read_text()
    assert "## Results" in card
    assert "## Confusion, test data" in card


def test_without_a_preset_the_table_decides(call, tmp_path):
    table, out = review_table(tmp_path / "reviews.csv", 30), tmp_path / "m"
    code, said, err = call("train", table, "--out", out, "--epochs", "0", "--seed", "3")
    assert code == 0
    assert "kept the first classifier: the reader stays as it is" in said
    assert "30 rows of " in err
    assert "words: chose preset small, epochs 0, about " in err
    recipe = limelight.load(out).recipe
    assert (recipe.text.start, recipe.training.epochs, recipe.training.seed) == ("reader", 0, 3)
    assert call("train", table, "--out", out, *TINY, "--overwrite")[0] == 0
    assert limelight.load(out).recipe.text.start == ""


def test_a_run_whose_recipe_the_table_decided_on_resumes(tmp_path, monkeypatch):
    """It is stopped in the first epoch, keeps the first classifier, and goes on with the same recipe."""
    monkeypatch.setattr(presets, "MIN_CLASS_ROWS", 1)
    monkeypatch.setattr(presets, "ONE_EPOCH", 1)  # word: `fast`
    monkeypatch.setattr(presets, "FOUR_EPOCHS", 1)
    table, out = review_table(tmp_path / "reviews.csv", 40), tmp_path / "m"
    job = TrainJob(out, preset("auto"), {"train": [str(table)]}, given=[])

    class Stop(Callback):
        def on_batch_end(self, run, rows):
            signal.raise_signal(signal.SIGINT)

    stopped = job.run(show=False, callbacks=[Stop()])
    assert stopped.fitted.interrupted
    assert limelight.load(tmp_path / "m.run" / "best").recipe.text.start == "reader-fast"
    resumed = TrainJob.load(out).run(show=False, resume=True)
    assert len(resumed.fitted.history) == 2
    fast, _ = start_of(preset("fast"))  # in the sizes of its reader
    assert resumed.fitted.recipe == fast.override(epochs=2, learning_rate=1e-3, task="classification")
    assert limelight.load(out).recipe == resumed.fitted.recipe


def test_the_hint_at_the_end_is_a_command_that_runs(call, tmp_path):
    first, second, labels = pairs(40)
    table = write_csv(tmp_path / "p.csv", premise=first, hypothesis=second, label=labels)
    code, said, _ = call("train", table, "--out", tmp_path / "m", *FLAGS)
    command = shlex.split(said.splitlines()[-1].partition("try: ")[2])
    assert code == 0
    assert command == ["limelight", "explain", str(tmp_path / "m"), "first sentence", "second sentence"]
    assert call(*command[1:])[0] == 0


def test_train_json(call, tmp_path):
    table = review_table(tmp_path / "reviews.csv", 60)
    code, said, _ = call("train", table, "--dev", table, "--out", tmp_path / "m", *FLAGS, "--json")
    found = json.loads(said)
    assert code == 0
    assert found["out"] == str(tmp_path / "m")
    assert found["results"]["dev"]["rows"] == 60


def test_several_tables_and_formats(call, tmp_path):
    first = review_table(tmp_path / "a.csv", 60)
    texts, stars = ["Warm and lovely.", "Cold and rude."] * 20, [5, 1] * 20
    second = tmp_path / "b.csv"
    write_csv(second, stars=stars, text=texts)
    code, said, _ = call(
        "train", first, second, "--holdout", "0.2", "--out", tmp_path / "m", *FLAGS, "--json"
    )
    assert code == 0
    assert json.loads(said)["results"]["dev"]["rows"] == 20


def test_flags_reach_the_recipe(call, tmp_path):
    table = review_table(tmp_path / "reviews.csv", 60)
    flags = ["--rows", "2", "--no-lowercase", "--class-weight", "balanced"]
    assert call("train", table, "--out", tmp_path / "m", *FLAGS, *flags)[0] == 0
    recipe = limelight.load(tmp_path / "m").recipe
    assert (recipe.model.rows, recipe.text.lowercase) == (2, False)
    assert recipe.training.class_weight == "balanced"


def test_a_flag_without_effect_is_warned_of(call, tmp_path):
    table = review_table(tmp_path / "reviews.csv", 60)
    train = ["train", table, "--out", tmp_path / "m", "--overwrite", *FLAGS]
    assert call(*train, "--pooling", "max")[::2] == (0, "")
    code, _, err = call(*train, "--pooling", "max", "--rows", "8", "--head-hidden", "9")
    assert (code, [line.split(":")[2] for line in err.splitlines()]) == (
        0,
        [" --rows has no effect", " --head-hidden has no effect"],
    )
    with pytest.warns(UserWarning, match="head_hidden has no effect"):
        limelight.fit(table, out=tmp_path / "f", preset="tiny", epochs=1, progress=False, head_hidden=9)


def test_an_encoded_data_set_says_which_options_have_an_effect(call, tmp_path):
    table = review_table(tmp_path / "reviews.csv", 60)
    encode = ["encode", table, "--preset", "tiny", "--extra-words", "5", "--out", tmp_path / "data"]
    code, _, err = call(*encode)
    assert (code, "--extra-words has no effect" in err) == (0, True)
    train = ["train", tmp_path / "data", "--out", tmp_path / "m", "--epochs", "1", "--quiet"]
    code, _, told = call(*train, "--word-size", "8")
    assert (code, "no effect" in told) == (0, False)  # the preset's vectors are not in the data
    assert limelight.load(tmp_path / "m").recipe.model.word_size == 8


def test_a_preset_with_other_text_options_than_the_encoded_data_is_warned_of(call, tmp_path):
    table, data = review_table(tmp_path / "reviews.csv", 60), tmp_path / "data"
    encode = ["encode", table, "--preset", "tiny", "--min-count", "2", "--no-lowercase", "--out", data]
    assert call(*encode)[0] == 0
    train = ["train", data, "--out", tmp_path / "m", "--overwrite", "--epochs", "1", "--quiet"]
    said = "limelight: warning: ignoring the preset's "
    assert call(*train, "--preset", "tiny")[2].startswith(f"{said}--lowercase, --min-count: ")
    assert limelight.load(tmp_path / "m").recipe.text.min_count == 2
    assert said not in call(*train)[2]  # nobody has asked for the default preset's
    assert call(*encode[:4], "--out", data, "--overwrite")[0] == 0
    assert said not in call(*train, "--preset", "tiny")[2]


def test_fit_leaves_bad_rows_out_only_if_asked(tmp_path):
    table = write_csv(tmp_path / "gaps.csv", text=["good", "", "cold"] * 8, stars=[5, 1, 1] * 8)
    options = {"preset": "tiny", "epochs": 1, "progress": False}
    with pytest.raises(limelight.LimelightError, match=r"row 3: no text in column 'text'.*on_bad='skip'"):
        limelight.fit(table, out=tmp_path / "m", **options)
    with pytest.warns(UserWarning, match="skipped 8 of its 24 rows"):
        model = limelight.fit(table, out=tmp_path / "m", on_bad="skip", **options)
    assert (model.facts["data"]["train"], model.facts["data"]["dev"]) == (14, 2)
    with pytest.raises(limelight.LimelightError, match=r"already exists.*overwrite=True"):
        limelight.fit(table, out=tmp_path / "m", on_bad="skip", **options)


def test_pairs(call, tmp_path):
    first, second, labels = pairs(60)
    table = write_csv(tmp_path / "p.csv", a=first, b=second, same=labels)
    columns = ["--text", "a", "--text2", "b", "--label", "same"]
    assert call("train", table, "--out", tmp_path / "m", *columns, *FLAGS)[0] == 0
    assert limelight.load(tmp_path / "m").pair


def test_existing_output_needs_overwrite(call, refused, tmp_path):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"
    assert call("train", table, "--out", out, *FLAGS)[0] == 0
    before = (out / "config.json").read_bytes()
    assert "already exists" in refused("train", table, "--out", out, *FLAGS)
    assert (out / "config.json").read_bytes() == before
    assert call("train", table, "--out", out, *FLAGS, "--overwrite", "--rows", "2")[0] == 0
    assert limelight.load(out).recipe.model.rows == 2


def test_overwrite_never_replaces_what_is_no_model(refused, tmp_path):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "photos"
    out.mkdir()
    (out / "holiday.jpg").write_bytes(b"sun")
    assert "is not a model folder" in refused("train", table, "--out", out, *FLAGS, "--overwrite")
    assert (out / "holiday.jpg").read_bytes() == b"sun"


# ---------------------------------------------------------------- what a run that fails leaves

NOT_A_NUMBER = ["--learning-rate", "1e30", "--clip-norm", "0"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [(["--device", "cuda"], "PyTorch sees no GPU here"), (NOT_A_NUMBER, "NaN or infinite in epoch 1")],
)
def test_a_run_that_cannot_go_on_leaves_nothing(flags, message, refused, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    table = review_table(tmp_path / "reviews.csv", 60)
    assert message in refused("train", table, "--out", tmp_path / "m", *FLAGS, *flags)
    assert [path.name for path in tmp_path.iterdir()] == ["reviews.csv"]


def test_what_is_missing_is_said_before_the_tables_are_read(refused, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert "no GPU here" in refused("train", "no.csv", "--out", tmp_path / "m", "--device", "cuda")


def test_a_failed_run_keeps_what_took_long_to_encode(refused, tmp_path, monkeypatch):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"
    monkeypatch.setattr("limelight.training.job.SLOW_ENCODING", -1.0)
    refused("train", table, "--out", out, *FLAGS, *NOT_A_NUMBER)
    assert (tmp_path / "m.run" / "data" / "dataset.json").is_file()
    refused("train", tmp_path / "m.run" / "data", "--out", tmp_path / "other", *FLAGS, *NOT_A_NUMBER)
    assert not (tmp_path / "other.run").exists()  # its data is elsewhere
    err = refused("train", tmp_path / "m.run" / "data", "--out", out, *FLAGS, "--overwrite")
    assert "m.run holds the data and would be removed; choose another --out" in err
    assert (tmp_path / "m.run" / "data" / "dataset.json").is_file()


def test_a_failed_run_keeps_its_checkpoints(call, refused, tmp_path, monkeypatch):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"

    def full(*given: object, **more: object) -> None:
        raise limelight.LimelightError("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.train_job.save", full)
        said = refused("train", table, "--out", out, *FLAGS)
    assert said.startswith("limelight: cannot write: No space left on device; ")
    assert said.endswith(f": limelight train --resume {out}\n")
    assert list((tmp_path / "m.run").glob("checkpoint-*"))
    assert call("train", "--resume", out, "--quiet")[0] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "reviews.csv"]


def test_a_failed_run_keeps_weights_whose_checkpoint_found_no_room(call, refused, tmp_path, monkeypatch):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"
    assert call("train", table, "--out", tmp_path / "whole", *FLAGS)[0] == 0

    def full(*given: object, **more: object) -> Path:
        raise limelight.LimelightError("cannot write: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.train_job.save", full)
        patch.setattr("limelight.training.checkpoint.checkpoint_path", full)
        said = refused("train", table, "--out", out, *FLAGS)
    (kept,) = (tmp_path / "m.run").glob("best-*.safetensors")
    assert said.startswith("limelight: cannot write: No space left on device; ")
    assert said.endswith(f" kept in {kept}\n")
    assert call("train", "--resume", out, "--quiet")[0] == 0  # from the beginning
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "reviews.csv", "whole"]
    assert same(out, tmp_path / "whole")


def test_ctrl_c_while_the_model_is_written_says_how_to_go_on(call, refused, tmp_path, monkeypatch):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"

    def pressed(*given: object, **more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.train_job.save", pressed)
        code, _, err = call("train", table, "--out", out, *FLAGS)
    assert code == 1
    assert err.endswith(f"limelight: interrupted; resume with: limelight train --resume {out}\n")
    (tmp_path / "m.run" / "best").mkdir()
    (tmp_path / "m.run" / "best" / "config.json").write_text("{}")
    error = refused("info", tmp_path / "m.run")
    assert "not a model saved by Limelight" in error
    assert f"so far is {tmp_path / 'm.run' / 'best'}" in error
    assert call("train", "--resume", tmp_path / "m.run", "--quiet")[0] == 0  # the run's own folder will do
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "reviews.csv"]


def test_a_resumed_run_that_fails_can_be_resumed_again(refused, tmp_path, monkeypatch):
    table, out = review_table(tmp_path / "reviews.csv", 60), tmp_path / "m"
    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.job.SLOW_ENCODING", -1.0)
        refused("train", table, "--out", out, *FLAGS, *NOT_A_NUMBER)
    shutil.rmtree(tmp_path / "m.run" / "data")  # as after a kill in the midst of encoding
    table.rename(tmp_path / "away.csv")
    assert "reviews.csv" in refused("train", "--resume", out)
    assert (tmp_path / "m.run" / "run.json").is_file()


# ---------------------------------------------------------------- interruptions


def start(folder: Path, *argv: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*LIMELIGHT, *argv],
        cwd=folder,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_here(folder: Path, *argv: str) -> int:
    """The same command without a process, which takes seconds to import PyTorch; on one thread, as there."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with contextlib.chdir(folder):
            return main(list(argv))
    finally:
        torch.set_num_threads(threads)


def wait_for_epoch(process: subprocess.Popen[str], number: int) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(f"epoch {number}/"):
            return
    raise AssertionError("the run ended too early")


@pytest.fixture(scope="module")
def long_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table that keeps a run busy for a while, and the model of the run left alone."""
    folder = tmp_path_factory.mktemp("long")
    review_table(folder / "reviews.csv", 500)
    assert run_here(folder, "train", "reviews.csv", "--out", "whole", *TINY) == 0
    return folder


def test_a_second_command_for_the_same_folder_is_refused(refused, long_run):
    run = start(long_run, "train", "reviews.csv", "--out", "shared", *TINY, "--epochs", "1000")
    try:
        wait_for_epoch(run, 1)
        out, table = long_run / "shared", long_run / "reviews.csv"
        for again in (["--resume", out], [table, "--out", out, *TINY, "--overwrite"]):
            assert refused("train", *again) == (
                f"limelight: another process is training {out}; wait for it, or choose another name\n"
            )
        assert (long_run / "shared.run" / "run.json").is_file()
    finally:
        run.kill()  # it holds the folder no longer
        run.communicate()
    assert run_here(long_run, "train", "reviews.csv", "--out", "shared", *TINY, "--overwrite") == 0
    assert same(out, long_run / "whole")
    assert sorted(path.name for path in long_run.glob("*shared*")) == ["shared"]


def test_interrupt_says_how_to_go_on_and_ends_with_the_same_bits(long_run, capsys):
    run = start(long_run, "train", "reviews.csv", "--out", "stopped", *TINY)
    wait_for_epoch(run, 1)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 1, err
    assert out == ""
    assert err.splitlines()[-1] == (
        "limelight: interrupted; the best model so far is in stopped.run/best; "
        "resume with: limelight train --resume stopped"
    )
    assert limelight.load(long_run / "stopped.run" / "best").labels == (1, 5)
    assert not (long_run / "stopped").exists()
    assert run_here(long_run, "train", "reviews.csv", "--out", "stopped", *TINY) == 2
    assert "limelight train --resume stopped" in capsys.readouterr().err
    assert run_here(long_run, "train", "--resume", "stopped") == 0
    assert same(long_run / "stopped", long_run / "whole")
    assert not (long_run / "stopped.run").exists()


def test_kill_then_resume_from_another_folder(long_run):
    run = start(long_run, "train", "reviews.csv", "--out", "killed", *TINY)
    wait_for_epoch(run, 2)
    run.kill()
    run.communicate(timeout=60)
    assert run_here(Path("/"), "train", "--resume", str(long_run / "killed")) == 0
    assert same(long_run / "killed", long_run / "whole")


def test_kill_while_encoding_then_resume(long_run):
    folder = long_run / "early.run"
    run = start(long_run, "train", "reviews.csv", "--out", "early", *TINY)
    deadline = time.monotonic() + 60
    while not (folder / "run.json").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    run.kill()
    run.communicate(timeout=60)
    assert run_here(long_run, "train", "--resume", "early", "--quiet") == 0
    assert same(long_run / "early", long_run / "whole")


@pytest.mark.parametrize("edited", [False, True])
def test_a_run_killed_after_its_model_was_saved_ends_when_resumed(call, tmp_path, monkeypatch, edited):
    review_table(tmp_path / "reviews.csv", 60)
    with monkeypatch.context() as patch:
        patch.setattr("limelight.training.train_job.TrainJob.remove_folder", lambda job: None)
        assert call("train", tmp_path / "reviews.csv", "--out", tmp_path / "m", *FLAGS)[0] == 0
    assert (tmp_path / "m.run" / "run.json").is_file()
    if edited:  # another model has taken the name meanwhile
        call("train", tmp_path / "reviews.csv", "--out", tmp_path / "other", *FLAGS, "--seed", "2")
        shutil.rmtree(tmp_path / "m")
        (tmp_path / "other").rename(tmp_path / "m")
    before = {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()}
    code, _, err = call("train", "--resume", tmp_path / "m", "--quiet")
    assert (code, "already exists" in err) == ((2, True) if edited else (0, False))
    assert {path.name: path.read_bytes() for path in (tmp_path / "m").iterdir()} == before
    assert (tmp_path / "m.run").exists() == edited


def test_relative_paths_are_found_from_another_folder(call, tmp_path, monkeypatch):
    """If a run is killed while it encodes; the model keeps the paths as they were given."""
    review_table(tmp_path / "reviews.csv", 60)
    (tmp_path / "glove.txt").write_text("good 1 2\nbad 3 4\n")
    (tmp_path / "elsewhere").mkdir()

    def killed(*arguments: object) -> None:
        shutil.copytree(tmp_path / "m.run", tmp_path / "kept")
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("limelight.text.encode_steps.Encoding._read_rows", killed)
        assert call("train", "reviews.csv", "--out", "m", "--vectors", "glove.txt", *FLAGS)[0] != 0
    (tmp_path / "kept").rename("m.run")
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, _, err = call("train", "--resume", tmp_path / "m", "--quiet")
    assert code == 0, err
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    assert config["recipe"]["text"]["vectors"] == "glove.txt"
    for name in ("config.json", "README.md"):
        assert str(tmp_path) not in (tmp_path / "m" / name).read_text()


def test_two_processes_write_one_model(tmp_path):
    review_table(tmp_path / "reviews.csv", 200)
    command = torchrun(2, "train", "reviews.csv", "--out", "m", "--json", *FLAGS)
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["results"]["dev"]["accuracy"] == 1.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "reviews.csv"]


def test_resume_needs_nothing_else_and_something_to_resume(refused, model, tmp_path):
    assert "there is no interrupted run" in refused("train", "--resume", tmp_path / "nothing")
    assert "itself is complete" in refused("train", "--resume", model)
    for flags in (
        ["--epochs", "9"],
        ["--preset", "yelp"],
        ["--preset", "small"],
        ["--dev", "dev.csv"],
        ["--holdout", "0"],
        ["--overwrite"],
    ):
        assert "--resume" in refused("train", "--resume", model, *flags)
    (tmp_path / "m.run").mkdir()
    (tmp_path / "m.run" / "run.json").write_text('{"format": 1')
    assert "is damaged" in refused("train", "--resume", tmp_path / "m")


def outcome_of(out: Path, history: list[dict[str, Any]], accuracy: float) -> Outcome:
    facts = {"results": {"dev": {"rows": 9, "accuracy": accuracy, "macro_f1": 0.5, "loss": 1.0}}}
    state = State(best_epoch=len(history) - 1, history=history)
    data = SimpleNamespace(pair=False)
    return Outcome(out, data, Fitted(None, preset("tiny"), state, False), {"dev": None}, facts)


@pytest.mark.parametrize(
    ("accuracies", "epochs", "said"),
    [
        ([0.5, 0.6, 0.7], 3, "kept epoch 3 of 3 (best on the development set; accuracy was still rising"),
        ([0.5, 0.7, 0.7], 3, "kept epoch 3 of 3 (best on the development set)\n"),  # chosen for its loss
        ([0.5, 0.6, 0.7], 4, "kept epoch 3 of 3 (best on the development set)\n"),  # patience ended it
        ([0.5, 0.6, 1.0], 3, "kept epoch 3 of 3 (best on the development set)\n"),
        ([0.5], 1, "kept epoch 1 of 1 (best on the development set)\n"),
    ],
)
def test_who_stops_while_accuracy_rises_is_told(accuracies, epochs, said, tmp_path):
    history = [{"dev_accuracy": accuracy, "steps": 9} for accuracy in accuracies]
    outcome = outcome_of(tmp_path, history, accuracies[-1])
    assert _format_outcome(outcome, TrainingRecipe(epochs=epochs)).startswith(said)


def test_where_the_rate_falls_to_zero_the_best_is_within_an_error(tmp_path):
    outcome = outcome_of(tmp_path, [{"dev_accuracy": 0.5, "steps": 9}], 0.5)
    said = "kept epoch 1 of 1 (within a standard error of the best on the development set)\n"
    assert _format_outcome(outcome, TrainingRecipe(epochs=1, schedule="cosine")).startswith(said)


def test_what_the_development_set_had_no_say_in_is_told(tmp_path):
    history = [{"dev_accuracy": 0.5, "dev_weighted_accuracy": w, "steps": 9} for w in (0.8, 0.6)]
    outcome = outcome_of(tmp_path, history, 0.5)
    said = "kept epoch 2 of 2 (the last one; dev scores count after 9 steps)\n"
    assert _format_outcome(outcome, TrainingRecipe(epochs=2, min_steps=9)).startswith(said)
    history[0]["dev_accuracy"] = 0.4  # rises, but not by what is chosen by
    assert _format_outcome(outcome, TrainingRecipe(epochs=2)).startswith(
        "kept epoch 2 of 2 (best on the development set)\n"
    )


# ---------------------------------------------------------------- Ctrl-C again and again


def test_a_second_ctrl_c_does_what_ctrl_c_usually_does():
    seen: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with catch_interrupts() as stop:
            signal.raise_signal(signal.SIGINT)
            assert (stop.is_set(), seen) == (True, [])
            signal.raise_signal(signal.SIGINT)
            assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_after_the_ctrl_c_that_ends_it_the_end_is_not_disturbed():
    again = """
import signal
from limelight import cli

def main():
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        signal.raise_signal(signal.SIGINT)
        return 7

cli.main = main
cli.start()
"""
    done = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (7, "")


# ---------------------------------------------------------------- baselines and hints


def test_the_accuracy_stands_beside_its_baselines(call, tmp_path, monkeypatch):
    monkeypatch.setattr("limelight.training.tf_idf.BASELINE_ROWS", 40)
    table = review_table(tmp_path / "reviews.csv", 60)
    code, said, _ = call("train", table, "--dev", table, "--out", tmp_path / "m", *FLAGS)
    assert code == 0
    lines = [" ".join(line.split()) for line in said.splitlines()]
    assert "dev, TF-IDF + logistic regression 100.00%" in lines
    assert "dev, largest class alone 50.00%" in lines
    assert "(TF-IDF was trained on 40 of the 60 training rows)" in lines
    saved = {"dev": {"tf_idf": 1.0, "largest_class": 0.5}, "train_rows": 40}
    assert limelight.load(tmp_path / "m").facts["baselines"] == saved
    assert "| dev, largest class alone | 0.5000 |" in (tmp_path / "m" / "README.md").read_text()
    assert "dev, largest class alone" in call("info", tmp_path / "m")[1]


@pytest.mark.parametrize(
    ("labels", "flags", "hint"),
    [
        ([1, 2, 3, 4, 5], [], True),
        ([1, 2, 3, 4, 5], ["--json"], False),
        ([1, 2, 3, 4, 5], ["--task", "classification"], False),
        ([1, 2, 3, 4, 5], ["--task", "ordinal"], False),
        ([1, 2, 3, 5], [], False),
        (["a", "b", "c", "d"], [], False),
        ([1, 2, 3], [], False),
        (list(range(20)), [], False),
    ],
)
def test_numbers_that_look_like_ratings_are_pointed_out(call, tmp_path, labels, flags, hint):
    rows = [label for label in labels for _ in range(3)]
    table = write_csv(tmp_path / "t.csv", text=[f"soup {label}" for label in rows], stars=rows)
    code, said, err = call(
        "train", table, "--dev", table, "--out", tmp_path / "m", *FLAGS, "--epochs", "1", *flags
    )
    assert code == 0
    assert ("--task ordinal" in err) == hint
    assert "--task ordinal" not in said
