"""How numbers are written; ``numbers.js`` follows the same rules.

Python and JavaScript round differently when asked to print, so neither is asked: a number becomes
an integer of the last shown digit by ``floor(x + 0.5)``, which is the same arithmetic in both.
"""

import unicodedata
from math import floor

BATCH = 1000  # number of cases in the texts of the page
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
    """Round to units of the last digit, halves up."""
    return floor(value * 10**places + 0.5)


def share(part: int, n: int) -> str:
    """``12.3 %``; exact, because it is computed from counts."""
    return NONE if n == 0 else fixed((2000 * part + n) // (2 * n), 1) + f"{SPACE}%"


def percent(rate: float) -> str:
    """``12.3 %``."""
    return fixed(to_units(rate, 3), 1) + f"{SPACE}%"


def ratio(value: float) -> str:
    """At most four decimals: ``0.12``."""
    text = fixed(to_units(value, 4), 4).rstrip("0")
    return text.removesuffix(".")


def per_batch(part: int, n: int, places: int = 0) -> int:
    """How many of 1,000 cases, in units of the last digit, halves up."""
    return (2 * BATCH * 10**places * part + n) // (2 * n)


def money_places(error_price: float) -> int:
    """Decimals of all amounts, from the price of an error."""
    return 0 if error_price >= 10 else 2 if error_price >= 0.1 else 4 if error_price >= 0.001 else 6


def amount(value: float) -> str:
    """A price or a cost of one case: ``1,235``, ``12.35``, ``0.0123``."""
    places = 0 if value >= 1000 else 2 if value >= 1 else 4 if value >= 0.01 else 6
    text = fixed(to_units(value, places), places)
    return text.rstrip("0").removesuffix(".") if places else text


def clean(text: object, longest: int | None = LONGEST) -> str:
    """A label without control characters, cut if it is long."""
    kept = "".join(
        " " if char in "\t\n\r" else "\ufffd" if unicodedata.category(char) in _UNFIT else char
        for char in str(text)
    )
    return kept if longest is None or len(kept) <= longest else kept[: longest - 1] + "…"


_UNFIT = ("Cc", "Cs")  # control characters, and halves of a pair


def quoted(label: str) -> str:
    """A label within a sentence, isolated so that it keeps its own writing direction."""
    return f"“\u2068{label}\u2069”"
