"""Work in several processes, which Ctrl-C ends."""

import signal
from collections.abc import Iterable, Iterator
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel


def each_done(tasks: Iterable[Any], n_jobs: int | None, **options: Any) -> Iterator[Any]:
    """Return the results of joblib's delayed tasks, one by one.

    The processes that it starts do not hear Ctrl-C, which a terminal sends to all: the one that
    waits for them does, and ends them.
    """
    parallel = Parallel(n_jobs=n_jobs, **{"return_as": "generator"} | options)
    if effective_n_jobs(n_jobs) == 1 or not hasattr(signal, "pthread_sigmask"):  # Windows
        return iter(parallel(tasks))
    from multiprocessing.resource_tracker import ensure_running

    ensure_running()  # or it starts below, and unblocks signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # processes inherit it
    try:
        return iter(parallel(tasks))
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
