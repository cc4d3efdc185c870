"""Everything the pages show runs: every command and every snippet, in order, on small tables.

The presets are the real ones, for one epoch and with fewer extra words.
"""

from __future__ import annotations

import importlib
import io
import json
import re
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limelight
from figures import FIGURE, cell, prose, said, wrong_in_prose, wrong_in_tables
from limelight import bundled
from limelight.cli import main
from limelight.config import presets
from limelight.config import pretrain_recipe as reader
from pretraining.teachers import write as write_texts
from reviews import pairs, review_table, reviews, write_csv

HERE = Path(__file__).parent.parent
PAGES = [
    "README.md", "docs/train.md", "docs/predict.md", "docs/explain.md", "docs/python.md", "docs/pretrain.md",
    "docs/similar.md", "docs/search.md", "docs/explore.md", "docs/tasks.md", "docs/aspects.md",
    "docs/label.md", "docs/coming-from.md", "docs/network.md",
]  # fmt: skip
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ECHO = re.compile(r'echo "(.*?)" \| (.*)')


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tables that the pages name."""
    review_table(tmp_path / "reviews.csv", 40)
    review_table(tmp_path / "test.csv", 20, 1)
    review_table(tmp_path / "new.csv", 10, 2)
    hotels, dates = ["Mill", "Inn"] * 10, [f"2024-05-{k + 10}" for k in range(20)]
    write_csv(tmp_path / "stays.csv", text=reviews(20)[0], hotel=hotels, date=dates)
    for name, start in (("tickets", 1), ("more", 21), ("changed", 11)):
        write_csv(tmp_path / f"{name}.csv", id=list(range(start, start + 20)), text=reviews(20, start)[0])
    first, second, labels = pairs(40)
    write_csv(tmp_path / "pairs.csv", premise=first, hypothesis=second, label=labels)
    topics = [["food"], ["food", "service"], []] * 10
    lines = [json.dumps({"text": f"{' '.join(each)} {k}", "labels": each}) for k, each in enumerate(topics)]
    (tmp_path / "topics.jsonl").write_text("\n".join(lines))
    texts = [f"{' '.join(each)} {k}" for k, each in enumerate(topics)]
    write_csv(tmp_path / "topics.csv", text=texts, topics=["|".join(each) for each in topics])
    write_csv(
        tmp_path / "scores.csv", text=texts, score=[len(each) + k / 100 for k, each in enumerate(topics)]
    )
    for name in ("small", "light"):
        monkeypatch.setitem(presets.PRESETS, name, presets.preset(name).override(epochs=1, extra_words=1000))
    write_texts(tmp_path)
    monkeypatch.setattr(reader, "MOST_EPOCHS", 1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models trained by a command that several pages show."""
    return tmp_path_factory.mktemp("models")


def train_once(argv: list[str], models: Path) -> int:
    """`limelight train`: on the same tables the same command gives the same model, so it runs once."""
    *words, out = argv
    assert words[-1] == "--out"
    kept = models / "-".join(Path(word).name for word in words)
    if "reviews.csv" not in words or not kept.exists():
        code = main(argv)
        shutil.copytree(out, kept, dirs_exist_ok=True)
        return code
    shutil.copytree(kept, out)
    return 0


def run_command(line: str, monkeypatch: pytest.MonkeyPatch, models: Path) -> None:
    if echo := ECHO.fullmatch(line):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(echo[1].encode() + b"\n")))
        line = echo[2]
    program, *argv = shlex.split(line, comments=True)
    if program == "make":
        assert f"\n{argv[0]}:" in (HERE / "Makefile").read_text()
        return
    if program == "pip":  # tests/wheel.py installs the package
        assert argv[0] == "install"
        return
    assert program == "limelight", line
    assert (train_once(argv, models) if argv[0] == "train" else main(argv)) == 0, line


@pytest.mark.parametrize("page", PAGES)
def test_everything_shown_runs(page, newcomer, models, monkeypatch, capfd):
    blocks = FENCE.findall((HERE / page).read_text())
    assert blocks
    for language, code in blocks:
        if language == "python":
            exec(compile(code, page, "exec"), {})
        else:
            assert language == "bash"
            for line in code.splitlines():
                run_command(line, monkeypatch, models)


@pytest.fixture(scope="session")
def default_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a newcomer trains: the default preset, all of its words, on a few bundled sentences."""
    texts, labels = bundled.sentences("train")
    folder = tmp_path_factory.mktemp("default") / "model"
    limelight.TextClassifier(epochs=1, progress=False).fit(texts[:40], labels[:40]).save(folder)
    return folder


@pytest.mark.parametrize(
    ("file", "precision", "bound"), [("model.onnx", "float32", 1e-6), ("model.int8.onnx", "int8", 0.02)]
)
def test_the_files_run_by_hand_give_the_same_answers(file, precision, bound, default_model):
    ((_, code),) = FENCE.findall((HERE / "docs" / "format.md").read_text())
    shown: dict[str, Any] = {}
    exec(compile(code, "docs/format.md", "exec"), shown)
    texts = bundled.sentences("test")[0][:60]
    found = shown["probabilities"](default_model, texts, file)
    expected = limelight.load(default_model, precision=precision).predict_proba(texts)
    assert expected.max() > 0.4  # it has learnt something to get wrong
    np.testing.assert_allclose(found, expected, atol=bound)


SNLI, HOTELS = "The best recipes on SNLI", "Half a million reviews"
COSTS = "What each costs"
BOARD = "The scoreboard"
# The words around every figure of README.md's prose, and where the figure stands in docs/results.md.
SOURCES = {
    "Accuracy on held-out sentences: {}%": cell("The demo", "the reader, fine-tuned", "test %"),
    "always predicting the largest class gives {}%": said(
        "The demo", "Always predicting the largest class gives {}%"
    ),
    "changes the answer {} times as much as removing those": said(
        BOARD, "changes the answer {} times as much"
    ),
    "readings, {} times, attention's": said(BOARD, "SHAP's {} and attention's"),
    "times, attention's {} times": said(BOARD, "and attention's {} times"),
    "the best encoder we have: {}%": cell(SNLI, "`best-pair` with teachers, three layers", "test"),
    "On SNLI with {}% of its training pairs": said(SNLI, "SNLI, {}% of its training pairs"),
    "in int8 reads {} times as many": cell(COSTS, "`reader`, int8", "times MiniLM, float32"),
    "the fast one {} times as many": cell(COSTS, "`reader-fast`, int8", "times MiniLM, float32"),
    "it reads {} to": said("On a GPU", "the reader gives {} to"),
    "to {} sentences a second": said("On a GPU", "to {} vectors a second"),
    "and a wide classifier has {}%": cell(SNLI, "the best baseline, max pooling, with teachers", "test"),
    "the two are level: {}%": cell(HOTELS, "500,000", "30 rows of attention"),
    "% and {}% after training on": cell(HOTELS, "500,000", "max pooling"),
    "after training on {} hotel reviews": said(HOTELS, "at the paper's scale: {} to train on"),
}


def test_every_figure_comes_from_the_results():
    """A new figure in the prose needs a line in SOURCES; a table's rows are found by their names."""
    readme, results = (HERE / "README.md").read_text(), (HERE / "docs" / "results.md").read_text()
    wrong = [*wrong_in_prose(readme, results, SOURCES), *wrong_in_tables(readme, results)]
    assert not wrong, "\n".join(wrong)


def test_the_page_of_readers_is_made_of_the_results(monkeypatch):
    monkeypatch.syspath_prepend(HERE / "experiments" / "reader")
    for path, content in importlib.import_module("plot").made().items():
        assert path.read_text("utf-8") == content, "run: python experiments/reader/plot.py"


def with_one_wrong(text: str) -> Iterator[tuple[str, str]]:
    """Each figure of a text, and the text with another in its place."""
    for match in FIGURE.finditer(text):
        last = match.end() - 1
        yield match[0], f"{text[:last]}{(int(text[last]) + 1) % 10}{text[last + 1 :]}"


def test_a_wrong_figure_is_noticed_wherever_it_stands():
    readme, results = prose((HERE / "README.md").read_text()), (HERE / "docs" / "results.md").read_text()
    wrong = [wrong_in_prose(page, results, SOURCES) for _, page in with_one_wrong(readme)]
    assert len(wrong) == len(SOURCES)
    assert all(wrong)
    for source in SOURCES.values():
        figure = source(results)
        others = [page for old, page in with_one_wrong(results) if old == figure]
        assert any(wrong_in_prose(readme, page, SOURCES) for page in others), figure


RESULTS = """
## Speed

| | plain | ours, float32 | ratio |
|---|---|---|---|
| in batches | 12,533 | **37,502** | 2.8 |
| one by one | 1,501 | 7,017 | 3.9 ± 0.1 |

Ours takes 21 ms, the other 2.5 times as long.
"""


@pytest.mark.parametrize(
    ("row", "right"),
    [
        ("in batches | 37,502 | 2.8", True),
        ("**one by one** | 7,017 | 3.9", True),
        ("one by one | 7,017 | 3.9 ± 0.1", True),
        ("in batches | 37,503 | 2.8", False),
        ("in batches | 12,533 | 2.8", False),  # a figure of another column
        ("in batches | 7,017 | 3.9", False),  # of another row
        ("all at once | 37,502 | 2.8", False),
        ("nothing measured | yes | no", True),
    ],
)
def test_a_row_of_a_table_must_be_a_row_of_the_results(row: str, right: bool):
    page = f"Text\n\n| | ours, float32 | ratio |\n|---|:-:|---|\n| {row} |\n"
    assert (wrong_in_tables(page, RESULTS) == []) == right


def test_a_column_must_be_there_as_well():
    page = "| | ours, int8 |\n|---|---|\n| in batches | 37,502 |\n"
    assert wrong_in_tables(page, RESULTS) == ["no table of the results has this row: in batches | 37,502"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("It answers more texts, 2.8 times as many.", None),
        ("It answers more texts, 2.9 times as many.", "has 2.9; the results have 2.8"),
        ("It answers more texts, 2.8 times as many, in 21% of the time", "nothing says where 21 comes from"),
        ("It answers many texts.", "stands there 0 times"),
    ],
)
def test_a_figure_in_prose_must_have_a_source(text: str, complaint: str | None):
    found = wrong_in_prose(text, RESULTS, {"texts, {} times as many": cell("Speed", "in batches", "ratio")})
    assert len(found) == (complaint is not None)
    assert complaint is None or complaint in found[0]
