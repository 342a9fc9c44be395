"""Sheets of workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods): python-calamine reads them.

It reads into memory, and a workbook comes from anywhere: the sizes of its parts are counted before
it is opened, and it is read in a process of its own with a limit of memory and of time.
"""

import json
import os
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Any, BinaryIO

from rejo._errors import Setting, Text, optional
from rejo.tables import _excel_process
from rejo.tables.errors import (
    PIECE,
    TableError,
    check_unpacked,
    did_you_mean,
    listed,
    refuse_folder,
    shown,
)
from rejo.tables.sources import LOOK, How, RowSource, header_names, header_row
from rejo.tables.values import day_word, word_of

MEMORY = 3 << 30  # bytes that reading may take: a sheet of a million rows by 20 columns takes two
UNPACKED = 1 << 30  # bytes of all parts of a file, unpacked
PARTS = 10_000  # in an archive
STEP = 1 << 16  # packed bytes at a time
SECONDS, SECONDS_A_MB = 10.0, 1.0  # to read a file, and for each MB of it
OLD = b"\xd0\xcf\x11\xe0"  # first bytes of a file of Excel before 2007, or with a password


class ExcelSource(RowSource):
    format = "excel"

    def __init__(self, path: Path, size: int, lines: Iterator[Any], how: How) -> None:
        self.name, self.size = str(path), size
        about = next(lines, None) or {}
        filled = about.get("filled")
        if "error" in about or not about.get("sheets", True):
            raise damaged(self.name, about.get("error") or "it has no sheet")
        if filled is None:
            raise TableError(
                f"no sheet {shown(how.sheet)}",
                where=self.name,
                parameter="sheet",
                remedy=f"{did_you_mean(how.sheet or '', about['sheets'])}The sheets are: "
                f"{listed(about['sheets'])}",
            )
        if len(filled) > 1:
            raise TableError(
                f"several sheets are not empty: {listed(filled)}",
                where=self.name,
                parameter="sheet",
                remedy=Text("Name one, such as ", Setting("sheet", filled[0]), "."),
            )
        if len(about["sheets"]) > 1:
            self.name = f"{path}, sheet {shown(filled[0])}"
        self._found: Any = enumerate(chain.from_iterable(map(self._batch, lines)), start=1)
        self.names, self._start = self._header(how)
        self._at = {name: i for i, name in enumerate(self.names) if name}

    def _batch(self, found: Any) -> list[list[Any]]:
        if isinstance(found, dict):
            raise damaged(self.name, found["error"])
        return list(found)

    def place(self, row: int, column: str = "") -> str:
        return super().place(self._start + row, column)

    def _header(self, how: How) -> tuple[list[str], int]:
        filled = (row for row in self._found if any(cell is not None for cell in row[1]))
        first = list(islice(filled, LOOK))
        if not first:
            raise TableError(
                "the sheet is empty", where=self.name, remedy="Its first row must name the columns."
            )
        cells = [[_name(cell) for cell in row] for _, row in first]
        width = max(i + 1 for row in cells for i, cell in enumerate(row) if cell)
        cells = [row[:width] for row in cells]
        numbers = [number for number, _ in first]
        # A row alone above a blank one is a title; others may have columns without a name.
        apart = [b > a + 1 for a, b in zip(numbers, [*numbers[1:], 0], strict=True)]
        rows = [row[:1] if far and not any(row[1:]) else row
                for row, far in zip(cells, apart, strict=True)]  # fmt: skip
        place = header_row(how, rows, numbers, self.name)
        names, self.skipped = header_names(how, cells, place, numbers, self.name, "row")
        if how.header is False:
            place, numbers = -1, [numbers[0] - 1]
        self._found = chain(first[place + 1 :], self._found)
        return names, numbers[place]

    def _rows(self, columns: Sequence[str]) -> Iterator[list[Any]]:
        """Yield a value for each name in every row, with blank rows up to the last that is not."""
        width, done = len(self.own_names), self._start
        for number, row in self._found:
            if any(row[i] is not None for i in self._at.values()):
                yield from ([None] * width for _ in range(done + 1, number))
                done = number
                yield [datetime.fromisoformat(v[0]) if type(v) is list else v for v in row[:width]]


def _name(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return day_word(datetime.fromisoformat(value[0]))
    return value.strip() if isinstance(value, str) else word_of(value)


@contextmanager
def open_table(path: str | os.PathLike[str], how: How) -> Iterator[ExcelSource]:
    size = _check(Path(path))
    with closing(_read(Path(path), how.sheet or "", size)) as lines:
        yield ExcelSource(Path(path), size, lines, how)


def sheet_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the sheets of a workbook that are neither hidden nor empty, or the first one."""
    with closing(_read(Path(path), "", _check(Path(path)))) as lines:
        about = next(lines, None) or {}
    if "error" in about or not about.get("filled"):
        raise damaged(str(path), about.get("error") or "it has no sheet")
    return list(about["filled"])


def damaged(name: str, reason: str) -> TableError:
    return TableError(
        f"this is not an Excel file, or it is damaged ({reason})",
        where=name,
        remedy="Open it in Excel and save it again.",
    )


# ---- limits -----------------------------------------------------------------------------------


def _check(path: Path) -> int:
    """Refuse an archive whose parts are too many, too large or packed in unusual ways."""
    refuse_folder(path, str(path))
    optional("python_calamine", "a workbook", "python-calamine", "tables")
    with path.open("rb") as stream:
        start, size = stream.read(4), stream.seek(0, 2)
        if start == OLD and path.suffix.lower() == ".xls":
            return size
        if start != b"PK\x03\x04":
            is_old = start == OLD
            what = "an old Excel file, or one with a password" if is_old else "not an Excel file"
            remedy = "Save it as .xlsx without a password, or as CSV."
            if start.isascii() and b"\0" not in start:
                remedy = "If it is a CSV file, give it the ending .csv."
            raise TableError(f"this is {what}", where=str(path), remedy=remedy)
        try:
            with zipfile.ZipFile(stream) as archive:
                parts = archive.infolist()
                if len(parts) > PARTS or len({part.filename for part in parts}) < len(parts):
                    raise damaged(str(path), "it has too many parts, or one of them twice")
                unpacked = 0
                for part in parts:
                    for data in _unpacked(stream, part):
                        unpacked += len(data)
                        check_unpacked(unpacked, size, str(path))
                        if unpacked > UNPACKED:
                            raise damaged(str(path), "it unpacks to more than 1 GB")
                        if b"<!DOCTYPE" in data:
                            raise damaged(str(path), "it defines a document type")
        except TableError:
            raise
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError,
                KeyError, ValueError, OSError) as error:  # fmt: skip
            raise damaged(str(path), " ".join(str(error).split())[:120]) from None
    return size


def _unpacked(stream: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield what a part unpacks to, whatever the archive says about its size."""
    stream.seek(part.header_offset)
    head = stream.read(30)
    stream.seek(sum(int.from_bytes(head[i : i + 2], "little") for i in (26, 28)), 1)
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is packed in an unusual way")
    unpack, left = zlib.decompressobj(-15), part.compress_size
    while left > 0 and (data := stream.read(min(left, STEP))):
        left -= len(data)
        if part.compress_type == zipfile.ZIP_STORED:
            yield data
        while part.compress_type == zipfile.ZIP_DEFLATED and data:
            yield unpack.decompress(data, PIECE)
            data = unpack.unconsumed_tail


def _read(path: Path, sheet: str, size: int) -> Generator[Any, None, None]:
    """Yield what the process says, one line of JSON after the other."""
    script = [sys.executable, "-P", _excel_process.__file__]
    command = [*script, str(path.absolute()), sheet, str(MEMORY)]
    seconds = SECONDS + SECONDS_A_MB * size / (1 << 20)
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        try:
            while True:  # who takes the rows may take long, but not the process
                timer, began = Timer(seconds, process.kill), monotonic()
                timer.daemon = True
                timer.start()
                line = process.stdout.readline(20)
                data = process.stdout.read(int(line or 0))
                timer.cancel()
                if not line:
                    break
                yield json.loads(data)
            if process.wait():
                slow = f"it took more than {seconds:.0f} seconds"
                late = monotonic() - began >= seconds
                yield {"error": slow if late else "it takes too much memory"}
        finally:
            timer.cancel()
            with suppress(OSError):
                process.kill()
