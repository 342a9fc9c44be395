"""Parquet files: their columns have types already, which are converted to ours.

Words are taken from the dictionaries of the file, each once, so that a long word that is repeated
a million times takes the memory of one.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from rejo.tables._pages import page_sizes
from rejo.tables.dates import ISO, NO_DATE, parse_dates
from rejo.tables.errors import (
    TableError,
    check_columns,
    check_different,
    import_pandas,
    import_pyarrow,
    shown,
)
from rejo.tables.limits import (
    FIELD,
    PIECE,
    check_count,
    check_unpacked,
    check_whole,
    long_field,
    size_of,
)
from rejo.tables.values import Words, cells, check_size, distinct, spread, word_of, words_of

ENDINGS = (".parquet", ".pq")
CELL = 8  # bytes: a number, a date, or the place of a word
LEAST_PAGE = 1 << 10  # bytes that a page counts: the time for an empty one is not nothing
WIDEST_NUMBER = 32  # bytes of a decimal number
SPLIT = "If that is what it should hold, write it as several files, or as CSV."

# What a column held in training, and what the types of a file may bring to it: only what cannot be
# taken for something else.  A date is not a number of milliseconds, and False is not 0.
HELD = {"number": "numbers", "date": "dates", "category": "words"}
WELCOME = {
    "number": {"numbers"},
    "date": {"dates", "words"},
    "category": {"words", "numbers", "truth values", "durations", "times of day"},
}
# Kind of a column in a table that is read whole.
KINDS = {"numbers": "number", "dates": "date"}


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a Parquet file, by its ending."""
    return Path(path).suffix.lower() in ENDINGS


def read_parquet(path: Path, text: Sequence[str]) -> Any:
    """Return a whole file as a DataFrame with the column types of a Table."""
    pd = import_pandas()
    with open_parquet(path) as file:
        names = [name for name in file.names if name]
        check_columns(file.name, text, names)
        kinds = {name: KINDS.get(file.holds(name), "category") for name in names}
        kinds.update(dict.fromkeys(text, "text"))
        frames = []
        for frame in file.frames(kinds, {}, PIECE, known={}):
            check_whole(CELL * len(names) * (frame.index.start + len(frame)), file.name)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)


class ParquetFile:
    """A Parquet file, open."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self.name = name
        self._stream, self._size = stream, os.fstat(stream.fileno()).st_size
        with self._reading():
            self._file = import_pyarrow().parquet.ParquetFile(stream)
            self._types = dict(zip(self.names, self._file.schema_arrow.types, strict=True))
        check_count(len(self.names), name)
        check_different(name, self.names)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._file.schema_arrow.names)

    def holds(self, column: str) -> str:
        """Return what the cells of a column are; refuse those that are not single values."""
        types, type = import_pyarrow().types, self._types[column]
        kinds = {
            "numbers": (types.is_integer, types.is_floating, types.is_decimal),
            "dates": (types.is_date, types.is_timestamp),
            "words": (_are_strings, types.is_dictionary),
            "truth values": (types.is_boolean,),
            "durations": (types.is_duration,),
            "times of day": (types.is_time,),
            "nothing": (types.is_null,),
        }
        for kind, are in kinds.items():
            if any(is_one(type) for is_one in are):
                return kind
        raise TableError(
            f"its cells are of type {shown(type)}, not single values such as numbers, dates or "
            "strings",
            where=f"{self.name}, column {shown(column)}",
            remedy="Leave the column out, or write it as one of these.",
        )

    def frames(
        self,
        kinds: Mapping[str, str],
        written: Mapping[str, Mapping[str, str]],
        rows: int,
        known: dict[str, str] | None = None,
    ) -> Iterator[Any]:
        """Yield some columns as these kinds: frames of limited size, at least one.

        With ``known``, equal words of different frames are one object.
        """
        pd = import_pandas()
        self._check(kinds)
        strings = {name for name in kinds if _are_strings(self._types[name])}
        done = size = 0
        for batch in self._batches(list(kinds), strings, rows):
            found, sizes = {}, np.full(batch.num_rows, CELL * len(kinds))
            for name, kind in kinds.items():
                array = batch.column(batch.schema.get_field_index(name))
                if name in strings:
                    words = self._words(array, name, done)
                    if known is not None:
                        same = [known.setdefault(word, word) for word in words.words]
                        words = Words(words.codes, same)
                    if kind == "text" and known is None:  # to be written out
                        lengths = [len(word.encode("utf-8", "replace")) for word in words.words]
                        sizes += spread(np.array(lengths, dtype=np.int64), words, 0)
                    found[name] = self._strings(
                        words, kind, written.get(name, {}).get("format", ISO), name, done
                    )
                else:
                    found[name] = self._values(array, kind, name, done)
            check_unpacked(size := size + int(sizes.sum()), self._size, self.name, SPLIT)
            index = pd.RangeIndex(done, done + batch.num_rows)
            frame = pd.DataFrame(
                {
                    # Otherwise pandas would give strings a type of its own.
                    name: pd.Series(v, index, dtype=object if v.dtype == object else None)
                    for name, v in found.items()
                },
                index=index,
            )
            for start, end in _pieces(sizes):
                yield frame.iloc[start:end]
            done += batch.num_rows
        if done != self._file.metadata.num_rows:
            raise self._damaged(f"it has {done:,} rows, but says {self._file.metadata.num_rows:,}")

    def _batches(self, columns: list[str], strings: set[str], rows: int) -> Iterator[Any]:
        """Yield the rows as pyarrow has them, with strings as places in a dictionary."""
        pa = import_pyarrow()
        done = 0
        with self._reading():
            file = pa.parquet.ParquetFile(
                self._stream,
                metadata=self._file.metadata,
                read_dictionary=list(strings),
                page_checksum_verification=True,
            )
            size = max(1, min(rows, PIECE // (CELL * len(columns))))
            batches = file.iter_batches(batch_size=size, columns=columns)
        while True:
            with self._reading(done):
                batch = next(batches, None)
            if batch is None:
                break
            if batch.num_rows:
                yield batch
            done += batch.num_rows
        if done == 0:
            with self._reading():
                empty = file.schema_arrow.empty_table().select(columns).combine_chunks()
                yield pa.RecordBatch.from_arrays(
                    [pa.array([], column.type) for column in empty.schema], schema=empty.schema
                )

    def _check(self, kinds: Mapping[str, str]) -> None:
        """Refuse, before anything is read, columns of other kinds, and more than fits the file."""
        for name, kind in kinds.items():
            found = self.holds(name)
            if kind in WELCOME and found not in WELCOME[kind] | {"nothing"}:
                raise TableError(
                    f"it held {HELD[kind]} in training, but here it holds {found} (type "
                    f"{shown(self._types[name])})",
                    where=f"{self.name}, column {shown(name)}",
                    remedy=f"Write {HELD[kind]} there, or train the model on such a table.",
                )
        with self._reading():
            about = self._file.metadata
            wanted = [
                i
                for i in range(about.num_columns)
                if not kinds.keys().isdisjoint(_prefixes(about.schema.column(i).path))
            ]
            widest = max((about.schema.column(i).length or 0 for i in wanted), default=0)
        if widest > WIDEST_NUMBER:
            raise self._damaged(f"numbers of {size_of(widest)} each")
        check_unpacked(CELL * len(kinds) * about.num_rows, self._size, self.name, SPLIT)
        unpacked = 0
        with self._reading():
            for size in page_sizes(self._stream, self._size, wanted):
                unpacked += max(size, LEAST_PAGE)
                check_unpacked(unpacked, self._size, self.name, SPLIT)

    def _words(self, array: Any, name: str, first: int) -> Words:
        """Return the words of a column of strings; only those that occur."""
        pa = import_pyarrow()
        with self._reading(first):
            if not pa.types.is_dictionary(array.type):
                array = array.dictionary_encode()
            codes = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
            used, codes = np.unique(codes, return_inverse=True)
            missing = int(used[0] == -1) if len(used) else 0
            taken = array.dictionary.take(pa.array(used[missing:]))
            lengths = pa.compute.binary_length(taken).fill_null(0).to_numpy(zero_copy_only=False)
            long = np.flatnonzero(lengths > FIELD)
            words = [] if len(long) else taken.to_pylist()
        if len(long):
            row = first + int((codes == missing + long[0]).argmax()) + 1
            raise long_field(f"{self.name}, row {row}, column {shown(name)}")
        texts = ["" if word is None else word.strip() for word in words]
        return distinct(codes - missing, texts, missing=("",))

    def _strings(self, words: Words, kind: str, format: str, name: str, first: int) -> Any:
        """Return words as text, as categories, or as dates."""
        if kind != "date":
            return cells(words)
        dates = parse_dates(words.words, format)
        if np.isnat(dates).any():
            wrong = int(np.isnat(dates).argmax())
            row = first + int((words.codes == wrong).argmax()) + 1
            raise TableError(
                f"{shown(words.words[wrong])} is not a date",
                where=f"{self.name}, row {row}, column {shown(name)}",
                remedy="Correct the cell, or leave it empty if the value is missing.",
            )
        return spread(dates, words, NO_DATE)

    def _values(self, array: Any, kind: str, name: str, first: int) -> NDArray[Any]:
        """Return cells that are not strings as numbers, as dates, or as strings and None."""
        pa = import_pyarrow()
        with self._reading(first):
            if pa.types.is_null(array.type):
                array = array.cast({"number": pa.float64(), "date": pa.date32()}.get(kind, "str"))
            elif kind == "number" and pa.types.is_decimal(array.type):
                array = array.cast(pa.float64(), safe=False)
            elif kind != "number" and pa.types.is_integer(array.type):
                # If some are missing, pandas would turn 7 into 7.0.
                array = array.cast(pa.string())
            column = array.to_pandas(date_as_object=False, timestamp_as_object=False)
            if kind == "date":
                if getattr(column.dtype, "tz", None) is not None:
                    column = column.dt.tz_convert("UTC").dt.tz_localize(None)
                return column.astype("datetime64[us]").to_numpy()
            if kind == "number":
                numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if kind == "number":
            return check_size(
                numbers, lambda row: f"{self.name}, row {first + row + 1}, column {shown(name)}"
            )
        as_text = str if kind == "text" else word_of
        return cells(words_of(column, missing=("",), text=lambda value: as_text(value).strip()))

    @contextmanager
    def _reading(self, done: int = 0) -> Iterator[None]:
        """Turn any error of pyarrow, which has many, into a TableError."""
        try:
            yield
        except TableError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:120] or type(error).__name__
            raise self._damaged(reason, f", after row {done}" * (done > 0)) from None

    def _damaged(self, reason: str, place: str = "") -> TableError:
        return TableError(
            f"this is not a Parquet file, or it is damaged ({reason})",
            where=self.name + place,
            remedy="Write it again.",
        )


@contextmanager
def open_parquet(path: Path) -> Iterator[ParquetFile]:
    """Open a file."""
    import_pyarrow()
    import_pandas()
    if path.is_dir():
        raise TableError("this is a folder", where=str(path), remedy="Name a file in it.")
    with path.open("rb") as stream:
        yield ParquetFile(stream, str(path))


def _are_strings(type: Any) -> bool:
    """Return whether a type is that of strings, by themselves or in a dictionary."""
    types = import_pyarrow().types
    if types.is_dictionary(type):
        type = type.value_type
    return bool(types.is_string(type) or types.is_large_string(type))


def _prefixes(path: str) -> list[str]:
    """Return the columns that a leaf of the schema may belong to, by their names."""
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]


def _pieces(sizes: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Cut rows of these sizes into pieces; yield the first row and the end of each."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        before = ends[start - 1] if start else 0
        end = max(start + 1, int(np.searchsorted(ends, before + PIECE, side="right")))
        yield start, end
        start = end
    if not len(sizes):
        yield 0, 0
