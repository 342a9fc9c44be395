"""Text that a spreadsheet would run as a formula, made harmless.

A cell that begins with one of ``= + - @``, a tab or a line end is run, or split, when a CSV file
is opened in a spreadsheet program; an apostrophe before it makes it text.  Blanks and quotes in
front do not protect, as some programs drop them.  A plain number such as ``-5`` is no formula.

Where semicolons or tabs separate the cells of a list, a program splits ``a;=1+2`` in spite of the
quotes around it, which are not at the beginning of what it takes for a cell; so every part of a
text that could become a cell is treated alike: ``a;'=1+2``.
"""

from __future__ import annotations

import re

_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_NOTHING = '\\s"\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2060\\ufeff'  # seen by no one
_SPLITS = ";\\t\\r\\n"
# Within a part of a text, that is: up to the next place where it could be split.
_SIGNED = rf"(?:(?![{_SPLITS}])[{_NOTHING}])*[{_SIGNS}]"
FORMULA = re.compile(rf"(?:[\t\r\n]|[{_NOTHING}]*[{_SIGNS}])")
PART = re.compile(rf"(?<=[{_SPLITS}])(?={_SIGNED})[^{_SPLITS}]*")
NUMBER = re.compile(r" *[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)? *", re.ASCII)
# In cells put together, one a line: is there anything to look at?
_ANY = re.compile(rf"^(?:[\t\r]|{_SIGNED})", re.MULTILINE)


def harmless(text: str) -> str:
    """Return a text with an apostrophe before what a spreadsheet would run."""
    text = PART.sub(lambda part: _marked(part[0]), text)
    return _marked(text) if FORMULA.match(text) else text


def _marked(text: str) -> str:
    return text if NUMBER.fullmatch(text) else "'" + text


def all_harmless(texts: list[str]) -> list[str]:
    """Return the texts, each harmless; quick if there is nothing to do."""
    together = "\n".join(texts)
    split = together.count("\n") >= max(len(texts), 1) or any(c in together for c in ";\t\r")
    if split or _ANY.search(together):
        return [harmless(text) for text in texts]
    return texts
