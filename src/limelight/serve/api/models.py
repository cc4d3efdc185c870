"""Models by name, each from a folder that may be replaced while it is served."""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import LimelightError, no_rows
from ...runtime.config_file import MAX_CONFIG
from ...runtime.folder import folder_of
from ...runtime.model import Model
from ...runtime.reader import Reader, load
from ...storage.open_files import read_regular
from ..http.limits import Limits, RequestError
from ..http.metrics import Metrics, log
from .batching import BATCH_WORDS, Batcher, predictions, vectors

Source = str | Path | Model | Reader
WARM_UP = "wärm"  # not ASCII: the tokenizer for such texts starts when first needed, too
WATCH_SECONDS = 1.0  # seconds between two looks at the folders


class ServedModel:
    """A name, and the model that answers for it now; a request takes `current` once, and ends with it."""

    def __init__(
        self, name: str, source: Source, metrics: Metrics, limits: Limits, batch_words: int, **loading: Any
    ) -> None:
        self.name, self._metrics, self._loading = name, metrics, loading
        self._batching: dict[str, Any] = {"batch_words": batch_words, "most": limits.waiting, "name": name}
        if isinstance(source, Model | Reader):
            self._folder, self.current = None, Batcher(source, metrics, **self._batching)
            return
        self._folder = folder_of(source)
        self._seen, self._failed = _look(self._folder), ""
        self.current = self._open(_checksum(self._folder))

    def _open(self, sha256: str | None) -> Batcher:
        model = load(self._folder or "", sha256=sha256, **self._loading)
        if isinstance(model, Reader):  # one text now: what starts when first needed must not delay a request
            vectors(model, [(WARM_UP,)])
        else:
            predictions(model, [(WARM_UP, WARM_UP) if model.pair else (WARM_UP,)])
        return Batcher(model, self._metrics, sha256=sha256 or "", **self._batching)

    def refresh(self) -> None:
        """Load the folder again if it has another model; if that does not load, keep the old one."""
        if self._folder is None or (seen := _look(self._folder)) in (None, self._seen):
            return
        self._seen, sha256 = seen, _checksum(self._folder)
        if sha256 in (None, self.current.sha256):
            return
        try:
            self.current = self._open(sha256)
        except Exception as error:  # whatever is wrong with a folder, the server goes on
            self._metrics.add("reload_errors_total")
            if sha256 != self._failed:  # a folder that is being copied fails more than once
                log(f"{self.name}: the new folder does not load, the old model stays: {error}")
            self._failed = str(sha256)
            return
        self._metrics.add("reloads_total")
        log(f"{self.name}: loaded the new folder, sha256 {sha256}")


class ServedModels:
    """All that are served; the first answers where a request names none."""

    def __init__(
        self, sources: Mapping[str, Source], metrics: Metrics, limits: Limits,
        batch_words: int = BATCH_WORDS, **loading: Any,
    ) -> None:  # fmt: skip
        if not sources:
            raise no_rows("there is no model to serve; give at least one")
        self._models: dict[str, ServedModel] = {}
        opened: dict[Any, ServedModel] = {}  # two names of one folder are one model
        for name, source in sources.items():
            key = source if isinstance(source, Model | Reader) else folder_of(source).resolve()
            if key not in opened:
                opened[key] = ServedModel(name, source, metrics, limits, batch_words, **loading)
            self._models[name] = opened[key]
        self.distinct = list(opened.values())

    @property
    def names(self) -> list[str]:
        return list(self._models)

    def find(self, name: Any) -> tuple[str, Batcher]:
        name = self.names[0] if name is None else name
        if not isinstance(name, str) or name not in self._models:
            raise RequestError(404, f"there is no such model; this server has: {', '.join(self.names)}")
        return name, self._models[name].current

    async def watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            for served in self.distinct:
                await asyncio.to_thread(served.refresh)


def _look(folder: Path) -> tuple[Any, ...] | None:
    """What changes when a folder is replaced or written to; None while it is gone."""
    try:
        found = {file.name: file.stat() for file in folder.iterdir()}
    except OSError:
        return None
    return tuple((name, s.st_ino, s.st_size, s.st_mtime_ns) for name, s in sorted(found.items()))


def _checksum(folder: Path) -> str | None:
    try:
        return hashlib.sha256(read_regular(folder / "config.json", MAX_CONFIG)).hexdigest()
    except (OSError, LimelightError):
        return None  # gone, or not a model: loading says what is wrong
