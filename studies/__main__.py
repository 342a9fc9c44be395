"""Run a study and write its page: ``python -m studies reproduce`` or ``suite``.

``python -m studies pages`` makes the pages of the guide again, from the rows that are kept there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rejo.cluster import ClusterError
from studies import page, paper_page, suite_page
from studies.paper import REJECT_COSTS, PaperStudy, choose_figures, methods_by_dataset
from studies.run import Results, run
from studies.store import StudyError, archive, read_archive
from studies.suite import TableSuite
from studies.tables import download
from studies.verdicts import FAILS, HOLDS
from studies.verify import kept_plans

QUICK_TABLES = (
    "breast_cancer", "vertebral_2c", "balance_scale", "diabetes", "iris", "newthyroid", "wine",
)  # fmt: skip
QUICK_METHODS = (
    "logistic", "logistic-posterior", "logistic-cutoffs", "logistic-class", "svm", "svm-posterior",
    "svm-cutoffs", "svm-class", "kernel-posterior",
)  # fmt: skip
QUICK = (
    "**This is a quick run** with few repetitions and hardly any tuning. It shows that everything "
    "works, not how the methods compare."
)


def main(words: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, folder, about, time in (
        ("reproduce", "reproduction", "the paper's experiments", "an hour"),
        ("suite", "table_suite", "all methods on real tables", "three hours"),
    ):
        options = commands.add_parser(command, help=about)
        full = f"the whole study; takes {time} on two cores (default: a quick look)"
        options.add_argument("--full", action="store_true", help=full)
        options.add_argument("--repetitions", type=int, metavar="N", help="draws or splits")
        options.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="processes")
        options.add_argument("--dask", metavar="ADDRESS", help="work on this Dask cluster")
        options.add_argument("--data", metavar="DIR", help="the tables (default: REJO_DATA)")
        options.add_argument("-o", "--output", type=Path, default=Path(folder), metavar="DIR")
        options.add_argument("--seed", type=int, default=0, metavar="N")
        again = "compute rows of other code again, instead of refusing them"
        options.add_argument("--again", action="store_true", help=again)
        if command == "reproduce":
            one = "only this figure, by its number in the paper; can be repeated"
            options.add_argument("--figure", action="append", metavar="N", help=one)
    commands.add_parser("pages", help="make the pages of the guide again")
    options = commands.add_parser("download", help="get public tables from OpenML")
    options.add_argument("--data", metavar="DIR", help="where to (default: REJO_DATA)")
    arguments = parser.parse_args(words)
    try:
        {"reproduce": reproduce, "suite": suite, "pages": pages, "download": get_tables}[
            arguments.command
        ](arguments)
    except (StudyError, ClusterError, OSError, ValueError) as error:
        print(f"studies: {error}", file=sys.stderr)
        return 2
    return 0


def reproduce(arguments: argparse.Namespace) -> None:
    """Run the paper's experiments, draw its figures, test its claims."""
    figures = choose_figures(arguments.figure)
    plan = PaperStudy(
        methods_by_dataset(figures),
        arguments.repetitions or (100 if arguments.full else 3),
        reject_costs=REJECT_COSTS if arguments.full else REJECT_COSTS[::3],
        grid="authors" if arguments.full else "coarse",
        seed=arguments.seed,
    )
    results = _run(plan, f"{plan.grid}-seed{plan.seed}", arguments)
    report = paper_page.make_report(results.rows, figures)
    text = paper_page.page_text(report)
    _write(plan, results, arguments, paper_page.TITLE, text, report.canvases)
    for found in report.judged:
        counts = f"for {found.count(HOLDS)}, against {found.count(FAILS)}"
        print(f'{found.verdict}: "{found.claim.quote}" ({counts} of {len(found.trials)} tests)')


def suite(arguments: argparse.Namespace) -> None:
    """Run all methods on real tables, and rank them."""
    some: dict[str, Any] = {} if arguments.full else {"repetitions": 2}
    if not arguments.full:
        some |= {"datasets": QUICK_TABLES, "methods": QUICK_METHODS}
    if arguments.repetitions:
        some["repetitions"] = arguments.repetitions
    plan = TableSuite(seed=arguments.seed, **some)
    kind = "all" if arguments.full else "quick"
    results = _run(plan, f"{kind}-seed{plan.seed}", arguments)
    report = suite_page.make_report(results.rows, plan)
    text = suite_page.page_text(report)
    _write(plan, results, arguments, suite_page.TITLE, text, report.canvases)
    print("\n".join(report.said))


def pages(_: argparse.Namespace) -> None:
    """Make the pages of the guide, and their pictures, from the rows that are kept there."""
    for name, (plan, _, folder) in kept_plans().items():
        rows = read_archive(folder / "rows.csv.xz", plan)
        made: Any = (paper_page, choose_figures()) if name == "paper" else (suite_page, plan)
        report = made[0].make_report(rows, made[1])
        page.write_guide(folder, made[0].page_text(report), report.canvases)


def get_tables(arguments: argparse.Namespace) -> None:
    """Fill the data folder."""
    print("New:", ", ".join(download(arguments.data)) or "nothing")


def _run(plan: Any, name: str, arguments: argparse.Namespace) -> Results:
    """Compute what is missing, and tell what could not be done."""
    how = {option: getattr(arguments, option) for option in ("n_jobs", "dask", "again")}
    results = run(plan, arguments.output / "rows" / name, data_home=arguments.data, **how)
    for text in (*results.skipped, *results.failed):
        print(f"studies: {text}", file=sys.stderr)
    print(f"{results.n_computed} cells computed, {len(results.rows):,} rows")
    if not results.rows:
        raise StudyError("nothing to show: there are no rows.")
    return results


def _write(
    plan: Any, results: Results, arguments: argparse.Namespace, title: str, text: str,
    canvases: Mapping[str, Any],
) -> None:  # fmt: skip
    words = ["python -m studies", arguments.command, "--full" * arguments.full]
    if arguments.repetitions:
        words.append(f"--repetitions {arguments.repetitions}")
    command = " ".join(filter(None, [*words, f"--seed {arguments.seed}"]))
    notices = [f"Skipped: {reason}." for reason in results.skipped]
    notices += [f"{len(results.failed)} cells failed."] * bool(results.failed)
    facts = page.provenance(results.rows, command, arguments.dask)
    made = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    parts = [*[QUICK] * (not arguments.full), *notices, text, "## How it was made", made]
    (arguments.output / "rows.csv.xz").write_bytes(archive(results.rows, plan))
    written = page.write_page(arguments.output, title, "\n\n".join(parts), canvases)
    print(f"The page: {written}")


if __name__ == "__main__":
    sys.exit(main())
