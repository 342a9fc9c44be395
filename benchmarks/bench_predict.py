"""``rejo predict`` on a large CSV file, against what pandas needs to read and write it.

A table of a million rows and twenty columns (an id, numbers with gaps, categories, a date) is
decided by ``rejo predict``, a process of its own from start to end. Beside it, in turns: pandas
reads the file and writes it again, and the bare model predicts from a matrix that is ready. Printed
are the best times, their ratio, and the peak memory of the process.  With ``--before``, another
version of rejo decides the same file by a model of its own, also in turns.

    python -m benchmarks.bench_predict [--rows N] [--repetitions N] [--model logistic|svm|...]
        [--before FOLDER/src]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from rejo import load
from rejo.scoring.model_columns import encoder_of

BLOCK = 100_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--model", default="logistic")
    parser.add_argument("--before", type=Path, help="folder with another version of rejo")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), arguments)


def run(folder: Path, arguments: argparse.Namespace) -> None:
    training, cases, model, out = (
        folder / name for name in ("training.csv", "cases.csv", "model.rejo", "out.csv")
    )
    write_table(training, 3_000, seed=0)
    write_table(cases, arguments.rows, seed=1)
    versions: dict[str, Path | None] = {"now": None}
    if arguments.before is not None:
        versions = {"before": arguments.before.resolve(), **versions}
    for version, source in versions.items():
        words = ["train", training, "--target", "class", "--id", "id", "--reject-cost", "0.2"]
        call(source, *words, "--model", arguments.model, "-o", model.with_stem(version))
    print(f"\n{arguments.rows:,} rows, {cases.stat().st_size / 1e6:.0f} MB")
    fitted = load(model.with_stem("now"))
    X = encoder_of(fitted).transform(pd.read_csv(cases, dtype={"id": str}, parse_dates=["since"]))
    seconds = {version: [] for version in versions}
    peaks = dict.fromkeys(versions, 0.0)
    theirs = []
    for _ in range(arguments.repetitions):
        for version, source in versions.items():
            start = perf_counter()
            words = ["predict", model.with_stem(version), cases, "-o", out, "--overwrite"]
            peaks[version] = max(peaks[version], call(source, *words))
            seconds[version].append(perf_counter() - start)
        theirs.append(plain(cases, folder / "copy.csv", fitted.best_estimator_[-1], X))
    read, write, bare = min(theirs, key=sum)
    floor = read + write + bare
    print(f"pandas reads {read:.1f} s, writes {write:.1f} s; bare prediction {bare:.2f} s")
    for version in versions:
        best = min(seconds[version])
        print(
            f"rejo predict, {version}: {best:.2f} s, {best / floor:.2f} of these together; peak "
            f"memory {peaks[version]:.0f} MB"
        )
    if "before" in versions:
        print(f"now / before: {min(seconds['now']) / min(seconds['before']):.2f}")


def call(source: Path | None, *words: object) -> float:
    """Run a command of this or another version; return its peak memory in MB."""
    # VmHWM is that of the program alone: ru_maxrss would count the process that forked it, too.
    code = (
        "import sys; from rejo.cli import main; code = main(); "
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line).split()[1]); "
        "sys.exit(code)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ if source is None else os.environ | {"PYTHONPATH": str(source)},
    )
    return int(result.stdout.split()[-1]) / 1024


def plain(cases: Path, copy: Path, model: object, X: np.ndarray) -> tuple[float, float, float]:
    """Seconds to read, to write, and to predict."""
    start = perf_counter()
    frame = pd.read_csv(cases)
    read = perf_counter()
    frame.to_csv(copy, index=False)
    written = perf_counter()
    del frame
    again = perf_counter()
    model.predict(X)
    return read - start, written - read, perf_counter() - again


def write_table(path: Path, n: int, seed: int) -> None:
    """A table like those of a lender."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, BLOCK):
        block(rng, start, min(BLOCK, n - start)).to_csv(
            path, index=False, mode="a" if start else "w", header=not start
        )


def block(rng: np.random.Generator, start: int, n: int) -> pd.DataFrame:
    frame = pd.DataFrame({"id": [f"{i:08d}" for i in range(start, start + n)]})
    numbers = rng.normal(size=(n, 14)).round(4)
    logit = numbers[:, :4] @ [1.5, -1.0, 0.5, 0.5]
    for i in range(14):
        column = numbers[:, i].copy()
        if i % 3 == 0:
            column[rng.random(n) < 0.05] = np.nan
        frame[f"number {i}"] = column
    for i, words in enumerate(("yes no", "north south east west", "a b c d e f g h")):
        code = rng.integers(len(words.split()), size=n)
        frame[f"category {i}"] = np.array(words.split())[code]
        logit = logit + 0.5 * (code == 0)
    frame["since"] = np.datetime64("2015-01-01") + rng.integers(4000, size=n).astype("m8[D]")
    frame["class"] = np.where(rng.random(n) < 1 / (1 + np.exp(-logit)), "bad", "good")
    return frame


if __name__ == "__main__":
    main()
