"""The bytes of a table file as UTF-8, whatever it was written in.

What is no text at all (an Excel file, an archive) is told by its first bytes.
"""

from __future__ import annotations

import codecs
import gzip
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np

from rejo.tables.errors import TableError, shown

HEAD = 1 << 18  # bytes, enough to see how a table is written
ENCODING_REMEDY = "save it as UTF-8, or name its encoding, such as --encoding cp1252 (Windows)"

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# First bytes of files that are often taken for tables.
OTHER_FILES = (
    (b"\xd0\xcf\x11\xe0", "an old Excel file; save it as CSV"),
    (b"PAR1", "a Parquet file; give it the ending .parquet"),
    (b"%PDF", "a PDF file; a table as CSV is needed"),
    (b"BZh", "compressed by bzip2; unpack it first"),
    (b"\xfd7zXZ", "compressed by xz; unpack it first"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd; unpack it first"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    (b"SQLite format 3\0", "an SQLite database; export the table as CSV"),
)


def count_lines(data: bytes) -> int:
    """Number of line ends; many times faster than ``bytes.count``."""
    return int(np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == 10))


def name_of(path: str | os.PathLike[str]) -> str:
    """Return what messages call the file."""
    return "stdin" if os.fspath(path) == "-" else os.fspath(path)


@contextmanager
def open_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``; gzip is unpacked on the way."""
    if os.fspath(path) == "-":
        stream: Any = getattr(sys.stdin, "buffer", sys.stdin)
        yield stream
        return
    if os.path.isdir(path):
        raise TableError(f"{name_of(path)} is a folder; name a file in it")
    with open(path, "rb") as raw:
        if raw.read(2) == b"\x1f\x8b":
            raw.seek(0)
            with gzip.open(raw) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            raw.seek(0)
            yield raw


class Utf8:
    """What a stream of bytes holds, checked and translated to UTF-8.

    Parameters
    ----------
    stream : binary file
    encoding : str or None
        ``None``: by the byte order mark, else UTF-8.
    name : str
        Of the file, for messages.
    """

    def __init__(self, stream: BinaryIO, encoding: str | None, name: str) -> None:
        self.name = name
        self._stream = stream
        self._lines = 0  # line ends handed on so far
        self._old_mac = False
        self._ahead = self._raw(HEAD)
        self.short = len(self._ahead) < HEAD  # the first piece is all there is
        self._refuse_other_files(self._ahead)
        mark = next((found for bom, found in MARKS if self._ahead.startswith(bom)), None)
        self.encoding = mark or "utf-8" if encoding is None else encoding
        try:
            plain = codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig", "ascii")
            self._decoder = codecs.getincrementaldecoder(self.encoding)()
            self._decoder.decode(b"")
        except (LookupError, AttributeError, TypeError):
            raise TableError(
                f"{name}: no encoding is called {shown(encoding)}; common ones are utf-8, "
                "latin-1, cp1252 and utf-16"
            ) from None
        self._plain = plain  # already UTF-8: to be checked, not to be translated
        if plain and self._ahead.startswith(codecs.BOM_UTF8):
            self._ahead = self._ahead[3:]
            self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._between = False  # bytes of a character are outstanding
        # Lines that end in a carriage return alone, as on old Macs.
        self._old_mac = b"\r" in self._ahead and b"\n" not in self._ahead

    def read(self, size: int) -> bytes:
        """Return about ``size`` bytes; none at the end."""
        while True:
            raw, self._ahead = self._ahead or self._raw(size), b""
            data = self._translated(raw)
            if b"\0" in data:
                line = self._line(data, data.find(0))
                raise TableError(
                    f"{self.name} holds a NUL byte in line {line}: it is no text file, or UTF-16 "
                    "without its mark; export it again as CSV in UTF-8, or name its encoding, "
                    "e.g. --encoding utf-16-le"
                )
            if self._old_mac:
                data = data.replace(b"\r", b"\n")
            if data or not raw:
                self._lines += count_lines(data)
                return data

    def _raw(self, size: int) -> bytes:
        """Return ``size`` bytes, fewer only at the end: a pipe hands over what it has."""
        parts, missing = [], size
        try:
            while missing > 0 and (part := self._stream.read(missing)):
                if isinstance(part, str):
                    part = part.encode()
                parts.append(part)
                missing -= len(part)
        except (EOFError, gzip.BadGzipFile, gzip.zlib.error) as error:  # type: ignore[attr-defined]
            raise TableError(
                f"{self.name} is a damaged gzip file ({error}); copy it again"
            ) from None
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
                f"{self.name}, line {self._line(raw, start)}: {found} is not in the encoding "
                f"{self.encoding}; {ENCODING_REMEDY}"
            ) from None
        self._between = bool(self._decoder.getstate()[0])
        return raw if self._plain else text.encode("utf-8", "replace")

    def _line(self, data: bytes, end: int) -> int:
        """Number of the line that the byte at ``end`` of this piece stands in."""
        return self._lines + data.count(b"\n", 0, end) + 1

    def _refuse_other_files(self, head: bytes) -> None:
        what = next((what for magic, what in OTHER_FILES if head.startswith(magic)), None)
        if head.startswith(b"PK\x03\x04"):
            office = b"[Content_Types].xml" in head or b"xl/" in head
            what = "an Excel file; save it as CSV" if office else "a zip archive; unpack it first"
            if b"opendocument.spreadsheet" in head:
                what = "a LibreOffice file; save it as CSV"
        if what is not None:
            raise TableError(f"{self.name} is {what}")
