"""Read a sheet of a workbook, in a process of its own whose memory is limited.

``python -P _excel_process.py FILE SHEET MEMORY`` reads with python-calamine and writes the rows to
standard output: a line of JSON about the workbook, then a line of JSON for every thousand rows,
each with its length before it.  It imports nothing of rejo, so that it starts at once.
"""

import json
import sys
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any

ROWS = 1000  # at a time
SHEETS = 1000  # more are refused: each may stand for the same large part of the file


def main(path: str, wanted: str, memory: int) -> None:
    """Write the rows of a sheet, the one that is ``wanted`` or the only one with any."""
    try:
        import resource
    except ImportError:  # Windows: only the sizes that were checked before limit the memory
        pass
    else:
        for limit in (resource.RLIMIT_DATA, resource.RLIMIT_AS):
            resource.setrlimit(limit, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    from python_calamine import CalamineWorkbook

    book = CalamineWorkbook.from_path(path)
    about = [(s.name, str(s.visible).endswith("Visible")) for s in book.sheets_metadata
             if str(s.typ).endswith("WorkSheet")]  # fmt: skip
    if len(about) > SHEETS:
        say({"error": f"it has {len(about):,} sheets; the limit is {SHEETS:,}"})
        return
    names = [name for name, _ in about]
    if wanted:
        alike = [name for name in names if name.strip().lower() == wanted.strip().lower()]
        found = [name for name in names if name == wanted] or alike
    else:
        shown = [name for name, visible in about if visible] or names
        filled = (name for name in shown if any(map(_is_filled, _rows(book, name))))
        found = list(filled) or shown[:1]
    lost = wanted and len(found) != 1
    say({"sheets": names, "filled": None if lost else found})
    if lost or len(found) > 1:
        return
    rows = iter(_rows(book, found[0]) if found else ())
    while batch := [[_plain(value) for value in row] for row in islice(rows, ROWS)]:
        say(batch)


def _rows(book: Any, name: str) -> Any:
    """Yield the rows of a sheet from its first on, with as many cells as the longest has."""
    return book.get_sheet_by_name(name).iter_rows()


def _is_filled(row: Any) -> bool:
    return any(not isinstance(value, str) or value.strip() for value in row)


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: dates are in lists, and a blank is null."""
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, datetime | date):
        return [value.isoformat()]
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return int(value)
    return value if isinstance(value, bool | int | float) else str(value)


def say(found: Any) -> None:
    """Write a line of JSON after its length."""
    data = json.dumps(found).encode()
    sys.stdout.buffer.write(b"%d\n" % len(data) + data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    try:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    except Exception as error:
        say({"error": " ".join(f"{error}".split())[:200] or type(error).__name__})
