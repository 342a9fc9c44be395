"""``rejo reproduce --suite tables``: all methods of the catalogue on real tables."""

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rejo.cli._files import CommandError, require, write_file
from rejo.cli._study_runs import (
    about_code,
    about_machine,
    begun,
    compute,
    open_folder,
    time_words,
    write_pictures,
)

if TYPE_CHECKING:
    from rejo.study.suite import TableSuite

FOLDER = Path("table_suite")
QUICK_TABLES = (
    "breast_cancer", "vertebral_2c", "balance_scale", "diabetes", "iris", "newthyroid", "wine",
)  # fmt: skip
QUICK_METHODS = (
    "logistic", "logistic-posterior", "logistic-cutoffs", "logistic-class", "svm", "svm-posterior",
    "svm-cutoffs", "svm-class", "kernel-posterior",
)  # fmt: skip
QUICK_REPETITIONS = 2
QUICK_NOTICE = (
    "This is a quick run with few tables, methods and splits. It shows that everything works, not "
    "how the methods compare."
)


def run_suite(arguments: argparse.Namespace, folder: Path | None) -> None:
    """Compute what is missing, rank, draw, write."""
    for option in ("figure", "full"):
        if getattr(arguments, option):
            raise CommandError(f"--{option} is about the paper's figures: --suite tables has none")
    if arguments.list:
        _list()
        return
    require("pandas", "pandas", "this")
    folder = FOLDER if folder is None else folder
    open_folder(folder)
    started = perf_counter()
    suite, rows, notices = _compute(arguments, folder / "rows")
    if not rows:
        raise CommandError("nothing to show: there are no rows")

    from rejo.study import archive
    from rejo.study.suite import TableSuite
    from rejo.study.suite.suite_page import make_suite_page, make_suite_report

    report = make_suite_report(rows, suite)
    pictures = write_pictures(folder, report.canvases)
    code, several = about_code(rows)
    notices = [QUICK_NOTICE] * arguments.quick + several + notices
    facts = _provenance(arguments, rows, code, perf_counter() - started)
    write_file(folder / "index.html", make_suite_page(report, pictures, facts, notices))
    write_file(folder / "rows.csv.xz", archive(rows, TableSuite))
    write_file(folder / "provenance.json", json.dumps(facts, indent=2) + "\n")
    write_file(folder / "plan.json", json.dumps(suite.params(), indent=2) + "\n")
    for sentence in report.said:
        print(sentence)
    n_failed = len(report.standings.failures)
    print(f"Failed fits: {n_failed or 'none'}.")
    if report.standings.absent:
        print(f"Not computed: {sum(lack.n_splits for lack in report.standings.absent)} fits.")
    print(f"\nThe page: {folder / 'index.html'}")


def _compute(
    arguments: argparse.Namespace, folder: Path
) -> "tuple[TableSuite, list[dict[str, Any]], list[str]]":
    """Run what is missing; return the plan, all rows, and notices of what could not be done."""
    from rejo.datasets import available
    from rejo.study.suite import BUNDLED

    try:
        found = {*available(arguments.data), *BUNDLED}
    except (OSError, ValueError) as error:
        raise CommandError(f"--data: {error}") from None
    suite = _suite(arguments, folder)
    database = _database(arguments, folder)
    missing = [name for name in suite.datasets if name not in found]
    notices = []
    if missing:
        notices.append(
            f"Not in the data folder (--data or REJO_DATA), and left out: {', '.join(missing)}."
        )
    rows, failed = compute(suite, database, arguments)
    if failed:
        notices.append("The run is incomplete: some cells failed.")
    return suite, rows, notices


def _suite(arguments: argparse.Namespace, folder: Path) -> "TableSuite":
    from rejo.study.suite import TableSuite

    some: dict[str, Any] = {}
    if arguments.quick:
        some = {"datasets": QUICK_TABLES, "methods": QUICK_METHODS}
    repetitions = QUICK_REPETITIONS if arguments.quick else TableSuite().repetitions
    repetitions = arguments.repetitions or repetitions
    before = begun(_database(arguments, folder), TableSuite)
    if before > repetitions:
        print(f"continuing with the {before} splits it was started with", flush=True)
        repetitions = before
    return TableSuite(repetitions=repetitions, seed=arguments.seed, **some)


def _database(arguments: argparse.Namespace, folder: Path) -> Path:
    kind = "tables-quick" if arguments.quick else "tables"
    return folder / f"{kind}-seed{arguments.seed}.sqlite"


def _list() -> None:
    """Print the tables and the methods."""
    from rejo.catalogue import METHODS
    from rejo.study.suite import SUITE_METHODS, TABLES

    print("Tables")
    for entry in TABLES.values():
        print(f"  {entry.name:<21} {entry.described}")
    print("\nMethods")
    for name in SUITE_METHODS:
        label = METHODS[name].label if name in METHODS else "what rejo train would choose"
        print(f"  {name:<25} {label}")


def _provenance(
    arguments: argparse.Namespace, rows: list[dict[str, Any]], code: str, seconds: float
) -> dict[str, str]:
    """Describe how the results were computed, without names of machines or folders."""
    words = ["rejo reproduce --suite tables"] + ["--quick"] * arguments.quick
    if arguments.repetitions:
        words.append(f"--repetitions {arguments.repetitions}")
    words.append(f"--seed {arguments.seed}")
    spent = time_words(sum(row["seconds"] for row in rows))
    return {
        "Command": " ".join(words),
        "Splits": str(len({row["repetition"] for row in rows})),
        "Computing": f"{spent} for {len(rows):,} rows, as if each method had been run alone",
        "This run": f"{time_words(seconds)}, using earlier results where there were any",
        "Code": code,
        **about_machine(arguments.dask),
    }
