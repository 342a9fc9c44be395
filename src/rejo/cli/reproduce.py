"""``rejo reproduce``: run the paper's experiments, draw its figures, test its claims."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from rejo.cli import _options as options
from rejo.cli._files import CommandError, make_folder, require, write_file

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
    parser.add_argument(
        "--figure",
        action="append",
        metavar="NAME",
        help="draw only this figure; can be repeated (default: all; see --list)",
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK.repetitions} repetitions, a coarse grid, few reject costs; takes minutes",
    )
    size.add_argument(
        "--full",
        action="store_true",
        help=f"the paper's protocol, {FULL.repetitions} repetitions; takes hours",
    )
    options.add(
        parser,
        "--repetitions",
        help=f"number of draws or splits of the data (default: {USUAL.repetitions})",
    )
    options.add(parser, "--n-jobs", default=-1, help="number of processes (default: one per core)")
    parser.add_argument(
        "--dask", metavar="ADDRESS", help="run on the workers of this Dask scheduler"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with the tables bcct.csv and letter_ah.csv (default: REJO_DATA)",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        default=FOLDER,
        metavar="DIR",
        help=f"folder for the results (default: {FOLDER})",
    )
    options.add(parser, "--seed")
    parser.add_argument("--list", action="store_true", help="list the figures and exit")


def run(arguments: argparse.Namespace) -> None:
    """Compute, draw, judge, write."""
    from rejo.study.paper import choose_figures

    try:
        figures = choose_figures(arguments.figure)
    except ValueError as error:
        raise CommandError(f"--figure: {error}") from None
    if arguments.list:
        print("\n".join(_describe(figure) for figure in figures))
        return
    _check_packages()
    folder = _check_folder(arguments.output)
    started = perf_counter()
    mode = QUICK if arguments.quick else FULL if arguments.full else USUAL
    rows, notices = _compute(arguments, mode, figures, folder / "rows")
    if not rows and all(figure.dataset for figure in figures):
        raise CommandError("nothing to show: none of the figures has rows")

    from rejo.study import archive
    from rejo.study.figures import render
    from rejo.study.page import make_page, make_report

    report = make_report(rows, figures)
    pictures = {}
    for name, canvas in report.canvases.items():
        pictures[name] = render(canvas, "svg")
        write_file(folder / f"{name}.svg", pictures[name])
        write_file(folder / f"{name}.png", render(canvas, "png", dpi=110))
    if mode is QUICK:
        notices.insert(0, "This is a quick run with few repetitions and hardly any tuning. It "
                       "shows that everything works, not how the methods compare.")  # fmt: skip
    provenance = _provenance(arguments, mode, rows, perf_counter() - started)
    page = make_page(report, pictures, provenance, notices)
    write_file(folder / "index.html", page)
    write_file(folder / "rows.csv.xz", archive(rows))
    _print_verdicts(report)
    print(f"\nThe page: {folder / 'index.html'}")


def _compute(
    arguments: argparse.Namespace, mode: Mode, figures: "Sequence[PaperFigure]", folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Run what is missing; return all rows, and notices about what could not be done."""
    from rejo.datasets import available
    from rejo.study import Study, read_rows
    from rejo.study import run as run_study
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
            _notice(notices, f"{figure.name} is skipped: its table is not in the data folder "
                    "(--data or REJO_DATA).")  # fmt: skip
            continue
        # A file for each figure: a figure that is asked for alone runs no other methods.
        database = folder / f"{figure.name}.sqlite"
        repetitions = arguments.repetitions or mode.repetitions
        if (begun := _begun(database)) > repetitions:
            print(
                f"{figure.name}: continuing with the {begun} repetitions it was started with",
                flush=True,
            )
            repetitions = begun
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
        started = perf_counter()
        try:
            n_cells = run_study(
                study,
                database,
                n_jobs=arguments.n_jobs,
                dask=arguments.dask,
                data_home=arguments.data,
            )
            seconds = perf_counter() - started
            print(f"{figure.name}: {n_cells} cells computed in {_time(seconds)}", flush=True)
        except ValueError as error:
            raise CommandError(str(error)) from None
        except RuntimeError as error:  # some cells failed; the others are in the file
            print(f"rejo: {figure.name}: {error}", file=sys.stderr)
            notices.append(f"{figure.name} is incomplete: some of its fits failed.")
        rows += read_rows(database)
    return rows, notices


def _begun(database: Path) -> int:
    """Return the number of repetitions of the study in a file; 0 if there is none."""
    from rejo.study import read_study

    try:
        return read_study(database).repetitions if database.exists() else 0
    except (
        ValueError
    ):  # killed before it was a study, or a file of another kind, which the run reports
        return 0


def _describe(figure: "PaperFigure") -> str:
    kind = ", ".join(figure.methods) if figure.methods else "a sample and a fit made on the spot"
    return f"{figure.name:<20} {figure.title}\n{'':<20} {kind}"


def _print_verdicts(report: "StudyReport") -> None:
    from rejo.study.verdict import FAILS, HOLDS

    for judgement in report.judgements:
        n = len(judgement.trials)
        counts = f"for {judgement.count(HOLDS)}, against {judgement.count(FAILS)} of {n} tests"
        print(f'{judgement.verdict + ":":<17} "{judgement.claim.quote}"' + f" ({counts})" * (n > 0))


def _provenance(
    arguments: argparse.Namespace, mode: Mode, rows: list[dict[str, Any]], seconds: float
) -> dict[str, str]:
    """Describe how the results were computed, without names of machines or folders."""
    import platform

    repetitions = sorted({row["repetition"] for row in rows})
    words = ["rejo reproduce", mode.option]
    words += [f"--figure {name}" for name in arguments.figure or ()]
    if arguments.repetitions:
        words.append(f"--repetitions {arguments.repetitions}")
    words.append(f"--seed {arguments.seed}")
    packages = ("rejo", "numpy", "scipy", "scikit-learn", "matplotlib")
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {
        "Command": " ".join(filter(None, words)),
        "Repetitions": str(len(repetitions)),
        "Grid": "the authors' grid"
        if mode.grid == "authors"
        else "a few points of the authors' grid",
        "Computing": f"{_time(sum(row['seconds'] for row in rows))} for {len(rows):,} rows, summed "
        "over all processes",
        "This run": f"{_time(seconds)}, using earlier results where there were any",
        "Machine": f"{machine} (and a Dask cluster)" if arguments.dask else machine,
        "Versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {_version(name)}" for name in packages),
    }


def _version(name: str) -> str:
    if name == "rejo":
        from rejo import __version__

        return __version__
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"


def _notice(notices: list[str], text: str) -> None:
    notices.append(text)
    print(f"rejo: {text}", file=sys.stderr)


def _check_packages() -> None:
    """Fail now if a package is missing that is needed after hours of work."""
    require("matplotlib", "plot", "this")
    require("jinja2", "report", "this")


def _check_folder(folder: Path) -> Path:
    if (folder / "index.html").exists() and not (folder / "rows").is_dir():
        raise CommandError(
            f"{folder} holds another page, which would be overwritten: give another folder with -o"
        )
    make_folder(folder, "rows")
    return folder
