"""Make many hostile model files, try each, and count what became of them."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.bombs import BOMBS
from tests.fuzz.files import Edit
from tests.fuzz.limits import Attempt, attempt_all
from tests.fuzz.mutate import Menagerie, mutate
from tests.fuzz.probe import PREDICTED, REFUSED, Cases, cases_for, probe
from tests.fuzz.stock import stock

TOGETHER = 20  # files that are tried in one process


class Fuzzer:
    """The zoo, its files, and a way to make file number ``i`` of a seed."""

    def __init__(self, seed: int, only: str = "") -> None:
        self.seed = seed
        self.animals, self.files = stock()
        self.names = sorted(name for name in self.files if only in name)
        self.cases: dict[str, list[Cases]] = {n: cases_for(self.animals[n]) for n in self.names}
        self.others = Menagerie(self.files)

    def make(self, i: int) -> tuple[str, str, bytes]:
        """Name of the model, description of the change, and the file."""
        draw = Random(f"{self.seed} {i}")
        name = self.names[i % len(self.names)]
        if draw.random() < 0.02:
            bomb = draw.choice(sorted(BOMBS))
            return name, bomb, BOMBS[bomb](self.files[name], draw)
        edit = Edit(self.files[name])
        said = mutate(edit, draw, self.others)
        return name, said, bytes(edit)

    def run(self, numbers: Sequence[int], folder: Path) -> Iterator[dict[str, Any]]:
        """Make some files and try them; the ones that fail stay in the folder."""
        rows, attempts = [], []
        for i in numbers:
            path = folder / f"{i}.rejo"
            name, said, data = self.make(i)
            path.write_bytes(data)
            kind = type(self.animals[name].model).__name__
            rows.append({"i": i, "name": name, "type": kind, "said": said, "path": str(path)})
            attempts.append(Attempt(partial(probe, path, self.cases[name]), len(data)))
        for row, result in zip(rows, attempt_all(attempts), strict=True):
            if not result.is_failure:
                Path(row["path"]).unlink()
            verdict = result.verdict
            yield row | {"kind": verdict.kind, "detail": verdict.detail, "used": result.used}


def work(fuzzer: Fuzzer, numbers: Sequence[int], folder: Path, rows: Path) -> None:
    """Try some of the files, one row of results for each."""
    with rows.open("a") as file:
        for start in range(0, len(numbers), TOGETHER):
            for row in fuzzer.run(numbers[start : start + TOGETHER], folder):
                print(json.dumps(row), file=file, flush=True)


def in_processes(fuzzer: Fuzzer, numbers: range, folder: Path, jobs: int) -> list[dict[str, Any]]:
    """Share the files among forks; the rows in order.

    A fork that dies while it makes a file, as NumPy does of some arrays, is followed by another,
    which leaves that file out.
    """
    parts = [folder / f"rows-{job}" for job in range(jobs)]
    left = {job: list(numbers[job::jobs]) for job in range(jobs)}
    running = {_fork(fuzzer, left[job], folder, parts[job]): job for job in left}
    while running:
        pid, _ = os.wait()
        job = running.pop(pid)
        done = {row["i"] for row in _read(parts[job])}
        rest = [i for i in left[job] if i not in done]
        made = [i for i in rest if (folder / f"{i}.rejo").exists()]
        left[job] = (
            [*made, *[i for i in rest if i not in made][1:]] if len(made) < len(rest) else []
        )
        if left[job]:
            running[_fork(fuzzer, left[job], folder, parts[job])] = job
    return sorted((row for part in parts for row in _read(part)), key=lambda row: row["i"])


def _fork(fuzzer: Fuzzer, numbers: Sequence[int], folder: Path, rows: Path) -> int:
    pid = os.fork()
    if not pid:
        try:
            work(fuzzer, numbers, folder, rows)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    return pid


def _read(rows: Path) -> list[dict[str, Any]]:
    lines = rows.read_text().splitlines() if rows.exists() else []
    return [json.loads(line) for line in lines]


def is_failure(row: dict[str, Any]) -> bool:
    return row["kind"] not in (REFUSED, PREDICTED)


def table(rows: list[dict[str, Any]]) -> str:
    """Counts for each class of model."""
    kinds = [REFUSED, PREDICTED, *sorted({row["kind"] for row in rows if is_failure(row)})]
    types = sorted({row["type"] for row in rows})
    counts = Counter((row["type"], row["kind"]) for row in rows)
    width = max(map(len, [*types, "all"]))
    lines = [f"{'':{width}}  " + "  ".join(kinds)]
    for kind in [*types, "all"]:
        cells = [
            sum(n for (t, k), n in counts.items() if k == name and kind in (t, "all"))
            for name in kinds
        ]
        found = "  ".join(f"{n:>{len(k)}}" for n, k in zip(cells, kinds, strict=True))
        lines.append(f"{kind:{width}}  {found}")
    return "\n".join(lines)


def run(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--model", default="", help="only models whose names contain this")
    parser.add_argument("--only", type=int, help="the number of one file to try again")
    parser.add_argument("--show", type=int, default=30, help="failures to show")
    arguments = parser.parse_args(argv)
    start = time.monotonic()
    fuzzer = Fuzzer(arguments.seed, arguments.model)
    folder = Path(tempfile.mkdtemp(prefix="rejo-fuzz-"))
    if arguments.only is not None:
        row = next(fuzzer.run([arguments.only], folder))
        print(json.dumps(row, indent=1))
        return int(is_failure(row))
    ready = time.monotonic() - start
    print(f"{len(fuzzer.names)} models, ready after {ready:.0f} s; failures go to {folder}")
    rows = in_processes(fuzzer, range(arguments.files), folder, arguments.jobs)
    print(table(rows))
    failures = [row for row in rows if is_failure(row)]
    shown = Counter()
    for row in failures:
        family = (row["kind"], row["detail"].split(" ")[0])
        shown[family] += 1
        if shown[family] == 1 and len(shown) <= arguments.show:
            print(f"--only {row['i']}: {row['kind']}: {row['detail']}")
            print(f"    {row['name']}: {row['said']}")
    (folder / "rows.json").write_text(json.dumps(rows, indent=1))
    lost = arguments.files - len(rows)
    highest = max((row["used"] for row in rows if not is_failure(row)), default=0)
    print(
        f"{len(rows)} files in {time.monotonic() - start:.0f} s, {len(failures)} failures of "
        f"{len(shown)} families, at most {highest / 2**20:.0f} MB reserved"
    )
    if lost:
        print(f"{lost} files were not tried: a worker died")
    return int(bool(failures or lost))
