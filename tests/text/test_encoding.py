"""Encoding in one process or in several: the words and ids of plain `tokenizers`, and nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import trainers

from drawing import examples
from limelight.config.recipe import TextRecipe
from limelight.text import split_pool
from limelight.text.encode import Texts, encode_tables, encode_texts
from limelight.text.holdout import choose_held_out
from limelight.text.learnt_rows import row_hash
from limelight.text.split_pool import SplitPool
from limelight.text.split_worker import send
from limelight.text.tokenizer import LONGEST, UNKNOWN, Tokenizer, choose_words
from limelight.text.word_store import WordStore
from refusing import refuses

ODD = [
    "Good soup, don't you think?", "BAD soup!!! 2 1/2 stars", "I cannot. The soup; the Soup",
    "<pad> <unk> <b x>", "Crème brûlée... très bon", "İstanbul ΣΑΣ ΟΔΟΣ", "我的iPhone很好 スープ", "\u200b",
    "so \ud800 odd \udfff", "👍🏽 ok", "x" * (LONGEST + 1) + " soup", "soup " * 9 + "é",
    "mail me@home.org, http://soup.com/a?b", "a\tb\nc\rd\x1fe",
]  # fmt: skip
TEXTS = [f"{text} {'soup ' * (k % 3)}w{k % 7}" for k, text in enumerate(ODD * 3)] + ODD
PLAIN = TextRecipe()
STRICT = TextRecipe(max_length=4, min_count=2, max_words=20, lowercase=False, split_characters=False)
pytestmark = [
    pytest.mark.filterwarnings("ignore:.*skipped"),
    pytest.mark.filterwarnings("ignore:.*occurs? only once"),
]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.text.encode_steps.CHUNK_ROWS", 5)


@pytest.fixture
def two_processes(monkeypatch: pytest.MonkeyPatch, small_chunks: None) -> list[subprocess.Popen[bytes]]:
    """Two processes split everything; those that were started."""
    started: list[subprocess.Popen[bytes]] = []
    start = split_pool._start
    monkeypatch.setattr(split_pool, "_start", lambda options: started.append(start(options)) or started[-1])
    monkeypatch.setattr(split_pool, "ALONE", 0)
    monkeypatch.setattr(split_pool, "count_cores", lambda: 2)
    return started


@pytest.fixture(params=[1, 2])
def processes(request: pytest.FixtureRequest) -> None:
    request.getfixturevalue("two_processes" if request.param == 2 else "small_chunks")


def clean(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def plain_vocabulary(texts: list[str], recipe: TextRecipe) -> Tokenizer:
    """The words that `tokenizers` itself counts and chooses."""
    rules = {"lowercase": recipe.lowercase, "split_characters": recipe.split_characters}
    counter = tokenizers.Tokenizer.from_str(Tokenizer.from_words([], **rules).to_json())
    trainer = trainers.WordLevelTrainer(
        vocab_size=recipe.max_words, min_frequency=recipe.min_count, special_tokens=[], show_progress=False
    )
    counter.train_from_iterator(map(clean, texts), trainer)
    words = counter.get_vocab()
    return Tokenizer.from_words([w for w in sorted(words, key=words.get) if len(w) <= LONGEST], **rules)


def plain_ids(tokenizer: Tokenizer, texts: list[str], recipe: TextRecipe) -> tuple[list[int], list[int]]:
    plain = tokenizers.Tokenizer.from_str(tokenizer.to_json())
    found = [(plain.encode(clean(text)).ids or [UNKNOWN])[: recipe.max_length or None] for text in texts]
    return [each for ids in found for each in ids], [len(ids) for ids in found]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.usefixtures("processes")
@pytest.mark.parametrize("recipe", [PLAIN, STRICT])
def test_held_out_rows_of_pairs_and_skipped_rows(tmp_path: Path, recipe: TextRecipe) -> None:
    """The words are those of both texts of the rows that stay, before they are truncated."""
    rows = [{"text": text, "text2": text[::-1], "label": k % 2} for k, text in enumerate(TEXTS)]
    rows.insert(7, {"text": "", "text2": "nothing", "label": 1})
    train = write(tmp_path / "train.jsonl", rows)
    test = write(tmp_path / "test.jsonl", [{"text": "New soup", "text2": "soup", "label": 0}] * 6)
    dataset = encode_tables(
        tmp_path / "set", train, test=test, text="text", text2="text2", label="label", on_bad="skip",
        recipe=recipe, holdout=0.3, progress=False,
    )  # fmt: skip
    held = choose_held_out(np.arange(len(TEXTS)) % 2, 0.3, 0)
    split = {
        "train": [text for text, out in zip(TEXTS, held, strict=True) if not out],
        "dev": [text for text, out in zip(TEXTS, held, strict=True) if out],
        "test": ["New soup"] * 6,
    }
    expected = plain_vocabulary([part for text in split["train"] for part in (text, text[::-1])], recipe)
    assert dataset.tokenizer.to_json() == expected.to_json()
    for name, texts in split.items():
        second = ["soup"] * 6 if name == "test" else [text[::-1] for text in texts]
        ids, lengths = plain_ids(expected, texts, recipe)
        ids2, lengths2 = plain_ids(expected, second, recipe)
        found = {array: values.tolist() for array, values in dataset.splits[name].arrays().items()}
        own = np.flatnonzero(held == (name == "dev")) % 2 if name != "test" else np.zeros(6)
        assert found.pop("labels") == own.tolist()
        hashes = [row_hash(*both) for both in zip(texts, second, strict=True)]
        assert found.pop("hashes", None) == (None if name == "test" else hashes)
        assert found == {"ids": ids, "lengths": lengths, "ids2": ids2, "lengths2": lengths2}
    assert dataset.facts["skipped"] == {"train": 1, "test": 0}


@pytest.mark.parametrize("labels", ["several", "numbers", "none"])
def test_any_task_gives_the_same_bytes_with_more_processes(
    tmp_path: Path, request: pytest.FixtureRequest, labels: str
) -> None:
    label = {"several": lambda k: ["a", "b", "c"][: k % 4], "numbers": lambda k: k / 4, "none": lambda k: 0}
    rows = [{"text": text, "label": label[labels](k)} for k, text in enumerate(TEXTS)]
    table = write(tmp_path / "train.jsonl", rows)
    task = {"several": "multi-label", "numbers": "regression", "none": "auto"}[labels]
    options: dict[str, Any] = {"recipe": replace(PLAIN, task=task), "labelled": labels != "none", "seed": 3}
    encode_tables(tmp_path / "one", table, text="text", progress=False, **options)
    started = request.getfixturevalue("two_processes")
    encode_tables(tmp_path / "two", table, text="text", progress=False, **options)
    assert len(started) == 2
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.usefixtures("processes")
def test_texts_in_memory() -> None:
    weights = [0.5 + k % 3 for k in range(len(TEXTS))]
    numbers = [k % 2 for k in range(len(TEXTS))]
    dev = Texts(ODD, numbers[: len(ODD)], weights=weights[: len(ODD)])
    dataset = encode_texts(TEXTS, numbers, weights=weights, recipe=PLAIN, dev=dev)
    expected = plain_vocabulary(TEXTS, PLAIN)
    assert dataset.tokenizer.hash == expected.hash
    for name, texts in (("train", TEXTS), ("dev", ODD)):
        split = dataset.splits[name]
        assert (split.ids.tolist(), split.lengths.tolist()) == plain_ids(expected, texts, PLAIN)
        assert split.ids.dtype == split.lengths.dtype == np.int32
        assert split.weights.tolist() == weights[: len(texts)]


@pytest.fixture(scope="module")
def pools() -> Iterator[list[SplitPool]]:
    """One that splits in this process, and one that never does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_pool, "count_cores", lambda: 2)
        here = SplitPool(lowercase=True, split_characters=True)
        patch.setattr(split_pool, "ALONE", 0)
        with SplitPool(lowercase=True, split_characters=True) as there:
            yield [here, there]


WORDS = tokenizers.Tokenizer.from_str(Tokenizer.from_words([]).to_json())


CHARACTERS = st.one_of(st.characters(exclude_characters="\0"), st.sampled_from("aB <>1.'\n\udc80"))


@examples(100)
@given(st.lists(st.text(CHARACTERS, max_size=20), min_size=1, max_size=4))
def test_whatever_the_texts(pools: list[SplitPool], texts: list[str]) -> None:
    expected = []
    for text in texts:
        normal = WORDS.normalizer.normalize_str(clean(text))
        expected.append([word for word, _ in WORDS.pre_tokenizer.pre_tokenize_str(normal)] or [""])
    for pool in pools:
        [found] = pool.map([texts])
        words = iter([found.words[k] for k in np.frombuffer(found.numbers, np.int32)])
        lengths = np.frombuffer(found.lengths, np.int32).tolist()
        assert [[next(words) for _ in range(length)] for length in lengths] == expected
        assert next(words, None) is None
        assert len(found.words) == len(set(found.words))


def test_chunks_come_back_in_order(pools: list[SplitPool]) -> None:
    chunks = [[f"w{k} soup"] * (1 + 300 * (k % 3)) for k in range(20)]
    for pool in pools:
        assert [found.words for found in pool.map(chunks)] == [[f"w{k}", "soup"] for k in range(20)]


@pytest.mark.parametrize("alone", [0, 100])
def test_forbidden_words_are_dropped_in_every_process(monkeypatch: pytest.MonkeyPatch, alone: int) -> None:
    monkeypatch.setattr(split_pool, "count_cores", lambda: 2)
    monkeypatch.setattr(split_pool, "ALONE", alone)
    with SplitPool(lowercase=True, split_characters=True, forbidden={"hilton", "grösse"}) as pool:
        [found] = pool.map([["Hilton soup", "Größe hilton!no"]])
    assert found.words == ["soup", ""]


def test_few_texts_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_pool, "count_cores", lambda: 2)
    monkeypatch.setattr(split_pool, "ALONE", 100)
    monkeypatch.setattr(split_pool, "_Processes", None)
    with SplitPool(lowercase=True, split_characters=True) as pool:
        assert len(list(pool.map([["soup " * 15]] * 2))) == 2  # and not one more
        with pytest.raises(TypeError):
            list(pool.map([["soup"]]))


def test_ties_at_the_end_of_the_vocabulary() -> None:
    counts = {"z": 2, "b": 2, "a": 2, "soup": 3, "x" * (LONGEST + 1): 9, "dev": 0}
    assert choose_words(counts, 1, 4) == ["soup", "a", "b"]  # what is too long takes up its place
    assert choose_words(counts, 3, 9) == ["soup"]
    assert choose_words(counts, 1, 99) == ["soup", "a", "b", "z"]


@pytest.mark.parametrize(
    "start",
    [
        "raise SystemExit(3)",
        "import os, sys; sys.stdin.buffer.read(9); os.kill(os.getpid(), 9)",
        "import sys; sys.stdin.buffer.read(9); sys.stdout.write(chr(9) + chr(0) * 7 + 'half')",
    ],
)
def test_where_no_process_can_start_one_splits_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_processes: list[Any], start: str
) -> None:
    table = write(tmp_path / "train.jsonl", [{"text": t, "label": k % 2} for k, t in enumerate(TEXTS)])
    expected = encode_tables(tmp_path / "by two", table, recipe=PLAIN, progress=False)
    monkeypatch.setattr(split_pool, "START", start)
    dataset = encode_tables(tmp_path / "alone", table, recipe=PLAIN, progress=False)
    assert dataset.tokenizer.hash == expected.tokenizer.hash
    np.testing.assert_array_equal(dataset.splits["train"].ids, expected.splits["train"].ids)
    assert all(process.poll() is not None for process in two_processes)


def test_a_process_that_dies_is_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_processes: list[Any]
) -> None:
    table = write(tmp_path / "train.jsonl", [{"text": t, "label": k % 2} for k, t in enumerate(TEXTS)])
    asked = split_pool.ask

    def die(question: Any, answer: Any, texts: list[str]) -> Any:
        if texts != [""]:  # the first question, whether it can start
            for process in two_processes:
                process.kill()
                process.wait()
        return asked(question, answer, texts)

    monkeypatch.setattr(split_pool, "ask", die)
    with refuses("process-ended"):
        encode_tables(tmp_path / "set", table, recipe=PLAIN, progress=False)
    assert list(tmp_path.iterdir()) == [table]
    assert [process.poll() is not None for process in two_processes] == [True, True]


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError])
def test_an_interrupted_run_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_processes: list[Any], fault: type[BaseException]
) -> None:
    table = write(tmp_path / "train.jsonl", [{"text": t, "label": k % 2} for k, t in enumerate(TEXTS)])

    def interrupt(*arguments: Any) -> None:
        raise fault

    monkeypatch.setattr(WordStore, "append", interrupt)
    with pytest.raises(fault):
        encode_tables(tmp_path / "set", table, recipe=PLAIN, progress=False)
    assert list(tmp_path.iterdir()) == [table]
    assert [process.returncode for process in two_processes] == [-9, -9]


def test_a_row_that_cannot_be_used_ends_the_processes(tmp_path: Path, two_processes: list[Any]) -> None:
    rows = [{"text": text, "label": k % 2} for k, text in enumerate(TEXTS)]
    table = write(tmp_path / "train.jsonl", [*rows, {"text": "soup"}])
    with refuses("row-unusable") as found:
        encode_tables(tmp_path / "set", table, recipe=PLAIN, progress=False)
    assert f"line {len(TEXTS) + 1}:" in str(found.value)
    assert all(process.returncode is not None for process in two_processes)
    assert len(two_processes) == 2


@pytest.mark.skipif(sys.platform == "win32", reason="no signals")
def test_a_process_that_nobody_waits_for_ends_without_a_word() -> None:
    process = subprocess.Popen([sys.executable, "-P", "-c", split_pool.START], stdin=-1, stdout=-1, stderr=-1)
    process.stdout.close()
    process.stdin.write(json.dumps(sys.path).encode() + b"\n")
    send(process.stdin, b'{"lowercase": true, "split_characters": true}')
    send(process.stdin, b"soup")
    assert process.stderr.read() == b""
    assert process.wait() == -signal.SIGPIPE
    process.stdin.close()
    process.stderr.close()


def test_a_plain_script_starts_processes_that_import_little(tmp_path: Path) -> None:
    """It is not run again, though it has no `if __name__`; a json.py beside it is not imported."""
    (tmp_path / "json.py").write_text("raise SystemExit('imported')")
    (tmp_path / "script.py").write_text(
        "import sys; sys.path.remove(sys.path[0])\n"
        "from limelight.text import split_pool\n"
        "split_pool.ALONE, split_pool.count_cores = 0, lambda: 2\n"
        'seen = \'{"numpy", "tokenizers", "torch"} & set(sys.modules)\'\n'
        "split_pool.START += f'; print(*{seen}, file=sys.stderr)'\n"
        "split_pool._Processes.close = lambda self: [(p.stdin.close(), p.wait()) for p in self._all]\n"
        "with split_pool.SplitPool(True, True) as pool: print(len(list(pool.map([['soup']] * 3))))\n"
    )
    command = [sys.executable, "script.py"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("3\n", "\n\n")
