"""The routes: bodies as clients send them, and answers that equal the model's own."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

import limelight
import trained
from limelight.serve import create_app
from limelight.serve.http.limits import CODES
from limelight.serve.http.metrics import log
from refusing import refuses

TEXTS = trained.texts_of(5)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("models")
    return {"stars": trained.save(folder / "stars"), "pairs": trained.save(folder / "pairs", "gated")}


@pytest.fixture(scope="module")
def client(folders: dict[str, Path]) -> TestClient:
    return TestClient(create_app({**folders, "reader": "reader"}))


@pytest.fixture(scope="module")
def stars(folders: dict[str, Path]) -> limelight.Model:
    return limelight.Model.load(folders["stars"])


@pytest.fixture(scope="module")
def reader() -> limelight.Reader:
    return limelight.load("reader")


def probabilities(answer: list[dict], labels: tuple) -> list[float]:
    scores = [each["score"] for each in answer]
    assert scores == sorted(scores, reverse=True)
    return [next(each["score"] for each in answer if each["label"] == str(label)) for label in labels]


@pytest.mark.parametrize("inputs", [TEXTS, [[text] for text in TEXTS]])
def test_predict_answers_a_list_for_each_text(client, stars, inputs):
    found = client.post("/predict", json={"inputs": inputs, "truncate": False}).json()
    P = np.array([probabilities(each, stars.labels) for each in found])
    assert pytest.approx(stars.predict_proba(TEXTS), abs=1e-6) == P


def test_predict_answers_one_text_with_one_list(client, stars):
    found = client.post("/predict", json={"inputs": TEXTS[1]}).json()
    assert probabilities(found, stars.labels) == pytest.approx(stars.predict_proba([TEXTS[1]])[0], abs=1e-6)
    assert found[0]["label"] == stars.predict([TEXTS[1]])[0]


def test_predict_reads_pairs(client, folders):
    model = limelight.Model.load(folders["pairs"])
    expected = model.predict_proba(TEXTS[:2], TEXTS[2:4])
    pairs = list(zip(TEXTS[:2], TEXTS[2:4], strict=True))
    found = client.post("/predict", json={"inputs": pairs, "model": "pairs"}).json()
    assert np.array([probabilities(each, model.labels) for each in found]) == pytest.approx(
        expected, abs=1e-6
    )
    one = client.post("/predict", json={"inputs": pairs[0], "model": "pairs"}).json()
    assert probabilities(one, model.labels) == pytest.approx(expected[0], abs=1e-6)


def test_predict_abstains_as_the_command_does(client, stars):
    P = stars.predict_proba(TEXTS)
    least = float(np.median(P.max(axis=1)))
    found = client.post("/predict", json={"inputs": TEXTS, "abstain_below": least}).json()
    assert [each[0]["label"] for each in found] == stars.predict(TEXTS, abstain_below=least)
    assert [each[0]["score"] for each in found] == pytest.approx(P.max(axis=1), abs=1e-6)
    assert {len(each) for each in found if each[0]["label"] is None} == {1}
    assert {len(each) for each in found if each[0]["label"] is not None} == {3}


def test_predict_chooses_where_to_abstain_for_a_precision(tmp_path):
    facts = {"confidence": {"rows": 10_000, "curve": [[0.1, 1.0, 0.61], [0.9999, 0.2, 0.95]]}}
    model = trained.save(tmp_path / "model", facts={**trained.FACTS, **facts})
    client = TestClient(create_app({"model": model}))
    for precision, label in ((0.6, str), (0.9, type(None))):
        [answer, *_] = client.post("/predict", json={"inputs": "w1", "target_precision": precision}).json()
        assert isinstance(answer["label"], label)
    body = {"inputs": "w1", "target_precision": 0.99}
    assert "95.0% are right (94.0% to 95.9%)" in client.post("/predict", json=body).json()["error"]


def test_ordered_classes_have_the_answer_first(tmp_path):
    recipe = trained.recipe_of({"rows": 2, "task": "ordinal"})
    model = limelight.Model.load(trained.save(tmp_path / "model", recipe=recipe))
    texts = trained.texts_of(60)
    assert any(model.predict_proba(texts).argmax(axis=1) != model.decide(model.predict_proba(texts)))
    found = TestClient(create_app({"m": model})).post("/predict", json={"inputs": texts}).json()
    assert [each[0]["label"] for each in found] == model.predict(texts)


def test_numbers_may_be_negative(tmp_path):
    recipe = trained.recipe_of({"head": "linear", "task": "regression"})
    weights = trained.weights_of(trained.network_of(recipe, classes=1))
    weights["head.b_o"] -= 0.45
    folder = trained.save(tmp_path / "model", recipe=recipe, weights=weights, labels=("value",))
    model = limelight.Model.load(folder)
    texts = trained.texts_of(20)
    values = model.predict_proba(texts)[:, 0]
    assert values.min() < 0 < values.max()
    found = TestClient(create_app({"m": model})).post("/predict", json={"inputs": texts}).json()
    assert [each[0]["score"] for each in found] == pytest.approx(values.tolist(), abs=1e-6)
    assert [[number["label"] for number in each] for each in found] == [["value"]] * len(texts)


def test_embed_gives_vectors_of_length_1_unless_told(client, stars, reader):
    for name, vectors in (
        ("reader", reader.encode(TEXTS, normalize_embeddings=False)),
        ("stars", stars.embed(TEXTS, flat=True)),
    ):
        raw = client.post("/embed", json={"inputs": TEXTS, "normalize": False, "model": name}).json()
        assert np.array(raw) == pytest.approx(vectors, abs=1e-5)
        unit = np.array(client.post("/embed", json={"inputs": TEXTS, "model": name}).json())
        assert unit == pytest.approx(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), abs=1e-6)
    assert len(client.post("/embed", json={"inputs": "one text", "model": "reader"}).json()) == 1


def test_embed_all_gives_the_matrix(client, stars):
    found = client.post("/embed_all", json={"inputs": TEXTS}).json()
    assert np.array(found) == pytest.approx(stars.embed(TEXTS), abs=1e-6)


def test_explain_gives_the_reading(client, stars):
    expected = stars.read(TEXTS[1]).to_dict()
    found = client.post("/explain", json={"inputs": TEXTS[1]}).json()
    assert found.keys() == expected.keys()
    assert (found["words"], found["offsets"], found["label"]) == (
        expected["words"],
        expected["offsets"],
        expected["label"],
    )
    assert np.array(found["attention"]) == pytest.approx(np.array(expected["attention"]), abs=1e-6)
    assert found["decided"] == pytest.approx(expected["decided"], abs=1e-5)
    several = client.post("/explain", json={"inputs": TEXTS}).json()
    assert [each["text"] for each in several] == TEXTS


def test_explain_reads_pairs_and_readers(client):
    pair = client.post("/explain", json={"inputs": TEXTS[:2], "model": "pairs"}).json()
    assert [pair[side]["text"] for side in ("first", "second")] == TEXTS[:2]
    assert client.post("/explain", json={"inputs": "cold soup", "model": "reader"}).json()["words"] == [
        "cold",
        "soup",
    ]


def test_explain_sends_any_text_back(client):
    text = "w1 \ud800 \x00 \u202e"
    content = json.dumps({"inputs": text}).encode()
    answer = client.post("/explain", content=content, headers={"content-type": "application/json"})
    assert answer.json()["text"] == text


def test_similarity_is_the_cosine(client, reader):
    texts = ["A puppy plays.", "The dog is playing.", "Taxes rise."]
    body = {"inputs": {"source_sentence": texts[0], "sentences": texts[1:]}, "model": "reader"}
    V = reader.encode(texts)
    assert client.post("/similarity", json=body).json() == pytest.approx((V[1:] @ V[0]).tolist(), abs=1e-6)
    found = client.post("/similarity", json={**body, "parameters": {"words": True}}).json()
    expected = reader.compare(texts[0], texts[1])
    assert found[0]["similarity"] == pytest.approx(expected.similarity, abs=1e-6)
    assert np.array(found[0]["matrix"]) == pytest.approx(expected.matrix, abs=1e-5)


def test_openai_in_both_formats(client, reader):
    body = {"input": ["cold soup", "late train"], "model": "reader"}
    found = client.post("/v1/embeddings", json=body).json()
    V = np.array([each["embedding"] for each in found["data"]])
    assert pytest.approx(reader.encode(body["input"]), abs=1e-6) == V
    assert (found["model"], found["usage"]) == ("reader", {"prompt_tokens": 4, "total_tokens": 4})
    coded = client.post("/v1/embeddings", json={**body, "encoding_format": "base64"}).json()["data"]
    assert [each["index"] for each in coded] == [0, 1]
    decoded = [np.frombuffer(base64.b64decode(each["embedding"]), "<f4") for each in coded]
    assert np.array(decoded) == pytest.approx(V, abs=1e-7)


def test_dimensions_keep_the_first_numbers_of_length_one(client, reader):
    expected = reader.encode(["cold soup"], truncate_dim=64)
    body = {"model": "reader", "dimensions": 64}
    found = client.post("/v1/embeddings", json={"input": "cold soup", **body}).json()["data"][0]["embedding"]
    assert [found] == [pytest.approx(expected[0], abs=1e-6)]
    assert client.post("/embed", json={"inputs": "cold soup", **body}).json() == [pytest.approx(found)]


def test_models_are_listed_as_openai_lists_them(client):
    found = client.get("/v1/models").json()
    assert [each["id"] for each in found["data"]] == ["stars", "pairs", "reader"]
    assert client.get("/v1/models/reader").json() == found["data"][2]
    assert client.get("/v1/models/none").status_code == 404


def test_the_root_does_what_the_model_is_for(client):
    for model, path in (("stars", "/predict"), ("reader", "/embed")):
        body = {"inputs": TEXTS[:2], "model": model}
        assert client.post("/", json=body).json() == client.post(path, json=body).json()


def test_the_root_compares_as_hugging_face_s_client_asks(client, reader):
    inputs = {"source_sentence": "Cold soup.", "sentences": ["Chilly broth!", "A late train."]}
    expected = client.post("/similarity", json={"inputs": inputs, "model": "reader"}).json()
    assert client.post("/", json={"inputs": inputs, "model": "reader", "parameters": {}}).json() == expected
    assert client.post("/", json={"inputs": inputs, "model": "reader", "k": 3}).status_code == 422


def test_rerank_puts_the_most_similar_first(client, reader):
    texts = ["A late train.", "Chilly broth!", "A late train."]
    body = {"query": "cold soup", "texts": texts, "model": "reader"}
    found = client.post("/rerank", json={**body, "return_text": True, "raw_scores": False}).json()
    assert [(each["index"], each["text"]) for each in found] == [(k, texts[k]) for k in (1, 0, 2)]
    cosines = reader.encode(["cold soup"]) @ reader.encode(texts).T
    assert [each["score"] for each in found] == pytest.approx(cosines[0][[1, 0, 2]], abs=1e-5)
    assert client.post("/rerank", json=body).json()[0].keys() == {"index", "score"}
    statuses = [client.post("/rerank", json=each).status_code for each in (
        {**body, "texts": "one"}, {**body, "texts": []}, {**body, "raw_scores": True}, {**body, "query": 1},
    )]  # fmt: skip
    assert statuses == [422, 400, 422, 422]


def test_tokenize_gives_the_words_and_where_they_are(client, reader):
    text = "Was the soup çold?"
    first, none = client.post("/tokenize", json={"inputs": [text, ""], "model": "reader"}).json()
    assert [each["text"] for each in first] == ["Was", "the", "soup", "çold", "?"]
    assert [text[each["start"] : each["stop"]] for each in first] == [each["text"] for each in first]
    assert [each["id"] for each in first] == reader.tokenizer.locate(text)[0].tolist()
    assert none == []
    many = {"inputs": ["w " * 16_000] * 5, "model": "reader"}
    assert client.post("/tokenize", json=many).status_code == 413


def test_two_names_of_a_folder_are_one_model(folders):
    app = create_app({"stars": folders["stars"], "text-embedding-3-small": str(folders["stars"])})
    first, alias = (app.state.models.find(name)[1] for name in app.state.models.names)
    assert first is alias
    found = TestClient(app).post("/v1/embeddings", json={"input": "w1", "model": "text-embedding-3-small"})
    assert found.json()["model"] == "text-embedding-3-small"


def test_an_answer_has_the_request_s_id_or_a_new_one(client, capfd):
    assert client.get("/health", headers={"X-Request-ID": "a-7"}).headers["x-request-id"] == "a-7"
    ids = [
        client.get("/none", headers={"X-Request-ID": each}).headers["x-request-id"] for each in ("a b", "")
    ]
    assert len(set(ids)) == 2
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in ids)
    lines = capfd.readouterr().err.splitlines()
    assert lines[0].endswith(" id=a-7")
    assert [line.split("id=")[1] for line in lines[1:]] == ids


def test_a_log_of_json(folders, capfd, monkeypatch):
    monkeypatch.setenv("LIMELIGHT_LOG", "json")
    client = TestClient(create_app({"stars": folders["stars"]}))
    client.post("/predict", json={"inputs": ["w1", "w2"]}, headers={"X-Request-ID": "a-7"})
    log("error: a folder with a\x1b[31m name")
    request, error = map(json.loads, capfd.readouterr().err.splitlines())
    assert request["level"] == "info"
    assert {"route": "/predict", "status": 200, "texts": 2, "id": "a-7"}.items() <= request.items()
    assert (error["level"], error["message"]) == ("error", "a folder with a [31m name")
    monkeypatch.setenv("LIMELIGHT_LOG", "xml")
    with refuses("option-value"):
        create_app({"stars": folders["stars"]})


def test_ready_unless_too_many_wait(folders, monkeypatch):
    client = TestClient(create_app({"stars": folders["stars"]}, token="secret"))
    assert client.get("/ready").json() == {"ready": True}
    monkeypatch.setattr("limelight.serve.api.batching.Batcher.is_full", True)
    answer = client.get("/ready")
    assert (answer.status_code, answer.json()["error"]) == (503, "too many requests wait for stars")
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("ids", [[464, 17141], [[464, 17141], [373]]])
def test_token_ids_are_refused_with_a_code_of_their_own(client, ids):
    answer = client.post("/v1/embeddings", json={"input": ids, "model": "reader"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "token-ids")
    answer = client.post("/embed", json={"inputs": ids, "model": "reader"})
    assert (answer.status_code, answer.json()["code"]) == (422, "token-ids")


def test_as_many_inputs_as_openai_allows_are_computed_in_pieces(client, reader):
    texts = [f"soup {k % 7}" for k in range(2048)]
    found = client.post("/v1/embeddings", json={"input": texts, "model": "reader"}).json()
    V = np.array([each["embedding"] for each in found["data"]])
    expected = reader.encode(texts[:7])[np.arange(2048) % 7]
    np.testing.assert_allclose(V, expected, rtol=1e-6, atol=1e-6)  # pytest.approx takes 5 s for so many
    assert found["usage"]["total_tokens"] == 4096


def test_info_names_the_model_and_the_limits(client, reader, folders):
    found = client.get("/info").json()
    assert (found["model_id"], found["models"]) == ("stars", ["stars", "pairs", "reader"])
    assert found["model_type"]["classifier"]["id2label"] == {"0": "bad", "1": "fair", "2": "good"}
    assert found["max_client_batch_size"] == 8192
    assert len(found["model_sha"]) == 64
    about = client.get("/info?model=reader").json()["model_type"]["embedding"]["pooling"]
    assert about == f"structured self-attention with {reader.recipe.model.rows} rows"
    assert client.get("/info?model=none").status_code == 404


@pytest.mark.parametrize(
    ("path", "body", "status", "phrase"),
    [
        ("/predict", {"inputs": 7}, 422, "inputs"),
        ("/predict", {}, 422, "inputs"),
        ("/predict", {"inputs": []}, 400, "no texts"),
        ("/predict", {"inputs": ["a", 1]}, 422, "list of texts"),
        ("/predict", {"inputs": [["a", "b"]]}, 422, "single texts"),
        ("/predict", {"inputs": "a", "model": "pairs"}, 422, "pairs"),
        ("/predict", {"inputs": "a", "model": "none"}, 404, "stars, pairs, reader"),
        ("/predict", {"inputs": "a", "model": ["x"]}, 404, "no such model"),
        ("/predict", {"inputs": "a", "model": "reader"}, 424, "without labels"),
        ("/predict", {"inputs": "a", "raw_scores": True}, 422, "raw_scores"),
        ("/embed", {"inputs": "a", "prompt_name": "poem"}, 422, "prompt_name"),
        ("/embed", {"inputs": "a", "truncation_direction": "Left"}, 422, "truncation_direction"),
        ("/predict", {"inputs": "a", "truncate": "yes"}, 422, "truncate"),
        ("/predict", {"inputs": "a", "abstain_below": 80}, 422, "abstain_below"),
        ("/predict", {"inputs": "a", "abstain_below": True}, 422, "abstain_below"),
        ("/predict", {"inputs": "a", "abstain_below": 0.8, "target_precision": 0.9}, 422, "only one"),
        ("/predict", {"inputs": "a", "target_precision": 0.9}, 424, "development set"),
        ("/explain", {"inputs": "a", "model": "reader", "without_rows": [0]}, 424, "reader"),
        ("/embed", {"inputs": {"a": 1}}, 422, "inputs"),
        ("/similarity", {"inputs": "a"}, 422, "source_sentence"),
        ("/similarity", {"inputs": {"sentences": ["b"]}}, 422, "source_sentence"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": "b"}}, 422, "sentences"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, 400, "no texts"),
        ("/predict", ["a"], 422, "object"),
    ],
)  # fmt: skip
def test_a_wrong_body_is_one_sentence(client, path, body, status, phrase):
    answer = client.post(path, json=body)
    assert answer.status_code == status
    assert phrase in answer.json()["error"]
    assert answer.json()["error_type"]
    assert status == 424 or answer.json()["code"] == CODES[status]


@pytest.mark.parametrize(
    ("path", "body", "near"),
    [
        ("/embed", {"inputs": "a", "normalise": False}, "normalize"),
        ("/", {"inputs": "a", "model": "reader", "normalise": False}, "normalize"),
        ("/", {"inputs": "a", "model": "stars", "Truncate": True}, "truncate"),
        ("/predict", {"input": "a"}, "inputs"),
        ("/predict", {"inputs": "a", "parameters": {"top_k": 3}}, ""),
        ("/explain", {"inputs": "a", "agains": "bad"}, "against"),
        ("/embed_all", {"inputs": "a", "x" * 9999: 1}, ""),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentence": ["b"]}}, "sentences"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}, "parameters": {"word": True}},
         "words"),
        ("/v1/embeddings", {"input": "a", "encoding_fromat": "base64"}, "encoding_format"),
    ],
)  # fmt: skip
def test_a_field_that_a_route_does_not_have_is_refused_with_the_nearest_it_has(client, path, body, near):
    answer = client.post(path, json=body)
    error = answer.json()["error"] if path.startswith("/v1/") else answer.json()
    assert (answer.status_code, error["code"]) == (422, "field-unknown")
    said = error["message"] if path.startswith("/v1/") else error["error"]
    assert (f'(did you mean "{near}"?)' in said) == bool(near)
    assert len(said) < 250


@pytest.mark.parametrize(
    ("path", "model", "body"),
    [
        ("/v1/embeddings", "reader", {
            "input": ["a"], "user": "me", "encoding_format": "base64", "dimensions": 8,
        }),  # OpenAI's
        ("/embed", "reader", {
            "inputs": ["a"], "truncate": True, "truncation_direction": "Right", "prompt_name": None,
            "normalize": True, "dimensions": None,
        }),  # those of text-embeddings-inference
        ("/embed_all", "reader", {
            "inputs": "a", "truncate": None, "truncation_direction": "right", "prompt_name": "query",
        }),
        ("/predict", "stars", {"inputs": "a", "truncate": False, "truncation_direction": "right",
                               "raw_scores": False}),
        ("/similarity", "reader", {
            "inputs": {"source_sentence": "a", "sentences": ["b"]},
            "parameters": {"truncate": True, "truncation_direction": "right", "prompt_name": None},
        }),
        ("/", "stars", {"inputs": "a", "parameters": {}}),  # text_classification of huggingface_hub
        ("/", "reader", {"inputs": "a", "prompt_name": "query", "normalize": True, "truncate": True,
                         "truncation_direction": "right"}),  # its feature_extraction
        ("/embed", "reader", {"inputs": "a", "options": None}),  # null says nothing
    ],
)  # fmt: skip
def test_what_known_clients_send_is_answered(client, path, model, body):
    answer = client.post(path, json={**body, "model": model})
    assert (answer.status_code, answer.text[:60]) == (200, answer.text[:60])


def test_a_text_is_never_cut_at_its_beginning(client):
    for path in ("/predict", "/embed_all", "/explain"):
        body = {"inputs": "a", "model": "stars", "truncation_direction": "Left"}
        assert client.post(path, json=body).status_code == 422


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ("[" * 900 + "]" * 900, "nested"),
        ('{"a":' * 900 + "1" + "}" * 900, "nested"),
        ("[" * 100_000, "nested"),
        ("[[1], " * 16 + "2" + "]" * 16, "nested"),
        ("1" * 5000, "digits"),
        ("[-" + "1" * 5000 + "]", "digits"),
        ("1" * 4000, ""),
    ],
)
def test_deep_values_and_long_numbers_are_refused_in_any_field(client, value, phrase):
    for field in ("inputs", "model", "without_rows", "against"):
        content = f'{{"{field}": {value}}}'.encode()
        answer = client.post("/explain", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == (400 if phrase else 422)
        assert phrase in answer.json()["error"]


def test_many_lists_side_by_side_are_not_deep(client, stars):
    found = client.post("/predict", json={"inputs": [[text] for text in TEXTS * 5]}).json()
    assert [each[0]["label"] for each in found] == stars.predict(TEXTS * 5)


def test_an_error_of_the_model_has_its_code(client):
    body = {"inputs": "a", "model": "reader", "without_rows": [0]}
    assert client.post("/explain", json=body).json()["code"] == "option-conflict"


@pytest.mark.parametrize(
    "change", [{"input": [1, 2]}, {"encoding_format": "hex"}, {"dimensions": 385}, {"input": None}]
)
def test_openai_errors_have_openai_s_shape(client, change):
    answer = client.post("/v1/embeddings", json={"input": "a", "model": "reader", **change})
    assert answer.status_code == 422
    assert next(iter(change)) in answer.json()["error"]["message"]


def test_the_page_can_be_replaced(folders):
    assert TestClient(create_app(folders, with_page=False)).get("/").status_code == 405
    explorer = Route("/", lambda request: PlainTextResponse("explorer"))
    assert TestClient(create_app(folders, routes=[explorer])).get("/").text == "explorer"


def test_the_openapi_document_has_every_route(client):
    found = client.get("/openapi.json").json()
    pages = {("/openapi.json", "get"), ("/", "get")}
    served = {
        (route.path, method.lower())
        for route in client.app.routes
        for method in route.methods - {"HEAD"}
        if not route.path.startswith("/explorer/")
    }
    described = {(path, method) for path, operations in found["paths"].items() for method in operations}
    assert described == served - pages
    for path, operations in found["paths"].items():
        body = operations.get("post", {}).get("requestBody")
        if body:
            example = {**body["content"]["application/json"]["example"], "model": "reader"}
            if path == "/explain":
                for asked in ("label", "against", "joint"):  # of classifiers only
                    assert client.post(path, json=example).status_code == 424
                    del example[asked]
            assert client.post(path, json=example).status_code == (424 if path == "/predict" else 200)
            known = body["content"]["application/json"]["schema"]["properties"]
            assert set(example) <= set(known)
            assert all(each["description"] for each in known.values())
    predict = found["paths"]["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert (predict["required"], predict["properties"]["abstain_below"]["maximum"]) == (["inputs"], 1)


def test_every_answer_has_security_headers_and_no_cors(client):
    for answer in (client.get("/health"), client.get("/none"), client.post("/predict", json={})):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers
    preflight = client.options(
        "/predict", headers={"origin": "http://x", "access-control-request-method": "POST"}
    )
    assert preflight.status_code == 405


def test_aspects(folders, client, tmp_path):
    model = limelight.load(folders["stars"]).with_aspects({"even": ["w0", "w2"], "odd": ["w1"]})
    model.save(tmp_path / "model")
    own = TestClient(create_app({"aspects": tmp_path / "model"}))
    texts = ["w0 w3, w5", "w7"]
    found = own.post("/predict", json={"inputs": texts, "aspects": True}).json()
    plain = own.post("/predict", json={"inputs": texts}).json()
    for text, classes, without in zip(texts, found, plain, strict=True):
        first = classes[0].pop("aspects")
        assert [each["label"] for each in classes] == [each["label"] for each in without]
        expected = model.read(text).aspect_sum
        assert first["rest"] == pytest.approx(expected.rest, abs=1e-6)
        assert [each["effect"] for each in first["aspects"]] == pytest.approx(
            [each.effect for each in expected.aspects], abs=1e-6
        )
    one = own.post("/predict", json={"inputs": "w0 w3, w5", "aspects": True}).json()
    assert one[0]["aspects"]["aspects"][0]["clause"] == "w0 w3"
    explained = own.post("/explain", json={"inputs": "w0 w3, w5"}).json()["aspects"]
    assert explained["aspects"][0]["span"] == [0, 5]
    assert "aspects" not in client.post("/explain", json={"inputs": "w0", "model": "stars"}).json()
    refused = client.post("/predict", json={"inputs": "w0", "model": "stars", "aspects": True})
    assert (refused.status_code, refused.json()["code"]) == (424, "no-aspects")
    assert own.post("/predict", json={"inputs": "w0", "aspects": 1}).status_code == 422
