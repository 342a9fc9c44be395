"""Results as small tables for a notebook.

Names come from data, so everything is escaped.  There is no script, and no colour of its own: the
notebook's own, light or dark, show through.
"""

from collections.abc import Collection, Iterable, Mapping
from html import escape
from math import isnan
from numbers import Integral, Real
from typing import Any

from rejo._io import one_line, percent, printable

MOST_ROWS = 12  # of a table
LONGEST = 80  # letters of a cell
NOTHING = "-"
LEFT, RIGHT = (f' style="text-align: {side}"' for side in ("left", "right"))


def table_html(
    title: str,
    columns: Mapping[str, Any],
    *,
    shares: Collection[str] = (),
    notes: Iterable[str] = (),
) -> str:
    """Return a table as HTML, for ``_repr_html_``; of a long one, some rows.

    ``columns`` are cells by the name of the column: numbers, texts, or None. Numbers in the columns
    ``shares`` are shown as percentages; ``notes`` are sentences below the table.
    """
    n = len(next(iter(columns.values())))
    rows = list(range(n))
    notes = list(notes)
    if n > MOST_ROWS:
        rows = [round(i * (n - 1) / (MOST_ROWS - 1)) for i in range(MOST_ROWS)]
        notes.insert(0, f"{MOST_ROWS} of {n:,} rows.")
    sides = {
        name: RIGHT if all(_is_number(cells[row]) for row in rows) else LEFT
        for name, cells in columns.items()
    }
    head = "".join(f"<th{sides[name]}>{_safe(name)}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{sides[name]}>{_safe(_said(cells[row], name in shares))}</td>"
            for name, cells in columns.items()
        )
        + "</tr>"
        for row in rows
    )
    below = "".join(f"<p>{escape(one_line(note))}</p>" for note in notes)
    return (
        f"<div><strong>{escape(one_line(title))}</strong><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}</div>"
    )


def text_html(text: str) -> str:
    """Return lines of text as they are."""
    lines = "\n".join(printable(line) for line in text.splitlines())
    return f"<pre>{escape(lines)}</pre>"


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, Real) and not isinstance(cell, bool))


def _said(cell: Any, share: bool) -> str:
    if cell is None or (isinstance(cell, Real) and isnan(cell)):
        return NOTHING
    if isinstance(cell, Real) and share:
        return percent(float(cell))
    if isinstance(cell, bool) or not isinstance(cell, Real):
        return str(cell)
    return f"{int(cell):,}" if isinstance(cell, Integral) else f"{float(cell):.4g}"


def _safe(text: Any) -> str:
    line = one_line(str(text))
    return escape(line if len(line) <= LONGEST else line[: LONGEST - 1] + "…")
