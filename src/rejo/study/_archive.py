"""The rows of a study in one compressed file, to share."""

from __future__ import annotations

import csv
import lzma
import os
from collections.abc import Iterable, Mapping
from io import StringIO
from math import isfinite
from pathlib import Path
from typing import Any

from rejo.study._cells import Study
from rejo.study._store import StudyFileError

MAX_BYTES = 2**28  # of text; the rows of the whole paper take 70 MB


def archive(rows: Iterable[Mapping[str, Any]], plan: type[Any] = Study) -> bytes:
    """Return rows as a compressed CSV file, in the order of their cells, each once.

    All numbers but ``seconds`` are read back exactly.

    Parameters
    ----------
    rows : iterable of dict
        From :func:`read_rows` or :func:`run_cell`.
    plan : type, default=Study
        The kind of study.

    Returns
    -------
    bytes
        The file.

    See Also
    --------
    read_archive : Read them back.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import Study, archive, read_archive, run_cell
    >>> study = Study(["syntheticI"], [0.05], 1, ["rejoSVM/rbf"], [0.2], grid="coarse")
    >>> rows = run_cell(study, next(study.cells()))
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv.xz")
    ...     _ = path.write_bytes(archive(rows))
    ...     read_archive(path)[0]["risk"] == rows[0]["risk"]
    True
    """
    cells = {tuple(row[name] for name in plan.KEY): row for row in rows}
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(plan.COLUMNS)
    for key in sorted(cells):
        row = dict(cells[key]) | {"seconds": round(cells[key]["seconds"], 3)}
        writer.writerow("" if row[name] is None else row[name] for name in plan.COLUMNS)
    return lzma.compress(text.getvalue().encode(), preset=9)


def read_archive(path: str | Path, plan: type[Any] = Study) -> list[dict[str, Any]]:
    """Read rows that :func:`archive` packed, in the form of :func:`read_rows`.

    Parameters
    ----------
    path : str or path
        The file.
    plan : type, default=Study
        The kind of study.

    Returns
    -------
    rows : list of dict
        As returned by :func:`run_cell`.

    Raises
    ------
    StudyFileError
        If it is not an archive of such rows, or is damaged.

    See Also
    --------
    archive : Pack them.
    read_rows : Read the file of a study that runs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.study import archive, read_archive
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv.xz")
    ...     _ = path.write_bytes(archive([]))
    ...     read_archive(path)
    []
    """
    try:
        with lzma.open(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it holds more than {MAX_BYTES // 2**20} MB")
        reader = csv.reader(StringIO(content.decode()), strict=True)
        names = next(reader, [])
        if names != list(plan.COLUMNS):
            raise ValueError(f"its columns are {names}, not {list(plan.COLUMNS)}")
        return [_row(plan, values, reader.line_num) for values in reader]
    except (lzma.LZMAError, EOFError, csv.Error, ValueError) as error:
        raise StudyFileError(
            f"is not an archive of study rows, or is damaged: {error}",
            where=os.fspath(path),
            remedy="Write it again with rejo.study.archive.",
        ) from None


def _row(plan: Any, values: list[str], line: int) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for (name, kind), text in zip(plan.COLUMNS.items(), values, strict=True):
        if text == "" and name not in plan.OPTIONAL:
            raise ValueError(f"{name} is empty in line {line}")
        row[name] = None if text == "" else kind(text)
        if kind is float and text and not isfinite(row[name]):
            raise ValueError(f"{name} is {text} in line {line}")
    return row
