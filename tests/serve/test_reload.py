"""Folders that are replaced while they are served."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import httpx2
import pytest

import limelight
import trained
from limelight.serve import create_app
from limelight.serve.api import models

TEXT = "w1 w2 w3"


def save(path: Path, seed: int) -> float:
    """Save a model, in place of another one if there is one; the score of its best class."""
    recipe = trained.recipe_of({"rows": 2})
    weights = trained.weights_of(trained.network_of(recipe, seed=seed))
    trained.save(path, weights=weights, recipe=recipe, overwrite=True)
    return float(limelight.Model.load(path).predict_proba([TEXT]).max())


async def score(client: httpx2.AsyncClient) -> float:
    answer = await client.post("/predict", json={"inputs": TEXT})
    assert answer.status_code == 200, answer.text
    return round(answer.json()[0]["score"], 5)


def client_of(app) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://x")


def test_a_replaced_folder_is_loaded_without_losing_a_request(tmp_path, monkeypatch):
    monkeypatch.setattr(models, "WATCH_SECONDS", 0.001)
    scores = [save(tmp_path / "model", 0)]
    app = create_app({"model": tmp_path / "model"})

    async def ask(client, found, done):
        while not done.is_set():
            found.append(await score(client))

    async def main() -> list[float]:
        found, done = [], asyncio.Event()
        watching = asyncio.create_task(app.state.models.watch())
        async with client_of(app) as client:
            asking = [asyncio.create_task(ask(client, found, done)) for _ in range(8)]
            for seed in (1, 2, 3):
                scores.append(await asyncio.to_thread(save, tmp_path / "model", seed))
                while await score(client) != round(scores[-1], 5):
                    await asyncio.sleep(0.001)
            done.set()
            await asyncio.gather(*asking)
        watching.cancel()
        return found

    found = asyncio.run(main())
    assert len(found) > 8
    assert set(found) <= {round(each, 5) for each in scores}
    assert "limelight_reloads_total 3" in app.state.metrics.text().splitlines()


def test_a_request_ends_with_the_model_it_began_with(tmp_path):
    expected = save(tmp_path / "model", 0)
    app = create_app({"model": tmp_path / "model"})
    _, old = app.state.models.find(None)
    later = save(tmp_path / "model", 1)
    refresh(app)

    async def main() -> tuple[float, float]:
        P = await old.run(lambda model, items: model.predict_proba([text for (text,) in items]), [(TEXT,)])
        async with client_of(app) as client:
            return float(P.max()), await score(client)

    assert asyncio.run(main()) == pytest.approx((expected, later), abs=1e-4)


def refresh(app) -> None:
    for served in app.state.models._models.values():
        served.refresh()


def test_a_broken_replacement_is_one_line_and_the_old_model_stays(tmp_path, capfd):
    expected = save(tmp_path / "model", 0)
    app = create_app({"model": tmp_path / "model"})
    shutil.copytree(tmp_path / "model", tmp_path / "good")
    capfd.readouterr()
    (tmp_path / "model" / "config.json").write_text("{}")
    for _ in range(3):
        refresh(app)
    (tmp_path / "model" / "model.safetensors").unlink()  # as while it is copied
    refresh(app)
    assert capfd.readouterr().err.count("the old model stays") == 1

    async def ask() -> float:
        async with client_of(app) as client:
            return await score(client)

    assert asyncio.run(ask()) == pytest.approx(expected, abs=1e-4)
    shutil.rmtree(tmp_path / "model")
    refresh(app)
    assert asyncio.run(ask()) == pytest.approx(expected, abs=1e-4)
    later = save(tmp_path / "good", 1)
    shutil.copytree(tmp_path / "good", tmp_path / "model")
    refresh(app)
    assert asyncio.run(ask()) == pytest.approx(later, abs=1e-4)


def test_another_card_is_no_reason_to_load_again(tmp_path):
    save(tmp_path / "model", 0)
    app = create_app({"model": tmp_path / "model"})
    before = app.state.models.find(None)[1]
    (tmp_path / "model" / "README.md").write_text("Mine")
    refresh(app)
    assert app.state.models.find(None)[1] is before
