"""Rows of a frame as lines of a CSV file, by pyarrow: the same bytes as from the texts of cells.

Each column becomes an array of texts as they are written.  Few different words are looked up by
their codes.  Numbers that pyarrow writes otherwise than Python are written by Python, and so is
text that may need quotes, or that a spreadsheet may run.
"""

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.tables._csv_texts import text_of, texts_of_cells, written
from rejo.tables.errors import import_pandas

FEW, LOOK = 100, 1000  # words among so many cells are looked up
# Numbers that are not whole, and of this size, look the same in Python and in pyarrow.
LEAST, MOST = 1e-4, 1e9
# Bytes that need quotes, or after which a spreadsheet may split a text; and those that may begin a
# text which is surely not a formula.
SPECIAL = np.zeros(256, dtype=bool)
SPECIAL[list(b'",;\t\r\n')] = True
FIRST = np.zeros(256, dtype=bool)
FIRST[list(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")] = True


def lines_of(frame: Any, sep: str, pa: Any) -> memoryview:
    """Return the rows of a frame with several columns as lines, each with its line end."""
    columns = [_texts(frame.iloc[:, i], pa) for i in range(frame.shape[1])]
    lines = pa.compute.binary_join_element_wise(
        *columns, pa.scalar(sep, pa.large_string()), null_handling="replace", null_replacement=""
    )
    # An empty text at the end, so that the last line has a line end, too.
    lines = pa.concat_arrays([lines, pa.array([""], pa.large_string())])
    whole = pa.LargeListArray.from_arrays([0, len(lines)], lines)
    joined = pa.compute.binary_join(whole, pa.scalar("\n", pa.large_string()))
    return memoryview(joined[0].as_buffer())


def _texts(column: Any, pa: Any) -> Any:
    """Return the cells of a column as they are written; a missing one may be null."""
    pd = import_pandas("writing a table")
    types, dtype = pd.api.types, column.dtype
    if types.is_float_dtype(dtype):
        return _number_texts(column.to_numpy(dtype=np.float64, na_value=np.nan), pa)
    if types.is_integer_dtype(dtype):
        return pa.array(column, from_pandas=True).cast(pa.large_string())
    if isinstance(dtype, pd.CategoricalDtype):
        return _looked_up(column.cat.codes.to_numpy(), column.cat.categories.tolist(), pa)
    strings = isinstance(dtype, pd.StringDtype)
    if strings or types.infer_dtype(column, skipna=True) in ("string", "empty"):
        if column.iloc[:LOOK].nunique() <= FEW:
            coded = _strings(column, pa).dictionary_encode()
            codes = coded.indices.fill_null(-1).to_numpy()
            return _looked_up(codes, coded.dictionary.to_pylist(), pa)
        if _is_harmless(texts := _strings(column, pa)):
            return texts
    return _strings(texts_of_cells(column, alone=False), pa)


def _number_texts(values: Floats, pa: Any) -> Any:
    if (places := _four_decimals(values)) is not None:
        return _decimals(pa).take(pa.array(places))
    texts = pa.array(values, from_pandas=True).cast(pa.large_string())
    size = np.abs(values)
    same = (size >= LEAST) & (size < MOST) & (values != np.rint(values))
    others = ~same & ~np.isnan(values)
    if others.any():
        by_python = pa.array(map(repr, values[others].tolist()), pa.large_string())
        texts = pa.compute.replace_with_mask(texts, pa.array(others), by_python)
    return texts


def _four_decimals(values: Floats) -> NDArray[np.int64] | None:
    """Return which multiple of 0.0001 each number is; 10,001 for NaN; None for other numbers."""
    gaps = np.isnan(values)
    if not (gaps | ((values <= 1) & (values >= 0) & ~np.signbit(values))).all():
        return None
    scaled = np.rint(values * 1e4)
    if not (gaps | (scaled / 1e4 == values)).all():
        return None
    return np.where(gaps, 10_001, scaled).astype(np.int64)


@cache
def _decimals(pa: Any) -> Any:
    """Texts of rates in four decimals, from 0.0 to 1.0, and the one of a missing rate."""
    return pa.array([*(repr(n / 10_000) for n in range(10_001)), ""], pa.large_string())


def _looked_up(codes: Any, found: list[Any], pa: Any) -> Any:
    """Return the texts of few words; code -1 is a missing one."""
    texts = written([text_of(value) for value in found], alone=False)
    return _strings([*texts, ""], pa).take(pa.array(np.where(codes < 0, len(found), codes)))


def _strings(texts: Any, pa: Any) -> Any:
    try:
        return pa.array(texts, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError:  # half a character
        found = [text and text.encode("utf-8", "backslashreplace") for text in texts]
        return pa.array(found, pa.large_binary()).cast(pa.large_string())


def _is_harmless(texts: Any) -> bool:
    """Return whether texts are written as they are; False where a closer look is needed."""
    _, offsets, data = texts.buffers()
    places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    letters = np.frombuffer(data or b"", np.uint8)[places[0] : places[-1]]
    starts = places[:-1][np.diff(places) > 0] - places[0]
    return bool(FIRST[letters[starts]].all() and not SPECIAL[letters].any())
