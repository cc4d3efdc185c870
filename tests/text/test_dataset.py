"""The encoded data set: what is written is what was read, whole or not at all, and checked when opened."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawing import examples
from limelight.config.recipe import TextRecipe
from limelight.errors import LimelightError
from limelight.runtime.start import load_start
from limelight.text.batches import truncate
from limelight.text.encode import Dataset, Split, Texts, encode_tables, encode_texts
from limelight.text.encode_steps import choose_held_out
from limelight.text.labels import LabelColumn
from limelight.text.numbering import NumberedWords, number_words
from limelight.text.tokenizer import UNKNOWN, Tokenizer
from refusing import refuses

GOOD = ["Good soup!", "A fine pie.", "I liked it all", "Lovely bread, lovely people."]
BAD = ["Bad soup.", "The pie was cold!", "I left early", "Never again, never."]
TEXTS = [text for pair in zip(GOOD, BAD, strict=True) for text in pair]
LABELS = ["good", "bad"] * 4
RECIPE = TextRecipe()
pytestmark = pytest.mark.filterwarnings("ignore:.* of the words in the training texts")  # of toys


def write(path: Path, texts: list[str] = TEXTS, labels: list[Any] = LABELS) -> Path:
    lines = [json.dumps({"text": t, "label": n}) for t, n in zip(texts, labels, strict=True)]
    path.write_text("\n".join(lines) + "\n")
    return path


def words(dataset: Dataset, split: str = "train") -> list[list[str]]:
    part = dataset.splits[split]
    return [
        [dataset.tokenizer.vocabulary[i] for i in part.ids[start : start + length]]
        for start, length in zip(part.starts, part.lengths, strict=True)
    ]


def encode(folder: Path, *tables: Path, **options: Any) -> Dataset:
    return encode_tables(folder / "set", *tables, **{"recipe": RECIPE, "progress": False} | options)


def assert_same(a: Dataset, b: Dataset) -> None:
    assert a.labels == b.labels
    assert a.tokenizer.hash == b.tokenizer.hash
    assert list(a.splits) == list(b.splits)
    for name in a.splits:
        mine, other = a.splits[name].arrays(), b.splits[name].arrays()
        assert list(mine) == list(other)
        for array in mine:
            np.testing.assert_array_equal(mine[array], other[array], err_msg=f"{name}.{array}")


def test_tables_to_arrays(tmp_path: Path) -> None:
    train, test = write(tmp_path / "train.jsonl"), write(tmp_path / "test.jsonl", ["Good borscht"], ["good"])
    dataset = encode(tmp_path, train, train, test)
    assert dataset.labels == ("bad", "good")
    assert list(dataset.splits) == ["train", "dev", "test"]
    assert words(dataset)[:2] == [["good", "soup", "!"], ["bad", "soup", "."]]
    assert words(dataset, "test") == [["good", "<unk>"]]
    train_split = dataset.splits["train"]
    assert train_split.labels is not None
    assert train_split.labels.tolist() == [1, 0] * 4
    assert train_split.lengths.tolist() == [3, 3, 4, 5, 4, 3, 6, 5]
    assert train_split.starts.tolist() == [0, 3, 6, 10, 15, 19, 22, 28]
    assert (train_split.ids.dtype, train_split.lengths.dtype, train_split.labels.dtype) == (
        np.uint16, np.int32, np.int32,
    )  # fmt: skip
    assert isinstance(train_split.ids, np.memmap)
    assert dataset.facts["rows"] == {"train": 8, "dev": 8, "test": 1}
    assert dataset.facts["words"] == {"train": 33, "dev": 33, "test": 2}
    assert dataset.facts["classes"]["test"] == {"bad": 0, "good": 1}
    assert dataset.facts["held_out"] is None
    assert np.load(tmp_path / "set" / "train.ids.npy").tolist() == train_split.ids.tolist()


def test_in_memory_equals_on_disk_and_survives_saving(tmp_path: Path) -> None:
    table = write(tmp_path / "train.jsonl")
    on_disk = encode(tmp_path, table, holdout=0.25, seed=3)
    in_memory = encode_texts(TEXTS, LABELS, recipe=RECIPE, holdout=0.25, seed=3)
    assert_same(on_disk, in_memory)
    in_memory.save(tmp_path / "saved")
    assert_same(Dataset.open(tmp_path / "saved"), in_memory)
    with refuses("exists"):
        in_memory.save(tmp_path / "saved")
    in_memory.save(tmp_path / "saved", overwrite=True)


def test_several_parts_are_one(tmp_path: Path) -> None:
    whole = encode_texts(TEXTS, LABELS, recipe=RECIPE)
    parts = [write(tmp_path / f"{i}.jsonl", TEXTS[i : i + 3], LABELS[i : i + 3]) for i in (0, 3, 6) if i < 6]
    parts.append(write(tmp_path / "6.jsonl", TEXTS[6:], LABELS[6:]))
    assert_same(encode_tables(tmp_path / "set", parts, recipe=RECIPE, progress=False), whole)


def test_pairs_and_weights(tmp_path: Path) -> None:
    dataset = encode_texts(
        TEXTS,
        LABELS,
        TEXTS[::-1],
        np.arange(8),
        recipe=RECIPE,
        dev=Texts(TEXTS[:2], LABELS[:2], ["Yes", "No"]),
    )
    train = dataset.splits["train"]
    assert dataset.pair
    assert train.lengths2 is not None
    assert train.weights is not None
    _, (_, starts2, _) = train.sides
    assert train.lengths2.tolist() == train.lengths.tolist()[::-1]
    assert starts2.tolist() == (np.cumsum(train.lengths2) - train.lengths2).tolist()
    assert train.weights.tolist() == list(range(8))
    assert len(dataset.splits["dev"]) == 2
    assert dataset.facts["words"]["train"] == 66
    dataset.save(tmp_path / "pairs")
    assert_same(Dataset.open(tmp_path / "pairs"), dataset)


def test_the_vocabulary_is_of_the_training_split_alone(tmp_path: Path) -> None:
    texts = [f"only{i} here" for i in range(40)]
    dataset = encode_texts(texts, [0, 1] * 20, recipe=RECIPE, holdout=0.2, seed=1)
    assert len(dataset.splits["dev"]) == 8
    assert len(dataset.tokenizer) == 2 + 1 + 32
    assert all(row == ["<unk>", "here"] for row in words(dataset, "dev"))
    assert all("<unk>" not in row for row in words(dataset))
    dev = encode_texts(["a b"] * 4, [0, 1] * 2, recipe=RECIPE, dev=(["c d"], [1]))
    assert dev.splits["dev"].ids.tolist() == [UNKNOWN, UNKNOWN]


def test_the_recipe_is_followed() -> None:
    recipe = TextRecipe(lowercase=False, min_count=2, max_length=2)
    dataset = encode_texts(["Soup soup Soup", "pie soup x y z"] * 2, [0, 1] * 2, recipe=recipe, holdout=0)
    assert words(dataset) == [["Soup", "soup"], ["pie", "soup"]] * 2


def test_vectors_are_read_and_kept(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("soup 1 2 3\npie 4 5 6\n")
    recipe = TextRecipe(vectors=str(tmp_path / "glove.txt"))
    dataset = encode(tmp_path, write(tmp_path / "train.jsonl"), recipe=recipe, holdout=0)
    assert dataset.vectors is not None
    row = dict(zip(dataset.tokenizer.vocabulary, dataset.vectors.tolist(), strict=True))
    assert row["soup"] == [1, 2, 3]
    assert not any(row["<pad>"])
    facts = dataset.facts["vectors"]
    assert (facts["found"], facts["size"], facts["words"]) == (2, 3, len(dataset.tokenizer) - 2)
    assert facts["found_of_training_words"] == pytest.approx(4 / 33, abs=1e-4)


def test_vectors_that_do_not_fit_on_the_disk(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "glove.txt").write_text(f"soup{' 1' * 50_000}\npie{' 2' * 50_000}\n")
    recipe = TextRecipe(vectors=str(tmp_path / "glove.txt"))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, hard))
    try:
        with refuses("os-error") as refused:
            encode(tmp_path, write(tmp_path / "train.jsonl"), recipe=recipe)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(refused.value) == f"cannot write {tmp_path / 'set'}: File too large"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["glove.txt", "train.jsonl"]


@pytest.mark.parametrize(
    ("counts", "held", "how"),
    [
        ([20, 10], 3, "10% of each class"),
        ([20, 4], 3, "12.5%: 10% of each class, rounded, and at least one row"),
        ([20, 10, 1], 3, "9.68%; none from small classes: 1 of 3"),
        ([2] * 50, 10, "10%; none from small classes: 40 of 50"),
    ],
)
@pytest.mark.filterwarnings("ignore:1 label occurs")
def test_holding_out_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], counts: list[int], held: int, how: str
) -> None:
    labels = [f"class {k}" for k, count in enumerate(counts) for _ in range(count)]
    table = write(tmp_path / "train.jsonl", ["Good soup"] * len(labels), labels)
    dataset = encode(tmp_path, table, progress=True)
    note = f"held out {held} of the {len(labels)} rows of {table} as the development set ({how})"
    assert dataset.facts["held_out"] == note
    assert note in capsys.readouterr().err
    assert {name: len(split) for name, split in dataset.splits.items()} == {
        "train": len(labels) - held,
        "dev": held,
    }


def test_a_class_that_may_be_a_missing_label_is_warned_of(tmp_path: Path) -> None:
    table = tmp_path / "train.csv"
    table.write_text("text,label\n" + "Good,good\nBad,NaN\nSo so,none\n" * 10)
    with pytest.warns(UserWarning, match=r"^the label 'NaN' \(rows: 10\) is learnt as a class; if") as said:
        dataset = encode(tmp_path, table)
    assert (len(said), dataset.labels) == (1, ("NaN", "good", "none"))


@pytest.mark.filterwarnings("ignore:8 labels occur")
def test_where_nothing_can_be_held_out_it_says_what_follows() -> None:
    with pytest.warns(UserWarning, match="without a development set, the last epoch is kept"):
        dataset = encode_texts(TEXTS, list(range(8)), recipe=RECIPE)
    assert (list(dataset.splits), dataset.facts["held_out"]) == (["train"], None)


@examples(100)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.floats(0, 0.99), st.integers(0, 5))
def test_what_is_held_out(labels: list[int], share: float, seed: int) -> None:
    column = np.array(labels)
    held = choose_held_out(column, share, seed)
    np.testing.assert_array_equal(held, choose_held_out(column, share, seed))
    for label in set(labels):
        rows, out = int((column == label).sum()), int(held[column == label].sum())
        assert out <= rows - 1
        assert abs(out - rows * share) <= 1
    assert held.any() == (share > 0 and len(set(labels)) < len(labels))


@examples(100)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=60), st.integers(0, 5))
def test_small_classes_together_give_no_more_than_their_share(counts: list[int], seed: int) -> None:
    held = choose_held_out(np.repeat(np.arange(len(counts)), counts), 0.1, seed)
    assert held.sum() <= max(1, 0.25 * sum(counts))


@examples(60)
@given(st.lists(st.lists(st.integers(2, 9), min_size=1, max_size=8), min_size=1), st.integers(0, 9))
def test_cutting(sentences: list[list[int]], most: int) -> None:
    ids, lengths = np.array(list(chain.from_iterable(sentences))), np.array([len(s) for s in sentences])
    short_ids, short = truncate(ids, lengths, most)
    expected = [s[: most or None] for s in sentences]
    assert short_ids.tolist() == list(chain.from_iterable(expected))
    assert short.tolist() == [len(s) for s in expected]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["b", "a", "b"], ("a", "b")),
        (["10", "9", "-1", "0"], (-1, 0, 9, 10)),
        (["01", "1"], ("01", "1")),
        (["1.0", "2.0"], ("1.0", "2.0")),
        (["1", "x"], ("1", "x")),
        (["²", "1"], ("1", "²")),
        ([3, 1, 2], (1, 2, 3)),
        ([2.0, 1], (1, 2)),
        ([0.5, 1.0], (0.5, 1.0)),
        ([1, 1.5, 2], (1.0, 1.5, 2.0)),
        ([True, False], (False, True)),
        (["True", "False"], ("False", "True")),
    ],
)
def test_classes(labels: list[Any], classes: tuple[Any, ...]) -> None:
    column = LabelColumn(labels)
    assert column.classes() == classes
    assert [type(label) for label in column.classes()] == [type(label) for label in classes]
    assert sorted(set(column.index(classes, "a.csv").tolist())) == list(range(len(classes)))


@pytest.mark.parametrize(
    ("labels", "others"),
    [
        (["0.5", "1.0"], [0.5, 1.0]), (["1", "2"], [1.0, 2.0]), (["1", "1.5"], [1, 1.5]),
        (["true", "false"], [True, False]), (["False", "True"], [False, True]), (["a", "b"], ["a", "b"]),
        ([str(2**60), str(2**60 + 1)], [2**60, 2**60 + 1]), (["-3", "0"], [-3, 0]),
        ([7.21e18, 1.2345678901234567e19], [int(7.21e18), int(1.2345678901234567e19)]),
    ],
)  # fmt: skip
def test_a_class_may_be_written_in_another_way(labels: list[Any], others: list[Any]) -> None:
    for some, more in ((labels, others), (others, labels)):
        classes = LabelColumn(some).classes()
        expected = LabelColumn(some).index(classes, "a")
        assert LabelColumn(more).index(classes, "b").tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("labels", "stranger"), [(["1", "2"], "01"), (["True", "1"], 2), (["1", "1.0"], 1.5), ([True, False], 1)]
)
def test_a_label_that_is_none_of_the_classes(labels: list[Any], stranger: Any) -> None:
    classes = LabelColumn(labels).classes()
    with refuses("label-unknown"):
        LabelColumn([stranger]).index(classes, "a.csv")


@pytest.mark.parametrize("labels", [[1, "a"], [True, 1], [True, "True"]])
def test_labels_of_different_types(labels: list[Any]) -> None:
    with refuses("label-type"):
        LabelColumn(labels).classes()


def test_a_number_is_the_same_label_in_any_format(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "a,1\nb,2\n" * 3)
    dev = write(tmp_path / "dev.jsonl", ["a", "b"], [2, 1.0])
    labels = encode(tmp_path, tmp_path / "train.csv", dev).splits["dev"].labels
    assert labels is not None
    assert labels.tolist() == [1, 0]


def test_numpy_and_single_labels() -> None:
    with pytest.warns(UserWarning, match="1 label occurs only once in the training data: 7"):
        dataset = encode_texts(np.array(["a", "b", "c"]), np.array([3, 3, 7]), recipe=RECIPE)
    assert dataset.labels == (3, 7)
    assert [type(label) for label in dataset.labels] == [int, int]
    assert dataset.facts["classes"] == {"train": {"3": 1, "7": 1}, "dev": {"3": 1, "7": 0}}


def test_texts_without_labels() -> None:
    dataset = encode_texts(TEXTS, recipe=RECIPE, holdout=0.25)
    assert dataset.labels == ()
    assert dataset.splits["train"].labels is None
    assert {name: len(split) for name, split in dataset.splits.items()} == {"train": 6, "dev": 2}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": []}, "no texts"),
        ({"texts": {"Good": 1}}, "train: texts must be a list or a column, not dict"),
        ({"texts": "Good"}, "train: texts must be a list or a column; got one string"),
        ({"texts": ["a", " "], "labels": [0, 1]}, "train: only spaces in texts[1]"),
        ({"texts": ["a", None], "labels": [0, 1]}, "train: no text in texts[1]"),
        ({"texts": ["a", float("nan")], "labels": [0, 1]}, "train: no text in texts[1]"),
        ({"texts": ["a", "b\0"], "labels": [0, 1]}, "train: a NUL character in texts[1]"),
        ({"texts": ["a", [5]], "labels": [0, 1]}, "train: [5] in texts[1] is not text"),
        ({"texts": ["a", "b"], "labels": [0]}, "train: 2 texts but 1 labels"),
        ({"texts": ["a", "b"], "labels": [0, None]}, "train: no label in labels[1]"),
        ({"texts": ["a", "b"], "labels": [1, 1]}, "train: every label is 1; at least two"),
        (
            {"texts": ["a", "b"], "labels": [0, 1], "weights": [1, -1]},
            "train: weights[1] is -1; it must be a number of at least 0",
        ),
        (
            {"texts": ["a", "b"], "labels": [0, 1], "weights": ["x", 1]},
            "train: weights[0] is 'x'; it must be",
        ),
        (
            {"texts": ["a", "b"], "labels": [0, 1], "weights": [1, 1e39]},
            "train: weights[1] is 1e+39; it must be",
        ),
        ({"texts": TEXTS, "labels": LABELS, "dev": (["a"], ["great"])}, "dev: texts[0]: the label 'great'"),
        ({"texts": TEXTS, "labels": LABELS, "dev": (["a"],)}, "must all have labels or none"),
        ({"texts": TEXTS, "labels": LABELS, "holdout": 1.0}, "holdout is 1.0; it must be"),
    ],
)
def test_bad_sequences(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(LimelightError) as error:
        encode_texts(**arguments, recipe=RECIPE)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ("text,label\n", {}, "has no rows"),
        ("text,label\nGood,1\n ,2\n", {}, "row 3: only spaces"),
        ("text,label\nGood,1\nBad,1\n", {}, "every label is 1"),
        ("text,label\nGood,1\nBad,2\n" * 2, {"label": "star"}, "has no column 'star'"),
        ("text,label\nGood,1\nBad,2\n", {"recipe": TextRecipe(vectors="no/such.txt")}, "no such file: no"),
        ("text,label\nGood,1\nBad,2\n", {"dev": "no/such.csv"}, "no such file: no"),
        ("text,label\nGood,1\nBad,2\n", {"on_bad": "ignore"}, "on_bad is 'ignore'"),
    ],
)
def test_bad_tables_leave_nothing_behind(
    tmp_path: Path, table: str, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "train.csv").write_text(table)
    with pytest.raises(LimelightError) as error:
        encode(tmp_path, tmp_path / "train.csv", **options)
    assert message in str(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_an_unseen_label_names_its_row(tmp_path: Path) -> None:
    train, dev = write(tmp_path / "train.jsonl"), write(tmp_path / "dev.jsonl", ["a", "b"], ["bad", "fair"])
    with refuses("label-unknown"):
        encode(tmp_path, train, dev)


def test_bad_rows_are_skipped_and_counted(tmp_path: Path) -> None:
    table = write(tmp_path / "train.jsonl", [*TEXTS, "", " ", "x"], [*LABELS, "good", "bad", None])
    with pytest.warns(UserWarning, match="train.jsonl: skipped 3 of its 11 rows"):
        dataset = encode(tmp_path, table, on_bad="skip", holdout=0)
    assert dataset.facts["skipped"] == {"train": 3}
    assert_same(dataset, encode_texts(TEXTS, LABELS, recipe=RECIPE, holdout=0))


def test_guessed_columns_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("stars,city,review\n" + "5,Ghent,Good\n1,Rome,Bad\n" * 2)
    options = {"recipe": TextRecipe(), "overwrite": True}
    encode_tables(tmp_path / "set", tmp_path / "a.csv", **options)
    assert "text column: review, label column: stars" in capsys.readouterr().err
    encode_tables(tmp_path / "set", tmp_path / "a.csv", text="city", **options)
    assert "text column: city, label column: stars" in capsys.readouterr().err
    encode_tables(tmp_path / "set", tmp_path / "a.csv", text="city", label="stars", **options)
    assert "column:" not in capsys.readouterr().err
    encode_tables(tmp_path / "set", tmp_path / "a.csv", progress=False, **options)
    assert capsys.readouterr().err == ""


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limelight.text.encode_steps.LONGEST_TEXT", 1000)


@pytest.mark.usefixtures("short_limit")
@pytest.mark.filterwarnings("ignore:.*skipped")
def test_a_row_that_is_too_long_to_train_on_is_named(tmp_path: Path) -> None:
    rows = [(text, label) for text, label in zip(TEXTS, [1, 0] * 4, strict=True)]
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f'"{text}",{label}\n' for text, label in rows))
    (tmp_path / "b.csv").write_text(f"text,label\n,1\nGood,1\n{'a word ' * 500 + 'more'},0\n")
    tables, out = [tmp_path / "a.csv", tmp_path / "b.csv"], tmp_path / "set"
    with refuses("text-too-long"):
        encode_tables(out, tables, recipe=TextRecipe(), on_bad="skip", progress=False)
    assert not out.exists()
    for longest, words in ((900, 900), (2000, 1001)):  # what the user allows is truncated, or trained on
        dataset = encode_tables(
            out, tables, recipe=TextRecipe(max_length=longest), on_bad="skip", progress=False, overwrite=True,
            holdout=0,
        )  # fmt: skip
        assert dataset.splits["train"].lengths.max() == words


@pytest.mark.usefixtures("short_limit")
def test_a_text_in_memory_that_is_too_long_to_train_on_is_named() -> None:
    texts, long = ["Good", "Bad", "Good"], "word " * 1001
    with refuses("text-too-long"):
        encode_texts(["Good", "Bad", long], [1, 0, 1], recipe=TextRecipe(), holdout=0)
    dev = Texts(texts, [1, 0, 1], ["a", long, "b"])
    with refuses("text-too-long"):
        encode_texts(texts, [1, 0, 1], texts, recipe=TextRecipe(), dev=dev)


def test_only_a_data_set_is_overwritten(tmp_path: Path) -> None:
    table = write(tmp_path / "train.jsonl")
    encode(tmp_path, table)
    with refuses("exists"):
        encode(tmp_path, table)
    encode(tmp_path, table, overwrite=True)
    with refuses("exists"):
        encode_tables(tmp_path, table, recipe=RECIPE, overwrite=True)
    assert table.exists()
    for mine in ("mine.npy", "train.ids2.npy"):  # another name; and a folder of a name that we use
        (tmp_path / "set" / mine).mkdir()
        with refuses("exists"):
            encode(tmp_path, table, overwrite=True)
        (tmp_path / "set" / mine).rmdir()


def test_a_table_that_changes_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write(tmp_path / "train.jsonl")

    def meddle(*arguments: Any) -> NumberedWords:
        write(table, TEXTS * 2, LABELS * 2)
        return number_words(*arguments)

    monkeypatch.setattr("limelight.text.encode_steps.CHUNK_ROWS", 2)
    monkeypatch.setattr("limelight.text.encode_steps.number_words", meddle)
    with refuses("file-changed"):
        encode(tmp_path, table)


def test_large_vocabularies_have_wider_ids(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_words([f"w{i}" for i in range(70_000)])
    train = Split(np.array([2, 70_001], np.int32), np.array([2], np.int32))
    Dataset(tokenizer, (), {"train": train}, None, {}).save(tmp_path / "wide")
    opened = Dataset.open(tmp_path / "wide").splits["train"].ids
    assert opened.dtype == np.int32
    assert opened.tolist() == [2, 70_001]


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "dataset.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def shorten_file(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


DAMAGE: dict[str, tuple[Any, str]] = {
    "no description": (lambda f: (f / "dataset.json").unlink(), "is not an encoded data set"),
    "half a description": (lambda f: shorten_file(f / "dataset.json", 90), "is damaged"),
    "foreign": (lambda f: edit(f, format="other"), "does not describe a Limelight data set"),
    "newer": (lambda f: edit(f, version=2), "has version 2, this version reads 1; update"),
    "no labels": (lambda f: edit(f, labels=None), r"is damaged \(labels\)"),
    "strange split": (lambda f: edit(f, splits={"../x": {"ids": 1, "lengths": 1}}), r"splits\.\.\./x"),
    "no ids": (lambda f: edit(f, splits={"train": {"lengths": 8}}), r"is damaged \(splits\.train\)"),
    "other tokenizer": (lambda f: edit(f, tokenizer="0"), "tokenizer.json is not the one"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "cannot read"),
    "no array": (lambda f: (f / "train.ids.npy").unlink(), "cannot read .*No such file"),
    "truncated array": (lambda f: shorten_file(f / "train.ids.npy", 150), "train.ids.npy is damaged"),
    "no header": (lambda f: shorten_file(f / "train.lengths.npy", 20), "train.lengths.npy is damaged"),
    "empty array": (lambda f: shorten_file(f / "train.lengths.npy", 0), "train.lengths.npy is damaged"),
    "other type": (lambda f: np.save(f / "train.labels.npy", np.zeros(8)), "holds float64 of shape"),
    "other size": (lambda f: np.save(f / "train.labels.npy", np.zeros(7, np.int32)), r"of shape \(7,\)"),
    "objects": (
        lambda f: np.save(f / "train.labels.npy", np.array([{}] * 8), allow_pickle=True), "is damaged"
    ),
    "ids out of range": (
        lambda f: np.save(f / "train.ids.npy", np.full(33, 9999, np.uint16)), "its word ids are damaged"
    ),
    "lengths that do not add up": (
        lambda f: np.save(f / "train.lengths.npy", np.full(8, 5, np.int32)), "its word ids are damaged"
    ),
    "labels out of range": (
        lambda f: np.save(f / "train.labels.npy", np.full(8, 2, np.int32)), "labels are not in dataset.json"
    ),
    "no vectors": (lambda f: (f / "vectors.safetensors").unlink(), "cannot read"),
    "truncated vectors": (lambda f: shorten_file(f / "vectors.safetensors", 100), "safetensors is damaged"),
}  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    (folder / "glove.txt").write_text("soup 1 2 3\n")
    recipe = TextRecipe(vectors=str(folder / "glove.txt"))
    encode_texts(TEXTS, LABELS, recipe=recipe, holdout=0).save(folder / "set")
    return folder / "set"


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_one_clear_line(sound: Path, tmp_path: Path, damage: str) -> None:
    folder = shutil.copytree(sound, tmp_path / "set")
    Dataset.open(folder)
    harm, message = DAMAGE[damage]
    harm(folder)
    with pytest.raises(LimelightError, match=message) as error:
        Dataset.open(folder)
    assert "\n" not in str(error.value)


def test_a_split_of_plain_arrays() -> None:
    split = Split(np.array([2, 3, 4]), np.array([1, 2]))
    assert (len(split), split.pair, split.words, len(split.sides)) == (2, False, 3, 1)
    assert split.starts.dtype == np.int64


def test_spare_words_follow_those_of_the_training_data(tmp_path: Path) -> None:
    vectors = tmp_path / "glove.txt"
    vectors.write_text("soup 1 0\nWaiter 0 1\nbroth 2 2\n<unk> 3 3\nstew 4 4\n")
    rows: dict[str, Any] = {"texts": ["Good soup", "Bad soup"] * 2, "labels": [1, 0] * 2, "holdout": 0}
    plain = TextRecipe(vectors=str(vectors))
    assert encode_texts(**rows, recipe=plain).tokenizer.vocabulary[2:] == ("soup", "bad", "good")
    dataset = encode_texts(**rows, recipe=replace(plain, extra_words=4))
    assert dataset.tokenizer.vocabulary[2:] == ("soup", "bad", "good", "broth")
    assert dataset.vectors is not None
    assert dataset.vectors[[2, 5]].tolist() == [[1.0, 0.0], [2.0, 2.0]]
    cased = encode_texts(**rows, recipe=replace(plain, extra_words=2, lowercase=False))
    assert cased.tokenizer.vocabulary[-1] == "Waiter"


def test_texts_that_the_bundled_reader_cannot_read_are_warned_of() -> None:
    texts = ["Die Suppe war kalt und schmeckte scheußlich", "Der Kellner lächelte freundlich"] * 4
    start = load_start("reader")
    with pytest.warns(UserWarning, match="start from 'reader-multilingual' for German"):
        encode_texts(
            texts=texts, labels=[1, 0] * 4, holdout=0, recipe=TextRecipe(start="reader"), start=start
        )


def test_asking_for_more_spare_words_than_the_vectors_have(tmp_path: Path) -> None:
    vectors = tmp_path / "glove.txt"
    vectors.write_text("soup 1 0\n\nstew 4 4\n\n")
    recipe = TextRecipe(vectors=str(vectors), extra_words=100)
    with pytest.warns(UserWarning, match=r"glove.txt has only 33% of the words"):
        dataset = encode_texts(texts=["Good soup", "Bad"] * 2, labels=[1, 0] * 2, holdout=0, recipe=recipe)
    assert dataset.tokenizer.vocabulary[2:] == ("bad", "good", "soup", "stew")
