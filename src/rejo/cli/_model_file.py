"""The model file of a command, or what is there in its place, and the rates it expects."""

from __future__ import annotations

import os
import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

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


def check_is_table(arguments: Namespace) -> None:
    """Refuse a table that is a model file."""
    from rejo.tables import TableError

    head = b""
    if os.path.isfile(arguments.data):
        with suppress(OSError), open(arguments.data, "rb") as file:
            head = file.read(64)
    if head[:4] == b"PK\x03\x04" and b"rejo.json" in head:
        raise TableError(
            "it is a model file, not a table",
            where=arguments.data,
            remedy=f"To see what it contains: rejo inspect {shlex.quote(arguments.data)}",
        )


@contextmanager
def model_errors(arguments: Namespace) -> Iterator[None]:
    """Let an error of a model file say if it has the name of a table."""
    from rejo.persistence import ModelFileError

    try:
        yield
    except ModelFileError as error:
        if arguments.model.suffix.lower() in TABLES:
            error.problem = "not a model file: it looks like a table"
            error.remedy = "Give the file that rejo train wrote, such as loans.rejo"
            error.remedy += ", then the table." if hasattr(arguments, "data") else "."
        raise
