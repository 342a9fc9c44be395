"""How numbers are written; ``numbers.js`` has the same rules.

Python and JavaScript round differently when asked to print, so neither is asked: a number becomes
an integer of the last shown digit by ``floor(x + 0.5)``, which is the same arithmetic in both.
"""

from __future__ import annotations

import unicodedata
from math import floor

BATCH = 1000  # cases that the page speaks of
LONGEST = 120  # characters of a label
SPACE = "\u00a0"  # keeps a number and its unit on a line
NONE = "\u2013"  # a dash


def whole(count: int) -> str:
    """``1,234``."""
    return f"{count:,}"


def fixed(units: int, places: int) -> str:
    """Units of the last digit as a decimal number: ``fixed(123456, 2)`` is ``1,234.56``."""
    if places == 0:
        return whole(units)
    head, tail = divmod(units, 10**places)
    return f"{head:,}.{tail:0{places}d}"


def to_units(value: float, places: int) -> int:
    """The nearest integer of the last digit, halves upward."""
    return floor(value * 10**places + 0.5)


def share(part: int, n: int) -> str:
    """``12.3 %``; exact, as it is computed from counts."""
    return NONE if n == 0 else fixed((2000 * part + n) // (2 * n), 1) + f"{SPACE}%"


def percent(rate: float) -> str:
    """``12.3 %``."""
    return fixed(to_units(rate, 3), 1) + f"{SPACE}%"


def ratio(value: float) -> str:
    """At most four decimals: ``0.12``."""
    text = fixed(to_units(value, 4), 4).rstrip("0")
    return text.removesuffix(".")


def per_batch(part: int, n: int, places: int = 0) -> int:
    """How many of 1,000 cases, in units of the last digit, halves upward."""
    return (2 * BATCH * 10**places * part + n) // (2 * n)


def money_places(error_price: float) -> int:
    """Decimals of all amounts: as many as the price of an error calls for."""
    return 0 if error_price >= 10 else 2 if error_price >= 0.1 else 4 if error_price >= 0.001 else 6


def clean(text: str, longest: int = LONGEST) -> str:
    """A label that a page can hold: no control characters, not too long."""
    kept = "".join(
        " " if char in "\t\n\r" else "\ufffd" if unicodedata.category(char) in _UNFIT else char
        for char in text
    )
    return kept if len(kept) <= longest else kept[: longest - 1] + "…"


_UNFIT = ("Cc", "Cs")  # control characters, and halves of a pair


def quoted(label: str) -> str:
    """A label within a sentence: isolated, so that its direction of writing stays its own."""
    return f"“\u2068{label}\u2069”"
