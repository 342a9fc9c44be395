"""From entries to prices of known classes, with a clear error for each gap."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rejo._errors import close_words
from rejo._typing import Floats, Indices, Mask
from rejo.prices._entries import (
    EXAMPLE,
    Entry,
    cell_entry,
    class_text,
    entries_of,
    fail,
    quoted,
)
from rejo.prices._formulas import HIGHEST, Formula


class Prices(NamedTuple):
    """The prices of K classes; NaN where none was given."""

    errors: Floats  # (..., K, K) for each true class, of each decision; the diagonal is 0
    reviews: Floats  # (..., K) for each true class
    accuracy: Floats  # (K,) share of right reviews, for each true class
    names: list[str]  # of the classes
    formulas: tuple[Formula, ...] = ()  # that stand for a 1 here, as no columns were given

    def matrix(self) -> Floats:
        """Prices (..., K, K + 1) of all decisions and, last, of a review with its mistakes."""
        errors, reviews = self.errors.T, self.reviews.T[None]  # cases last, as they lie in memory
        prices = np.concatenate([errors, reviews]).T
        if (self.accuracy < 1).any():
            known = (~np.isnan(self.errors)).sum(axis=-1) - 1  # less the diagonal
            wrong = np.nansum(self.errors, axis=-1) / np.where(known > 0, known, np.nan)
            prices[..., -1] += (1.0 - self.accuracy) * np.where(self.accuracy < 1, wrong, 0.0)
        return prices if prices.ndim == 3 else np.ascontiguousarray(prices)


def price_matrix(
    cost_of: Any, classes: Sequence[Any], *, ordered: bool = True, columns: Any = None
) -> Floats:
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

        A price may be a formula of columns, such as ``error:default=0.6*amount+50``, with
        ``+ - *``, ``min``, ``max`` and parentheses; a name with blanks is in double quotes.
        The more special entry counts.  A dict may also be nested, or have pairs as keys.  A path,
        a DataFrame or an array is a table with a row for each true class and a column for each
        decision and, last, for ``review``.
    classes : sequence of labels
        All classes, in the order of the rows and columns of the result.
    ordered : bool, default=True
        Whether the classes have an order, lowest first; ``step`` needs one.
    columns : DataFrame or mapping, default=None
        The columns that formulas name, with a number for each case.

    Returns
    -------
    prices : ndarray of shape (n_classes, n_classes + 1) or (n_samples, n_classes, n_classes + 1)
        Price of each decision and, last, of a review, for each true class; for each case if
        there are formulas, NaN where a case has no price.

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
    >>> loans = {"amount": [1000, 1500]}
    >>> price_matrix("error=0.6*amount,review=40", ["default", "repaid"], columns=loans)
    array([[[  0., 600.,  40.],
            [600.,   0.,  40.]],
    <BLANKLINE>
           [[  0., 900.,  40.],
            [900.,   0.,  40.]]])
    """
    found = complete(resolve(cost_of, classes, ordered))
    if found.formulas:
        found = resolve(cost_of, classes, ordered, columns=numbers_of(found.formulas, columns))
    return found.matrix()


def case_costs(
    cost_of: Any, classes: Sequence[Any], true: Indices, decision: Indices, *, ordered: bool = True
) -> Floats:
    """Return what each case (n_samples,) costs, by its true class and its decision; -1: review.

    Prices that no case needs may be missing, and there may be prices of other classes.
    """
    prices = resolve(cost_of, classes, ordered, more=True)
    used = np.zeros((len(prices.names), len(prices.names) + 1), dtype=bool)
    used[true, decision] = True
    numbers_of(prices.formulas, None)  # which there must not be
    return complete(prices, used).matrix()[true, decision]


def reject_cost_of(prices: Floats) -> float | None:
    """Return the price of a review where an error costs 1; ``None`` if prices differ."""
    if prices.ndim == 3:
        return None
    K = len(prices)
    error, review = prices[0, 1], prices[0, -1]
    alike = (prices[:, :-1] == error * (1 - np.eye(K))).all() and (prices[:, -1] == review).all()
    return float(review / error) if alike and error > 0 else None


def resolve(
    cost_of: Any,
    classes: Sequence[Any],
    ordered: bool,
    more: bool = False,
    columns: Mapping[str, Floats] | None = None,
) -> Prices:
    """Prices of these classes and, with ``more``, of others that have prices, after them.

    With ``columns``, they are of each case.
    """
    names = [class_text(label) for label in classes]
    if not isinstance(cost_of, (str, PathLike, Mapping)) and not _is_frame(cost_of):
        return _from_array(cost_of, names)
    entries = entries_of(cost_of)
    if more:
        names = list(
            dict.fromkeys(names + [class_text(label) for e in entries for label in e.labels])
        )
        names += ["another class"] * (len(names) == 1)  # that an only class could be taken for
    K, places = len(names), {name: k for k, name in enumerate(names)}
    cases = () if columns is None else np.shape(next(iter(columns.values())))
    errors, reviews = np.full((K, K, *cases), np.nan), np.full((K, *cases), np.nan)
    accuracy, formulas = np.ones(K), []
    general = [entry for entry in entries if entry.kind in ("step", "error") and not entry.labels]
    if len(general) > 1:
        fail("error and step both price every error", "Give one of the two.")
    # The more special entry comes later, and replaces what was set before.
    for entry in sorted(entries, key=lambda entry: len(entry.labels)):
        own = [class_text(label) for label in entry.labels]
        for name in own:
            if name not in places:
                _unknown(name, entry, names)
        at: Any = tuple(places[name] for name in own) or slice(None)
        value: Any = entry.value
        if isinstance(value, Formula):
            formulas.append(value)
            value = 1.0 if columns is None else value.values(columns)
            value = np.where((value >= 0) & (value <= HIGHEST), value, np.nan)
        if entry.kind == "step":
            if not (ordered or K == 2):
                fail(
                    f"step needs ordered classes; {', '.join(names)[:99]} have no order",
                    "Give their order, or prices for classes or pairs.",
                )
            i = np.arange(K)
            errors.T[:] = value * np.abs(i[:, None] - i)  # for each case, if they differ
        elif entry.kind in ("error", "pair"):
            errors[at] = value
        else:
            (reviews if entry.kind == "review" else accuracy)[at] = value
    errors[np.arange(K), np.arange(K)] = 0.0
    if cases:
        errors, reviews = np.moveaxis(errors, -1, 0), reviews.T
    return Prices(errors, reviews, accuracy, names, () if cases else tuple(formulas))


def column_names(X: Any) -> list[Any]:
    """Names of the columns of a frame or a mapping; none of anything else."""
    if isinstance(X, Mapping):
        return list(X)
    of_arrow = getattr(X, "column_names", None)
    return list(getattr(X, "columns", ()) if of_arrow is None else of_arrow)


def as_numbers(column: Any) -> Any:
    """A column (n,) as floats, NaN where a cell is empty; refuse dates, and what is no column."""
    if np.ndim(column) != 1 or getattr(getattr(column, "dtype", None), "kind", "") in tuple("mM"):
        raise TypeError("not a column of numbers")
    if hasattr(column, "dtype") and hasattr(column, "isna"):  # of pandas, which has an NA
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan)


def numbers_of(formulas: Iterable[Formula], columns: Any) -> dict[str, Floats]:
    """Return the columns that formulas name as numbers; NaN where a cell is empty."""
    found: dict[str, Floats] = {}
    known = {str(name): name for name in column_names(columns)}
    for formula in formulas:
        for name in formula.columns:
            if name not in known:
                close = close_words(name, list(known), n=1)
                fail(
                    f"{formula.text!r:.60}: {name!r:.40} is not a number or a column of the cases",
                    f"Did you mean {close[0]!r}?"
                    if close
                    else "Give X as a frame that has it, or "
                    f"pass it, such as prices={{{name!r:.40}: [...]}}.",
                )
            try:
                found[name] = as_numbers(columns[known[name]])
            except (TypeError, ValueError):
                fail(
                    f"{formula.text!r:.60}: the column {name!r:.40} does not hold numbers alone",
                    "Prices need one column of numbers by this name.",
                )
            if len(found[name]) != len(next(iter(found.values()))):
                fail(f"{formula.text!r:.60}: the column {name!r:.40} has another length")
    return found


def _from_array(values: Any, names: list[str]) -> Prices:
    """Prices from a matrix (K, K + 1); its diagonal may be missing."""
    K = len(names)
    try:
        with np.errstate(over="ignore"):  # refused below
            prices = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        fail(f"{values!r:.60} is not a matrix of numbers", f"Give prices {EXAMPLE}.")
    if prices.ndim != 2:
        fail(f"{values!r:.60} is not prices", f"Give prices {EXAMPLE}.")
    if prices.shape != (K, K + 1):
        fail(
            f"the matrix of prices has shape {prices.shape}, not {(K, K + 1)}",
            f"It has a row for each of the {K} true classes, and a column for each decision and, "
            "last, for the review.",
        )
    own = prices.diagonal()
    np.fill_diagonal(prices, np.where(np.isnan(own), 0.0, own))
    fine = (prices >= 0) & (prices <= HIGHEST) & ((prices == 0) | ~np.eye(K, K + 1, dtype=bool))
    for i, j in np.argwhere(~fine):  # names the first
        cell_entry(names[i], None if j == K else names[j], float(prices[i, j]))
    return Prices(prices[:, :-1], prices[:, -1], np.ones(K), names)


def complete(prices: Prices, used: Mask | None = None) -> Prices:
    """Refuse prices with a gap where they are needed: everywhere, or where ``used`` (K, K + 1)."""
    names = prices.names
    K = len(names)
    needed = np.ones((K, K + 1), dtype=bool) if used is None else used
    missing = np.isnan(prices.errors)
    if missing.sum() == K * (K - 1):
        fail("there is no price for an error", "Add error=..., such as error=5000.")
    for k in np.flatnonzero(needed.any(axis=1)):
        row = missing[k] & needed[k, :-1]
        if missing[k].sum() == K - 1:
            fail(
                f"there is no price for an error on {names[k]!r}",
                f"Add error:{quoted(names[k])}=..., or error=... for all classes.",
            )
        if row.any():
            decided = names[int(row.argmax())]
            fail(
                f"there is no price for a true {names[k]!r} decided as {decided!r}",
                f"Add {quoted(names[k])}>{quoted(decided)}=..., or error:{quoted(names[k])}=...",
            )
    missing = np.isnan(prices.reviews) & needed[:, -1]
    if missing.any() and np.isnan(prices.reviews).all():
        fail("there is no price for a review", "Add review=..., such as review=40.")
    if missing.any():
        name = names[int(missing.argmax())]
        fail(
            f"there is no price for a review of {name!r}",
            f"Add review:{quoted(name)}=..., or review=... for all classes.",
        )
    if used is None and not prices.errors.any():
        fail("no error costs anything", f"Give prices {EXAMPLE}.")
    return prices


def _unknown(name: str, entry: Entry, names: list[str]) -> NoReturn:
    close = close_words(name, names, n=1)
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    remedy = f"Did you mean {close[0]!r}?" if close else f"The classes are {listed}."
    fail(f"{entry.shown}: there is no class {name!r:.40}", remedy)


def _is_frame(value: Any) -> bool:
    return hasattr(value, "columns") and hasattr(value, "index")
