"""Every command, tried as a new user would: one clear line, exit code 2, nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import limelight
from reviews import FLAGS, review_table, write_csv

# Tables that cannot be used: their content and what is said about it.
TABLES = {
    "empty.csv": (b"", "is empty; its first line must name the columns"),
    "header.csv": (b"text,stars\n", "has no rows"),
    "bytes.csv": (b"text,stars\ncaf\x81,5\nbad,1\n", "is not UTF-8; save the file as UTF-8"),
    "columns.csv": (b"review_body,stars\ngood,5\nbad,1\n", "has no column 'text'"),
    "notes.docx": (b"good\nbad\n", "its name must end in .csv, .tsv, .jsonl"),
    "hollow.csv": (b"text,stars\ngood,5\n,1\n", "row 3: no text in column 'text'"),
    "broken.jsonl": (b'{"text": "good", "stars": 5}\n{"text": \n', "is not JSON"),
    "array.jsonl": (b"[1]\n[2]\n", "line 1: [1] is not a JSON object; every line must be a JSON object"),
    "fake.parquet": (b"text,stars\n", "is not a parquet file"),
    "fields.csv": (b"text,stars\ngood, very good,5\nbad,1\n", "row 2: it has 3 fields, the header has 2"),
    "wrong.jsonl": (b'{"text": [7], "stars": 5}\n', "[7] in column 'text' is not text"),
    "quote.csv": (b'text,stars\n"good,5\nbad,1\n', "a quotation mark is never closed"),
}
UNLABELLED = {
    "one row.csv": (b"text,stars\ngood,5\n", "every label is 5; at least two classes"),
    "one class.csv": (b"text,stars\ngood,5\nfine,5\n", "every label is 5; at least two classes"),
    "no label.csv": (b"text,stars\ngood,5\nbad,\n", "row 3: no label in column 'stars'"),
}
COLUMNS = ["--text", "text", "--label", "stars"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, (content, _) in (TABLES | UNLABELLED).items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def untouched(place: Path) -> bool:
    """Nothing but the tables is there, hidden files included."""
    return {path.name for path in place.iterdir()} == set(TABLES | UNLABELLED)


@pytest.mark.parametrize("name", TABLES | UNLABELLED)
def test_train(name, refused, place):
    message = (TABLES | UNLABELLED)[name][1]
    assert message in refused("train", place / name, *COLUMNS, "--out", place / "model", *FLAGS)
    assert untouched(place)


@pytest.mark.parametrize("name", TABLES | UNLABELLED)
def test_encode(name, refused, place):
    message = (TABLES | UNLABELLED)[name][1]
    assert message in refused("encode", place / name, *COLUMNS, "--out", place / "data")
    assert untouched(place)


@pytest.mark.parametrize("name", TABLES)
def test_evaluate(name, refused, place, model):
    assert TABLES[name][1] in refused("evaluate", model, place / name, *COLUMNS)


@pytest.mark.parametrize("name", TABLES)
def test_predict(name, refused, place, model):
    out = place / "answers.csv"
    assert TABLES[name][1] in refused("predict", model, place / name, "--text", "text", "--out", out)
    assert untouched(place)


@pytest.mark.parametrize("name", TABLES)
def test_embed(name, refused, place, model):
    out = place / "m.npy"
    assert TABLES[name][1] in refused("embed", model, place / name, "--text", "text", "--out", out)
    assert untouched(place)


@pytest.mark.parametrize(
    "argv",
    [
        ("evaluate", "MODEL", "TABLE"),
        ("predict", "MODEL", "TABLE"),
        ("embed", "MODEL", "TABLE", "--out", "m.npy"),
        ("explain", "MODEL", "good soup"),
        ("info", "MODEL"),
    ],
    ids=lambda argv: argv[0],
)
def test_a_folder_that_is_no_model(argv, refused, place, table):
    (place / "folder").mkdir()
    (place / "folder" / "config.json").write_text("{}")
    for model, message in (
        ("nothing", "is not a folder"),
        ("folder", "config.json was not written by Limelight"),
        ("one row.csv", "is not a folder"),
    ):
        places = {"MODEL": place / model, "TABLE": table, "m.npy": place / "m.npy"}
        assert message in refused(*(places.get(each, each) for each in argv))


def test_unknown_label_at_evaluation(refused, model, tmp_path):
    strange = write_csv(tmp_path / "strange.csv", text=["good", "bad"], stars=[5, 3])
    err = refused("evaluate", model, strange)
    assert "row 3: the label '3' does not occur in the training data, which has: 1, 5" in err


def test_unknown_label_in_dev_or_test(refused, table, tmp_path):
    strange = write_csv(tmp_path / "strange.csv", text=["good", "bad"], stars=[5, 3])
    for part in ("--dev", "--test"):
        err = refused("train", table, part, strange, "--out", tmp_path / "m", *FLAGS)
        assert "the label '3' does not occur in the training data" in err
    assert not list(tmp_path.glob("*m*.run*"))


def test_a_misspelt_column_is_suggested(refused, table, tmp_path):
    err = refused("train", table, "--text", "txt", "--out", tmp_path / "m")
    assert "has no column 'txt'; did you mean 'text'?" in err


def test_missing_file(refused, model, tmp_path):
    for argv in (
        ("train", "no.csv", "--out", tmp_path / "m"),
        ("evaluate", model, "no.csv"),
        ("predict", model, "no.csv"),
    ):
        assert "no.csv" in refused(*argv)


def test_a_huge_line_and_emoji_are_fine(call, model, tmp_path):
    huge = "good soup " * 20_000
    path = write_csv(tmp_path / "huge.csv", text=[huge, "😀👍🏽 café ☕", "ok"], stars=[5, 5, 1])
    assert call("evaluate", model, path)[0] == 0
    code, out, _ = call("predict", model, path, "--json")
    assert code == 0
    assert json.loads(out.splitlines()[1])["text"] == "😀👍🏽 café ☕"
    assert call("explain", model, "😀👍🏽 café ☕")[0] == 0


def test_skip_bad_rows(call, model, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("text,stars\nThe soup was cold.,1\n,5\nThe soup was warm.,\nThe soup was good.,5\n")
    code, out, _ = call("evaluate", model, path, "--skip-bad", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 2)


def test_explain_needs_words(call, refused, model, pair_model, tmp_path):
    for text in ("", " \n", "\u200b", "\x01"):
        said = refused("explain", model, text, "--out", tmp_path / "a.html")
        assert f"no words in {text!r}" in said
    assert not list(tmp_path.iterdir())
    assert "there are no words in ''" in refused("explain", pair_model, "good", "")
    assert call("explain", model, "unheard")[0] == 0  # a word it does not know is a word
    assert call("predict", model, stdin=b"\ngood\n")[1].count("\n") == 3  # every row gets an answer


# ---------------------------------------------------------------- standard input


@pytest.mark.parametrize(
    ("lines", "argv", "message"),
    [
        (b"good\ncaf\xe9\n", [], "line 2: not UTF-8"),
        (b"good\n", ["--text", "text"], "--text"),
        (b"good\n", ["--out", "answers.txt"], "answers.txt should end in .csv, .tsv"),
    ],
)
def test_bad_lines(lines, argv, message, call, model):
    code, _, err = call("predict", model, *argv, stdin=lines)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_no_lines(call, refused, model, tmp_path):
    assert call("predict", model, stdin=b"")[:2] == (0, "label,confidence,text\n")
    assert "no texts to embed" in refused("embed", model, "--out", tmp_path / "m.npy", stdin=b"")
    assert not list(tmp_path.iterdir())


def test_standard_input_that_is_closed(refused, model, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    for argv in (("predict", model), ("predict", model, "-"), ("embed", model, "--out", tmp_path / "m.npy")):
        said = "limelight: standard input is closed; give a table\n"
        assert refused(*argv) == said
    assert not list(tmp_path.iterdir())


def test_standard_output_that_is_closed(call, refused, model, table, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    for argv in (
        ("predict", model, table),
        ("evaluate", model, table),
        ("info", model),
        ("explain", model, "good soup"),
    ):
        said = "limelight: standard output is closed; redirect it to a file: > FILE\n"
        assert refused(*argv) == said
    for argv in (  # the answer goes elsewhere
        ("predict", model, table, "--out", tmp_path / "a.csv"),
        ("explain", model, "good soup", "--out", tmp_path / "a.html"),
        ("train", table, "--out", tmp_path / "m", *FLAGS),
        ("evaluate", model, table, "--at-least", "0"),
    ):
        assert call(*argv) == (0, "", "")
    assert {"a.csv", "a.html", "m"} <= {path.name for path in tmp_path.iterdir()}
    assert sys.stdout is None


def test_pairs_and_single_texts_are_told_apart(call, refused, model, pair_model, table):
    assert "line 1: no tab" in call("predict", pair_model, stdin=b"only one\n")[2]
    assert "line 2: 2 tabs" in call("predict", pair_model, stdin=b"a\tb\na\tb\tc\n")[2]
    for command in (["predict"], ["evaluate"], ["report", "--out", table.parent / "r.html"]):
        err = refused(command[0], model, table, *command[1:], "--text", "text", "--text2", "stars")
        assert "--text2 stars is for models of pairs" in err
    assert (
        "unrecognized arguments: --text2" in call("embed", pair_model, table, "--text2", "b", "--out", "e")[2]
    )
    assert "which two columns are the pair of texts?" in refused("predict", pair_model, table)
    assert "reads pairs of texts" in refused("explain", pair_model, "only one")
    assert "reads single texts" in refused("explain", model, "one", "two")


# ---------------------------------------------------------------- flags


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("trian",), "invalid choice: 'trian'"),
        (("train",), "--out"),
        (("predict", "MODEL", "TABLE", "--json", "--out", "y.csv"), "--json and csv"),
        (("explain", "MODEL", "good soup", "--json", "--out", "y.svg"), "--json"),
        (("train", "TABLE"), "--out"),
        (("train", "TABLE", "--out", "m", "--rows", "many"), "argument --rows: invalid int value: 'many'"),
        (("train", "TABLE", "--out", "m", "--rows", "0"), "rows is 0; it must be at least 1"),
        (("train", "TABLE", "--out", "m", "--dropout", "2"), "dropout is 2.0; it must be at most 0.99"),
        (("train", "TABLE", "--out", "m", "--row", "3"), "unrecognized arguments: --row 3"),
        (("train", "TABLE", "--out", "m", "--preset", "huge"), "unknown preset 'huge'"),
        (
            ("train", "TABLE", "--out", "m", "--holdout", "1"),
            "holdout is 1.0; it must be a number of at least 0 and below 1",
        ),
        (("train", "TABLE", "--out", "m", "--preset", "light", "--vectors", "no.txt"), "no.txt"),
        (("train", "TABLE", "--out", "m", "--vectors", "no.txt"), "--vectors is 'no.txt', but 'reader'"),
        (
            ("train", "TABLE", "--out", "m", "--optimizer", "magic"),
            "argument --optimizer: invalid choice: 'magic'",
        ),
        (("train", "TABLE", "--out", "."), "cannot be the output; name a new folder"),
        (("encode", "TABLE"), "the following arguments are required: --out"),
        (("embed", "MODEL", "TABLE", "--out", "m.txt"), "m.txt must end in .npy or .safetensors"),
        (("explain", "MODEL", "good", "--out", "m.bmp"), "m.bmp"),
        (("evaluate", "MODEL", "TABLE", "--at-least", "90"), "--at-least is 90; it must be from 0 to 1"),
        (("encode", "TABLE", "--out", "m", "--seed", "-1"), "seed is -1; it must be at least 0"),
        (("train", "TABLE", "--out", "m", "--seed", str(2**63)), f"it must be at most {2**63 - 1}"),
        (("demo", "--preset", "huge"), "unknown preset 'huge'"),
        (("demo", "--out", "TABLE"), "new.csv: Not a directory"),
        (("demo", "--sentences", "19"), "--sentences is 19; it must be at least 20"),
        (("demo", "--sentences", "0"), "--sentences is 0; it must be at least 20"),
        (("demo", "--sentences", "-3"), "--sentences is -3; it must be at least 20"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_flags(argv, message, refused, model, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    assert message in refused(*({"MODEL": model, "TABLE": table}.get(each, each) for each in argv))
    assert sorted(tmp_path.iterdir()) == before


def test_an_encoded_data_set_is_settled(call, refused, table, tmp_path):
    assert call("encode", table, "--out", tmp_path / "data")[0] == 0
    err = refused("train", tmp_path / "data", "--min-count", "3", "--out", tmp_path / "m")
    assert "is already encoded; give --min-count to 'limelight encode' instead" in err
    for flags in (["--holdout", "0"], ["--holdout", "0.3"], ["--skip-bad"], ["--dev", "dev.csv"]):
        err = refused("train", tmp_path / "data", *flags, "--out", tmp_path / "m")
        assert f"is already encoded; give {flags[0]} to 'limelight encode' instead" in err
    assert "already exists" in refused("encode", table, "--out", tmp_path / "data")


def test_existing_files_stay(refused, model, table, tmp_path):
    for argv in (
        ("predict", model, table, "--out", tmp_path / "a.csv"),
        ("embed", model, table, "--out", tmp_path / "a.npy"),
        ("explain", model, "good", "--out", tmp_path / "a.html"),
    ):
        argv[-1].write_text("mine")
        assert "already exists" in refused(*argv)
        assert argv[-1].read_text() == "mine"


def test_where_the_page_cannot_be_written_is_said_before_the_work(refused, model, table, monkeypatch):
    monkeypatch.setattr("limelight.explain.report.measure_report", lambda *arguments, **options: 1 / 0)
    page = table / "report.html"
    said = f"limelight: cannot write {table}: Not a directory\n"
    assert refused("report", model, table, "--out", page) == said


def test_a_row_has_its_number_in_the_table_whatever_is_skipped(call, model, tmp_path):
    table = write_csv(tmp_path / "odd.csv", text=["", "good", "bad"], stars=[5, 5, 7])
    good = write_csv(tmp_path / "good.csv", text=["good", "bad"], stars=[5, 1])
    for argv in (
        ("evaluate", model, table, "--label", "stars", "--skip-bad"),
        ("encode", good, "--dev", table, "--label", "stars", "--skip-bad", "--out", tmp_path / "new"),
        ("report", model, table, "--label", "stars", "--skip-bad", "--out", tmp_path / "new" / "page.html"),
    ):
        code, _, err = call(*argv)
        assert code == 2
        assert "odd.csv, row 4: the label '7' does not occur" in err
    assert not (tmp_path / "new").exists()


def test_nothing_that_a_run_reads_is_removed_with_the_run_before(refused, table, tmp_path):
    run = tmp_path / "m.run"
    run.mkdir()
    (run / "run.json").write_text("{}")
    (run / "dev.csv").write_bytes(table.read_bytes())
    said = refused("train", table, "--dev", run / "dev.csv", "--out", tmp_path / "m", "--overwrite", *FLAGS)
    assert said == f"limelight: {run} holds the data and would be removed; choose another --out\n"
    assert (run / "dev.csv").is_file()


def test_rows_left_out_are_counted_aloud(call, model, tmp_path):
    table = write_csv(tmp_path / "gaps.csv", text=["good", "", "cold", " "] * 5, stars=[5, 1, 1, 5] * 5)
    which = "skipped 10 of its 20 rows, which cannot be used: rows 3, 5, 7, 9, 11, ..."
    said = f"limelight: warning: {table}: {which}\n"
    for argv in (
        ("train", table, "--out", tmp_path / "m", *FLAGS),
        ("encode", table, "--out", tmp_path / "data"),
        ("evaluate", model, table),
        ("predict", model, table),
        ("embed", model, table, "--out", tmp_path / "m.npy"),
    ):
        code, _, err = call(*argv, "--skip-bad")
        assert (code, err.count(said)) == (0, 1), argv


def test_text_that_is_not_unicode_in_names_and_labels(call, tmp_path):
    """A file name may hold any bytes, and JSON half of a character."""
    table = tmp_path / os.fsdecode(b"caf\xe9.jsonl")
    lines = [{"text": f"good {k}", "label": "\ud83d"} for k in range(9)]
    lines += [{"text": f"cold {k}", "label": "z"} for k in range(9)]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert call("train", table, "--out", tmp_path / "m", *FLAGS)[0] == 0
    card = (tmp_path / "m" / "README.md").read_text(encoding="utf-8")
    assert "caf?.jsonl" in card
    assert "- ?\n- z\n" in card or "- z\n- ?\n" in card
    assert call("report", tmp_path / "m", table, "--out", tmp_path / "r.html")[0] == 0
    assert "caf?.jsonl" in (tmp_path / "r.html").read_text(encoding="utf-8")


# ---------------------------------------------------------------- as a process


def test_a_closed_pipe_ends_the_program_as_it_does_other_tools(model, tmp_path):
    table = review_table(tmp_path / "many.csv", 20_000)
    script = f"{sys.executable} -m limelight predict {model} {table} | head -n 2; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (141, 2, "")  # as for `yes | head`


def test_closed_standard_output_is_one_line():
    command = f"{sys.executable} -m limelight info tiny >&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("limelight: standard output is closed")


def test_exit_code_and_one_line_of_a_process(tmp_path):
    done = subprocess.run([sys.executable, "-m", "limelight", "info", "huge"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("limelight: huge is not a folder")
    assert done.stderr.count("\n") == 1


def test_out_of_memory_and_strange_errors(monkeypatch, call):
    from limelight.cli import info

    for error, code, message in (
        (MemoryError(), 1, "out of memory"),
        (KeyboardInterrupt(), 1, "interrupted"),
        (PermissionError(13, "Permission denied", "secret.csv"), 2, "secret.csv: Permission denied"),
        (type("OutOfMemoryError", (RuntimeError,), {})(), 1, "out of GPU memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), 1, "out of memory"),
        (RuntimeError("can't start new thread"), 1, "out of memory"),
        (ImportError("x.so: failed to map segment from shared object"), 1, "out of memory"),
    ):

        def fail(args: object, error: BaseException = error) -> int:
            raise error

        monkeypatch.setattr(info, "run", fail)
        found, out, err = call("info", "small")
        assert (found, out, err.count("\n")) == (code, "", 1)
        assert message in err


def test_out_of_memory_is_said_without_memory(monkeypatch, call):
    """The line is complete beforehand: what failed still holds what it had."""
    from limelight.cli import info
    from limelight.config import recipe

    def fail(*given: object) -> int:
        raise MemoryError

    monkeypatch.setattr(info, "run", fail)
    monkeypatch.setattr(recipe, "options", fail)  # what other lines are looked through for
    code, out, err = call("info", "small")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert err.startswith("limelight: out of memory")


def test_a_development_set_is_given_or_held_out(refused, table, tmp_path):
    said = "limelight: --dev and --holdout cannot be used together; give only one\n"
    for command in "train", "encode":
        assert refused(command, table, "--dev", table, "--holdout", "0.2", "--out", tmp_path / "m") == said


def test_a_row_that_cannot_be_used_is_said_before_the_long_work(refused, model, tmp_path, monkeypatch):
    table = write_csv(tmp_path / "late.csv", text=["good", "bad", " "], stars=[5, 7, 1])
    for name in ("predict_proba_stream", "embed_stream"):
        monkeypatch.setattr(f"limelight.runtime.model.Model.{name}", lambda *given, **options: 1 / 0)
    for argv in (("predict", model, table), ("embed", model, table, "--out", tmp_path / "m.npy")):
        assert "late.csv, row 4: only spaces in column 'text'" in refused(*argv, "--text", "text")
    table = write_csv(tmp_path / "late.csv", text=["good", "bad"], stars=[5, 7])
    assert "row 3: the label '7' does not occur" in refused("evaluate", model, table)


def test_odd_facts_are_no_harm(call, model, tmp_path):
    """A folder may come from anyone; only what is needed to answer is asked of it."""
    whole = limelight.load(model)
    for facts, told in (
        ({"results": {"test": {"accuracy": 0.9}}, "training": "by hand"}, "90.00%"),
        ({"results": ["good"], "training": [1]}, "total"),
    ):
        whole.facts.clear()
        whole.facts.update(facts)
        whole.save(tmp_path / "odd", overwrite=True)
        code, out, _ = call("info", tmp_path / "odd")
        assert code == 0
        assert told in out
        assert limelight.TextClassifier.load(tmp_path / "odd").history_ == []


@pytest.mark.parametrize(
    ("recipe", "said"), [(None, "is damaged (facts.recipe)"), ({"colour": 1}, "there is no option 'colour'")]
)
def test_a_data_set_that_is_odd(call, refused, table, tmp_path, recipe, said: str):
    data = tmp_path / "data"
    assert call("encode", table, "--out", data)[0] == 0
    found = json.loads((data / "dataset.json").read_text())
    found["facts"]["recipe"] = recipe
    (data / "dataset.json").write_text(json.dumps(found))
    assert said in refused("train", data, "--out", tmp_path / "m", *FLAGS)


def test_very_many_classes(call, tmp_path):
    table = write_csv(
        tmp_path / "many.csv", text=["good soup"] * 120, kind=[f"k{i % 60}" for i in range(120)]
    )
    out = tmp_path / "many"
    assert call("train", table, "--out", out, *FLAGS, "--epochs", "1")[0] == 0
    assert "confusion" not in limelight.load(out).facts
    assert "## Confusion" not in (out / "README.md").read_text()


def test_lines_that_say_nothing_are_left_out_where_that_is_asked_for(call, model, pair_model):
    _, out, err = call("predict", model, "--skip-bad", stdin=b"\ngood\n \t \ncold\n")
    assert [line.rsplit(",", 1)[1] for line in out.splitlines()] == ["text", "good", "cold"]
    assert "standard input: skipped 2 of 4 lines" in err
    lines = call("predict", pair_model, "--skip-bad", stdin=b"a\tb\na\na\t\na\tb\tc\nc\td\n")[1].splitlines()
    assert [line.split(",", 2)[2] for line in lines] == ["text,text2", "a,b", "c,d"]


def test_what_is_in_the_way_of_a_run_is_said_to_be(refused, table, tmp_path):
    (tmp_path / "m.run").mkdir()
    (tmp_path / "m.run" / "mine").touch()
    for more in ([], ["--overwrite"]):
        said = refused("train", table, "--out", tmp_path / "m", *FLAGS, *more)
        assert "m.run exists and is not a Limelight run" in said


def test_numbers_that_cannot_be(refused, model, table, tmp_path):
    for minutes in ("-5", "nan", "inf"):
        said = refused("train", table, "--out", tmp_path / "m", "--checkpoint-minutes", minutes)
        assert "it must be at least 0" in said


def test_columns_of_probabilities_have_names_of_their_own(call, tmp_path):
    table = write_csv(tmp_path / "odd.csv", text=["good soup", "cold soup"] * 9, kind=["label", "text"] * 9)
    assert call("train", table, "--label", "kind", "--text", "text", "--out", tmp_path / "m", *FLAGS)[0] == 0
    head = call("predict", tmp_path / "m", "--probabilities", stdin=b"soup\n")[1].splitlines()[0]
    assert head == "label,confidence,probability of label,probability of text,text"


def test_one_s_own_files_in_a_model_folder_are_not_lost(call, refused, table, tmp_path):
    argv = ("train", table, "--out", tmp_path / "m", *FLAGS, "--overwrite")
    assert call(*argv)[0] == 0
    (tmp_path / "m" / "notes.txt").write_text("mine")
    assert "m also holds notes.txt, which would be lost; move it first" in refused(*argv)
    (tmp_path / "m" / "notes.txt").unlink()
    assert call(*argv)[0] == 0


def test_a_class_of_two_lines_keeps_the_table_in_shape(call, tmp_path):
    table = write_csv(tmp_path / "odd.csv", text=["good soup", "cold soup"] * 9, kind=["two\nlines", "b"] * 9)
    assert call("train", table, "--out", tmp_path / "m", *FLAGS)[0] == 0
    assert "\ntwo lines" in call("evaluate", tmp_path / "m", table)[1]
