"""What the page shows, checked and counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isnan
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from rejo._html import table_html
from rejo._typing import Floats, Indices
from rejo.estimators import AMBIGUOUS
from rejo.report import _numbers, _prices
from rejo.report._collect import (
    MAX_EXPECTED,
    OutcomeLayout,
    PointTally,
    check_cases,
    count_point,
    layout_of,
    steps,
    tenth_sizes,
)
from rejo.report._format import clean
from rejo.report._groups import gap_quantiles
from rejo.report._numbers import Setting
from rejo.report._prices import Prices, check_prices
from rejo.report._sentences import (
    Ranges,
    kind_texts,
    name_point,
    point_texts,
    predict_ranges,
    promise_text,
)
from rejo.report._shared_counts import (
    Column,
    Histogram,
    Rival,
    group_columns,
    histogram,
    rival_curves,
)
from rejo.report._tables import (
    Candidate,
    Promises,
    PullRow,
    read_doubtful,
    read_promises,
    read_tried,
)
from rejo.selection import OutOfFold, likely_classes

Axis = Literal["reject_cost", "review_share"]

ANY_COST = 0.1  # of a review, if there are neither prices nor a reject cost


@dataclass(frozen=True, eq=False)
class Report:
    """Counts, words and labels of a page; :func:`make_report` makes it, :func:`render` shows it."""

    tallies: list[PointTally]  # counts of the cases at each operating point
    ranges: list[Ranges]  # of the next 1,000 cases
    classes: list[str]
    chosen: int  # the point shown when the page opens
    axis: Axis
    size: float  # number of independent cases with the same information
    n_models: int  # that decided the cases, each its own part
    layout: OutcomeLayout
    prices: Prices  # when the page opens
    confidence: float
    histogram: Histogram | None
    columns: list[Column]  # with the outcomes of their groups
    left_out: list[str]  # columns with too many groups
    rivals: list[Rival]
    tried: list[Candidate]
    promises: Promises | None
    doubtful: list[PullRow]
    title: str
    notes: list[str]
    provenance: list[tuple[str, str]]
    command: str

    def _repr_html_(self) -> str:
        found = self.tallies[self.chosen]
        cases = [found.right, found.wrong, found.reviewed]
        columns = {
            "cases": ["decided rightly", "decided wrongly", "reviewed"],
            "number": cases,
            "share": [count / self.n for count in cases],
        }
        notes = [*self.notes, "rejo.report.render makes the page of it."]
        return table_html(self.title, columns, shares=["share"], notes=notes)

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.tallies[0].n

    @property
    def worth(self) -> float:
        """Number of independent cases that one case counts for."""
        return self.size / self.n

    @property
    def kinds(self) -> bool:
        """Whether there are other reasons for a review than doubt between classes."""
        return any(kind.reviewed for tally in self.tallies for kind in tally.kinds[1:])

    @property
    def setting(self) -> Setting:
        """The setting when the page opens."""
        return Setting(self.chosen, self.prices)

    @property
    def uniform(self) -> bool:
        """Whether one price of an error and one of a review hold for all classes."""
        return _prices.two_prices({"wide": self.layout.wide}, self.prices) is not None

    @property
    def two_prices(self) -> tuple[float, float]:
        """Prices of an error and of a review; the means over the classes if they differ."""
        given = np.array(self.prices)
        if self.uniform:
            return float(given[0, 1]), float(given[0, -1])
        error = float(given[:, :-1].sum(axis=1).mean() / (self.layout.n_prices - 2))
        return float(f"{error:.3g}"), float(f"{given[:, -1].mean():.3g}")

    def numbers(self, setting: Setting) -> dict[str, str]:
        """Every text that depends on the setting, exactly as shown, by the id of its element."""
        point, prices = setting
        if not 0 <= point < len(self.tallies):
            raise ValueError(f"point must be from 0 to {len(self.tallies) - 1}; got {point!r}.")
        return _numbers.numbers(self._data, Setting(point, self._check(prices)))

    def best_point(self, prices: ArrayLike) -> int:
        """The point that the slider moves to when these prices are entered."""
        return _prices.best_point(self._data, self._check(prices))

    def _check(self, prices: ArrayLike) -> Prices:
        return check_prices(prices, len(self.classes), self.layout.n_prices)

    def payload(self) -> dict[str, Any]:
        """The data embedded in the page: counts for each point, no cases."""
        return self._data

    @cached_property
    def _data(self) -> dict[str, Any]:
        tallies, layout = self.tallies, self.layout
        uniform = self.uniform
        known = tallies[0].expected is not None  # a ranking by what a review is worth
        names = [
            name_point(t, self.axis, i == self.chosen, uniform if known else None)
            for i, t in enumerate(tallies)
        ]
        points = zip(tallies, self.ranges, names, strict=True)
        texts = [point_texts(*point, self.classes, layout, self.confidence) for point in points]
        if self.kinds:
            texts = [text | kind_texts(t) for text, t in zip(texts, tallies, strict=True)]
        if self.promises is not None:
            texts = [text | promise_text(i == self.chosen) for i, text in enumerate(texts)]
        forced = list(dict.fromkeys(tally.forced for tally in tallies))
        queues = list(dict.fromkeys(tally.queue for tally in tallies))
        curves = list(dict.fromkeys(tally.errors_left for tally in tallies))
        return {
            "axis": self.axis,
            "n": self.n,
            "size": self.size,
            "worth": self.worth,
            "z": float(ndtri((1 + self.confidence) / 2)),
            "confidence": self.confidence,
            "chosen": self.chosen,
            "wide": layout.wide,
            "columns": layout.columns,
            "prices": self.prices,
            "classes": self.classes,
            "counts": [sum(row) for row in tallies[0].matrix],
            "texts": {key: [text[key] for text in texts] for key in texts[0]},
            "costs": [_or_none(tally.cost) for tally in tallies],
            "wrong": [tally.wrong for tally in tallies],
            "reviewed": [tally.reviewed for tally in tallies],
            "forced": {"cells": forced, "of": [forced.index(tally.forced) for tally in tallies]},
            "ranges": [[*r.wrong, *r.reviewed, *r.forced_wrong] for r in self.ranges],
            "matrix": [tally.matrix for tally in tallies],
            "errors": None if len(self.classes) > MAX_EXPECTED else [t.errors for t in tallies],
            "accuracy": [[_or_none(value) for value in tally.accuracy] for tally in tallies],
            "rivals": [np.round(rival.curve, 6).tolist() for rival in self.rivals],
            "budget": {
                "steps": steps(self.n),
                "curves": curves,  # points of one model share theirs
                "curve": [curves.index(tally.errors_left) for tally in tallies],
            },
            "expected": [tally.expected for tally in tallies] if known else None,
            "queues": [queue._asdict() for queue in queues],
            "queue": [queues.index(tally.queue) for tally in tallies],
            "tenthSizes": tenth_sizes(self.n),
            "histogram": None if self.histogram is None else self.histogram._asdict(),
            "kinds": [[k.reviewed for k in t.kinds] for t in tallies] if self.kinds else None,
            "groups": [
                {
                    "name": column.name,
                    "compared": column.compared,
                    "groups": [group._asdict() for group in column.groups],
                }
                for column in self.columns
            ],
            "gapQuantiles": gap_quantiles(
                max((len(column.groups) for column in self.columns), default=0), self.confidence
            ),
        }


def make_report(
    outcomes: Sequence[OutOfFold],
    y: ArrayLike,
    classes: Sequence[Any],
    *,
    chosen: int,
    axis: Axis = "reject_cost",
    size: float | None = None,
    ordered: bool = True,
    prices: ArrayLike | None = None,
    by: Mapping[str, NDArray[Any]] | None = None,
    rivals: Sequence[Mapping[str, Any]] = (),
    tried: Sequence[Mapping[str, Any]] = (),
    promises: Sequence[Any] = (),
    sent_to_review: Sequence[Any] = (),
    doubtful: Sequence[Any] = (),
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
        chosen point.  What a review is worth in the ``outcomes`` is in their unit.
    by : dict of {column: array of shape (n_samples,)}, default=None
        Columns, such as the region, whose values are reported on separately.
    rivals : sequence of dict, default=()
        Rows with the keys ``method``, ``reject_cost``, ``R`` and ``E``, as those of a
        :class:`~rejo.selection.Comparison`.
    tried : sequence of dict, default=()
        Candidates that were compared, with the keys ``method``, ``cost`` (mean of a case, out of
        fold, in the unit of the prices), ``error`` (its standard error, or None) and ``chosen``.
        The chosen one may have ``why``, such as "is simpler", for where another costs less.
    promises : sequence of Guarantee, str or dict, default=()
        What is promised of the chosen point, such as ``model.guarantees_``.  A dict has a sentence
        under ``promise`` and may have one under ``assumption``; with ``by`` ("class", "decision" or
        "group"), ``value``, ``target``, ``bound`` and ``n_cases``, several become a table.
    sent_to_review : sequence of str, default=()
        Groups without a promise, all of whose cases go to review, such as
        ``model.policy_.reviewed``.
    doubtful : sequence of dict or named tuple, default=()
        Features that make cases doubtful, with ``feature`` and ``share`` (of the ambiguous reviews
        that have it among their strongest pulls), as by
        :func:`~rejo.explain.doubtful_features`; optional are ``where``, ``cases``,
        ``reviewed`` and ``usual``.
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
    rejo.selection.ranking_outcomes : Outcomes of new cases, for several shares of reviews.

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
    >>> report.numbers(report.setting)["headline"]
    'Of 1,000 cases, ... are decided automatically, about ... of them wrong (...); ... review.'
    >>> render(report)[:15]
    '<!doctype html>'
    """
    by = by or {}
    true = check_cases(outcomes, y, len(classes), axis, by)
    n = len(true)
    if not 0 <= chosen < len(outcomes):
        raise ValueError(f"chosen must be from 0 to {len(outcomes) - 1}; got {chosen!r}.")
    if axis == "review_share":
        order = np.argsort([np.sum(point.decision < 0) for point in outcomes], kind="stable")
        outcomes, chosen = [outcomes[i] for i in order], order.tolist().index(chosen)
    if size is not None and not (size > 0 and isfinite(size)):
        raise ValueError(f"size must be a positive number; got {size!r}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1; got {confidence!r}.")
    worth = 1.0 if size is None else float(size) / n
    K, layout = len(classes), layout_of(outcomes, len(classes), ordered)
    if prices is None:
        cost = outcomes[chosen].reject_cost
        prices = 1.0, ANY_COST if isnan(cost) else cost
    checked = check_prices(
        prices if layout.wide else _by_class(prices, outcomes[chosen], true, K), K, layout.n_prices
    )
    prevented = _prevented(outcomes[chosen], true, np.array(checked), layout)
    likely = None
    if outcomes[0].p is not None:  # the same at all points
        likely = likely_classes(replace(outcomes[0], y=true), worth * n)
    tallies = [
        count_point(point, true, layout, K, worth, confidence, prevented, likely)
        for point in outcomes
    ]
    columns, left_out = group_columns(outcomes, true, by)
    return Report(
        tallies=tallies,
        ranges=[predict_ranges(found, worth * n, confidence) for found in tallies],
        classes=[clean(label) for label in classes],
        chosen=int(chosen),
        axis=axis,
        size=worth * n,
        n_models=len(np.unique(outcomes[0].fold)),
        layout=layout,
        prices=checked,
        confidence=float(confidence),
        histogram=histogram(outcomes, true, len(classes)),
        columns=columns,
        left_out=left_out,
        rivals=rival_curves(rivals),
        tried=read_tried(tried, _prices.highest_error(checked)),
        promises=read_promises(promises, sent_to_review),
        doubtful=read_doubtful(doubtful),
        title=clean(title, None),
        notes=[clean(note, None) for note in notes],
        provenance=[(clean(k, None), clean(v, None)) for k, v in provenance.items()],
        command=clean(command, None),
    )


def _prevented(own: OutOfFold, y: Indices, prices: Floats, layout: OutcomeLayout) -> Floats | None:
    """What the error of each case is expected to cost: its review prevents it, for its own price.

    Nobody knows what to expect of a novel case: what would have happened stands in for it.
    """
    if own.worth is None:
        return None
    expected = own.worth + prices[y, -1]
    if own.kind is None:
        return expected
    seen = prices[y, layout.price_column(own.forced, y)]
    return np.where(own.kind == AMBIGUOUS, expected, seen)


def _by_class(
    prices: ArrayLike, outcomes: OutOfFold, y: NDArray[np.intp], n_classes: int
) -> ArrayLike:
    """Prices (n_classes, 3) of a right decision, of a wrong one and of a review.

    The price of an error is the mean over the wrong decisions of a class, or over all if there are
    none.
    """
    given = np.asarray(prices, dtype=np.float64)
    if given.shape != (n_classes, n_classes + 1):
        return given
    wrong = outcomes.forced != y
    n = np.bincount(y[wrong], minlength=n_classes)
    paid = np.bincount(y[wrong], given[y[wrong], outcomes.forced[wrong]], minlength=n_classes)
    mean = given[:, :-1].sum(axis=1) / (n_classes - 1)
    error = np.where(n > 0, paid / np.maximum(n, 1), mean)
    error = np.array([float(f"{price:.4g}") for price in error])  # as a field can show it
    return np.stack([np.diag(given), error, given[:, -1]], axis=1)


def _or_none(value: float) -> float | None:
    return None if isnan(value) else round(value, 6)
