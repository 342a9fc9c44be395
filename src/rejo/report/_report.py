"""What the page shows, checked and counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, isnan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rejo._html import table_html
from rejo._typing import Floats, Indices
from rejo.decisions import uniform_prices
from rejo.estimators import AMBIGUOUS, REASONS
from rejo.metrics import Tally, tally
from rejo.prices import price_columns
from rejo.report._counts import (
    MAX_EXPECTED,
    OutcomeLayout,
    count_points,
    count_rivals,
    histogram,
    layout_of,
    other_reasons,
    steps,
    tenth_sizes,
)
from rejo.report._formulas import mean_prices, price_fields, priced_cases, prices_by_case
from rejo.report._groups import SMALL, gap_quantiles, group_columns
from rejo.report._labels import clean
from rejo.report._tables import Promises, Rows, TriedTable, read_doubtful, read_promises, read_tried
from rejo.selection import OutOfFold

Axis = Literal["reject_cost", "review_share"]

ANY_COST = 0.1  # of a review, if there are neither prices nor a reject cost
STOPS = (0.1, 0.25, 0.5)  # shares of reviews in the tables of groups
LEAST_PRICE, HIGHEST_PRICE = 1e-6, 1e9  # of an error: all amounts on the page are then exact


@dataclass(frozen=True, eq=False)
class Report:
    """What a page is made of; :func:`make_report` makes it, :func:`render` shows it.

    Parameters
    ----------
    tallies : list of rejo.metrics.Tally
        Counts and rates of the cases at each operating point, in the order of the slider.
    chosen : int
        The point shown when the page opens.
    data : dict
        What the page computes all its numbers from: counts of outcomes, no cases but for what
        their prices depend on.
    """

    tallies: list[Tally]
    chosen: int
    data: dict[str, Any]
    layout: OutcomeLayout
    n_models: int  # that decided the cases, each its own part
    left_out: list[str]  # columns with too many groups
    tried: TriedTable | None
    promises: Promises | None
    doubtful: Rows
    leading: list[tuple[str, Rows]]  # by class
    title: str
    notes: list[str]
    provenance: list[tuple[str, str]]
    command: str

    def _repr_html_(self) -> str:
        found = self.tallies[self.chosen]
        cases = [int(count) for count in (found.right, found.wrong, found.rejected)]
        columns = {
            "cases": ["decided rightly", "decided wrongly", "reviewed"],
            "number": cases,
            "share": [count / self.data["n"] for count in cases],
        }
        notes = [*self.notes, "rejo.report.render makes the page of it."]
        return table_html(self.title, columns, shares=["share"], notes=notes)


def make_report(
    outcomes: Sequence[OutOfFold],
    y: ArrayLike,
    classes: Sequence[Any],
    *,
    chosen: int,
    axis: Axis = "reject_cost",
    size: float | None = None,
    ordered: bool = True,
    prices: Any = None,
    amounts: Mapping[str, Any] | None = None,
    by: Mapping[str, NDArray[Any]] | None = None,
    choice: Any = None,
    promises: Sequence[Any] = (),
    sent_to_review: Sequence[Any] = (),
    doubtful: Sequence[Any] = (),
    leading: Mapping[Any, Sequence[Any]] | None = None,
    title: str,
    notes: Sequence[str] = (),
    provenance: Mapping[str, str],
    command: str = "",
    confidence: float = 0.95,
) -> Report:
    """Count what the page shows.

    The page says, of 1,000 cases, how many are decided, how many of those are wrong, and how many
    go to review, at each operating point and at any prices.

    Parameters
    ----------
    outcomes : sequence of OutOfFold
        Outcomes of the cases at each operating point, in the order of the slider; shares of a
        ranking are put in order.
    y : array-like of int of shape (n_samples,)
        True classes, as indices into ``classes``.
    classes : sequence of shape (n_classes,)
        Labels in their order.
    chosen : int
        The point shown when the page opens.
    axis : {"reject_cost", "review_share"}, default="reject_cost"
        The points are refits for reject costs, or shares of one ranking.
    size : float, default=None
        Number of independent cases with the same information; by default all are independent.
    ordered : bool, default=True
        Whether the classes have an order.
    prices : (float, float) or array-like of shape (n_classes, n_classes + 1), default=None
        Prices of an error and of a review, or of each decision and, last, of a review for each
        true class, as by :func:`~rejo.prices.price_matrix`; by default 1 and the reject cost of the
        chosen point, in four digits.  With ``amounts``, formulas of columns, such as
        ``"error=0.6*amount,review=40"``.  What a review is worth in ``outcomes`` is in their unit.
    amounts : DataFrame or dict of {column: array of shape (n_samples,)}, default=None
        The columns that formulas name.  The page contains them, rounded to three digits.
    by : dict of {column: array of shape (n_samples,)}, default=None
        Columns, such as the region, whose values are reported on separately.
    choice : Choice, default=None
        What the model was chosen from, such as ``model.choice_``: the page compares them.
    promises : sequence of Guarantee, default=()
        What is promised of the chosen point, such as ``model.guarantees_``.
    sent_to_review : sequence of str, default=()
        Groups without a promise, all of whose cases go to review, such as
        ``model.policy_.reviewed``.
    doubtful : sequence of DoubtfulFeature, default=()
        Features that make cases doubtful, by :func:`~rejo.explain.doubtful_features`.
    leading : dict of {class: sequence of DoubtfulFeature}, default=None
        Features that lead to a decision, by the same function with ``decided=``.
    title : str
    notes : sequence of str, default=()
        Sentences below the headline.
    provenance : dict of {what: value}
        How the results were obtained.
    command : str, default=""
        The command that made the page.
    confidence : float, default=0.95
        Confidence of all intervals.

    Returns
    -------
    report : Report
        For :func:`render`.

    See Also
    --------
    rejo.selection.cross_val_outcomes : Outcomes at several reject costs.

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.report import make_report, render
    >>> from rejo.selection import cross_val_outcomes
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> points = cross_val_outcomes(RejoSVC(C=10, gamma=4), X, y, reject_costs=[0.04, 0.2, 0.48])
    >>> report = make_report(points, (y > 0).astype(int), ["low", "high"], chosen=1,
    ...                      title="Two noisy classes", provenance={"data": "synthetic"})
    >>> [round(float(point.rejection_rate), 1) for point in report.tallies]
    [...]
    >>> render(report)[:15]
    '<!doctype html>'
    """
    by = by or {}
    true = _check_cases(outcomes, y, len(classes), axis, by)
    n, K = len(true), len(classes)
    if not 0 <= chosen < len(outcomes):
        raise ValueError(f"chosen must be from 0 to {len(outcomes) - 1}; got {chosen!r}.")
    if axis == "review_share":
        order = np.argsort([np.sum(point.decision < 0) for point in outcomes], kind="stable")
        outcomes, chosen = [outcomes[i] for i in order], order.tolist().index(chosen)
    if size is not None and not (size > 0 and isfinite(size)):
        raise ValueError(f"size must be a positive number; got {size!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    size, layout, own = float(size or n), layout_of(outcomes, K, ordered), outcomes[chosen]
    cost = ANY_COST if isnan(own.reject_cost) else own.reject_cost
    given = (1.0, float(f"{cost:.4g}")) if prices is None else prices  # as a field can show it
    formulas, notes = None, list(notes)
    if amounts is not None:
        by_case, priced = prices_by_case(prices, classes, ordered, amounts)
        given = mean_prices(by_case, priced, true)
        formulas = price_fields(prices, classes, ordered, layout)
        formulas |= priced_cases(outcomes, true, priced, amounts, price_columns(prices), layout)
        if n_unpriced := int((~priced).sum()):
            notes.append(f"Without a price, and left out of all costs: {n_unpriced:,} cases.")
    most = HIGHEST_PRICE if amounts is None else np.inf  # those of cases are what they are
    checked = _check_prices(_by_class(given, own, true, K, layout), layout, K, most)
    paid = checked[true] if amounts is None else by_case[np.arange(n), true]
    column = own.forced if amounts is not None else layout.price_column(own.forced, true)
    counted = count_points(
        outcomes, true, layout, K, size, confidence, _prevented(own, paid, column)
    )
    if not any(map(other_reasons, outcomes)):
        counted["kinds"] = None
    if amounts is not None:
        counted["costs"] = [None] * len(outcomes)  # of a review, where an error costs 1
    if K > MAX_EXPECTED:
        counted["errors"] = None  # those of the matrix
    columns, left_out = group_columns(outcomes, true, by)
    rivals = []
    if choice is not None and amounts is None:  # others rank the cases in another order
        at = uniform_prices(K, cost) if own.prices is None else own.prices
        rivals = count_rivals(choice, at, layout)
    data = counted | {
        "axis": axis,
        "n": n,
        "size": size,
        "worth": size / n,
        "z": float(ndtri((1 + confidence) / 2)),
        "confidence": float(confidence),
        "chosen": int(chosen),
        "model": "this model" if choice is None else clean(choice.name),
        "uniform": amounts is None and _uniform(checked, layout),
        "wide": layout.wide,
        "columns": layout.columns,
        "prices": checked.tolist(),
        "formulas": formulas,
        "priced": prices is not None,
        "classes": [clean(label) for label in classes],
        "counts": np.bincount(true, minlength=K).tolist(),
        "steps": steps(n),
        "tenthSizes": tenth_sizes(n),
        "histogram": histogram(outcomes, true, K),
        "groups": columns,
        "small": SMALL,
        "gapQuantiles": gap_quantiles(max((len(c["groups"]) for c in columns), default=0),
                                      confidence),
        "rivals": rivals,
        "stops": _stops(counted["reviewed"], n),
    }  # fmt: skip
    return Report(
        tallies=[tally(point.decision, true) for point in outcomes],
        chosen=int(chosen),
        data=data,
        layout=layout,
        n_models=len(np.unique(outcomes[0].fold)),
        left_out=left_out,
        tried=read_tried(choice),
        promises=read_promises(promises, sent_to_review),
        doubtful=read_doubtful(doubtful),
        leading=[
            (clean(k, None), rows)
            for k, v in (leading or {}).items()
            if (rows := read_doubtful(v, 3))
        ],
        title=clean(title, None),
        notes=[clean(note, None) for note in notes],
        provenance=[(clean(k, None), clean(v, None)) for k, v in provenance.items()],
        command=clean(command, None),
    )


def _check_cases(
    outcomes: Sequence[OutOfFold], y: ArrayLike, n_classes: int, axis: str, by: Mapping[str, Any]
) -> Indices:
    """Return the true classes, if outcomes, classes and columns fit together."""
    true = np.asarray(y)
    if true.ndim != 1 or not len(true) or true.dtype.kind not in "iu":
        raise ValueError(
            f"y must be a non-empty list of class indices; got {true.dtype} of shape {true.shape}."
        )
    if n_classes < 2 or true.min() < 0 or true.max() >= n_classes:
        raise ValueError(
            f"y must be indices into at least 2 classes; got {true.min()} to {true.max()} for "
            f"{n_classes} classes."
        )
    if not len(outcomes):
        raise ValueError("outcomes must have at least one operating point; got none.")
    if axis not in ("reject_cost", "review_share"):
        raise ValueError(f'axis must be "reject_cost" or "review_share"; got {axis!r}.')
    for i, point in enumerate(outcomes):
        if np.shape(point.decision) != true.shape:
            raise ValueError(
                f"outcomes[{i}] has {np.size(point.decision)} cases, but y has {len(true)}."
            )
        if axis == "reject_cost" and i and not point.reject_cost > outcomes[i - 1].reject_cost:
            raise ValueError(
                f"outcomes[{i}].reject_cost is not above the one before: points of one ranking are "
                'for axis="review_share".'
            )
        _check_kind(i, point)
    for name, values in by.items():
        if np.shape(values) != true.shape:
            raise ValueError(f"by[{name!r}] must have shape {true.shape}; got {np.shape(values)}.")
    return true.astype(np.intp)


def _check_kind(i: int, point: OutOfFold) -> None:
    """A novel case, or one that a rule sends to review, is not decided at any point."""
    kind = np.asarray(point.kinds)
    if kind.shape != np.shape(point.decision) or not np.isin(kind, range(len(REASONS))).all():
        raise ValueError(
            f"outcomes[{i}].kind must have 0 to {len(REASONS) - 1} ({', '.join(REASONS)}) for each "
            f"case; got {kind.dtype} of shape {kind.shape}."
        )
    if (point.decision[kind != AMBIGUOUS] >= 0).any():
        raise ValueError(
            f"outcomes[{i}] decides cases whose kind is novel or policy; they must be reviewed at "
            "every point."
        )


def _check_prices(
    prices: ArrayLike, layout: OutcomeLayout, n_classes: int, most: float = HIGHEST_PRICE
) -> Floats:
    """Return a price for each true class and outcome, if the page can compute with them.

    Two numbers are the prices of an error and of a review.
    """
    given = np.asarray(prices, dtype=np.float64)
    right = np.zeros((n_classes, layout.n_prices), dtype=bool)
    right[range(n_classes), [layout.right(k) for k in range(n_classes)]] = True
    if given.shape == (2,):
        error, review = given
        given = np.where(right, 0.0, error)
        given[:, -1] = review
    if given.shape != right.shape:
        raise ValueError(
            "prices must be those of an error and of a review, or a matrix with a row for each "
            f"true class and a column for each decision and the review, {right.shape}; "
            f"got shape {given.shape}."
        )
    least = LEAST_PRICE if most == HIGHEST_PRICE else 0.0
    if not ((given >= 0).all() and given[:, :-1].max() >= least and given.max() <= most):
        raise ValueError(
            "prices must not be negative, and the highest price of an error must be from "
            f"{least:g} to {most:g}; got {prices!r}."
        )
    if given[right].any():
        raise ValueError(f"prices of right decisions must be 0; got {given[right].tolist()}.")
    return given


def _uniform(prices: Floats, layout: OutcomeLayout) -> bool:
    """Whether one price of an error and one of a review hold for all classes."""
    errors = {p for k, row in enumerate(prices) for p in np.delete(row[:-1], layout.right(k))}
    return len(errors) == 1 and len(set(prices[:, -1])) == 1


def _stops(reviewed: Sequence[int], n: int) -> list[int]:
    """Points closest to some shares of reviews, for a table: each once, none without reviews."""
    closest = [int(np.argmin([abs(r - part * n) for r in reviewed])) for part in STOPS]
    return [i for i in dict.fromkeys(closest) if 0 < reviewed[i] < n]


def _by_class(
    prices: ArrayLike, own: OutOfFold, y: Indices, n_classes: int, layout: OutcomeLayout
) -> ArrayLike:
    """Prices of each outcome; with very many classes one for all wrong decisions of a class.

    It is the mean over the wrong decisions of the class, or over all if there are none.
    """
    given = np.asarray(prices, dtype=np.float64)
    if layout.wide or given.shape != (n_classes, n_classes + 1):
        return given
    wrong = own.forced != y
    n = np.bincount(y[wrong], minlength=n_classes)
    paid = np.bincount(y[wrong], given[y[wrong], own.forced[wrong]], minlength=n_classes)
    mean = given[:, :-1].sum(axis=1) / (n_classes - 1)
    error = np.where(n > 0, paid / np.maximum(n, 1), mean)
    error = np.array([float(f"{price:.4g}") for price in error])  # as a field can show it
    return np.stack([np.diag(given), error, given[:, -1]], axis=1)


def _prevented(own: OutOfFold, paid: Floats, column: Indices) -> Floats | None:
    """What the error of each case is expected to cost: its review prevents it, for its own price.

    Nobody knows what to expect of a novel case: what would have happened stands in for it.
    ``paid`` (n, n_prices) are the prices at the true classes, ``column`` (n,) that of the decision
    without a review.
    """
    if own.worth is None:
        return None
    seen = paid[np.arange(len(paid)), column]
    return np.where(own.kinds == AMBIGUOUS, own.worth + paid[:, -1], seen)
