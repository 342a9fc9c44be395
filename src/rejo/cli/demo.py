"""``rejo demo``: every step, from a table to decisions and a report, on a known data set."""

import argparse
import shlex
from itertools import count
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import exists, make_folder, write_file

HELP = "train, decide and report on a data set that comes with scikit-learn"
DESCRIPTION = (
    "Write a table of breast tumours into a folder, train a model that sends at most a given "
    "share of them to review, decide new cases, and write a report."
)
FOLDER = Path("rejo-demo")
BUDGET = 0.05
NEW = 0.3  # share of the cases that serve as new ones
PRICES = "error:malignant=100,error:benign=10,review=1"
FILES = ("training.csv", "new_cases.csv", "model.rejo", "report.html", "decisions.csv")


def add(parser: Any) -> None:
    """Declare the options."""
    where = f"folder for the files (default: {FOLDER}, with a number added if it exists)"
    options.add(parser, "--output", default=FOLDER, metavar="DIR", help=where)
    budget = f"largest share of the cases to send to review (default: {BUDGET})"
    options.add(parser, "--review-budget", default=BUDGET, help=budget)
    options.add(parser, "--model", "--seed")
    options.add(parser, "--overwrite", help="replace the files of an earlier demo")


def run(arguments: argparse.Namespace) -> None:
    """Write the tables, then run the commands that a user would type."""
    folder: Path = arguments.output
    numbers = count(2)
    unnamed = folder is FOLDER  # the same name typed is another object
    while unnamed and folder.exists() and not arguments.overwrite:
        folder = FOLDER.with_name(f"{FOLDER.name}-{next(numbers)}")
    taken = [name for name in FILES if (folder / name).exists()]
    if taken and not arguments.overwrite:
        raise exists(folder / taken[0])
    make_folder(folder)
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
    print(f"\nOpen {report} in a browser. Move the slider, and enter your own prices.")
    print(
        "Is it worse to miss a cancer than to call a benign tumour malignant? Train with prices in "
        f"place of --review-budget: --costs {PRICES}."
    )


def _do(*words: str) -> None:
    from rejo.cli import build_parser

    arguments = build_parser().parse_args(words)
    arguments.command = shlex.join(["rejo", *words])
    print(f"\n$ {arguments.command}", flush=True)
    arguments.run(arguments)


def _write_tables(folder: Path, seed: int) -> None:
    """Write a table of breast tumours as a clinic might have it, a part of it as new cases."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    from rejo.tables import import_pandas

    import_pandas("rejo demo")
    data = load_breast_cancer(as_frame=True)
    table = data.data.copy()
    table.insert(0, "patient", [f"{i + 1:04d}" for i in range(len(table))])
    table["diagnosis"] = data.target_names[data.target]
    known = table["diagnosis"]
    old, new = train_test_split(table, test_size=NEW, stratify=known, random_state=seed)
    for name, part in ((FILES[0], old), (FILES[1], new)):
        write_file(folder / name, part.sort_index().to_csv(index=False))
    print(
        f"Training cases: {folder / FILES[0]} ({len(old)} breast tumours). "
        f"New cases: {folder / FILES[1]} ({len(new)})."
    )
