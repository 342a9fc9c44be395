"""What a comparison of methods says: means, paired differences, a verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from rejo._html import table_html
from rejo._typing import Floats
from rejo.tables import import_pandas

MEASURES = ("R", "E", "risk", "accepted_accuracy", "crossing_rate", "fit_seconds")
REVIEW_ALL, DECIDE_ALL = "review everything", "decide everything"

Row = dict[str, Any]


class Difference(NamedTuple):
    """How a method differs from the reference at one reject cost, by :func:`corrected_t_test`."""

    method: str
    reject_cost: float | None  # None at prices that differ between classes
    difference: float  # mean of method - reference; negative if the method has the lower value
    low: float  # limits of its confidence interval
    high: float
    p_value: float  # probability of such a difference, or a larger one, if there is none


@dataclass(repr=False, eq=False)
class Comparison:
    """The rows of a comparison, and what they say.

    Parameters
    ----------
    rows : list of dict
        One for each method, reject cost and fold, with the keys ``method``, ``reject_cost``
        (``None`` at prices that differ between classes), ``fold``, ``R`` (rejection rate), ``E``
        (error rate, of all points), ``risk`` (``reject_cost * R + E``, or the mean cost of a
        case), ``accepted_accuracy``, ``crossing_rate`` (share of the points where boundaries
        cross), ``fit_seconds``, ``tune_seconds``, ``n_train``, ``n_test`` and ``params``.
    reference : str
        The method that the others are compared with.
    baselines : list of dict
        The same for "review everything", and for "decide everything" by the method that costs
        least without reviews, which is in ``params``.
    prices : ndarray of shape (n_classes, n_classes + 1) or None
        Prices of each decision and, last, of a review, for each true class.
    left_out : dict of {method: reason}
        Methods that could not be trained for the prices.
    """

    rows: list[Row]
    reference: str
    baselines: list[Row] = field(default_factory=list)
    prices: Floats | None = None
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def methods(self) -> list[str]:
        """Names of the methods, in the order given."""
        return list(dict.fromkeys(row["method"] for row in self.rows))

    @property
    def reject_costs(self) -> list[Any]:
        """Reject costs, ascending; ``[None]`` at prices that differ between classes."""
        return sorted({row["reject_cost"] for row in self.rows})

    def to_frame(self) -> Any:
        """Rows of the methods as a pandas DataFrame."""
        return import_pandas("to_frame").DataFrame(self.rows)

    def values(self, method: str, reject_cost: float | None, measure: str = "risk") -> NDArray[Any]:
        """Return a measure of a method, or a baseline, at a reject cost, one value per fold."""
        if measure not in MEASURES:
            raise ValueError(f"measure={measure!r} must be one of {', '.join(MEASURES)}.")
        found = {
            row["fold"]: row[measure]
            for row in [*self.rows, *self.baselines]
            if row["method"] == method and row["reject_cost"] == reject_cost
        }
        if not found:
            raise ValueError(
                f"there are no rows of method={method!r} at reject_cost={reject_cost!r}; methods: "
                f"{self.methods}, reject costs: {self.reject_costs}."
            )
        return np.array([found[fold] for fold in sorted(found)])

    def mean(self, measure: str = "risk") -> dict[str, list[float]]:
        """Mean of a measure over the folds, at each reject cost, by method or baseline."""
        return {
            method: [float(self.values(method, w, measure).mean()) for w in self.reject_costs]
            for method in self._entries
        }

    def differences(
        self, measure: str = "risk", *, reference: str | None = None, confidence: float = 0.95
    ) -> list[Difference]:
        """Compare every method, and the baselines, with the reference, on the same folds.

        Parameters
        ----------
        measure : str, default="risk"
        reference : str, default=None
            A method or a baseline; by default the reference of the comparison.
        confidence : float, default=0.95
            Probability that an interval contains the true difference; it is not corrected for
            comparing many methods and reject costs.

        Returns
        -------
        differences : list of Difference
            By :func:`corrected_t_test`; with NaN where the measure is undefined on a fold.
        """
        reference = self.reference if reference is None else reference
        if not 0 < confidence < 1:
            raise ValueError(f"confidence={confidence!r} must lie between 0 and 1.")
        found = []
        for method in self._entries:
            if method == reference:
                continue
            for w in self.reject_costs:
                d = self.values(method, w, measure) - self.values(reference, w, measure)
                d = np.round(d, 12)  # differences in the last digit do not count
                found.append(Difference(method, w, *corrected_t_test(d, self._ratio, confidence)))
        return found

    def verdict(self) -> str:
        """Say which method costs least, whether that may be chance, and if reviews cost less."""
        means = {name: float(np.mean(risks)) for name, risks in self.mean().items()}
        methods = sorted(self.methods, key=lambda name: means[name])
        costs = {name: means[name] for name in methods}
        best, *others = methods
        places = self._places
        said = [f"Lowest mean cost of a case: {best}, {means[best]:.{places}f}."]
        level = [name for name in others if self._least_excess(name, best) <= 0]
        if level and level == others:
            said.append("That may be chance: no other method costs significantly more.")
        elif level:
            do = "do" if len(level) > 1 else "does"
            said.append(f"That may be chance: {_and(level)} {do} not cost significantly more.")
        elif others:
            said.append("All others cost significantly more.")
        if self.baselines:
            review, decide = means[REVIEW_ALL], means[DECIDE_ALL]
            by = next(r["params"]["method"] for r in self.baselines if r["method"] == DECIDE_ALL)
            said.append(f"Reviewing everything costs {review:.{places}f}, {_than(review, costs)}.")
            said.append(
                f"Deciding everything (by {by}) costs {decide:.{places}f}, {_than(decide, costs)}."
            )
        return " ".join(said)

    def __str__(self) -> str:
        """Mean risk of the methods, with ``*`` where it differs from that of the reference."""
        found = self._cells()
        width = max(map(len, ("reject_cost", *found)))
        first = "reject_cost" if self.prices is None else ""
        heads = ["cost"] if self.prices is not None else [f"{w:.3g}" for w in self.reject_costs]
        lines = [self._title, f"{first:<{width}}" + "".join(f"{head:>9} " for head in heads)]
        for method, cells in found.items():
            lines.append(f"{method:<{width}}" + "".join(f"{cell:>10}" for cell in cells))
        return "\n".join(line.rstrip() for line in [*lines, *self._missing()])

    def _repr_html_(self) -> str:
        found = self._cells()
        heads = [f"{w:g}" for w in self.reject_costs] if self.prices is None else ["cost"]
        costs = zip(heads, zip(*found.values(), strict=True), strict=True)
        first = "reject_cost" if self.prices is None else "method"
        notes = [*self._missing(), self.verdict()]
        return table_html(self._title, {first: list(found), **dict(costs)}, notes=notes)

    def __repr__(self) -> str:
        return (
            f"<Comparison of {len(self.methods)} methods at {len(self.reject_costs)} reject costs, "
            f"{len(self.rows)} rows; print() shows the risks, to_frame() gives the rows>"
        )

    @property
    def _title(self) -> str:
        what = "risk" if self.prices is None else "cost of a case"
        folds = len({row["fold"] for row in self.rows})
        return (
            f"Mean {what} over {folds} folds; * differs from {self.reference} "
            "(95 %, corrected resampled t-test)"
        )

    def _cells(self) -> dict[str, list[str]]:
        """Mean risks as texts; the last letter is a space, or ``*`` for a difference."""
        apart = {(d.method, d.reject_cost) for d in self.differences() if d.low > 0 or d.high < 0}
        return {
            method: [
                f"{value:.{self._places}f}{'*' if (method, w) in apart else ' '}"
                for w, value in zip(self.reject_costs, means, strict=True)
            ]
            for method, means in self.mean().items()
        }

    def _missing(self) -> list[str]:
        """Sentences about the methods that were left out."""
        by_reason: dict[str, list[str]] = {}
        for name, reason in self.left_out.items():
            by_reason.setdefault(reason, []).append(name)
        return [f"Left out ({why}): {', '.join(names)}" for why, names in by_reason.items()]

    @property
    def _entries(self) -> list[str]:
        """Names of the methods and the baselines."""
        return [*self.methods, *dict.fromkeys(row["method"] for row in self.baselines)]

    @property
    def _ratio(self) -> float:
        return float(np.mean([row["n_test"] / row["n_train"] for row in self.rows]))

    @property
    def _places(self) -> int:
        """Decimals to show: about four digits of an amount of money."""
        if self.prices is None:
            return 4
        least = min(float(np.mean(risks)) for risks in self.mean().values())
        return min(6, max(0, 3 - floor(log10(least)))) if least > 0 else 4

    def _least_excess(self, method: str, other: str) -> float:
        """How much more a method costs than another, over all reject costs, beyond chance."""
        gaps = np.array([self.values(method, w) - self.values(other, w) for w in self.reject_costs])
        return corrected_t_test(gaps.mean(axis=0).round(12), self._ratio, 0.95)[1]


def _than(baseline: float, costs: Mapping[str, float]) -> str:
    """Say which methods cost more than a baseline."""
    gaps = {name: round(cost - baseline, 12) for name, cost in costs.items()}
    more = [name for name, gap in gaps.items() if gap > 0]
    if len(more) == len(gaps):
        return "less than every method"
    if more:
        return f"less than {_and(more)}"
    return "more than every method" if max(gaps.values()) < 0 else "no less than any method"


def _and(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def corrected_t_test(
    differences: NDArray[np.float64], ratio: float, confidence: float
) -> tuple[float, float, float, float]:
    """Mean of paired differences over resamplings, its interval and its p-value.

    Training sets of resamplings overlap, so a plain t-test would find differences that are not
    there.  The variance of the mean of ``J`` differences is taken as ``(1 / J + ratio) s^2``, as
    :footcite:t:`nadeau2003` propose.

    Parameters
    ----------
    differences : ndarray of shape (n_resamplings,)
        Of two methods, on the same splits.
    ratio : float
        ``n_test / n_train``, such as 1 / 9 for ten folds.
    confidence : float
        Of the interval.

    Returns
    -------
    mean, low, high, p_value : float
        All are NaN if a difference is NaN.

    References
    ----------
    .. footbibliography::

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.selection import corrected_t_test
    >>> risks = np.array([0.11, 0.14, 0.12, 0.13, 0.10])  # of two methods, on the same folds
    >>> others = np.array([0.13, 0.15, 0.13, 0.17, 0.11])
    >>> mean, low, high, p_value = corrected_t_test(risks - others, ratio=1 / 4, confidence=0.95)
    >>> print(f"{mean:.3f} ({low:.3f} to {high:.3f}), p = {p_value:.2f}")
    -0.018 (-0.042 to 0.006), p = 0.11
    """
    J, mean = len(differences), float(differences.mean())
    if np.isnan(mean):  # the measure is undefined on a fold
        return mean, mean, mean, mean
    if J < 2:
        return mean, float("-inf"), float("inf"), 1.0
    scale = np.sqrt((1.0 / J + ratio) * differences.var(ddof=1))
    if not scale > 0:  # all differences are equal
        return mean, mean, mean, float(mean == 0)
    half = scale * student.ppf(0.5 + confidence / 2, J - 1)
    p_value = 2 * student.sf(abs(mean) / scale, J - 1)
    return mean, float(mean - half), float(mean + half), float(p_value)
