"""From the cases of an operating point to counts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo._typing import Floats, Indices
from rejo.estimators import AMBIGUOUS, REASONS
from rejo.metrics import tally, wilson_interval
from rejo.selection import OutOfFold, error_numbers

N_STEPS = 100  # of the curve over the review budget
N_TENTHS = 10
MAX_EXPECTED = 6  # classes: with more, a number for each kind of error would fill the page
MAX_DECISIONS = 20  # classes with a column each; with more, only right and wrong are told apart

Cells = tuple[float, ...]  # true class, column of the prices, number; and the next cell


class OutcomeLayout(NamedTuple):
    """Columns of the table of outcomes, and of the prices.

    The prices have a column for each decision and, last, one for the review.  With very many
    classes the decisions are only right or wrong: 0 or 1.
    """

    columns: tuple[int, ...]  # (n_outcomes,) the column of the prices that an outcome belongs to
    n_prices: int
    wide: bool  # a column for each decision
    between: bool  # reviews are told apart by the two neighbouring classes

    def right(self, k: int) -> int:
        """Column of the right decision for class ``k``."""
        return k if self.wide else 0

    def price_column(self, decision: Indices, y: Indices) -> Indices:
        """Column (n,) of the prices for each decision."""
        return decision if self.wide else np.asarray(decision != y, dtype=np.intp)

    def outcome(self, point: OutOfFold, y: Indices) -> Indices:
        """Column (n,) of the table of outcomes for each case."""
        out = point.decision < 0
        if self.between:
            return np.where(out, 2 * point.lower + 1, 2 * point.decision)
        return np.where(out, self.n_prices - 1, self.price_column(point.decision, y))


def layout_of(outcomes: Sequence[OutOfFold], n_classes: int, ordered: bool) -> OutcomeLayout:
    """Columns for the reviews between neighbours if all lie there, or else one column."""
    K = n_classes
    if K > MAX_DECISIONS:
        return OutcomeLayout((0, 1, 2), 3, wide=False, between=False)
    # A novel case is not between two classes.
    between = ordered and not any(map(other_reasons, outcomes))
    if between and (K == 2 or all(map(_between_neighbours, outcomes))):
        # class 0, between 0 and 1, class 1, and so on
        columns = tuple(K if o % 2 else o // 2 for o in range(2 * K - 1))
        return OutcomeLayout(columns, K + 1, wide=True, between=True)
    return OutcomeLayout(tuple(range(K + 1)), K + 1, wide=True, between=False)


def _between_neighbours(point: OutOfFold) -> bool:
    # By posteriors, without a score, the likeliest classes may be any two.
    return point.score is not None and point.worth is None


class Queue(NamedTuple):
    """The cases in the order of their review, in tenths."""

    wrong: tuple[Cells, ...]  # (N_TENTHS,) wrong decisions, if all are decided
    classes: tuple[tuple[int, ...], ...]  # (N_TENTHS, n_classes) cases of each true class
    expected: tuple[float, ...] | None  # (N_TENTHS,) what errors are expected to cost


class Kind(NamedTuple):
    """Reviews for one reason."""

    reviewed: int
    wrong: int  # if they were decided


class PointTally(NamedTuple):
    """Outcomes of the cases at one operating point."""

    cost: float  # of a review where an error costs 1; NaN for a mere share of the ranking
    right: int
    wrong: int
    reviewed: int
    forced_wrong: int  # if every case were decided
    reviewed_wrong: int  # wrong decisions that reviews prevent
    matrix: tuple[tuple[int, ...], ...]  # (n_classes, n_outcomes)
    errors: Cells  # wrong decisions to expect: of several models, also those that were not seen
    forced: Cells  # the same, if every case were decided
    accuracy: tuple[float, float, float]  # of the decided, with a band; NaN if there are none
    errors_left: tuple[int, ...]  # (N_STEPS + 1,): after the review of so many hundredths
    queue: Queue
    expected: float | None  # what the errors that reviews prevent are expected to cost
    kinds: tuple[Kind, ...]  # (3,) reviews by reason

    @property
    def n(self) -> int:
        """Number of cases."""
        return self.right + self.wrong + self.reviewed

    @property
    def decided(self) -> int:
        """Number of cases that are decided."""
        return self.right + self.wrong


def count_point(
    outcomes: OutOfFold,
    y: Indices,
    layout: OutcomeLayout,
    n_classes: int,
    worth: float,
    confidence: float,
    prevented: Floats | None = None,
    likely: Floats | None = None,
) -> PointTally:
    """Count the outcomes of the cases; in intervals, a case counts for ``worth`` independent ones.

    ``y`` (n_samples,) are the true classes, as indices.  ``prevented`` (n_samples,) is what a wrong
    decision of each case is expected to cost, in the unit of the prices, and ``likely``
    (n_samples, n_classes) the chance of each class.
    """
    counts = tally(outcomes.decision, y)
    n, reviewed = len(y), int(counts.rejected)
    # In the order of their review: the reviewed first, then the least sure.
    order = np.argsort(-outcomes.doubt, kind="stable")
    wrong = outcomes.forced != y
    found = np.concatenate([[0], np.cumsum(wrong[order])])  # by the first k reviews, if right
    shape = n_classes, len(layout.columns)
    matrix = np.bincount(y * shape[1] + layout.outcome(outcomes, y), minlength=shape[0] * shape[1])
    column = layout.price_column(outcomes.forced, y)
    tenth = np.empty(n, dtype=np.intp)
    tenth[order] = np.repeat(np.arange(N_TENTHS), tenth_sizes(n))
    return PointTally(
        cost=float(outcomes.reject_cost),
        right=int(counts.right),
        wrong=int(counts.wrong),
        reviewed=reviewed,
        forced_wrong=int(found[-1]),
        reviewed_wrong=int(found[reviewed]),
        matrix=_rows(matrix.reshape(shape)),
        errors=_errors(outcomes, y, layout, n_classes, worth, likely),
        forced=_errors(outcomes.all_decided(), y, layout, n_classes, worth, likely),
        accuracy=_accuracy(outcomes, y, worth, confidence),
        errors_left=tuple((found[-1] - found[steps(n)]).tolist()),
        queue=_queue(tenth, y, wrong, column, layout, n_classes, prevented),
        expected=None if prevented is None else float(prevented[outcomes.decision < 0].sum()),
        kinds=_kinds(outcomes, wrong),
    )


def _kinds(outcomes: OutOfFold, wrong: NDArray[np.bool_]) -> tuple[Kind, ...]:
    kind: Any = AMBIGUOUS if outcomes.kind is None else outcomes.kind
    out = [(outcomes.decision < 0) & (kind == k) for k in range(len(REASONS))]
    return tuple(Kind(int(cases.sum()), int(wrong[cases].sum())) for cases in out)


def other_reasons(outcomes: OutOfFold) -> bool:
    """Whether some cases are reviewed because they are novel, or by a rule."""
    return outcomes.kind is not None and bool((outcomes.kind != AMBIGUOUS).any())


def _queue(
    tenth: Indices,
    y: Indices,
    wrong: NDArray[np.bool_],
    column: Indices,
    layout: OutcomeLayout,
    n_classes: int,
    prevented: Floats | None,
) -> Queue:
    classes = np.bincount(tenth * n_classes + y, minlength=N_TENTHS * n_classes)
    in_tenths = [wrong & (tenth == t) for t in range(N_TENTHS)]
    expected = None
    if prevented is not None:
        expected = tuple(np.bincount(tenth, weights=prevented, minlength=N_TENTHS).tolist())
    return Queue(
        wrong=tuple(_cells(y[here], column[here], layout) for here in in_tenths),
        classes=_rows(classes.reshape(N_TENTHS, n_classes)),
        expected=expected,
    )


def _errors(
    outcomes: OutOfFold, y: Indices, layout: OutcomeLayout, n_classes: int, worth: float,
    likely: Floats | None,
) -> Cells:  # fmt: skip
    """Wrong decisions: counted if one model made them, else those to expect of a model."""
    if outcomes.fold.min() == outcomes.fold.max() or n_classes > MAX_EXPECTED:
        wrong = (outcomes.decision >= 0) & (outcomes.decision != y)
        return _cells(y[wrong], layout.price_column(outcomes.decision, y)[wrong], layout)
    found = error_numbers(replace(outcomes, y=y), n_classes, worth * len(y), likely=likely)
    numbers = np.round(found.number / worth, 6)
    k, c = np.nonzero(numbers)
    return tuple(np.column_stack([k, c, numbers[k, c]]).ravel().tolist())


def _cells(y: Indices, column: Indices, layout: OutcomeLayout) -> Cells:
    codes, counts = np.unique(y * layout.n_prices + column, return_counts=True)
    k, c = np.divmod(codes, layout.n_prices)
    return tuple(np.stack([k, c, counts], axis=1).ravel().tolist())


def _rows(table: NDArray[np.intp]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, table.tolist()))


def steps(n: int) -> list[int]:
    """Number of reviews at each hundredth of the cases (N_STEPS + 1,)."""
    return [(2 * n * i + N_STEPS) // (2 * N_STEPS) for i in range(N_STEPS + 1)]


def tenth_sizes(n: int) -> list[int]:
    """Number of cases in each tenth of the ranking (N_TENTHS,)."""
    edges = [n * i // N_TENTHS for i in range(N_TENTHS + 1)]
    return [int(size) for size in np.diff(edges)]


def _accuracy(
    outcomes: OutOfFold, y: Indices, worth: float, confidence: float
) -> tuple[float, float, float]:
    """Share of right decisions among the decided, plus and minus a deviation over the folds.

    One model alone has no such deviation; it has Wilson's interval.
    """
    counts = tally(outcomes.decision, y)
    right, decided = int(counts.right), int(counts.decided)
    if decided == 0:
        return (np.nan,) * 3
    if outcomes.fold.min() == outcomes.fold.max():
        return wilson_interval(right, decided, confidence, n_effective=decided * worth)
    in_folds = tally(outcomes.decision, y, fold=outcomes.fold).accepted_accuracy
    accuracy, spread = float(counts.accepted_accuracy), float(np.nanstd(in_folds))
    return accuracy, max(accuracy - spread, 0.0), min(accuracy + spread, 1.0)


def check_cases(
    outcomes: Sequence[OutOfFold], y: ArrayLike, n_classes: int, axis: str, by: Mapping[str, Any]
) -> NDArray[np.intp]:
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
    if point.kind is None:
        return
    kind = np.asarray(point.kind)
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
