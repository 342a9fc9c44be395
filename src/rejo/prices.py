"""Prices as people have them, as a matrix for :mod:`rejo.decisions`.

One grammar for all places that take prices.  As text, entries are separated by commas; as a dict,
the part before ``=`` is the key:

================================  ==================================================================
``error=5000``                    any wrong decision
``error:default=5000``            a wrong decision on a case that is truly ``default``
``default>repaid=5000``           a true ``default`` that is decided as ``repaid``
``step=100``                      ordered classes: 100 for one class off, 200 for two, and so on
``review=40``                     a review
``review:default=60``             a review of a case that is truly ``default``
``accuracy=0.95``                 reviewers are right in 95 % of the cases (always, by default)
``accuracy:default=0.9``          ... of the cases that are truly ``default``
================================  ==================================================================

The more special entry counts: a pair before a class, a class before all.  A class whose name holds
one of ``, ; : = >`` is written in double quotes.  In Python, a dict may also be nested, ``{"error":
{"default": 5000, "repaid": 300}, "review": 40}``, or have pairs as keys, ``("default",
"repaid")``.  A table has a row for each true class and a column for each decision and for
``review``: a CSV file, a DataFrame, or an array whose last column is the review.

>>> price_matrix("error:default=5000,error:repaid=300,review=40", ["default", "repaid"])
array([[   0., 5000.,   40.],
       [ 300.,    0.,   40.]])
>>> describe_prices({"error": 5000, "review": 40}, ["default", "repaid"])
'An error costs 5,000 and a review 40.'
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from io import StringIO
from numbers import Real
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rejo._docs import cited
from rejo._errors import RejoError, close_words
from rejo._io import one_line, percent
from rejo._typing import Floats, Indices, Mask
from rejo.decisions import imperfect_reviews

#: Highest price that is taken.
HIGHEST = 1e12
MOST_BYTES = 1_000_000  # of a CSV file
SLACK = 1e-7  # share by which the linear program may be off
WORDS = ("error", "review", "accuracy", "step")

__all__ = [
    "HIGHEST",
    "case_costs",
    "check_reviews_pay",
    "describe_prices",
    "highest_review_price",
    "price_matrix",
    "read_prices",
    "reject_cost_of",
    "renamed_classes",
]

_QUOTED = r'"(?:[^"]|"")*"'
_LABEL = rf'\s*({_QUOTED}|[^",;:=>]+?)\s*'
_KEY = re.compile(rf"\s*(?:({'|'.join(WORDS)})\s*(?::{_LABEL})?|{_LABEL}>{_LABEL})(?==|\Z)")
_EXAMPLE = "such as error=5000,review=40"
_QUOTING = "Put double quotes around a class whose name holds one of , ; : = >"


class Entry(NamedTuple):
    """One price, before the classes are known."""

    kind: str  # one of WORDS, or "pair"
    labels: tuple[Any, ...]  # (), (true class,) or (true class, decided class)
    value: float
    shown: str  # how to name it in a message


class Prices(NamedTuple):
    """The prices of K classes; NaN where none was given."""

    errors: Floats  # (K, K) for each true class, of each decision; the diagonal is 0
    reviews: Floats  # (K,) for each true class
    accuracy: Floats  # (K,) share of right reviews, for each true class
    names: list[str]  # of the classes

    def matrix(self) -> Floats:
        """Prices (K, K + 1) of all decisions and, last, of a review with its mistakes."""
        known = (~np.isnan(self.errors)).sum(axis=1) - 1  # less the diagonal
        wrong = np.nansum(self.errors, axis=1) / np.where(known > 0, known, np.nan)
        prices = np.column_stack([self.errors, self.reviews])
        return imperfect_reviews(prices, self.accuracy, np.where(self.accuracy < 1, wrong, 0.0))


# ---- what others call --------------------------------------------------------------------


@cited
def price_matrix(cost_of: Any, classes: Sequence[Any], *, ordered: bool = True) -> Floats:
    """Return prices for :func:`rejo.decisions.decide`, from any form of prices.

    Parameters
    ----------
    cost_of : dict, str, path, DataFrame or array-like of shape (n_classes, n_classes + 1)
        Prices.  As text, entries are separated by commas; as a dict, the part before ``=`` is the
        key:

        - ``error=5000``: any wrong decision;
        - ``error:ill=5000``: a wrong decision on a case that is truly ``ill``;
        - ``ill>well=5000``: a true ``ill`` that is decided as ``well``;
        - ``step=100``: ordered classes, 100 for one class off, 200 for two, and so on;
        - ``review=40``, ``review:ill=60``: a review, and one of a case that is truly ``ill``;
        - ``accuracy=0.95``, ``accuracy:ill=0.9``: share of the reviews that end in the right
          decision; all of them by default.

        The more special entry counts.  A dict may also be nested, or have pairs as keys.  A path
        or a DataFrame is a table with a row for each true class and a column for each decision and
        for ``review``; the last column of an array is the review.
    classes : sequence of labels
        All classes, in the order of the rows and columns of the result.
    ordered : bool, default=True
        Whether the classes have an order, lowest first; ``step`` needs one.

    Returns
    -------
    prices : ndarray of shape (n_classes, n_classes + 1)
        Price of each decision and, last, of a review, for each true class.

    Raises
    ------
    ValueError
        If a price is missing, negative, or of a class that there is not; the message says which.

    See Also
    --------
    describe_prices : The same in plain words, to check them.
    rejo.decisions.decide : Decisions at these prices.
    rejo.ThresholdRejectClassifier : Takes all these forms as ``cost_of``.

    References
    ----------
    %elkan2001

    Examples
    --------
    >>> from rejo.prices import price_matrix
    >>> costs = {"error": {"default": 5000, "repaid": 300}, "review": 40}
    >>> price_matrix(costs, ["default", "repaid"])
    array([[   0., 5000.,   40.],
           [ 300.,    0.,   40.]])
    >>> price_matrix("step=100,review=40,review:bad=60", ["good", "fair", "bad"])
    array([[  0., 100., 200.,  40.],
           [100.,   0., 100.,  40.],
           [200., 100.,   0.,  60.]])
    """
    return _complete(_resolve(cost_of, classes, ordered)).matrix()


@cited
def case_costs(
    cost_of: Any, classes: Sequence[Any], true: Indices, decision: Indices, *, ordered: bool = True
) -> Floats:
    """Return what each case costs, by its true class and its decision.

    Parameters
    ----------
    cost_of : dict, str, path, DataFrame or array-like of shape (n_classes, n_classes + 1)
        Prices, in any form of :func:`price_matrix`.
        Prices that no case needs may be missing, and there may be prices of other classes.
    classes : sequence of labels
        The classes.
    true : ndarray of int of shape (n_samples,)
        True classes, as indices into ``classes``.
    decision : ndarray of int of shape (n_samples,)
        Decisions, the same way; -1: review.
    ordered : bool, default=True
        Whether the classes have an order, lowest first; ``step`` needs one.

    Returns
    -------
    costs : ndarray of shape (n_samples,)
        In the unit of the prices.

    See Also
    --------
    rejo.expected_cost : Their mean, from labels instead of indices.
    rejo.decisions.expected_costs : What decisions will cost, by posteriors.

    References
    ----------
    %elkan2001

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.prices import case_costs
    >>> true, decision = np.array([0, 0, 1]), np.array([0, 1, -1])
    >>> case_costs("error=5000,review=40", ["ill", "well"], true, decision)
    array([   0., 5000.,   40.])
    """
    prices = _resolve(cost_of, classes, ordered, more=True)
    used = np.zeros((len(prices.names), len(prices.names) + 1), dtype=bool)
    used[true, decision] = True
    return _complete(prices, used).matrix()[true, decision]


def read_prices(text: str) -> dict[str, float]:
    """Return prices as a flat dict, from text or from the name of a CSV file.

    All is checked that can be checked before the classes are known.

    Parameters
    ----------
    text : str
        Prices such as ``"error=5000,review=40"``, or a name that ends in ``.csv``; see
        :func:`price_matrix`.

    Returns
    -------
    prices : dict of str to float
        Each entry under its key.

    See Also
    --------
    price_matrix : Prices of known classes, as a matrix.
    renamed_classes : The same prices, with other names of the classes.

    Examples
    --------
    >>> from rejo.prices import read_prices
    >>> read_prices("error=5000, good>bad=300, review=40")
    {'error': 5000.0, 'good>bad': 300.0, 'review': 40.0}
    """
    return {_key(entry): entry.value for entry in _entries(text)}


@cited
def highest_review_price(prices: Floats, mistakes: Floats | None = None) -> Floats:
    """Return the price of a review up to which a review pays for some case.

    It is the value of a game: the largest ``f >= 0`` with ``min_d p @ L[:, d] >= f * p @ r`` for
    some posterior ``p``, times the review prices ``r``.  With ``q = p / (p @ r)`` that is the
    linear program ``max f`` so that ``q @ L >= f``, ``q @ r = 1``, ``q >= 0``.  If an error costs
    1, it is ``1 - 1 / K``.

    Parameters
    ----------
    prices : ndarray of shape (n_classes, n_classes + 1)
        From :func:`price_matrix`.
    mistakes : ndarray of shape (n_classes,), default=None
        What the reviewers' mistakes add to the price of a review, which is in ``prices`` without
        them.

    Returns
    -------
    highest : ndarray of shape (n_classes,)
        For each true class, in the proportion of the review prices that were given; infinite if
        reviews of some class are free, NaN if reviewers err so often that no price would pay.

    See Also
    --------
    check_reviews_pay : Refuses prices above it.
    rejo.decisions.imperfect_reviews : Reviewers who make mistakes.

    References
    ----------
    %chow1970

    Examples
    --------
    Of two classes, a guess is wrong in half of the cases at most.  A review pays up to half the
    price of an error:

    >>> from rejo.prices import highest_review_price, price_matrix
    >>> prices = price_matrix({"error": 5000, "review": 40}, ["default", "repaid"])
    >>> highest_review_price(prices).round(6)
    array([2500., 2500.])
    """
    from scipy.optimize import linprog

    K, top = len(prices), prices.max()
    loss, review = prices[:, :-1] / top, prices[:, -1] / top
    if mistakes is not None:
        loss = loss - mistakes[:, None] / top  # only differences within a row matter
    if not review.any():
        review = np.ones(K)
    best = linprog(
        np.append(np.zeros(K), -1.0),  # the unknowns are q (K,) and f
        A_ub=np.column_stack([-loss.T, np.ones(K)]),
        b_ub=np.zeros(K),
        A_eq=[np.append(review, 0.0)],
        b_eq=[1.0],
    )
    if best.status == 3:  # unbounded: some class has free reviews
        return np.full(K, np.inf)
    if best.status == 2:  # infeasible: a review does not pay even for nothing
        return np.full(K, np.nan)
    return review * top * -best.fun


@cited
def check_reviews_pay(
    cost_of: Any, classes: Sequence[Any] | None = None, *, ordered: bool = True
) -> None:
    """Refuse prices at which no case is worth a review, with those at which some are.

    Parameters
    ----------
    cost_of : dict, str, path, DataFrame or array-like of shape (n_classes, n_classes + 1)
        Prices, in any form of :func:`price_matrix`.
    classes : sequence of labels, default=None
        All classes; ``None`` if ``cost_of`` is an array.
    ordered : bool, default=True
        Whether the classes have an order, lowest first; ``step`` needs one.

    Raises
    ------
    ValueError
        If a review costs more than the error that it could prevent, in every case.

    See Also
    --------
    highest_review_price : Up to which price a review pays.
    describe_prices : Says in words whether reviews pay.

    References
    ----------
    %chow1970

    Examples
    --------
    >>> from rejo.prices import check_reviews_pay
    >>> check_reviews_pay("error=5000,review=40", ["ill", "well"])
    >>> check_reviews_pay("error=100,review=60", ["ill", "well"])
    Traceback (most recent call last):
    ...
    rejo._errors.RejoError: a review never pays at these prices: no case is worth one. It would ...
    """
    if classes is None:
        classes = range(len(cost_of))
    found = _complete(_resolve(cost_of, classes, ordered))
    errors, review = found.errors, found.reviews
    if review.min() >= errors.max():
        _fail(
            f"a review costs {_money(review.min())}, as much as the worst error or more "
            f"({_money(errors.max())})",
            "A review must cost less than the error it prevents; are the two prices swapped?",
        )
    if _reviews_pay(found.matrix()):
        return
    _fail(
        f"a review never pays at these prices: no case is worth one. {_limit(found)}",
        "If that is too low, decide all cases, without a review.",
    )


def describe_prices(cost_of: Any, classes: Sequence[Any], *, ordered: bool = True) -> str:
    """Say prices in plain words; also that a review never pays, if so.

    Parameters
    ----------
    cost_of : dict, str, path, DataFrame or array-like of shape (n_classes, n_classes + 1)
        Prices, in any form of :func:`price_matrix`.
    classes : sequence of labels
        All classes.
    ordered : bool, default=True
        Whether the classes have an order, lowest first; ``step`` needs one.

    Returns
    -------
    words : str
        One or more sentences.

    See Also
    --------
    price_matrix : The same as numbers.
    rejo.RejectClassifierCV.summary : What these prices lead to.

    Examples
    --------
    >>> from rejo.prices import describe_prices
    >>> costs = {"error": {"default": 5000, "repaid": 300}, "review": 40}
    >>> describe_prices(costs, ["default", "repaid"])
    'A wrong decision on default costs 5,000, on repaid 300; a review costs 40.'
    """
    found = _complete(_resolve(cost_of, classes, ordered))
    names = [one_line(name) for name in found.names]
    error, alike = _describe_errors(found.errors, names)
    if _is_one(found.reviews):
        review = _money(found.reviews[0])
        said = f"{error} and a review {review}." if alike else f"{error}; a review costs {review}."
    else:
        said = f"{error}; a review of {_each(names, found.reviews, 'of ')}."
    if _is_one(found.accuracy) and found.accuracy[0] < 1:
        said += f" Reviewers are right in {_share(found.accuracy[0])} of the cases."
    elif not _is_one(found.accuracy):
        each = [f"{_share(a)} for {name}" for a, name in zip(found.accuracy, names, strict=True)]
        said += f" Reviewers are right in {', '.join(each)}."
    return said if _reviews_pay(found.matrix()) else f"{said} A review never pays. {_limit(found)}"


@cited
def reject_cost_of(prices: Floats) -> float | None:
    """Return the price of a review where an error costs 1, if there is one such price.

    Parameters
    ----------
    prices : ndarray of shape (n_classes, n_classes + 1)
        From :func:`price_matrix`.

    Returns
    -------
    reject_cost : float or None
        ``None`` if prices differ between classes.

    See Also
    --------
    rejo.decisions.uniform_prices : The way back.
    rejo.RejoSVC : A classifier that is trained for one reject cost.

    References
    ----------
    %chow1970

    Examples
    --------
    >>> from rejo.prices import price_matrix, reject_cost_of
    >>> reject_cost_of(price_matrix("error=5000,review=1000", ["ill", "well"]))
    0.2
    """
    K = len(prices)
    error, review = prices[0, 1], prices[0, -1]
    alike = (prices[:, :-1] == error * (1 - np.eye(K))).all() and (prices[:, -1] == review).all()
    return float(review / error) if alike and error > 0 else None


def renamed_classes(prices: Mapping[str, float], names: Callable[[str], str]) -> dict[str, float]:
    """Return prices with other names of the classes.

    Parameters
    ----------
    prices : dict of str to float
        From :func:`read_prices`.
    names : callable
        Gives the new name of a class for the old one.

    Returns
    -------
    prices : dict of str to float
        The same prices under new keys.

    See Also
    --------
    read_prices : Reads them from text or a file.
    price_matrix : Prices of known classes, as a matrix.

    Examples
    --------
    >>> from rejo.prices import renamed_classes
    >>> renamed_classes({"error:BAD": 5.0, "bad>good": 9.0, "review": 1.0}, str.lower)
    {'error:bad': 5.0, 'bad>good': 9.0, 'review': 1.0}
    """
    entries = _entries(prices)
    renamed = [e._replace(labels=tuple(names(_text(label)) for label in e.labels)) for e in entries]
    found = {_key(entry): entry.value for entry in renamed}
    if len(found) < len(entries):
        twice = next(e for i, e in enumerate(renamed) if _key(e) in map(_key, renamed[:i]))
        _fail(f"{_key(twice)} is given twice, in two spellings")
    return found


# ---- from what was given to entries ------------------------------------------------------


def _entries(cost_of: Any) -> list[Entry]:
    """All prices in a text, a dict, a CSV file or a DataFrame, each checked by itself."""
    if isinstance(cost_of, PathLike) or (
        isinstance(cost_of, str) and cost_of.strip().lower().endswith(".csv")
    ):
        found = _from_csv(Path(cost_of))
    elif isinstance(cost_of, str):
        found = _from_text(cost_of)
    elif isinstance(cost_of, Mapping):
        found = _from_dict(cost_of)
    else:
        found = _from_frame(cost_of)
    entries = list(found)
    seen: set[Any] = set()
    for entry in entries:
        place = entry.kind, tuple(map(_text, entry.labels))
        if place in seen:
            _fail(f"{entry.shown} is given twice")
        seen.add(place)
    return entries


def _from_text(text: str) -> Iterator[Entry]:
    if text.count('"') % 2:
        _fail(f"a double quote is not closed in {text!r}")
    parts = re.findall(rf"(?:{_QUOTED}|[^\",;])+", text)
    for part in parts or [text]:
        key = _KEY.match(part)
        rest = part[key.end() :].strip() if key else ""
        if key is None or not rest.startswith("="):
            _bad_entry(part.strip())
        value = rest[1:].strip()
        percentage = value.endswith("%") and key[1] == "accuracy"
        try:
            price = float(value[:-1]) / 100 if percentage else float(value)
        except ValueError:
            _fail(f"{value!r} in {part.strip()!r} is not a number", _QUOTING + ".")
        yield _entry(key, price)


def _from_dict(cost_of: Mapping[Any, Any]) -> Iterator[Entry]:
    for name, value in cost_of.items():
        if isinstance(name, tuple) and len(name) == 2:
            yield _checked("pair", name, value, f"{name[0]}>{name[1]}")
            continue
        key = _KEY.fullmatch(name) if isinstance(name, str) else None
        if key is None:
            _bad_entry(name)
        if not isinstance(value, Mapping):
            yield _entry(key, value)
            continue
        for label, price in value.items():
            if key[1] == "error" and isinstance(price, Mapping):
                for decided, one in price.items():
                    yield _checked("pair", (label, decided), one, f"{label}>{decided}")
            else:
                yield _checked(key[1], (label,), price, f"{name}:{label}")


def _from_csv(path: Path) -> Iterator[Entry]:
    """Read a small table of prices: rows are true classes, columns decisions and ``review``."""
    where = one_line(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        _fail(f"the file cannot be read: {error.strerror}", where=where)
    if len(data) > MOST_BYTES:
        _fail("the file is too large for a table of prices", where=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        _fail("the file is not text in UTF-8", "Save it as CSV UTF-8.", where=where)
    head = re.sub(_QUOTED, "", text.lstrip()).partition("\n")[0]
    sep = max(";\t,", key=head.count)
    try:
        rows = [row for row in csv.reader(StringIO(text, newline=""), delimiter=sep) if any(row)]
    except csv.Error as error:
        _fail(f"the file is not a CSV table: {error}", where=where)
    if len(rows) < 2 or len(rows[0]) < 3:
        _fail(
            "a table of prices has a row for each true class and a column for each decision and "
            "for review",
            "Its first line is like class,default,repaid,review.",
            where=where,
        )
    columns = [name.strip() for name in rows[0][1:]]
    review = max((j for j, name in enumerate(columns) if name == "review"), default=-1)
    for row in rows[1:]:
        true, cells = row[0].strip(), row[1:]
        if len(cells) > len(columns):
            _fail(f"row {true!r} has more cells than the first line", where=where)
        for j, (column, cell) in enumerate(zip(columns, cells, strict=False)):
            written = cell.strip().replace(",", ".") if sep == ";" else cell.strip()
            if not written:
                continue
            place = f"row {true!r}, column {column!r}"
            try:
                price = float(written)
            except ValueError:
                _fail(f"{place}: {cell.strip()!r:.40} is not a number", where=where)
            if j == review:
                yield _checked("review", (true,), price, place, where)
            else:
                yield _checked("pair", (true, column), price, place, where)


def _from_frame(frame: Any) -> Iterator[Entry]:
    values = np.asarray(frame, dtype=object)
    for i, true in enumerate(frame.index.tolist()):
        for j, decided in enumerate(frame.columns.tolist()):
            value, place = values[i, j], f"row {true!r}, column {decided!r}"
            if value is None or value != value:
                continue
            if isinstance(decided, str) and decided == "review":
                yield _checked("review", (true,), value, place)
            else:
                yield _checked("pair", (true, decided), value, place)


def _entry(key: re.Match[str], value: Any) -> Entry:
    """An entry by its key; groups are the word, its class, and the two classes of a pair."""
    word, *labels = key.groups()
    kept = tuple(_unquote(label) for label in labels if label is not None)
    return _checked(word or "pair", kept, value, key[0].strip())


def _checked(
    kind: str, labels: tuple[Any, ...], value: Any, shown: str, where: str | None = None
) -> Entry:
    if isinstance(value, bool) or not isinstance(value, Real):
        _fail(f"{shown} must be a number, got {value!r:.40}", where=where)
    price = float(value)
    if kind == "accuracy":
        if not 0 <= price <= 1:
            hint = f"For {price:g} % write {price / 100:g}." if 1 < price <= 100 else None
            _fail(f"{shown} must be between 0 and 1, got {price:g}", hint, where=where)
    elif not 0 <= price <= HIGHEST:
        _fail(f"{shown} must be a price from 0 to {HIGHEST:g}, got {price:g}", where=where)
    if kind == "pair" and _text(labels[0]) == _text(labels[1]) and price != 0:
        _fail(
            f"{shown}: a right decision costs nothing, got {price:g}",
            "If it does, subtract that price from all prices of its true class.",
            where=where,
        )
    if kind == "step" and labels:
        _fail(f"{shown}: step has no class", f"Use error:{labels[0]} for a class.", where=where)
    return Entry(kind, labels, price, shown)


def _key(entry: Entry) -> str:
    labels = [_quote(_text(label)) for label in entry.labels]
    return ">".join(labels) if entry.kind == "pair" else ":".join([entry.kind, *labels])


def _bad_entry(name: Any) -> NoReturn:
    text = str(name)
    word = text.partition("=")[0].partition(":")[0].strip()
    close = get_close_matches(word.lower(), WORDS, n=1, cutoff=0.7)
    if close and close[0] != word:
        remedy = f"Did you mean {close[0]!r}?"
    elif isinstance(name, str) and name.isdecimal():
        remedy = f"Prices are {_EXAMPLE}, without a separator in thousands."
    else:
        remedy = (
            f"Prices are {_EXAMPLE}; for a class, error:NAME=5000, and for a pair, "
            f"TRUE>DECIDED=5000. {_QUOTING}, or use a CSV file."
        )
    _fail(f"{text!r:.60} is not a price", remedy)


# ---- from entries to prices --------------------------------------------------------------


def _resolve(cost_of: Any, classes: Sequence[Any], ordered: bool, more: bool = False) -> Prices:
    """Prices of these classes and, with ``more``, of others that have prices, after them."""
    names = [_text(label) for label in classes]
    if not isinstance(cost_of, (str, PathLike, Mapping)) and not _is_frame(cost_of):
        return _from_array(cost_of, names)
    entries = _entries(cost_of)
    if more:
        names = list(dict.fromkeys(names + [_text(label) for e in entries for label in e.labels]))
        names += ["another class"] * (len(names) == 1)  # that an only class could be taken for
    K, places = len(names), {name: k for k, name in enumerate(names)}
    errors, reviews, accuracy = np.full((K, K), np.nan), np.full(K, np.nan), np.ones(K)
    general = [entry for entry in entries if entry.kind in ("step", "error") and not entry.labels]
    if len(general) > 1:
        _fail("error and step both price every error", "Give one of the two.")
    # The more special entry comes later, and replaces what was set before.
    for entry in sorted(entries, key=lambda entry: len(entry.labels)):
        own = [_text(label) for label in entry.labels]
        for name in own:
            if name not in places:
                _unknown(name, entry, names)
        at: Any = tuple(places[name] for name in own) or slice(None)
        if entry.kind == "step":
            if not (ordered or K == 2):
                _fail(
                    f"step needs ordered classes; {', '.join(names)[:99]} have no order",
                    "Give their order, or prices for classes or pairs.",
                )
            i = np.arange(K)
            errors[:] = entry.value * np.abs(i[:, None] - i)
        elif entry.kind in ("error", "pair"):
            errors[at] = entry.value
        else:
            (reviews if entry.kind == "review" else accuracy)[at] = entry.value
    np.fill_diagonal(errors, 0.0)
    return Prices(errors, reviews, accuracy, names)


def _from_array(values: Any, names: list[str]) -> Prices:
    """Prices from a matrix (K, K + 1); its diagonal may be missing."""
    K = len(names)
    try:
        with np.errstate(over="ignore"):  # refused below
            prices = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        _fail(f"{values!r:.60} is not a matrix of numbers", f"Give prices {_EXAMPLE}.")
    if prices.ndim != 2:
        _fail(f"{values!r:.60} is not prices", f"Give prices {_EXAMPLE}.")
    if prices.shape != (K, K + 1):
        _fail(
            f"the matrix of prices has shape {prices.shape}, not {(K, K + 1)}",
            f"It has a row for each of the {K} true classes, and a column for each decision and, "
            "last, for the review.",
        )
    own = prices.diagonal()
    np.fill_diagonal(prices, np.where(np.isnan(own), 0.0, own))
    columns = [*names, "review"]
    fine = (prices >= 0) & (prices <= HIGHEST) & ((prices == 0) | ~np.eye(K, K + 1, dtype=bool))
    for i, j in np.argwhere(~fine):
        kind, labels = ("review", (names[i],)) if j == K else ("pair", (names[i], names[j]))
        place = f"row {names[i]!r}, column {columns[j]!r}"
        _checked(kind, labels, float(prices[i, j]), place)
    return Prices(prices[:, :-1], prices[:, -1], np.ones(K), names)


def _complete(prices: Prices, used: Mask | None = None) -> Prices:
    """Refuse prices with a gap where they are needed: everywhere, or where ``used`` (K, K + 1)."""
    names = prices.names
    K = len(names)
    needed = np.ones((K, K + 1), dtype=bool) if used is None else used
    missing = np.isnan(prices.errors)
    if missing.sum() == K * (K - 1):
        _fail("there is no price for an error", "Add error=..., such as error=5000.")
    for k in np.flatnonzero(needed.any(axis=1)):
        row = missing[k] & needed[k, :-1]
        if missing[k].sum() == K - 1:
            _fail(
                f"there is no price for an error on {names[k]!r}",
                f"Add error:{_quote(names[k])}=..., or error=... for all classes.",
            )
        if row.any():
            decided = names[int(row.argmax())]
            _fail(
                f"there is no price for a true {names[k]!r} decided as {decided!r}",
                f"Add {_quote(names[k])}>{_quote(decided)}=..., or error:{_quote(names[k])}=...",
            )
    missing = np.isnan(prices.reviews) & needed[:, -1]
    if missing.any() and np.isnan(prices.reviews).all():
        _fail("there is no price for a review", "Add review=..., such as review=40.")
    if missing.any():
        name = names[int(missing.argmax())]
        _fail(
            f"there is no price for a review of {name!r}",
            f"Add review:{_quote(name)}=..., or review=... for all classes.",
        )
    if used is None and not prices.errors.any():
        _fail("no error costs anything", f"Give prices {_EXAMPLE}.")
    return prices


def _unknown(name: str, entry: Entry, names: list[str]) -> NoReturn:
    close = close_words(name, names, n=1)
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    remedy = f"Did you mean {close[0]!r}?" if close else f"The classes are {listed}."
    _fail(f"{entry.shown}: there is no class {name!r:.40}", remedy)


def _reviews_pay(prices: Floats) -> bool:
    """Return whether a review pays, or is as cheap as a decision, for some posterior."""
    errors, review = prices[:, :-1], prices[:, -1]
    if errors.mean(axis=0).min() >= review.mean():  # all classes alike: no need for the program
        return True
    limit = highest_review_price(prices)
    return bool((review <= limit * (1 + SLACK)).all())


def _limit(found: Prices) -> str:
    """At which price of a review, as it was given, without mistakes, one would pay."""
    mistakes = found.matrix()[:, -1] - found.reviews
    limit = highest_review_price(np.column_stack([found.errors, found.reviews]), mistakes)
    if np.isnan(limit).any():
        return "It would not pay at any price, because reviewers are wrong so often."
    if _is_one(limit):
        return f"It would pay at {_money(limit[0])} or less."
    return f"It would pay at {percent(limit.sum() / found.reviews.sum())} of its prices or less."


# ---- words -------------------------------------------------------------------------------


def _describe_errors(errors: Floats, names: list[str]) -> tuple[str, bool]:
    """What errors cost, and whether one price is all that was said."""
    K = len(errors)
    wrong = errors[~np.eye(K, dtype=bool)]
    i = np.arange(K)
    rows = errors.max(axis=1)
    if _is_one(wrong):
        return f"An error costs {_money(wrong[0])}", True
    if np.array_equal(errors, errors[0, 1] * np.abs(i[:, None] - i)):
        return f"An error costs {_money(errors[0, 1])} for each class that it is off", False
    if np.array_equal(errors, rows[:, None] * (1 - np.eye(K))) and K <= 6:
        return f"A wrong decision on {_each(names, rows, 'on ')}", False
    if K <= 3:
        pairs = [(a, b) for a in range(K) for b in range(K) if a != b]
        both = [f"{names[a]} as {names[b]}" for a, b in pairs]
        return f"To decide {_each(both, (errors[pair] for pair in pairs))}", False
    return f"An error costs from {_money(wrong.min())} to {_money(wrong.max())}, by class", False


def _each(names: list[str], values: Iterable[float], word: str = "") -> str:
    """``default costs 5,000, on repaid 300``."""
    first, *rest = zip(names, values, strict=True)
    said = f"{first[0]} costs {_money(first[1])}"
    return ", ".join([said, *(f"{word}{name} {_money(value)}" for name, value in rest)])


def _money(value: float) -> str:
    """``5,000`` or ``12.50`` or ``0.0125``."""
    if float(value).is_integer():
        return f"{int(value):,}"
    return f"{value:,.2f}" if value >= 1 else f"{value:.3g}"


def _share(value: float) -> str:
    return percent(value, 0 if abs(100 * value - round(100 * value)) < 1e-9 else 1)


def _is_one(values: Floats) -> bool:
    return bool((values == values[0]).all())


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "index")


def _text(label: Any) -> str:
    """A class as people write it: ``1`` also for 1.0."""
    if isinstance(label, bytes):
        return label.decode("utf-8", "replace")
    if isinstance(label, (float, np.floating)) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _quote(name: str) -> str:
    if re.search('[",;:=>]', name) or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


def _unquote(label: str) -> str:
    return label[1:-1].replace('""', '"') if label.startswith('"') else label


def _fail(problem: str, remedy: str | None = None, where: str | None = None) -> NoReturn:
    raise RejoError(problem, parameter="cost_of", remedy=remedy, where=where)
