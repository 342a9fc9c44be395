"""No wait without an end: calls in a thread that is watched; Dask's messages held back."""

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any, TypeVar

R = TypeVar("R")
OFTEN = 0.5  # seconds between two looks at the cluster
LOGGERS = ("distributed", "tornado")


def watched(check: Callable[[], None], call: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Return what a call returns; while it lasts, look often whether ``check`` raises.

    A call to a scheduler or a worker that has gone away may never return.
    """
    found = _begun(call, args, kwargs)
    while not wait([found], OFTEN).done:
        check()
    return found.result()


def bounded(seconds: float, call: Callable[..., R], *args: Any, **kwargs: Any) -> R:
    """Return what a call returns, or raise a ``TimeoutError``."""
    return _begun(call, args, kwargs).result(seconds)


def _begun(call: Callable[..., R], args: Any, kwargs: Any) -> Future[R]:
    found: Future[R] = Future()

    def work() -> None:
        try:
            found.set_result(call(*args, **kwargs))
        except BaseException as error:
            found.set_exception(error)

    Thread(target=work, name="rejo-cluster", daemon=True).start()
    return found


def wait_a_while(client: Any, futures: Iterable[Any]) -> list[Any]:
    """Wait until one of some futures ends, but not long; return those that have ended."""
    from distributed import wait as wait_for

    listed = list(futures)
    with suppress(TimeoutError, CancelledError), client.as_current():
        wait_for(listed, timeout=OFTEN, return_when="FIRST_COMPLETED")
    return [future for future in listed if future.status != "pending"]


def same(data: Any) -> Any:
    """Return data: those that a task returns are made again if the worker that has them dies."""
    return data


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
