"""Text that a spreadsheet would run as a formula, made harmless.

A cell that begins with one of ``= + - @``, a tab or a line end is run, or split, when a CSV file
is opened in a spreadsheet program; an apostrophe before it makes it text.  Blanks and quotes in
front do not protect, as some programs drop them.  A plain number such as ``-5`` is no formula.
"""

from __future__ import annotations

import re

_SIGNS = "=+\\-@＝＋－＠"  # noqa: RUF001
_NOTHING = '\\s"\\x00-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u2060\\ufeff'  # seen by no one
FORMULA = re.compile(rf"(?:[\t\r\n]|[{_NOTHING}]*[{_SIGNS}])")
NUMBER = re.compile(r" *[+-]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][+-]?\d+)? *", re.ASCII)
# In cells put together, one a line: is there anything to look at?
_ANY = re.compile(rf"^(?:[\t\r]|[{_NOTHING}]*[{_SIGNS}])", re.MULTILINE)


def harmless(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it."""
    if FORMULA.match(text) and not NUMBER.fullmatch(text):
        return "'" + text
    return text


def all_harmless(texts: list[str]) -> list[str]:
    """Return the texts, each harmless; quick if there is nothing to do."""
    together = "\n".join(texts)
    if together.count("\n") == max(len(texts) - 1, 0) and not _ANY.search(together):
        return texts
    return [harmless(text) for text in texts]
