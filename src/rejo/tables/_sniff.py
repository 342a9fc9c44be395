"""How a CSV file is written, seen from its first lines: separator, header, decimal mark."""

from __future__ import annotations

import csv
import re
from collections import Counter
from dataclasses import dataclass

from rejo.tables.errors import TableError, listed, shown

SEPARATORS = (",", ";", "\t", "|")
NAMED_SEPARATORS = {"\\t": "\t", "tab": "\t"}  # as a shell lets one write them
LOOK = 50  # rows
WHOLE_NUMBER = re.compile(r"[+-]?\d+")
MISSING = ("", "?", "NA", "N/A", "NaN", "nan", "NULL")
"""Entries that stand for a missing value; other words, such as ``None``, are values."""

DOT_NUMBER = re.compile(r"[+-]?\d*\.\d+(?:[eE][+-]?\d+)?")
COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?")


@dataclass(frozen=True)
class Style:
    """What the first lines of a file show."""

    sep: str
    decimal: str
    names: list[str]  # of the columns; an empty one belongs to a column without a name
    header_size: int  # bytes up to the first data row
    header_lines: int
    row_size: float  # bytes in a usual row


def sniff(name: str, head: bytes, sep: str | None, decimal: str | None, whole: bool) -> Style:
    """Find out how a file is written.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    head : bytes
        Its beginning, in UTF-8.
    sep, decimal : str or None
        As given by the user, or to be found.
    whole : bool
        Whether ``head`` is all there is.
    """
    lines = [line + "\n" for line in head.decode("utf-8", "ignore").split("\n")]
    if not whole and len(lines) > 2:
        lines.pop()  # cut off in the middle
    skip = 0
    while skip < len(lines) and not lines[skip].strip():
        skip += 1
    if skip == len(lines):
        raise TableError(f"{name} is empty; its first line must name the columns")
    # Excel writes, and reads, a first line that tells the separator.
    if told := re.fullmatch(r'"?sep=(.)"?\s*', lines[skip], re.IGNORECASE):
        skip, sep = skip + 1, sep or told[1]
        if skip == len(lines) or not "".join(lines[skip:]).strip():
            raise TableError(f"{name} is empty after its line {skip}; a header line is needed")
    sep = _best_separator(lines[skip:]) if sep is None else _check_separator(name, sep)

    rows, n_lines = _rows(lines[skip:], sep)
    if not rows:
        if not "".join(lines).strip(" \n\r" + sep):
            raise TableError(f"{name}: the header line names no column; write the names there")
        raise TableError(
            f"{name}: the header line cannot be read with the separator {sep!r}: a quote is not "
            "closed, or it is too long; mend that line, or name another separator by --sep"
        )
    names = [field.strip() for field in rows[0]]
    _check_names(name, names)
    if decimal is None:
        decimal = "." if sep == "," else _decimal_mark(name, names, rows[1:])
    elif decimal not in (".", ",") or decimal == sep:
        raise TableError(
            f"{name}: the decimal mark must be '.' or ',' and not the separator, got "
            f"{shown(decimal)}"
        )
    used = lines[: skip + n_lines[0]]
    seen = sum(len(line.encode()) for line in lines[skip : skip + n_lines[-1]])
    return Style(
        sep,
        decimal,
        names,
        min(sum(len(line.encode()) for line in used), len(head)),
        len(used),
        max(seen / len(rows), 1.0),
    )


def _rows(lines: list[str], sep: str) -> tuple[list[list[str]], list[int]]:
    """First rows that are not blank, and how many lines are used up after each."""
    reader = csv.reader(lines, delimiter=sep, skipinitialspace=True, strict=False)
    rows: list[list[str]] = []
    ends: list[int] = []
    try:
        for fields in reader:
            if fields and any(map(str.strip, fields)):
                rows.append(fields)
                ends.append(reader.line_num)
            if len(rows) > LOOK:
                break
    except csv.Error:  # a cell that is too long, or a stray carriage return: told later, by line
        pass
    return rows, ends


def _best_separator(lines: list[str]) -> str:
    """Return the separator that splits the header and, in the same way, the rows after it."""

    def merit(sep: str) -> tuple[float, int]:
        rows, _ = _rows(lines, sep)
        width = len(rows[0]) if rows else 0
        if width < 2:
            return (0.0, 0)
        alike = sum(len(row) == width for row in rows[1:]) / max(len(rows) - 1, 1)
        return (alike if len(rows) > 1 else 1.0, width)

    return max(SEPARATORS, key=merit)  # the comma, if there is but one column


def _check_separator(name: str, sep: str) -> str:
    sep = NAMED_SEPARATORS.get(sep, sep)
    if len(sep) != 1 or sep in '"\n\r \0' or not sep.isascii():
        raise TableError(
            f"{name}: the separator must be one character such as ',' ';' '|' or a tab, got "
            f"{shown(sep)}"
        )
    return sep


def _check_names(name: str, names: list[str]) -> None:
    counts = Counter(column for column in names if column)
    if not counts:
        raise TableError(f"{name}: the header line names no column; write the names there")
    twice = [column for column, count in counts.items() if count > 1]
    if twice:
        raise TableError(f"{name} has columns of the same name: {listed(twice)}; rename one")


def _decimal_mark(name: str, names: list[str], rows: list[list[str]]) -> str:
    """Return the mark that more cells have; an error if each has whole columns of numbers."""
    fitting: dict[str, list[str]] = {",": [], ".": []}
    counts = dict.fromkeys(fitting, 0)
    for i, column in enumerate(names):
        cells = [row[i].strip() for row in rows if i < len(row)]
        cells = [cell for cell in cells if cell not in MISSING]
        for mark, number in ((",", COMMA_NUMBER), (".", DOT_NUMBER)):
            found = sum(number.fullmatch(cell) is not None for cell in cells)
            counts[mark] += found
            whole = sum(WHOLE_NUMBER.fullmatch(cell) is not None for cell in cells)
            if found and found + whole == len(cells):
                fitting[mark].append(column)
    if fitting[","] and fitting["."]:
        raise TableError(
            f"{name}: numbers have a comma in column {shown(fitting[','][0])} and a point in "
            f"column {shown(fitting['.'][0])}; name the decimal mark by --decimal"
        )
    return "," if counts[","] > counts["."] else "."
