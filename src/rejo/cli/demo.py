"""``rejo demo``: the whole way, from a table to decisions and a report, on known data."""

import argparse
import shlex
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, free_path, write_text

FOLDER = Path("rejo-demo")
BUDGET = 0.05
NEW = 0.3  # share of the cases that play the new ones
FILES = ("training.csv", "new_cases.csv", "model.rejo", "report.html", "decisions.csv")


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "demo",
        help="train, decide and report on data that come with scikit-learn",
        description="Write a table of breast tumours into a folder, train a model that leaves at "
        "most a given share of them to a person, decide new cases, and write a report.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="DIR",
        help=f"folder for the files (default: {FOLDER}, with a number added if it exists)",
    )
    parser.add_argument(
        "--review-budget",
        type=options.share,
        default=BUDGET,
        metavar="B",
        help=f"share of the cases that a person can look at (default: {BUDGET})",
    )
    parser.add_argument(
        "--model", choices=options.MODELS, default="auto", help="kind of model (default: auto)"
    )
    parser.add_argument("--seed", type=options.seed, default=0, metavar="N", help="default: 0")
    parser.add_argument("--overwrite", action="store_true", help="replace files of an earlier demo")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the tables, then do what a user would type."""
    folder = _folder(arguments)
    _write_tables(folder, arguments.seed)
    training, new, model, report, decisions = (str(folder / name) for name in FILES)
    overwrite = ["--overwrite"] if arguments.overwrite else []
    _do(
        "train", training, "--target", "diagnosis", "--id", "patient",
        "--review-budget", f"{arguments.review_budget:g}", "--model", arguments.model,
        "--seed", str(arguments.seed), "-o", model, "--report", report, *overwrite,
    )  # fmt: skip
    _do("predict", model, new, "-o", decisions, *overwrite)
    _do("evaluate", model, new)
    print(f"\nOpen {report} in a browser: move the slider, enter your prices.")


def _do(*words: str) -> None:
    """Show a command and run it."""
    from rejo.cli import build_parser

    print(f"\n$ {shlex.join(['rejo', *words])}", flush=True)
    arguments = build_parser().parse_args(words)
    arguments.command = shlex.join(["rejo", *words])
    arguments.run(arguments)


def _folder(arguments: argparse.Namespace) -> Path:
    folder: Path = arguments.output or (FOLDER if arguments.overwrite else free_path(FOLDER))
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--output must be a folder: {folder}")
    taken = [name for name in FILES if (folder / name).exists()]
    if taken and not arguments.overwrite:
        raise CommandError(f"{folder / taken[0]} exists; --overwrite replaces it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot write to {folder}: {error.strerror or error}") from error
    return folder


def _write_tables(folder: Path, seed: int) -> None:
    """Breast tumours as a table like one from a clinic, and a part of it as new cases."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from rejo.tables.errors import import_pandas

    import_pandas("rejo demo")
    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table.insert(0, "patient", [f"{i + 1:04d}" for i in range(len(table))])
    table["diagnosis"] = data.target_names[data.target]
    old, new = train_test_split(
        table, test_size=NEW, stratify=table["diagnosis"], random_state=seed
    )
    for name, part in ((FILES[0], old), (FILES[1], new)):
        write_text(folder / name, part.sort_index().to_csv(index=False))
    print(
        f"{len(old)} breast tumours to learn from: {folder / FILES[0]}; {len(new)} new ones: "
        f"{folder / FILES[1]}."
    )
