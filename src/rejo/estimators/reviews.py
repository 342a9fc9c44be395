"""What a classifier makes of cases, and the order in which to review them."""

from inspect import signature
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rejo._frames import frame_like, take_rows
from rejo._typing import Floats, Indices

# Why a case goes to review: it is between classes; it is unlike the training cases; or a rule says
# so, whatever the model makes of it, as for a group without a promise; or the amounts that its
# prices are made of are missing or cannot be.
REASONS = ("ambiguous", "novel", "policy", "no price")
AMBIGUOUS, NOVEL, POLICY, NO_PRICE = range(4)


class Judgement(NamedTuple):
    """What a classifier makes of each of ``n`` points; classes as indices into ``classes_``.

    A point whose score is not a number is rejected; its ``distance`` is NaN.
    """

    decision: Indices  # (n,) -1: rejected
    forced: Indices  # (n,) decision without rejection
    lower: Indices  # (n,) the two classes it lies between, or that are
    upper: Indices  # (n,) on the two sides of the nearest boundary
    distance: Floats  # (n,) to the nearest boundary of the decision, in units of its score
    sureness: Floats  # (n,) non-negative, lowest for the point most worth a review
    worth: Floats | None = None  # (n,) what a review is expected to save, if it is known
    chance: Floats | None = None  # (n,) probability that ``forced`` is wrong, if it is known
    kind: NDArray[np.int8] | None = None  # (n,) why it is, or would be, rejected, as an index into
    # REASONS; None: all ambiguous


def judged(model: Any, X: Any, group: Any = None, prices: Any = None) -> Judgement:
    """Judge points that may belong to groups and have prices, if the model knows any."""
    given = {"group": group, "prices": prices}
    given = {name: values for name, values in given.items() if values is not None}
    for name in given:
        if name not in signature(model.judge).parameters:
            knows, other = {
                "group": ("knows no groups", "fit a RejectClassifierCV with group"),
                "prices": ("decides without prices", "take one that decides by posteriors"),
            }[name]
            raise TypeError(f"{type(model).__name__} {knows}: leave {name} out, or {other}.")
    return model.judge(X, **given)


def decided(model: Any, X: Any, group: Any = None, prices: Any = None) -> Indices:
    """Decide the same points (n,), which may take less."""
    if group is None and prices is None:
        return model._decide(X)
    return judged(model, X, group, prices).decision


class UnknownScoreError(ValueError):
    """The scores of some of the cases are not numbers: these are ``rows``."""

    def __init__(self, rows: Indices, n_cases: int) -> None:
        super().__init__(
            f"the scores of {len(rows)} of {n_cases} cases are not numbers, so these cannot be "
            f"decided without a rejection; the first is row {rows[0]}. Check the values of these "
            "cases, and scale features that are very large."
        )
        self.rows = rows


def refuse_unknown(unknown: NDArray[np.bool_]) -> None:
    """Refuse to decide points (n, ...) whose scores are not numbers."""
    if unknown.any():
        raise UnknownScoreError(np.unique(np.nonzero(unknown)[0]), len(unknown))


def audited(judgement: Judgement, share: float | None, random_state: Any = None) -> Judgement:
    """Send a random share of the decided points to review, by a rule."""
    if share is None:
        return judgement
    if not (isinstance(share, Real) and not isinstance(share, bool) and 0 <= share <= 1):
        raise ValueError(f"audit must be a share of the points, such as 0.01; got {share!r}.")
    n = len(judgement.decision)
    drawn = check_random_state(random_state).uniform(size=n) < float(share)
    drawn &= judgement.decision >= 0
    kind = np.zeros(n, np.int8) if judgement.kind is None else judgement.kind
    return judgement._replace(
        decision=np.where(drawn, -1, judgement.decision),
        kind=np.where(drawn, np.int8(POLICY), kind),
    )


def must_review(judgement: Judgement) -> NDArray[np.bool_]:
    """Return which points (n,) are rejected whatever a review of them costs or is worth."""
    if judgement.kind is None:
        return np.zeros(len(judgement.decision), dtype=bool)
    return judgement.kind != AMBIGUOUS


def _doubt(judgement: Judgement) -> Floats:
    """What to sort by, (n,), for the points most worth a review to come first."""
    doubt = judgement.sureness if judgement.worth is None else -judgement.worth
    return np.where(must_review(judgement), -np.inf, doubt)


def _capacity(capacity: Any, n: int) -> int:
    """Turn a number of points, or a fraction of ``n`` of them, into a number."""
    if not isinstance(capacity, bool):
        if isinstance(capacity, Integral) and int(capacity) >= 0:
            return int(capacity)
        if isinstance(capacity, Real) and 0 <= float(capacity) < 1:
            return int(float(capacity) * n + 1e-9)  # 0.29 x 100 is 29, also in floats
    raise ValueError(
        f"capacity={capacity!r} must be a number of points, such as 50, or a fraction below 1, "
        "such as 0.1."
    )


def queue_frame(
    classifier: Any, X: Any, judgement: Judgement, capacity: float | None, fill: bool
) -> Any:
    """The rows of a review that are most worth it, best first."""
    n = len(judgement.decision)
    rejected = judgement.decision < 0
    size = n if fill else int(rejected.sum())
    if capacity is not None:
        size = min(size, _capacity(capacity, n))
    # Rejected points first, then by worth; a stable sort leaves equal ones in their order.
    order = np.lexsort((_doubt(judgement), ~rejected))
    return take_rows(review_frame(classifier, X, judgement), order[:size])


def review_frame(classifier: Any, X: Any, judgement: Judgement) -> Any:
    """All cases in their order, with decisions, reasons and ranks."""
    rejected, classes = judgement.decision < 0, classifier.classes_
    order = np.flatnonzero(rejected)
    order = order[np.argsort(_doubt(judgement)[order], kind="stable")]
    rank = np.ma.masked_all(len(rejected), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    kind: Any = AMBIGUOUS if judgement.kind is None else judgement.kind
    reasons = np.array([*REASONS, None], dtype=object)
    columns = {
        "decision": classifier.outputs()[judgement.decision],
        "reason": reasons[np.where(rejected, kind, -1)],
        "forced": classes[judgement.forced],
        "chance_wrong": judgement.chance,
        "lower": classes[judgement.lower],
        "upper": classes[judgement.upper],
        "distance": judgement.distance,
        "worth": judgement.worth,
        "rank": rank,
    }
    return frame_like(X, {name: c for name, c in columns.items() if c is not None})
