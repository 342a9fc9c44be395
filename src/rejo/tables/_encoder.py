"""A transformer from the columns of a table to an array that a classifier can use."""

import re
from collections.abc import Iterable, Mapping
from itertools import chain
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from rejo._state import (
    MOST_FEATURES,
    Must,
    check_parameters,
    count,
    each,
    either,
    flag,
    mapping,
    maybe,
    names,
    one_of,
    plain,
    require,
    storable,
    text,
)
from rejo._typing import Floats, Indices
from rejo.tables import columns
from rejo.tables.columns import AS_PYTHON, DECADE
from rejo.tables.dates import FORMATS
from rejo.tables.doubts import Checked, Origin, check_table, describe_strange, like_given, origins
from rejo.tables.errors import TableError, check_columns, check_names, listed, shown
from rejo.tables.numbers import LONGEST_UNIT, OTHER
from rejo.tables.values import LARGEST
from rejo.tables.watch import BINS, Watch

BLOCK = 4096  # rows
MOST_LETTERS = 1 << 24  # in the names of all columns of the output
MOST_WORDS = 10_000  # for missing values, and other names


@storable
class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a DataFrame with mixed columns into an array of numbers on comparable scales.

    Numbers are standardised and clipped at a million standard deviations.  Missing numbers are
    replaced by the median; if training had enough, another column marks them.  Words are one-hot
    encoded: one column for each frequent word, one for all rare words together ("other"), and one
    for missing values; two levels need only one column.  Dates become the days since 1970, treated
    as a number, and the month on a circle.

    Left out are constant columns, columns without values, words that hardly repeat (names or free
    text: more than 50, and more than half as many as there are rows), whole numbers that count the
    rows, and dates that order the rows, because new files have later ones.  If there are such
    dates, others become ages at them, in days.

    Parameters
    ----------
    max_categories : int, default=20
        Maximum number of words in a column that get a column of their own.
    min_count : int, default=5
        Minimum number of rows with a word that gets a column of its own, or with a missing value
        for these to get one; with fewer than 100 rows, 5 percent of them.
    written : dict of str to dict, default=None
        How dates and numbers are written in the files that :func:`read_chunks` reads, as in
        ``Table.written``. ``None``: what :func:`read_table` left in ``X.attrs``, else as in Python.
    reading : dict, default=None
        What was said about how to read the table, as in ``Table.reading``; also ``time``, the
        column of dates that order the rows (``None``: there is none; by default it is looked for),
        and ``keep``, columns that are features even so.
        ``None``: what :func:`read_table` left in ``X.attrs``.
    prices : dict of str to bool, default=None
        Columns of numbers that prices depend on, such as the amount of a loan, and whether they
        are features, too. They are read, checked and watched in any case.

    Attributes
    ----------
    feature_names_in_ : ndarray of str
        Columns of the training table.
    n_features_in_ : int
        Number of these columns.
    kinds_ : dict of str to str
        ``"number"``, ``"date"`` or ``"category"`` for each column in use.
    written_ : dict of str to dict
        How each column of dates or numbers in use is written.
    left_out_ : dict of str to str
        The reason for each column left out.
    learnt_ : dict of str to dict
        What was learnt from each column in use.  A column of dates has a ``role``: ``"time"`` if
        they order the rows, ``"age"`` if they become ages; so have numbers that are no features:
        ``"price"``.
    reading_ : dict
        How tables are read, with the column ``time`` that was found.

    Examples
    --------
    >>> import pandas as pd
    >>> from rejo.tables import TableEncoder
    >>> X = pd.DataFrame({"age": [20, 40, None], "job": ["clerk", "cook", "clerk"], "unit": "kg"})
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age missing', 'job=cook']
    >>> encoder.transform(X)
    array([[-1.,  0.,  0.],
           [ 1.,  0.,  1.],
           [ 0.,  1.,  0.]])
    >>> encoder.left_out_
    {'unit': 'constant'}
    """

    _fitted: ClassVar[dict[str, Must]] = {
        "n_features_in_": count(1, MOST_FEATURES),
        "feature_names_in_": names("p"),
        "kinds_": mapping(text(), one_of("number", "date", "category")),
        "written_": mapping(text(), plain()),
        "left_out_": mapping(text(), text()),
        "learnt_": mapping(text(), plain()),
        "reading_": mapping(text(), plain()),
    }
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "min_count": [Interval(Integral, 1, None, closed="left")],
        "written": [dict, None],
        "reading": [dict, None],
        "prices": [dict, None],
    }

    def __init__(
        self,
        *,
        max_categories: int = 20,
        min_count: int = 5,
        written: dict[str, dict[str, str]] | None = None,
        reading: dict[str, Any] | None = None,
        prices: dict[str, bool] | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.min_count = min_count
        self.written = written
        self.reading = reading
        self.prices = prices

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to encode each column of the DataFrame ``X``; ``y`` is ignored."""
        self._validate_params()
        X = _frame(X)
        if not len(X):
            raise TableError("X has no rows to learn from")
        written = self._written(X)
        reading = dict(X.attrs.get("reading", {}) if self.reading is None else self.reading)
        if not is_reading(reading):
            raise ValueError(f"reading must say how a table is read, got {shown(reading)}")
        found_kinds = {name: columns.kind_of(X[name]) for name in X.columns}
        time, days = self._time(X, found_kinds, reading, written)
        kinds: dict[str, str] = {}
        learnt: dict[str, Any] = {}
        left_out: dict[str, str] = {}
        prices = self.prices or {}
        check_columns("X", prices, X.columns)
        for name, kind in found_kinds.items():
            if name == time:
                continue
            how = written.get(name, {})
            found = self._learn(X[name], kind, how, days) if prices.get(name, True) else ""
            if isinstance(found, str) and name in prices:
                found = self._learn_price(X[name], kind, how)
            if isinstance(found, str):
                left_out[name] = found
            else:
                kinds[name], learnt[name] = kind, found
        if time is not None:
            if any(known.get("role") == "age" for known in learnt.values()):
                kinds[time], learnt[time] = "date", columns.learn_time(days, self.min_count)
            else:
                left_out[time] = "it orders the rows: new files have later dates"
        if all(known.get("role") == "price" for known in learnt.values()):
            said = [f"{shown(name)}: {why}" for name, why in list(left_out.items())[:10]]
            said += [f"{shown(name)}: for prices only" for name in learnt]
            raise TableError("no column is usable: " + "; ".join(said))
        self.feature_names_in_ = np.array(list(X.columns), dtype=object)
        self.n_features_in_ = len(X.columns)
        self.kinds_, self.learnt_, self.left_out_ = kinds, learnt, left_out
        self.reading_ = reading | {"time": time}
        self.written_ = {
            name: AS_PYTHON[kind] | {k: v for k, v in written.get(name, {}).items()
                                     if k in AS_PYTHON[kind]}
            for name, kind in kinds.items() if kind in AS_PYTHON
        }  # fmt: skip
        return self

    def _written(self, X: Any) -> dict[str, dict[str, str]]:
        given = X.attrs.get("written", {}) if self.written is None else self.written
        for name, how in given.items():
            if not fit(how, WRITTEN):
                raise ValueError(
                    f"written must give a format among {listed(FORMATS)}, or a decimal mark and a "
                    f"unit, for each column; got {shown(how)} for column {shown(name)}"
                )
        return given

    def _time(
        self, X: Any, kinds: dict[str, str], reading: dict[str, Any], written: dict[str, Any]
    ) -> tuple[str | None, Any]:
        """Return the column of dates that order the rows, and the days (n,) of these."""
        dates = [name for name, kind in kinds.items() if kind == "date"]
        kept = reading.get("keep", ())
        if "time" in reading:
            dates = [name for name in dates if name == reading["time"]]
        elif len(kinds) == 1:  # it is all there is
            dates = []
        for name in dates:
            days = columns.as_days(X[name], written.get(name, {}))
            if "time" in reading or (name not in kept and columns.orders_the_rows(name, days)):
                return name, days
        return None, None

    def _learn(
        self, column: Any, kind: str, written: dict[str, str], time: Any = None
    ) -> dict[str, Any] | str:
        values = columns.read_as(column, kind, written, time)
        if kind == "category":
            return columns.learn_category(values, self.max_categories, self.min_count)
        if kind == "date":
            role = "" if time is None else "age"
            return columns.learn_number(values, self.min_count, DECADE, role)
        if columns.counts_the_rows(values, column.index):
            return "row numbers"
        return columns.learn_number(values, self.min_count)

    def _learn_price(self, column: Any, kind: str, written: dict[str, str]) -> dict[str, Any]:
        """Learn about a column that only prices depend on."""
        found: dict[str, Any] | str = f"it holds a {kind}"
        if kind == "number":
            values = columns.read_as(column, kind, written)
            found = columns.learn_number(values, self.min_count, role="price")
        if isinstance(found, str):
            where = f"column {shown(column.name)}"
            raise TableError(f"prices need numbers: {found}", where=where, parameter="prices")
        return found

    @property
    def features_(self) -> dict[str, str]:
        """Kinds of the columns in use, but for those that only prices depend on."""
        only = [name for name, known in self.learnt_.items() if known.get("role") == "price"]
        return {name: kind for name, kind in self.kinds_.items() if name not in only}

    def transform(self, X: Any) -> Floats:
        """Encode a DataFrame as an array of numbers, float64, of shape (n_samples, n_out).

        Other columns, and the order of columns, do not matter.
        """
        X = self._columns_of(X)
        values, widths = self._read(X, self.kinds_), list(map(len, self._outputs()))
        for name, kind in self.kinds_.items():
            if kind == "category":
                values[name] = columns.levels_of(values[name], self.learnt_[name])
        out = np.zeros((len(X), sum(widths)))
        # All columns of a few rows at a time, so that the output stays in the cache.
        for first in range(0, len(X), BLOCK):
            start, rows = 0, slice(first, first + BLOCK)
            for (name, kind), width in zip(self.kinds_.items(), widths, strict=True):
                part, column = out[rows, start : start + width], values[name][rows]
                if kind == "category":
                    columns.write_levels(part, column)
                elif width:
                    columns.write_numbers(part, column, kind, self.learnt_[name])
                start += width
        return out

    def check(self, X: Any) -> Checked:
        """Find the rows that a model should not decide, and why.

        Return ``frame``, as ``X`` but with cells that cannot be read missing, so that
        :meth:`transform` can encode it; ``doubts``, by position of the row; and ``reasons()``, the
        same in words.

        Examples
        --------
        >>> import pandas as pd
        >>> from rejo.tables import TableEncoder
        >>> X = pd.DataFrame({"age": [20, 40, 50], "job": ["clerk", "cook", "clerk"]})
        >>> new = pd.DataFrame({"age": [30, "forty", None], "job": ["baker", "cook", None]})
        >>> for row, reason in TableEncoder().fit(X).check(new).reasons().items():
        ...     print(row, reason)
        0 job: 'baker' was not in training
        1 age: 'forty' is not a number
        2 the row is empty
        """
        checked = check_table(self._columns_of(X), self.kinds_, self.written_, self.learnt_)
        return checked._replace(frame=like_given(X, checked))

    def _columns_of(self, X: Any) -> Any:
        check_is_fitted(self)
        X = _frame(X)
        check_columns("X", self.kinds_, X.columns)
        return X

    def _read(self, X: Any, names: Iterable[str]) -> dict[str, Any]:
        """Return columns (n,) as numbers, days, ages in days, or words."""
        time, ages = self.reading_["time"], None
        if time in self.kinds_:  # other dates are ages at it
            ages = columns.as_days(X[time], self.written_[time])
        return {
            name: columns.read_as(
                X[name], self.kinds_[name], self.written_.get(name, {}),
                ages if self.learnt_[name].get("role") == "age" else None,
            )
            for name in names
        }  # fmt: skip

    def watch(self) -> Watch:
        """Return what compares the columns of a new file with those of training."""
        check_is_fitted(self)
        known = {}
        for name, learnt in self.learnt_.items():
            if "categories" in learnt:
                known[name] = {"words": learnt["categories"], "counts": learnt["bins"]}
            elif self.kinds_[name] == "number" or learnt["role"] == "age":
                known[name] = learnt["bins"]
        return Watch(known)

    def add_rows(self, watch: Watch, X: Any) -> None:
        """Add rows, of which every cell can be encoded, to what :meth:`watch` returned."""
        n = len(X)
        found = self._read(X.iloc[watch.rows(n)], watch.columns)
        for name, column in found.items():
            if self.kinds_[name] == "category":
                found[name] = columns.count_levels(column, self.learnt_[name])
        watch.add(found, n)

    def typical(self, column: str) -> list[Any]:
        """Return values of a column that are usual: a low, a middle and a high one, or words."""
        known = self.learnt_[column]
        if "categories" in known:
            return list(known["categories"][:3])
        edges, counts = known["bins"]["edges"], np.cumsum(known["bins"]["counts"][:-1])
        places = np.searchsorted(counts / max(counts[-1], 1), [0.1, 0.9])
        ends = [edges[min(int(place), len(edges) - 1)] for place in places]
        return [ends[0], known["fill"], ends[1]]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the output columns, such as ``age missing`` or ``job=clerk``.

        ``input_features`` is ignored.
        """
        check_is_fitted(self)
        names: dict[str, None] = {}
        for one in chain.from_iterable(self._outputs()):
            name = one.name + one.label
            unique, number = name, 1
            while unique in names:  # a word may itself be "other"
                number += 1
                unique = f"{name} ({number})"
            names[unique] = None
        return np.array(list(names), dtype=object)

    def origins(self) -> Indices:
        """Position in ``feature_names_in_`` of the column that each output (n_out,) comes from."""
        check_is_fitted(self)
        place = {name: i for i, name in enumerate(self.feature_names_in_.tolist())}
        widths = list(map(len, self._outputs()))
        return np.repeat([place[name] for name in self.kinds_], widths)

    def _outputs(self) -> list[list[Origin]]:
        return [origins(name, kind, self.learnt_[name]) for name, kind in self.kinds_.items()]

    def describe(self, features: Any, row: Any = None) -> list[str]:
        """Say what is strange about a row, once for each column of the table.

        ``features`` are those of :meth:`rejo.NoveltyReject.novel_features` for its encoding;
        ``row``, by the names of columns, is the row before it was encoded, to quote words.
        """
        check_is_fitted(self)
        return describe_strange(list(chain.from_iterable(self._outputs())), features, row)

    @property
    def _n_features_out(self) -> int:
        return sum(map(len, self._outputs()))

    def _check_state(self) -> None:
        """What it knows about each column suits the kind of the column."""
        check_parameters(self)
        kinds, learnt, written = self.kinds_, self.learnt_, self.written_
        agree = sorted([*kinds, *self.left_out_]) == sorted(self.feature_names_in_.tolist())
        agree = (
            agree and bool(kinds) and list(learnt) == list(kinds) and written.keys() <= kinds.keys()
        )
        require(agree, self, "its columns do not agree")
        fine = is_reading(self.reading_) and "time" in self.reading_
        require(fine, self, "how tables are read is malformed")
        roles = {name: known.get("role") for name, known in learnt.items()}
        time = [name for name, role in roles.items() if role == "time"]
        agree = time == [self.reading_.get("time")] if "age" in roles.values() else not time
        require(agree, self, "its dates do not agree")
        for name, kind in kinds.items():
            how = written.get(name, {})
            fine = fit(how, WRITTEN) and how.keys() == AS_PYTHON.get(kind, {}).keys()
            require(fine, self, f"how column {name!r:.40} is written is malformed")
            fine = _is_learnt(kind, learnt[name], self.max_categories)
            require(fine, self, f"what it knows about column {name!r:.40} is malformed")
        # The name of a column stands in those of all that it becomes.
        letters = (len(n) * (4 + len(known.get("categories", ()))) for n, known in learnt.items())
        require(sum(letters) <= MOST_LETTERS, self, "the names of its columns are too long")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


# ---- what may be known ------------------------------------------------------------------------


def real(low: float = -LARGEST) -> Must:
    """Return what a number of Python must be that is not an integer."""
    return Must("a float", lambda value, _: type(value) is float and low <= value <= LARGEST)


CELLS = each(count(0, 1 << 53))
WRITTEN = {
    "format": one_of(*FORMATS),
    "decimal": one_of(*OTHER),
    "unit": Must("a unit", lambda value, _: type(value) is str and len(value) <= LONGEST_UNIT),
}
READING = {
    "missing": each(text()), "decimal": one_of(*OTHER), "thousands": one_of(*OTHER, "'", " "),
    "exact": flag(), "header": either(flag(), count()), "rename": mapping(text(), text()),
    "time": maybe(text()), "keep": each(text()),
}  # fmt: skip
WORDS = {
    "categories": each(text()), "other": flag(), "rare": maybe(text()), "missing": flag(),
    "bins": CELLS,
}  # fmt: skip
BINNED = {"edges": each(real()), "exact": flag(), "counts": CELLS}
NUMBERS = {
    "fill": real(), "center": real(), "scale": real(1 / LARGEST), "low": real(),
    "high": real(), "missing": flag(), "bins": Must("bins", lambda bins, _: _are_bins(bins)),
    "role": one_of("", "age", "time", "price"),
}  # fmt: skip


def fit(found: Any, known: Mapping[str, Must], *, whole: bool = False) -> bool:
    """Return whether a dict has some of the entries that are known, or the whole of them."""
    if type(found) is not dict or not found.keys() <= known.keys():
        return False
    complete = not whole or found.keys() == known.keys()
    return complete and all(known[name].fits(value, {}) for name, value in found.items())


def is_reading(how: Any) -> bool:
    words = ("missing", "keep", "rename")
    return fit(how, READING) and sum(len(how.get(name, ())) for name in words) <= MOST_WORDS


def _are_bins(bins: Any) -> bool:
    if not fit(bins, BINNED, whole=True):
        return False
    edges = bins["edges"]
    return len(bins["counts"]) - 2 == len(edges) <= BINS + 1 and edges == sorted(edges)


def _is_learnt(kind: str, learnt: Any, max_categories: int) -> bool:
    if kind == "category":
        if not fit(learnt, WORDS, whole=True):
            return False
        known, rare, other = learnt["categories"], learnt["rare"], learnt["other"]
        fine = len(set(known)) == len(known) <= max_categories and columns.n_levels(learnt) >= 2
        fine = fine and len(learnt["bins"]) == len(known) + 3
        if rare is None:
            return fine and other
        marks = columns.marks_in(rare)
        fine = fine and re.fullmatch(f"(?:[0-9a-f]{{{columns.MARK}}})*", rare) is not None
        return fine and bool(marks) == other and marks == sorted(set(marks))[: columns.MOST_MARKS]
    fine = fit(learnt, NUMBERS, whole=True) and learnt["low"] <= learnt["fill"] <= learnt["high"]
    roles = ("", "age", "time") if kind == "date" else ("", "price")
    return fine and learnt["role"] in roles and (kind != "date" or abs(learnt["fill"]) <= 1e8)


def _frame(X: Any) -> Any:
    X = columns.as_pandas(X)
    if not (hasattr(X, "iloc") and hasattr(X, "attrs") and hasattr(X, "columns")):
        raise TypeError(f"X must be a pandas or polars DataFrame, got {type(X).__name__}")
    names = list(X.columns)
    strange = next((name for name in names if not isinstance(name, str)), None)
    if strange is not None:
        raise TableError(
            f"names of columns must be strings, got {strange!r:.60}",
            remedy="Use X.columns = X.columns.astype(str).",
        )
    check_names("X", names)
    return X
