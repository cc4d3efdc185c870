"""The teachers of a reader: MPNet's equations against plain numpy, and the mixture of several."""

import json
import math

import numpy as np
import pytest

from limelight.text.tokenizer import SPECIAL
from limelight.text.vectors import read_vectors

torch = pytest.importorskip("torch")
from experiments.reader import mix, teach  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers  # noqa: E402

SIZE, HEADS, LAYERS, BUCKETS = 8, 2, 2, 8
CONFIG = {
    "model_type": "mpnet", "hidden_size": SIZE, "num_attention_heads": HEADS, "num_hidden_layers": LAYERS,
    "layer_norm_eps": 1e-5, "pad_token_id": 1, "relative_attention_num_buckets": BUCKETS,
}  # fmt: skip


def mpnet_weights(random):
    shapes = {
        "embeddings.word_embeddings": (12, SIZE), "embeddings.position_embeddings": (40, SIZE),
        "encoder.relative_attention_bias": (BUCKETS, HEADS), "embeddings.LayerNorm": (SIZE,),
    }  # fmt: skip
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        shapes |= {f"{layer}attention.attn.{name}": (SIZE, SIZE) for name in "qkvo"}
        shapes |= {f"{layer}attention.LayerNorm": (SIZE,), f"{layer}output.LayerNorm": (SIZE,)}
        shapes |= {f"{layer}intermediate.dense": (16, SIZE), f"{layer}output.dense": (SIZE, 16)}
    found = {name + ".weight": random.normal(size=shape) for name, shape in shapes.items()}
    biased = [name for name in shapes if "embedd" not in name.rsplit(".", 1)[1] and "bias" not in name]
    return found | {name + ".bias": random.normal(size=shapes[name][0]) for name in biased}


def norm(x, w, name):
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * w[name + ".weight"] + w[name + ".bias"]


def linear(x, w, name):
    return x @ w[name + ".weight"].T + w[name + ".bias"]


def bucket(distance):
    """Four buckets on either side: distances 0 and 1, up to 15, and farther."""
    far = abs(distance)
    near = far if far < 2 else min(3, 2 + int(np.log(far / 2) / np.log(128 / 2) * 2))
    return near + 4 * (distance > 0)


def by_hand(w, ids):
    n = len(ids)
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][2 : 2 + n]
    x = norm(x, w, "embeddings.LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (linear(x, w, f"{layer}attention.attn.{name}").reshape(n, HEADS, -1) for name in "qkv")
        scores = np.einsum("ihd,jhd->hij", q, k) / np.sqrt(SIZE / HEADS)
        for a, b in np.ndindex(n, n):
            scores[:, a, b] += w["encoder.relative_attention_bias.weight"][bucket(b - a)]
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        a = linear(np.einsum("hij,jhd->ihd", weights, v).reshape(n, SIZE), w, f"{layer}attention.attn.o")
        x = norm(x + a, w, f"{layer}attention.LayerNorm")
        h = linear(x, w, f"{layer}intermediate.dense")
        h = h * 0.5 * (1 + np.vectorize(math.erf)(h / np.sqrt(2)))
        x = norm(x + linear(h, w, f"{layer}output.dense"), w, f"{layer}output.LayerNorm")
    mean = x.mean(0)
    return mean / np.linalg.norm(mean)


def save_words(folder):
    words = [f"w{k}" for k in range(12)]
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(words)}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))


def test_mpnet_is_its_equations_whatever_is_in_the_batch(tmp_path):
    w = mpnet_weights(np.random.default_rng(0))
    save_file({name: each.astype(np.float32) for name, each in w.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    save_words(tmp_path)
    texts = ["w3", "w4 w5 w6 w7 w8 w9 w10 w11 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w2 w3", "w4 w9"]
    vectors = teach.Teacher(tmp_path, "cpu").encode(texts)
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(by_hand(w, [int(word[1:]) for word in text.split()]), abs=2e-3)


def bert_layer_free(folder, random, **pooling):
    """A BERT without layers: its states are those of the words and their places."""
    config = CONFIG | {"model_type": "bert", "num_hidden_layers": 0, "pad_token_id": 0}
    sizes = {"word": 12, "position": 40, "token_type": 2}
    w = {f"embeddings.{k}_embeddings.weight": random.normal(size=(n, SIZE)) for k, n in sizes.items()}
    w |= {f"embeddings.LayerNorm.{name}": random.normal(size=SIZE) for name in ("weight", "bias")}
    save_file({name: each.astype(np.float32) for name, each in w.items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    save_words(folder)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(pooling))
    return w


@pytest.mark.parametrize("first", [True, False])
def test_the_first_state_is_the_vector_where_the_teacher_says_so(tmp_path, first):
    w = bert_layer_free(tmp_path, np.random.default_rng(2), pooling_mode_cls_token=first)
    x = w["embeddings.word_embeddings.weight"][[3, 4, 5]] + w["embeddings.position_embeddings.weight"][:3]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], w, "embeddings.LayerNorm")
    expected = x[0] if first else x.mean(0)
    [vector] = teach.Teacher(tmp_path, "cpu").encode(["w3 w4 w5"])
    assert vector == pytest.approx(expected / np.linalg.norm(expected), abs=2e-3)


def test_a_mixture_keeps_the_likeness_of_its_teachers():
    random = np.random.default_rng(1)
    teachers = [random.normal(1, 1, (50, 4)), random.normal(-1, 3, (50, 3))]
    mixture = mix.fit(teachers, [1.0, 0.5], 7)
    mixed = sum((t - mixture[f"mean{k}"]) @ mixture[f"map{k}"] for k, t in enumerate(teachers))
    centred = [t - t.mean(0) for t in teachers]
    side = [c / np.sqrt((c**2).sum(1).mean()) * s for c, s in zip(centred, [1.0, 0.5], strict=True)]
    assert mixed @ mixed.T == pytest.approx(sum(s @ s.T for s in side), abs=1e-5)
    assert np.linalg.norm(mix.apply(mixture, teachers), axis=1) == pytest.approx(1)
    assert mix.fit(teachers, [1.0, 0.5], 2)["map1"].shape == (3, 2)


def test_a_share_of_a_teachers_mean_is_kept():
    random = np.random.default_rng(3)
    teachers = [random.normal(1, 1, (50, 4)), random.normal(-1, 3, (50, 3))]
    mixture = mix.fit(teachers, [1.0, 1.0], 7, keep=[1.0, 0.25])
    assert mixture["mean0"] == pytest.approx(np.zeros(4))
    assert mixture["mean1"] == pytest.approx(0.75 * teachers[1].mean(0), abs=1e-6)


def test_mixed_vectors_of_words_are_read_as_word2vecs(tmp_path):
    vectors, words = np.random.default_rng(4).normal(size=(2, 3)).astype(np.float32), ["fußball", "tea"]
    mix.write_words(vectors, words, tmp_path / "words.bin")
    found = read_vectors([str(tmp_path / "words.bin")], [*SPECIAL, "tea", "fußball", "coffee"], seed=0)
    assert found.found[len(SPECIAL) :].tolist() == [True, True, False]
    assert found.matrix[len(SPECIAL) :][:2] == pytest.approx(vectors[::-1])
