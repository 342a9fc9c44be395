"""Where tasks run: in this process, in several, or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from rejo.cluster import connect, hand_out
from rejo.distributed._sent_model import SentModel, on_workers, receive

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def placing(
    client: Any, n_jobs: int, sent: SentModel, data: bytes
) -> Iterator[Callable[[Callable[[Any], R], Iterable[Any]], Iterator[tuple[Any, R]]]]:
    """Give a function that yields ``(item, function(item))`` for items, in any order.

    Each process that computes them has received the model.
    """
    if client is not None:
        with connect(client) as connected, on_workers(connected, sent, data):
            yield partial(hand_out, connected, name=_name)
    elif n_jobs == 1:
        receive(sent, data)
        yield lambda function, items: ((item, function(item)) for item in items)
    else:
        from joblib.externals.loky import ProcessPoolExecutor

        with ProcessPoolExecutor(n_jobs, initializer=receive, initargs=(sent, data)) as pool:
            yield partial(_in_processes, pool, 2 * n_jobs)


def _name(item: Any) -> str:
    return str(item)


def _in_processes(
    pool: Any, ahead: int, function: Callable[[T], R], items: Iterable[T]
) -> Iterator[tuple[T, R]]:
    """Compute items in a pool, which has up to ``ahead`` of them at a time."""
    running: dict[Any, T] = {}
    waiting = iter(items)
    while True:
        for item in islice(waiting, ahead - len(running)):
            running[pool.submit(function, item)] = item
        if not running:
            return
        for future in wait(running, return_when=FIRST_COMPLETED).done:
            yield running.pop(future), future.result()
