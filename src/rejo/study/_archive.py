"""All rows of a study in one small file, to keep and to share."""

from __future__ import annotations

import csv
import lzma
from collections.abc import Iterable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from rejo.study._store import COLUMNS, KEY


def archive(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows as a compressed CSV file, in the order of their cells, each once.

    All numbers but ``seconds`` are read back exactly.
    """
    cells = {tuple(row[name] for name in KEY): row for row in rows}
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for key in sorted(cells):
        row = dict(cells[key]) | {"seconds": round(cells[key]["seconds"], 3)}
        writer.writerow("" if row[name] is None else row[name] for name in COLUMNS)
    return lzma.compress(text.getvalue().encode(), preset=9)


def read_archive(path: str | Path) -> list[dict[str, Any]]:
    """Read rows that :func:`archive` packed, in the form of ``read_rows``."""
    try:
        text = lzma.decompress(Path(path).read_bytes()).decode()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not an archive of study rows: {error}.") from None
    reader = csv.DictReader(StringIO(text))
    if reader.fieldnames != list(COLUMNS):
        raise ValueError(f"{path} has the columns {reader.fieldnames}, not {list(COLUMNS)}.")
    return [
        {name: None if row[name] == "" else kind(row[name]) for name, kind in COLUMNS.items()}
        for row in reader
    ]
