"""An iterator that works ahead in a thread, while its results are used."""

from collections.abc import Generator, Iterable
from queue import Full, Queue
from threading import Event, Thread
from typing import TypeVar, cast

T = TypeVar("T")
END = object()
PATIENCE = 1.0  # seconds


def ahead(items: Iterable[T], n: int = 1) -> Generator[T, None, None]:
    """Yield items, of which up to ``n`` are made in a thread before they are asked for.

    An error in the thread is raised here, after the items before it.  Closing the generator stops
    the thread after the item that it is at; one that waits for a pipe is left alone.
    """
    made: Queue[object] = Queue(n)
    stopped, failed = Event(), []

    def put(item: object) -> None:
        while not stopped.is_set():
            try:
                return made.put(item, timeout=0.1)
            except Full:
                continue

    def work() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    break
        except BaseException as error:
            failed.append(error)
        finally:
            getattr(items, "close", lambda: None)()  # in the thread that has opened the file
            put(END)

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not END:
            yield cast(T, item)
        if failed:
            raise failed[0]
    finally:
        stopped.set()
        thread.join(PATIENCE)
