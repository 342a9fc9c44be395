"""Contenders side by side: each round runs every one once, and the best time of each counts.

The clock is the processor time of this process.  With one thread and no input or output that is
the time on the wall, less what other processes take away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter, process_time
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread in every BLAS and OpenMP pool that is loaded, and a check that it is so."""
    with threadpool_limits(limits=1):
        many = [pool["prefix"] for pool in threadpool_info() if pool["num_threads"] != 1]
        if many:
            print(f"Warning: more than one thread in {', '.join(many)}.")
        yield


def race(
    contenders: Mapping[str, Callable[[], Any]],
    *,
    seconds: float = 1.0,
    least: int = 5,
    most: int = 60,
    limits: Mapping[str, int] | None = None,
) -> dict[str, float]:
    """Best time of each contender, in seconds.

    Rounds are run until ``seconds`` have passed, but at least ``least`` and at most ``most``;
    ``limits`` bounds the runs of single contenders.
    """
    best = dict.fromkeys(contenders, float("inf"))
    begin, rounds = perf_counter(), 0
    while rounds < least or (rounds < most and perf_counter() - begin < seconds):
        for name, run in contenders.items():
            if rounds < (limits or {}).get(name, most):
                start = process_time()
                run()
                best[name] = min(best[name], process_time() - start)
        rounds += 1
    return best


def geometric_mean(values: list[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def exponent(sizes: list[int], times: list[float]) -> float:
    """Slope of ``log time`` over ``log size``, by least squares."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
