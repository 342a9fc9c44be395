"""A model that travels to workers as the bytes of its file, and is opened once in each process.

Workers open it as any model file: nothing in it is run.
"""

import os
from collections.abc import Collection
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo.persistence import open_file, save
from rejo.scoring import Opened

_opened: dict[str, Opened] = {}  # the last model
_opening = Lock()


class SentModel(NamedTuple):
    """What a process needs to open a model."""

    sha256: str  # of the file
    name: str  # for messages
    how: dict[str, Any]  # as arguments of ``open_file``
    data: NDArray[np.uint8]  # the file, which joblib shares

    def open(self) -> Opened:
        """Return the model, opened at the first call in a process."""
        with _opening:  # a worker may have several threads
            if self.sha256 not in _opened:
                _opened.clear()
                with TemporaryDirectory() as folder:
                    path = Path(folder, "model.rejo")
                    self.data.tofile(path)
                    _opened[self.sha256] = self._opened_as(path)
            return _opened[self.sha256]

    def _opened_as(self, path: Path) -> Opened:
        opened = Opened(*open_file(path, **self.how))
        opened.found = replace(opened.found, path=Path(self.name))
        return opened


def packed_model(
    model: Any, trusted: Collection[str] = (), max_bytes: int | None = None
) -> tuple[Opened, SentModel]:
    """Return a model that is ready to judge, and how workers open it.

    ``model`` is the path of a model file, such a file that is opened, or a fitted model.
    """
    with TemporaryDirectory() as folder:
        if isinstance(model, Opened):
            path = name = model.found.path
        elif isinstance(model, str | os.PathLike):
            path = name = Path(model)
        else:
            path, name = Path(folder, "model.rejo"), Path("model")
            save(model, path, trusted=trusted)
        raw = path.read_bytes()
        data = np.frombuffer(raw, np.uint8)
        how: dict[str, Any] = {"trusted": tuple(trusted)}
        how |= {} if max_bytes is None else {"max_bytes": max_bytes}
        sent = SentModel(sha256(raw).hexdigest(), str(name), how, data)
        return model if isinstance(model, Opened) else sent._opened_as(path), sent
