"""Texts of other scripts, from the table to the picture: words, vectors, and the text as it was."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from limelight import TextClassifier, load
from limelight.config.recipe import TextRecipe
from limelight.reading import to_html, to_svg, to_terminal
from limelight.text.encode import encode_texts

CHINESE = ["这本书真好，我很喜欢。", "质量太差，千万别买！", "内容很好，推荐。", "很失望，太差了。"]
LABELS = ["good", "bad", "good", "bad"]
TEXTS = [
    "我的iPhone很好👍🏽，真的。",
    "コーヒーはすごーくおいしい！",
    "น้ำซุปอร่อยมาก ๑๒๓",
    "ភាសាខ្មែរ ຊຸບ မြန်မာ",
    "שָׁלוֹם (עולם) 好 العربية",
    "e\u0301te\u0301 👨\u200d👩\u200d👧 汤",
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("chinese") / "model"
    options = {"preset": "tiny", "epochs": 8, "learning_rate": 0.02, "random_state": 0, "progress": False}
    TextClassifier(**options).fit(CHINESE * 20, LABELS * 20).save(folder)
    return load(folder)


def test_what_is_learnt_are_characters(model):
    assert model.predict(["很好", "太差"]) == ["good", "bad"]
    reading = model.read("质量很好。")
    assert reading.words == ("质", "量", "很", "好", "。")
    assert reading.known.all()


@pytest.mark.parametrize("text", TEXTS)
def test_pictures_show_the_text_as_it_was(model, text: str):
    reading = model.read(text)
    maps = re.findall(r'<p dir="auto">(.*?)</p>', to_html(reading), re.DOTALL)
    shown = [unescape(re.sub("<[^>]+>", "", p)) for p in maps]
    assert shown
    assert set(shown) == {text}
    assert text.replace(" ", "")[:4] in re.sub(r"<[^>]+>|\s", "", unescape(to_svg(reading)))
    assert text in to_terminal(reading, colour=False, width=100)


def test_vectors_of_another_language_are_found(tmp_path: Path):
    words = sorted(set("".join(CHINESE)))
    matrix = np.random.default_rng(0).normal(size=(len(words), 3)).round(3)
    lines = [f"{w} {' '.join(map(str, v))}" for w, v in zip(words, matrix, strict=True)]
    path = tmp_path / "cc.zh.3.vec"
    path.write_text(f"{len(words)} 3\n" + "\n".join(lines) + "\n", encoding="utf-8")
    data = encode_texts(CHINESE, LABELS, recipe=TextRecipe(vectors=str(path)), holdout=0)
    assert data.facts["vectors"]["found_of_training_words"] == 1.0
    row = data.tokenizer.vocabulary.index("好")
    np.testing.assert_allclose(data.vectors[row], matrix[words.index("好")], rtol=1e-6)


def test_a_model_goes_on_with_the_rule_it_has(model, tmp_path: Path):
    spaced = ["这 本 书 真好", "质量 太差"] * 20
    options = {"preset": "tiny", "epochs": 1, "progress": False, "device": "cpu"}
    first = TextClassifier(**options, split_characters=False).fit(spaced, ["good", "bad"] * 20)
    assert "真好" in first.model_.tokenizer.vocabulary
    first.save(tmp_path / "m")
    more = TextClassifier(**options, start=str(tmp_path / "m"))
    more.fit(["内容 真好 推荐", "质量 失望"] * 10, LABELS[:2] * 10)
    assert {"真好", "推荐"} <= set(more.model_.tokenizer.vocabulary)
    assert not more.recipe_.text.split_characters
