"""What the pages of a Parquet file unpack to, by their headers, before any of them is unpacked.

The footer of a file has such a number too, but it may be wrong, and memory is taken by what the
header of a page says.  Footer and headers are Thrift structs in the compact protocol, and are read
here because pyarrow ends the process if the footer's entry for a column is damaged in some ways:
https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.

Anything wrong is an exception of any kind, and means that the file is damaged.
"""

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple

from rejo.tables.limits import size_of

LONGEST_FOOTER, LONGEST_HEADER = 1 << 24, 1 << 20  # bytes
# Numbers of the fields of a file, a row group and a column in it ...
ROW_GROUPS, COLUMNS, COLUMN = 4, 1, 3
N_COLUMN_VALUES, FIRST_PAGE, DICTIONARY = 5, 9, 11
# ... of the header of a page, and of the header of a data page within it.
UNPACKED, PACKED, DATA_PAGE, DATA_PAGE_V2 = 2, 3, 5, 8
N_VALUES, ENCODING, ENCODING_V2 = 1, 2, 4
# How strings are stored so that a page holds at most its own size of them, or places in the
# dictionary (two kinds of that).  Other encodings may repeat parts of earlier strings.
PLAIN, PLACES = 0, {2, 8}

# Which fields of a struct are kept, and which fields of these: all others take no memory.
Fields = dict[int, Any]
FOOTER: Fields = {
    ROW_GROUPS: {COLUMNS: {COLUMN: {N_COLUMN_VALUES: {}, FIRST_PAGE: {}, DICTIONARY: {}}}}
}
PAGE: Fields = {
    UNPACKED: {},
    PACKED: {},
    DATA_PAGE: {N_VALUES: {}, ENCODING: {}},
    DATA_PAGE_V2: {N_VALUES: {}, ENCODING_V2: {}},
}


class Page(NamedTuple):
    """What the header of a page says."""

    column: int
    size: int  # unpacked
    is_simple: bool  # strings as they are, or places in a dictionary that is known from the start


def footer_of(stream: BinaryIO, size: int) -> bytes:
    """Return the footer of a file of this size, which says where all its pages are."""
    stream.seek(size - 8)
    length = int.from_bytes(stream.read(4), "little")
    if length > LONGEST_FOOTER:
        raise ValueError(f"its footer has more than {size_of(LONGEST_FOOTER)}")
    stream.seek(size - 8 - length)
    return stream.read(length)


@lru_cache(maxsize=1)  # a file may be read one row group after the other
def _row_groups(footer: bytes) -> Any:
    return _Thrift(footer).struct(FOOTER)[ROW_GROUPS]


def pages_of(
    stream: BinaryIO, size: int, columns: Collection[int], groups: Sequence[int] | None = None
) -> Iterator[Page]:
    """Yield the pages of some columns, and of some row groups or all, of a file of this size."""
    found = _row_groups(footer_of(stream, size))
    for group in found if groups is None else map(found.__getitem__, groups):
        for i in columns:
            for unpacked, is_simple in _pages(stream, group[COLUMNS][i][COLUMN]):
                yield Page(i, unpacked, is_simple)


def _pages(stream: BinaryIO, column: dict[int, Any]) -> Iterator[tuple[int, bool]]:
    """Yield the pages of a column in a row group, as pyarrow reads them."""
    start = column[FIRST_PAGE]
    if 0 < column.get(DICTIONARY, 0) < start:
        start = column[DICTIONARY]
    seen, plain = 0, False
    while seen < column[N_COLUMN_VALUES]:
        header, size = _header(stream, start)
        unpacked, packed = header[UNPACKED], header[PACKED]
        data = header.get(DATA_PAGE) or header.get(DATA_PAGE_V2) or {N_VALUES: 0}
        if min(unpacked, packed, data[N_VALUES]) < 0:
            raise ValueError("a page has a negative size")
        kinds = {DATA_PAGE: ENCODING, DATA_PAGE_V2: ENCODING_V2}
        encodings = {header[kind].get(field) for kind, field in kinds.items() if kind in header}
        # Writers go over from places to strings when the dictionary is full, and never back.
        yield unpacked, encodings <= (PLACES | {PLAIN} if not plain else {PLAIN})
        plain |= PLAIN in encodings
        seen += data[N_VALUES]
        start += size + packed


def _header(stream: BinaryIO, start: int) -> tuple[dict[int, Any], int]:
    """Return the header of the page at a place in the file, and its length."""
    size = 1 << 8
    while True:
        stream.seek(start)
        data = stream.read(size)
        try:
            thrift = _Thrift(data)
            return thrift.struct(PAGE), thrift.at
        except IndexError:
            if len(data) < size or size > LONGEST_HEADER:
                raise ValueError("the header of a page is not complete") from None
            size *= 8


class _Thrift:
    """A reader of the compact protocol; an IndexError is the end of the data.

    Strings, and fields that nobody asks for, are skipped.  Numbers are cut to their width as
    Thrift's own reader does it.
    """

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def struct(self, kept: Fields, depth: int = 0) -> dict[int, Any]:
        if depth > 8:
            raise ValueError("it is nested too deeply")
        found: dict[int, Any] = {}
        seen: set[int] = set()
        field = 0
        while head := self._byte():
            if head & 15 == 0:
                raise ValueError("a field has no type")
            field = _cut(field + (head >> 4) if head >> 4 else self._integer(32), 16)
            if field in seen:
                raise ValueError("a field occurs twice")
            seen.add(field)
            value = self._value(head & 15, kept.get(field), depth)
            if field in kept:
                found[field] = value
        return found

    def _value(self, kind: int, kept: Fields | None, depth: int) -> Any:
        if kind in (1, 2):  # true, false: the kind is the value
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer(64 if kind == 6 else 32)
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(_cut(self._varint(), 32))
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            kind = head & 15 if head & 15 > 2 else 3  # in a list, a truth value takes a byte
            items = (self._value(kind, kept, depth) for _ in range(size))
            return deque(items, maxlen=0) if kept is None else list(items)
        if kind == 12:
            return self.struct(kept or {}, depth + 1)
        raise ValueError("a field has an unknown type")

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, size: int) -> None:
        if size < 0:
            raise ValueError("a string has a negative length")
        self.at += size
        if self.at > len(self._data):
            raise IndexError

    def _varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("a number is too long")

    def _integer(self, bits: int) -> int:
        value = self._varint() % (1 << bits)
        return (value >> 1) ^ -(value & 1)


def _cut(value: int, bits: int) -> int:
    """Return a number as a signed one of so many bits."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half
