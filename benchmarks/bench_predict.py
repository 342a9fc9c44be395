"""``rejo predict`` from file to file, CSV and Parquet, against what pandas needs for the CSV files.

A table of a million rows and twenty columns (an id, numbers with gaps, categories, a date) is
decided by ``rejo predict``, a process of its own from start to end, once as a CSV file and once as
a Parquet file.  Beside it, in turns: pandas reads the CSV file and writes it again, and the bare
model predicts from a matrix that is ready.  Printed are the best times, their ratio, rows a second
without the start of the process, the peak memory, and where the time goes.  With ``--before``,
another version of rejo decides the same files by a model of its own, also in turns; its CSV output
must have the same bytes.

    python -m benchmarks.bench_predict [--rows N] [--repetitions N] [--model logistic|svm|...]
        [--before FOLDER/src]
"""

import argparse
import filecmp
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rejo import load
from rejo.scoring.model import encoder_of

BLOCK = 100_000
FORMATS = ("csv", "parquet")
# Runs a command and says where its time went.  Chunks may be read in a thread while others are
# decided: ``reading`` is how long the reader worked.
PHASES = """
import json, sys
from time import perf_counter, process_time
begun = perf_counter()
from rejo import tables
from rejo.cli import main
at = {}
reading = 0.0
read_chunks, TableWriter = tables.read_chunks, tables.TableWriter

def chunks(*arguments, **options):
    global reading
    at.setdefault("read", perf_counter())
    found = read_chunks(*arguments, **options)
    while True:
        start = perf_counter()
        chunk = next(found, None)
        reading += perf_counter() - start
        if chunk is None:
            return
        yield chunk

class Writer(TableWriter):
    def __enter__(self):
        at["write"] = perf_counter()
        return super().__enter__()

tables.read_chunks, tables.TableWriter = chunks, Writer
code = main()
end = perf_counter()
# VmHWM is that of the program alone: ru_maxrss would count the process that forked it, too.
peak = next(line for line in open("/proc/self/status") if "VmHWM" in line).split()[1]
start, write = at.get("read", end), at.get("write", end)
print(json.dumps({"start": start - begun, "reading": reading, "decide": write - start,
                  "write": end - write, "cpu": process_time(), "peak": int(peak) / 1024}))
sys.exit(code)
"""


class Run(NamedTuple):
    """Seconds of a run, and its peak memory in MB."""

    whole: float  # with the start of Python
    start: float  # until the first row is read
    reading: float  # how long the reader worked, partly while chunks were decided
    decide: float  # until the last decision, with what of the reading was waited for
    write: float
    cpu: float  # of all threads
    peak: float


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
    training, cases = folder / "training.csv", folder / "cases.csv"
    write_table(training, 3_000, seed=0)
    write_table(cases, arguments.rows, seed=1)
    frame = pd.read_csv(cases, dtype={"id": str}, parse_dates=["since"])
    frame.to_parquet(cases.with_suffix(".parquet"), index=False)
    versions: dict[str, Path | None] = {"now": None}
    if arguments.before is not None:
        versions = {"before": arguments.before.resolve(), **versions}
    for version, source in versions.items():
        words = ["train", training, "--target", "class", "--id", "id", "--reject-cost", "0.2"]
        call(source, *words, "--model", arguments.model, "-o", folder / f"{version}.rejo")
    fitted = load(folder / "now.rejo")
    X = encoder_of(fitted).transform(frame)
    del frame
    runs: dict[tuple[str, str], list[Run]] = {(v, f): [] for v in versions for f in FORMATS}
    theirs = []
    for _ in range(arguments.repetitions):
        for version, format in runs:
            out = folder / f"{version}.{format}"
            words = ["predict", folder / f"{version}.rejo", cases.with_suffix(f".{format}")]
            found = call(versions[version], *words, "-o", out, "--overwrite")
            runs[version, format].append(found)
        theirs.append(plain(cases, folder / "copy.csv", fitted.best_estimator_[-1], X))
    print(f"\n{arguments.rows:,} rows, {cases.stat().st_size / 1e6:.0f} MB of CSV")
    report(runs, theirs, arguments.rows)
    if "before" in versions:
        same = filecmp.cmp(folder / "before.csv", folder / "now.csv", shallow=False)
        print(f"The CSV files of both versions are {'the same' if same else 'DIFFERENT'}.")


def report(
    runs: dict[tuple[str, str], list[Run]], theirs: list[tuple[float, float, float]], rows: int
) -> None:
    read, write, bare = min(theirs, key=sum)
    print(
        f"pandas reads CSV in {read:.1f} s, writes in {write:.1f} s; bare prediction {bare:.2f} s"
    )
    for (version, format), found in runs.items():
        best, cpu = min(found), min(one.cpu for one in found)
        ratio = f", {best.whole / (read + write + bare):.2f} of these together" * (format == "csv")
        print(
            f"{version}, {format}: {best.whole:.2f} s (CPU {cpu:.2f} s){ratio}; "
            f"{rows / (best.decide + best.write):,.0f} rows a second after a start of "
            f"{best.start:.2f} s; peak memory {max(one.peak for one in found):.0f} MB\n"
            f"    read and decide {best.decide:.2f} s (the reader works {best.reading:.2f} s), "
            f"write {best.write:.2f} s"
        )
    for format in FORMATS:
        if ("before", format) in runs:
            whole = {version: min(runs[version, format]).whole for version in ("before", "now")}
            print(f"{format}, now / before: {whole['now'] / whole['before']:.2f}")


def call(source: Path | None, *words: object) -> Run:
    """Run a command of this or another version."""
    begun = perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", PHASES, *map(str, words)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env=os.environ if source is None else os.environ | {"PYTHONPATH": str(source)},
    )
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return Run(whole=perf_counter() - begun, **found)


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
