"""No wait without an end: calls in a thread that is watched; Dask's messages held back."""

import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any, TypeVar

R = TypeVar("R")
OFTEN = 0.5  # seconds between two looks at the cluster
LOGGERS = ("distributed", "tornado")


def watched(check: Callable[[], None], call: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Return what a call returns; while it lasts, look often whether ``check`` raises.

    A call to a scheduler or a worker that has gone away may never return.
    """
    box: SimpleQueue[tuple[Any, BaseException | None]] = SimpleQueue()

    def work() -> None:
        try:
            box.put((call(*args, **kwargs), None))
        except BaseException as error:
            box.put((None, error))

    Thread(target=work, name="rejo-cluster", daemon=True).start()
    while True:
        try:
            value, error = box.get(timeout=OFTEN)
        except Empty:
            check()
            continue
        if error is not None:
            raise error
        found: R = value
        return found


def bounded(seconds: float, call: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Return what a call returns, or raise a ``TimeoutError``."""
    end = monotonic() + seconds

    def check() -> None:
        if monotonic() > end:
            raise TimeoutError(f"no answer in {seconds:g} seconds")

    return watched(check, call, *args, **kwargs)


@contextmanager
def hushed() -> Iterator[None]:
    """Keep Dask's log and warnings off the terminal: what matters reaches the caller as an error.

    Files and other handlers get the log as before.
    """
    from dask import config

    def silence(record: logging.LogRecord) -> bool:
        return False

    names = [name for name in logging.root.manager.loggerDict if name.startswith(LOGGERS)]
    with ExitStack() as stack:
        for handler in {one for name in names for one in logging.getLogger(name).handlers}:
            if type(handler) is logging.StreamHandler:
                handler.addFilter(silence)
                stack.callback(handler.removeFilter, silence)
        stack.enter_context(config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"}))
        yield
