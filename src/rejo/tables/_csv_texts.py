"""Cells as a CSV file has them; text that a spreadsheet would run as a formula is made harmless.

When a CSV file is opened in a spreadsheet, a cell that begins with one of ``= + - @``, a tab or a
line end is run, or split; an apostrophe before it makes it text.  Blanks and quotes in front do not
protect, because some programs drop them.  A plain number such as ``-5`` is not a formula.

Where lists are separated by semicolons or tabs, a spreadsheet splits ``a;=1+2`` in spite of the
quotes around it, because they are not at the beginning of what it takes for a cell.  So every part
of a text that could become a cell is treated in the same way: ``a;'=1+2``.
"""

import re
from typing import Any

import numpy as np

from rejo.tables.errors import import_pandas

SPECIAL = re.compile('[",\t\r\n]')
_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_INVISIBLE = '\\s"\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2060\\ufeff'
_SPLITS = ";\\t\\r\\n"
# A sign at the beginning of a part of a text, which ends where the text could be split.
_SIGNED = rf"(?:(?![{_SPLITS}])[{_INVISIBLE}])*[{_SIGNS}]"
FORMULA = re.compile(rf"(?:[\t\r\n]|[{_INVISIBLE}]*[{_SIGNS}])")
PART = re.compile(rf"(?<=[{_SPLITS}])(?={_SIGNED})[^{_SPLITS}]*")
NUMBER = re.compile(r" *[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)? *", re.ASCII)
# In cells joined by line ends: is there anything to look at?
_ANY = re.compile(rf"^(?:[\t\r]|{_SIGNED})", re.MULTILINE)


def texts_of_cells(column: Any, alone: bool) -> list[str]:
    """Return the cells of a column as they are written."""
    pd = import_pandas("writing a table")
    types, dtype = pd.api.types, column.dtype
    empty, NA, NaT = '""' if alone else "", pd.NA, pd.NaT
    if types.is_float_dtype(dtype):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        texts = list(map(repr, values.tolist()))
        for i in np.flatnonzero(np.isnan(values)).tolist():
            texts[i] = empty
        return texts
    if types.is_integer_dtype(dtype) or types.is_bool_dtype(dtype):
        return [empty if value is NA else str(value) for value in column.tolist()]
    if types.is_datetime64_any_dtype(dtype):
        return [empty if value is NaT else value.isoformat() for value in column.tolist()]
    if isinstance(dtype, pd.CategoricalDtype):
        texts = written([text_of(value) for value in column.cat.categories.tolist()], alone)
        return list(np.array([*texts, empty], dtype=object)[column.cat.codes.to_numpy()])
    return written([text_of(value) for value in column.tolist()], alone)


def text_of(value: Any) -> str:
    """Return a value as text; empty if it is missing."""
    if isinstance(value, str):
        return value
    return "" if import_pandas("writing a table").isna(value) else str(value)


def written(texts: list[str], alone: bool) -> list[str]:
    """Make texts harmless, and quote them where needed; fast if there is nothing to do.

    An empty cell alone in its row must not be a blank line.
    """
    together = "\n".join(texts)
    split = together.count("\n") >= max(len(texts), 1) or any(c in together for c in ";\t\r")
    if split or _ANY.search(together):
        texts = [_harmless(text) for text in texts]
    if not alone and not SPECIAL.search("".join(texts)):
        return texts
    return [
        '"' + text.replace('"', '""') + '"'
        if SPECIAL.search(text) or (alone and not text)
        else text
        for text in texts
    ]


def _harmless(text: str) -> str:
    """Put an apostrophe before what a spreadsheet would run."""
    text = PART.sub(lambda part: _marked(part[0]), text)
    return _marked(text) if FORMULA.match(text) else text


def _marked(text: str) -> str:
    return text if NUMBER.fullmatch(text) else "'" + text
