"""Training from Parquet files on workers of this machine, and how it grows with the rows.

Files with 1e5, 1e6 and 1e7 rows by 30 columns are made in a temporary folder.  Two Dask workers,
each with one thread and a memory limit of 1.5 GB, train a ``RejoBoost`` on each of them for a
review budget; printed are the seconds of ``fit``, the peak memory of the workers and of this
process, and how the time grows.  On 1e6 rows one worker, and this process without any, train too.

    python -m benchmarks.bench_distributed [--rows 1e5 1e6 1e7] [--rounds 100] [--limit 1.5GB]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.bench_boost import make_rows
from benchmarks.timing import exponent

GROUP = 200_000  # rows of a row group, at most


def write_files(folder: Path, n_rows: int) -> None:
    """Write Parquet files of two row groups each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    group = min(GROUP, n_rows // 4)
    for number, first in enumerate(range(0, n_rows, 2 * group)):
        X, y = make_rows(min(2 * group, n_rows - first), 2, seed=number)
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])} | {"y": y.astype(np.int8)}
        pq.write_table(pa.table(columns), folder / f"{number:03d}.parquet", row_group_size=group)


def peak() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def cpu() -> float:
    """Seconds of this process: a busy machine does not change them much."""
    return getrusage(RUSAGE_SELF).ru_utime + getrusage(RUSAGE_SELF).ru_stime


def fit_in_this_process(folder: str, n_workers: int, rounds: int, limit: str) -> None:
    """Train once; print the seconds, and the peaks in MB of the workers and of this process."""
    from rejo import RejectClassifierCV, RejoBoost
    from rejo.distributed import fit

    boost = RejoBoost(
        n_estimators=rounds, max_depth=6, early_stopping_rounds=None, random_state=0, n_jobs=1
    )
    search = RejectClassifierCV(boost, review_budget=0.1)
    peaks: list[float] = []
    if n_workers:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=n_workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                dashboard_address=None, memory_limit=limit, silence_logs=50,
            ) as cluster,
            Client(cluster) as client,
        ):  # fmt: skip
            begun = sum(client.run(cpu).values())
            start = perf_counter()
            model = fit(search, folder, target="y", client=client)
            seconds = perf_counter() - start
            worked = sum(client.run(cpu).values()) - begun
            peaks = sorted(client.run(peak).values())
    else:
        begun, start = cpu(), perf_counter()
        model = fit(search, folder, target="y")
        seconds, worked = perf_counter() - start, cpu() - begun
    found = {"seconds": seconds, "cpu": worked, "workers": peaks, "here": peak()}
    print(json.dumps(found | {"rates": model.rates_}))


def main() -> None:
    if sys.argv[1:2] == ["one-fit"]:
        folder, n_workers, rounds, limit = sys.argv[2:]
        fit_in_this_process(folder, int(n_workers), int(rounds), limit)
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, nargs="+", default=[1e5, 1e6, 1e7])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--limit", default="1.5GB", help="memory limit of a worker")
    arguments = parser.parse_args()
    seconds: dict[tuple[int, int], float] = {}
    for n_rows in map(int, arguments.rows):
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), n_rows)
            for n_workers in (2, 1, 0) if n_rows == 1_000_000 else (2,):
                words: list[Any] = [folder, n_workers, arguments.rounds, arguments.limit]
                command = [sys.executable, "-m", "benchmarks.bench_distributed", "one-fit"]
                said = subprocess.run(
                    [*command, *map(str, words)], capture_output=True, text=True, check=True
                ).stdout
                found = json.loads(said.splitlines()[-1])
                seconds[n_rows, n_workers] = found["seconds"]
                print(
                    f"{n_rows:>12,} rows, {n_workers or 'no'} workers: {found['seconds']:7.1f} s "
                    f"({found['cpu']:.1f} of CPU where it is done); "
                    f"peak MB of the workers {[round(mb) for mb in found['workers']]}, "
                    f"here {found['here']:.0f}; reviews {found['rates'][0]:.3f}",
                    flush=True,
                )
    sizes = sorted({n for n, workers in seconds if workers == 2})
    if len(sizes) > 1:
        times = [seconds[n, 2] for n in sizes]
        print(f"time grows as rows to the power of {exponent(sizes, times):.2f}")
        last = exponent(sizes[-2:], times[-2:])
        print(f"  between {sizes[-2]:,} and {sizes[-1]:,} rows: {last:.2f}")
    if (1_000_000, 1) in seconds:
        print(f"one worker / two workers: {seconds[1_000_000, 1] / seconds[1_000_000, 2]:.2f}")


if __name__ == "__main__":
    main()
