"""``rejo train`` on ordinary tables, against one plain fit of gradient boosting.

Three tables are written as CSV files: 20,000 rows and 25 columns in four classes, 2,000 rows and
400 columns, 300,000 rows and 21 columns (about 46 MB).  Informative numbers, numbers that say
nothing, categories and gaps, as in the tables that people have.  ``rejo train`` is a process of its
own from start to end, on two cores.  Beside it, the best of several fits of
``HistGradientBoostingClassifier`` on the encoded table, also on two cores.  A table should take at
most 25 such fits, or 20 seconds if that is more.

    python -m benchmarks.bench_train [--tables A,B] [--fits N] [--jobs N] [--options "..."] [--log]
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from benchmarks.tables import Report, Target
from rejo.tables import TableEncoder, read_table

FITS, SECONDS = 25, 20.0  # allowed: the larger of the two
TARGET = "class"


class Size(NamedTuple):
    """What a table looks like."""

    rows: int
    columns: int
    classes: int
    informative: int
    categories: int  # columns of words


SIZES = {
    "20,000 x 25, 4 classes": Size(20_000, 25, 4, informative=8, categories=4),
    "2,000 x 400": Size(2_000, 400, 2, informative=15, categories=10),
    "300,000 x 21": Size(300_000, 21, 2, informative=8, categories=3),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", default=",".join(map(str, range(1, len(SIZES) + 1))))
    parser.add_argument("--fits", type=int, default=3, help="plain fits; the best one counts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--options", default="--reject-cost 0.2", help="of rejo train")
    parser.add_argument("--log", action="store_true", help="show what rejo train says")
    arguments = parser.parse_args()
    names = [list(SIZES)[int(i) - 1] for i in arguments.tables.split(",")]
    report = Report()
    report.section("rejo train, auto", f"{arguments.jobs} cores; times on the wall, in seconds.")
    report.header(
        "table", "MB", "plain fit", "rejo train", "plain fits", "allowed s", "silent s", "met"
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            run(name, Path(folder), arguments, report)
    report.summary()


def run(name: str, folder: Path, arguments: argparse.Namespace, report: Report) -> None:
    size = SIZES[name]
    path = folder / "table.csv"
    make_table(size).to_csv(path, index=False)
    plain = plain_fit(path, arguments.fits, arguments.jobs)
    whole, silent = train(path, folder / "model.rejo", size, arguments)
    allowed = max(FITS * plain, SECONDS)
    met = report.judge(
        Target(f"{name}: share of the time allowed", 1.0, [whole / allowed], at_most=True)
    )
    report.row(
        name, f"{path.stat().st_size / 1e6:.0f}", f"{plain:.2f}", f"{whole:.1f}",
        f"{whole / plain:.1f}", f"{allowed:.1f}", f"{silent:.1f}", met,
    )  # fmt: skip


def plain_fit(path: Path, repetitions: int, jobs: int) -> float:
    """Seconds of the best fit on the encoded table, without reading and encoding it."""
    frame = read_table(path).frame
    X = TableEncoder().fit_transform(frame.drop(columns=TARGET))
    y = frame[TARGET].to_numpy()
    best = np.inf
    with threadpool_limits(limits=jobs):
        for seed in range(repetitions):
            start = perf_counter()
            HistGradientBoostingClassifier(random_state=seed).fit(X, y)
            best = min(best, perf_counter() - start)
    return float(best)


def train(
    path: Path, model: Path, size: Size, arguments: argparse.Namespace
) -> tuple[float, float]:
    """Seconds of the command, and the longest time in which it said nothing."""
    words = ["train", path, "--target", TARGET, "-o", model, "--n-jobs", arguments.jobs]
    command = [sys.executable, "-m", "rejo.cli", *map(str, words), *shlex.split(arguments.options)]
    if size.classes > 2 and "--order" not in arguments.options:
        command += ["--order", ",".join(labels(size.classes))]
    threads = str(arguments.jobs)
    environment = os.environ | {"OMP_NUM_THREADS": threads, "PYTHONUNBUFFERED": "1"}
    start = last = perf_counter()
    longest = 0.0
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            now = perf_counter()
            longest, last = max(longest, now - last), now
            lines.append(line)
            if arguments.log:
                print(f"  {now - start:6.1f} s  {line}", end="", flush=True)
    if process.returncode:
        raise SystemExit(f"rejo train failed:\n{''.join(lines)}{json.dumps(command)}")
    return perf_counter() - start, longest


def make_table(size: Size, seed: int = 0) -> pd.DataFrame:
    """A smooth score of some columns, with interactions and noise, cut into classes."""
    rng = np.random.default_rng(seed)
    n, d = size.rows, size.informative
    Z = rng.normal(size=(n, d))
    score = Z @ rng.normal(size=d) + 1.5 * Z[:, 0] * Z[:, 1] + np.abs(Z[:, 2]) - np.sin(3 * Z[:, 3])
    columns: dict[str, NDArray[np.object_] | NDArray[np.float64]] = {}
    for i in range(size.categories):
        levels = int(rng.integers(2, 13))
        code = rng.integers(levels, size=n)
        words = np.array([f"level {j}" for j in range(levels)], dtype=object)
        if i % 2 == 0:
            score = score + rng.normal(size=levels)[code]
        columns[f"category {i}"] = words[code]
    for i in range(size.columns - size.categories):
        if i < d:
            values = Z[:, i]
        elif i % 3 == 0:  # related to an informative column
            values = Z[:, i % d] + rng.normal(size=n)
        else:
            values = rng.normal(size=n)
        values = np.exp(values) if i % 4 == 3 else values  # amounts are skewed
        values = values.round(4)
        if i % 5 == 4:
            values[rng.random(n) < 0.05] = np.nan
        columns[f"number {i}"] = values
    noisy = score + 0.7 * score.std() * rng.normal(size=n)
    shares = np.cumsum([0.4, 0.3, 0.2, 0.1] if size.classes == 4 else [0.7, 0.3])
    k = np.searchsorted(np.quantile(noisy, shares[:-1]), noisy)
    return pd.DataFrame(columns).assign(**{TARGET: np.array(labels(size.classes), object)[k]})


def labels(n_classes: int) -> list[str]:
    return [f"grade {i + 1}" for i in range(n_classes)]


if __name__ == "__main__":
    main()
