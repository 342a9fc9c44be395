"""How honest the time left is that ``rejo train`` prints.

``python -m benchmarks.bench_left FOLDER`` trains on tables of a folder, which have a column
``target``, and on simulated ones of other shapes; or only on the ``--tables`` of the folder. Each
time that a line says how long the rest will take, that is compared with the time until the command
ended. It should be within a factor of two in 8 of 10 lines. There is one thread, and all clocks
show the time of the processor, so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification

from benchmarks.tables import Report, Target

FACTOR, SHARE = 2.0, 0.8
REAL = ("heart_statlog", "pima_diabetes", "german_credit", "letter_ah", "winequality_red")
TIMED = """
import sys, time
class Timed:
    def write(self, text):
        sys.__stderr__.write(f"{time.process_time()} {text}" if text.strip() else text)
    def flush(self):
        sys.__stderr__.flush()
    def isatty(self):
        return False
time.monotonic, sys.stderr = time.process_time, Timed()
from rejo.cli import main
assert main() == 0
sys.stderr.write("the end")
"""
SHAPES = ((400, 120, 2), (3_000, 12, 2), (6_000, 8, 3), (2_000, 40, 5), (12_000, 15, 2))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tables", nargs="+", help="names in the folder (default: five of them)")
    parser.add_argument("--options", default="--review-budget 0.1 --n-jobs 1")
    arguments = parser.parse_args()
    report, within = Report(), []
    report.section("Time left", f"rejo train {arguments.options}")
    report.header("table", "said, s", "was, s", "ratio", "stage")
    with tempfile.TemporaryDirectory() as folder:
        paths = [arguments.folder / f"{name}.csv" for name in arguments.tables or REAL]
        paths += [_simulated(Path(folder), *shape) for shape in SHAPES if not arguments.tables]
        for path in paths:
            lines, end = _train(path, Path(folder), arguments.options.split())
            for at, line in lines:
                if found := re.search(r"about (\d+) (s|min) left", line):
                    said, was = float(found[1]) * (60 if found[2] == "min" else 1), end - at
                    within.append(1 / FACTOR <= said / was <= FACTOR)
                    stage = " ".join(line.split("] ")[1].split()[:4])
                    cells = f"{said:.0f}", f"{was:.1f}", f"{said / was:.2f}", stage
                    report.row(f"{path.stem}, {end:.1f} s in all", *cells)
    report.judge(Target("within a factor of two", SHARE, [float(np.mean(within))]))
    report.summary()


def _simulated(folder: Path, rows: int, columns: int, classes: int) -> Path:
    """Write a table with some informative columns, and one of words."""
    X, y = make_classification(
        rows, columns, n_informative=6, n_classes=classes, flip_y=0.1, random_state=0
    )
    frame = pd.DataFrame(X.round(3), columns=[f"x{j}" for j in range(columns)])
    frame["word"] = np.random.RandomState(0).choice(list("abcdefgh"), rows)
    path = folder / f"{rows} x {columns}, {classes} classes.csv"
    frame.assign(target=y).to_csv(path, index=False)
    return path


def _train(path: Path, folder: Path, options: list[str]) -> tuple[list[tuple[float, str]], float]:
    """Lines on standard error with the seconds at which they came, and seconds in all."""
    words = ["train", str(path), "--target", "target", "-o", str(folder / "m.rejo"), "--overwrite"]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", TIMED, *words, *options],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment, check=True,
    )  # fmt: skip
    timed = [line.partition(" ") for line in done.stderr.splitlines()]
    lines = [(float(at), line) for at, _, line in timed]
    return lines, lines[-1][0]


if __name__ == "__main__":
    main()
