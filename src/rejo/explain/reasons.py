"""Why a case is in doubt: the features that pull it to either side."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._frames import frame_like, take_rows, with_column
from rejo._typing import Floats, Indices
from rejo.estimators import AMBIGUOUS, Judgement, final_classifier, judge
from rejo.explain.features import (
    NumericCases,
    WhyError,
    as_numbers,
    as_table,
    filled,
    traced,
    values_of,
)
from rejo.explain.insides import booster_pulls, insides, linear_coef, pair_scores, through, trees_of
from rejo.explain.replacement import linear_pulls, replacement_pulls, summed_by
from rejo.explain.trees import n_steps, tree_pulls, walk_pulls
from rejo.explain.words import is_missing, most_reviewed, said, standing_out, top_shares
from rejo.typical import Typical

__all__ = ["DoubtfulFeature", "Pulls", "WhyError", "doubtful_features", "pulls", "why"]


STRONGEST = 3  # pulls of a case that count for the share of a feature
MOST_STEPS = 400_000  # to all leaves of all trees, for exact pulls: 0.1 seconds a case


class Pulls(NamedTuple):
    """What pulls cases to the lower or to the upper of the two classes they lie between.

    Attributes
    ----------
    rows : ndarray of int of shape (n_cases,)
        Positions of the cases.
    features : list of str
        Names of the features.
    values : ndarray of shape (n_cases, n_features)
        Pulls, in units of the score; positive: towards the upper class.
    lower, upper : ndarray of int of shape (n_cases,)
        The two classes, as indices into ``classes_``.
    way : str
        How they were found: "linear", "trees" or "replacement"; "" if there are no cases.
    """

    rows: Indices
    features: list[str]
    values: Floats
    lower: Indices
    upper: Indices
    way: str


class DoubtfulFeature(NamedTuple):
    """How much a feature has to do with reviews.

    Attributes
    ----------
    feature : str
        Its name.
    share : float
        Share of the reviewed cases that have it among their three strongest pulls.
    pull : float
        Its share of all pulls; 1 in total.
    where : str
        The values with most reviews, such as "36 to 72"; "" if none stand out.
    cases : int
        Number of cases there.
    reviewed : float
        Share of these that is reviewed.
    usual : float
        Share of all cases that is reviewed.
    """

    feature: str
    share: float
    pull: float
    where: str
    cases: int
    reviewed: float
    usual: float


def why(
    model: Any,
    X: Any,
    *,
    background: Any = None,
    top: int = 3,
    rows: Any = None,
    group: Any = None,
    words: Mapping[str, Sequence[str]] | None = None,
) -> Any:
    """Return, for each case in doubt, the features that pull it to either side.

    A pull is what a feature adds to the score of one class against the other, compared with typical
    cases :footcite:p:`strumbelj2014,lundberg2020`.  It explains the model, not the world: a feature
    that pulls need not be a cause.

    Parameters
    ----------
    model : RejectClassifier, Pipeline or search
        Fitted, as for :func:`rejo.review`.
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Cases, as the model takes them.
    background : as X, default=None
        Some hundreds of training cases to compare with.  The trees of a :class:`~rejo.RejoBoost`,
        of XGBoost and of LightGBM need none, and a :class:`~rejo.RejectClassifierCV` knows what is
        typical from its ``fit``.
    top : int, default=3
        Most features to name on each side.  Those with less than a twentieth of the strongest pull
        are not named.
    rows : array-like of int, default=None
        Positions of the cases to explain.  ``None``: those that are reviewed as ambiguous.
    group : array-like of shape (n_samples,), default=None
        As in :func:`rejo.review`.
    words : dict of str to (str, str), default=None
        For features, a sentence to say instead if their value is low, and one if it is high,
        compared with the middle of training or of ``background``; ``{value}`` in it is the value.
        Of a feature of words, one that is not empty is said, whatever the word.

    Returns
    -------
    frame : DataFrame
        A row for each of these cases, of the kind that ``X`` is; with the index of a frame of
        pandas, or else the positions.

        - ``lower``, ``upper``: the two classes;
        - ``towards_lower``, ``towards_upper``: features and their values, the strongest first;
        - ``why``: both in one text, ``"bad: duration 48, amount 9131 | good: age 51"``; for a case
          that is decided, what pulls it to its decision.

    Examples
    --------
    >>> import pandas as pd
    >>> import rejo
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = pd.DataFrame({
    ...     "debt": [1, 2, 3, 4, 5, 6, 7, 8], "age": [30, 50, 40, 30, 60, 40, 30, 50]
    ... })
    >>> y = ["good", "good", "good", "bad", "good", "bad", "bad", "bad"]
    >>> model = rejo.ThresholdRejectClassifier(LogisticRegression()).fit(X, y)
    >>> new = pd.DataFrame({"debt": [7, 1], "age": [58, 40]})
    >>> rejo.why(model, new, background=X)["why"].tolist()
    ['bad: debt 7 | good: age 58']

    What to tell who is turned down:

    >>> new = pd.DataFrame({"debt": [8], "age": [38]})
    >>> words = {"debt": ("", "Your debt of {value} is high."), "age": ("You are young.", "")}
    >>> rejo.why(model, new, background=X, rows=[0], words=words)["why"].tolist()
    ['Your debt of 8 is high. You are young.']
    """
    judgement, table = judge(model, X, group=group), as_table(X)
    found, seen = _pulls_of(model, table, judgement, rows, background)
    decision = judgement.decision[found.rows]
    middle = None if words is None or seen is None else _middles(seen, words, background)
    columns = _in_words(model, table, found, seen, top, decision, words, middle)
    return frame_like(X, columns, found.rows)


def pulls(
    model: Any, X: Any, *, background: Any = None, rows: Any = None, group: Any = None
) -> Pulls:
    """Return the same as :func:`rejo.why` as arrays: the pull of every feature.

    They are exact Shapley values of linear scores, and of such trees up to a size.  For any other
    model each feature is replaced by typical values, in the case, and put into typical cases.

    Parameters
    ----------
    model, X, background, rows, group
        As in :func:`rejo.why`.

    Returns
    -------
    pulls : Pulls
        Named tuple of arrays, with a row for each case.

    Examples
    --------
    The first feature pulls up.  The second one is the mean of the background, and does not pull:

    >>> import numpy as np
    >>> from rejo import RejoLinear
    >>> from rejo.explain import pulls
    >>> X = np.array([[1, 30], [2, 50], [3, 40], [4, 30], [5, 60], [6, 40], [7, 30], [8, 50]])
    >>> model = RejoLinear().fit(X, [0, 0, 0, 1, 0, 1, 1, 1])
    >>> pulls(model, [[8, 41.25]], background=X, rows=[0]).values.round(1)
    array([[4., 0.]])
    """
    X = as_table(X)
    return _pulls_of(model, X, judge(model, X, group=group), rows, background)[0]


def add_why(frame: Any, model: Any, X: Any, judgement: Judgement, top: Any, background: Any) -> Any:
    """Add the column ``why`` to the frame of a review; ``None`` for cases that are not in doubt."""
    X = as_table(X)
    found, seen = _pulls_of(model, X, judgement, None, background)
    words = np.full(len(frame), None, dtype=object)
    top, decision = 3 if top is True else top, judgement.decision[found.rows]
    words[found.rows] = _in_words(model, X, found, seen, top, decision)["why"]
    return with_column(frame, "why", words)


def doubtful_features(
    model: Any,
    X: Any,
    *,
    reviewed: Any = None,
    decided: Any = None,
    background: Any = None,
    most: int = 300,
    group: Any = None,
) -> list[DoubtfulFeature]:
    """Return what makes cases doubtful: the features by their pull on reviewed cases.

    Parameters
    ----------
    model, X
        As in :func:`rejo.why`.
    reviewed : array-like of bool of shape (n_samples,), default=None
        Cases that were reviewed.  ``None``: those that the model would send to review in doubt.
    decided : label of a class, default=None
        Instead of reviews, explain the cases that the model decides as this class, by what pulls
        them to it; ``where`` is then where most cases are decided so, and ``reviewed`` how many.
    background : as X, default=None
        As in :func:`rejo.why`.
    most : int, default=300
        Number of reviewed cases to explain at most; a random sample, always the same.
    group : array-like of shape (n_samples,), default=None
        As in :func:`rejo.why`.

    Returns
    -------
    features : list of DoubtfulFeature
        Those with the strongest pull first; empty if no case is reviewed.

    Examples
    --------
    The class depends on the debt alone, and is in doubt where the debt is about 5:

    >>> import numpy as np
    >>> import pandas as pd
    >>> from rejo import RejoLinear
    >>> from rejo.explain import doubtful_features
    >>> random = np.random.RandomState(0)
    >>> X = pd.DataFrame({"debt": random.uniform(0, 10, 300), "age": random.uniform(20, 60, 300)})
    >>> model = RejoLinear().fit(X, X["debt"] + random.normal(size=300) > 5)
    >>> first = doubtful_features(model, X, background=X)[0]
    >>> first.feature, first.where
    ('debt', '2.49 to 5.22')
    """
    X = as_table(X)
    judgement = judge(model, X, group=group)
    if decided is not None:
        reviewed = judgement.decision == final_classifier(model).classes_.tolist().index(decided)
    elif reviewed is None:
        reviewed = _in_doubt(judgement)
    reviewed = np.asarray(reviewed, dtype=bool)
    rows = np.flatnonzero(reviewed)
    if not len(rows):
        return []
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    found, seen = _pulls_of(model, X, judgement, rows, background)
    pulled = found.values
    if decided is not None:
        up = judgement.decision[rows] == found.upper
        pulled = np.maximum(np.where(up[:, None], pulled, -pulled), 0.0)
    shares, pull = top_shares(pulled, STRONGEST)
    if seen is None or seen.source is None:  # the features are not columns of the table
        seen = as_numbers(insides(model), X)
    usual = float(reviewed.mean())
    return [
        DoubtfulFeature(
            found.features[j], float(shares[j]), float(pull[j]),
            *most_reviewed(values_of(seen, X, int(j)), reviewed), usual,
        )
        for j in np.argsort(-pull, kind="stable")
    ]  # fmt: skip


def _in_doubt(judgement: Judgement) -> Any:
    """Return which cases (n,) are reviewed because they lie between classes."""
    rejected = judgement.decision < 0
    return rejected if judgement.kind is None else rejected & (judgement.kind == AMBIGUOUS)


def _pulls_of(
    model: Any, X: Any, judgement: Judgement, rows: Any, background: Any
) -> tuple[Pulls, NumericCases | None]:
    """Pulls of some cases, and these as numbers; ``None`` if there are no cases."""
    n = len(judgement.decision)
    rows = np.flatnonzero(_in_doubt(judgement)) if rows is None else _positions(rows, n)
    lower, upper, decision = (
        getattr(judgement, name)[rows] for name in ("lower", "upper", "decision")
    )
    # By their prices a case may get a class that is not one of the two likeliest.
    other = (decision >= 0) & (decision != lower) & (decision != upper)
    upper = np.where(other, np.maximum(lower, decision), upper)
    lower = np.where(other, np.minimum(lower, decision), lower)
    if not len(rows):
        return Pulls(rows, [], np.empty((0, 0)), lower, upper, ""), None
    parts = insides(model)
    if getattr(parts.scorer, "kernel", None) == "precomputed":
        raise WhyError("a model of kernel='precomputed' knows no features to explain it by")
    seen = as_numbers(parts, take_rows(X, rows))
    values, way = (
        _by_trees(seen, lower, upper)
        or _by_coefficients(seen, lower, upper, background)
        or _by_replacement(seen, lower, upper, background)
    )
    values = np.nan_to_num(values, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    return Pulls(rows, seen.names, values, lower, upper, way), seen


def _by_trees(seen: NumericCases, lower: Indices, upper: Indices) -> tuple[Floats, str] | None:
    column, after = seen.parts.column, traced(seen.parts.after, seen.Z.shape[1])
    if after is None:
        return None
    Z = through(seen.parts.after, seen.rebuilt(seen.Z))
    owner, m = seen.owner[after], len(seen.names)
    found = booster_pulls(seen.parts, Z, len(column))
    if found is not None:  # (n, p, K)
        by_class = np.stack([summed_by(found[:, :, k], owner, m) for k in range(found.shape[2])], 2)
        if by_class.shape[2] == 1:
            by_class = np.concatenate([np.zeros_like(by_class), by_class], axis=2)
    else:
        trees = trees_of(seen.parts)
        if trees is None:
            return None
        array = np.asarray(Z, dtype=np.float32).astype(np.float64)  # as the trees see it
        exact = n_steps(tree for tree, _ in trees) <= MOST_STEPS
        measure = tree_pulls if exact else walk_pulls
        by_class = np.zeros((len(array), m, len(column)))
        for place in {tuple(place.tolist()) for _, place in trees}:
            some = [tree for tree, of in trees if tuple(of.tolist()) == place]
            by_class[:, :, list(place)] += measure(some, array, owner, m)
    rows = np.arange(len(lower))
    values = by_class[rows, :, column[upper]] - by_class[rows, :, column[lower]]
    return values, "trees"


def _by_coefficients(
    seen: NumericCases, lower: Indices, upper: Indices, background: Any
) -> tuple[Floats, str] | None:
    coef, after = linear_coef(seen.parts, lower, upper), traced(seen.parts.after, seen.Z.shape[1])
    if coef is None or after is None:
        return None
    typical = _typical(seen, background)
    third = typical.low + (typical.high - typical.low) / 3
    Z, mean, low, third, high = (
        _array(through(seen.parts.after, seen.rebuilt(rows)))
        for rows in (seen.Z, typical.mean[None], typical.low[None], third[None], typical.high[None])
    )
    if not np.allclose(third, low + (high - low) / 3):
        return None  # bends, such as splines, come between the features and the coefficients
    return linear_pulls(coef, Z, mean, seen.owner[after], len(seen.names)), "linear"


def _by_replacement(
    seen: NumericCases, lower: Indices, upper: Indices, background: Any
) -> tuple[Floats, str]:
    def score(rows: Floats, cases: Indices) -> Floats:
        Z = through(seen.parts.after, seen.rebuilt(rows))
        return pair_scores(seen.parts, Z, lower[cases], upper[cases])

    typical = _typical(seen, background)
    return replacement_pulls(score, seen.Z, typical, seen.owner), "replacement"


def _typical(seen: NumericCases, background: Any) -> Typical:
    if background is not None:
        other = as_numbers(seen.parts, as_table(background))
        if other.Z.shape[1] != seen.Z.shape[1]:
            raise WhyError(
                f"background has other columns than X: {other.Z.shape[1]} instead of "
                f"{seen.Z.shape[1]} reach the classifier",
                parameter="background",
            )
        if seen.header is not None and list(other.header.dtypes) != list(seen.header.dtypes):
            raise WhyError(
                "a column of background has another type, or other categories, than in X",
                parameter="background",
            )
        return Typical.learn(filled(other.Z))
    if seen.parts.typical is None:
        raise WhyError(
            f"a {type(seen.parts.scorer).__name__} is explained by comparison with training cases, "
            "and this model keeps none",
            parameter="background",
            remedy="Give background=, some hundreds of the cases that it was trained on. A "
            "RejectClassifierCV remembers what a typical case looks like, if transformers stand "
            "before the classifier that rejects, not inside it.",
        )
    return seen.parts.typical


def _array(Z: Any) -> Floats:
    return np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)


def _positions(rows: Any, n: int) -> Indices:
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    fine = rows.ndim == 1 and (not rows.size or rows.dtype.kind in "iu")
    if not fine or (rows.size and not (-n <= rows.min() and rows.max() < n)):
        raise WhyError(
            f"rows must be positions of cases, from 0 to {n - 1}; got {rows!r:.60}",
            parameter="rows",
        )
    return np.arange(n)[rows.astype(np.intp)]


def _middles(
    seen: NumericCases, words: Mapping[str, Sequence[str]], background: Any
) -> dict[str, float]:
    """Return the middle of the features that sentences are about, where it is known."""
    first = seen.parts.before[0] if seen.parts.before else None
    learnt, typical, found = getattr(first, "learnt_", {}), seen.parts.typical, {}
    for j, name in enumerate(seen.names):
        own = np.flatnonzero(seen.owner == j)
        if name not in words:
            continue
        if background is not None:
            values = values_of(seen, as_table(background), j)
            if values.dtype.kind in "iuf":
                found[name] = float(np.nanmedian(values))
        elif "fill" in learnt.get(name, ()):
            found[name] = float(learnt[name]["fill"])
        elif typical is not None and len(own) == 1:
            found[name] = float(typical.mean[own[0]])
    return found


def _in_words(
    model: Any,
    X: Any,
    found: Pulls,
    seen: NumericCases | None,
    top: Any,
    decision: Indices,
    words: Mapping[str, Sequence[str]] | None = None,
    middle: Mapping[str, float] | None = None,
) -> dict[str, NDArray[Any]]:
    """Columns of :func:`why`; ``decision`` (n,) of each case, -1 if it is in doubt."""
    if not isinstance(top, Integral) or isinstance(top, bool) or top < 1:
        raise WhyError(f"top={top!r:.40} must be a whole number from 1", parameter="top")
    classes = final_classifier(model).classes_
    some = take_rows(X, found.rows)
    columns: dict[int, Any] = {}  # of the features that are named

    def told(feature: str, value: Any) -> str:
        plain, (low, high) = f"{feature} {said(value)}", (words or {}).get(feature, ("", ""))
        if is_missing(value):
            return plain
        if isinstance(value, Real):
            at = (middle or {}).get(feature)
            sentence = "" if at is None else low if value < at else high
        else:
            sentence = low or high
        return sentence.replace("{value}", said(value)) or plain

    def named(i: int, side: Indices) -> str:
        for j in side.tolist():
            if j not in columns and seen is not None:
                columns[j] = values_of(seen, some, j)
        parts = [told(found.features[j], columns[j][i]) for j in side.tolist()]
        ended = [f"{part} " if part.endswith((".", "!")) else f"{part}, " for part in parts]
        return "".join(dict.fromkeys(ended)).rstrip(", ")

    low, high, both = [], [], []
    for i, (lower, upper) in enumerate(zip(found.lower, found.upper, strict=True)):
        down, up = (named(i, side) for side in standing_out(found.values[i], int(top)))
        texts = [f"{classes[k]}: {text}" for k, text in ((lower, down), (upper, up)) if text]
        if decision[i] >= 0:
            texts = [down if decision[i] == lower else up]
        low.append(down)
        high.append(up)
        both.append(" | ".join(filter(None, texts)) or "no feature stands out")
    return {
        "lower": classes[found.lower],
        "upper": classes[found.upper],
        "towards_lower": np.array(low, dtype=object),
        "towards_upper": np.array(high, dtype=object),
        "why": np.array(both, dtype=object),
    }
