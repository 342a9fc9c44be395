"""Scoring Parquet files: one process, several, and a Dask cluster on this machine.

Files of rows with twenty columns (see ``bench_predict``) are decided into a folder by
``rejo.distributed.predict``. Rows a second are those of the call: imports and the start of the
cluster are not counted, as they do not grow with the rows. The folders must be the same, byte for
byte.

    python -m benchmarks.bench_scoring [--rows N] [--workers N] [--repetitions N] [--model NAME]
"""

import argparse
import logging
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks.bench_predict import block, write_table
from rejo.distributed import predict

FILE, GROUP = 500_000, 100_000  # rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=2)
    parser.add_argument("--model", default="logistic")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), arguments)


def run(folder: Path, arguments: argparse.Namespace) -> None:
    from distributed import Client, LocalCluster

    model, data = make(folder, arguments)
    with LocalCluster(
        n_workers=arguments.workers, threads_per_worker=1, host="127.0.0.1",
        dashboard_address=None, scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
        silence_logs=logging.CRITICAL,
    ) as cluster, Client(cluster) as client:  # fmt: skip
        ways = {
            "one process": {},
            f"{arguments.workers} processes": {"n_jobs": arguments.workers},
            f"{arguments.workers} Dask workers": {"client": client},
        }
        best = dict.fromkeys(ways, np.inf)
        for i in range(arguments.repetitions):
            for way, options in ways.items():
                out = folder / way
                shutil.rmtree(out, ignore_errors=True)
                start, cpu = perf_counter(), process_time()
                predict(model, data, out, **options)
                seconds, cpu = perf_counter() - start, process_time() - cpu
                best[way] = min(best[way], seconds)
                print(f"{i} {way}: {seconds:.2f} s, {cpu:.2f} s of them CPU of this process")
    for way, seconds in best.items():
        print(f"{way}: {seconds:.2f} s, {arguments.rows / seconds:,.0f} rows a second")
    print("same bytes:", len({contents(folder / way) for way in ways}) == 1)


def make(folder: Path, arguments: argparse.Namespace) -> tuple[Path, Path]:
    """A model, and a folder of files."""
    write_table(folder / "training.csv", 3_000, seed=0)
    words = ["train", "training.csv", "--target", "class", "--id", "id", "--reject-cost", "0.2"]
    words += ["--model", arguments.model, "-o", "model.rejo"]
    call = [sys.executable, "-m", "rejo.cli", *words]
    subprocess.run(call, cwd=folder, check=True, capture_output=True)
    data = folder / "data"
    data.mkdir()
    rng = np.random.default_rng(1)
    for start in range(0, arguments.rows, FILE):
        frame = block(rng, start, min(FILE, arguments.rows - start))
        path = data / f"{start // FILE:04d}.parquet"
        frame.to_parquet(path, row_group_size=GROUP, index=False)
    return folder / "model.rejo", data


def contents(folder: Path) -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(folder.iterdir()))


if __name__ == "__main__":
    main()
