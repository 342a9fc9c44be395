"""What workers do in the tests of clusters; quick to import, as workers are started often."""

import os
import signal
import time
from pathlib import Path

KEPT = []


def square(x):
    time.sleep(0.02)
    return x * x


def kill_once(item):
    """End the process of the worker, the first time."""
    x, flag = item
    if x == 3 and not os.path.exists(flag):
        Path(flag).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def kill_once_with(item, array):
    return kill_once(item), float(array.sum())


def kill_always(x):
    if x == 3:
        os._exit(1)
    time.sleep(0.02)
    return x


def fail(x):
    if x == 3:
        raise ZeroDivisionError("three is not allowed")
    return x


def leave_a_mark(path):
    time.sleep(0.1)
    Path(path).touch()


def fill_memory(*_):
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)
        time.sleep(0.01)


def keep_memory(rank, n_bytes):
    """Hold memory beyond the end of the task, until the process has so much."""
    import psutil

    while psutil.Process().memory_info().rss < n_bytes:
        KEPT.append(b"x" * 1_000_000)


def keep_memory_first(item):
    """Hold memory from the first item on, and be slow after it."""
    x, n_bytes = item
    if x == 0:
        keep_memory(0, n_bytes)
    time.sleep(0.3)
    return x


def sleep_a_while(*_):
    time.sleep(3)


def sleep_long(*_):
    time.sleep(1000)


def rank_and_process(rank, share):
    return rank, share, os.getpid()


def kill_rank_1(rank, share):
    if rank == 1:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(1000)  # as a peer in a collective, which cannot be interrupted


def fail_after_a_peer(rank, share):
    """Rank 0 fails first, but only because rank 1 will."""
    if rank == 0:
        raise ConnectionError("the peer closed its socket")
    time.sleep(0.3)
    raise ZeroDivisionError("the cause")


def fill_memory_of_rank_1(rank, share):
    if rank == 1:
        fill_memory()
    time.sleep(1000)


def look_at(i, array):
    time.sleep(0.02)
    return i, os.getpid(), id(array), float(array.sum())
