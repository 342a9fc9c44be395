"""A model that travels to workers as the bytes of its file, and is opened once in each process.

Workers open it as any model file: nothing in it is run.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from rejo._errors import RejoError
from rejo.cluster import connect, hand_out
from rejo.persistence import save
from rejo.scoring import Opened, open_scorer

T = TypeVar("T")
R = TypeVar("R")
_received: dict[str, bytes] = {}  # files that a driver has sent, by their hashes
_opened: dict[str, Opened] = {}  # the last model
_opening = Lock()


class SentModel(NamedTuple):
    """What a worker needs to open a model, but for the file itself."""

    sha256: str  # of the file
    name: str  # for messages
    trusted: tuple[str, ...]
    max_bytes: int | None

    def open(self) -> Opened:
        """Return the model, opened at the first call in a process."""
        with _opening:  # a worker may have several threads
            if self.sha256 not in _opened:
                if self.sha256 not in _received:
                    raise RejoError(f"this worker has not received {self.name}")
                _opened.clear()
                _opened[self.sha256] = self._open(_received[self.sha256])
            return _opened[self.sha256]

    def _open(self, data: bytes) -> Opened:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.rejo")
            path.write_bytes(data)
            opened = open_scorer(path, trusted=self.trusted, max_bytes=self.max_bytes)
        opened.found = replace(opened.found, path=Path(self.name))
        return opened


def packed_model(
    model: Any, trusted: Collection[str] = (), max_bytes: int | None = None
) -> tuple[Opened, SentModel, bytes]:
    """Return a model that is ready to judge, how workers open it, and its file.

    ``model`` is the path of a model file, such a file that is opened, or a fitted model.
    """
    if isinstance(model, Opened):
        opened, data = model, model.found.path.read_bytes()
    elif isinstance(model, str | os.PathLike):
        opened = open_scorer(Path(model), trusted=trusted, max_bytes=max_bytes)
        data = Path(model).read_bytes()
    else:
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.rejo")
            save(model, path, trusted=trusted)
            data = path.read_bytes()
            opened = open_scorer(path, trusted=trusted, max_bytes=max_bytes)
        opened.found = replace(opened.found, path=Path("model"))
    sent = SentModel(
        sha256(data).hexdigest(), str(opened.found.path), tuple(trusted), max_bytes
    )  # fmt: skip
    return opened, sent, data


def receive(sent: SentModel, data: bytes) -> None:
    """Keep the file of a model for this process."""
    _received.clear()
    _received[sent.sha256] = data


@contextmanager
def on_workers(client: Any, sent: SentModel, data: bytes) -> Iterator[None]:
    """Give the file of a model to all workers of a cluster, also to those that come later."""
    from distributed import WorkerPlugin

    class Delivery(WorkerPlugin):
        """Runs when a worker starts, before it gets a task."""

        name = f"rejo-model-{sent.sha256}"

        def setup(self, worker: Any) -> None:
            receive(sent, data)

    client.register_plugin(Delivery())
    try:
        yield
    finally:
        if client.status == "running":
            client.unregister_worker_plugin(Delivery.name)


@contextmanager
def placing(
    client: Any, n_jobs: int, sent: SentModel, data: bytes
) -> Iterator[Callable[[Callable[[Any], R], Iterable[Any]], Iterable[tuple[Any, R]]]]:
    """Give a function that yields ``(item, function(item))`` for items, in any order.

    The first part of an item names it.  Each process that computes them has received the model.
    """
    if client is not None:
        with connect(client) as connected, on_workers(connected, sent, data):
            yield partial(hand_out, connected, name=lambda item: str(item[0]))
    elif n_jobs == 1:
        receive(sent, data)
        yield lambda function, items: ((item, function(item)) for item in items)
    else:
        from joblib.externals.loky import ProcessPoolExecutor

        with ProcessPoolExecutor(n_jobs, initializer=receive, initargs=(sent, data)) as pool:
            yield partial(_in_processes, pool)


def _in_processes(
    pool: Any, function: Callable[[T], R], items: Iterable[T]
) -> Iterator[tuple[T, R]]:
    items = list(items)
    return zip(items, pool.map(function, items), strict=True)
