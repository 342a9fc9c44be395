"""Columns of a new file that are not as in training: drift is said, a fault stops.

Training keeps of each column how many cells fell into a few bins: ranges or values of numbers,
frequent words, cells that are missing.  A sample of the rows of a new file is counted in the same
bins and compared by a chi-square test of two samples.

*Drift* is beyond chance in a file of this size, over all columns together.  A *fault* is as no
ordinary week looks: besides, half of the cells would have to change to look like training, or the
numbers do when they are multiplied by 10, 100 or 1,000, or the column is all but empty.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from rejo._errors import Setting, Text
from rejo._io import percent
from rejo._typing import Floats, Indices
from rejo.tables.errors import TableError, shown

BINS, FEWEST_IN_BIN = 16, 20  # of numbers, and training cells in each: more see less in small files
SEEN = 100_000  # training cells that set the bins
# Numbers with so few different values are compared value by value, if frequent ones are nearly all:
# the others, taken together, are more in a new file, as they were chosen for being few.
VALUES, FEWEST_OF_VALUE, MOST_CELLS = 16, 5, 0.9
SAMPLE, OF_CHUNK = 20_000, 2_000  # rows of a file, and of a chunk: more see no fault better
FEWEST_ROWS = 20  # a smaller file is judged row by row only
# Chance of saying that an ordinary file drifts, over all its columns: the chi-square approximation
# is a little too quick with few rows, and in simulations this keeps it below 0.01.
LEVEL = 0.004
EXPECTED = 5.0  # cells in a bin for the approximation; bins with fewer are joined
LEAST_DRIFT = 0.05  # share of the cells that must differ: less is of no use to anybody
# A fault: chance of one column, and the share of cells that differ.  Half as much for a wrong unit,
# which is told apart by what it explains.
FAULT_CHANCE, FAULT, UNIT_FAULT = 1e-6, 0.5, 0.25
FACTORS = (10.0, 100.0, 1000.0, 0.1, 0.01, 0.001)
EMPTY = 0.99  # share of the cells that are missing in a column that is all but empty


class Finding(NamedTuple):
    """A column that is not as in training."""

    column: str
    degree: str  # "drift" or "fault"
    said: str  # what was expected, and what came
    matters: bool = True  # the decisions of the model depend on it

    def __str__(self) -> str:
        return f"{self.column}: {self.said}"


class HeldFile(TableError):
    """A column that matters is at fault: no case may be decided."""

    def __init__(self, found: Iterable[Finding], then: str) -> None:
        held = [one for one in found if one.degree == "fault" and one.matters]
        accept = Setting("accept", [one.column for one in held])
        super().__init__(
            "; ".join(map(str, held)),
            parameter="accept",
            remedy=Text(f"{then}; if it is right, add ", accept),
        )


# ---- training -----------------------------------------------------------------------------------


def bins_of_numbers(values: Floats, low: float, high: float) -> dict[str, Any]:
    """Return the bins of a column, and how many of its cells are in each, missing ones last.

    ``low`` and ``high`` are far outside the range of training.  The edges are rounded, so that they
    do not tell single values.
    """
    there = values[~np.isnan(values)]
    seen = there[:: max(1, len(there) // SEEN)]
    different, counts = np.unique(seen, return_counts=True)
    often = counts >= FEWEST_OF_VALUE
    kept, most = different[often], counts[often].sum() >= MOST_CELLS * len(seen)
    if len(different) <= VALUES and len(kept) > 1 and most:
        known = {"edges": kept.tolist(), "exact": True}
    else:
        n_bins = int(np.clip(len(seen) // FEWEST_IN_BIN, 4, BINS))
        edges = np.quantile(seen, np.arange(1, n_bins) / n_bins) if len(seen) else np.empty(0)
        spread = float(np.ptp(edges)) if len(edges) else 0.0
        if spread > 0:
            step = 10.0 ** np.floor(np.log10(spread / 100))
            edges = np.round(edges / step) * step
        edges = np.unique(np.clip(np.append(edges, [low, high]), low, high))
        known = {"edges": edges.tolist(), "exact": False}
    return known | {"counts": count_numbers(values, known).tolist()}


def count_numbers(values: Floats, known: Mapping[str, Any]) -> Indices:
    """Count numbers by bins; of exact values the last but one has all others, and missing last."""
    edges = np.asarray(known["edges"])
    if known["exact"]:
        place = np.minimum(np.searchsorted(edges, values), len(edges) - 1)
        place = np.where(edges[place] == values, place, len(edges))
    else:
        place = np.searchsorted(edges, values, side="right")
    place = np.where(np.isnan(values), len(edges) + 1, place)
    counts: Indices = np.bincount(place, minlength=len(edges) + 2)
    return counts


# ---- a new file ---------------------------------------------------------------------------------


class Watch:
    """A sample of the rows of a file, column by column; ``known`` has the bins of each."""

    def __init__(self, known: Mapping[str, Mapping[str, Any]]) -> None:
        self._known, self.columns = known, list(known)
        self._parts: dict[str, list[NDArray[Any]]] = {name: [] for name in known}
        self._step, self._n_kept = 1, 0

    def rows(self, n: int) -> slice:
        """Return which of the next ``n`` rows are wanted."""
        return slice(0, n, max(self._step, -(-n // OF_CHUNK)))

    def add(self, columns: Mapping[str, NDArray[Any]], n: int) -> None:
        """Add the wanted rows among ``n``: numbers (k,), or counts of words by bin (n_bins,)."""
        for name, values in columns.items():
            self._parts[name].append(values)
        self._n_kept += -(-n // self.rows(n).step)
        if self._n_kept > 2 * SAMPLE:  # keep every second row from now on
            self._step, self._n_kept = 2 * self._step, self._n_kept // 2
            for name, parts in self._parts.items():
                if parts and parts[0].dtype == np.float64:
                    self._parts[name] = [np.concatenate(parts)[::2]]

    def findings(self) -> list[Finding]:
        """Return the columns that are not as in training, faults first."""
        if self._n_kept < FEWEST_ROWS:
            return []
        found = [
            (_compare_numbers if is_number else _compare_words)(name, new, known, len(self._known))
            for name, known, new, is_number in self._new()
        ]
        return sorted(filter(None, found), key=lambda one: one.degree != "fault")

    def counts(self) -> dict[str, list[int]]:
        """Return for each column how many cells fell into the bins of training."""
        return {
            name: (count_numbers(new, known) if is_number else new).tolist()
            for name, known, new, is_number in self._new()
        }

    def _new(self) -> Iterator[tuple[str, Mapping[str, Any], NDArray[Any], bool]]:
        """Yield columns: name, bins, and numbers (k,) or counts of words by bin."""
        for name, known in self._known.items():
            if parts := self._parts[name]:
                is_number = parts[0].dtype == np.float64
                new = np.concatenate(parts) if is_number else np.sum(parts, axis=0)
                yield name, known, new, is_number


def _compare_numbers(
    name: str, values: Floats, known: Mapping[str, Any], n_columns: int
) -> Finding | None:
    old, new = np.asarray(known["counts"]), count_numbers(values, known)
    chance, differ = compare_counts(old, new, ordered=not known["exact"])
    degree = _degree(chance, differ, old, new, n_columns)
    if not degree:
        return None
    before, now = old[-1] / old.sum(), new[-1] / new.sum()
    if abs(now - before) > differ / 2:
        return Finding(name, degree, _gaps(before, now))
    said = _range(values, known)
    may_be_unit = chance < FAULT_CHANCE and differ >= UNIT_FAULT and now < 1
    if may_be_unit and (factor := _factor(values, known, old, differ)):
        size = f"{max(factor, 1 / factor):,.0f} times {'larger' if factor > 1 else 'smaller'}"
        degree, said = "fault", f"numbers are about {size} than in training; {said}"
    return Finding(name, degree, said)


def _factor(values: Floats, known: Mapping[str, Any], old: Indices, differ: float) -> float | None:
    """Return by how much the numbers are too large, if that alone explains how they differ."""
    best, least = None, 0.5 * differ
    for factor in FACTORS:
        scaled = values / factor
        if known["exact"]:  # 0.1 * 10 is not 1 in the last digit
            scaled = np.round(scaled, 9)
        _, still = compare_counts(old, count_numbers(scaled, known), ordered=not known["exact"])
        if still < least:
            best, least = factor, still
    return best


def _compare_words(
    name: str, new: Indices, known: Mapping[str, Any], n_columns: int
) -> Finding | None:
    old = np.asarray(known["counts"])
    degree = _degree(*compare_counts(old, new, ordered=False), old, new, n_columns)
    if not degree:
        return None
    before, now = old / old.sum(), new / new.sum()
    most = int(np.abs(now - before).argmax())
    if most == len(old) - 1:
        return Finding(name, degree, _gaps(before[-1], now[-1]))
    words = [*map(shown, known["words"]), "rare words", "words that were not in training"]
    share = f"{percent(now[most])} of the cells, {percent(before[most])} in training"
    return Finding(name, degree, f"{words[most]} in {share}")


def compare_counts(old: Indices, new: Indices, *, ordered: bool) -> tuple[float, float]:
    """Return the chance of such a difference between samples, and the share of cells that differ.

    A chi-square test of two samples.  Bins with few expected cells are joined: with their
    neighbours if they are ``ordered``, with each other if not; that of missing cells, the last,
    stays apart if it can.
    """
    n, m = old.sum(), new.sum()
    if not n or not m:
        return 1.0, 0.0
    expected = (old + new) * (min(n, m) / (n + m))
    order = np.arange(len(old)) if ordered else np.argsort(expected, kind="stable")
    group, filled, label = np.empty(len(old), dtype=np.intp), 0.0, 0
    for i in order:
        if ordered and i == len(old) - 1 and expected[i] >= EXPECTED and filled:
            label, filled = label + (filled > 0), 0.0
        group[i] = label
        filled += expected[i]
        if filled >= EXPECTED:
            label, filled = label + 1, 0.0
    if filled and label:  # what is left over goes to the last group
        group[group == label] = label - 1
    a = np.bincount(group, weights=old)
    b = np.bincount(group, weights=new)
    a, b = a[a + b > 0], b[a + b > 0]
    if len(a) < 2:
        return 1.0, 0.0
    score = float(((np.sqrt(m / n) * a - np.sqrt(n / m) * b) ** 2 / (a + b)).sum())
    differ = 0.5 * float(np.abs(a / n - b / m).sum())
    return float(chdtrc(len(a) - 1, score)), differ


def _degree(chance: float, differ: float, old: Indices, new: Indices, n_columns: int) -> str:
    if chance > LEVEL / n_columns or differ < LEAST_DRIFT:
        return ""
    emptied = new[-1] >= EMPTY * new.sum() and old[-1] < 0.9 * old.sum()
    return "fault" if chance < FAULT_CHANCE and (differ >= FAULT or emptied) else "drift"


def _gaps(before: float, now: float) -> str:
    share = f"{percent(now)} of the cells are missing or cannot be read"
    return f"{share}, {percent(before)} in training"


def _range(values: Floats, known: Mapping[str, Any]) -> str:
    """Say in which range most numbers are, and were in training."""
    there = values[~np.isnan(values)]
    if not len(there):
        return "no cell has a number"
    low, middle, high = np.quantile(there, [0.1, 0.5, 0.9])
    counts, edges = np.asarray(known["counts"][:-1]), np.asarray(known["edges"])
    share = np.cumsum(counts) / max(counts.sum(), 1)
    places = np.minimum(np.searchsorted(share, [0.1, 0.5, 0.9]), len(edges) - 1)
    before = edges[places]
    most = "are" if low == high else "from"
    return f"most {most} {_spread(low, middle, high)}; in training about {_spread(*before)}"


def _spread(low: float, middle: float, high: float) -> str:
    if low == high:
        return _short(low)
    return f"{_short(low)} to {_short(high)}, half below {_short(middle)}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
