"""Rows that a model should not decide: what is wrong with them, by column and value.

A row is in doubt if a cell cannot be read as what the column held in training, if it holds a word
that training never had, if a value is missing where training hardly ever lacked one, if a number
lies far outside the range of training, or if the row is empty.  The second part puts into words
what is strange about the cells of a row that a model finds unlike those of training.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._frames import is_polars, with_column
from rejo.tables import columns
from rejo.tables.columns import Learnt
from rejo.tables.errors import TableError, import_pandas, shown
from rejo.tables.values import LARGEST, Share, Unclear, word_of

# Why a row is in doubt, and how that is said of a value.
REASONS = {
    "empty": "the row is empty",
    "ragged": "the row has {kind} fields, unlike the header",
    "twice": "the row has {value} twice",
    "unreadable": "{column}: {value} is not {kind}",
    "unclear": "{column}: {value} may have {ways}",
    "unseen": "{column}: {value} was not in training",
    "outside": "{column}: {value} is far outside the range of training",
    "missing": "{column}: missing, but hardly ever in training",
    "unpriced": "{column}: {value} gives no price",
    "unscored": "the model has no score for this row",
}
A_KIND = {"number": "a number", "date": "a date", "category": "a word",
          "large": "a number up to 1e100"}  # fmt: skip
WAYS = {"number": "a decimal mark or one between thousands", "date": "the day or the month first",
        "share": "to be multiplied by 100: training had percentages"}  # fmt: skip


class Doubt(NamedTuple):
    """Why a row is in doubt."""

    why: str  # in REASONS
    column: str = ""
    value: str = ""
    kind: str = ""  # what the cell had to be, in A_KIND; the number of fields of a ragged row

    def __str__(self) -> str:
        return REASONS[self.why].format(
            column=self.column,
            value=shown(self.value),
            kind=A_KIND.get(self.kind, self.kind),
            ways=WAYS.get(self.kind, ""),
        )


class Checked(NamedTuple):
    """A table whose every cell can be encoded, and the rows that are in doubt."""

    frame: Any  # as given, with cells that cannot be read missing
    doubts: dict[int, list[Doubt]]  # by position of the row

    def reasons(self) -> dict[int, str]:
        """Return the reason for each row in doubt."""
        return {row: "; ".join(map(str, found)) for row, found in self.doubts.items()}

    def counts(self) -> dict[str, dict[str, int]]:
        """Return for each column how many cells are in doubt, and why.

        Empty rows are those of the column ``""``.
        """
        found: dict[str, Counter[str]] = {}
        for doubt in chain.from_iterable(self.doubts.values()):
            found.setdefault(doubt.column, Counter())[doubt.why] += 1
        return {column: dict(counted) for column, counted in found.items()}


class _Doubts(dict[int, list[Doubt]]):
    """The doubts of one table, by row."""

    def __init__(self, n_rows: int) -> None:
        super().__init__()
        self.empty = np.ones(n_rows, dtype=bool)  # rows that have no value so far

    def add(self, rows: Any, doubts: Iterable[Doubt]) -> None:
        for row, doubt in zip(rows.tolist(), doubts, strict=False):
            self.setdefault(row, []).append(doubt)

    def missing(self, name: str, gaps: NDArray[np.bool_], known: Learnt | None) -> None:
        """Count the cells of a column that are missing."""
        self.empty &= gaps
        if known is not None and not known["missing"]:
            self.add(np.flatnonzero(gaps), repeat(Doubt("missing", name)))


def check_table(
    X: Any, kinds: dict[str, str], written: dict[str, dict[str, str]], learnt: dict[str, Learnt]
) -> Checked:
    """Find the rows of a table that a model should not decide.

    Nothing is known of what training had in a column that ``learnt`` lacks.
    """
    pd = import_pandas("checking a table")
    doubts, frame = _Doubts(len(X)), X.copy(deep=False)
    times = [name for name, known in learnt.items() if known.get("role") == "time"]
    time = None  # days of the dates that order the rows
    for name in times:
        time = columns.days_of(columns.read(X[name], "date", written.get(name, {})).values)
    for name, kind in kinds.items():
        how, known = written.get(name, {}), learnt.get(name)
        if kind == "category":
            found = _check_words(X[name], known, doubts)
        else:
            since = time if known and known.get("role") == "age" else None
            found = _check_numbers(X[name], kind, how, known, doubts, since)
        if found is not None:
            frame[name] = pd.Series(found, X.index)
    for row in np.flatnonzero(doubts.empty).tolist():
        doubts[row] = [Doubt("empty")]
    # Cells of such a row may stand in the wrong columns: whatever is said of them may be wrong.
    for index, (why, detail) in X.attrs.get("doubts", {}).items():
        if index in X.index:
            said = Doubt(why, value=detail, kind=detail)
            doubts[int(X.index.get_loc(index))] = [said]
    return Checked(frame, dict(sorted(doubts.items())))


def like_given(X: Any, checked: Checked) -> Any:
    """Return the frame of a check as one of polars, if ``X`` is that."""
    if not is_polars(X):
        return checked.frame
    for name, found in checked.counts().items():
        if found.keys() & {"unreadable", "unclear"}:
            column = checked.frame[name]
            X = with_column(X, name, column.astype(object).where(column.notna(), None).to_numpy())
    return X


def _check_numbers(
    column: Any,
    kind: str,
    written: dict[str, str],
    known: Learnt | None,
    doubts: _Doubts,
    since: Any = None,
) -> NDArray[Any] | None:
    """Check a column of numbers or dates; return how to read it, unless it is that already.

    ``since`` are the days at which dates become ages.
    """
    values, unread, _, large = columns.read(column, kind, written)
    name = column.name
    unit = written.get("unit", "")
    wanted = f"a number in {unit}" if unit else kind
    own = columns.days_of(values) if kind == "date" else values
    numbers = own if since is None else since - own
    low, high = (known["low"], known["high"]) if known else (-LARGEST, LARGEST)
    if len(numbers) and low <= numbers.min() and numbers.max() <= high:  # and none is missing
        doubts.empty[:] = False
        return values if column.dtype.kind not in "fiuM" else None
    for row, cell in zip(unread.tolist(), column.iloc[unread].tolist(), strict=True):
        why = "unclear" if isinstance(cell, Unclear) else "unreadable"
        what = "large" if row in large else wanted
        what = "share" if isinstance(cell, Share) else what
        doubts.setdefault(row, []).append(Doubt(why, name, str(cell), what))
    gaps = np.isnan(own)
    gaps[unread] = False
    doubts.missing(name, gaps, known)
    far = np.flatnonzero((numbers < low) | (numbers > high))
    cells = values[far].astype("datetime64[D]") if kind == "date" else values[far]
    doubts.add(far, (Doubt("outside", name, word_of(cell), kind) for cell in cells.tolist()))
    return values if len(unread) or column.dtype.kind not in "fiuM" else None


def _check_words(column: Any, known: Learnt | None, doubts: _Doubts) -> Any:
    """Check a column of words; return it as categories, which are encoded faster."""
    pd = import_pandas("checking a table")
    name = column.name
    unread = columns.NOWHERE
    try:
        words = columns.as_words(column)
    except TableError:
        unread = columns.not_words(column)
        cells = column.iloc[unread].tolist()
        doubts.add(unread, (Doubt("unreadable", name, str(cell), "category") for cell in cells))
        column = column.astype(object)
        column.iloc[unread] = None
        words = columns.as_words(column)
    gaps = words.codes < 0
    gaps[unread] = False
    doubts.missing(name, gaps, known)
    new = columns.unseen(words.words, known) if known else np.zeros(0, dtype=bool)
    if new.any():
        rows = np.flatnonzero(np.append(new, False)[words.codes])
        said = [Doubt("unseen", name, word, "category") for word in words.words]
        doubts.add(rows, (said[code] for code in words.codes[rows].tolist()))
    if isinstance(column.dtype, pd.CategoricalDtype):
        return None
    return pd.Categorical.from_codes(words.codes, pd.Index(words.words, dtype=object))


# ---- strange cells ----------------------------------------------------------------------------

LONGEST = 40  # letters of a cell


class Origin(NamedTuple):
    """Where a column of the output of an encoder comes from."""

    name: str  # of the column of the table
    what: str  # "number", "date", "month", "word" or "missing"
    label: str  # of the column of the output, after the name
    word: str | None = None  # whose column it is
    center: float = 0.0  # of a number: what 0 stands for
    scale: float = 1.0  # and what a step of 1 is

    def value(self, encoded: float, *, about: bool = False) -> str:
        """Return a number or a date as people write it; ``about``: a number in three digits."""
        number = encoded * self.scale + self.center
        if self.what == "date":
            return str(np.datetime64(round(number), "D"))
        return shown_number(float(f"{number:.3g}") + 0.0 if about else number)


def origins(name: str, kind: str, known: Mapping[str, Any]) -> list[Origin]:
    """Return the columns of the output that a column becomes, in their order."""
    missing = [Origin(name, "missing", " missing")] * bool(known["missing"])
    if kind == "category":
        parts = [Origin(name, "word", f"={word}", word) for word in known["categories"]]
        parts += [Origin(name, "word", "=other")] * bool(known["other"])
        parts += missing
        return parts[1:] if len(parts) == 2 else parts
    role, scaled = known.get("role", ""), (None, known["center"], known["scale"])
    if role in ("time", "price"):
        return []
    if kind == "number" or role:
        return [Origin(name, "number", f" {role}".rstrip(), *scaled), *missing]
    months = [Origin(name, "month", f" month {end}") for end in ("sin", "cos")]
    return [Origin(name, "date", " days", *scaled), *months, *missing]


def describe_strange(
    where: list[Origin], features: Iterable[Any], row: Mapping[str, Any] | None = None
) -> list[str]:
    """Say of each strange feature, once for each column of the table, what is strange about it."""
    said: dict[str, str] = {}
    for strange in features:
        origin = where[strange.feature]
        if origin.name not in said:
            cell = None if row is None else row.get(origin.name)
            said[origin.name] = _describe(origin, strange, cell)
    return list(said.values())


def _describe(origin: Origin, strange: Any, cell: Any) -> str:
    name, empty = origin.name, cell is None or str(cell) in ("nan", "NaT", "<NA>")
    if origin.what == "missing":
        return f"{name}: unusual " + ("to have a value here" if strange.value < 0.5 else
                                      "to be missing")  # fmt: skip
    if origin.what == "word":
        word = "another word" if origin.word is None else shown(origin.word)
        if empty and strange.value < 0.5:
            return f"{name}: unusual not to be {word}"
        said = word if empty else shown(str(cell)[:LONGEST])
        return f"{name} {said}: unusual with the other values"
    if origin.what == "month":
        return f"{name}: unusual month"
    value = origin.value(strange.value)
    if strange.kind == "outside":
        low, high = origin.value(strange.low), origin.value(strange.high)
        return f"{name} {value}: training had {low} to {high}"
    expected = origin.value(strange.expected, about=True)
    if expected in (value, origin.value(strange.value, about=True)):  # by less than is shown
        return f"{name} {value}: unusual with the other values"
    return f"{name} {value}: the other values suggest about {expected}"


def shown_number(number: float) -> str:
    """Return a number in at most six digits; a whole number in all of them.

    >>> shown_number(97.0000000001), shown_number(1234567.0), shown_number(0.12345678)
    ('97', '1234567', '0.123457')
    """
    near = 1e-6 * max(abs(number), 1e-3)
    is_whole = abs(number) < 1e15 and abs(number - round(number)) <= near
    return f"{round(number)}" if is_whole else f"{number:.6g}"
