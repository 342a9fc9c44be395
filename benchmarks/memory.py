"""Peak memory of one fit, each in a process of its own.

Linux keeps the high-water mark of a process's resident memory, and resets it on request: the mark
after ``fit`` less the resident memory just before it is exact, no sampling is involved.  A fit on
a few of the points goes before, so that modules loaded on first use do not count.  Run as
``python -m benchmarks.memory OURS DATA`` it prints the bytes of one fit.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.problems import make_wide, ours, plain
from benchmarks.tables import Report, Target, number, yes
from rejo.datasets import make_synthetic_1

STATUS = Path("/proc/self/status")
RESET = Path("/proc/self/clear_refs")
MB = 2**20
WARM_UP = 200  # points


class Case(NamedTuple):
    """A data set, the parameters of both sides, and the largest peak allowed."""

    name: str
    n: int
    n_features: int
    gamma: float
    cache_size: float
    target: str  # "gram": plain's peak + the Gram matrix; "cache"; or "formula": docs/studies.md


CASES = {
    "gram": Case("30 features, n=2,500 (Gram matrix)", 2500, 30, 1 / 30, 200, "gram"),
    "factor": Case("SyntheticI, n=10,000 (low rank)", 10_000, 2, 1, 200, "cache"),
    "blocks": Case("30 features, n=8,000 (blocks)", 8000, 30, 1 / 30, 50, "cache"),
    "large": Case("20 features, n=50,000 (blocks)", 50_000, 20, 1 / 20, 200, "formula"),
}


def compare(report: Report) -> None:
    if not RESET.exists():
        print("Not measured: this system does not tell a process its peak memory.")
        return
    report.header("case", "cache MB", "our peak MB", "plain's MB", "target MB", "met")
    for key, case in CASES.items():
        try:
            mine = _in_a_process("ours", key)
            theirs = _in_a_process("plain", key) if case.target == "gram" else None
        except subprocess.CalledProcessError as error:
            report.row(case.name, "", "failed", "", "", "")
            print(error.stderr, file=sys.stderr)
            continue
        bound = case.cache_size * MB
        if theirs is not None:
            bound = theirs + 8 * case.n**2
        elif case.target == "formula":
            bound = 12 * case.n * case.n_features + 50 * case.n * 2 + 5 * MB
        report.judge(Target(f"Memory, {case.name}", round(bound / MB, 1), [mine / MB], True, " MB"))
        report.row(
            case.name, number(case.cache_size), number(mine / MB),
            "" if theirs is None else number(theirs / MB),
            number(bound / MB), yes(mine <= bound),
        )  # fmt: skip


def peak_of_fit(who: str, case: Case) -> int:
    """Bytes that one fit adds to the resident memory, at its peak."""
    if case.n_features == 2:
        X, y = make_synthetic_1(case.n, random_state=0)
    else:
        X, y = make_wide(case.n, 2, case.n_features)
    fitter = ours if who == "ours" else plain
    params: dict[str, Any] = {"gamma": case.gamma, "C": 10, "cache_size": case.cache_size}
    fitter(X[:WARM_UP], y[:WARM_UP], **params)()
    RESET.write_text("5")
    before = _status("VmRSS")
    fitter(X, y, **params)()
    return _status("VmHWM") - before


def _status(field: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024


def _in_a_process(who: str, key: str) -> int:
    # Without the compiled solver another one runs, with a warning: that is not to be measured.
    command = [sys.executable, "-W", "error::RuntimeWarning", "-m", "benchmarks.memory", who, key]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    print(peak_of_fit(sys.argv[1], CASES[sys.argv[2]]))
