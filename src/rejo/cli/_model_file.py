"""The model file of a command, and what is said of the rates it expects."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rejo.cli._mixups import check_is_table, model_errors
from rejo.cli._options import opening

if TYPE_CHECKING:
    from rejo.scoring.opened import Opened

FEW = 100  # with fewer independent cases, ranges are wide


def open_model(arguments: Namespace) -> Opened:
    """Open the model file of a command."""
    from rejo.persistence import open_file
    from rejo.scoring.opened import Opened

    with model_errors(arguments):
        found = open_file(arguments.model, **opening(arguments))
    check_is_table(arguments)
    return Opened(*found)


@contextmanager
def needing(group: str | None) -> Iterator[None]:
    """If a table lacks the column of the groups, say what that is for."""
    from rejo.tables import TableError
    from rejo.tables.errors import shown

    try:
        yield
    except TableError as error:
        if group is not None and error.problem == f"no column {shown(group)}":
            told = "The model promises by this column; if it has another name here, add --group"
            error.remedy = f"{told} NAME. {error.remedy}"
        raise


def vague(size: float) -> str:
    """Return a sentence if the estimates rest on few cases; else nothing."""
    return "" if size >= FEW else (
        f"The ranges are wide: these rates are as uncertain as from {size:.0f} independent cases, "
        "because there are few cases or because the models of the folds differ."
    )  # fmt: skip
