"""Numbers as people write them: ``$17,309.08``, ``1.234,50 €``, ``(5)``, ``12 kg``, ``2 %``.

Only the decimal mark must be known.  The other mark, blanks and apostrophes may then group digits
in threes, or in the Indian way.  A unit may follow the number; only a currency may stand before it,
so that ``A12`` and ``Q1`` stay words.

Each distinct word of a column is read with both decimal marks.  If none of them can only have one,
the other cells, the other columns and the separator may settle it; else the user is asked.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import Setting, Text
from rejo._typing import Floats, Indices
from rejo.tables.errors import TableError, import_pyarrow, shown
from rejo.tables.values import (
    AMONG_NUMBERS,
    Gaps,
    Parsed,
    Said,
    Words,
    are_strings,
    count_words,
    few,
    means_missing,
    most_frequent,
    typed_number,
)

OTHER = {".": ",", ",": "."}
FEWEST_NUMBERS = 3  # different ones, beside words that are not numbers
LOOK = 64  # cells of a column that are tried before all of them are
Place = Callable[[int], str]  # of a row
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
    if (typed := typed_number(word)) is not None:
        return WrittenNumber(typed)
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
    signs = [sign[0] for sign in (first, second, last, opened) if sign]
    unit = (before or "").rstrip(".") + (after or "").rstrip(".")
    closed = [bracket for bracket in (inner, outer) if bracket]
    if len(signs) > 1 or len(closed) != bool(opened) or len(unit) > LONGEST_UNIT:
        return None
    value = float(number.translate(_TO_POINT[decimal]))
    negative = signs not in ([], ["+"])
    return WrittenNumber(-value if negative else value, unit, CODE.fullmatch(number) is not None)


def is_currency(unit: str) -> bool:
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
    if not cell.unit:
        return None if unit and is_factor(unit) else cell.value
    same = same_unit(cell.unit) == same_unit(unit)
    return cell.value if same or (not unit and is_currency(cell.unit)) else None


def decimal_of(decimal: str | None, thousands: str | None, where: str) -> str | None:
    parameter, mark, problem = "thousands", Setting("thousands", thousands), None
    if decimal is not None and decimal not in OTHER:
        parameter, problem = "decimal", Text(Setting("decimal", decimal), " is not '.' or ','")
    elif thousands is not None and thousands not in (*OTHER, *_BLANKS, *_APOSTROPHES):
        problem = Text(mark, " is not '.', ',', \"'\" or a blank")
    elif thousands is not None and thousands == decimal:
        problem = Text(mark, " is also the decimal mark")
    if problem is not None:
        raise TableError(problem, where=where, parameter=parameter)
    return decimal or OTHER.get(thousands or "")


# ---- columns of plain numbers ----------------------------------------------------------------

_SIMPLE = re.compile(r"[+-]?(?:[0-9]+(?:[.,][0-9]*)?|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?")


def plain_numbers(
    strings: Any, gaps: Gaps, decimal: str | None = None, *, look: bool = True, codes: bool = True
) -> tuple[Floats, str] | None:
    """Read an Arrow array whose cells are all strings such as ``-1.5`` or ``3e-4``; None if not.

    ``decimal`` is their mark, if it is known.  ``look`` finds out what the cells show: return also
    the decimal mark that they can only have, empty if none shows it.  If some may be thousands, as
    2.100, they are not plain, and without ``codes`` neither if some are such as 007.
    """
    pa = import_pyarrow()
    compute = pa.compute
    if not are_strings(strings.type) or pa.types.is_dictionary(strings.type):
        return None
    for word in strings[:LOOK].to_pylist():
        bare = (word or "").strip()
        if not _SIMPLE.fullmatch(bare) and bare not in gaps.words and not means_missing(bare):
            return None
    mark, texts = ".", strings
    found = _cast(texts, gaps) if decimal != "," else None
    if found is None and decimal != ".":
        if compute.any(compute.match_substring(strings, ".")).as_py():
            return None
        mark, texts = ",", compute.replace_substring(strings, ",", ".")
        found = _cast(texts, gaps)
    if found is None or np.isinf(found[0]).any():
        return None
    values = gaps.without(found[0])
    shows = _looked_at(values, found[1], codes) if look else False
    return None if shows is None else (values, mark if shows else "")


def _cast(texts: Any, gaps: Gaps) -> tuple[Floats, Any] | None:
    """Return the numbers of strings, NaN for empty ones, and the strings; None if one is not one.

    Blanks at their ends are stripped.
    """
    pa = import_pyarrow()
    compute = pa.compute
    for attempt in range(2):
        if attempt:
            texts = compute.utf8_trim_whitespace(texts)
            words = pa.array([*AMONG_NUMBERS, *map(str.lower, gaps.words)], texts.type)
            empty = compute.is_in(compute.utf8_lower(texts), words)
        else:
            empty = compute.equal(compute.binary_length(texts), 0)
        if compute.any(empty).as_py():
            texts = compute.if_else(empty, pa.scalar(None, texts.type), texts)
        try:
            found: Floats = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid:
            continue
        return found, texts if texts.null_count == 0 else texts.fill_null("")
    return None


def _looked_at(values: Floats, texts: Any, codes: bool) -> bool | None:
    """Return whether cells show that their mark is a decimal mark; None if they are not plain."""
    compute = import_pyarrow().compute

    def like(pattern: str) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = compute.match_substring_regex(texts, pattern).to_numpy(False)
        return found

    if not codes and like("^[+-]?0[0-9]").any():
        return None
    if not compute.any(compute.match_substring(texts, ".")).as_py():
        return False
    three, grouped = like(r"^[+-]?[0-9]*\.[0-9]{3}$"), like(r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$")
    broken = (values != np.rint(values)) & ~np.isnan(values) & ~three
    n_grouped, n_broken = int(grouped.sum()), int(broken.sum())
    zeros = like(r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{2}0$").any()
    sure = bool((three & ~grouped).any())
    if sure or (n_broken > 0 and (not zeros or not few(n_broken, n_broken + n_grouped))):
        return True
    return None if n_grouped else False


# ---- columns of words that may be numbers ----------------------------------------------------


class NumberCounts:
    """The words of a column, each read with both decimal marks."""

    def __init__(self, column: Words) -> None:
        self.words, self._codes = column.words, column.codes
        self.counts = count_words(column)  # (n_words,) cells
        points = [read_cell(word, ".") for word in self.words]
        commas = [read_cell(word, ",") if "." in word or "," in word else point
                  for word, point in zip(self.words, points, strict=True)]  # fmt: skip
        self.read = {".": points, ",": commas}
        self.values = {  # (n_words,) NaN for a word that is not a number
            mark: np.array([np.nan if cell is None else cell.value for cell in read])
            for mark, read in self.read.items()
        }
        point, comma = (~np.isnan(values) for values in self.values.values())
        # Words that are numbers with one mark and not with the other, and different ones with both.
        self.only = {".": np.flatnonzero(point & ~comma), ",": np.flatnonzero(comma & ~point)}
        differ = self.values["."] != self.values[","]
        self.both = np.flatnonzero(point & comma & differ)
        self._numbers = point | comma
        gaps = np.array([means_missing(word) for word in self.words], dtype=bool)
        self.gap = gaps & ~self._numbers  # (n_words,) means a missing value beside numbers

    def row(self, word: int) -> int:
        return int((self._codes == word).argmax())

    def cells(self, words: Indices | NDArray[np.bool_]) -> int:
        return int(self.counts[words].sum())

    @property
    def n_marked(self) -> int:
        """Cells that mean different numbers with either mark, or one with one only."""
        return sum(map(self.cells, (*self.only.values(), self.both)))

    @property
    def may_be_numbers(self) -> bool:
        return 2 * self.cells(self._numbers) > self.cells(~self.gap)

    def most(self, words: Indices) -> int:
        return int(words[self.counts[words].argmax()])

    def proof(self, expected: str | None = None) -> str | None:
        """Return the decimal mark that the cells can only have, but for a few; None without any.

        A few cells do not prove another one than is ``expected``.
        """
        n = {mark: self.cells(words) for mark, words in self.only.items()}
        mark = "." if n["."] >= n[","] else ","
        if not n[mark] or not few(n[OTHER[mark]], sum(n.values())) or _is_weak(self, mark):
            return None
        return mark if expected in (None, mark) or not few(n[mark], self.n_marked) else None


def unclear_words(column: Words, expected: str, usual: float) -> set[str]:
    """Return words such as 2.100 that probably do not have the decimal mark of training.

    The cells beside them may show it, or the number that is usual in training: 2100 rather than 2.
    """
    found = NumberCounts(column)
    marks = {_mark(found.words[i]) for i in found.both}
    if len(marks) != 1 or found.proof() is not None:
        return set()
    likely = {_by_its_cells(found, marks.pop())} - {None}
    if usual:
        n, both = found.counts[found.both], found.both
        sizes = {m: np.median(np.repeat(np.abs(found.values[m][both]), n)) for m in OTHER}
        likely.add(min(OTHER, key=lambda mark: abs(np.log(sizes[mark] / abs(usual)))))
    return {found.words[i] for i in found.both} if OTHER[expected] in likely else set()


# ---- the decimal mark ------------------------------------------------------------------------


def settle(
    found: NumberCounts, option: str | None, sep: str, others: Collection[str], place: Place
) -> tuple[str, tuple[Said, ...]]:
    """Return the decimal mark of a column, and remarks; ask if both are possible.

    ``others`` are the marks that other columns can only have.
    """
    proof, known = found.proof(), set(others)
    if proof is not None:
        told = option is not None and option != proof
        return proof, (("the decimal mark", f" is {proof!r}, not {option!r}"),) * told
    if option is not None:
        return option, ()
    if all(map(len, found.only.values())):
        raise _conflict(found, found.most(found.only["."]), found.most(found.only[","]), place)
    if any(map(len, found.only.values())):  # a few against many
        raise _unclear(found, place)
    if not len(found.both):
        return known.pop() if len(known) == 1 else ".", ()
    first = {_mark(found.words[i]): i for i in found.both[::-1].tolist()}
    if len(first) > 1:
        raise _conflict(found, first["."], first[","], place)
    decimal = _by_its_cells(found, *first)
    if decimal is None and len(known) == 1:
        (decimal,) = known
    elif sep == "," and not known:
        # In such files a comma is no decimal mark by itself.
        decimal = None if decimal == "," else "."
    if decimal is None:
        raise _unclear(found, place)
    if sep == "," and decimal == ".":
        return decimal, ()
    word = found.most(found.both)
    example = f": {shown(found.words[word])} is read as {found.values[decimal][word]:.15g}"
    return decimal, (("points and commas as found", example),)


def _mark(word: str) -> str:
    return "." if "." in word else ","


def _by_its_cells(found: NumberCounts, mark: str) -> str | None:
    """Return the decimal mark that is likely from cells such as 2.100 and those beside them.

    Who writes thousands without a mark means a decimal mark by it.  Who writes three decimals
    writes them in every cell, or leaves out zeros at the end.
    """
    plain = np.delete(found.values["."], found.both)
    plain = plain[~np.isnan(plain)]
    large = bool(((np.abs(plain) >= 1000) & (plain == np.rint(plain))).any())
    zero = len(plain) > 0 and any(_ends_in_zero(found, i) for i in found.both)
    if large == zero:
        return None
    return mark if large else OTHER[mark]


def _ends_in_zero(found: NumberCounts, i: Any) -> bool:
    return bool(found.values[OTHER[_mark(found.words[i])]][i] % 10 == 0)


def _is_weak(found: NumberCounts, proof: str) -> bool:
    """Return whether a few cells such as 3.5 stand against many such as 2.100."""
    marked = [i for i in found.both if _mark(found.words[i]) == proof]
    if not marked or not any(_ends_in_zero(found, i) for i in marked):
        return False
    sure = found.only[proof]
    if not few(found.cells(sure), found.n_marked):
        return False
    digits = (found.words[i].rpartition(proof)[2] for i in sure)
    return not any(sum(map(str.isdigit, part)) == 3 for part in digits)


def _conflict(found: NumberCounts, first: int, second: int, place: Place) -> TableError:
    one, two = shown(found.words[first]), shown(found.words[second])
    return TableError(
        f"{one} has a decimal point, but {two} has a decimal comma",
        where=place(found.row(first)),
        parameter="decimal",
        remedy=Text(
            "Write all numbers of the column in one way, or pass ",
            Setting("decimal", "."),
            " or ",
            Setting("decimal", ","),
            ".",
        ),
    )


def _unclear(found: NumberCounts, place: Place) -> TableError:
    some = sorted(found.both.tolist(), key=lambda i: -found.counts[i])[:2]
    read = [(shown(found.words[i]), *(f"{found.values[m][i]:.15g}" for m in OTHER)) for i in some]
    ways = " and ".join(f"{word} may be {one} or {two}" for word, one, two in read)
    mark = _mark(found.words[some[0]])
    return TableError(
        f"{ways}: the {'point' if mark == '.' else 'comma'} may be a decimal mark or a mark "
        "between thousands",
        where=place(found.row(some[0])),
        parameter="decimal",
        remedy=Text("Pass ", Setting("decimal", mark), " or ", Setting("thousands", mark), "."),
    )


# ---- the column ------------------------------------------------------------------------------


def read_numbers(
    found: NumberCounts, decimal: str, remarks: tuple[Said, ...]
) -> tuple[Parsed | None, tuple[Said, ...]]:
    """Read a column as numbers with this decimal mark, or say why it looks like them only."""
    read = found.read[decimal]
    values = found.values[decimal].copy()
    is_number = ~np.isnan(values)
    n_numbers, n_gaps = found.cells(is_number), found.cells(found.gap)
    n = int(found.counts.sum()) - n_gaps
    if not n_numbers or 2 * n_numbers <= n:
        return None, ()
    codes = np.array([cell is not None and cell.code for cell in read], dtype=bool)
    if codes.any():
        word = found.words[found.most(np.flatnonzero(codes))]
        remark = "read as words", f": {shown(word)} is a code, not a number"
        return None, (remark,) if 2 * found.cells(codes) < n else ()
    unit, wrong, about = _unit(found, read, n_numbers)
    if unit is None:
        return None, about
    is_number &= ~wrong
    odd = np.flatnonzero(~is_number & ~found.gap)
    kinds = len(np.unique(values[is_number]))
    if not few(found.cells(odd), n) or kinds < (FEWEST_NUMBERS if len(odd) else 1 + bool(n_gaps)):
        some = " and ".join(map(shown, most_frequent(found.words, found.counts, odd)))
        why = f"read as words: {n_numbers:,} of {n:,} cells are numbers", f", but not {some}"
        return None, (why,) if len(odd) else ()
    values[~is_number] = np.nan
    return Parsed(values, unit, np.flatnonzero(found.gap), odd, (*remarks, *about)), ()


def _unit(
    found: NumberCounts, read: list[WrittenNumber | None], n_numbers: int
) -> tuple[str | None, NDArray[np.bool_], tuple[Said, ...]]:
    """Return the unit of a column, words with another one, and remarks; None if there are two."""
    own = [None if cell is None else same_unit(cell.unit) for cell in read]
    spellings: dict[str, Counter[str]] = {}  # cells of each unit
    for cell, unit, n in zip(read, own, found.counts.tolist(), strict=True):
        if cell is not None and unit is not None:
            spellings.setdefault(unit, Counter())[cell.unit] += n
    bare = spellings.pop("", Counter()).total()
    spelled = {unit: counts.most_common(1)[0][0] for unit, counts in spellings.items()}
    units = sorted(spellings, key=lambda unit: -spellings[unit].total())
    # A few cells with a unit among numbers without one, or with another: not these numbers.
    while units and few(n_last := spellings[units[-1]].total(), n_numbers):
        others = bare + sum(spellings[unit].total() for unit in units[:-1])
        if others <= n_last or (len(units) == 1 and is_currency(spelled[units[0]])):
            break
        units.pop()
    wrong = np.array([bool(unit) and unit not in units for unit in own], dtype=bool)
    if not units:
        return "", wrong, ()
    names = [spelled[unit] for unit in units]
    if len(units) > 1:
        two = "read as words: the units differ", f", {shown(names[0])} and {shown(names[1])}"
        return None, wrong, (two,) if len(units) <= 3 else ()
    if not bare:
        return names[0], wrong, ()
    if is_factor(names[0]):
        why = f"read as words: {bare:,} numbers lack", f" {shown(names[0])}"
        return None, wrong, (why,)
    said = f"{bare:,} cells have no unit" if bare > 1 else "1 cell has no unit"
    return names[0], wrong, ((said, ""),)
