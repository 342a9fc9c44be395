"""The bytes of a table file as UTF-8, whatever its encoding.

Files that are not text at all (a workbook, an archive) are recognised by their first bytes.
"""

import codecs
import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

import numpy as np

from rejo._io import without_password
from rejo.tables.errors import TableError, refuse_folder, shown
from rejo.tables.limits import ROW, check_unpacked, too_large

HEAD = 1 << 18  # bytes, enough to see how a table is written
SAVE_AS_CSV, UNPACK = "Save it as .xlsx or as CSV.", "Unpack it first."

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# First bytes of files that are often taken for tables: what they are, and what to do.
OTHER_FILES = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file", SAVE_AS_CSV),
    (b"PAR1", "a Parquet file", "Give it the ending .parquet."),
    (b"%PDF", "a PDF file", "Save the table as CSV."),
    (b"<!DOCTYPE", "a web page", SAVE_AS_CSV),
    (b"<!doctype", "a web page", SAVE_AS_CSV),
    (b"<html", "a web page", SAVE_AS_CSV),
    (b"<table", "a web page", SAVE_AS_CSV),
    (b"<?xml", "an XML file", SAVE_AS_CSV),
    (b"\x1f\x8b", "still compressed with gzip", UNPACK),
    (b"BZh", "compressed with bzip2", UNPACK),
    (b"\xfd7zXZ", "compressed with xz", UNPACK),
    (b"\x28\xb5\x2f\xfd", "compressed with zstd", UNPACK),
    (b"7z\xbc\xaf", "a 7z archive", UNPACK),
    (b"SQLite format 3\0", "an SQLite database", "Name it as sqlite:///FILE."),
)
JSON = re.compile(rb'\s*(?:\[\s*)?\{\s*(?:"[^"]*"\s*:|\})')


def count_lines(data: bytes) -> int:
    """Count the line ends; many times faster than ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == 10))


def name_of(path: str | os.PathLike[str]) -> str:
    """Return what messages call the file; the URL of a database has no password there."""
    return "stdin" if os.fspath(path) == "-" else without_password(os.fspath(path))


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``; unpack gzip on the way."""
    if os.fspath(path) == "-":
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        yield stream
        return
    refuse_folder(path, name_of(path))
    with open(path, "rb") as raw:
        if raw.peek(2)[:2] == b"\x1f\x8b":
            yield _Unpacked(raw, name_of(path))  # type: ignore[misc]
        else:
            yield raw


class _Unpacked:
    """The contents of a gzip file; refused where they become far larger than the file."""

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self._name = name
        self._packed = _Counted(raw)
        self._unpacked = _Counted(gzip.GzipFile(fileobj=cast(Any, self._packed)))
        self._file_size = os.fstat(raw.fileno()).st_size  # 0 for a pipe

    def read(self, size: int) -> bytes:
        data = self._unpacked.read(size)
        packed = max(self._packed.size, self._file_size)
        check_unpacked(self._unpacked.size, packed, self._name, UNPACK)
        return data


class _Counted:
    """A stream that counts the bytes read from it; a pipe cannot tell."""

    def __init__(self, stream: Any) -> None:
        self._stream, self.size = stream, 0

    def read(self, size: int) -> bytes:
        data: bytes = self._stream.read(size)
        self.size += len(data)
        return data


class Utf8:
    """A stream of bytes, checked and translated to UTF-8; ``name`` is for messages."""

    def __init__(self, stream: BinaryIO, encoding: str | None, name: str) -> None:
        self.name = name
        self._stream = stream
        self._lines = 0  # line ends returned so far
        self._between = False  # within the bytes of a character
        self._ahead = self._raw(HEAD)
        self.short = len(self._ahead) < HEAD  # the first read is the whole file
        self._refuse_other_files(self._ahead)
        mark = next((found for bom, found in MARKS if self._ahead.startswith(bom)), None)
        self.encoding = mark or "utf-8" if encoding is None else encoding
        try:
            known = codecs.lookup(self.encoding).name
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
            self._decoder.decode(b"")
        except (LookupError, AttributeError, TypeError):
            raise TableError(
                f"encoding={shown(encoding)} is unknown",
                where=name,
                parameter="encoding",
                remedy="Common ones are utf-8, latin-1, cp1252 and utf-16.",
            ) from None
        # Already UTF-8: check it, but do not translate.
        self._plain = known in ("utf-8", "utf-8-sig", "ascii")
        if self._plain and self._ahead.startswith(codecs.BOM_UTF8):
            self._ahead = self._ahead[3:]
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        # Lines that end in a carriage return alone, as on old Macs.
        self._old_mac = b"\r" in self._ahead and b"\n" not in self._ahead

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes; empty at the end."""
        while True:
            raw, self._ahead = self._ahead or self._raw(size), b""
            data = self._translated(raw)
            if b"\0" in data:
                raise TableError(
                    "a NUL byte; this is not a text file, or it is UTF-16 without a byte order "
                    "mark",
                    where=self._where(data, data.find(0)),
                    parameter="encoding",
                    remedy="Export it as CSV in UTF-8, or try encoding='utf-16-le'.",
                )
            if self._old_mac:
                data = data.replace(b"\r", b"\n")
            if data or not raw:
                self._lines += count_lines(data)
                return data

    def _raw(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end; a pipe may give less at a time."""
        parts, left = [], size
        try:
            while left > 0 and (part := self._stream.read(left)):
                parts.append(part.encode() if isinstance(part, str) else part)
                left -= len(parts[-1])
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise TableError(
                f"this is a damaged gzip file ({error})", where=self.name, remedy="Copy it again."
            ) from None
        except OSError as error:  # it does not say of which file
            raise OSError(error.errno, error.strerror or str(error), self.name) from None
        return b"".join(parts)

    def _translated(self, raw: bytes) -> bytes:
        if self._plain and not self._between and raw.isascii():
            return raw
        try:
            text = self._decoder.decode(raw, final=not raw)
        except UnicodeError as error:
            start = error.start if isinstance(error, UnicodeDecodeError) else 0
            found = f"byte 0x{raw[start]:02x}" if start < len(raw) else "a broken character"
            raise TableError(
                f"{found} is not valid {self.encoding}",
                where=self._where(raw, start),
                parameter="encoding",
                remedy="Save the file as UTF-8, or pass encoding='cp1252' for most files from "
                "Windows.",
            ) from None
        self._between = bool(self._decoder.getstate()[0])
        return raw if self._plain else text.encode("utf-8", "replace")

    def _where(self, data: bytes, place: int) -> str:
        line = self._lines + data.count(b"\n", 0, place) + 1
        return f"{self.name}, line {line}"

    def _refuse_other_files(self, head: bytes) -> None:
        found = next((other[1:] for other in OTHER_FILES if head.startswith(other[0])), None)
        if head.startswith(b"PK\x03\x04"):
            found = "a zip archive", UNPACK
            if b"opendocument.spreadsheet" in head:
                found = "a LibreOffice file", SAVE_AS_CSV
            elif b"[Content_Types].xml" in head or b"xl/" in head:
                found = "an Excel file", "Give it the ending .xlsx."
        if found is not None:
            raise TableError(f"this is {found[0]}", where=self.name, remedy=found[1])


def refuse_json(head: bytes, name: str) -> None:
    """Refuse the beginning of a file that is not a CSV file, but JSON."""
    if JSON.match(head[:ROW]):
        raise TableError(
            "this is a JSON file", where=name, remedy="Give it the ending .jsonl or .json."
        )


class BlankSeparated(Utf8):
    """UTF-8 with one tab in place of every run of blanks outside quotes."""

    _rest = b""  # of a line that is not complete

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes of whole lines; empty at the end."""
        while True:
            data = super().read(size)
            ahead = self._rest + data
            end = ahead.rfind(b"\n") + 1 if data else len(ahead)
            lines, self._rest = ahead[:end], ahead[end:]
            if len(self._rest) > ROW:
                raise too_large(
                    "the line is too long", ROW, self._where(b"", 0), "Is it a table at all?"
                )
            if end or not data:
                # First one tab for each run: a pattern for the end of a line must not meet a
                # long run, which it would scan again from each of its blanks.
                lines = re.sub(rb'("[^"\n]*")|[ \t]+', lambda m: m[1] or b"\t", lines)
                return re.sub(rb"(?m)^\t|\t(?=\r?$)", b"", lines)
