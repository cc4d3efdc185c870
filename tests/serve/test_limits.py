"""Limits, the token, the log and the metrics."""

from __future__ import annotations

import asyncio
import json
import os

import httpx2
import numpy as np
import pytest
from starlette.testclient import TestClient

import limelight
import trained
from limelight.serve import Limits, create_app
from limelight.serve.api.batching import Batcher
from limelight.serve.http.bodies import check_words
from limelight.serve.http.guard import is_ours
from limelight.serve.http.limits import RequestError, without_flags
from limelight.serve.http.metrics import Metrics
from limelight.serve.server import serve
from limelight.text.tokenizer import Tokenizer
from refusing import refuses

SMALL = Limits(body=2000, texts=16, words=64, waiting=2)
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> limelight.Model:
    return limelight.Model.load(trained.save(tmp_path_factory.mktemp("model") / "stars"))


@pytest.fixture(scope="module")
def client(model: limelight.Model) -> TestClient:
    return TestClient(create_app({"stars": model}, limits=SMALL))


@pytest.mark.parametrize(
    ("path", "inputs", "phrase"),
    [
        ("/predict", "x" * 2000, "2,000 bytes"),
        ("/predict", ["w1"] * 17, "17 texts"),
        ("/predict", "w1 " * 65, "more than 64 words"),
        ("/predict", ["w1 " * 33] * 2, "more than 64 words"),
        ("/embed_all", ["w1"] * 3, "3 texts; at most 2"),
        ("/explain", "w1 " * 9, "more than 8 words"),
    ],
)
def test_too_much_is_refused_with_the_limit(client, path, inputs, phrase):
    answer = client.post(path, json={"inputs": inputs})
    assert answer.status_code == 413
    assert phrase in answer.json()["error"]


def test_what_is_just_within_the_limits_is_answered(client):
    for inputs in (["w1"] * 16, "w1 " * 64, ["w1 " * 32] * 2):
        assert client.post("/predict", json={"inputs": inputs}).status_code == 200


def test_truncate_cuts_each_text_to_its_share(client, model):
    found = client.post("/predict", json={"inputs": ["w1 w2 " * 40, "w3 " * 80], "truncate": True}).json()
    expected = model.predict_proba(["w1 w2 " * 16, "w3 " * 32]).max(axis=1)
    assert [each[0]["score"] for each in found] == pytest.approx(expected.tolist(), abs=1e-6)


def test_the_words_counted_for_openai_are_those_that_were_read(client):
    answer = client.post("/v1/embeddings", json={"input": "w1 " * 80, "truncate": True}).json()
    assert answer["usage"] == {"prompt_tokens": 8, "total_tokens": 8}  # M of a classifier is a large answer


@pytest.mark.parametrize("text", ["w1 w2 " * 9, " " * 99, "w" * 5000, "w1" + " " * 5000 + "w2 " * 9])
def test_truncate_cuts_to_very_few_words(model, text):
    client = TestClient(create_app({"stars": model}, limits=Limits(words=3)))
    for path in ("/predict", "/explain", "/embed_all"):  # the last two allow one word
        answer = client.post(path, json={"inputs": [text], "truncate": True})
        assert answer.status_code == 200, (path, answer.text)
    answer = client.post("/predict", json={"inputs": [text] * 4, "truncate": True})
    assert (answer.status_code, "4 texts; at most 3 words" in answer.json()["error"]) == (413, True)


@pytest.mark.parametrize("words", [1, 2, 999, 3000])
def test_a_text_is_cut_where_its_words_end(model, words):
    text = "".join(f"{' ' * (k % 7)}w{k}, {'x' * (k % 13)}" for k in range(1500))
    limits = Limits(words=words)
    (cut,) = check_words([(text,)], model.tokenizer, limits, truncate=True)[0]
    _, offsets = model.tokenizer.locate(text)
    assert cut == text[: offsets[:words][-1][1]]


def test_only_as_much_of_a_text_is_read_as_the_limit_needs(model, monkeypatch):
    read = []

    def spy(function, text_of):
        return lambda self, given: read.append(len(text_of(given))) or function(self, given)

    for name, text_of in (("encode", "".join), ("locate", str)):
        monkeypatch.setattr(Tokenizer, name, spy(getattr(Tokenizer, name), text_of))
    limits = Limits(words=1000)
    text = "w1 " * 10_000
    with pytest.raises(RequestError):
        check_words([(text,)], model.tokenizer, limits, truncate=False)
    check_words([("x" * 10**6,)], model.tokenizer, limits, truncate=True)
    assert max(read) <= 4096


def test_few_words_of_many_characters_are_refused(model):
    client = TestClient(create_app({"stars": model}, limits=Limits(words=8)))
    answer = client.post("/predict", json={"inputs": "x" * 4097})
    assert (answer.status_code, "4,096 characters" in answer.json()["error"]) == (413, True)


def test_a_body_without_a_length_is_measured_as_it_comes(client):
    answer = client.post("/predict", content=iter([b" " * 1000] * 3), headers=JSON)
    assert "content-length" not in answer.request.headers
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("content", "status", "phrase"),
    [
        (b'{"inputs": ', 400, "not JSON at character 11"),
        (b'{"inputs": "\xff"}', 400, "UTF-8"),
        (b"[" * 1500, 400, "the body"),
        (b'{"inputs": 1' + b"0" * 1500 + b"}", 422, "inputs"),
        (b'{"inputs": NaN}', 422, "inputs"),
        (b"", 400, "JSON"),
        (b"\xff\xfe{\x00", 400, "UTF-8"),
    ],
)
def test_a_broken_body_is_one_sentence(client, content, status, phrase):
    answer = client.post("/predict", content=content, headers=JSON)
    assert (answer.status_code, phrase in answer.json()["error"]) == (status, True)


def test_a_body_nested_too_deeply(model):
    app = create_app({"stars": model})
    answer = TestClient(app).post("/predict", content=b'{"inputs":' + b"[" * 10**6, headers=JSON)
    assert answer.status_code == 400


def test_a_body_must_be_json(client):
    assert client.post("/predict", content=b"inputs=x").status_code == 415
    assert (
        client.post(
            "/predict", json={"inputs": "w1"}, headers={"content-type": "application/json; charset=utf-8"}
        ).status_code
        == 200
    )


def test_more_than_may_wait_are_told_to_try_again(model):
    """While the model is busy with one request, two may wait; the others are refused at once."""

    async def main() -> list[httpx2.Response]:
        app = create_app({"stars": model}, limits=SMALL)
        released = asyncio.Event()
        _, batcher = app.state.models.find(None)
        loop = asyncio.get_running_loop()

        def hold(model, items):
            asyncio.run_coroutine_threadsafe(released.wait(), loop).result()
            return items

        first = asyncio.create_task(batcher.run(hold, [("w1",)]))
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://x") as client:
            waiting = [asyncio.create_task(client.post("/predict", json={"inputs": "w1"})) for _ in range(5)]
            refused, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            while len(refused) < 3:
                refused, _ = await asyncio.wait(waiting, timeout=0.01)
            released.set()
            await first
            return await asyncio.gather(*waiting)

    answers = asyncio.run(main())
    assert sorted(answer.status_code for answer in answers) == [200, 200, 429, 429, 429]
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert (refused.headers["retry-after"], refused.json()["error_type"]) == ("1", "overloaded")


def test_requests_that_wait_are_joined_and_get_their_own_answers(model):
    sizes = []

    def compute(model, items):
        sizes.append(len(items))
        return model.predict_proba([text for (text,) in items])

    async def main() -> list[np.ndarray]:
        batcher = Batcher(model, Metrics(), batch_words=10**6)
        return await asyncio.gather(*(batcher.run(compute, [(text,) for text in part]) for part in parts))

    texts = trained.texts_of(60)
    parts = [texts[k : k + 1 + k % 3] for k in range(40)]
    found = asyncio.run(main())
    for part, P in zip(parts, found, strict=True):
        assert pytest.approx(model.predict_proba(part), abs=1e-6) == P
    assert len(sizes) < len(parts)


def test_one_by_one_and_different_questions_are_not_joined():
    def ask(number):
        return lambda model, items: [(number, len(items))] * len(items)

    async def main(questions, batch_words):
        batcher = Batcher(None, Metrics(), batch_words)
        return await asyncio.gather(*(batcher.run(each, [("w",)]) for each in questions))

    same, other = ask(0), ask(1)
    assert asyncio.run(main([same] * 5, 0)) == [[(0, 1)]] * 5
    found = asyncio.run(main([same, other] * 5, 1000))
    assert [each[0][0] for each in found] == [0, 1] * 5


def test_a_request_that_fails_does_not_fail_those_beside_it():
    def compute(model, items):
        return [1 / len(text) for (text,) in items]

    async def main():
        batcher = Batcher(None, Metrics())
        asked = (batcher.run(compute, [(text,)]) for text in ("ab", "", "abcd"))
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = asyncio.run(main())
    assert (first, type(second), third) == ([0.5], ZeroDivisionError, [0.25])


def test_a_token_is_asked_for_except_where_nothing_is_told(model):
    client = TestClient(create_app({"stars": model}, token="secret"))
    body = {"inputs": "w1"}
    for given in (
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "secret"},
        {"authorization": "Bearer sécret".encode()},
    ):
        answer = client.post("/predict", json=body, headers=given)
        assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert client.get("/metrics").status_code == client.get("/info").status_code == 401
    assert client.get("/health").status_code == client.get("/").status_code == 200
    assert client.post("/predict", json=body, headers={"authorization": "Bearer secret"}).status_code == 200


@pytest.mark.parametrize("token", ["", "  "])
def test_an_empty_token_is_refused(model, token):
    with refuses("option-value"):
        create_app({"stars": model}, token=token)
    with refuses("option-value"):
        serve({"stars": "no/such"}, token=token)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200), ("127.0.0.1:8000", 200), ("192.168.1.5", 200), ("[::1]", 200),
        ("[::1]:8000", 200), ("localhost:8000", 200), ("LOCALHOST", 200), ("localhost.", 200),
        ("me.localhost", 200), ("box.example:80", 200), ("BOX.example.", 200), ("evil.example", 421),
        ("127.0.0.1.evil.example", 421), ("evil.example:8000", 421), ("", 421), ("[::1", 421), ("::1", 421),
        ("evil.example#localhost", 421), ("x@127.0.0.1", 421), ("\xe9", 421),
    ],
)  # fmt: skip
def test_a_host_must_be_ours(model, host, status):
    client = TestClient(create_app({"stars": model}, hosts=["Box.example"]))
    headers = {"host": host.encode("latin-1")}
    answer = client.post("/predict", json={"inputs": "w1"}, headers=headers)
    assert answer.status_code == status
    assert client.head("/", headers=headers).status_code == status


def test_no_host_two_hosts_and_any_host():
    assert is_ours([], set())  # HTTP/1.0
    assert not is_ours([b"localhost", b"evil.example"], set())
    assert not is_ours([b"localhost", b"localhost"], set())


def test_any_host_if_told_so(model):
    for hosts in (None, ["*"]):
        client = TestClient(create_app({"stars": model}, hosts=hosts))
        assert client.get("/health", headers={"host": "evil.example"}).status_code == 200


@pytest.mark.parametrize(
    ("host", "token", "warned"),
    [("0.0.0.0", None, 1), ("0.0.0.0", "secret", 0), ("127.0.0.1", None, 0), ("127.0.0.2", None, 0)],
)
def test_a_server_that_is_open_to_others_says_so(model, monkeypatch, capfd, host, token, warned):
    monkeypatch.setattr("limelight.serve.server.run_one", lambda config, listening: None)
    serve({"stars": model}, host=host, port=0, token=token)
    assert capfd.readouterr().err.count(f"anyone who can reach {host}") == warned


def test_one_line_a_request_and_never_the_text(model, capfd):
    client = TestClient(create_app({"stars": model}))
    capfd.readouterr()
    client.post("/predict", json={"inputs": ["very private words"] * 3})
    client.post("/predict?q=private", json={"inputs": {"private": 1}})
    client.get("/private")
    client.request("PRIVATE", "/predict")
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 4
    assert " POST /predict 200 texts=3 " in lines[0]
    assert not any("private" in line.lower() for line in lines)


def test_an_error_of_ours_is_a_500_without_a_trace(model, capfd, monkeypatch):
    def fail(self, texts, **options):
        raise RuntimeError(f"private: {texts}")

    monkeypatch.setattr(limelight.Model, "predict_proba", fail)
    answer = TestClient(create_app({"stars": model})).post("/predict", json={"inputs": "very private"})
    assert (answer.status_code, answer.json()["error"]) == (500, "internal error")
    said = capfd.readouterr().err
    assert "RuntimeError at test_limits.py" in said
    assert "private" not in said


def test_numbers_that_are_not_finite_are_the_model_s_fault(model, monkeypatch):
    def fail(self, texts, **options):
        raise limelight.LimelightError("the model gives numbers that are not finite")

    monkeypatch.setattr(limelight.Model, "predict_proba", fail)
    answer = TestClient(create_app({"stars": model})).post("/predict", json={"inputs": "w1"})
    assert (answer.status_code, "not finite" in answer.json()["error"]) == (424, True)


def test_metrics_count_requests_texts_and_batches(model):
    client = TestClient(create_app({"stars": model}))
    for _ in range(3):
        client.post("/predict", json={"inputs": ["w1", "w2"]})
    client.post("/predict", json={})
    lines = client.get("/metrics").text.splitlines()
    assert 'limelight_requests_total{route="/predict",status="200"} 3' in lines
    assert 'limelight_requests_total{route="/predict",status="422"} 1' in lines
    assert 'limelight_request_seconds_bucket{route="/predict",le="+Inf"} 4' in lines
    expected = {"texts_total": 6, "batches_total": 3, "waiting_requests": 0}
    assert {f'limelight_{name}{{model="stars"}} {count}' for name, count in expected.items()} <= set(lines)


def test_metrics_add_up_those_of_other_workers_even_killed_ones(tmp_path):
    gone = 2**22 + 1  # more than any process number
    counts = {
        "texts_total": 5,
        'waiting_requests{model="a"}': 2,
        'requests_total{route="/predict",status="200"}': 4,
    }
    (tmp_path / str(gone)).write_text(json.dumps(counts))
    metrics = Metrics(tmp_path)
    metrics.add("texts_total", 2)
    metrics.add('waiting_requests{model="a"}', 0)
    metrics.save()
    assert json.loads((tmp_path / str(os.getpid())).read_text())["texts_total"] == 2
    lines = metrics.text().splitlines()
    assert {"limelight_texts_total 7", 'limelight_waiting_requests{model="a"} 0'} <= set(lines)
    assert 'limelight_requests_total{route="/predict",status="200"} 4' in lines


def test_answers_have_room_for_fewer_texts_the_more_numbers_each_has():
    assert (Limits().for_answers_of(4096).texts, Limits().for_answers_of(2**30).texts) == (1024, 1)


def test_an_error_of_the_library_names_no_flags_of_a_command():
    fault = "texts, row 2: it is empty; correct it, or skip such rows with --skip-bad"
    assert without_flags(fault) == "texts, row 2: it is empty"
