"""Every command does what it says, for people and with --json."""

from __future__ import annotations

import csv
import errno
import gc
import io
import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

import limelight
from limelight.cli._parser import commands, parser_for
from limelight.cli.evaluate import _format_results, _Measured
from limelight.config.presets import preset
from limelight.config.recipe import options
from limelight.network.parts import parameters_by_part, shapes
from limelight.runtime.folder import Parts, open_folder, save_folder
from limelight.runtime.held_out import HeldOut
from limelight.text.learnt_rows import LearntRows
from reviews import pairs, reviews, write_csv
from trained import ARCHITECTURES, network_of, recipe_of

TEXTS, STARS = reviews(30, seed=3)
NEW = [f"{text} {k}" for k, text in enumerate(TEXTS)]  # texts that no model has learnt from


@pytest.fixture
def new_rows(tmp_path: Path) -> Path:
    return write_csv(tmp_path / "new rows.csv", text=NEW, stars=STARS)


def test_help_lists_every_command(call):
    code, out, _ = call("--help")
    assert code == 0
    assert all(f"\n    {name}" in out for name in commands())


def test_a_command_is_parsed_without_the_others() -> None:
    def known(argv: list[str] | None) -> dict[str, int]:
        return {
            n: len(each._actions)
            for n, each in parser_for(argv)._subparsers._group_actions[0].choices.items()
        }

    whole = known(None)
    assert known(["predict", "model"]) == known(["--no-such", "predict"]) == {"predict": whole["predict"]}
    assert known(["--help"]) == known(["predcit"]) == dict.fromkeys(whole, 1)


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help_with_an_example(name, call):
    code, out, _ = call(name, "--help")
    assert code == 0
    assert out.startswith(f"usage: limelight {name}")
    assert name == "demo" or f"  limelight {name}" in out


def test_help_shows_the_options_that_matter_and_help_all_every_one(call):
    short, full = (call("train", flag, "--preset", "yelp")[1] for flag in ("--help", "--help-all"))
    words = "".join(full.split())  # a line may end after a hyphen
    for name, f in options().items():
        if not f.metadata["flag"]:  # only presets set it
            assert f"--{name.replace('_', '-')} " not in full
            continue
        assert (f"\n  --{name.replace('_', '-')}" in short) == f.metadata["basic"]
        assert f"\n  --{name.replace('_', '-')}" in full
        assert "".join(f.metadata["help"].split()) in words
    assert "--help-all" in short
    assert "attention[r].Needspooling'self-attention'.[30]" in words
    assert "[24]" in call("train", "--help")[1]


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["train", "x.csv", "--rate=0.1"], "'--learning-rate'"),
        (["trian"], "'train'"),
        (["train", "x.csv", "--epoch=3"], "'--epochs'"),
        (["train", "x.csv", "--head", "ful"], "'full'"),
    ],
)
def test_a_misspelled_command_flag_or_value_gets_a_suggestion(argv, meant, call):
    code, _, err = call(*argv)
    assert (code, err.count("\n")) == (2, 1)
    assert f"did you mean {meant}?" in err


def test_help_is_light():
    code = """
import sys
from limelight.cli import main
main(["--help"])
heavy = {"numpy", "torch", "sklearn", "jinja2", "pyarrow", "tokenizers", "onnxruntime"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_version(call):
    assert call("--version")[:2] == (0, f"limelight {limelight.__version__}\n")


def test_bars_are_wide_enough_where_the_terminal_does_not_know_its_size(call, monkeypatch):
    monkeypatch.setattr(os, "get_terminal_size", lambda handle: os.terminal_size((0, 0)))
    for name in ("TQDM_NCOLS", "TQDM_NROWS"):
        monkeypatch.setenv(name, "1")
        monkeypatch.delenv(name)
    call("--version")
    assert (os.environ["TQDM_NCOLS"], os.environ["TQDM_NROWS"]) == ("80", "24")


# ---------------------------------------------------------------- streams that are closed or full


class Full(io.StringIO):
    """Standard error on a disk that is full."""

    def write(self, text: str = "") -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    flush = write


def redirected(how: str, *argv: object) -> subprocess.CompletedProcess[str]:
    """A command as a shell starts it with its streams redirected."""
    command = ["sh", "-c", f'exec "$@" {how}', "sh", sys.executable, "-m", "limelight", *map(str, argv)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("stream", [None, Full()], ids=["closed", "full"])
@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("train", "TABLE", "--preset", "tiny", "--epochs", "1", "--out", "OUT"), "saved OUT"),
        (("encode", "TABLE", "--preset", "tiny", "--out", "OUT"), "saved OUT"),
        (("evaluate", "MODEL", "TABLE"), "100.00%"),
        (("embed", "MODEL", "TABLE", "--out", "OUT.npy"), "saved OUT.npy: 30 x 4 x 64"),
        (("report", "MODEL", "TABLE", "--out", "OUT.html"), "saved OUT.html"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_progress_that_cannot_be_shown_does_not_stop_the_work(
    argv, said, stream, call, model, table, tmp_path, monkeypatch
):
    monkeypatch.setattr(sys, "stderr", stream)
    places = {"MODEL": str(model), "TABLE": str(table), "OUT": str(tmp_path / "out")}
    for name, place in places.items():
        argv, said = [each.replace(name, place) for each in argv], said.replace(name, place)
    code, out, err = call(*argv)
    assert (code, err) == (0, "")
    assert said in out
    assert sys.stderr is stream


@pytest.mark.parametrize("how", ["2>&-", "2>/dev/full"])
def test_what_cannot_be_said_changes_no_exit_code(how, model, table):
    if how.endswith("full") and not os.path.exists("/dev/full"):
        pytest.skip("no such device here")
    done = redirected(how, "evaluate", model, "no.csv")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")
    done = redirected(how, "predict", model, table)
    assert (done.returncode, done.stdout.count("\n")) == (0, 31)


def test_no_file_is_opened_under_the_number_of_a_closed_stream():
    code = """
import os
os.close(0), os.close(2)
import sys
sys.stderr = None
from limelight.cli import main
main(["--version"])
print([os.path.samestat(os.fstat(k), os.stat(os.devnull)) for k in (0, 2)], os.open(os.devnull, 0) > 2)
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.splitlines()[1:] == ["[True, True] True"]


# ---------------------------------------------------------------- evaluate


def test_evaluate(call, model, new_rows):
    code, out, _ = call("evaluate", model, new_rows, "--text", "text", "--label", "stars")
    assert code == 0
    assert out.startswith("None of these rows was learnt from.\n")
    assert "100.00%" in out
    assert "(95% interval of the accuracy: 88.6% to 100.0%)" in out
    assert "true \\ predicted   1   5\n1                 15   0\n5                  0  15\n" in out


def test_evaluate_puts_the_rows_that_were_not_learnt_from_first(call, model, table, tmp_path):
    """Of the training rows one is held out; a table of both has the wrong labels where it is new."""
    _, out, _ = call("evaluate", model, table, "--json")
    found = json.loads(out)
    assert (found["rows"], found["of_rows"], found["learnt_from"]) == (1, 30, 29)
    wrong = [6 - star for star in STARS[:2]]
    both = write_csv(tmp_path / "both.csv", text=[*TEXTS, *NEW[:2]], stars=[*STARS, *wrong])
    _, out, _ = call("evaluate", model, both)
    assert out.startswith("29 of these 32 rows were learnt from; the figures are of the other 3.\n")
    first, second = (line.split() for line in out.splitlines()[3:5])
    assert first[:7] == ["3", "rows", "not", "learnt", "from", "3", "33.33%"]
    assert second[:4] == ["all", "rows", "32", "93.75%"]
    learnt = json.loads((model / "config.json").read_bytes())["facts"]["learnt_rows"]
    known = LearntRows.from_fact(learnt).has(TEXTS)
    only = write_csv(
        tmp_path / "only.csv",
        **{
            name: [x for x, one in zip(column, known, strict=True) if one]
            for name, column in (("text", TEXTS), ("stars", STARS))
        },
    )
    _, out, _ = call("evaluate", model, only)
    assert out.startswith("All of these 29 rows were learnt from: the figures say how well it remembers")


def test_a_model_of_an_older_version_does_not_know_its_rows(call, model, table, tmp_path):
    old = Parts(**{**vars(open_folder(model)), "facts": {}})
    save_folder(tmp_path / "old", old)
    _, out, _ = call("evaluate", tmp_path / "old", table)
    assert out.startswith("This model does not know which rows it learnt from;")
    assert json.loads(call("evaluate", tmp_path / "old", table, "--json")[1])["learnt_from"] is None


def test_evaluate_of_many_long_labels_fits_a_terminal():
    labels = [f"{k}: a label of the kind that people write out in full, number {k}" for k in range(14)]
    confusion = (np.eye(14, dtype=int) * 9).tolist()
    confusion[3][5], confusion[8][1] = 2, 4
    classes = {name: {"rows": 9, "precision": 1.0, "recall": 1.0, "f1": 1.0} for name in labels}
    results = SimpleNamespace(to_dict=dict)
    data = {"data": "test.csv", "accuracy": 0.9, "classes": classes, "confusion": confusion}
    rows = HeldOut.of({"model": None}, 126)
    lines = _format_results(data, _Measured(SimpleNamespace(facts={}), rows, results, results, None))
    lines = lines.splitlines()[2:]
    assert max(map(len, lines)) <= 100
    assert [(line[:2], line[-1]) for line in lines[-2:]] == [("8:", "4"), ("3:", "2")]
    assert len({line.split("  ")[0] for line in lines[3:]}) == len(lines[3:])  # the labels stay different


def test_evaluate_json_and_threshold(call, model, tmp_path):
    wrong = write_csv(tmp_path / "wrong.csv", text=NEW, stars=[6 - star for star in STARS])
    code, out, err = call("evaluate", model, wrong, "--json", "--at-least", "0.5")
    assert (code, err) == (1, "limelight: accuracy 0.00% is below 50.00%\n")
    found = json.loads(out)
    assert found["accuracy"] == 0.0
    assert found["confusion"] == [[0, 15], [15, 0]]
    assert found["classes"]["5"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "rows": 15}
    assert call("evaluate", model, wrong, "--at-least", "0")[0] == 0


def test_a_byte_order_mark_is_no_part_of_the_first_line(call, model):
    lines = [b"cold and stale\n", b"warm and fresh\n"]
    _, plain, _ = call("predict", model, stdin=b"".join(lines))
    _, marked, _ = call("predict", model, stdin=b"\xef\xbb\xbf" + b"".join(lines))
    assert marked == plain
    assert plain.splitlines()[1].endswith(",cold and stale")


def test_pairs_with_usual_names_need_no_flags(call, tmp_path):
    first, second, labels = pairs(40)
    table = write_csv(tmp_path / "p.csv", premise=first, hypothesis=second, label=labels)
    code, out, _ = call("encode", table, "--out", tmp_path / "data", "--json")
    assert code == 0
    assert json.loads(out)["columns"] == {"text": "premise", "label": "label", "text2": "hypothesis"}


def test_evaluate_pairs(call, pair_model, tmp_path):
    first, second, labels = pairs(40, seed=8)
    path = write_csv(tmp_path / "p.csv", premise=first, hypothesis=second, label=labels)
    code, out, _ = call("evaluate", pair_model, path, "--json")
    assert code == 0
    assert json.loads(out)["accuracy"] == 1.0


# ---------------------------------------------------------------- predict


def test_predict_table_to_csv(call, model, table):
    code, out, _ = call("predict", model, table)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["text"] for row in rows] == TEXTS
    assert [int(row["label"]) for row in rows] == STARS
    assert all(0.5 <= float(row["confidence"]) <= 1 for row in rows)


def test_predict_a_table_that_is_not_utf8(call, refused, model, tmp_path):
    path = tmp_path / "new.csv"
    path.write_bytes("text\nThe café was “lovely”\n".encode("cp1252"))
    answer, guess = call("predict", model, path)[1:]
    assert "The café was “lovely”" in answer
    assert "cp1252" in guess
    assert guess.count("\n") == 1  # however often the file is opened
    assert call("predict", model, path, "--encoding", "windows-1252") == (0, answer, "")
    assert call("predict", model, "--encoding", "cp1252", stdin=path.read_bytes()[5:]) == (0, answer, "")
    assert "klingon" in refused("predict", model, path, "--encoding", "klingon")
    assert "LIMELIGHT_ENCODING" not in os.environ


def test_predict_escapes_formulas_on_request(call, model):
    lines = b"=cmd()\n@sum\n-1 star\nfine\n"
    for flags, expected in (([], ""), (["--escape-formulas"], "'")):
        _, out, _ = call("predict", model, *flags, stdin=lines)
        texts = [row["text"] for row in csv.DictReader(io.StringIO(out))]
        assert texts == [f"{expected}=cmd()", f"{expected}@sum", f"{expected}-1 star", "fine"]


def test_predict_lines_to_jsonl_with_probabilities(call, model):
    lines = 'The soup was cold.\n\nGood 😀, "lovely"\r\nand warm'
    code, out, _ = call("predict", model, "--format", "jsonl", "--probabilities", stdin=lines.encode())
    found = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [row["text"] for row in found] == ["The soup was cold.", "", 'Good 😀, "lovely"', "and warm"]
    assert found[0]["label"] == 1
    assert found[0]["confidence"] == found[0]["probabilities"]["1"]
    expected = limelight.load(model).predict_proba([row["text"] for row in found])
    got = np.array([list(row["probabilities"].values()) for row in found])
    np.testing.assert_allclose(got, expected, atol=1e-6)


def test_blank_lines_are_answered_counted_and_left_out_if_asked(call, model, pair_model, tmp_path):
    lines = b"good\n\n \t\nbad\n"
    said = "limelight: warning: standard input: {} lines are blank; add --skip-bad to skip them\n"
    code, out, err = call("predict", model, "--json", stdin=lines)
    assert (code, err) == (0, said.format("2 of 4"))
    found = [json.loads(line) for line in out.splitlines()]
    assert [row["text"] for row in found] == ["good", "", " \t", "bad"]
    assert found[1]["label"] == limelight.load(model).predict([""])[0]
    assert call("embed", model, "--out", tmp_path / "m.npy", stdin=lines)[::2] == (0, err)
    assert call("predict", pair_model, stdin=b"good\tbad\n\tbad\n")[::2] == (0, said.format("1 of 2"))
    code, out, err = call("predict", model, "--json", "--skip-bad", stdin=lines)
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["good", "bad"]
    assert "skipped 2 of 4 lines" in err
    assert call("predict", model, stdin=b"good\nbad\n")[2] == ""


def test_predict_into_a_file(call, model, table, tmp_path):
    out = tmp_path / "answers.jsonl"
    assert call("predict", model, table, "--out", out) == (0, f"saved {out}: 30 rows\n", "")
    assert [json.loads(line)["label"] for line in out.read_text().splitlines()] == STARS
    assert call("predict", model, table, "--out", out)[0] == 2
    assert call("predict", model, table, "--out", out, "--overwrite", "--format", "csv")[0] == 0
    assert out.read_text().startswith("label,confidence,text,stars\n")


def test_predict_pairs_from_lines(call, pair_model):
    first, second, labels = pairs(10, seed=8)
    lines = "".join(f"{a}\t{b}\n" for a, b in zip(first, second, strict=True))
    code, out, _ = call("predict", pair_model, "-", stdin=lines.encode())
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["label"] for row in rows] == labels
    assert [row["text2"] for row in rows] == second


def test_predict_streams(model, monkeypatch, capfd):
    """Answers come before the input has ended, and only a bounded number of rows waits for them."""
    from limelight.cli import main
    from limelight.runtime import runner

    monkeypatch.setattr(runner, "CHUNK_TEXTS", (4, 4))
    seen = []

    class Lines:
        buffer = property(lambda self: self)
        isatty = staticmethod(lambda: False)

        def readline(self, size):
            if len(seen) == 12:
                return b""
            seen.append(capfd.readouterr().out.count("\n"))
            return b"The soup was cold. %d\n" % len(seen)

    monkeypatch.setattr(sys, "stdin", Lines())
    assert main(["predict", str(model)]) == 0
    assert seen == [1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0]


# ---------------------------------------------------------------- embed, explain


@pytest.mark.parametrize("suffix", ["npy", "safetensors", "parquet"])
@pytest.mark.parametrize("flat", [False, True])
def test_embed(suffix, flat, call, model, table, tmp_path, monkeypatch):
    from limelight.runtime import runner

    monkeypatch.setattr(runner, "CHUNK_TEXTS", (8, 8))  # several pieces
    out = tmp_path / f"m.{suffix}"
    code, said, _ = call("embed", model, table, "--out", out, *(["--flat"] if flat else []), "--json")
    expected = limelight.load(model).embed(TEXTS, flat=flat)
    assert code == 0
    assert json.loads(said)["shape"] == list(expected.shape)
    if suffix == "npy":
        found = np.load(out)
    elif suffix == "safetensors":
        found = load_file(out)["embeddings"]
    else:
        read = pq.read_table(out)
        shape = json.loads(read.schema.field("embedding").metadata[b"shape"])
        found = np.stack(read["embedding"].to_numpy()).reshape(-1, *shape)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_embed_lines(call, model, tmp_path):
    code, out, _ = call("embed", model, "--out", tmp_path / "m.npy", stdin=b"cold soup\nwarm soup\n")
    assert (code, out) == (0, f"saved {tmp_path / 'm.npy'}: 2 x 4 x 64\n")


def test_embed_with_the_bundled_reader(call, model, table, tmp_path):
    out = tmp_path / "v.npy"
    for flags, shape in (([], "30 x 24 x 600"), (["--flat"], "30 x 14400"), (["--vector"], "30 x 384")):
        code, said, _ = call("embed", "reader", table, "--out", out, "--overwrite", *flags)
        assert (code, said) == (0, f"saved {out}: {shape}\n")
    np.testing.assert_allclose(np.load(out), limelight.load("reader").encode(TEXTS), atol=1e-5)
    code, _, err = call("embed", model, table, "--out", tmp_path / "m.npy", "--vector")
    assert code == 2
    assert "--vector" in err
    assert "limelight embed" in call("predict", "reader", table)[2]


def test_explain_in_the_terminal_and_as_pictures(call, model, tmp_path):
    code, out, _ = call("explain", model, "The soup was cold.")
    assert code == 0
    assert out.splitlines()[0].startswith("1 ")
    assert out.index("What decided") < out.index("What each row read")
    assert json.loads(call("explain", model, "Cold & <b>rude</b>", "--json")[1])
    for suffix in ("html", "svg", "txt", "json"):
        path = tmp_path / f"picture.{suffix}"
        assert call("explain", model, "Cold & <b>rude</b>", "--out", path)[0] == 0
        assert path.stat().st_size > 100
    assert "<b>rude</b>" not in (tmp_path / "picture.html").read_text()


def test_explain_a_pair(call, pair_model):
    code, out, _ = call("explain", pair_model, "The soup was good.", "It was rude.")
    assert code == 0
    assert out.startswith("no ")


# ---------------------------------------------------------------- info, encode, the rest


def test_info_of_a_model(call, model):
    code, out, _ = call("info", model)
    assert code == 0
    assert "a text classifier of 16 words into 1, 5" in out
    found = json.loads(call("info", model, "--json")[1])
    arrays = load_file(model / "model.safetensors")
    assert sum(found["parameters"].values()) == sum(array.size for array in arrays.values())
    assert found["facts"]["results"]["test"]["accuracy"] == 1.0


def test_the_papers_pruning_table():
    """Appendix A: 54,000,000 hidden weights, 2,700,000 + 180,000 ones after pruning (p = 150, q = 10)."""
    full, pruned = (
        parameters_by_part(shapes(preset("yelp").override(**more).model, 2, 5, False))
        for more in ({}, {"head": "pruned"})
    )
    assert (full["hidden"], full["softmax"]) == (54_000_000, 15_000)
    assert (pruned["hidden"], pruned["softmax"]) == (2_880_000, 52_500)


@pytest.mark.parametrize("pair", [None, "gated", "concat"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_parts_are_those_of_the_network(name, pair):
    recipe = recipe_of(ARCHITECTURES[name], pair)
    network = network_of(recipe, pair is not None)
    parts = parameters_by_part(shapes(recipe.model, 42, 3, pair is not None))
    assert sum(parts.values()) == sum(w.numel() for w in network.parameters())
    assert parts["encoder"] == sum(w.numel() for w in network.encoder.parameters())
    softmax = [w for k, w in network.head.named_parameters() if k in ("W_2", "W_o")]
    assert parts["softmax"] == sum(w.numel() for w in softmax)


def test_encode_then_train(call, table, tmp_path):
    flags = ["--preset", "tiny", "--json"]
    code, out, _ = call("encode", table, "--out", tmp_path / "encoded", "--min-count", "2", *flags)
    found = json.loads(out)
    assert code == 0
    assert (found["rows"], found["labels"]) == ({"train": 26, "dev": 4}, [1, 5])
    flags = ["--preset", "tiny", "--epochs", "1", "--quiet"]
    assert call("train", tmp_path / "encoded", "--out", tmp_path / "model", *flags)[0] == 0
    assert limelight.load(tmp_path / "model").recipe.text.min_count == 2


def test_encode_for_the_reader_then_train(call, table, tmp_path):
    """Encoded data brings its start along; with few rows, nothing is held out."""
    code, out, _ = call("encode", table, "--out", tmp_path / "encoded", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["rows"] == {"train": 30}
    assert found["vectors"]["source"] == "reader"
    flags = ["--epochs", "1", "--quiet"]
    assert call("train", tmp_path / "encoded", "--out", tmp_path / "model", *flags)[0] == 0
    model = limelight.load(tmp_path / "model")
    assert model.embedding_shape == (24, 600)
    assert model.predict(["The soup was cold."]) == [1]


def test_pages_that_cannot_be_written_are_said_first(refused, model, table, tmp_path):
    (tmp_path / "there.html").write_text("mine")
    command = "report", model, table, "--out"
    assert "should end in .html" in refused(*command, tmp_path / "page.pdf")
    assert "--overwrite" in refused(*command, tmp_path / "there.html")
    assert (tmp_path / "there.html").read_text() == "mine"


def test_help_says_what_json_is(call, model):
    assert "print one JSON object for each text, for scripts" in " ".join(
        call("explain", "--help")[1].split()
    )
    assert isinstance(json.loads(call("explain", model, "good soup", "--json")[1]), dict)


def test_demo_with_few_sentences(call, refused, tmp_path):
    out = tmp_path / "demo"
    code, said, _ = call("demo", "--preset", "tiny", "--sentences", "60", "--out", out)
    assert code == 0
    assert "Without a label" in said
    assert "True label: " in said
    assert said.index("What decided") < said.index("What each row read")
    page = (out / "index.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "60 sentences" in page
    assert re.search(r"classifies \d+\.\d% of 2,355 sentences", page)
    assert "How far to trust it" in page
    assert limelight.load(out / "model").labels[0] == "very negative"
    assert Path(out, "model", "README.md").read_text().count("very positive") > 0
    code, _, err = call("demo", "--preset", "tiny", "--sentences", "20", "--out", out)  # again, of the least
    assert code == 0
    assert "\n20 training, " in err
    assert "warning" not in err
    assert len(limelight.load(out / "model").labels) == 5
    (out / "model" / "notes.txt").write_text("mine")
    assert "also holds notes.txt" in refused("demo", "--out", out)  # at once


@pytest.mark.parametrize("mine", ["model", "index.html"])
def test_demo_writes_over_nothing_of_one_s_own(refused, model, tmp_path, mine: str):
    if mine == "model":
        shutil.copytree(model, tmp_path / mine)
    else:
        (tmp_path / mine).write_text("mine")
    assert f"{mine} exists and is not from the demo" in refused("demo", "--out", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [mine]


def test_demo_leaves_a_model_folder_alone(refused, model):
    before = sorted(path.name for path in model.iterdir())
    assert f"{model} is a model folder" in refused("demo", "--out", model)
    assert sorted(path.name for path in model.iterdir()) == before


def test_explain_finds_out_what_decided_as_asked(call, model, pair_model):
    for command in (
        ("explain", model, "Good soup, bad waiter."),
        ("explain", pair_model, "Good.", "Bad soup."),
    ):
        found = {}
        for by in ("effect", "leave-one-out"):
            code, out, _ = call(*command, "--by", by, "--json")
            side = json.loads(out).get("first", json.loads(out))
            assert (code, len(side["decided"])) == (0, len(side["words"]))
            found[by] = tuple(side["decided"])
        assert len(set(found.values())) == 2
        assert json.loads(call(*command, "--json")[1]) == json.loads(
            call(*command, "--by", "effect", "--json")[1]
        )


def test_guessed_columns_are_named_on_a_terminal(call, model, table, monkeypatch):
    monkeypatch.setattr("limelight.cli._rows.on_terminal", lambda: True)
    assert "text column: text, label column: stars (guessed)" in call("evaluate", model, table)[2]
    named = call("evaluate", model, table, "--text", "text", "--label", "stars")
    assert "guessed" not in named[2]


# ---------------------------------------------------------------- tables keep their columns


@pytest.fixture
def orders(tmp_path):
    """A table with ids before and after the text, and labels of its own."""
    count = len(TEXTS)
    return write_csv(
        tmp_path / "orders.csv", id=list(range(count)), text=TEXTS, label=STARS, city=["Ghent"] * count
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "xlsx"])
def test_predict_keeps_the_columns_of_a_table(suffix, call, model, orders, tmp_path, monkeypatch):
    from limelight.runtime import runner

    monkeypatch.setattr(runner, "CHUNK_TEXTS", (8, 8))  # several pieces
    out = tmp_path / f"answers.{suffix}"
    code, said, err = call("predict", model, orders, "--out", out)
    assert (code, said) == (0, f"saved {out}: 30 rows\n")
    assert "'label' is 'given_label'" in err
    if suffix == "parquet":
        rows = pq.read_table(out).to_pylist()
    elif suffix == "xlsx":
        rows = pandas.read_excel(out).to_dict("records")
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        rows = list(csv.DictReader(io.StringIO(out.read_text()), delimiter=",\t"[suffix == "tsv"]))
    assert list(rows[0]) == ["label", "confidence", "id", "text", "given_label", "city"]
    assert [int(row["id"]) for row in rows] == list(range(30))
    assert [int(row["label"]) for row in rows] == [int(row["given_label"]) for row in rows] == STARS


def test_predict_adds_further_labels_and_the_words_that_decided(call, model, pair_model, orders):
    flags = ("--top", "3", "--words", "--format", "jsonl")
    rows = [json.loads(line) for line in call("predict", model, orders, *flags)[1].splitlines()]
    assert list(rows[0])[:5] == ["label", "confidence", "label_2", "confidence_2", "words"]  # of two classes
    loaded = limelight.load(model)
    for row, reading in zip(rows, loaded.read_stream(TEXTS), strict=True):
        assert row["label_2"] == ({1, 5} - {row["label"]}).pop()
        assert row["confidence"] + row["confidence_2"] == pytest.approx(1, abs=1e-5)
        expected = sorted(zip(reading.words, reading.decided, strict=True), key=lambda each: -abs(each[1]))
        assert [word for word, _ in row["words"]] == [word for word, _ in expected[: len(row["words"])]]
        np.testing.assert_allclose([w for _, w in row["words"]], [w for _, w in expected[:5]], atol=1e-5)
    (head, row) = call("predict", pair_model, "--words", stdin=b"Good soup\tBad soup\n")[1].splitlines()
    assert head == "label,confidence,words,words2,text,text2"
    strongest = limelight.load(pair_model).read("Good soup", "Bad soup").second.top_words(1)[0][0]
    assert strongest in row.partition("Good soup")[0]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_embed_keeps_the_columns_of_a_table(suffix, call, model, orders, tmp_path):
    out = tmp_path / f"m.{suffix}"
    assert call("embed", model, orders, "--flat", "--out", out)[:2] == (0, f"saved {out}: 30 x 256\n")
    if suffix == "parquet":
        rows = pq.read_table(out).to_pylist()
    elif suffix == "jsonl":
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    else:
        csv.field_size_limit(10**6)
        rows = [
            row | {"embedding": json.loads(row["embedding"])}
            for row in csv.DictReader(io.StringIO(out.read_text()))
        ]
    assert list(rows[0]) == ["embedding", "id", "text", "label", "city"]
    expected = limelight.load(model).embed(TEXTS, flat=True)
    np.testing.assert_allclose([row["embedding"] for row in rows], expected, rtol=1e-5, atol=1e-6)


def test_what_cannot_be_written_is_said(refused, model, orders, tmp_path):
    for form in ("parquet", "xlsx"):
        assert "--out" in refused("predict", model, orders, "--format", form)
    assert "top is 0" in refused("predict", model, orders, "--top", "0")
    assert "'stars'" in refused("predict", model, orders, "--text", "stars", "--out", tmp_path / "a.csv")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_an_interrupted_prediction_leaves_nothing(suffix, call, model, orders, tmp_path, monkeypatch):
    from limelight.runtime.model import Model

    def interrupted(self, texts, *rest, **options):
        yield Model.predict_proba(self, [next(texts)])
        raise KeyboardInterrupt

    monkeypatch.setattr(Model, "predict_proba_stream", interrupted)
    monkeypatch.setattr(Model, "predict_proba", lambda self, texts: np.array([[0.5, 0.5]], np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error", pytest.PytestUnraisableExceptionWarning)
        code, out, err = call("predict", model, orders, "--out", tmp_path / f"a.{suffix}")
        gc.collect()
    assert (code, out, "Traceback" in err) == (1, "", False)
    assert [each.name for each in tmp_path.iterdir()] == ["orders.csv"]


# ---------------------------------------------------------------- explain many texts


def test_explain_rows_of_a_table_on_one_page(call, model, orders, tmp_path):
    out = tmp_path / "rows.html"
    argv = ("explain", model, "--data", orders, "--text", "text", "--label", "label")
    assert call(*argv, "--rows", "2,5-6", "--out", out)[:2] == (0, f"saved {out}\n")
    page = out.read_text(encoding="utf-8")
    assert re.findall("<h2>(.*?)</h2>", page) == ["row 2", "row 5", "row 6"]
    found = [json.loads(line) for line in call(*argv, "--rows", "31,2", "--json")[1].splitlines()]
    assert [each["text"] for each in found] == [TEXTS[0], TEXTS[29]]
    shown = call(*argv, "--rows", "3")[1]
    assert shown.startswith("row 3\n")
    assert "What decided" in shown


def test_explain_lines_of_standard_input(call, model, pair_model):
    code, out, _ = call("explain", model, "--data", "-", "--json", stdin=b"Good soup\n\nCold soup\n")
    assert code == 0
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["Good soup", "", "Cold soup"]
    code, out, _ = call("explain", pair_model, "--data", "-", stdin=b"Good soup\tBad soup\n")
    assert (code, out.splitlines()[0]) == (0, "line 1")


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "--data"),
        (["soup", "--data", "TABLE"], "--data"),
        (["soup", "--rows", "1"], "--rows"),
        (["--data", "TABLE", "--rows", "0"], "from 1"),
        (["--data", "TABLE", "--rows", "5-2"], "ranges go up"),
        (["--data", "TABLE", "--rows", "1;2"], "3,7-9"),
        (["--data", "TABLE", "--rows", "1-900"], "more than 200"),
        (["--data", "TABLE", "--rows", "2,32"], "row 32"),
        (["--data", "TABLE", "--rows", "2-3", "--out", "a.svg"], "several texts as a.svg"),
        (["--data", "no.csv"], "no.csv"),
    ],
)
def test_explain_says_which_texts_it_cannot_show(argv, said, refused, model, orders, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in refused("explain", model, *(str(orders) if each == "TABLE" else each for each in argv))


def test_explain_too_many_texts(refused, model, tmp_path, monkeypatch):
    from limelight.cli import explain

    monkeypatch.setattr(explain, "MAX_TEXTS_DRAWN", 3)
    table = write_csv(tmp_path / "many.csv", text=["good soup"] * 4)
    assert "--rows" in refused("explain", model, "--data", table)


def test_every_row_of_a_reader_has_words_or_no_clear_aspect(call):
    lines = call("info", "reader")[1].splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("words that each row")) + 1
    rows = limelight.load("reader").facts["rows"]
    expected = [", ".join(words) or "no clear aspect" for words in rows]
    assert [line[6:] for line in lines[first : first + len(rows)]] == expected


def test_a_model_says_which_version_made_it(call, model, tmp_path):
    made = f"made by Limelight {limelight.__version__};"
    assert made in call("info", model)[1]
    assert json.loads(call("info", model, "--json")[1])["limelight"] == limelight.__version__
    assert "made by Limelight" in call("info", "reader")[1]
    assert f"Limelight {limelight.__version__} wrote" in (model / "README.md").read_text()
    assert limelight.load(model).version == limelight.__version__
    other = tmp_path / "later"
    shutil.copytree(model, other)
    config = json.loads((other / "config.json").read_text()) | {"format": 99, "limelight": "9.1.0"}
    (other / "config.json").write_text(json.dumps(config))
    assert "Limelight 9.1.0" in call("info", other)[2]
