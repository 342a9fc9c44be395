"""Answers from a table of any format: what reviewers said, and what became of the cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import Setting, Text, shown
from rejo.book.queues import labelstudio
from rejo.book.store import Book, Taken
from rejo.scoring import fingerprint, review_label
from rejo.tables import (
    TableError,
    check_columns,
    read_table,
    same_spelling,
    sheet_names,
    spellings_known,
)

# What columns are called if nobody says so; the first one that is there.
NAMES = {
    "id": ("id", "case", "row"),
    "class": ("class", "answer", "review"),
    "outcome": ("outcome", "truth"),
    "who": ("who", "reviewer", "name"),
    "when": ("when", "time", "date", "answered"),
}
AHEAD = np.timedelta64(1, "D")  # of here, it may be tomorrow elsewhere
EARLIEST = np.datetime64("1900-01-01")  # of an answer: before it, a year lacks digits
PENDING = ("", "?")  # with the label of a review: a cell of a queue that nobody has filled


Reader = Callable[..., Any]


class Answers(NamedTuple):
    """What became of a table of answers."""

    n_rows: int
    columns: dict[str, str]  # the column of each role
    taken: Taken
    n_pending: int  # cells without an answer
    other: dict[str, int]  # words that are no class of any model; nothing is stored of them
    passed: dict[str, str]  # sheets that were passed over, and why


def take_answers(
    book: Book, path: str, columns: Mapping[str, str | None], **reading: Any
) -> Answers:
    """Add the answers in a table to the book.

    ``columns`` are those that the user names, by their role in ``NAMES``.
    """
    models = list(book.models().values())
    names = list(dict.fromkeys(str(name) for model in models for name in model["classes"]))
    pending = {*PENDING, review_label(names)}
    parts, n_rows = [], 0
    tables, passed = _tables_of_answers(path, columns, models, reading)
    for found, text, roles in tables:
        words = text([name for role, name in roles.items() if role != "when"])
        when = _times(found, roles.get("when"))
        n_rows += len(words)
        parts += [
            _part(words, roles, role, kind, when, pending)
            for role, kind in (("class", "review"), ("outcome", "outcome"))
            if role in roles
        ]
    answers = _joined(parts)
    n_pending = int(answers["class"].isna().sum())
    answers = answers[answers["class"].notna()]
    answers["class"], other = _as_classes(answers["class"], names)
    answers = answers[answers["class"].notna()]
    if names and other and not len(answers):
        raise TableError(
            f"none of its answers is a class of the model, such as {shown(next(iter(other)))}",
            where=found.path,
            parameter="class" if "class" in roles else "outcome",
            remedy=f"The classes are {', '.join(names)[:200]}.",
        )
    taken = book.add_answers(answers, f"{_print(answers)} {found.path.rpartition('/')[2]}")
    if len(answers) and len(set(answers["id"])) == len(taken.unknown):
        raise TableError(
            f"none of its ids is in {book.path}, such as {shown(taken.unknown[0])}",
            where=f"{found.path}, column {roles['id']!r}",
            parameter="id",
            remedy="Are they the ids of another book, or did a spreadsheet drop leading zeros?",
        )
    return Answers(n_rows, roles, taken, n_pending, other, passed)


def _tables_of_answers(
    path: str,
    columns: Mapping[str, str | None],
    models: Sequence[Mapping[str, Any]],
    reading: Mapping[str, Any],
) -> tuple[list[Any], dict[str, str]]:
    """Return the tables of a file with their roles; of its sheets, one may be something else."""
    tables, refused = [], {}
    for sheet, (read, text) in _tables(path, reading).items():
        try:
            found = read()
            roles = _roles(found.frame.columns, columns, models, found.path)
            tables.append((found, text, roles))
        except TableError as error:
            refused[sheet] = error
    if not tables:
        raise next(iter(refused.values()))
    return tables, {sheet: error.problem for sheet, error in refused.items()}


def _tables(path: str, reading: Mapping[str, Any]) -> dict[str, tuple[Reader, Reader]]:
    """Return of each sheet what reads it, and what gives columns of it as text.

    It is a queue with a sheet for each person, an export of Label Studio, or any one table.
    """
    import pandas as pd

    ending = os.path.splitext(path)[1].lower()
    exported = labelstudio(Path(path)) if ending == ".json" else None
    if exported is not None:
        frame = pd.DataFrame(exported, columns=["id", "class", "who", "when"])
        when = pd.to_datetime(frame["when"], utc=True, format="ISO8601", errors="coerce")
        frame["when"] = when.dt.tz_localize(None)
        table = SimpleNamespace(frame=frame, path=path)
        return {"": (lambda: table, lambda names: frame)}
    named = reading.get("sheet")
    readers: dict[str, tuple[Reader, Reader]] = {}
    for sheet in sheet_names(path) if ending == ".xlsx" and named is None else [named]:
        read = partial(read_table, path, **{**reading, "sheet": sheet})
        readers[sheet or ""] = read, partial(_as_text, read)
    return readers


def _as_text(read: Reader, names: Iterable[str]) -> Any:
    return read(text=list(dict.fromkeys(names))).frame


def _roles(
    names: Iterable[Any],
    given: Mapping[str, str | None],
    models: Sequence[Mapping[str, Any]],
    path: str,
) -> dict[str, str]:
    """Return the column of each role that the table has."""
    there = {str(name).casefold(): str(name) for name in names}
    check_columns(path, [name for name in given.values() if name is not None], list(there.values()))
    ids = [str(model["id"]) for model in models if model.get("id")]
    found: dict[str, str] = {}
    for role, usual in NAMES.items():
        likely = [*ids, *usual] if role == "id" else usual
        column = given.get(role) or next(
            (
                there[name.casefold()]
                for name in likely
                if there.get(name.casefold(), "") not in {"", *given.values()}
            ),
            None,
        )
        if column is not None:
            found[role] = column
    if not {"class", "outcome"} & set(found):  # as in the table that the model was trained on
        targets = [there.get(str(model.get("target")).casefold()) for model in models]
        if usable := [name for name in targets if name and name not in found.values()]:
            found["outcome"] = usable[0]
    if "id" not in found or not {"class", "outcome"} & set(found):
        lacks = "id" if "id" not in found else "class"
        named = " or ".join(map(repr, [*dict.fromkeys(ids), *NAMES["id"]][:4]))
        raise TableError(
            f"no column {named}" if lacks == "id" else "no column 'class' or 'outcome'",
            where=path,
            parameter=lacks,
            remedy=Text("Name it with ", Setting(lacks), ". Columns: ", ", ".join(there.values())),
        )
    if len(set(found.values())) < len(found):
        twice = next(name for name in found.values() if list(found.values()).count(name) > 1)
        raise TableError(f"the column {twice!r} cannot be two things at once", where=path)
    return found


def _times(table: Any, column: str | None) -> Any:
    """Times (n,) as text; empty if they are not known."""
    if column is None:
        return np.full(len(table.frame), "", dtype=object)
    values = table.frame[column].to_numpy()
    if values.dtype.kind != "M":
        if table.frame[column].isna().all():
            return np.full(len(values), "", dtype=object)
        raise TableError(
            "these are not dates, such as 2024-12-31",
            where=f"{table.path}, column {column!r}",
            parameter="when",
        )
    text = np.datetime_as_string(values.astype("datetime64[ms]")).astype(object) + "Z"
    odd = (values > np.datetime64("now") + AHEAD) | (values < EARLIEST)  # NaT is neither
    if odd.any():
        raise TableError(
            f"nobody can have answered on {text[odd.argmax()][:10]}",
            where=f"{table.path}, column {column!r}",
            parameter="when",
            remedy="Correct it: the newest answer counts.",
        )
    return np.where(np.isnat(values), "", text)


def _part(
    words: Any, roles: Mapping[str, str], role: str, kind: str, when: Any, pending: Collection[str]
) -> Any:
    import pandas as pd

    said = words[roles[role]]
    known = said.notna() & ~said.fillna("").str.casefold().isin(pending)
    who = words[roles["who"]] if "who" in roles and kind == "review" else None
    found = pd.DataFrame(
        {
            "id": words[roles["id"]],
            "kind": kind,
            "who": who,
            "class": said.where(known),
            "time": when,
        }
    )
    found = found[found["id"].notna() | found["class"].notna()]
    return found.fillna({"id": ""}).astype(object)


def _joined(parts: Sequence[Any]) -> Any:
    import pandas as pd

    found = pd.concat(parts, ignore_index=True)
    return found.where(found.notna(), None)


def _as_classes(said: Any, names: Sequence[str]) -> tuple[Any, dict[str, int]]:
    """Spell classes as the models do; count the words that are none."""
    spelled = spellings_known(names) | {name: name for name in names}
    classes = said.map(lambda word: spelled.get(word, spelled.get(same_spelling(word))))
    return classes, said[classes.isna()].value_counts().to_dict()


def _print(answers: Any) -> str:
    """Return a hash of the answers, the same in any format and order."""
    import pandas as pd

    text = answers.fillna("").astype(str)
    return fingerprint(pd.util.hash_pandas_object(text, index=False).to_numpy())[:16]
