"""A CSV file, open: how it is written, its blocks of rows, and pandas to parse them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rejo.tables._bytes import Utf8, name_of, open_bytes
from rejo.tables._records import Block, blocks, code_columns, line_of
from rejo.tables._sniff import MISSING, sniff
from rejo.tables.errors import TableError, import_pandas

LARGEST_BLOCK = 1 << 27  # bytes


class CsvFile:
    """A CSV file that is read once, from its beginning to its end."""

    def __init__(self, reader: Utf8, sep: str | None = None, decimal: str | None = None) -> None:
        self._reader = reader
        self._head, whole = reader.read(1 << 18), reader.short
        while b"\n" not in self._head and not whole and len(self._head) < LARGEST_BLOCK:
            more = reader.read(1 << 18)  # a long header line
            self._head, whole = self._head + more, not more
        style = sniff(reader.name, self._head, sep, decimal, whole)
        self.name = reader.name
        self.encoding = reader.encoding
        self.sep, self.decimal = style.sep, style.decimal
        self.names = [name for name in style.names if name]
        self._place = {name: i for i, name in enumerate(style.names) if name}
        self._width = len(style.names)
        self._style = style

    def blocks(self, rows: int) -> Iterator[Block]:
        """Yield blocks of about so many rows."""
        style = self._style
        size = min(max(int(rows * style.row_size), 1 << 12), LARGEST_BLOCK)
        return blocks(
            self._reader,
            self._head[style.header_size :],
            style.header_lines + 1,
            sep=self.sep,
            n_columns=self._width,
            size=size,
        )

    def parse(
        self,
        block: Block,
        columns: Sequence[str],
        dtypes: Mapping[str, Any],
        text: Collection[str] = (),
    ) -> Any:
        """DataFrame of some columns of a block; without a dtype, of the type that pandas finds.

        Those of ``text`` are strings as they are written, also such as ``NA`` and the empty one.
        """
        pd = import_pandas("reading a table")
        try:
            frame = pd.read_csv(
                _Handle(block.data),
                header=None,
                names=range(self._width),
                usecols=[self._place[name] for name in columns],
                dtype={self._place[name]: dtype for name, dtype in dtypes.items()}
                | {self._place[name]: object for name in text},
                sep=self.sep,
                decimal=self.decimal,
                na_values={self._place[name]: MISSING for name in columns if name not in text},
                keep_default_na=False,
                skipinitialspace=True,
                low_memory=False,
                encoding="utf-8",
            )
        except pd.errors.ParserError as error:
            reason = " ".join(str(error).split())
            raise TableError(
                f"{self.name}: the rows from line {block.line} on cannot be read ({reason[:120]}); "
                "mend them, or name another separator by --sep"
            ) from None
        frame.columns = [self._name(place) for place in frame.columns]
        return frame[list(columns)]

    def code_columns(self, block: Block) -> set[str]:
        """Names of the columns in which a cell of the block looks like 007."""
        return {self._name(i) for i in code_columns(block.data, self.sep) if i < self._width}

    def place(self, block: Block, row: int) -> str:
        """Say where a row of a block stands, for a message."""
        return f"{self.name}, line {line_of(self.name, block, row, self.sep, self._width)}"

    def _name(self, place: int) -> str:
        return self._style.names[place]


@contextmanager
def open_csv(
    path: str | os.PathLike[str],
    *,
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
) -> Iterator[CsvFile]:
    """Open a CSV file and find out how it is written."""
    with open_bytes(path) as stream:
        yield CsvFile(Utf8(stream, encoding, name_of(path)), sep, decimal)


class _Handle:
    """A file for pandas that hands over bytes of UTF-8 as they are.

    A ``BytesIO`` would be decoded, and encoded again for the parser.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        part = self._data[self._at : end]
        self._at += len(part)
        return part

    def __iter__(self) -> Iterator[bytes]:
        raise NotImplementedError("pandas' C parser reads by size")
