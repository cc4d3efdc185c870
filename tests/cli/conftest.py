"""Models trained once for all tests of the command line, and a way to call it."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from limelight.cli import main
from reviews import FLAGS, pairs, review_table, write_csv

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Run a command in this process: its exit code, standard output and standard error."""

    def run(*argv: object, stdin: bytes | None = None) -> tuple[int, str, str]:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capfd.readouterr()
        code = main([str(each) for each in argv])
        out, err = capfd.readouterr()
        return code, out, err

    return run


@pytest.fixture
def refused(call: Call) -> Callable[..., str]:
    """Run a command that must be refused: exit code 2, nothing on standard output, one line of complaint."""

    def run(*argv: object, stdin: bytes | None = None) -> str:
        code, out, err = call(*argv, stdin=stdin)
        assert code == 2, (code, out, err)
        assert out == ""
        assert err.startswith("limelight")
        assert err.count("\n") == 1, err
        assert "Traceback" not in err
        return err

    return run


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of reviews, of 1 or 5 stars."""
    folder = tmp_path_factory.mktemp("model")
    table = review_table(folder / "reviews.csv")
    argv = ["train", table, "--test", review_table(folder / "test.csv", 40, 5), "--out", folder / "model"]
    assert main([str(each) for each in (*argv, *FLAGS)]) == 0
    return folder / "model"


@pytest.fixture(scope="session")
def pair_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of pairs, yes or no."""
    folder = tmp_path_factory.mktemp("pairs")
    first, second, labels = pairs(200)
    table = write_csv(folder / "pairs.csv", premise=first, hypothesis=second, label=labels)
    columns = ["--text", "premise", "--text2", "hypothesis", "--label", "label"]
    argv = ["train", table, "--out", folder / "model", *columns, *FLAGS, "--epochs", 8]
    assert main([str(each) for each in argv]) == 0
    return folder / "model"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """New reviews."""
    return review_table(tmp_path / "new.csv", 30, seed=3)
