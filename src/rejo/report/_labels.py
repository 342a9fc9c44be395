"""How labels, and the numbers that no setting changes, are written."""

import unicodedata
from math import ceil

LONGEST = 120  # characters of a label
SPACE = "\u00a0"  # keeps a number and its unit on a line
_UNFIT = ("Cc", "Cs")  # control characters, and halves of a pair


def clean(text: object, longest: int | None = LONGEST) -> str:
    """A label without control characters, cut if it is long."""
    kept = "".join(
        " " if char in "\t\n\r" else "\ufffd" if unicodedata.category(char) in _UNFIT else char
        for char in str(text)
    )
    return kept if longest is None or len(kept) <= longest else kept[: longest - 1] + "…"


def percent(rate: float) -> str:
    """``12.3 %``."""
    return f"{100 * rate:.1f}{SPACE}%"


def at_most(rate: float) -> str:
    """A limit, rounded up: what is shown must hold, too."""
    return percent(ceil(1000 * rate - 1e-9) / 1000)


def amount(value: float) -> str:
    """A price or a cost: ``1,235``, ``12.35``, ``0.0123``."""
    places = 0 if value >= 1000 else 2 if value >= 1 else 4 if value >= 0.01 else 6
    text = f"{value:,.{places}f}"
    return text.rstrip("0").removesuffix(".") if places else text
