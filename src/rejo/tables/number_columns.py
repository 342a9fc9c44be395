"""Columns of words that may be numbers: which decimal mark they have, which unit, what is odd.

Each distinct word is read with both decimal marks.  Some cells can only have one of them; if none
of a column does, the other cells, the other columns and the separator may settle it.  Otherwise the
user is asked.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.tables.errors import TableError, shown
from rejo.tables.marks import OTHER, WrittenNumber, is_currency, is_factor, read_cell, same_unit
from rejo.tables.values import Words, few, means_missing

FEWEST_NUMBERS = 3  # different ones, beside words that are not numbers

Place = Callable[[int], str]  # of a row


class Numbers(NamedTuple):
    """A column read as numbers."""

    values: Floats  # of each word; NaN if it is missing, or odd
    unit: str
    gaps: Indices  # words that mean a missing value
    odd: Indices  # words that are not numbers
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class NumberCounts:
    """The words of a column, each read with both decimal marks."""

    words: list[str]
    counts: Indices  # (n_words,) cells
    rows: Indices  # (n_words,) first row with the word
    gap: NDArray[np.bool_]  # (n_words,) means a missing value beside numbers
    read: dict[str, list[WrittenNumber | None]]  # by decimal mark
    only: dict[str, Indices]  # words that are numbers with this mark and not with the other
    both: Indices  # words that are different numbers with either mark

    def cells(self, words: Indices | NDArray[np.bool_]) -> int:
        """Return the number of cells with some words."""
        return int(self.counts[words].sum())

    @property
    def n_marked(self) -> int:
        """Number of cells that mean different numbers with either mark, or one with one only."""
        return sum(map(self.cells, (*self.only.values(), self.both)))

    @property
    def may_be_numbers(self) -> bool:
        """Return whether more than half of the cells are numbers with either mark."""
        n = int(self.counts.sum() - self.counts[self.gap].sum())
        pairs = zip(self.read["."], self.read[","], strict=True)
        fine = np.array([one is not None or two is not None for one, two in pairs], dtype=bool)
        return 2 * self.cells(fine) > n

    def most(self, words: Indices) -> int:
        """Return the most frequent of some words."""
        return int(words[self.counts[words].argmax()])

    def proof(self) -> str | None:
        """Return the decimal mark that the cells can only have, but for a few; None without any."""
        n_point, n_comma = self.cells(self.only["."]), self.cells(self.only[","])
        if not n_point and not n_comma:
            return None
        mark = "." if n_point >= n_comma else ","
        return mark if few(min(n_point, n_comma), n_point + n_comma) else None


def tally(column: Words) -> NumberCounts:
    """Read each word of a column with both decimal marks."""
    words = column.words
    counts = np.bincount(column.codes + 1, minlength=len(words) + 1)[1:]
    rows = np.zeros(len(words) + 1, dtype=np.intp)
    rows[column.codes[::-1]] = np.arange(len(column.codes))[::-1]
    read: dict[str, list[WrittenNumber | None]] = {".": [], ",": []}
    only: dict[str, list[int]] = {".": [], ",": []}
    both: list[int] = []
    gap = np.zeros(len(words), dtype=bool)
    for i, word in enumerate(words):
        point = read_cell(word, ".")
        comma = read_cell(word, ",") if "." in word or "," in word else point
        read["."].append(point)
        read[","].append(comma)
        if point is None and comma is None:
            gap[i] = means_missing(word)
        elif comma is None:
            only["."].append(i)
        elif point is None:
            only[","].append(i)
        elif point.value != comma.value:
            both.append(i)
    places = {mark: np.array(found, dtype=np.intp) for mark, found in only.items()}
    return NumberCounts(words, counts, rows[:-1], gap, read, places, np.array(both, dtype=np.intp))


def shown_mark(column: Words, expected: str) -> str | None:
    """Return the decimal mark that the cells can only have; a few do not show another one."""
    found = tally(column)
    mark = found.proof()
    if mark is None or mark == expected:
        return mark
    return None if few(found.cells(found.only[mark]), found.n_marked) else mark


def unclear_words(column: Words, expected: str, usual: float) -> set[str]:
    """Return words such as 2.100 that probably do not have the decimal mark of training.

    The cells beside them may show it, or the number that is usual in training: 2100 rather than 2.
    """
    found = tally(column)
    marks = {_mark(found.words[i]) for i in found.both}
    proof = found.proof()
    if len(marks) != 1 or (proof is not None and not _is_weak(found, proof)):
        return set()
    likely = {_by_its_cells(found, marks.pop())} - {None}
    if usual:
        sizes = {mark: _median(found, found.both, mark) for mark in OTHER}
        nearest = min(OTHER, key=lambda mark: abs(np.log(sizes[mark] / abs(usual))))
        likely.add(nearest)
    return {found.words[i] for i in found.both} if OTHER[expected] in likely else set()


def _median(found: NumberCounts, words: Indices, decimal: str) -> float:
    """Return the median size of the numbers that some words are with this mark."""
    cells = [found.read[decimal][i] for i in words]
    sizes = [abs(cell.value) if cell else np.nan for cell in cells]
    return float(np.median(np.repeat(sizes, found.counts[words])))


# ---- the decimal mark ------------------------------------------------------------------------


def settle(
    found: NumberCounts, option: str | None, sep: str, others: Collection[str], place: Place
) -> tuple[str, tuple[str, ...]]:
    """Return the decimal mark of a column, and remarks; ask if both are possible.

    ``others`` are the marks that other columns can only have.
    """
    proof = found.proof()
    if proof is None and any(map(len, found.only.values())):
        if option is not None:
            return option, ()
        raise _conflict(found, found.most(found.only["."]), found.most(found.only[","]), place)
    if proof is not None:
        if option is None and _is_weak(found, proof):
            raise _unclear(found, place)
        told = option is not None and option != proof
        return proof, (f"the decimal mark is {proof!r}, not {option!r}",) * told
    if not len(found.both):
        return option or (min(others) if len(set(others)) == 1 else "."), ()
    if option is not None:
        return option, ()
    marks = {_mark(found.words[i]) for i in found.both}
    if len(marks) > 1:
        first, second = (
            next(i for i in found.both if _mark(found.words[i]) == mark) for mark in (".", ",")
        )
        raise _conflict(found, first, second, place)
    (mark,) = marks
    decimal = _by_its_cells(found, mark)
    known = set(others)
    if decimal is None and len(known) == 1:
        (decimal,) = known
    elif sep == "," and not known and decimal in (None, "."):
        # In such files a comma is no decimal mark, unless the cells say so.
        decimal = "."
    elif sep == "," and not known and decimal == ",":
        decimal = None
    if decimal is None:
        raise _unclear(found, place)
    if sep == "," and decimal == ".":
        return decimal, ()
    word = found.most(found.both)
    cell = found.read[decimal][word]
    return decimal, (f"{shown(found.words[word])} is read as {_plain(cell)}",)


def _mark(word: str) -> str:
    return "." if "." in word else ","


def _by_its_cells(found: NumberCounts, mark: str) -> str | None:
    """Return the decimal mark that is likely from cells such as 2.100 and those beside them.

    Who writes thousands without a mark means a decimal mark by it.  Who writes three decimals
    writes them in every cell, or leaves out zeros at the end.
    """
    unclear = set(found.both.tolist())
    plain = [cell for i, cell in enumerate(found.read["."]) if cell and i not in unclear]
    large = any(abs(cell.value) >= 1000 and cell.value == round(cell.value) for cell in plain)
    zero = bool(plain) and any(_ends_in_zero(found, i) for i in found.both)
    if large == zero:
        return None
    return mark if large else OTHER[mark]


def _ends_in_zero(found: NumberCounts, i: int) -> bool:
    """Return whether a word such as 2.100 ends in 0."""
    cell = found.read[OTHER[_mark(found.words[i])]][i]
    return cell is not None and cell.value % 10 == 0


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


def _plain(cell: WrittenNumber | None) -> str:
    return "" if cell is None else f"{cell.value:.15g}"


def _conflict(found: NumberCounts, first: int, second: int, place: Place) -> TableError:
    one, two = shown(found.words[first]), shown(found.words[second])
    return TableError(
        f"{one} has a decimal point, but {two} has a decimal comma",
        where=place(int(found.rows[first])),
        parameter="decimal",
        remedy="Write all numbers of the column in one way, or pass decimal='.' or decimal=','.",
    )


def _unclear(found: NumberCounts, place: Place) -> TableError:
    some = sorted(found.both.tolist(), key=lambda i: -found.counts[i])[:2]
    ways = " and ".join(
        f"{shown(found.words[i])} may be {_plain(found.read['.'][i])} or "
        f"{_plain(found.read[','][i])}"
        for i in some
    )
    mark = _mark(found.words[some[0]])
    return TableError(
        f"{ways}: the {'point' if mark == '.' else 'comma'} may be a decimal mark or a mark "
        "between thousands",
        where=place(int(found.rows[some[0]])),
        parameter="decimal",
        remedy=f"Pass decimal={mark!r} or thousands={mark!r}.",
    )


# ---- the column ------------------------------------------------------------------------------


def read_numbers(
    found: NumberCounts, decimal: str, remarks: tuple[str, ...]
) -> tuple[Numbers | None, tuple[str, ...]]:
    """Read a column as numbers with this decimal mark, or say why it looks like them only."""
    read = found.read[decimal]
    is_number = np.array([cell is not None for cell in read], dtype=bool)
    n_numbers, n_gaps = found.cells(is_number), found.cells(found.gap)
    n = int(found.counts.sum()) - n_gaps
    if not n_numbers or 2 * n_numbers <= n:
        return None, ()
    if any(cell is not None and cell.code for cell in read):
        codes = np.array([cell is not None and cell.code for cell in read])
        word = found.words[found.most(np.flatnonzero(codes))]
        remark = f"read as words: {shown(word)} is a code, not a number"
        return None, (remark,) if 2 * found.cells(codes) < n else ()
    unit, wrong, about = _unit(found, read, n_numbers)
    if unit is None:
        return None, about
    is_number &= ~wrong
    odd = np.flatnonzero(~is_number & ~found.gap)
    kinds = len({cell.value for cell, fine in zip(read, is_number, strict=True) if cell and fine})
    if not few(found.cells(odd), n) or kinds < (FEWEST_NUMBERS if len(odd) else 1 + bool(n_gaps)):
        some = " and ".join(shown(found.words[i]) for i in _frequent(found, odd)[:2])
        why = f"read as words: {n_numbers:,} of {n:,} cells are numbers, but not {some}"
        return None, (why,) if len(odd) else ()
    values = np.array(
        [
            cell.value if cell and fine else np.nan
            for cell, fine in zip(read, is_number, strict=True)
        ],
        dtype=np.float64,
    )
    return Numbers(values, unit, np.flatnonzero(found.gap), odd, (*remarks, *about)), ()


def _frequent(found: NumberCounts, words: Any) -> list[int]:
    return sorted(np.asarray(words).tolist(), key=lambda i: -found.counts[i])


def _unit(
    found: NumberCounts, read: list[WrittenNumber | None], n_numbers: int
) -> tuple[str | None, NDArray[np.bool_], tuple[str, ...]]:
    """Return the unit of a column, words with another one, and remarks; None if there are two."""
    words: dict[str, list[int]] = {}
    for i, cell in enumerate(read):
        if cell is not None:
            words.setdefault(same_unit(cell.unit), []).append(i)
    wrong = np.zeros(len(read), dtype=bool)
    bare = found.cells(np.array(words.pop("", []), dtype=np.intp))
    n_cells = {unit: found.cells(np.array(places)) for unit, places in words.items()}
    units = sorted(words, key=lambda unit: -n_cells[unit])

    def spelled(unit: str) -> str:
        spellings: Counter[str] = Counter()
        for i in words[unit]:
            spellings[getattr(read[i], "unit", "")] += int(found.counts[i])
        return spellings.most_common(1)[0][0]

    # A few cells with a unit among numbers without one, or with another: not these numbers.
    while units and few(n_cells[units[-1]], n_numbers):
        last = units[-1]
        others = bare + sum(n_cells[unit] for unit in units[:-1])
        if others <= n_cells[last] or (len(units) == 1 and is_currency(spelled(last))):
            break
        wrong[words[units.pop()]] = True
    if not units:
        return "", wrong, ()
    names = [spelled(unit) for unit in units]
    if len(units) > 1:
        two = f"read as words: the units differ, {shown(names[0])} and {shown(names[1])}"
        return None, wrong, (two,) if len(units) <= 3 else ()
    if not bare:
        return names[0], wrong, ()
    if is_factor(names[0]):
        why = f"read as words: {bare:,} numbers lack {shown(names[0])}"
        return None, wrong, (why,)
    return names[0], wrong, (f"{bare:,} cells have no unit" if bare > 1 else "1 cell has no unit",)
