"""The model file of a command, or what is there in its place, and the rates it expects."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo._errors import Text
from rejo.cli._options import opening

if TYPE_CHECKING:
    from rejo.scoring import Opened

FEW = 100  # with fewer independent cases, ranges are wide
PURPOSES = {
    "target": "It has the true classes. To decide cases without them, use rejo predict.",
    "group": "The model promises by this column; if it has another name here, add --group NAME.",
}
TABLES = (
    ".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".xlsx", ".xls", ".ods", ".json", ".jsonl",
    ".ndjson", ".db", ".sqlite", ".html", ".htm",
)  # fmt: skip
MODEL, PAGE, PICKLE = "a model file", "an HTML page, such as a report", "a pickle"


def open_model(arguments: Namespace) -> Opened:
    """Open the model file of a command."""
    from rejo.persistence import open_file
    from rejo.scoring import Opened

    with model_errors(arguments):
        found = open_file(arguments.model, **opening(arguments))
    check_is_table(arguments)
    return Opened(*found)


@contextmanager
def needing(**purposes: str | None) -> Iterator[None]:
    """If a table lacks the column of a role, say what that is for."""
    from rejo.tables import TableError

    try:
        yield
    except TableError as error:
        for role, column in purposes.items():
            if column is not None and error.column == column:
                error.remedy = Text(f"{PURPOSES[role]} ", str(error.remedy))
                break
        raise


def vague(size: float) -> str:
    """Return a sentence if the estimates rest on few cases; else nothing."""
    return "" if size >= FEW else (
        f"The ranges are wide: these rates are as uncertain as from {size:.0f} independent cases, "
        "because there are few cases or because the models of the folds differ."
    )  # fmt: skip


def what_is(path: str | Path) -> str | None:
    """Return what a file is by its first bytes, if it is neither a table nor unknown."""
    try:
        if not Path(path).is_file():
            return None
        with open(path, "rb") as file:
            head = file.read(512)
    except OSError:
        return None
    if head[:4] == b"PK\x03\x04" and b"rejo.json" in head[:64]:
        return MODEL
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return PICKLE
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return PAGE if text.startswith((b"<!doctype html", b"<html")) else None


def check_is_table(arguments: Namespace) -> None:
    """Refuse a table that is a model, a report or a pickle."""
    from rejo.tables import TableError

    if (found := what_is(arguments.data)) is not None:
        remedy = "Give the table itself, such as a CSV file."
        if found is MODEL:
            remedy = f"To see what it contains: rejo inspect {shlex.quote(arguments.data)}"
        raise TableError(f"it is {found}, not a table", where=arguments.data, remedy=remedy)


@contextmanager
def model_errors(arguments: Namespace) -> Iterator[None]:
    """Let an error of a model file say if it is another file, or swapped with the table."""
    from rejo.persistence import ModelFileError

    try:
        yield
    except ModelFileError as error:
        path, data = arguments.model, getattr(arguments, "data", None)
        found = what_is(path)
        # After a hostile model nothing else is opened, unless its name suggests a model.
        is_table = data is None or Path(data).suffix.lower() in TABLES
        if found is not MODEL and not is_table and what_is(str(data)) is MODEL:
            command = shlex.split(arguments.command)[1]
            swapped = shlex.join(["rejo", command, str(data), str(path)])
            error.problem = f"not a model file, but {data} is one"
            error.remedy = f"Swap them: {swapped}"
        elif found is PAGE:
            error.problem, error.remedy = f"not a model file: it is {PAGE}", _order(data)
        elif found is not MODEL and path.suffix.lower() in TABLES:
            error.problem, error.remedy = "not a model file: it looks like a table", _order(data)
        raise


def _order(data: Any) -> str:
    if data is None:
        return "Give the file that rejo train wrote, such as loans.rejo."
    return "The model comes first, then the table, such as loans.rejo new_loans.csv."
