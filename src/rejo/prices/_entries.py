"""Prices as they are given: texts, dicts, CSV files and frames, as entries."""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import StringIO
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rejo._errors import RejoError, close_words
from rejo._io import one_line
from rejo.prices._formulas import HIGHEST, Formula, read_formula

MOST_BYTES = 1_000_000  # of a CSV file
WORDS = ("error", "review", "accuracy", "step")
EXAMPLE = "such as error=5000,review=40"

_QUOTED = r'"(?:[^"]|"")*"'
_LABEL = rf'\s*({_QUOTED}|[^",;:=>]+?)\s*'
_KEY = re.compile(rf"\s*(?:({'|'.join(WORDS)})\s*(?::{_LABEL})?|{_LABEL}>{_LABEL})(?==|\Z)")
_QUOTING = "Put double quotes around a class whose name holds one of , ; : = >"


class Entry(NamedTuple):
    """One price, before the classes are known."""

    kind: str  # one of WORDS, or "pair"
    labels: tuple[Any, ...]  # (), (true class,) or (true class, decided class)
    value: float | Formula
    shown: str  # how to name it in a message


def read_prices(cost_of: Any) -> dict[str, float | str]:
    """Return prices in any form but an array as a flat dict; formulas stay text.

    All is checked that can be checked before the classes are known.
    """
    return _flat(entries_of(cost_of))


def _flat(entries: Iterable[Entry]) -> dict[str, float | str]:
    return {_key(e): e.value.text if isinstance(e.value, Formula) else e.value for e in entries}


def renamed_classes(
    prices: Mapping[str, float | str], names: Callable[[str], str]
) -> dict[str, float | str]:
    """Return prices with other names of the classes."""
    entries = entries_of(prices)
    renamed = [
        e._replace(labels=tuple(names(class_text(label)) for label in e.labels)) for e in entries
    ]
    found = _flat(renamed)
    if len(found) < len(entries):
        twice = next(e for i, e in enumerate(renamed) if _key(e) in map(_key, renamed[:i]))
        fail(f"{_key(twice)} is given twice, in two spellings")
    return found


def entries_of(cost_of: Any) -> list[Entry]:
    """All prices in a text, a dict, a CSV file or a DataFrame, each checked by itself."""
    if isinstance(cost_of, PathLike) or (
        isinstance(cost_of, str) and cost_of.strip().lower().endswith(".csv")
    ):
        found = _from_csv(Path(cost_of))
    elif isinstance(cost_of, str):
        found = _from_text(cost_of)
    elif isinstance(cost_of, Mapping):
        found = _from_dict(cost_of)
    else:
        found = _from_frame(cost_of)
    entries = list(found)
    seen: set[Any] = set()
    for entry in entries:
        place = entry.kind, tuple(map(class_text, entry.labels))
        if place in seen:
            fail(f"{entry.shown} is given twice")
        seen.add(place)
    return entries


def _from_text(text: str) -> Iterator[Entry]:
    if text.count('"') % 2:
        fail(f"a double quote is not closed in {text!r}")
    for part in _parts(text) or [text]:
        key = _KEY.match(part)
        rest = part[key.end() :].strip() if key else ""
        if key is None or not rest.startswith("="):
            _bad_entry(part.strip())
        yield _entry(key, rest[1:].strip())


def _parts(text: str) -> list[str]:
    """Cut at each comma and semicolon that is not inside quotes or parentheses."""
    parts, depth, start = [], 0, 0
    for piece in re.finditer(rf"{_QUOTED}|[(),;]", text):
        sign = piece[0]
        depth = max(depth + (sign == "(") - (sign == ")"), 0)
        if sign in ",;" and not depth:
            parts.append(text[start : piece.start()])
            start = piece.end()
    return [part for part in [*parts, text[start:]] if part]


def _from_dict(cost_of: Mapping[Any, Any]) -> Iterator[Entry]:
    for name, value in cost_of.items():
        if isinstance(name, tuple) and len(name) == 2:
            yield checked_entry("pair", name, value, f"{name[0]}>{name[1]}")
            continue
        key = _KEY.fullmatch(name) if isinstance(name, str) else None
        if key is None:
            _bad_entry(name)
        if not isinstance(value, Mapping):
            yield _entry(key, value)
            continue
        for label, price in value.items():
            if key[1] == "error" and isinstance(price, Mapping):
                for decided, one in price.items():
                    yield checked_entry("pair", (label, decided), one, f"{label}>{decided}")
            else:
                yield checked_entry(key[1], (label,), price, f"{name}:{label}")


def _from_csv(path: Path) -> Iterator[Entry]:
    """Read a small table of prices: rows are true classes, columns decisions and ``review``."""
    where = one_line(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        fail(f"the file cannot be read: {error.strerror}", where=where)
    if len(data) > MOST_BYTES:
        fail("the file is too large for a table of prices", where=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        fail("the file is not text in UTF-8", "Save it as CSV UTF-8.", where=where)
    head = re.sub(_QUOTED, "", text.lstrip()).partition("\n")[0]
    sep = max(";\t,", key=head.count)
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=sep) if any(row)]
    except csv.Error as error:
        fail(f"the file is not a CSV table: {error}", where=where)
    if len(rows) < 2 or len(rows[0]) < 3:
        fail(
            "a table of prices has a row for each true class and a column for each decision and "
            "for review",
            "Its first line is like class,default,repaid,review.",
            where=where,
        )
    columns = [name.strip() for name in rows[0][1:]]
    review = max((j for j, name in enumerate(columns) if name == "review"), default=-1)
    for row in rows[1:]:
        true, cells = row[0].strip(), row[1:]
        if len(cells) > len(columns):
            fail(f"row {true!r} has more cells than the first line", where=where)
        for j, (column, cell) in enumerate(zip(columns, cells, strict=False)):
            written = re.sub(r"(?<=\d),(?=\d)", ".", cell) if sep == ";" else cell
            if written != cell and re.search(r"\b(min|max)\s*\(", cell):
                fail(
                    f"row {true!r}, column {column!r}: is the comma in {cell.strip()!r:.60} a "
                    "decimal mark, or between two prices?",
                    "Beside min and max, write 0.5, and a blank after each comma.",
                    where=where,
                )
            if written.strip():
                yield cell_entry(true, None if j == review else column, written, where)


def _from_frame(frame: Any) -> Iterator[Entry]:
    values = np.asarray(frame, dtype=object)
    for i, true in enumerate(frame.index.tolist()):
        for j, decided in enumerate(frame.columns.tolist()):
            value = values[i, j]
            if value is not None and value == value:
                review = isinstance(decided, str) and decided == "review"
                yield cell_entry(true, None if review else decided, value)


def cell_entry(true: Any, decided: Any, value: Any, where: str | None = None) -> Entry:
    """An entry of a table; ``None`` is the column of the review."""
    if decided is None:
        return checked_entry("review", (true,), value, f"row {true!r}, column 'review'", where)
    return checked_entry("pair", (true, decided), value, f"row {true!r}, column {decided!r}", where)


def _entry(key: re.Match[str], value: Any) -> Entry:
    """An entry by its key; groups are the word, its class, and the two classes of a pair."""
    word, *labels = key.groups()
    kept = tuple(_unquote(label) for label in labels if label is not None)
    return checked_entry(word or "pair", kept, value, key[0].strip())


def checked_entry(
    kind: str, labels: tuple[Any, ...], value: Any, shown: str, where: str | None = None
) -> Entry:
    if isinstance(value, str):
        value = _number_or_formula(kind, value.strip(), shown, where)
    right = kind == "pair" and class_text(labels[0]) == class_text(labels[1])
    if isinstance(value, Formula) and not right:
        return Entry(kind, labels, value, shown)
    if isinstance(value, bool) or not isinstance(value, Real):
        fail(f"{shown} must be a number, got {value!r:.40}", where=where)
    price = float(value)
    if kind == "accuracy":
        if not 0 <= price <= 1:
            hint = f"For {price:g} % write {price / 100:g}." if 1 < price <= 100 else None
            fail(f"{shown} must be between 0 and 1, got {price:g}", hint, where=where)
    elif not 0 <= price <= HIGHEST:
        fail(f"{shown} must be a price from 0 to {HIGHEST:g}, got {price:g}", where=where)
    if right and price != 0:
        fail(
            f"{shown}: a right decision costs nothing, got {price:g}",
            "If it does, subtract that price from all prices of its true class.",
            where=where,
        )
    if kind == "step" and labels:
        fail(f"{shown}: step has no class", f"Use error:{labels[0]} for a class.", where=where)
    return Entry(kind, labels, price, shown)


def _number_or_formula(kind: str, text: str, shown: str, where: str | None) -> float | Formula:
    percentage = kind == "accuracy" and text.endswith("%")
    try:
        return float(text[:-1]) / 100 if percentage else float(text)
    except ValueError:
        pass
    if kind in ("accuracy", "step"):
        fail(f"{shown} must be a number, got {text!r:.40}", where=where)
    try:
        formula = read_formula(text)
    except RejoError as error:
        fail(f"{shown}: {error.problem}", error.remedy, where=where)
    return formula if formula.columns else float(formula.values({}))


def _key(entry: Entry) -> str:
    labels = [quoted(class_text(label)) for label in entry.labels]
    return ">".join(labels) if entry.kind == "pair" else ":".join([entry.kind, *labels])


def _bad_entry(name: Any) -> NoReturn:
    text = str(name)
    word = text.partition("=")[0].partition(":")[0].strip()
    close = close_words(word, WORDS, n=1)
    if close and close[0] != word:
        remedy = f"Did you mean {close[0]!r}?"
    elif isinstance(name, str) and name.isdecimal():
        remedy = f"Prices are {EXAMPLE}, without a separator in thousands."
    else:
        remedy = (
            f"Prices are {EXAMPLE}; for a class, error:NAME=5000, and for a pair, "
            f"TRUE>DECIDED=5000. {_QUOTING}, or use a CSV file."
        )
    fail(f"{text!r:.60} is not a price", remedy)


def class_text(label: Any) -> str:
    """A class as people write it: ``1`` also for 1.0."""
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def quoted(name: str) -> str:
    if re.search('[",;:=>()]', name) or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


def _unquote(label: str) -> str:
    return label[1:-1].replace('""', '"') if label.startswith('"') else label


def fail(problem: str, remedy: str | None = None, where: str | None = None) -> NoReturn:
    raise RejoError(problem, parameter="cost_of", remedy=remedy, where=where)
