"""Benchmarks that no other test runs, on as little data as they take."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import limelight
import trained
from browsers import needs_chromium
from limelight import Index, TextClassifier
from limelight.config.presets import preset
from limelight.serve import create_app
from limelight.text.numbering import compiled
from reviews import QUICK, reviews, write_csv
from serve.labels import FOOD, ROOM
from serve.live import in_thread
from shared_reader import share_reader

BENCHMARKS = Path(__file__).parents[1] / "experiments" / "benchmarks"


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)


def test_few_texts_prints_a_row_for_each_setting(monkeypatch, capsys):
    few_texts = import_module("few_texts")
    monkeypatch.setattr(few_texts, "TextClassifier", partial(TextClassifier, preset="tiny", epochs=1))
    arguments = "few_texts.py --sizes 60 --seeds 1 --min-steps 0 5"
    monkeypatch.setattr(sys, "argv", arguments.split())
    few_texts.main()
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[:2] for row in rows] == [["| 60", "0"], ["| 60", "5"]]


def test_pair_pictures_times_every_way(monkeypatch, capsys):
    pair_pictures = import_module("pair_pictures")
    arguments = "pair_pictures.py --presets tiny --pairs 1 --rounds 1"
    monkeypatch.setattr(sys, "argv", arguments.split())
    pair_pictures.main()
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["predict", "what", "leave"]


def test_faithful_takes_the_first_pairs():
    faithful = import_module("faithful")
    pairs = faithful.Split(
        np.arange(6), np.array([1, 2, 3]), np.array([0, 1, 0]), None, np.arange(5), np.array([2, 2, 1])
    )
    first = faithful.first_rows(pairs, 2)
    found = [each.tolist() for each in (first.ids, first.lengths, first.labels, first.ids2, first.lengths2)]
    assert found == [[0, 1, 2], [1, 2], [0, 1], [0, 1, 2, 3], [2, 2]]


def test_inference_reads_the_bundled_sentences_unless_told(monkeypatch, capsys):
    inference = import_module("inference")
    monkeypatch.setattr(inference, "weights_folder", lambda: None)
    arguments = "inference.py --models tiny --count 4 --singles 1 --rounds 1"
    monkeypatch.setattr(sys, "argv", arguments.split())
    inference.main()
    assert "probabilities in batches, 4 texts" in capsys.readouterr().out


def test_aspect_tasks_prints_a_table_for_each_task(monkeypatch, capsys, tmp_path):
    aspect_tasks = import_module("aspect_tasks")
    words = dict(zip(("soup", "price", "good", "bad"), np.eye(4), strict=True))

    def embed(texts: list[str]) -> np.ndarray:
        return np.array([0.1 + sum(words.get(word, np.zeros(4)) for word in text.split()) for text in texts])

    said = [("the foods were good", "food", "positive"), ("bad price", "price", "negative"), ("well", "", "")]
    rows = [
        {"text": text, "categories": [name] if name else [aspect_tasks.OTHER], "polarities": [how]}
        for text, name, how in said * 6
    ]
    rows[0] |= {"categories": ["food", "price"], "polarities": ["positive", "negative"]}
    model = limelight.load(trained.save(tmp_path / "model", labels=(1, 3, 5)))
    quick = SimpleNamespace(load=lambda name: SimpleNamespace(encode=embed))
    monkeypatch.setattr(aspect_tasks, "limelight", quick)
    aspect_tasks.semeval(rows, model, embed)
    seeds = {"soups": {"Soup": ["food"], "Price": ["price"]}}
    clauses = [
        {"text": text, "product": "soups", "aspects": [{"food": "Soup", "price": "Price"}.get(name, "None")]}
        for text, name, _ in said * 6
    ]
    aspect_tasks.oposum(clauses, seeds, embed)
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    found = [line[2] for line in lines if line[0] in ("plain seeds", "ours")]  # of the second half
    assert found == ["0.667", "1.000"] * 2  # plain seeds have no plurals
    assert [line[0] for line in lines].count("supervised") == 3


def test_reader_prints_correlation_and_speed(monkeypatch, capsys, tmp_path):
    reader = import_module("reader")
    table = tmp_path / "pairs.csv"
    table.write_text("first,second,score\ncold soup,chilly broth,5\ncold soup,a late train,0\n")
    monkeypatch.setattr(sys, "argv", ["reader.py", str(table), "--rounds", "1"])
    reader.main()
    assert "| float32 | 100.00 |" in capsys.readouterr().out
    assert reader.ranks(reader.np.array([3, 1, 3])).tolist() == [2.5, 1, 2.5]


def test_gpu_embed_writes_the_figures_of_each_stage(monkeypatch, tmp_path):
    gpu_embed = import_module("gpu_embed")
    texts, out = tmp_path / "texts.txt", tmp_path / "gpu.json"
    texts.write_text("Cold soup.\nA late train.\n")
    tiny = preset("tiny").override(hidden=4, word_size=4)
    monkeypatch.setattr(gpu_embed, "preset", lambda name: tiny)
    monkeypatch.setattr(gpu_embed, "BATCH_WORDS", (64,))
    monkeypatch.setattr(gpu_embed.TorchRunner, "device", "cpu")
    monkeypatch.setitem(gpu_embed.PRECISIONS, "cuda", ("float32",))
    arguments = ["gpu_embed.py", str(texts), "--texts", "3", "--device", "cpu", "--models", "paper"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--out", str(out)])
    gpu_embed.main()
    found = json.loads(out.read_text())
    assert found["paper, ids"]["ids M, batch_words=64"] > 0
    assert found["paper, exactness"]["largest |M - M on the CPU|, float32"] < 1e-4


def test_compare_ranks_words_as_leaving_them_out_does(monkeypatch, capsys, tmp_path):
    compare = import_module("compare")
    table = tmp_path / "pairs.csv"
    table.write_text("first,second\nthe cold soup,chilly broth today\nmy cold soup,a very late train\n")
    arguments = f"compare.py {table} --planted 4 --words 10 --rounds 1"
    monkeypatch.setattr(sys, "argv", arguments.split())
    compare.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    found = {row[0]: row[1:] for row in rows}
    assert 0.5 < float(found["contributions"][0]) <= 1
    assert float(found["the same word"][2]) > float(found["different words"][2])


def test_serving_prints_a_row_and_a_load_test(monkeypatch, capsys):
    serving = import_module("serving")
    for flags in ("--clients 2 --seconds 0.2 --rounds 1", "--load 0.6"):
        monkeypatch.setattr(sys, "argv", f"serving.py --models tiny --count 8 {flags}".split())
        serving.main()
    out = capsys.readouterr().out
    assert "| tiny | 2 | " in out
    assert ", 0 errors" in out


def test_company_finds_the_same_answers_in_any_batch(monkeypatch, capsys, tmp_path):
    company = import_module("company")
    model = str(trained.save(tmp_path / "model"))
    monkeypatch.setattr(sys, "argv", ["company.py", model, "--count", "20", "--batchings", "60"])
    company.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [row[:2] for row in rows] == [[p, t] for p in ("float32", "int8") for t in "12"]
    assert all(int(row[2]) > 200 and float(row[4]) <= 1e-6 and row[5] == "0" for row in rows)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
def test_forks_counts_children_that_hang(monkeypatch, capsys, tmp_path):
    forks = import_module("forks")
    monkeypatch.setattr(sys, "argv", ["forks.py", str(trained.save(tmp_path / "model")), "--forks", "5"])
    with pytest.raises(SystemExit) as end:
        forks.main()
    assert end.value.code == 0
    assert capsys.readouterr().out.count("0 of 5 children hang, 0 fail") == 2


def test_decided_prints_a_row_for_each_way(monkeypatch, capsys, tmp_path):
    decided = import_module("decided")
    monkeypatch.setattr(sys, "argv", ["decided.py", str(trained.save(tmp_path / "model")), "--texts", "4"])
    decided.main()
    rows = [row.split(" | ")[0] for row in capsys.readouterr().out.splitlines()]
    assert {"| share in the probability", "| leave one out", "| random"} <= set(rows)


def test_search_measures_each_part_once(monkeypatch, capsys, tmp_path):
    search = import_module("search_speed")
    monkeypatch.setattr(search, "weights_folder", lambda: None)
    texts = [f"{what} {dish}" for what in ("cold", "warm", "old") for dish in ("soup", "tea", "ham", "fish")]
    index = str(Index.create(tmp_path / "index", texts).folder)
    sizes = ["--texts", "20", "--minilm-texts", "10", "--recall-texts", "230", "--rounds", "1"]
    parts = ["--parts", "words", "encoding", "search", "recall"]
    monkeypatch.setattr(search, "QUERIES", 20)
    monkeypatch.setattr(sys, "argv", ["search.py", index, "--out", str(tmp_path / "o.json"), *sizes, *parts])
    search.main()
    first = capsys.readouterr().out
    assert '"kept in 8 bits"' in first
    search.main()
    assert capsys.readouterr().out == first


def test_index_changes_measures_every_change(monkeypatch):
    share_reader(monkeypatch)
    found = import_module("index_changes").measure(60, 5, "reader")
    assert {"build", "add", "update", "delete", "compact", "search, compacted"} <= set(found)
    assert all(each > 0 for each in found.values())


def test_search_quality_compares_ways_on_judged_queries(monkeypatch, capsys, tmp_path):
    share_reader(monkeypatch)
    quality = import_module("search_quality")
    documents = ["cold soup", "late trains", "warm tea"]
    texts = (f".I {k}\n.T\nTitle\n.W\n{text}\n" for k, text in enumerate(documents, 1))
    (tmp_path / "cran.all.1400").write_text("".join(texts))
    (tmp_path / "cran.qry").write_text(".I 007\n.W\nchilly broth soup\n.I 009\n.W\nthe train\n")
    (tmp_path / "cranqrel").write_text("1 1 2\n1 2 -1\n2 2 3\n")
    assert quality.cranfield(tmp_path).relevant == [{0}, {1}]
    given = [
        f"cranfield={tmp_path}",
        "--work",
        str(tmp_path / "work"),
        "--units",
        "texts",
        "--weights",
        "0.5",
    ]
    monkeypatch.setattr(sys, "argv", ["search_quality.py", *given])
    weight = quality.ranking.WORD_WEIGHT
    monkeypatch.setattr(quality, "others", lambda *_: [("others", [[2], [1]])])
    quality.main()
    assert weight == quality.ranking.WORD_WEIGHT
    rows = [" ".join(row.split()) for row in capsys.readouterr().out.splitlines()]
    ways = [*(f"texts, {way} 1.000" for way in ("both 0.5", "meaning", "words")), "others 0.000"]
    assert rows == ["cranfield: 3 texts, 2 queries", *ways, "mean", *ways]
    first, second = (np.array([each]) for each in ([3.0, 2, 1, 0], [0.0, 4, 0, 5]))
    assert quality.fused(first, second) == [[1, 0, 3, 2]]  # 2 / 62, 1 / 61, 1 / 61, 1 / 63


def test_callbacks_prints_a_row_for_each_way(monkeypatch, capsys):
    callbacks = import_module("callbacks")
    monkeypatch.setattr(sys, "argv", ["callbacks.py", "--texts", "40", "--rounds", "1"])
    callbacks.main()
    rows = capsys.readouterr().out.splitlines()
    assert [row.split("  ")[0] for row in rows[:3]] == [
        "none", "one that does nothing", "one that notes every step"
    ]  # fmt: skip


@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no chromium on this machine: apt-get install chromium"
)
def test_one_file_compares_a_page_with_python(monkeypatch, capsys, tmp_path):
    pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    one_file, table = import_module("one_file"), tmp_path / "texts.csv"
    table.write_text("text\nGood soup!\nÇa va?\n", "utf-8")
    model = str(trained.save(tmp_path / "model"))
    arguments = ["one_file.py", model, "--texts", "4", "--data", str(table), "--precision", "float32"]
    monkeypatch.setattr(sys, "argv", arguments)
    one_file.main()
    out = capsys.readouterr().out
    assert "2 texts (1 not ASCII), 6 words: 0 texts differ" in out
    assert "the same label for 100.0%" in out


@pytest.mark.skipif(
    shutil.which("chromium") is None, reason="no chromium on this machine: apt-get install chromium"
)
def test_bad_clients_measures_what_others_wait_for(monkeypatch, tmp_path):
    bad_clients, model = import_module("bad_clients"), trained.save(tmp_path / "model")
    monkeypatch.setattr(bad_clients, "LONG", bad_clients.SHORT)

    class InThread(bad_clients.Server):
        def __init__(self, port):
            self.port, self.idle, self.process = port, 0.0, SimpleNamespace(pid=os.getpid())

    with in_thread(create_app({"model": model}, log_requests=False)) as port:
        assert "the next client waits" in bad_clients.leaving(InThread(port))
        assert "0 of" in bad_clients.words(InThread(port))


@needs_chromium
def test_explorer_times_every_step(monkeypatch, capsys, tmp_path):
    pytest.importorskip("playwright.sync_api", reason="no Playwright: pip install playwright")
    explorer, model = import_module("explorer"), str(trained.save(tmp_path / "model"))
    monkeypatch.setattr(sys, "argv", ["explorer.py", model, "--rows", "50", "--rounds", "2"])
    explorer.main()
    out = capsys.readouterr().out
    assert "50 rows read" in out
    assert [line.split(" | ")[0][2:] for line in out.splitlines() if " | " in line][1:] == list(
        explorer.STEPS
    )


def test_chinese_is_learnt_by_characters(monkeypatch, capsys, tmp_path):
    for name, word in (("neg", "差"), ("pos", "好")):
        texts = [f"第{k}本书真{word}，很{word}" for k in range(40)]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts), encoding="utf-8")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as tar:
        for name in ("neg", "pos"):
            tar.add(tmp_path / f"{name}.txt", f"x/sentiment/{name}.txt")
    chinese = import_module("chinese")
    arguments = f"chinese.py {tmp_path / 'a.tar.gz'} --train 50 --held 10 --test 20 --epochs 1"
    monkeypatch.setattr(sys, "argv", arguments.split())
    chinese.main()
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows[:2]] == ["| characters", "| spaces and marks alone"]
    assert rows[2].split(" | ")[1] == "100.0"


def test_out_of_scope_prints_a_line_for_each_table(monkeypatch, capsys, tmp_path):
    texts, stars = reviews(260)
    TextClassifier(**QUICK, progress=False, holdout=0.4).fit(texts, stars).save(tmp_path / "m")
    test = write_csv(tmp_path / "test.csv", text=texts[:20], stars=stars[:20])
    other = write_csv(tmp_path / "other.csv", text=["My train was late.", "It rains."])
    monkeypatch.setattr(sys, "argv", ["out_of_scope.py", *map(str, (tmp_path / "m", test, other))])
    import_module("out_of_scope").main()
    said = capsys.readouterr().out
    assert "accuracy 100.0%" in said
    assert "(2 texts): AUROC" in said


def test_going_on_prints_a_row_for_each_model(monkeypatch, capsys, tmp_path):
    going_on = import_module("going_on")
    monkeypatch.setattr(going_on, "OLD", 2)
    monkeypatch.setattr(going_on, "REPLAYED", (2,))
    texts = [f"number {word} {k}" for word in ("one", "two", "six") for k in range(20)]
    table = pyarrow.table({"text": texts, "label": [text.split()[1] for text in texts]})
    for name in ("train", "test"):
        pyarrow.parquet.write_table(table, tmp_path / f"{name}.parquet")
    monkeypatch.setattr(sys, "argv", ["going_on.py", str(tmp_path), "--preset", "tiny"])
    going_on.main()
    assert len(capsys.readouterr().out.splitlines()) == 5


def test_bulk_measures_each_command(monkeypatch, capsys, tmp_path):
    bulk = import_module("bulk_jobs")
    table = tmp_path / "reviews.parquet"
    pyarrow.parquet.write_table(
        pyarrow.table({"text": ["Good soup. Cold tea.", "A late train."] * 40}), table
    )
    monkeypatch.setattr(bulk, "COMMANDS", {"local": bulk.COMMANDS["local"]})
    monkeypatch.setattr(sys, "argv", ["bulk_jobs.py", str(table), "--sentences", "80", "--rounds", "1"])
    bulk.main()
    found = json.loads(capsys.readouterr().out)
    assert found["all"]["processor"] > 0


def test_bulk_memory_counts_all_sentences(monkeypatch, capsys, tmp_path):
    table = tmp_path / "reviews.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["Good soup. Cold tea.", "A late train."]}), table)
    monkeypatch.setattr(sys, "argv", ["bulk_memory.py", str(table), "--sentences", "100"])
    import_module("bulk_memory").main()
    assert capsys.readouterr().out.splitlines()[-1].startswith("| 100 |")


def test_cpu_lstm_computes_the_same_states_in_every_way(monkeypatch, capsys):
    cpu_lstm = import_module("cpu_lstm")
    monkeypatch.setitem(cpu_lstm.SIZES, "light", (5, 6))  # units that fill no whole vector
    arguments = "cpu_lstm.py --sizes light --words 3 --batches 2 7 --rounds 1"
    monkeypatch.setattr(sys, "argv", arguments.split())
    cpu_lstm.main()
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines() if " error " in line]
    errors = [(row[1], float(row[-1].split()[1])) for row in rows]
    assert {"as exported", "two operators", "Scan, known products", "numpy"} <= {way for way, _ in errors}
    assert all(error < 1e-6 for way, error in errors if way not in ("int8", "one input"))
    smallest = sys.float_info.min
    assert smallest / len([0, 0]) > 0  # a library linked for fast mathematics would make it zero from now on


def test_cpu_lstm_reads_sentences_of_different_lengths(monkeypatch, capsys):
    cpu_lstm = import_module("cpu_lstm")
    monkeypatch.setattr(sys, "argv", ["cpu_lstm.py", "--whole", "--count", "9", "--rounds", "1"])
    cpu_lstm.main()
    rows = [line.split("  ") for line in capsys.readouterr().out.splitlines() if " error " in line]
    errors = {row[1]: float(row[-1].split()[-1]) for row in rows}
    assert {"float32", "int8", "Scan", "numpy"} <= set(errors)
    assert all(error < 1e-6 for way, error in errors.items() if "int8" not in way)


def test_label_errors_finds_planted_ones(monkeypatch, capsys, tmp_path):
    share_reader(monkeypatch)
    label_errors = import_module("label_errors")
    texts = [f"The {word} tasted great" for word in FOOD] + [f"Our {word} broke" for word in ROOM]
    for task in label_errors.TASKS:
        (tmp_path / task).mkdir()
        table = pyarrow.table({"text": texts, "label": ["food"] * 8 + ["room"] * 8})
        pyarrow.parquet.write_table(table, tmp_path / task / "train.parquet")
    out = tmp_path / "errors.jsonl"
    arguments = [
        "label_errors.py",
        str(tmp_path),
        "--out",
        str(out),
        "--seeds",
        "1",
        "--only",
        "limelight check",
    ]
    monkeypatch.setattr(sys, "argv", arguments)
    label_errors.main()
    assert [json.loads(line)["average_precision"] for line in out.read_text().splitlines()] == [[1.0], [1.0]]


@pytest.mark.skipif(compiled is None, reason="no compiled part: pip install -e . with a C compiler")
def test_words_are_the_same_by_the_compiled_part(monkeypatch, capsys, tmp_path):
    texts = ["The soup was cold. I had 2 1/2 bowls.", "Un très bon café, no. 5. Merci!"]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts}), tmp_path / "texts.parquet")
    monkeypatch.setattr(sys, "argv", ["words.py", str(tmp_path / "texts.parquet"), "--rounds", "1"])
    import_module("words").main()
    assert capsys.readouterr().out.splitlines()[:3] == [
        "4 sentences, 75.0% of them ASCII",
        "lower case: 0 chunks split differently",
        "as they are: 0 chunks split differently",
    ]


def test_first_answer_counts_the_time_of_the_process(tmp_path):
    measure = import_module("first_answer").measure
    assert 0 < measure(["-S", "-c", "pass"], "", str(tmp_path)) < 10
    with pytest.raises(SystemExit):
        measure(["-S", "-c", "raise SystemExit(3)"], "", str(tmp_path))


def test_which_epoch_prints_what_each_rule_keeps(monkeypatch, capsys, tmp_path):
    which_epoch = import_module("which_epoch")
    seen = [(0.60, 0.05, 1.0, 0.50, 1.2), (0.57, 0.05, 0.9, 0.55, 1.1), (0.52, 0.05, 0.95, 0.53, 1.15)]
    assert which_epoch.newest_within(1)([which_epoch.Seen(*each) for each in seen]).test == 0.55
    assert which_epoch.newest_within(2)([which_epoch.Seen(*each) for each in seen]).test == 0.53
    monkeypatch.setitem(which_epoch.SIZES, "bundled", (60,))
    command = [str(tmp_path), "--out", str(tmp_path / "a.jsonl"), "--preset", "tiny", "--tasks", "bundled",
               "--sizes", "60", "--seeds", "0", "--options", "epochs=2"]  # fmt: skip
    for _ in range(2):  # the second time nothing is trained
        monkeypatch.setattr(sys, "argv", ["which_epoch.py", *command])
        which_epoch.main()
    printed = capsys.readouterr().out
    assert printed.count("bundled, 60, seed 0") == 1
    assert "| 1 runs | accuracy | log loss |" in printed
    (run,) = map(json.loads, (tmp_path / "a.jsonl").read_text().splitlines())
    assert len(run["seen"]) == 3
