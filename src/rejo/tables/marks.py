"""Numbers as people write them: ``$17,309.08``, ``1.234,50 €``, ``(5)``, ``12 kg``, ``2 %``.

Only the decimal mark must be known.  The other mark, blanks and apostrophes may then group digits
in threes, or in the Indian way.  A unit may follow the number; only a currency may stand before it,
so that ``A12`` and ``Q1`` stay words.
"""

import re
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.tables.errors import TableError, shown

OTHER = {".": ",", ",": "."}
LONGEST_NUMBER = 400  # characters
LONGEST_UNIT = 12
CODE = re.compile(r"0[0-9]+(?:[.,][0-9]*)?(?:[eE][+-]?[0-9]+)?")  # 007 is not a number
INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
# Suffixes that stand for a factor: 12 beside 12k is another number, not one without its unit.
FACTORS = {"k", "mn", "mio", "mill", "mln", "mrd", "bn", "tsd", "tn", "thousand", "million"}
FACTORS_OF_MONEY = FACTORS | {"m", "mm", "b", "t"}
SAME_CURRENCY = {"€": "eur", "$": "usd", "us$": "usd", "£": "gbp", "¥": "jpy", "₹": "inr"}
SAME_CURRENCY |= {"rs": "inr", "r$": "brl", "zł": "pln", "kč": "czk", "sfr": "chf", "fr": "chf"}

_SYMBOLS = "$€£¥₹₽₩₺₴₪₫₦฿₱"
_CODES = (
    "USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SGD|HKD|SEK|NOK|DKK|ISK|PLN|CZK|HUF|RON|BGN|BRL|"
    "MXN|ARS|CLP|COP|ZAR|RUB|UAH|TRY|ILS|AED|SAR|KRW|THB|IDR|MYR|PHP|VND|TWD|NGN|KES|EGP"
)
_CURRENCY = (
    rf"(?:(?:US|AU|CA|NZ|HK|[ACSR])?\$|[{_SYMBOLS}]|(?i:{_CODES})|(?:Rs|SFr|Fr|kr|Kr)\.?|zł|Kč)"
)
_BLANKS = " \u00a0\u2009\u202f"
_APOSTROPHES = "'\u2019\u02bc`\u00b4"
_SIGN = "[-+\u2212\u2013]"
_LETTER = rf"[^\W\d_]|[°%‰µ{_SYMBOLS}]"
_UNIT = rf"(?:{_LETTER})(?:{_LETTER}|[/²³](?![0-9])){{0,{LONGEST_UNIT}}}[23]?\.?"


def _pattern(decimal: str) -> re.Pattern[str]:
    other, mark = re.escape(OTHER[decimal]), re.escape(decimal)
    indian = "|[1-9][0-9]?(?:,[0-9][0-9])+,[0-9]{3}" if decimal == "." else ""
    grouped = (
        rf"(?:[1-9][0-9]{{0,2}}(?P<by>[{other}{_BLANKS}{_APOSTROPHES}])[0-9]{{3}}"
        rf"(?:(?P=by)[0-9]{{3}})*{indian})"
        rf"(?:{mark}[0-9]*)?"
    )
    plain = rf"(?:[0-9]+(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?"
    blank = f"[{_BLANKS}]"
    return re.compile(
        rf"(?P<open>\({blank}?)?(?P<first>{_SIGN}{blank}?)?(?:(?P<before>{_CURRENCY}){blank}{{0,2}})?"
        rf"(?P<second>{_SIGN})?(?P<number>{grouped}|{plain})(?P<last>[-\u2212\u2013]{{1,2}})?(?P<inner>{blank}?\))?"
        rf"(?:{blank}{{0,2}}(?P<after>{_UNIT}))?(?P<outer>{blank}?\))?"
    )


_PATTERNS = {decimal: _pattern(decimal) for decimal in OTHER}
_PLAIN = {".": re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?"), ",": re.compile(r"[+-]?[0-9]+")}
_IS_CURRENCY = re.compile(_CURRENCY)
_UNMARKED: dict[int, str | None] = {ord(blank): None for blank in _BLANKS + _APOSTROPHES}
_TO_POINT = {
    decimal: _UNMARKED | {ord(OTHER[decimal]): None, ord(decimal): "."} for decimal in OTHER
}


class WrittenNumber(NamedTuple):
    """A number with what stands beside it."""

    value: float
    unit: str = ""
    code: bool = False  # such as 007


def read_cell(word: str, decimal: str) -> WrittenNumber | None:
    """Return the number that a word stands for, which may be infinite; None if it is not one.

    >>> read_cell("$17,309.08", ".")
    WrittenNumber(value=17309.08, unit='$', code=False)
    >>> read_cell("-1.234,5 kg", ","), read_cell("A12", ".")
    (WrittenNumber(value=-1234.5, unit='kg', code=False), None)
    """
    if len(word) > LONGEST_NUMBER:
        return None
    if _PLAIN[decimal].fullmatch(word):  # most cells; the rest takes longer
        return WrittenNumber(float(word), code=CODE.fullmatch(word) is not None)
    found = _PATTERNS[decimal].fullmatch(word)
    if found is None:
        return WrittenNumber(float(word)) if INFINITE.fullmatch(word) else None
    opened, first, before, second, number, last, inner, after, outer = found.group(
        "open", "first", "before", "second", "number", "last", "inner", "after", "outer"
    )
    if last and number[-1] in OTHER:  # 1200,- has no cents
        last = None
    elif last and len(last) > 1:
        return None
    signs = [sign[0] for sign in (first, second, last) if sign]
    if (opened is not None) + len(signs) > 1 or (opened is not None) != bool(inner or outer):
        return None
    if inner and outer:
        return None
    unit = (before or "").rstrip(".") + (after or "").rstrip(".")
    if len(unit) > LONGEST_UNIT:
        return None
    value = float(number.translate(_TO_POINT[decimal]))
    negative = opened is not None or signs[:1] not in ([], ["+"])
    return WrittenNumber(-value if negative else value, unit, CODE.fullmatch(number) is not None)


def is_currency(unit: str) -> bool:
    """Return whether a unit is a currency."""
    return _IS_CURRENCY.fullmatch(unit) is not None


@lru_cache(1024)
def same_unit(unit: str) -> str:
    """Return what all spellings of a unit have in common: month and months, $ and USD."""
    if len(unit) <= 2 and unit[:1] == "M":  # MW is not mW
        return unit
    unit = unit.casefold()
    if unit in SAME_CURRENCY:
        return SAME_CURRENCY[unit]
    for end, least in (("s", 2), ("en", 3), ("e", 3), ("n", 3)):
        if unit.endswith(end) and len(unit) - len(end) >= least:
            return unit[: -len(end)]
    return unit


def is_factor(unit: str) -> bool:
    """Return whether a unit stands for thousands, millions or more, as in $12k."""
    money = _IS_CURRENCY.match(unit)
    suffix = same_unit(unit[money.end() :] if money else unit)
    return suffix in (FACTORS_OF_MONEY if money else FACTORS)


def number(word: str, decimal: str, unit: str = "") -> float | None:
    """Return the number of a word, in a column whose numbers have this unit; None if it has none.

    The unit may be left out, and a currency may stand where there was no unit.  Other units make
    another number.
    """
    cell = read_cell(word, decimal)
    if cell is None:
        return None
    if (
        cell.unit
        and same_unit(cell.unit) != same_unit(unit)
        and (unit or not is_currency(cell.unit))
    ):
        return None
    if not cell.unit and unit and is_factor(unit):
        return None
    return cell.value


def have_fractions(values: Floats) -> NDArray[np.bool_]:
    """Return which numbers are not whole."""
    return np.asarray((values != np.rint(values)) & ~np.isnan(values))


def decimal_of(decimal: str | None, thousands: str | None, where: str) -> str | None:
    """Return the decimal mark that the options give; None if they leave it open."""
    if decimal is not None and decimal not in OTHER:
        raise TableError(
            f"decimal={shown(decimal)} is not '.' or ','", where=where, parameter="decimal"
        )
    if thousands is not None and thousands not in (*OTHER, *_BLANKS, *_APOSTROPHES):
        raise TableError(
            f"thousands={shown(thousands)} is not '.', ',', \"'\" or a blank",
            where=where,
            parameter="thousands",
        )
    if thousands is not None and thousands == decimal:
        raise TableError(
            f"thousands={shown(thousands)} is also the decimal mark",
            where=where,
            parameter="thousands",
        )
    return decimal or OTHER.get(thousands or "")
