"""What the explorer's page asks a server for, and the data that it shows."""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import limelight
import trained
from explain.models import negation_spotter
from limelight.explain import joint_words
from limelight.runtime.model import Model
from limelight.serve import create_app
from limelight.serve.explorer.explored import ModelNeighbours, ReaderNeighbours, explore_data
from limelight.serve.explorer.routes import nearest_words
from limelight.serve.page.plane import SAMPLED_TEXTS, Plane
from serve.test_page_model import model_of

TEXTS = [text or "w1" for text in trained.texts_of(40)]
ITEMS = [(text,) for text in TEXTS]
TRUTH = np.arange(len(TEXTS)) % 3


def lively(options: dict[str, Any], texts: list[str] = TEXTS) -> Model:
    """A model that predicts every class for some of the texts, with more and with less confidence."""
    model = model_of({"head": "linear", **options})
    mean = np.log(model.predict_proba(texts)).mean(axis=0)
    W, b = model.weights["head.W_o"], model.weights["head.b_o"]
    weights = {**model.weights, "head.W_o": 8 * W, "head.b_o": (8 * (b - mean)).astype(np.float32)}
    return Model.from_parts(
        weights=weights,
        recipe=model.recipe,
        tokenizer=model.tokenizer,
        labels=model.labels,
        precision="float32",
        threads=1,
    )


@pytest.fixture(scope="module")
def model() -> Model:
    return lively({})


@pytest.fixture(scope="module")
def other() -> Model:
    return lively({"rows": 2})


@pytest.fixture(scope="module")
def client(model: Model, other: Model) -> TestClient:
    data = explore_data([model, other], ITEMS, TRUTH, name="test.csv")
    return TestClient(create_app({"a": model, "b": other}, data=data, near=ModelNeighbours(model, data)))


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of what the page gets."""
    content = gzip.decompress(content)
    start = 4 + int.from_bytes(content[:4], "little")
    header, arrays = json.loads(content[4:start]), {}
    for each in header["arrays"]:
        values = np.frombuffer(content, each["type"], int(np.prod(each["shape"])), start)
        arrays[each["name"]] = values.reshape(each["shape"])
        start += values.nbytes
    assert start == len(content)
    return header, arrays


# ---------------------------------------------------------------- data


def test_the_data_has_what_each_model_predicts(client, model, other):
    header, arrays = unpack(client.get("/explorer/data").content)
    assert (header["name"], header["rows"], header["ofRows"], header["models"]) == ("test.csv", 40, 40, 2)
    assert header["labels"] == list(trained.LABELS)
    assert header["texts"] is None
    for k, each in enumerate((model, other)):
        P = each.predict_proba(TEXTS)
        assert arrays[f"predicted{k}"].tolist() == P.argmax(axis=1).tolist()
        np.testing.assert_allclose(arrays[f"confidence{k}"], P.max(axis=1), atol=1e-6)
    assert arrays["truth"].tolist() == TRUTH.tolist()


def directions(X: np.ndarray) -> np.ndarray:
    """(size, n): the principal components."""
    return np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T


def test_the_map_has_the_directions_in_which_predicted_classes_differ(client, model):
    _, arrays = unpack(client.get("/explorer/data").content)
    M = model.embed(TEXTS, flat=True).astype(np.float64)
    predicted = model.predict_proba(TEXTS).argmax(axis=1)
    means = np.stack([M[predicted == k].mean(axis=0) for k in np.unique(predicted)])
    assert len(means) == 3
    expected = (M - M.mean(axis=0)) @ directions(means)[:, :2]
    found = arrays["places"] * np.sign((arrays["places"] * expected).sum(axis=0))  # a sign is free
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_nearest_texts_are_looked_for_by_the_sum_of_rows(model):
    data = explore_data([model], ITEMS)
    sums = model.embed(TEXTS).astype(np.float64).sum(axis=1)  # (texts, 2u): all of its directions are kept
    sums /= np.linalg.norm(sums, axis=1, keepdims=True)
    np.testing.assert_allclose(data.vectors @ data.vectors.T, sums @ sums.T, atol=1e-5)


def test_two_classes_and_one_have_a_map_too(model):
    predicted = model.predict_proba(TEXTS).argmax(axis=1)
    for count in (2, 1):
        kept = [(TEXTS[k],) for k in np.flatnonzero(predicted < count)]
        places = explore_data([model], kept).places
        assert places.shape == (len(kept), 2)
        assert np.linalg.matrix_rank(places - places.mean(axis=0)) == 2
    assert explore_data([model], [("w1",)]).places.tolist() == [[0, 0]]


def test_directions_come_from_a_sample_and_are_orthonormal():
    X = np.random.default_rng(0).normal(size=(30, 8)).astype(np.float32)
    plane = Plane.fit(X)
    np.testing.assert_allclose(plane.basis.T @ plane.basis, np.eye(8), atol=1e-5)
    assert Plane.fit(X[:3]).basis.shape == (8, 2)  # three texts differ in two directions
    assert Plane.fit(X[:1]).project(X[:1]).shape == (1, 0)
    assert SAMPLED_TEXTS >= 1000


def test_labels_of_two_models_are_joined():
    first, second = model_of({}), model_of({"head": "pruned"})
    renamed = Model.from_parts(
        weights=second.weights,
        recipe=second.recipe,
        tokenizer=second.tokenizer,
        labels=("fair", "new", "bad"),
        precision="float32",
        threads=1,
    )
    data = explore_data([first, renamed], ITEMS, TRUTH)
    assert data.labels == ["bad", "fair", "good", "new"]
    names = [data.labels[k] for k in data.predicted[1]]
    assert names == renamed.predict(TEXTS)
    assert data.truth.tolist() == TRUTH.tolist()


def test_pairs_have_a_map_of_how_their_texts_differ():
    model, items = model_of({}, "concat"), list(zip(TEXTS, TEXTS[::-1], strict=True))
    data = explore_data([model], items)
    P = model.predict_proba(*zip(*items, strict=True))
    np.testing.assert_allclose(data.confidence[0], P.max(axis=1), atol=1e-6)
    assert data.truth is None


def test_texts_and_finding(client):
    assert client.post("/explorer/texts", json={"rows": [3, 0]}).json() == [[TEXTS[3]], [TEXTS[0]]]
    found = client.post("/explorer/find", json={"text": "W7"}).json()
    assert found == [k for k, text in enumerate(TEXTS) if "w7" in text]
    for rows in (None, "3", [40], [-1], [True], [1.0]):
        assert client.post("/explorer/texts", json={"rows": rows}).status_code == 422
    assert client.post("/explorer/texts", json={"rows": [0] * 501}).status_code == 413
    assert client.post("/explorer/find", json={"text": 3}).status_code == 422


# ---------------------------------------------------------------- models


def test_about_names_the_classifiers(client):
    about = client.get("/explorer/about").json()
    assert [each["id"] for each in about["models"]] == ["a", "b"]
    assert [each["rows"] for each in about["models"]] == [3, 2]
    assert (about["data"], about["near"]) == (True, "the data, as the model reads them")


def test_explain_says_which_words_are_read_together():
    model = negation_spotter()
    client = TestClient(create_app({"m": model}))
    answer = client.post("/explain", json={"inputs": "not good", "joint": True}).json()
    (expected,) = joint_words(model, model.read("not good")).joint
    assert answer["joint"] == [json.loads(json.dumps(expected._asdict()))]
    assert client.post("/explain", json={"inputs": "not good"}).json()["joint"] == []
    for more in ({"without_rows": [0]}, {"inputs": ["not good"]}, {"joint": 1}):
        body = {"inputs": "not good", "joint": True, **more}
        assert client.post("/explain", json=body).status_code == 422


@pytest.mark.parametrize("pair", [None, "gated", "concat", "vectors"])
def test_explain_without_rows_is_the_classifier_on_zeros(pair):
    model = model_of({"head": "pruned"}, pair)
    texts = ("w1 w2 w3", "w4 w9")[: 1 + model.pair]
    client = TestClient(create_app({"m": model}))
    body = {"inputs": list(texts) if model.pair else texts[0], "without_rows": [0, 2]}
    answer = client.post("/explain", json=body).json()
    sides = [answer["first"], answer["second"]] if model.pair else [answer]
    M = [model.embed([text]) for text in texts]
    for each in M:
        each[:, [0, 2]] = 0
    P = model.classify(*M)[0]
    np.testing.assert_allclose(list(sides[0]["probabilities"].values()), P, atol=1e-6)
    for side in sides:
        assert [side["row_weights"][k] for k in (0, 2)] == [0, 0]
        if not pair:
            assert sum(side["row_weights"]) == pytest.approx(sum(side["decided"]), abs=1e-4)
    for wrong in ("1", [True], [0.5], 3):
        assert client.post("/explain", json={**body, "without_rows": wrong}).status_code == 422
    assert client.post("/explain", json={**body, "without_rows": [3]}).status_code == 424


def test_nearest_words_have_the_nearest_vectors(client, model):
    W = model.weights["words.weight"].astype(np.float64)
    own = W[model.tokenizer.locate("w5")[0][0]]
    cosines = W @ own / np.linalg.norm(W, axis=1).clip(1e-9)
    order = [k for k in np.argsort(-cosines) if k > 1 and model.tokenizer.vocabulary[k] != "w5"]
    expected = [model.tokenizer.vocabulary[k] for k in order[:6]]
    assert client.post("/explorer/words", json={"text": "w5", "model": "a"}).json() == expected
    assert nearest_words(model, "unheard") == []
    assert client.post("/explorer/words", json={"text": "w5" * 500, "model": "a"}).json() == []
    assert client.post("/explorer/words", json={"text": "w5 " * 500, "model": "a"}).status_code == 413


# ---------------------------------------------------------------- nearest texts


def test_the_nearest_texts_have_the_largest_cosines(client, model):
    found = client.post("/explorer/near", json={"inputs": TEXTS[4]}).json()
    M = model.embed(TEXTS, flat=True).astype(np.float64)
    M /= np.linalg.norm(M, axis=1, keepdims=True)
    order = [k for k in np.argsort(-(M @ M[4])) if TEXTS[k] != TEXTS[4]]
    assert [hit["row"] for hit in found] == order[:8]
    assert found[0]["similarity"] == pytest.approx(M[4] @ M[order[0]], abs=1e-4)
    comparison = model.compare(TEXTS[4], TEXTS[order[0]])
    np.testing.assert_allclose(found[0]["effects"], comparison.second.effects, atol=1e-5)
    assert [tuple(pair[:2]) for pair in found[0]["pairs"]] == [
        (a, b) for a, b, share in comparison.top_pairs(3) if share > 0
    ]


def test_the_nearest_texts_by_meaning(model):
    texts = ["The soup was cold.", "A friendly host.", "The train was late.", "Chilly broth!", "word " * 301]
    reader, data = limelight.load("reader"), explore_data([model], [(text,) for text in texts])
    hits = ReaderNeighbours.read(reader, data).find(("The soup was cold.",))
    order = np.argsort(-reader.encode(texts) @ reader.encode(texts[0]), kind="stable")[1:]
    assert [hit["row"] for hit in hits] == order.tolist()  # without the text itself
    assert hits[0]["texts"] == ["Chilly broth!"]
    assert "effects" not in hits[0]  # one of them is too long to be compared word by word
    hits = ReaderNeighbours.read(reader, explore_data([model], [(text,) for text in texts[:4]])).find(
        ("Cold soup",)
    )
    assert hits[0]["pairs"] == reader.compare("Cold soup", hits[0]["texts"][0]).top_pairs(3)


def test_the_nearest_texts_of_pairs():
    model, items = model_of({}, "gated"), list(zip(TEXTS, TEXTS[::-1], strict=True))
    data = explore_data([model], items)
    hits = ModelNeighbours(model, data).find(items[2])
    assert len(hits) == 8
    assert all(tuple(hit["texts"]) == items[hit["row"]] != items[2] for hit in hits)


# ---------------------------------------------------------------- the page and its token


def test_the_page_has_nothing_of_the_models_and_needs_the_token_for_them(model):
    data = explore_data([model], ITEMS)
    client = TestClient(create_app({"secret": model}, token="t", data=data))
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "secret" not in page.text
    assert TEXTS[0] not in page.text
    for path in ("about", "data"):
        assert client.get(f"/explorer/{path}").status_code == 401
        headers = {"authorization": "Bearer t"}
        assert client.get(f"/explorer/{path}", headers=headers).status_code == 200
    assert client.post("/explorer/texts", json={"rows": [0]}).status_code == 401


def test_texts_never_reach_the_log(client, capfd):
    client.post("/explorer/find", json={"text": "hush"})
    client.post("/explorer/near", json={"inputs": "hush hush"})
    client.post("/explorer/words", json={"text": "hush"})
    said = capfd.readouterr().err
    assert said.count("/explorer/") == 3
    assert "hush" not in said


def test_a_server_of_readers_alone_lists_its_routes_at_the_root():
    client = TestClient(create_app({"reader": "reader"}))
    assert "post" in client.get("/").json()["paths"]["/embed"]
    assert client.get("/").json() == client.get("/openapi.json").json()
