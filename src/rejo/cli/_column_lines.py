"""What the commands say about the columns of a table, and what a model file keeps of it."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from rejo._io import one_line, percent

MOST_LINES, LONGEST_LINE = 60, 400  # in a model file
KEY = "columns_read"  # in the header of a model file

# What to do about a remark, by what it is about.
ADVICE = {
    "id": "{drop} leaves it out, {id} keeps it beside the decisions",
    "code": "if it means missing, add {missing}",
}


def describe_columns(
    kinds: Mapping[str, str],
    left_out: Mapping[str, str],
    time: str | None = None,
    prices: Iterable[str] | None = None,
) -> list[str]:
    """Say which columns are used, by kind, and which are not.

    ``time`` orders the rows; ``prices`` are columns that prices depend on.
    """
    from rejo.tables import describe_kinds

    ages = time in kinds
    kinds = {name: kind for name, kind in kinds.items() if name != time}
    lines = [f"Columns used: {len(kinds):,}."]
    lines += [f"  {one_line(line)}" for line in describe_kinds(kinds)]
    left_out = {name: reason for name, reason in left_out.items() if name != time}
    out = [f"Left out: {name} ({reason})." for name, reason in list(left_out.items())[:20]]
    if len(left_out) > 20:
        out.append(f"Left out: {len(left_out) - 20:,} more columns.")
    if time is not None:
        more = " Other dates are ages at it." if ages else ""
        out.append(
            f"{time}: it orders the rows, and new files have later dates, so it is not a feature "
            f"(--keep {shlex.quote(time)} keeps it).{more}"
        )
    for name in prices or ():
        also = f"it is a feature, too (--drop {shlex.quote(name)} keeps it for prices only)"
        out.append(
            f"{name}: prices depend on it; {also if name in kinds else 'it is not a feature'}."
        )
    return [*lines, *map(one_line, out)]


def remarks_on(frame: Any, table: Any, left_out: Iterable[str] = ()) -> list[Any]:
    """Return what may surprise about columns; those left out have their reason already."""
    from rejo.tables import find_remarks

    found = find_remarks(frame, table.readings, table.unnamed)
    return [r for r in found if r.column not in left_out or r.about not in ("id", "gaps")]


def say(remark: Any) -> str:
    """Return a remark as a line for the screen, with what to do about it."""
    line = remark.line()
    if remark.about in ADVICE:
        column, value = shlex.quote(remark.column), shlex.quote(remark.value)
        options = {"drop": f"--drop {column}", "id": f"--id {column}",
                   "missing": f"--missing {value}"}  # fmt: skip
        line += "; " + ADVICE[remark.about].format(**options)
    return one_line(line) + "."


def to_keep(lines: Iterable[str], remarks: Iterable[Any]) -> list[str]:
    """Return these lines and remarks for a model file: bounded, without values of rows."""
    found = [*lines, *(one_line(remark.line(examples=False)) + "." for remark in remarks)]
    more = len(found) - MOST_LINES
    kept = found if more <= 0 else [*found[:MOST_LINES], f"and {more:,} more lines"]
    return [line if len(line) <= LONGEST_LINE else line[:LONGEST_LINE] + "..." for line in kept]


def suspicion(leak: Any) -> str:
    """Say that a column alone predicts the class too well, and what to do."""
    what = f"tells {leak.between} apart" if leak.between else "predicts the class"
    return one_line(
        f"{leak.column}: {what} almost alone ({percent(leak.accuracy)} right, each "
        f"class counted the same). If it is not known yet when a case is decided, the rates are "
        f"too good to be true: add --drop {shlex.quote(leak.column)}."
    )
