"""A transformer from the columns of a table to an array that a classifier can use."""

import re
from collections.abc import Iterable
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
    mapping,
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
from rejo.tables.dates import FORMATS, ISO
from rejo.tables.doubts import Checked, Origin, check_table, describe_strange, like_given, origins
from rejo.tables.errors import TableError, check_columns, check_different, listed, shown
from rejo.tables.numbers import LONGEST_UNIT, OTHER
from rejo.tables.values import LARGEST
from rejo.tables.watch import BINS, Watch

BLOCK, SLAB = 1 << 16, 2048  # rows
MOST_LETTERS = 1 << 24  # in the names of all columns of the output
MOST_WORDS = 10_000  # for missing values, and other names


@storable
class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a DataFrame with mixed columns into an array of numbers on comparable scales.

    It may be a DataFrame of pandas or of polars.

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
    scale : bool, default=True
        Whether to standardise numbers and days.
    written : dict of str to dict, default=None
        How dates and numbers are written in files, as in ``Table.written``: ``{"format": ...}``
        for a column of dates, ``{"decimal": ..., "unit": ...}`` for numbers. It does not matter
        for columns that hold dates or numbers already, but :func:`read_chunks` reads by it.
        ``None``: what :func:`read_table` left in ``X.attrs``, else as Python writes them.
    reading : dict, default=None
        What was said about how to read the table, as in ``Table.reading``; :func:`read_chunks`
        reads by it. Also ``time``, the column of dates that order the rows (``None``: there is
        none; if it is not given, it is looked for), and ``keep``, columns that are features even
        so.
        ``None``: what :func:`read_table` left in ``X.attrs``.

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
        For numbers and dates ``fill``, ``center``, ``scale``, and ``low`` and ``high``, beyond
        which :meth:`check` doubts them; for words ``categories``, ``other``, and ``rare``, short
        hashes of rare words; for all, ``missing``: whether values were missing in training, and
        ``bins``, how many cells were where. Dates have a ``role``: ``"time"`` if they order the
        rows, ``"age"`` if they become ages.
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
        "scale": ["boolean"],
        "written": [dict, None],
        "reading": [dict, None],
    }

    def __init__(
        self,
        *,
        max_categories: int = 20,
        min_count: int = 5,
        scale: bool = True,
        written: dict[str, dict[str, str]] | None = None,
        reading: dict[str, Any] | None = None,
    ) -> None:
        self.max_categories = max_categories
        self.min_count = min_count
        self.scale = scale
        self.written = written
        self.reading = reading

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to encode each column of the DataFrame ``X``; ``y`` is ignored."""
        self._validate_params()
        X = _frame(X)
        if not len(X):
            raise TableError("X has no rows to learn from")
        written = self._written(X)
        reading = dict((X.attrs.get("reading") or {}) if self.reading is None else self.reading)
        if not is_reading(reading):
            raise ValueError(f"reading must say how a table is read, got {shown(reading)}")
        found_kinds = {name: columns.kind_of(X[name]) for name in X.columns}
        time, days = self._time(X, found_kinds, reading, written)
        kinds: dict[str, str] = {}
        learnt: dict[str, Any] = {}
        left_out: dict[str, str] = {}
        for name, kind in found_kinds.items():
            if name == time:
                continue
            found = self._learn(X[name], kind, written.get(name, {}), days)
            if isinstance(found, str):
                left_out[name] = found
            else:
                kinds[name], learnt[name] = kind, found
        if time is not None:
            if any(known.get("role") == "age" for known in learnt.values()):
                kinds[time] = "date"
                learnt[time] = columns.learn_number(days, False, self.min_count)
                if isinstance(learnt[time], str):
                    learnt[time] = dict(columns.NO_RANGE)
                learnt[time] |= {"role": "time", "low": -LARGEST, "high": LARGEST, "bins": None}
            else:
                left_out[time] = "it orders the rows: new files have later dates"
        if not kinds:
            raise TableError(
                "no column is usable: "
                + "; ".join(f"{shown(name)}: {why}" for name, why in list(left_out.items())[:10])
            )
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
        given = (X.attrs.get("written") or {}) if self.written is None else self.written
        for name, how in given.items():
            if not is_written(how):
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
            moments = (days * 86_400e6).astype("datetime64[us]")
            if "time" in reading or (name not in kept and columns.orders_the_rows(name, moments)):
                return name, days
        return None, None

    def _learn(
        self, column: Any, kind: str, written: dict[str, str], time: Any = None
    ) -> dict[str, Any] | str:
        values = columns.read_as(column, kind, written, time)
        if kind == "category":
            return columns.learn_category(
                values.codes, values.words, self.max_categories, self.min_count
            )
        if kind == "date":
            found = columns.learn_number(values, self.scale, self.min_count, DECADE)
            role = "" if time is None else "age"
            return found if isinstance(found, str) else found | {"role": role}
        if columns.counts_the_rows(values, column.index):
            return "row numbers"
        return columns.learn_number(values, self.scale, self.min_count)

    def transform(self, X: Any) -> Floats:
        """Encode a DataFrame as an array of numbers, float64, of shape (n_samples, n_out).

        Other columns, and the order of columns, do not matter.
        """
        X = self._columns_of(X)
        widths = list(map(len, self._outputs()))
        values = self._values(X)
        out = np.zeros((len(X), sum(widths)))
        for first in range(0, len(X), BLOCK):
            rows = slice(first, first + BLOCK)
            self._encode([column[rows] for column in values], widths, out[rows])
        return out

    def _encode(self, values: list[NDArray[Any]], widths: list[int], out: Floats) -> None:
        """Write columns into ``out``, (n_rows, n_out), which holds zeros."""
        farthest = columns.FARTHEST if self.scale else np.inf
        found = [
            [column]
            if kind == "category"
            else []
            if self.learnt_[name].get("role") == "time"
            else columns.encoded_numbers(column, kind, self.learnt_[name], farthest)
            for (name, kind), column in zip(self.kinds_.items(), values, strict=True)
        ]
        # All columns of a few rows at a time, so that the output stays in the cache.
        for first in range(0, len(out), SLAB):
            rows = slice(first, first + SLAB)
            start = 0
            for kind, parts, width in zip(self.kinds_.values(), found, widths, strict=True):
                if kind == "category":
                    columns.write_levels(out[rows, start : start + width], parts[0][rows])
                else:
                    for i, part in enumerate(parts):
                        out[rows, start + i] = part[rows]
                start += width

    def check(self, X: Any) -> Checked:
        """Find the rows that a model should not decide, and why.

        These are rows with a cell that cannot be read, a word not seen in training, a number far
        outside the range of training, or no value where training hardly ever lacked one, and rows
        without any value.

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
        """Return a frame of pandas that has the columns of training."""
        check_is_fitted(self)
        X = _frame(X)
        check_columns("X", self.kinds_, X.columns)
        return X

    def _values(self, X: Any) -> list[NDArray[Any]]:
        """Return each column (n,) as numbers or days, or as levels of words."""
        found = self._read(X, self.kinds_)
        for name, column in found.items():
            if self.kinds_[name] == "category":
                found[name] = columns.levels_of(column.codes, column.words, self.learnt_[name])
        return list(found.values())

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
            elif learnt["bins"] is not None and learnt.get("role", "age"):
                known[name] = learnt["bins"]
        return Watch(known)

    def add_rows(self, watch: Watch, X: Any) -> None:
        """Add rows, of which every cell can be encoded, to what :meth:`watch` returned."""
        n = len(X)
        found = self._read(X.iloc[watch.rows(n)], watch.columns)
        for name, column in found.items():
            if self.kinds_[name] == "category":
                found[name] = columns.count_levels(column.codes, column.words, self.learnt_[name])
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
        """Return the columns that each column becomes."""
        return [origins(name, kind, self.learnt_[name]) for name, kind in self.kinds_.items()]

    def describe(self, features: Any, row: Any = None) -> list[str]:
        """Say what is strange about a row, by the strange features that its encoding has.

        Parameters
        ----------
        features : list of Strange
            Of one case, as :meth:`rejo.NoveltyReject.novel_features` returns them: ``feature`` is
            the index of a column of the output.
        row : mapping, default=None
            The row before it was encoded, by the names of its columns, to quote words.

        Returns
        -------
        words : list of str
            One for each column of the table that has a strange feature.
        """
        check_is_fitted(self)
        return describe_strange(list(chain.from_iterable(self._outputs())), features, row)

    @property
    def _n_features_out(self) -> int:
        return sum(map(len, self._outputs()))

    def _check_state(self) -> None:
        """What it knows about each column suits the kind of the column."""
        check_parameters(self)
        names = self.feature_names_in_.tolist()
        kinds, learnt, written = self.kinds_, self.learnt_, self.written_
        left_out = self.left_out_
        agree = set(kinds) | set(left_out) == set(names) and not set(kinds) & set(left_out)
        agree = agree and bool(kinds) and list(learnt) == list(kinds)
        agree = agree and set(written) == {name for name in kinds if kinds[name] in AS_PYTHON}
        require(agree, self, "its columns do not agree")
        require(is_reading(self.reading_), self, "how tables are read is malformed")
        time = [name for name, known in learnt.items() if known.get("role") == "time"]
        require(time in ([], [self.reading_.get("time")]), self, "its dates do not agree")
        ages = any(known.get("role") == "age" for known in learnt.values())
        require(bool(time) == ages, self, "its dates do not agree")
        for name, how in written.items():
            fine = is_written(how) and how.keys() == AS_PYTHON[kinds[name]].keys()
            require(fine, self, f"how column {name!r:.40} is written is malformed")
        for name, kind in kinds.items():
            fine = _is_learnt(kind, learnt[name], self.max_categories, self.scale)
            require(fine, self, f"what it knows about column {name!r:.40} is malformed")
        # The name of a column stands in those of all that it becomes.
        letters = (len(name) * (4 + len(known.get("categories", ()))) for name, known in
                   learnt.items())  # fmt: skip
        require(sum(letters) <= MOST_LETTERS, self, "the names of its columns are too long")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def is_written(how: Any) -> bool:
    """Return whether this says how a column is written."""
    if type(how) is not dict or not all(type(value) is str for value in how.values()):
        return False
    known = set(how) <= {"format", "decimal", "unit"}
    known = known and how.get("format", ISO) in FORMATS and how.get("decimal", ".") in (".", ",")
    return known and len(how.get("unit", "")) <= LONGEST_UNIT


def _is_learnt(kind: str, learnt: Any, max_categories: int, scaled: bool) -> bool:
    """Return whether a column of this kind can be written by what was learnt about it."""
    words = kind == "category"
    numbers = {"fill", "center", "scale", "low", "high"}
    entries = {"categories", "other", "rare"} if words else numbers
    entries = entries | {"missing", "bins"} | ({"role"} if kind == "date" else set())
    if type(learnt) is not dict or learnt.keys() != entries:
        return False
    if learnt.get("role", "") not in ("", "age", "time"):
        return False
    if type(learnt["missing"]) is not bool:
        return False
    if words:
        known, other = learnt["categories"], learnt["other"]
        fine = type(known) is list and type(other) is bool and _are_words(known)
        fine = fine and _are_marks(learnt["rare"], other)
        fine = fine and _are_counts(learnt["bins"], len(known) + 3)
        return fine and len(known) <= max_categories and columns.n_levels(learnt) >= 2
    found = [learnt[entry] for entry in numbers]
    if not all(type(number) is float and abs(number) <= LARGEST for number in found):
        return False
    if not learnt["low"] <= learnt["fill"] <= learnt["high"]:
        return False
    bins = learnt["bins"]
    if learnt.get("role") == "time" and bins is None:
        bins = {"edges": [], "exact": False, "counts": [0, 0]}
    if not (type(bins) is dict and bins.keys() == {"edges", "exact", "counts"}):
        return False
    edges = bins["edges"]
    fine = type(edges) is list and len(edges) <= BINS + 1 and type(bins["exact"]) is bool
    fine = fine and all(type(edge) is float and abs(edge) <= LARGEST for edge in edges)
    if not (fine and edges == sorted(edges) and _are_counts(bins["counts"], len(edges) + 2)):
        return False
    days = kind == "number" or abs(learnt["fill"]) < 1e8
    same = scaled or (learnt["center"], learnt["scale"]) == (0.0, 1.0)
    return days and same and learnt["scale"] >= 1 / LARGEST


def _are_counts(counts: Any, n: int) -> bool:
    """Return whether these are numbers of cells in bins."""
    if type(counts) is not list or len(counts) != n:
        return False
    return all(type(count) is int and 0 <= count <= 1 << 53 for count in counts)


def is_reading(how: Any) -> bool:
    """Return whether this says how a table is read."""
    kinds: dict[str, Any] = {"missing": list, "decimal": str, "thousands": str, "exact": bool,
                             "header": (bool, int), "rename": dict, "time": (str, type(None)),
                             "keep": list}  # fmt: skip
    if type(how) is not dict or not all(isinstance(how[k], kinds.get(k, ())) for k in how):
        return False
    words = [*how.get("missing", ()), *how.get("keep", ()), *how.get("rename", {}),
             *how.get("rename", {}).values()]  # fmt: skip
    marks = how.get("decimal", ".") in OTHER and how.get("thousands", ".") in (*OTHER, "'", " ")
    return marks and all(type(word) is str for word in words) and len(words) <= MOST_WORDS


def _are_marks(rare: Any, other: bool) -> bool:
    """Return whether these are the marks of rare words, rising; a column without any has none."""
    if rare is None:
        return other
    if type(rare) is not str or len(rare) > columns.MARK * columns.MOST_MARKS:
        return False
    marks = columns.marks_in(rare)
    fine = bool(re.fullmatch("[0-9a-f]*", rare)) and len(rare) % columns.MARK == 0
    return fine and bool(marks) == other and marks == sorted(set(marks))


def _are_words(values: list[Any]) -> bool:
    return all(type(value) is str for value in values) and len(set(values)) == len(values)


def _frame(X: Any) -> Any:
    """Return a DataFrame of pandas or polars as one of pandas, if its columns have names."""
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
    check_different("X", names)
    return X
