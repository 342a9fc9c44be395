"""What the pages of a Parquet file unpack to, by their headers, before any of them is unpacked.

The footer of a file has such a number too, but it may be wrong, and memory is taken by what the
header of a page says.  A header is a Thrift struct in the compact protocol:
https://parquet.apache.org/docs/file-format/data-pages/ and
https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md.
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

LONGEST_HEADER = 1 << 20  # bytes
# Fields of a header, and of the headers of data pages within it.
UNPACKED, PACKED, DATA_PAGE, DATA_PAGE_V2 = 2, 3, 5, 8
N_VALUES = 1


def page_sizes(stream: BinaryIO, column: Any) -> Iterator[int]:
    """Yield the unpacked size of each page of a column in a row group, as pyarrow will read them.

    A ValueError or an IndexError means that the pages cannot be read.
    """
    start = column.data_page_offset
    if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
        start = column.dictionary_page_offset
    seen = 0
    while seen < column.num_values:
        header, size = _header(stream, start)
        unpacked, packed = header[UNPACKED], header[PACKED]
        data = header.get(DATA_PAGE) or header.get(DATA_PAGE_V2) or {N_VALUES: 0}
        if min(unpacked, packed, data[N_VALUES]) < 0:
            raise ValueError("a page has a negative size")
        yield unpacked
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
            return thrift.struct(), thrift.at
        except IndexError:
            if len(data) < size or size > LONGEST_HEADER:
                raise ValueError("the header of a page is not complete") from None
            size *= 8


class _Thrift:
    """A reader of the compact protocol; an IndexError is the end of the data."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > 8:
            raise ValueError("the header of a page is nested too deeply")
        found: dict[int, Any] = {}
        field = 0
        while head := self._byte():
            field = field + (head >> 4) if head >> 4 else self._integer()
            found[field] = self._value(head & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # true, false: the kind is the value
            return kind == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 7:
            return self._skip(8)
        if kind == 8:
            return self._skip(self._varint())
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError("the header of a page has a field of an unknown type")  # none is a list

    def _byte(self) -> int:
        self.at += 1
        return self._data[self.at - 1]

    def _skip(self, size: int) -> None:
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
        raise ValueError("the header of a page has a number that is too long")

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
