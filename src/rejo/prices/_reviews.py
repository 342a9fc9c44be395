"""When a review pays, and prices in plain words."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rejo._io import one_line, percent
from rejo._typing import Floats
from rejo.prices._entries import fail, read_prices
from rejo.prices._matrix import Prices, complete, resolve

SLACK = 1e-7  # share by which the linear program may be off


def highest_review_price(prices: Floats, mistakes: Floats | None = None) -> Floats:
    """Return the price of a review up to which a review pays for some case.

    It is the value of a game, by a linear program: the largest ``f`` with ``min_d p @ L[:, d] >=
    f * p @ r`` for some posterior ``p``, times the review prices ``r``.

    Parameters
    ----------
    prices : ndarray of shape (n_classes, n_classes + 1)
        From :func:`price_matrix`.
    mistakes : ndarray of shape (n_classes,), default=None
        What reviewers' mistakes add to the price of a review, which ``prices`` have without them.

    Returns
    -------
    highest : ndarray of shape (n_classes,)
        For each true class, in the proportion of the review prices that were given; infinite if
        reviews of some class are free, NaN if reviewers err so often that no price would pay.

    Examples
    --------
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


def check_reviews_pay(
    cost_of: Any, classes: Sequence[Any] | None = None, *, ordered: bool = True
) -> None:
    """Refuse prices at which no case is worth a review, with those at which some are."""
    if classes is None:
        classes = range(len(cost_of))
    found = complete(resolve(cost_of, classes, ordered))
    if found.formulas:
        return  # it depends on the case
    errors, review = found.errors, found.reviews
    if review.min() >= errors.max():
        fail(
            f"a review costs {_money(review.min())}, as much as the worst error or more "
            f"({_money(errors.max())})",
            "A review must cost less than the error it prevents; are the two prices swapped?",
        )
    if _reviews_pay(found.matrix()):
        return
    fail(
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

    Examples
    --------
    >>> from rejo.prices import describe_prices
    >>> costs = {"error": {"default": 5000, "repaid": 300}, "review": 40}
    >>> describe_prices(costs, ["default", "repaid"])
    'A wrong decision on default costs 5,000, on repaid 300; a review costs 40.'
    """
    found = complete(resolve(cost_of, classes, ordered))
    if found.formulas:
        given = (
            f"{name}={value if isinstance(value, str) else f'{value:.12g}'}"
            for name, value in read_prices(cost_of).items()
        )
        return f"Prices depend on the case: {one_line(', '.join(given))}."
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
