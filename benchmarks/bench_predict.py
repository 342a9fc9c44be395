"""``rejo predict`` on a large CSV file, against what pandas needs to read and write it.

A table of a million rows and twenty columns (an id, numbers with gaps, categories, a date) is
decided by ``rejo predict``, a process of its own from start to end. Beside it, in turns: pandas
reads the file and writes it again, and the bare model predicts from a matrix that is ready. Printed
are the best times, their ratio, and the peak memory of the process.

    python -m benchmarks.bench_predict [--rows N] [--repetitions N] [--model logistic|svm|...]
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd

from rejo import cli, load
from rejo.cli._training import prepare_of

BLOCK = 100_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--model", default="logistic")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), arguments)


def run(folder: Path, arguments: argparse.Namespace) -> None:
    training, cases, model, out = (
        folder / name for name in ("training.csv", "cases.csv", "model.rejo", "out.csv")
    )
    write_table(training, 3_000, seed=0)
    write_table(cases, arguments.rows, seed=1)
    words = ["train", training, "--target", "class", "--id", "id", "--reject-cost", "0.2"]
    code = cli.main([*map(str, words), "--model", arguments.model, "-o", str(model)])
    assert code == 0
    print(f"\n{arguments.rows:,} rows, {cases.stat().st_size / 1e6:.0f} MB")
    fitted = load(model)
    X = prepare_of(fitted).transform(pd.read_csv(cases, dtype={"id": str}, parse_dates=["since"]))
    ours, theirs, memory = [], [], []
    for _ in range(arguments.repetitions):
        seconds, peak = predict(model, cases, out)
        ours.append(seconds)
        memory.append(peak)
        theirs.append(plain(cases, folder / "copy.csv", fitted.best_estimator_[-1], X))
    read, write, bare = min(theirs, key=sum)
    floor = read + write + bare
    print(f"pandas reads {read:.1f} s, writes {write:.1f} s; bare prediction {bare:.2f} s")
    print(f"rejo predict {min(ours):.1f} s: {min(ours) / floor:.2f} of these together")
    print(f"peak memory of rejo predict: {max(memory):.0f} MB")


def predict(model: Path, cases: Path, out: Path) -> tuple[float, float]:
    """Seconds and peak memory in MB of the command."""
    # VmHWM is that of the program alone: ru_maxrss would count the process that forked it, too.
    code = (
        "import sys; from rejo.cli import main; code = main(); "
        "print(next(line for line in open('/proc/self/status') if 'VmHWM' in line).split()[1]); "
        "sys.exit(code)"
    )
    start = perf_counter()
    words = ["predict", model, cases, "-o", out, "--overwrite"]
    result = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return perf_counter() - start, int(result.stdout.split()[-1]) / 1024


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
