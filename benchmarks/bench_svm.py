"""RejoSVC against scikit-learn's SVC: ``python -m benchmarks.bench_svm``, or ``make bench``.

Every comparison is of one run, side by side, with one thread, ``tol=1e-3`` on both sides and the
same C, and counts all of ``fit(X, y)``.  *Plain* is SVC on the points themselves, which may not
reject; *naive* is SVC on the Gram matrix of the replicated points, which solves our problem.  A
missed target changes no exit code: a benchmark reports.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from itertools import product
from pathlib import Path

import sklearn

from benchmarks import fits, growth, interrupt, linear, memory, paths
from benchmarks.tables import Report
from benchmarks.timing import one_thread
from rejo.solvers import svm

PICTURE = Path(__file__).parent / "results" / "growth.png"

Section = Callable[[Report, argparse.Namespace], None]


def one_fit(report: Report, options: argparse.Namespace) -> None:
    report.section("1. Two classes")
    fits.compare(report, fits.synthetic(options.quick), options.quick)


def ordered(report: Report, options: argparse.Namespace) -> None:
    report.section("2. Five ordered classes", "Eight replicas; plain is one-vs-one.")
    fits.compare(report, fits.five_classes(), options.quick)


def many_features(report: Report, options: argparse.Namespace) -> None:
    report.section("3. Thirty features")
    fits.compare(report, fits.wide(), options.quick)


def linear_kernel(report: Report, options: argparse.Namespace) -> None:
    report.section("4. A linear kernel", "LinearSVC with loss='hinge' and its own defaults.")
    linear.compare(report, options.quick)


def paths_and_prediction(report: Report, options: argparse.Namespace) -> None:
    report.section("5. Paths and prediction", "Ten reject costs from 0.04 to 0.4 in one call.")
    paths.compare_paths(report, options.quick)
    n, m = paths.N_TRAIN, paths.N_TEST
    print(f"\nPrediction of {m:,} points after a fit on {n:,}.\n")
    paths.compare_predictions(report, options.quick)


def peak_memory(report: Report, options: argparse.Namespace) -> None:
    report.section(
        "6. Memory", "Highest resident memory in a fit, less that before it; a process for each."
    )
    memory.compare(report)


def growing(report: Report, options: argparse.Namespace) -> None:
    report.section("7. How the cost grows", "Exponents by least squares in log-log.")
    growth.measure(report, options.quick, None if options.quick else PICTURE)


def instruction_sets(report: Report, options: argparse.Namespace) -> None:
    report.section(
        "8. Instruction sets", "Geometric means over gamma in {1, 4}, C in {1, 10, 100}."
    )
    fits.instruction_sets(report, options.quick)


def many_rows(report: Report, options: argparse.Namespace) -> None:
    report.section(
        "9. Tables with no low rank",
        "CPU seconds, gamma = 1 / features.  Where they are installed: Intel's SVC of "
        "scikit-learn-intelex, and LIBSVM by libsvm-official.  Two threads: faster on the wall, "
        "on an idle machine.",
    )
    points = [n for n in options.points if n <= 10_000 or not options.quick]
    fits.compare_tables(report, product(points, (5, 20, 100), options.classes))


def interrupts(report: Report, options: argparse.Namespace) -> None:
    report.section("10. Ctrl-C", "After 0.5, 1 and 2 seconds of a fit of 50,000 x 20, C = 10.")
    interrupt.measure(report)


SECTIONS: dict[int, Section] = dict(
    enumerate(
        [
            one_fit,
            ordered,
            many_features,
            linear_kernel,
            paths_and_prediction,
            peak_memory,
            growing,
            instruction_sets,
            many_rows,
            interrupts,
        ],
        start=1,
    )
)


def machine() -> str:
    """Where this ran, in general terms."""
    best = svm._svm.architectures()[0]
    return (
        f"{os.cpu_count()} cores, {best}, one thread; Python {platform.python_version()}, "
        f"scikit-learn {sklearn.__version__}"
    )


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_svm", description=__doc__)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer repetitions, no naive runs at n=10,000, no picture",
    )
    parser.add_argument(
        "--sections", type=int, nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="N"
    )
    parser.add_argument(
        "--points", type=int, nargs="+", default=fits.TABLE_SIZES, metavar="N", help="of section 9"
    )
    parser.add_argument(
        "--classes", type=int, nargs="+", default=(2, 5), metavar="K", help="of section 9"
    )
    return parser.parse_args(arguments)


def main() -> None:
    options = parse()
    if svm._svm is None:
        print("The compiled solver was not built; there is nothing to measure without it.")
        return
    print(f"# RejoSVC against SVC\n\n{machine()}")
    report = Report()
    with one_thread():
        for number in options.sections:
            SECTIONS[number](report, options)
    report.summary()


if __name__ == "__main__":
    main()
