"""What the commands that run a study share: the folder of a page, its pictures, its provenance."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, make_folder, require, write_file


def open_folder(folder: Path) -> None:
    """Check that a page can be made, and make its folder; refuse one that holds another page."""
    require("matplotlib", "plot", "this")
    require("jinja2", "report", "this")
    if (folder / "index.html").exists() and not (folder / "rows").is_dir():
        raise CommandError(
            f"{folder} holds another page, which would be overwritten: give another folder with -o"
        )
    make_folder(folder, "rows")


def begun(database: Path, *plan: type[Any]) -> int:
    """Return the number of repetitions of the study in a file; 0 if there is none."""
    from rejo.study import read_study

    try:
        return int(read_study(database, *plan).repetitions) if database.exists() else 0
    except ValueError:
        return 0  # killed before it was a study, or a file of another kind, which the run reports


def compute(
    plan: Any, database: Path, arguments: argparse.Namespace, name: str = ""
) -> tuple[list[dict[str, Any]], bool]:
    """Run what is missing of a study; return all rows, and whether some cells failed."""
    from rejo.study import read_rows, run

    how = {option: getattr(arguments, option) for option in ("n_jobs", "dask", "other_code")}
    started, failed, label = perf_counter(), False, f"{name}: " if name else ""
    try:
        n_cells = run(plan, database, **how, data_home=arguments.data)
        print(f"{label}{n_cells} cells computed in {time_words(perf_counter() - started)}",
              flush=True)  # fmt: skip
    except ValueError as error:
        raise CommandError(options.explain(error)) from None
    except RuntimeError as error:  # some cells failed; the others are in the file
        print(f"rejo: {label}{error}", file=sys.stderr)
        failed = True
    return read_rows(database, type(plan)), failed


def write_pictures(folder: Path, canvases: Mapping[str, Any]) -> dict[str, bytes]:
    """Write each picture as an SVG and a PNG file; return the SVG files."""
    from rejo.study.figures import render

    pictures = {}
    for name, canvas in canvases.items():
        pictures[name] = render(canvas, "svg")
        write_file(folder / f"{name}.svg", pictures[name])
        write_file(folder / f"{name}.png", render(canvas, "png", dpi=110))
    return pictures


def about_code(rows: Iterable[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Return the code that computed rows, in words, and a notice if there are several."""
    codes = Counter(row["code"] for row in rows)
    n_different = len({code.rpartition(" ")[2] for code in codes})
    several = [f"The rows come from {n_different} versions of the code; see the end."]
    words = "; ".join(f"{code} ({n:,} rows)" for code, n in codes.most_common())
    return words, several if n_different > 1 else []


def about_machine(dask: str | None) -> dict[str, str]:
    """Describe the machine and the packages, without names of machines or folders."""
    import platform
    from importlib.metadata import version

    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    packages = ("numpy", "scipy", "scikit-learn", "matplotlib")
    return {
        "Machine": f"{machine} (and a Dask cluster)" if dask else machine,
        "Versions": f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in packages),
    }


def time_words(seconds: float) -> str:
    """Write a time in seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"
