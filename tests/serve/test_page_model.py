"""The network and the tokenizer in JavaScript give what Python gives."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import trained
from limelight.explain import joint
from limelight.explain.attribution import count_words
from limelight.reading import captions
from limelight.reading.captions import METHODS
from limelight.reading.reading import JointWords, Reading
from limelight.runtime.model import Model
from limelight.serve.explorer.explored import ModelNeighbours, explore_data
from limelight.serve.explorer.one_file import check_packable, pack_model
from limelight.serve.page.bundle import about_model
from limelight.serve.page.packed_arrays import Steps, pack_arrays, to_text
from limelight.text import word_kinds
from limelight.text.rules import CHARACTERS, javascript_rules
from limelight.text.tokenizer import Tokenizer
from refusing import refuses
from serve.in_node import needs_node, run_node
from trained import ARCHITECTURES, LABELS, PAIRS, network_of, recipe_of, texts_of, weights_of

READ = """
import zlib from "node:zlib"
import { LocalModel } from "./local_model.js"
import { parseModel } from "./model_file.js"

async function answer({ files, texts, off, plain, asked = [] }) {
  if (plain) delete globalThis.WebAssembly
  const found = []
  for (const [file, pair] of files) {
    const model = new LocalModel(parseModel(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))))
    const read = (both, k) => model.read(pair ? both : both.slice(0, 1), off, asked[k])
    found.push(await Promise.all(texts.map(read)))
  }
  return found
}
"""
MORE = [
    {"head": "linear"},
    {"head": "linear", "max_row": True},
    {"head": "linear", "encoder": "words", "word_size": 32},  # as the preset fast
    {"encoder": "words", "projection": 5, "max_row": True},
]
WAYS = [(options, pair) for options in [*ARCHITECTURES.values(), *MORE] for pair in PAIRS]


def model_of(options: dict[str, Any], pair: str | None = None) -> Model:
    recipe = recipe_of(options, pair)
    return Model.from_parts(
        weights=weights_of(network_of(recipe, pair is not None)), recipe=recipe, labels=LABELS,
        tokenizer=trained.tokenizer(), pair=pair is not None,
    )  # fmt: skip


def pack(folder: Path, models: list[Model], precision: str) -> list[tuple[str, bool]]:
    files = []
    for k, model in enumerate(models):
        file = folder / f"{k}.gz"
        file.write_bytes(pack_model(model, words=1000, most=0, precision=precision)[0])
        files.append((str(file), model.pair))
    return files


LONG, MIDDLE = zip(texts_of(2, longest=70), texts_of(2, seed=1), strict=True)
READ_TEXTS = [LONG, MIDDLE, ("w3", "w4"), ("w5 w5", "w9")]


@cache
def models_and_readings() -> tuple[list[Model], list[list[Reading]]]:
    models = [model_of(*way) for way in WAYS]
    return models, [[model.read(a, b if model.pair else None) for a, b in READ_TEXTS] for model in models]


@needs_node
@pytest.mark.parametrize(
    ("precision", "plain", "near"),
    [("float32", False, 1e-5), ("float32", True, 1e-5), ("float16", False, 0.01)],
)
def test_every_architecture_reads_as_in_python(
    tmp_path: Path, precision: str, plain: bool, near: float
) -> None:
    models, readings = models_and_readings()
    given = {"files": pack(tmp_path, models, precision), "texts": READ_TEXTS, "off": [], "plain": plain}
    for way, expected, found in zip(WAYS, readings, run_node(tmp_path, READ, given), strict=True):
        for reading, answer in zip(expected, found, strict=True):
            np.testing.assert_allclose(
                answer["probabilities"], reading.probabilities, atol=near, err_msg=str(way)
            )
            for side, theirs in zip(reading.sides, answer["sides"], strict=True):
                assert [[w["start"], w["end"]] for w in theirs["words"]] == side.offsets.tolist()
                assert [w["known"] for w in theirs["words"]] == side.known.tolist()
                np.testing.assert_allclose(theirs["attention"], side.attention, atol=near, err_msg=str(way))
                if precision == "float32" and theirs["text"]:
                    for ours, found in ((side.decided, "decided"), (side.row_weights, "rows")):
                        np.testing.assert_allclose(theirs[found], ours, atol=1e-4, err_msg=str(way))
                    if side.bias is not None:  # not in a pair
                        assert theirs["bias"] == pytest.approx(side.bias, abs=1e-4)


@needs_node
def test_a_class_is_asked_against_as_in_python(tmp_path: Path) -> None:
    ways = [({"head": "linear"}, None), ({"head": "pruned"}, None), ({"head": "pruned"}, "concat")]
    models, texts = [model_of(*way) for way in ways], ("w1 w2 w3", "w4 w9")
    asked = [{"against": k} for k in range(len(LABELS))]
    given = {"texts": [texts] * len(LABELS), "off": [], "asked": asked}
    given["files"] = pack(tmp_path, models, "float32")
    for model, answers in zip(models, run_node(tmp_path, READ, given), strict=True):
        for k, (label, answer) in enumerate(zip(LABELS, answers, strict=True)):
            reading = model.read(*texts[: 1 + model.pair], against=label)
            assert answer["against"] == (None if reading.sides[0].versus is None else k)
            for side, theirs in zip(reading.sides, answer["sides"], strict=True):
                for ours, found in ((side.decided, "decided"), (side.row_weights, "rows")):
                    np.testing.assert_allclose(theirs[found], ours, atol=1e-4)
                assert theirs.get("bias") == (
                    None if side.bias is None else pytest.approx(side.bias, abs=1e-4)
                )


SAY = """
import { joinContractions } from "./pieces.js"
import { jointLine, rowsSummary } from "./sentences.js"

async function answer({ sides, rowNames, totals, task }) {
  const joined = sides.map(joinContractions)
  const summary = rowsSummary({ rowNames }, { sides: joined }, totals)
  return { joined, summary, joint: jointLine({ sides, label: null, against: null }, { task }) }
}
"""


@needs_node
def test_the_page_joins_words_and_says_what_the_pictures_say(tmp_path: Path) -> None:
    text = "I can’t go"
    places = [[0, 1], [2, 4], [4, 7], [8, 10]]
    side = {
        "text": text, "words": [{"start": a, "end": b, "known": b != 7} for a, b in places],
        "decided": [0.5, 0.25, 0.5, -1.0], "attention": [[0.25, 0.25, 0.5, 0.0], [0.5, 0.0, 0.0, 0.5]],
        "joint": [{"first": "can’t", "second": "go", "between": " ", "falls": [0.04, -0.09, 0.311]}],
    }  # fmt: skip
    given = {"sides": [side], "rowNames": ["", "people: I"], "totals": [0.2, 0.1], "task": "classification"}
    found = run_node(tmp_path, SAY, given)
    (joined,) = found["joined"]
    assert [(w["start"], w["end"], w["known"]) for w in joined["words"]] == [
        (0, 1, True),
        (2, 7, False),
        (8, 10, True),
    ]
    assert joined["decided"] == [0.5, 0.75, -1.0]
    assert joined["attention"] == [[0.25, 0.75, 0.0], [0.5, 0.0, 0.5]]
    pair = JointWords((1, 3), (3, 4), 0.04, -0.09, 0.311)
    assert found["joint"] == captions.joint_line([("can’t", "go", pair)])
    rows = [captions.row_in_line(0, "", "can’t"), captions.row_in_line(1, "people: I", "I")]
    assert found["summary"] == captions.rows_summary(2, rows)


@needs_node
@pytest.mark.parametrize("pair", PAIRS)
def test_rows_switched_off_are_zero_in_the_embedding(tmp_path: Path, pair: str | None) -> None:
    model, texts = model_of({"head": "pruned"}, pair), [("w1 w2 w3", "w4 w9")]
    given = {"files": pack(tmp_path, [model], "float32"), "texts": texts, "off": [0, 2]}
    answer = run_node(tmp_path, READ, given)[0][0]
    M = [model.embed([text]) for text in texts[0][: 1 + model.pair]]
    for each in M:
        each[:, [0, 2]] = 0
    np.testing.assert_allclose(answer["probabilities"], model.classify(*M)[0], atol=1e-5)
    assert [answer["sides"][0]["rows"][r] for r in (0, 2)] == [0, 0]


@needs_node
def test_other_words_are_read_as_the_most_similar_one(tmp_path: Path) -> None:
    model, kept = model_of({"word_size": 3}), 12
    W = model.weights["words.weight"].astype(np.float64)
    own = W[2 : 2 + kept]
    scores = W @ (own / np.linalg.norm(own, axis=1, keepdims=True)).T
    best = scores.argmax(axis=1)
    factors = (scores.max(axis=1) / np.linalg.norm(own[best], axis=1)).clip(0, 2.55)
    table = W.copy()
    for k in range(2 + kept, len(W)):
        table[k] = round(factors[k] * 100) / 100 * own[best[k]]
    weights = {**model.weights, "words.weight": table.astype(np.float32)}
    same = Model.from_parts(
        weights=weights,
        recipe=model.recipe,
        tokenizer=model.tokenizer,
        labels=model.labels,
        precision="float32",
        threads=1,
    )
    file = tmp_path / "model.gz"
    file.write_bytes(pack_model(model, words=kept, most=0, precision="float32")[0])
    texts = [(text, "") for text in texts_of(8)]
    given = {"files": [(str(file), False)], "texts": texts, "off": []}
    vocabulary = model.tokenizer.vocabulary
    for (text, _), answer in zip(texts, run_node(tmp_path, READ, given)[0], strict=True):
        np.testing.assert_allclose(answer["probabilities"], same.read(text).probabilities, atol=1e-5)
        ids, _ = model.tokenizer.locate(text)
        expected = [vocabulary[best[k] + 2] if k >= 2 + kept else None for k in ids]
        assert [word.get("readAs") for word in answer["sides"][0]["words"]] == expected


@needs_node
def test_an_answer_to_a_word_that_is_read_as_another_says_so(tmp_path: Path) -> None:
    script = """import { differsLine } from "./sentences.js"
    const answer = cases => cases.map(each => differsLine(...each))"""
    text = "w1 w30 zz"
    words = [{"start": 0, "end": 2, "known": True}, {"start": 3, "end": 6, "known": True, "readAs": "w2"}]
    unknown = {"start": 7, "end": 9, "known": False}
    sides = [{"sides": [{"text": text, "words": each}]} for each in (words[:1], words, [words[0], unknown])]
    cases = [[{"lostWords": lost}, each] for lost in (False, True) for each in sides]
    said = run_node(tmp_path, script, cases)
    assert [bool(line) for line in said] == [False, True, False, False, True, True]
    assert "“w30” as “w2”" in said[1]
    assert "“zz” as an unknown word" in said[5]


@pytest.mark.parametrize(("pair", "head"), [(None, "linear"), (None, "full"), ("gated", "full")])
def test_the_page_says_what_the_weights_are_as_other_pictures_do(pair: str | None, head: str) -> None:
    model = model_of({"head": head}, pair)
    way = model.read("w1", "w2" if pair else None).sides[0].decided_by
    assert about_model(model)["notes"][0] == METHODS[way]


# ---------------------------------------------------------------- what is packed


@needs_node
def test_bytes_as_text_are_the_same_bytes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    contents = [rng.bytes(size) for size in (*range(30), 1000)]
    script = """
    import { fromText } from "./model_file.js"

    const answer = texts => texts.map(text => [...fromText(text)])
    """
    texts = [to_text(content) for content in contents]
    assert run_node(tmp_path, script, texts) == [list(content) for content in contents]
    assert not set("".join(texts)) & set('&<>"\n')


@needs_node
def test_numbers_of_every_type_are_read_back(tmp_path: Path) -> None:
    values = np.array([0, 1, 2.5, -3, 100, 6e-8, -0.1])
    arrays = {
        str(np.dtype(each)): values.astype(each)
        for each in (np.float32, np.int32, np.float16, np.int16, np.int8)
    }
    arrays |= {"uint16": np.array([0, 65535], np.uint16), "uint8": np.array([0, 255], np.uint8)}
    (tmp_path / "arrays").write_bytes(pack_arrays({}, {**arrays, "steps": Steps(values)}))
    script = """
    import zlib from "node:zlib"
    import { parseArrays } from "./model_file.js"

    function answer(file) {
      const { arrays } = parseArrays(new Uint8Array(zlib.gunzipSync(fs.readFileSync(file))))
      return Object.fromEntries(Object.entries(arrays).map(([name, { values }]) => [name, [...values]]))
    }
    """
    found = run_node(tmp_path, script, str(tmp_path / "arrays"))
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.array(found[name]), array.astype(np.float64), err_msg=name)
    np.testing.assert_allclose(found["steps"], values, atol=np.sqrt((values**2).mean()) / 1000)


@needs_node
@pytest.mark.parametrize("pair", [None, "gated"])
def test_the_nearest_texts_are_those_of_the_server(tmp_path: Path, pair: str | None) -> None:
    model = model_of({}, pair)
    texts = [text or "w1" for text in texts_of(60)]
    items = [(text, other)[: 1 + model.pair] for text, other in zip(texts, texts[::-1], strict=True)]
    data = explore_data([model], items)
    (tmp_path / "data").write_bytes(data.pack(in_page=True))
    [(file, _)] = pack(tmp_path, [model], "float32")
    script = """
    import zlib from "node:zlib"
    import { Table } from "./data_table.js"
    import { LocalModel } from "./local_model.js"
    import { LocalNear } from "./local_near.js"
    import { parseArrays, parseModel } from "./model_file.js"

    const unzipped = file => new Uint8Array(zlib.gunzipSync(fs.readFileSync(file)))
    async function answer({ model, data, texts }) {
      const rows = parseArrays(unzipped(data))
      const local = new LocalModel(parseModel(unzipped(model)))
      return new LocalNear(local, Table.inPage(rows), rows.arrays).find(texts)
    }
    """
    given = {"model": file, "data": str(tmp_path / "data"), "texts": items[4]}
    found, expected = run_node(tmp_path, script, given), ModelNeighbours(model, data).find(items[4])
    assert len(found) == 8
    assert items[4] not in [tuple(hit["texts"]) for hit in found]
    similarities = [hit["similarity"] for hit in expected]
    assert [hit["similarity"] for hit in found] == pytest.approx(similarities, abs=0.02 if pair else 1e-4)
    if not pair:
        assert [hit["row"] for hit in found] == [hit["row"] for hit in expected]


def test_what_16_bits_cannot_hold_stays_as_it_is() -> None:
    assert Steps(np.linspace(-1, 1, 100)).fits
    assert not Steps(np.array([1e-6] * 100_000 + [1.0])).fits
    assert Steps(np.zeros(3)).counts.tolist() == [0, 0, 0]


def test_the_first_words_are_kept_and_float16_halves_the_rest(tmp_path: Path) -> None:
    model = model_of({})
    packed, kept = pack_model(model, words=10, most=0)
    assert kept == 10
    assert pack_model(model, words=None, most=10**6)[1] == 40
    assert len(packed) < len(pack_model(model, words=10, most=0, precision="float32")[0])


def test_as_many_words_are_kept_as_fit() -> None:
    words, recipe = [f"w{k}" for k in range(20_000)], recipe_of({"word_size": 32})
    weights = weights_of(network_of(recipe))
    rng = np.random.default_rng(0)
    weights["words.weight"] = rng.normal(size=(len(words) + 2, 32)).astype(np.float32)
    tokenizer = Tokenizer.from_words(words)
    model = Model.from_parts(weights=weights, recipe=recipe, tokenizer=tokenizer, labels=LABELS)
    packed, kept = pack_model(model, words=None, most=700_000)
    assert 0.95 * 700_000 < len(packed) <= 700_000
    assert 5_000 < kept < 20_000


def test_what_a_page_cannot_run_is_refused_in_one_line() -> None:
    with refuses("option-value"):
        pack_model(model_of({}), words=0, most=10**6)
    own = SimpleNamespace(recipe=recipe_of({"encoder": "module"}))
    with refuses("model-task"):
        check_packable(own)


# ---------------------------------------------------------------- words

PIECES = """
can't cannot gonna don’t O'Neil's rock'n'roll y'all l'amour 'em '90s ol' I'm dogs' n't Mr. etc. U.S.
a.m. Ph.D. No. 5 fig. 2 I. The 1,000.50 10:30 2 1/2 (555) 123-4567 20% $5 US$ -3 +4 .5 3-day five-star
and/or a/b/c/d C++ C# AT&T R&D http://example.org/a?b=c. https://x.com/é www.x.com/y a.b@example.org
<b> </div> <unk> <pad> <3 :-) ;) =D -_- ^_^ @name #tag #été &amp; &#39; ... .. ..... !!! ?! -- ** __ ``
'' << >> 👩‍🍳 👍🏽 🇩🇪🇫🇷 ❤️ 1️⃣ ☺ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 日本語。 中文 한국어 עברית العربية हिन्दी ไทย น้ำ ລາວ ខ្មែរ မြန်မာစာ
コーヒー ｶﾞ 葛󠄀 𠮷 〇 々 らーめん İstanbul
ΣΊΣΥΦΟΣ ẞ ﬁ K é e\u0301 naïve co\u00adop zero\u200bwidth a\u200cb \ufeff \u0085 \u00a0 \u3000 \u2028
\x00 \x1f \x7f \ud83d \udc4d \U0001d54f ½ ² ① ٣ ५ Ⅷ _x_ x_y ~ | \\ { } [ ] ( ) “q” ‘q’ «q» — – … ‰ ™ ©
good.The good!The A. b. c.d.e. aaaa-bbbb- -a ---- -> <- => #1 ## @@ a@b @ # & && 's 'tis 'twas d'accord
qu'il c'mon s'more 3.14.15 1.a 1-2-3 10,000th
"""
SPLIT = """
import { Tokenizer } from "./tokenizer.js"

function answer({ texts, ...rules }) {
  const tokenizer = new Tokenizer(rules)
  return texts.map(text => tokenizer.locate(text).map(({ start, end, id }) => [start, end, id]))
}
"""


def odd_texts(count: int = 600) -> list[str]:
    """Odd words, alone and in random company."""
    pieces, rng = [*PIECES.split(), " ", "\n", "\u00a0", "\u0085", ""], random.Random(0)
    return [*pieces, *("".join(rng.choices((*pieces, " "), k=rng.randrange(2, 9))) for _ in range(count))]


@needs_node
@pytest.mark.parametrize(("lowercase", "split_characters"), [(True, True), (False, True), (True, False)])
def test_odd_texts_have_the_same_words_as_in_python(
    tmp_path: Path, lowercase: bool, split_characters: bool
) -> None:
    texts, words = odd_texts(), ["i̇stanbul", "σίσυφοσ", "don", "n't", "The", "the", "日"]
    tokenizer = Tokenizer.from_words(words, lowercase=lowercase, split_characters=split_characters)
    given = {
        "pattern": javascript_rules(), "lowercase": lowercase, "words": words, "texts": texts,
        "characters": javascript_rules(CHARACTERS) if split_characters else None,
    }  # fmt: skip
    found = run_node(tmp_path, SPLIT, given)
    for text, theirs in zip(texts, found, strict=True):
        ids, offsets = tokenizer.locate(text)
        units = np.cumsum(
            [0, *(1 + (ord(letter) > 0xFFFF) for letter in text)]
        )  # JavaScript counts in UTF-16
        assert theirs == np.column_stack([units[offsets], ids]).tolist(), ascii(text)


JOINT = READ.replace(
    "model.read(pair ? both : both.slice(0, 1), off, asked[k])",
    """(async () => {
      const texts = pair ? both : both.slice(0, 1)
      return model.joint(texts, await model.read(texts, [], asked[k]))
    })()""",
)


@needs_node
@pytest.mark.parametrize("against", [None, 0])
def test_words_are_read_together_as_in_python(tmp_path: Path, monkeypatch, against: int | None) -> None:
    monkeypatch.setattr(joint, "MIN_JOINT", 1e-4)  # these models find little in two words
    monkeypatch.setattr(joint, "_NEGATING", {"w2"})
    monkeypatch.setattr(word_kinds, "FUNCTION_WORDS", frozenset({"w3", "w4"}))
    monkeypatch.setattr(joint, "FUNCTION_WORDS", frozenset({"w3", "w4"}))
    models = [model_of({"head": "linear"}), model_of({}), model_of({"rows": 2}, "concat")]
    texts = [
        ("w1 w3 w2 , w5 w6 w7", "w2 w8"),
        ("w2 w9", "w5"),
        ("w1 😀n't w6", "w7 w6"),
        ("w5 " * 70, "w1 w2"),
    ]
    files = pack(tmp_path, models, "float32")
    given = {"files": files, "texts": texts, "off": [], "asked": [{"against": against}] * len(texts)}
    total = 0
    for model, answers in zip(models, run_node(tmp_path, JOINT, given), strict=True):
        label = None if against is None else model.labels[against]
        for both, found in zip(texts, answers, strict=True):
            reading = joint.joint_words(model, model.read(*both[: 1 + model.pair], against=label))
            for side, pairs in zip(reading.sides, found, strict=True):
                expected = side.joint if count_words(reading) <= joint.MAX_WORDS_IN_PAGE else ()
                assert [(p["first"], p["second"]) for p in pairs] == [
                    tuple(side.text[slice(side.offsets[a, 0], side.offsets[b - 1, 1])] for a, b in each[:2])
                    for each in expected
                ]
                falls = [each[2:] for each in expected]
                np.testing.assert_allclose([p["falls"] for p in pairs], falls or [], atol=1e-5)
                total += len(pairs)
    assert total > 5
