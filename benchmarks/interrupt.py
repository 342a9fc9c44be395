"""How soon a fit ends after Ctrl-C: ``python -m benchmarks.interrupt SECONDS`` interrupts one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from threading import Timer
from time import perf_counter, process_time

from benchmarks.problems import make_interaction, ours
from benchmarks.tables import Report, Target

AFTER = (0.5, 1.0, 2.0)  # seconds
MOST = 0.2  # seconds


def measure(report: Report) -> None:
    report.header("after s", "CPU s to the end", "wall s", "target")
    for after in AFTER:
        command = [sys.executable, "-m", "benchmarks.interrupt", str(after)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        processor, wall = map(float, done.stdout.split())
        report.judge(Target(f"Ctrl-C after {after:g} s", MOST, [processor], True, " s"))
        report.row(f"{after:g}", f"{processor:.2f}", f"{wall:.2f}", f"{MOST:g}")


def answer(after: float) -> tuple[float, float]:
    """Processor and wall time between the signal and the end of a fit of 50,000 points."""
    started: list[float] = []

    def interrupt() -> None:
        started.extend([process_time(), perf_counter()])
        os.kill(os.getpid(), signal.SIGINT)

    fit = ours(*make_interaction(50_000, 20), gamma=1 / 20, C=10)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background has none
    timer = Timer(after, interrupt)
    timer.start()
    try:
        fit()
    except KeyboardInterrupt:
        return process_time() - started[0], perf_counter() - started[1]
    raise SystemExit(f"the fit took less than {after} s")


if __name__ == "__main__":
    print(*answer(float(sys.argv[1])))
