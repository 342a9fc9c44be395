"""Blocks of a clean CSV file by pyarrow, with the values that pandas reads.

pyarrow rounds every number correctly.  So does pandas from version 3.1 on; before, only where a
number has at most 15 digits and its decimal point is not moved by more than 22 places: then one
division or product of two exact numbers is the result.  Columns with other numbers are left to
pandas, and blocks in which a cell is not a number, where one is expected, to the careful reader.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from functools import cache
from io import StringIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.tables._arrow_words import codes_in, texts_in, words_with
from rejo.tables._csv import GAPS, CsvFile
from rejo.tables._records import FieldEnds, RowBlock
from rejo.tables.errors import import_pandas, pyarrow_if_there
from rejo.tables.values import Words

SMALLEST = 1 << 16  # bytes of a block for which pyarrow pays
DIGITS = 15  # letters of a number that has at most as many digits
LEAST, MOST = 1e-7, 1e15  # sizes of numbers whose point is not moved far, whatever their exponent

Column = NDArray[Any] | Words  # numbers, texts, or words


class ArrowParser:
    """Reads columns of a file by pyarrow, where it reads what pandas does."""

    def __init__(self, file: CsvFile) -> None:
        self._file = file
        # pandas compares such entries with numbers, too: 999 means 999.0.
        self._is_usable = not any(map(_is_number, file.missing))

    def columns(
        self, block: RowBlock, kinds: Mapping[str, str], numbers: Collection[str]
    ) -> dict[str, Column] | None:
        """Return the columns of a block, None if it needs the careful reader.

        Those of ``numbers`` are numbers if pandas can read them, texts are texts, and all others
        are words.
        """
        layout, pa = block.layout, pyarrow_if_there()
        if not self._is_usable or layout is None or len(block.data) < SMALLEST or pa is None:
            return None
        place = {name: self._file.place_of(name) for name in kinds}
        rounds = pandas_rounds()
        short = {n for n in numbers if rounds or layout.longest(place[n]) <= DIGITS}
        types = {
            str(place[name]): pa.float64() if name in short else pa.string()
            for name in kinds
            if name in short or name not in numbers
        }
        try:
            table = self._table(block.data, layout, types, pa)
        except pa.ArrowInvalid:  # a cell is not a number
            return None
        if table.num_rows != len(layout.newlines):
            return None
        found: dict[str, Column] = {}
        for name, kind in kinds.items():
            if name in numbers and name not in short:
                continue
            (array,) = table.column(str(place[name])).chunks
            if name not in short:
                found[name] = texts_in(array) if kind == "text" else self._words(array, pa)
            elif (values := exact_numbers(array, rounds)) is not None:
                found[name] = values
        return self._with_others(block, kinds, found)

    def _table(self, data: bytes, layout: FieldEnds, types: dict[str, Any], pa: Any) -> Any:
        return pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(
                block_size=len(data) + 1,
                column_names=list(map(str, range(layout.seps.shape[1] + 1))),
            ),
            pa.csv.ParseOptions(delimiter=self._file.delimiter, ignore_empty_lines=False),
            pa.csv.ConvertOptions(
                check_utf8=False,  # done
                column_types=types,
                include_columns=list(types),
                null_values=[*self._file.missing, *GAPS],
                decimal_point=self._file.decimal,
            ),
        )

    def _words(self, array: Any, pa: Any) -> Words:
        return words_with(*codes_in(array, pa), self._file.missing)

    def _with_others(
        self, block: RowBlock, kinds: Mapping[str, str], found: dict[str, Column]
    ) -> dict[str, Column] | None:
        """Let pandas read the columns that are not there yet, which hold numbers."""
        others = [name for name in kinds if name not in found]
        if others:
            dtypes = dict.fromkeys(others, np.float64)
            try:
                frame = self._file.parse(block, others, dtypes, (), others)
            except (ValueError, TypeError):
                return None
            found |= {name: np.asarray(frame[name]) for name in others}
        return found


def _is_number(word: str) -> bool:
    with suppress(ValueError):
        return not np.isnan(float(word))
    return False


def exact_numbers(array: Any, rounds: bool) -> Floats | None:
    """Return short numbers with NaN for nulls; None if pandas might read others.

    ``rounds`` tells whether pandas rounds any number correctly.
    """
    values: Floats = array.to_numpy(zero_copy_only=False)
    if rounds:
        fine = np.count_nonzero(np.isfinite(values))
    else:
        size = np.abs(values)
        fine = np.count_nonzero((size == 0) | ((size >= LEAST) & (size <= MOST)))
    return values if fine + array.null_count == len(values) else None


@cache
def pandas_rounds() -> bool:
    """Return whether pandas reads numbers of any length as Python does."""
    texts = [repr(1 / n) for n in range(3, 200)]
    read = import_pandas().read_csv(StringIO("\n".join(texts)), header=None)[0]
    return read.tolist() == list(map(float, texts))
