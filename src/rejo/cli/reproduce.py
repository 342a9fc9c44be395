"""``rejo reproduce``: run the paper's experiments, draw its figures, test its claims."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rejo.cli import _options as options
from rejo.cli._files import CommandError, write_file
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
    from rejo.study.page import StudyReport
    from rejo.study.paper import PaperFigure

HELP = "run the paper's experiments, draw its figures and test its claims"
DESCRIPTION = (
    "Run the experiments of the paper that are still missing, draw its figures and write one page, "
    "index.html, with the risks and a verdict on each claim. If you stop it, it continues where it "
    "was the next time."
)
FOLDER = Path("reproduction")


class Mode(NamedTuple):
    """How thorough a run is."""

    option: str
    repetitions: int
    grid: str
    cost_step: int  # 3: every third of the paper's reject costs


QUICK = Mode("--quick", 3, "coarse", 3)
USUAL = Mode("", 10, "authors", 1)
FULL = Mode("--full", 100, "authors", 1)


def add(parser: Any) -> None:
    """Declare the options."""
    declare = parser.add_argument
    suite = "the paper's experiments, or a benchmark of all methods on real tables (default: paper)"
    declare("--suite", choices=("paper", "tables"), default="paper", help=suite)
    one = "draw only this figure; can be repeated (default: all; see --list)"
    declare("--figure", action="append", metavar="NAME", help=one)
    size = parser.add_mutually_exclusive_group()
    quick = f"{QUICK.repetitions} repetitions, a coarse grid, few reject costs; takes minutes"
    size.add_argument("--quick", action="store_true", help=quick)
    full = f"the paper's protocol, {FULL.repetitions} repetitions; takes an hour on two cores"
    size.add_argument("--full", action="store_true", help=full)
    draws = f"number of draws or splits of the data (default: {USUAL.repetitions})"
    options.add(parser, "--repetitions", help=draws)
    options.add(parser, "--n-jobs", default=-1, help="number of processes (default: one per core)")
    options.add(parser, "--dask")
    tables = "folder with the tables bcct.csv and letter_ah.csv (default: REJO_DATA)"
    declare("--data", type=Path, metavar="DIR", help=tables)
    folder = f"folder for the results (default: {FOLDER})"
    options.add(parser, "--output", default=FOLDER, metavar="DIR", help=folder)
    options.add(parser, "--seed", "--other-code")
    declare("--list", action="store_true", help="list the figures and exit")


def run(arguments: argparse.Namespace) -> None:
    """Compute, draw, judge, write."""
    if arguments.suite == "tables":
        from rejo.cli._suite_command import run_suite

        return run_suite(arguments, None if arguments.output is FOLDER else arguments.output)
    from rejo.study.paper import choose_figures

    try:
        figures = choose_figures(arguments.figure)
    except ValueError as error:
        raise CommandError(f"--figure: {error}") from None
    if arguments.list:
        for figure in figures:
            methods = ", ".join(figure.methods) or "a sample and a fit made on the spot"
            print(f"{figure.name:<20} {figure.title}\n{'':<20} {methods}")
        return
    folder: Path = arguments.output
    open_folder(folder)
    started = perf_counter()
    mode = QUICK if arguments.quick else FULL if arguments.full else USUAL
    rows, notices = _compute(arguments, mode, figures, folder / "rows")
    if not rows and all(figure.dataset for figure in figures):
        raise CommandError("nothing to show: none of the figures has rows")

    from rejo.study import archive
    from rejo.study.page import make_page, make_report

    report = make_report(rows, figures)
    pictures = write_pictures(folder, report.canvases)
    code, several = about_code(rows)
    notices[:0] = several
    if mode is QUICK:
        notices.insert(0, "This is a quick run with few repetitions and hardly any tuning. It "
                       "shows that everything works, not how the methods compare.")  # fmt: skip
    provenance = _provenance(arguments, mode, rows, code, perf_counter() - started)
    write_file(folder / "index.html", make_page(report, pictures, provenance, notices))
    write_file(folder / "rows.csv.xz", archive(rows))
    _print_verdicts(report)
    print(f"\nThe page: {folder / 'index.html'}")


def _compute(
    arguments: argparse.Namespace, mode: Mode, figures: "Sequence[PaperFigure]", folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run what is missing; return all rows, and notices about what could not be done."""
    from rejo.datasets import available
    from rejo.study import Study
    from rejo.study.paper import DATA, REJECT_COSTS

    try:
        tables = available(arguments.data)
    except (OSError, ValueError) as error:
        raise CommandError(f"--data: {error}") from None
    folder = folder / f"{mode.grid}-seed{arguments.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    notices: list[str] = []
    for figure in figures:
        if not figure.dataset:
            continue
        data = DATA[figure.dataset]
        if data.catalogue and data.catalogue not in tables:
            notices.append(
                f"{figure.name} is skipped: its table is not in the data folder (--data or "
                "REJO_DATA)."
            )
            print(f"rejo: {notices[-1]}", file=sys.stderr)
            continue
        # A file for each figure: a figure that is asked for alone runs no other methods.
        database = folder / f"{figure.name}.sqlite"
        repetitions = arguments.repetitions or mode.repetitions
        if (before := begun(database)) > repetitions:
            note = f"continuing with the {before} repetitions it was started with"
            print(f"{figure.name}: {note}", flush=True)
            repetitions = before
        study = Study(
            datasets=[figure.dataset],
            shares=figure.shares,
            repetitions=repetitions,
            methods=[*figure.methods, *figure.beside],
            reject_costs=REJECT_COSTS[:: mode.cost_step],
            grid=mode.grid,
            seed=arguments.seed,
            splits=data.splits,
        )
        found, failed = compute(study, database, arguments, figure.name)
        if failed:
            notices.append(f"{figure.name} is incomplete: some of its fits failed.")
        rows += found
    return rows, notices


def _print_verdicts(report: "StudyReport") -> None:
    from rejo.study.verdict import FAILS, HOLDS

    for judgement in report.judgements:
        n = len(judgement.trials)
        counts = f"for {judgement.count(HOLDS)}, against {judgement.count(FAILS)} of {n} tests"
        print(f'{judgement.verdict + ":":<17} "{judgement.claim.quote}"' + f" ({counts})" * (n > 0))


def _provenance(
    arguments: argparse.Namespace,
    mode: Mode,
    rows: list[dict[str, Any]],
    code: str,
    seconds: float,
) -> dict[str, str]:
    """Describe how the results were computed, without names of machines or folders."""
    words = ["rejo reproduce", mode.option]
    words += [f"--figure {name}" for name in arguments.figure or ()]
    if arguments.repetitions:
        words.append(f"--repetitions {arguments.repetitions}")
    words.append(f"--seed {arguments.seed}")
    return {
        "Command": " ".join(filter(None, words)),
        "Repetitions": str(len({row["repetition"] for row in rows})),
        "Grid": ("" if mode.grid == "authors" else "a few points of ") + "the authors' grid",
        "Computing": f"{time_words(sum(row['seconds'] for row in rows))} for {len(rows):,} rows, "
        "summed over all processes",
        "This run": f"{time_words(seconds)}, using earlier results where there were any",
        "Code": code,
        **about_machine(arguments.dask),
    }
