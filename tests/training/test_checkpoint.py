"""The state on disk: what is kept, what is refused, and what happens when the disk does not play along."""

from __future__ import annotations

import contextlib
import errno
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

import limelight
from limelight.config.options import REMOVED, RENAMED, TRAINING_ONLY
from limelight.errors import LimelightError
from limelight.storage import files
from limelight.training import Callback, Fitted, checkpoint, fit
from limelight.training.checkpoint import Checkpoints, State, read, write
from refusing import refuses
from training import toys


def run(folder: Path, data: Any = None, resume: bool = False, every: float = 600.0, **options: Any) -> Fitted:
    return fit(
        data or toys.dataset(), toys.recipe(**options), folder, resume=resume, checkpoint_every=every
    )  # fmt: skip


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def change(path: Path, **metadata: Any) -> None:
    """Another description in a checkpoint that is fine otherwise."""
    tensors, about = read(path)
    write(path, tensors, {**about, **metadata})


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run(folder)
    return folder


@pytest.fixture
def trained(finished: Path, tmp_path: Path) -> Path:
    """The folder of a finished run with two checkpoints, of steps 14 and 21; each test has its own copy."""
    return shutil.copytree(finished, tmp_path / "run")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Fitted]:
    """A run of four epochs in one go, and its folder."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, run(folder, epochs=4)


@pytest.fixture
def expected(undisturbed: tuple[Path, Fitted]) -> Fitted:
    return undisturbed[1]


NEWEST, BEFORE = "checkpoint-000000021.safetensors", "checkpoint-000000014.safetensors"


def test_what_is_written_can_be_read_here_and_elsewhere(tmp_path: Path) -> None:
    tensors = {
        "odd": torch.arange(3.0), "steps": torch.tensor(7), "rate": torch.tensor(0.1, dtype=torch.float64),
        "matrix": torch.randn(3, 5).T, "none": torch.zeros(0, 4),
    }  # fmt: skip
    write(tmp_path / "x.safetensors", tensors, {"state": {"ü": 1}})
    found, about = read(tmp_path / "x.safetensors")
    assert about == {"format": 2, "state": {"ü": 1}}
    assert found.keys() == tensors.keys()
    for name, x in tensors.items():
        assert found[name].dtype == x.dtype
        assert torch.equal(found[name], x)
    header = (tmp_path / "x.safetensors").read_bytes()
    size = int.from_bytes(header[:8], "little")
    offsets = [
        v["data_offsets"][0] for k, v in json.loads(header[8 : 8 + size]).items() if k != "__metadata__"
    ]
    assert size % 8 == 0
    assert offsets == sorted(offsets)
    assert names(tmp_path) == ["x.safetensors"]


def test_the_file_itself_is_synced_before_it_gets_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes that are synced must be those that are renamed, not those of some other file."""
    import os

    synced: list[int] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda handle: (synced.append(os.fstat(handle).st_ino), fsync(handle)))

    def checked(source: Any, target: Any) -> None:
        assert os.stat(source).st_ino in synced
        replace(source, target)

    monkeypatch.setattr(os, "replace", checked)
    write(tmp_path / "x.safetensors", {"a": torch.ones(3)}, {})
    assert synced[-1] == tmp_path.stat().st_ino, "and the folder after it"


def test_the_newest_two_are_kept_with_their_best_weights(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path, {})
    for number, best in enumerate([-1, 0, 0, 2, 2, 2, 6]):
        weights = {"w": torch.tensor(float(best))}
        state = State(number=number, best_epoch=best, history=[{"steps": 1}] * 7)
        checkpoints.save(state, {"x": torch.tensor(1.0)}, weights if best >= 0 else None)
        kept = {number, max(number - 1, 0)}
        assert {int(p.stem[-9:]) for p in tmp_path.glob("checkpoint-*")} == kept
        found = Checkpoints(tmp_path, {}).newest({}, {})
        assert found is not None
        assert found.state == state
        assert (found.best or {"w": torch.tensor(-1.0)})["w"] == best
    assert names(tmp_path) == [
        "best-0002.safetensors", "best-0006.safetensors", "checkpoint-000000005.safetensors",
        "checkpoint-000000006.safetensors", "history.jsonl",
    ]  # fmt: skip


def test_weights_whose_checkpoint_found_no_room_stay(tmp_path: Path) -> None:
    kept = tmp_path / "best-0001.safetensors"
    write(kept, {"w": torch.ones(2)}, {"identity": {}})
    Checkpoints(tmp_path, {}).prepare([])
    assert kept.is_file()


@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign", "no metadata", "half a description"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(
    trained: Path, expected: Fitted, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = trained / NEWEST
    content = path.read_bytes()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "foreign":
        path.write_bytes(b"%PDF-1.7 " * 100)
    elif damage == "no metadata":
        save_file(load_file(path), path)
    else:
        change(path, state={"epoch": 1, "surprise": 2})
    fitted = run(trained, resume=True, epochs=4)
    shown = capsys.readouterr().err
    assert re.search(rf"^warning: .*{NEWEST} is (damaged|not a Limelight checkpoint)", shown, re.MULTILINE)
    assert "resuming from the one before it" in shown
    assert "resuming in epoch 3 at step 14" in shown
    assert fitted.history == expected.history
    for name, x in expected.network.state_dict().items():
        assert torch.equal(fitted.network.state_dict()[name], x), name
    assert {NEWEST, "checkpoint-000000028.safetensors"} <= set(names(trained))


def test_a_damaged_checkpoint_that_stays_ahead_does_no_harm(trained: Path) -> None:
    (trained / "checkpoint-000000999.safetensors").write_bytes(b"broken")
    fitted = run(trained, resume=True, epochs=5)
    assert len(fitted.history) == 5
    assert [int(n[11:20]) for n in names(trained) if n.startswith("check")] == [28, 35, 999]
    assert len(run(trained, resume=True, epochs=6).history) == 6


def test_without_its_best_weights_a_checkpoint_is_of_no_use(
    trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = checkpoint._state(trained, read(trained / NEWEST)[1]).best_epoch
    before = checkpoint._state(trained, read(trained / BEFORE)[1]).best_epoch
    assert newest != before, "this test wants a run whose last epoch was better"
    (trained / f"best-{newest:04d}.safetensors").unlink()
    assert len(run(trained, resume=True, epochs=4).history) == 4
    assert "resuming from the one before it" in capsys.readouterr().err


def test_if_none_can_be_read_the_first_problem_is_named(trained: Path) -> None:
    for name in (NEWEST, BEFORE):
        (trained / name).write_bytes(b"")
    with pytest.raises(
        LimelightError, match=f"{NEWEST} is damaged .*; there is no other checkpoint to resume"
    ):
        run(trained, resume=True)


def test_a_newer_format_is_refused(trained: Path) -> None:
    for name in (NEWEST, BEFORE):
        change(trained / name, format=9)
    with refuses("file-damaged"):
        run(trained, resume=True)


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"learning_rate": 0.5}, {}, r"learning_rate 0\.02, this run has 0\.5; resume with the same"),
        ({"hidden": 7}, {}, "was made with hidden 6, this run has 7"),
        ({"seed": 1}, {}, "was made with seed 0, this run has 1"),
        ({}, {"rows": 51}, r"was made with train rows '50 of \d+ words \(\w+\)', this run has '51 of"),
        ({}, {"dev": 0}, r"was made with dev rows '20 of .*', this run has 'none'"),
        ({}, {"seed": 1}, r"was made with train rows '50 of"),
    ],
)
def test_another_run_is_refused(
    trained: Path, options: dict[str, Any], data: dict[str, Any], message: str
) -> None:
    before = toys.contents(trained)
    with pytest.raises(LimelightError, match=message) as error:
        run(trained, toys.dataset(**data), resume=True, **options)
    assert "\n" not in str(error.value)
    assert toys.contents(trained) == before


def test_a_run_from_before_an_option_existed_goes_on(trained: Path) -> None:
    for path in trained.glob("*.safetensors"):
        tensors, about = checkpoint.read(path)
        del about["identity"]["max_row"]
        checkpoint.write(path, tensors, {key: about[key] for key in about if key in ("identity", "state")})
    run(trained, resume=True)
    with refuses("run-differs"):
        run(trained, resume=True, max_row=True)


def rename_as_in_0_1(folder: Path, **removed: Any) -> None:
    """Give every file of a run the description that version 0.1 wrote, with options that are gone since."""
    old_names = {new: old for old, new in RENAMED.items()}
    left = {name: value for name, (value, _) in REMOVED.items()}
    was = {**left, **dict.fromkeys(TRAINING_ONLY - {"initialisation"}, 0.0), "initialisation": "torch"}
    for path in folder.glob("*.safetensors"):
        tensors, about = checkpoint.read(path)
        identity = {old_names.get(name, name): value for name, value in about.pop("identity").items()}
        del about["format"]
        checkpoint.write(path, tensors, {**about, "identity": {**identity, **was, **removed}})


def test_a_run_of_version_0_1_is_resumed(trained: Path, expected: Fitted) -> None:
    rename_as_in_0_1(trained)
    with refuses("run-differs"):
        run(trained, resume=True, learning_rate=0.5)
    with refuses("run-differs"):
        run(trained, toys.dataset(rows=51), resume=True)
    resumed = run(trained, resume=True, epochs=4)
    assert resumed.history == expected.history
    for name, x in expected.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], x), name


def test_a_run_of_a_network_that_is_gone_is_not_resumed(trained: Path) -> None:
    rename_as_in_0_1(trained, attention="generalised")
    before = toys.contents(trained)
    with refuses("option-removed") as error:
        run(trained, resume=True, epochs=4)
    assert "\n" not in str(error.value)
    assert toys.contents(trained) == before


def test_other_labels_are_other_data(trained: Path) -> None:
    data = toys.dataset()
    split = data.splits["train"]
    assert split.labels is not None
    split.labels[3] = (split.labels[3] + 1) % 3
    with refuses("run-differs"):
        run(trained, data, resume=True)


def test_a_new_run_does_not_mix_with_an_old_one(trained: Path) -> None:
    before = toys.contents(trained)
    with refuses("run-unfinished"):
        run(trained)
    assert toys.contents(trained) == before


def test_resuming_without_a_checkpoint_starts_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted = run(tmp_path / "run", resume=True)
    assert "no checkpoint yet: starting from the beginning" in capsys.readouterr().err
    assert len(fitted.history) == 3


def full_after(monkeypatch: pytest.MonkeyPatch, good: int) -> list[str]:
    """The disk is full from the n-th file on, in the midst of writing it."""
    written: list[str] = []
    pieces = checkpoint.safetensors_pieces

    def pieces_until_full(*arguments: Any) -> Iterator[Any]:
        written.append("")
        for k, piece in enumerate(pieces(*arguments)):
            if len(written) > good and k == 5:
                raise OSError(errno.ENOSPC, "No space left on device")
            yield piece

    monkeypatch.setattr(checkpoint, "safetensors_pieces", pieces_until_full)
    return written


@pytest.mark.parametrize("good", [0, 1, 2, 3, 5])
def test_a_full_disk_does_not_end_the_run(
    undisturbed: tuple[Path, Fitted], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], good: int,
) -> None:  # fmt: skip
    whole, expected = undisturbed
    full_after(monkeypatch, good)
    fitted = run(tmp_path / "run", epochs=4)
    shown = capsys.readouterr().err
    assert fitted.history == expected.history
    warning = r"^warning: cannot write .*: No space left on device; training continues, (.*)$"
    none, some = "with no checkpoint to resume from yet", "the last good checkpoint is kept"
    said = re.findall(warning, shown, re.MULTILINE)
    assert set(said) == {some if good >= 2 else none}  # the best weights are written first
    assert list((tmp_path / "run").glob("checkpoint-*")) or good < 2
    assert len(list((tmp_path / "run").glob("best-*"))) <= 3
    assert not list((tmp_path / "run").glob(".*"))

    monkeypatch.undo()  # somebody made room
    resumed = run(tmp_path / "run", epochs=4, resume=True)
    for name, x in expected.network.state_dict().items():
        assert torch.equal(resumed.network.state_dict()[name], x), name
    newest = "checkpoint-000000028.safetensors"
    assert (tmp_path / "run" / newest).read_bytes() == (whole / newest).read_bytes()


@pytest.mark.parametrize("good", [0, 1, 2])
def test_best_weights_do_not_fill_a_disk_that_has_no_room_for_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int
) -> None:
    def small_alone(path: Path, *rest: Any) -> None:
        if path.name.startswith("checkpoint-") and int(path.stem[-9:]) >= good:
            raise LimelightError(f"cannot write {path}: No space left on device")
        write(path, *rest)

    monkeypatch.setattr(checkpoint, "write", small_alone)
    checkpoints = Checkpoints(tmp_path, {})
    for number in range(6):
        state = State(number=number, best_epoch=number, history=[{"steps": 1}] * 6)
        weights = {"w": torch.tensor(float(number))}
        with contextlib.suppress(LimelightError):
            checkpoints.save(state, {"x": torch.tensor(1.0)}, weights)
        named = {*range(min(number + 1, good)), number}  # by the checkpoints; and the newest
        assert [int(path.stem[-4:]) for path in sorted(tmp_path.glob("best-*"))] == sorted(named)
    assert read(tmp_path / "best-0005.safetensors")[0]["w"] == 5
    monkeypatch.undo()  # somebody made room
    checkpoints.save(state, {"x": torch.tensor(1.0)}, weights)
    found = Checkpoints(tmp_path, {}).newest({}, {})
    assert found is not None
    assert (found.state, found.best) == (state, weights)


def test_a_file_that_grows_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A real limit of the operating system, met in the midst of a write."""
    resource = pytest.importorskip("resource")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, most))
    try:
        fitted = run(tmp_path / "run", epochs=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    assert "File too large; training continues" in capsys.readouterr().err
    assert len(fitted.history) == 1
    assert names(tmp_path / "run") == ["history.jsonl"]


def test_what_a_killed_process_left_behind_goes(trained: Path) -> None:
    """Half-written files; and what a new checkpoint made superfluous, if there was no time to remove it."""
    kept = names(trained)
    shutil.copy(trained / BEFORE, trained / "checkpoint-000000007.safetensors")
    shutil.copy(trained / "best-0002.safetensors", trained / "best-0009.safetensors")
    for name in ("checkpoint-000000021.safetensors", "best-0001.safetensors", "history.jsonl"):
        half = trained / f".{name}.limelight-12345678.part"
        half.mkdir()
        (half / "limelight").write_bytes(files._NOTE)
        (half / "new").write_bytes(b"half")
    (trained / ".mine.part").write_bytes(b"not of a run")
    run(trained, resume=True)
    assert names(trained) == [".mine.part", *kept]


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_that_cannot_be_is_said_at_the_start(
    tmp_path: Path, resume: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("limelight.training.step.Stepper.step", lambda *_: pytest.fail("it had begun"))
    for folder in (tmp_path / "file", tmp_path / "file" / "run"):
        with refuses("os-error"):
            run(folder, resume=resume)


def test_a_folder_that_is_read_only_is_said_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*arguments: Any, **more: Any) -> Any:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("limelight.storage.files._create_temporary", refused)
    monkeypatch.setattr("limelight.training.step.Stepper.step", lambda *_: pytest.fail("it had begun"))
    with refuses("os-error"):
        run(tmp_path / "run")


@pytest.mark.parametrize("resume", [False, True])
def test_a_second_run_in_the_same_folder_is_refused_and_leaves_the_first_alone(
    tmp_path: Path, resume: bool
) -> None:
    data, recipe = toys.dataset(), toys.recipe(epochs=2)
    alone = fit(data, recipe, tmp_path / "alone", show=False)

    class Interfere(Callback):
        def on_epoch_end(self, ours: Any, record: dict[str, Any]) -> None:
            with refuses("busy"):
                run(tmp_path / "run", resume=resume, epochs=2)

    disturbed = fit(data, recipe, tmp_path / "run", show=False, callbacks=[Interfere()])
    assert disturbed.history == alone.history
    assert toys.contents(tmp_path / "run") == toys.contents(tmp_path / "alone")
    assert run(tmp_path / "run", resume=True, epochs=2).history == alone.history


def test_a_copied_folder_resumes(trained: Path, tmp_path: Path, expected: Fitted) -> None:
    shutil.copytree(trained, tmp_path / "copy")
    assert run(tmp_path / "copy", resume=True, epochs=4).history == expected.history


def test_there_is_no_pickle_anywhere() -> None:
    files = list(Path(limelight.__file__).parent.rglob("*.py"))
    assert len(files) > 30
    unsafe = re.compile(
        r"^\s*(import|from) (pickle|dill|marshal|shelve)\b|torch\.(load|save)\(|allow_pickle=True", re.M
    )
    assert [path.name for path in files if unsafe.search(path.read_text("utf-8"))] == []


def test_every_flipped_bit_is_noticed(trained: Path) -> None:
    content = (trained / NEWEST).read_bytes()
    size = int.from_bytes(content[:8], "little")
    places = [8 + size + k * (len(content) - size - 9) // 99 for k in range(100)]  # the first to the last
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        (trained / NEWEST).write_bytes(damaged)
        with refuses("file-damaged"):
            read(trained / NEWEST)
    (trained / NEWEST).write_bytes(content)
    assert read(trained / NEWEST)[1]["format"] == 2


def test_checkpoints_without_a_checksum_are_read(trained: Path, expected: Fitted) -> None:
    """As 0.1 and 0.2 wrote them."""
    for path in trained.glob("*.safetensors"):
        tensors, about = read(path)
        save_file(tensors, path, {"limelight": json.dumps({**about, "format": 1})})
    found = run(trained, resume=True, epochs=4)
    for name, w in expected.network.state_dict().items():
        assert torch.equal(w, found.network.state_dict()[name])
    tensors, about = read(trained / sorted(names(trained))[-2])
    save_file(tensors, trained / "x.safetensors", {"limelight": json.dumps(about)})
    with refuses("file-damaged"):  # but it must not get lost
        read(trained / "x.safetensors")


@pytest.mark.parametrize(
    "state",
    [
        {"epoch": "1"}, {"epoch": -1}, {"batch": True}, {"number": 2**60}, {"best_epoch": 99},
        {"finished": 1}, {"best_epoch": None}, {"best_loss": "low"}, {"history": {}},
        {"history": [1, 2, 3]}, {"more": 1},
    ],
)  # fmt: skip
def test_a_state_that_cannot_be(trained: Path, state: dict[str, Any]) -> None:
    for name in (NEWEST, BEFORE):
        change(trained / name, state={**read(trained / name)[1]["state"], **state})
    with refuses("file-damaged") as error:
        run(trained, resume=True, epochs=4)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("where", [NEWEST, "best"])
def test_tensors_that_do_not_fit(trained: Path, where: str) -> None:
    path = trained / where if where == NEWEST else max(trained.glob("best-*"))
    tensors, about = read(path)
    name = "weights.head.b_1" if where == NEWEST else "head.b_1"
    for wrong in (torch.zeros(3), tensors[name].double(), None):
        changed = (
            {**tensors, name: wrong} if wrong is not None else {k: x for k, x in tensors.items() if k != name}
        )
        write(path, changed, about)
        with refuses("run-differs"):
            run(trained, resume=True, epochs=4)
