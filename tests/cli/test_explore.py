"""`limelight explore` as a command: what it refuses, what it saves, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

import trained
from limelight.cli import main
from limelight.runtime.edits import write_forbidden
from reviews import write_csv
from serve.live import PATIENCE, ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model `model`, one of pairs, and tables with and without labels that fit."""
    folder = tmp_path_factory.mktemp("explore")
    trained.save(folder / "model")
    trained.save(folder / "pairs", "gated")
    regression = trained.recipe_of({"head": "linear", "task": "regression"})
    weights = trained.weights_of(trained.network_of(regression, classes=1))
    trained.save(folder / "numbers", recipe=regression, weights=weights, labels=("value",))
    texts = [text or "w1" for text in trained.texts_of(30)]
    write_csv(folder / "test.csv", text=texts, label=[trained.LABELS[k % 3] for k in range(30)])
    write_csv(folder / "other.csv", text=texts, label=["unknown"] * 30)
    return folder


@pytest.mark.parametrize(
    ("argv", "phrase"),
    [
        (["--words", "7"], "--save"),
        (["--overwrite"], "--save"),
        (["--with", "{}/pairs"], "pairs"),
        (["--with", "{}/model"], "same folder"),
        (["--with", "{}/numbers"], "the task of numbers is 'regression'"),
        (["{}/test.csv", "--with", "{}/numbers"], "the task of numbers is 'regression'"),
        (["--with", "{}/model", "--save", "page.html"], "--with"),
        (["{}/other.csv", "--label", "label"], "unknown"),
        (["{}/other.csv", "--label", "no"], "'no'"),
        (["{}/none.csv"], "none.csv"),
        (["--index", "{}/model"], "model"),
    ],
)
def test_what_cannot_be_explored_is_one_line(refused, folder, argv, phrase, monkeypatch):
    monkeypatch.setattr("limelight.serve.server.explore", lambda *_, **__: None)
    assert phrase in refused("explore", str(folder / "model"), *(each.format(folder) for each in argv))


def test_what_a_page_cannot_run_is_refused_before_the_rows_are_read(refused, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "limelight.serve.explorer.explored.explore_data", lambda *_, **__: pytest.fail("read")
    )
    write_forbidden(trained.save(tmp_path / "model"), ["w2"])
    argv = ["explore", str(tmp_path / "model"), str(folder / "test.csv"), "--save", str(tmp_path / "p.html")]
    assert "forbidden words" in refused(*argv)


def test_a_saved_page_has_a_sample_of_the_rows(folder, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("limelight.cli.explore.MAX_ROWS_SAVED", 20)
    page = tmp_path / "page.html"
    assert main(["explore", str(folder / "model"), str(folder / "test.csv"), "--save", str(page)]) == 0
    said = capsys.readouterr()
    assert "20 of 30 rows" in said.out
    assert "20 of its 30 rows" in said.err
    assert 'id="data"' in page.read_text("utf-8")


def test_labels_that_were_guessed_and_do_not_fit_are_left_out(folder, tmp_path, capsys):
    page = tmp_path / "page.html"
    assert main(["explore", str(folder / "model"), str(folder / "other.csv"), "--save", str(page)]) == 0
    assert "without labels" in capsys.readouterr().err


def test_the_live_page_prints_its_address_and_ends_with_ctrl_c(folder):
    argv = ["explore", folder / "model", folder / "test.csv", "--no-browser"]
    command = [sys.executable, "-m", "limelight", *map(str, argv)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
    )
    try:
        root, token = re.search(r"(http://127\.0\.0\.1:\d+/)#token=(\S+)", process.stdout.readline()).groups()
        request = urllib.request.Request(
            f"{root}explorer/about", headers={"authorization": f"Bearer {token}"}
        )
        about = json.load(urllib.request.urlopen(request, timeout=PATIENCE))
        assert [each["id"] for each in about["models"]] == ["model"]
        assert about["near"].startswith("the data")
        with pytest.raises(OSError, match="401"):
            urllib.request.urlopen(f"{root}explorer/about", timeout=PATIENCE)
    finally:
        process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) in (0, 1)
    assert "Traceback" not in process.stderr.read()


def test_the_token_is_not_on_the_command_line_of_the_browser(folder, monkeypatch):
    opened = []

    def look(url):
        file = Path(urllib.parse.urlsplit(url).path)
        opened.append((url, file, file.read_text(), file.stat().st_mode & 0o777))

    monkeypatch.setattr("webbrowser.open", look)
    address = "http://127.0.0.1:1/#token=secret"
    monkeypatch.setattr("limelight.serve.server.explore", lambda models, show, **_: show(address))
    assert main(["explore", str(folder / "model")]) == 0
    [(url, file, content, mode)] = opened
    assert url.startswith("file:")
    assert "secret" not in url
    assert f'content="0; url={address}"' in content
    assert mode == 0o600
    assert not file.exists()


def test_two_models_of_one_name_are_both_there(folder, tmp_path, monkeypatch):
    trained.save(tmp_path / "model")
    seen = []
    monkeypatch.setattr("limelight.serve.server.explore", lambda models, *_, **__: seen.extend(models))
    monkeypatch.chdir(tmp_path)
    assert main(["explore", str(folder / "model"), "--with", "model"]) == 0
    assert seen == [f"{folder.name}/model", f"{tmp_path.name}/model"]


def test_without_the_extra_it_says_what_to_install(refused, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    for name in ("server", "http.run"):
        monkeypatch.delitem(sys.modules, f"limelight.serve.{name}", raising=False)
    assert "pip install '.[serve]'" in refused("explore", str(folder / "model"))


def test_a_file_is_saved_without_the_extra(folder, tmp_path):
    code = """
import sys
for name in ("starlette", "uvicorn", "torch"):
    sys.modules[name] = None
from limelight.cli import main
sys.exit(main(sys.argv[1:]))
"""
    argv = ["explore", str(folder / "model"), str(folder / "test.csv"), "--save", str(tmp_path / "page.html")]
    subprocess.run([sys.executable, "-c", code, *argv], check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "page.html").is_file()


def test_a_notebook_shows_a_model():
    from serve.test_page_model import model_of

    assert model_of({}).explore(words=5)._repr_html_().startswith("<iframe sandbox=")
