"""A model where a table should be, a table where a model should be, and models without columns."""

import shlex
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rejo.cli._files import CommandError

TABLES = (
    ".csv", ".tsv", ".txt", ".gz", ".parquet", ".pq", ".xlsx", ".xls", ".ods", ".json", ".jsonl",
    ".ndjson", ".db", ".sqlite", ".html", ".htm",
)  # fmt: skip
MODEL, PAGE, PICKLE = "a model file", "an HTML page, such as a report", "a pickle"


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


def number_columns(model: Any, path: Path) -> list[str]:
    """Return the columns of a model without a table encoder, which must all be numbers."""
    remedy = (
        "fit it in Python as make_pipeline(rejo.tables.TableEncoder(), ...) on a DataFrame and "
        "save it again, or use `rejo train`"
    )
    if (words := word_columns(model)) is not None:
        columns = f" in {', '.join(map(repr, words[:5]))}" if words else ""
        raise CommandError(
            f"{path} was fitted on words{columns} by an encoder that does not say how a table is "
            f"read: {remedy}"
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise CommandError(
            f"{path} does not say which columns it needs, because it was fitted on an array "
            f"without names: {remedy}"
        )
    return list(map(str, names))


def word_columns(model: Any) -> list[str] | None:
    """Return the columns that encoders inside a fitted model take words from; None without any.

    The list is empty if they have no names.
    """
    found: list[str] = []
    any_words = False
    for part in _parts(model):
        names = getattr(part, "feature_names_in_", ())
        for j, values in enumerate(getattr(part, "categories_", ())):
            if any(isinstance(value, str) for value in values.tolist()):
                any_words = True
                found += [str(names[j])] if j < len(names) else []
    return found if any_words else None


def _parts(model: Any) -> Iterator[Any]:
    """The model and all fitted parts of it."""
    yield model
    parts = [step for _, step in getattr(model, "steps", ())]
    parts += [entry[1] for entry in getattr(model, "transformers_", ())]
    names = ("best_estimator_", "estimator_", "transformer_")
    parts += [getattr(model, name) for name in names if hasattr(model, name)]
    for part in parts:
        if not isinstance(part, str):  # "drop" or "passthrough"
            yield from _parts(part)
