"""A line on the terminal that says how far long work has come."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TypeVar

T = TypeVar("T")


def progress(
    items: Iterable[T], total: int, title: str, *, show: bool | None = None
) -> Iterator[T]:
    """Pass the items on, and write how many came and how long the others will take.

    By default (``show=None``) only if stderr is a terminal.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    start = monotonic()
    try:
        for done, item in enumerate(items, start=1):
            left = (monotonic() - start) / done * (total - done)
            sys.stderr.write(f"\r{title}: {done}/{total}, {_clock(left)} left \033[K")
            sys.stderr.flush()
            yield item
    finally:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{int(seconds):02}" if hours else f"{minutes}:{int(seconds):02}"
