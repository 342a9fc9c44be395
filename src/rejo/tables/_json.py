"""JSON files: an object for each row, one after the other or in one list.

A column may be absent from an object, and is missing there.  A row with the same name twice is in
doubt: it is not clear which value counts.
"""

import codecs
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any

from rejo.tables._csv import HEAD, Utf8, open_bytes
from rejo.tables.errors import ROW, TableError, check_names, shown, too_large
from rejo.tables.sources import How, RowSource, name_of

LOOK = 1000  # objects in which a column must occur
BLANKS = re.compile(r"[ \t\r\n]*")


class JsonSource(RowSource):
    format = "json"

    def __init__(self, reader: Utf8) -> None:
        self.name = reader.name
        self._objects = _objects(reader)
        self._first = list(islice(self._objects, LOOK))
        self.names = list(dict.fromkeys(key for found in self._first for key in found))

    def _rows(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        return chain(self._first, self._objects)

    def _taken(self, batch: list[Any], columns: Sequence[str] | None) -> dict[str, list[Any]]:
        names = columns
        if names is None:
            names = list(dict.fromkeys(key for row in batch for key in row if key))
            check_names(self.name, names)
        return {name: [row.get(name) for row in batch] for name in names}

    def _doubt(self, row: Any) -> tuple[str, str] | None:
        return ("twice", row.name) if isinstance(row, _Twice) else None


@contextmanager
def open_table(path: str | os.PathLike[str], how: How) -> Iterator[JsonSource]:
    with open_bytes(path) as stream:
        yield JsonSource(Utf8(stream, how.encoding, name_of(path)))


class _Twice(dict[str, Any]):
    name = ""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    twice = _Twice(found)
    twice.name = next(name for name, n in Counter(name for name, _ in pairs).items() if n > 1)
    return twice


def _objects(reader: Utf8) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file, of which a small part is in memory."""
    text = _Text(reader)
    start = text.next(skip="[")
    if start not in ("[", "{"):
        problem = "the file is empty" if not start else f"JSON does not begin with {shown(start)}"
        raise TableError(
            problem,
            where=reader.name,
            remedy="It must hold an object for each row. If it is a CSV file, give it the ending "
            ".csv.",
        )
    listed = start == "["
    more = not listed or text.next() != "]"
    while more:
        yield text.object()
        more = text.next(skip=",") == "," if listed else bool(text.next())
    if listed and text.next(skip="]") != "]":
        raise text.wrong("a list must have commas between its objects, and an end")
    if text.next():
        raise text.wrong("something follows the list")


class _Text:
    def __init__(self, reader: Utf8) -> None:
        self._reader = reader
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._scan = json.JSONDecoder(
            object_pairs_hook=_object,
            parse_constant=lambda name: None if name == "NaN" else float(name),
        ).raw_decode
        self._text, self._at, self._line, self._ended = "", 0, 1, False

    def next(self, skip: str = " ") -> str:
        """Return the next character that is not blank, empty at the end; take only ``skip``."""
        while True:
            self._take(BLANKS.match(self._text, self._at).end())  # type: ignore[union-attr]
            if self._at < len(self._text) or self._ended:
                found = self._text[self._at : self._at + 1]
                self._at += found == skip
                return found
            self._more()

    def object(self) -> dict[str, Any]:
        self.next()
        while True:
            try:
                found, end = self._scan(self._text, self._at)
                break
            except RecursionError:
                raise self.wrong("it is nested too deeply") from None
            except ValueError as error:  # perhaps its end has not been read yet
                is_long = len(self._text) - self._at > ROW
                if is_long and "\n" not in self._text[self._at :]:
                    remedy = "Is it a table at all?"
                    raise too_large("the object is too long", ROW, self._where(), remedy) from None
                if is_long or self._ended:
                    raise self.wrong(getattr(error, "msg", str(error))[:120]) from None
            self._more()
        if not isinstance(found, dict):
            raise self.wrong(f"{shown(found)} is not an object")
        self._take(end)
        return found

    def wrong(self, reason: str) -> TableError:
        """Return the error for what comes next."""
        return TableError(
            f"this is not the JSON of a table ({reason})",
            where=self._where(),
            remedy='Each row must be an object, such as {"age": 31, "job": "clerk"}.',
        )

    def _where(self) -> str:
        return f"{self._reader.name}, line {self._line}"

    def _take(self, end: int) -> None:
        self._line += self._text.count("\n", self._at, end)
        self._at = end

    def _more(self) -> None:
        data = self._reader.read(HEAD)
        self._ended = not data
        self._text, self._at = self._text[self._at :] + self._decode(data, not data), 0
