"""Models on the hub: its library is real, its network is a folder on this machine."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import numpy as np
import pytest

import limelight
from limelight.runtime.model import Model
from trained import LABELS, WORDS, network_of, recipe_of, weights_of

hub = pytest.importorskip(
    "huggingface_hub", reason="huggingface_hub is not installed: pip install huggingface_hub"
)


class LocalApi:
    """What `push_to_hub` asks of the hub, done in a folder."""

    place: Path

    def create_repo(self, name: str, *, private: bool, exist_ok: bool) -> str:
        (self.place / name).mkdir(parents=True, exist_ok=exist_ok)
        return f"https://hub.example/{name}"

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str) -> None:
        shutil.copytree(folder_path, self.place / repo_id, dirs_exist_ok=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the hub's stead; like the hub's cache, downloads are links to files kept elsewhere."""

    def snapshot_download(name: str, *, revision: str | None, allow_patterns: list[str]) -> str:
        if not (tmp_path / name).is_dir():
            raise FileNotFoundError(f"404: no repository {name}\nand a long explanation")
        snapshot = tmp_path / "snapshot"
        snapshot.mkdir()
        for file in (tmp_path / name).iterdir():
            if file.name in allow_patterns:
                (snapshot / file.name).symlink_to(file)
        return str(snapshot)

    monkeypatch.setattr(LocalApi, "place", tmp_path, raising=False)
    monkeypatch.setattr(hub, "HfApi", LocalApi)
    monkeypatch.setattr(hub, "snapshot_download", snapshot_download)
    return tmp_path


@pytest.fixture
def model() -> Model:
    recipe = recipe_of({})
    weights = weights_of(network_of(recipe))
    words = limelight.runtime.model.Tokenizer.from_words(WORDS)
    return Model.from_parts(weights=weights, recipe=recipe, tokenizer=words, labels=LABELS)


def test_pushed_and_fetched_it_is_the_same_model(place: Path, model: Model) -> None:
    assert limelight.push_to_hub(model, "someone/soup") == "https://hub.example/someone/soup"
    (place / "someone/soup/evil.py").write_text("not a file of a model")
    fetched = limelight.from_pretrained("someone/soup")
    assert not (place / "snapshot/evil.py").exists()
    np.testing.assert_array_equal(
        fetched.predict_proba(["w1 w2", "w3"]), model.predict_proba(["w1 w2", "w3"])
    )


def test_a_folder_of_that_name_comes_first(tmp_path: Path, model: Model) -> None:
    model.save(tmp_path / "soup")
    assert limelight.from_pretrained(tmp_path / "soup").labels == LABELS


def test_a_pinned_model(place: Path, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    limelight.push_to_hub(model, "someone/soup")
    asked = []
    download = hub.snapshot_download
    monkeypatch.setattr(
        hub, "snapshot_download", lambda *a, **more: (asked.append(more["revision"]), download(*a, **more))[1]
    )
    monkeypatch.chdir(place)  # where a folder has the same name, which has no revisions
    digest = hashlib.sha256((place / "someone/soup/config.json").read_bytes()).hexdigest()
    assert limelight.from_pretrained("someone/soup", revision="0" * 40, sha256=digest).labels == LABELS
    assert asked == ["0" * 40]
    with pytest.raises(limelight.LimelightError, match=f"SHA-256 of config.json is {digest}"):
        limelight.from_pretrained("someone/soup", sha256="1" * 64)


def test_a_missing_model_is_one_line(place: Path) -> None:
    with pytest.raises(
        limelight.LimelightError, match="cannot get someone/none from the hub: 404: no repo"
    ) as found:
        limelight.from_pretrained("someone/none")
    assert "\n" not in str(found.value)
