"""Saved models on the Hugging Face hub; needs `pip install '.[hub]'`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..errors import LimelightError
from .config_file import FILES
from .model import Model


def from_pretrained(name: str | Path, *, revision: str | None = None, **options: Any) -> Model:
    """Load a model from the hub, or from a folder of that name if one exists; `options` as for `Model.load`.

    Only the files of a saved model are downloaded, and they are checked like any other folder. What a name or
    a branch stands for can change: `revision`, a commit, pins what is fetched, and `sha256` what is loaded,
    whoever serves it. With a revision it is always the hub that is asked.

    >>> model = from_pretrained("someone/hotel-reviews")  # doctest: +SKIP
    >>> model = from_pretrained("someone/soup", revision="4d1f...", sha256="9c56...")  # doctest: +SKIP
    """
    if revision is None and Path(name).exists():
        return Model.load(name, **options)
    hub = _hub()
    try:
        files = [*FILES["text"], "config.json", "README.md"]
        folder = hub.snapshot_download(str(name), revision=revision, allow_patterns=files)
    except Exception as error:  # the hub's library raises many kinds: no such model, no network, no access
        raise LimelightError(f"cannot get {name} from the hub: {_first_line(error)}", code="hub") from error
    return Model.load(folder, **options)


def push_to_hub(model: Model, name: str, *, private: bool = False, message: str = "Add the model") -> str:
    """Upload the model to the repository `name` on the hub, created if needed; return its address.

    >>> push_to_hub(model, "someone/hotel-reviews")  # doctest: +SKIP
    'https://huggingface.co/someone/hotel-reviews'
    """
    hub = _hub()
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        try:
            api = hub.HfApi()
            address = api.create_repo(name, private=private, exist_ok=True)
            api.upload_folder(repo_id=name, folder_path=folder, commit_message=message)
        except Exception as error:  # as above
            raise LimelightError(
                f"cannot upload {name} to the hub: {_first_line(error)}", code="hub"
            ) from error
    return str(address)


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise LimelightError(
            "the hub needs huggingface_hub: pip install '.[hub]'", code="needs-extra"
        ) from None
    return huggingface_hub


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
