"""Every case judged by a model that has not seen it: the one engine of this room.

Whatever is asked afterwards (rates, curves, operating points, the choice of a model) is read from
the :class:`OutOfFold` cases: they are ranked by doubt, and an operating point is a cut in that
ranking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from scipy.stats import rankdata
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import PredefinedSplit
from sklearn.utils.parallel import delayed

from rejo._frames import take_rows
from rejo._io import progress
from rejo._jobs import each_done
from rejo._typing import Floats, Indices, Mask
from rejo.baselines import ThresholdRejectClassifier, believable
from rejo.decisions import TIE, decide, uniform_prices
from rejo.estimators import (
    NOVEL,
    BoundaryClassifier,
    Judgement,
    RejectClassifier,
    RejoBoost,
    RejoSVC,
    SVMGrid,
    UnknownScoreError,
    class_indices,
    final_step,
    judge_scores,
    must_review,
    reject_label_of,
    score_folds,
)
from rejo.prices import mean_prices, of_rows, price_of
from rejo.selection import folds
from rejo.selection.folds import Fold, Splits, candidate, last_step

NEAR = 1e-9  # doubts that differ by less than this share of the highest price are equal: no cut
REGION = 1.0 + 1e-12  # the cut at the region that a learner by boundaries rejects by itself

LEAST_DOUBT = 1e-4  # a doubt below this is as good as none
PRIOR = np.array([0.0, 1.0, 0.0])  # parameters that take the doubt at its word,
STRENGTH = np.array([0.01, 0.01, 1.0])  # and how many cases say so
STEPS = 50
MANY = 3_000.0  # cases from which counted errors say more than the curve

Point = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """Cases, each judged by a model that has not seen it, at a cut in their ranking by doubt.

    Parameters
    ----------
    doubt : ndarray of shape (n_cases,)
        The higher, the sooner reviewed; infinite for a case that is reviewed at any cut.  What a
        review is worth at ``prices`` or, by boundaries, above 1 where the learner rejects.
    forced : ndarray of int of shape (n_cases,)
        The decision without review, as an index into ``classes``.
    cut : float, default=0.0
        Cases with at least this doubt go to review; 0 by posteriors decides at the prices.
    y : ndarray of int of shape (n_cases,), default=None
        True classes, as indices, if they are known.
    classes : ndarray of shape (n_classes,), default=None
    p : ndarray of shape (n_cases, n_classes), default=None
        Posteriors, if there are any.
    prices : ndarray of shape (n_classes, n_classes + 1), default=None
        Of the doubt; None by boundaries.  Prices by case (m, n_classes, n_classes + 1) are those of
        the ``rows``.
    trained_for : float, default=nan
        The reject cost that a learner by boundaries was trained for.
    lower : ndarray of int of shape (n_cases,), default=None
        Lower of the two classes that the case lies between.
    score : ndarray of shape (n_cases,), default=None
        One number per case, higher for higher classes, if there are boundaries.
    bands : ndarray of shape (n_classes - 1, 2), default=None
        Scores between which a case goes to review, if they alone decide it.
    kind : ndarray of int8 of shape (n_cases,), default=None
        Why the case is, or would be, reviewed, as an index into ``REASONS``; None: all ambiguous.
    fold, rows : ndarray of int of shape (n_cases,), default=None
        Fold whose model judged the case, and row of the case among those that were given.
    weight : ndarray of shape (n_cases,), default=None
    group : ndarray of int of shape (n_cases,), default=None
        Group to promise by, as an index.
    together : ndarray of int of shape (n_cases,), default=None
        Cases with the same number belong together, as the visits of one patient.
    """

    doubt: Floats
    forced: Indices
    cut: float = 0.0
    y: Any = None
    classes: Any = None
    p: Floats | None = None
    prices: Floats | None = None
    trained_for: float = np.nan
    lower: Any = None
    score: Floats | None = None
    bands: Floats | None = None
    kind: NDArray[np.int8] | None = None
    fold: Any = None
    rows: Any = None
    weight: Floats | None = None
    group: Any = None
    together: Any = None

    # ---- at a cut -------------------------------------------------------------------------

    def at(self, cut: float) -> OutOfFold:
        """The same cases at another cut; it shares the arrays."""
        bands = self.bands if cut == self.cut else None
        found = replace(self, cut=float(cut), bands=bands)
        found.__dict__["_highest"] = self._highest  # cached: there may be a hundred cuts
        return found

    def all_decided(self) -> OutOfFold:
        """The same cases if there were no reviews at all."""
        return replace(self, doubt=np.zeros(len(self.forced)), cut=1.0, bands=None)

    def decisions(self, cuts: Any) -> Indices:
        """Decisions (m, n) at cuts (m,), -1 for a review."""
        cuts = np.asarray(cuts, dtype=np.float64)[:, None]
        forced = self.forced.astype(np.int16)  # there may be many cases and many cuts
        return np.where(self.doubt >= cuts - self.slack, np.int16(-1), forced)

    @property
    def decision(self) -> Indices:
        """The decision (n_cases,), -1 for a review."""
        return self.decisions([self.cut])[0]

    @property
    def kinds(self) -> NDArray[np.int8]:
        """The kind (n_cases,), also where all are ambiguous."""
        return np.zeros(len(self.forced), np.int8) if self.kind is None else self.kind

    @property
    def wrong(self) -> Mask:
        """Whether the decision without review is wrong (n_cases,)."""
        return np.asarray(self.forced != self.y)

    @property
    def chance(self) -> Floats:
        """Chance that each decision without review is wrong (n_cases,), by a smooth curve."""
        if self.p is not None:
            doubt = 1.0 - np.take_along_axis(self.p, self.forced[:, None], axis=1)[:, 0]
        else:
            place = rankdata(-np.minimum(self.doubt, 3.0))  # 1: the first to be reviewed
            doubt = 0.5 - (place - 0.5) / (2 * len(place))
        return chance_wrong(doubt, self.wrong, self.weight)

    @property
    def reject_cost(self) -> float:
        """Price of a review, where an error costs 1, that the cut amounts to, or of training."""
        if self.prices is None:
            return self.trained_for
        return relative_price(with_cut(mean_prices(self.prices), self.cut))

    @property
    def worth(self) -> Floats | None:
        """What a review is expected to save (n_cases,), in the unit of the prices, if known."""
        return None if self.prices is None else np.minimum(self.doubt, self.ends[0])

    # ---- the ranking ----------------------------------------------------------------------

    @property
    def price_cut(self) -> float:
        """The cut at the prices themselves: what is worth a review, or what is rejected."""
        return REGION if self.prices is None else 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """Cuts that review as little as possible, and everything."""
        if self.prices is None:
            return 2.5, 0.0
        return most_worth(self.prices), -float(self.prices[..., -1].max())

    @property
    def slack(self) -> float:
        """Doubts that are lower by no more than this count as at the cut."""
        return TIE * self._highest

    @property
    def tie(self) -> float:
        """There is no cut between doubts that differ by less."""
        return 1e-12 if self.prices is None else NEAR * self._highest

    @cached_property
    def _highest(self) -> float:
        """The highest price, by case that of an ordinary case; 0 without prices."""
        if self.prices is None:
            return 0.0
        return float(np.median(np.abs(self.prices).max(axis=(-2, -1))))

    def at_prices(self, prices: Floats) -> OutOfFold:
        """Rank by what a review is worth at these prices (K, K + 1); by boundaries, as before.

        Prices by case are those of ``rows``, or of these cases if there are none.
        """
        if self.p is None:
            return self
        L = np.asarray(prices, dtype=np.float64)
        own = replace(self, rows=np.arange(len(self.p))) if self.rows is None else self
        found = decide(self.p, of_rows(L, own.rows))
        fixed = np.isnan(found.worth) | (False if self.kind is None else self.kind > 0)
        return replace(
            self if L.ndim == 2 else own, doubt=np.where(fixed, np.inf, found.worth),
            forced=found.forced, lower=found.lower, prices=L, cut=0.0,
        )  # fmt: skip

    def paid(self, prices: Floats, decision: Any) -> Floats:
        """What each case costs by decisions (..., n), -1 for a review, at such prices."""
        return price_of(prices, self.y, np.asarray(decision, dtype=np.intp), self.rows)

    def cuts_at(self, shares: Floats) -> Floats:
        """Cuts with the most reviews within each share of the cases, without duplicates."""
        cuts, sizes = every_cut(self)
        at = np.searchsorted(sizes, shares * len(self.forced) + 1e-9, side="right") - 1
        return cuts[np.unique(np.maximum(at, 0))]  # novel cases may be more than a share

    def take(self, cases: Any) -> OutOfFold:
        """The same of these cases, in this order."""
        arrays = {name: getattr(self, name) for name in PER_CASE}
        return replace(self, **{k: a[cases] for k, a in arrays.items() if a is not None})

    def log_losses(self) -> Floats:
        """Minus the logarithm of the posterior of the true class (n_cases,), none impossible."""
        assert self.p is not None
        p = believable(self.p, len(self.y) if self.weight is None else float(self.weight.sum()))
        return -np.log(np.take_along_axis(p, self.y[:, None], axis=1)[:, 0])


NOT_PER_CASE = {"cut", "classes", "prices", "trained_for", "bands"}
PER_CASE = tuple(field.name for field in fields(OutOfFold) if field.name not in NOT_PER_CASE)


def joined(parts: Sequence[OutOfFold]) -> OutOfFold:
    """The cases of several test parts, one after the other; bands are means over the parts."""
    if any(part.kind is not None for part in parts):
        parts = [replace(part, kind=part.kinds) for part in parts]
    found: dict[str, Any] = {"bands": None}
    for name in PER_CASE:
        arrays = [getattr(part, name) for part in parts]
        some = all(array is not None for array in arrays)
        found[name] = np.concatenate(arrays) if some else None
    bands = [part.bands for part in parts if part.bands is not None]
    if len(bands) == len(parts) and len({band.shape for band in bands}) == 1:
        found["bands"] = np.mean(bands, axis=0)
    return replace(parts[0], **found)


# ---- cuts --------------------------------------------------------------------------------


def every_cut(cases: OutOfFold) -> tuple[Floats, Indices]:
    """Every cut (m,) in the ranking, falling, and how many cases each sends to review."""
    doubt = np.sort(cases.doubt)[::-1]
    least = int(np.isposinf(doubt).sum())
    own = doubt[least:]
    at = np.concatenate(
        [[least], least + 1 + np.flatnonzero(own[:-1] - own[1:] > cases.tie), [len(doubt)]]
    ).astype(np.intp)
    middle = (doubt[at[1:-1] - 1] + doubt[at[1:-1]]) / 2
    return np.concatenate([[cases.ends[0]], middle, [cases.ends[1]]]), at


def most_worth(prices: Floats) -> float:
    """What a review may be worth at most: the most expensive error, less the review."""
    return float((prices[..., :-1] - prices[..., -1:]).max())


def with_cut(prices: Floats, cut: float) -> Floats:
    """Return prices (..., K + 1) at which a review is chosen iff it is worth at least ``cut``."""
    prices = np.array(prices, dtype=np.float64)
    prices[..., -1] += cut
    return prices


def relative_price(prices: Floats) -> float:
    """Mean price of a review / mean price of an error: the reject cost, if they are the same."""
    prices = mean_prices(prices)
    errors = prices[:, :-1][~np.eye(len(prices), dtype=bool)]
    review, error = (
        part[0] if (part == part[0]).all() else part.mean() for part in (prices[:, -1], errors)
    )
    return float(review / error)


def chance_wrong(doubt: Floats, wrong: Any, weight: Floats | None = None) -> Floats:
    """Chance (n,) that each decision is wrong, given ``doubt`` (n,) in it, between 0 and 1.

    At the first cut where counted errors are few enough, they mostly happen to be few; a curve has
    no such luck.  It is logistic in ``a + b logit(doubt) + 4 c doubt``; with many cases, ``wrong``
    itself counts more and more, as ``n / (n + 3000)``.
    """
    wrong = np.asarray(wrong, dtype=np.float64)
    w = np.ones(len(wrong)) if weight is None else weight / weight.mean()
    doubt = np.clip(doubt, LEAST_DOUBT, 1 - LEAST_DOUBT)
    basis = np.column_stack([np.ones_like(doubt), logit(doubt), 4 * doubt])
    b = PRIOR
    for _ in range(STEPS):  # Newton's method
        p = expit(basis @ b)
        gradient = basis.T @ (w * (wrong - p)) - STRENGTH * (b - PRIOR)
        hessian = (basis * (w * p * (1 - p))[:, None]).T @ basis + np.diag(STRENGTH)
        step = np.linalg.solve(hessian, gradient)
        size = float(np.abs(step).max())
        b = b + step / max(1.0, size / 2)
        if size < 1e-8:
            break
    few = MANY / (MANY + len(wrong))
    return few * expit(basis @ b) + (1 - few) * wrong


# ---- from answers to cases ----------------------------------------------------------------


def of_posteriors(p: Floats, novel: Mask | None = None, **about: Any) -> OutOfFold:
    """Cases by their posteriors (n, K), ranked by how likely the likeliest class is wrong."""
    kind = None if novel is None or not novel.any() else np.where(novel, np.int8(NOVEL), np.int8(0))
    none: Any = np.empty(0)
    cases = OutOfFold(none, none, p=p, kind=kind, **about)
    return cases.at_prices(uniform_prices(p.shape[1], 0.0))


def of_scores(scores: Floats, *, rejects: bool = True, **about: Any) -> OutOfFold:
    """Cases by the scores (n, n_boundaries); parallel boundaries are cuts of the mean score."""
    score, bands = scores.mean(axis=1), None
    edges = score[:, None] - scores
    if rejects and len(score):
        first = edges[:1]
        if (np.abs(edges - first) <= 1e-9 + 1e-5 * np.abs(first)).all():
            bands = first.reshape(-1, 2)
    return of_judgement(judge_scores(scores, rejects=rejects), score=score, bands=bands, **about)


def of_judgement(found: Judgement, **about: Any) -> OutOfFold:
    """Cases as a fitted classifier judges them; by posteriors, ``about`` has the prices."""
    doubt = found.worth
    if doubt is None or about.get("prices") is None:
        doubt = (found.decision < 0) + 1.0 / (1.0 + found.sureness)
        about = {"cut": REGION, **about}
    doubt = np.where(np.isnan(found.distance) | must_review(found), np.inf, doubt)
    return OutOfFold(doubt, found.forced, lower=found.lower, kind=found.kind, **about)


def look(model: Any, X: Any) -> OutOfFold:
    """Judge cases by one fitted model at its own operating point; classes as indices into its."""
    last, Z = final_step(model, X)
    if not isinstance(last, RejectClassifier):
        return _predicted(model, X)
    cost = np.nan if last.reject_cost_ is None else float(last.reject_cost_)
    about: dict[str, Any] = {"classes": last.classes_, "trained_for": cost}
    if isinstance(last, BoundaryClassifier | RejoBoost) and hasattr(last, "boundary_scores"):
        return of_scores(last.boundary_scores(Z), rejects=last.reject_label_ is not None, **about)
    prices = last.prices_ if last.decides_by_posteriors else None
    return of_judgement(last.judge(Z), prices=prices, **about)


def judge_with(model: Any, X: Any, classes: NDArray[Any], *, posteriors: bool) -> OutOfFold:
    """Judge cases by one fitted model, with posteriors or at its own operating point."""
    if not posteriors:
        return among(look(model, X), classes)
    last, Z = final_step(model, X)
    novel = np.asarray(last.novel_mask(Z)) if hasattr(last, "novel_mask") else None
    try:
        p = last.predict_proba(Z)
    except UnknownScoreError as error:  # such cases go to review at every cut
        p = np.full((Z.shape[0], len(last.classes_)), np.nan)
        known = np.setdiff1d(np.arange(len(p)), error.rows)
        p[known] = last.predict_proba(take_rows(Z, known))
    return with_classes(p, last.classes_, classes, novel)


def with_classes(
    own: Floats, known: Any, classes: NDArray[Any], novel: Mask | None = None
) -> OutOfFold:
    """Cases by posteriors of the ``known`` classes, 0 for the others of all ``classes``."""
    p = np.zeros((len(own), len(classes)))
    p[:, class_indices(known, classes)] = own
    return of_posteriors(p, novel, classes=classes)


def _predicted(model: Any, X: Any) -> OutOfFold:
    """Decisions of a classifier that can only predict: -1 stays a review at any cut."""
    label, answers = reject_label_of(model), np.asarray(model.predict(X)).tolist()
    classes = np.asarray(model.classes_)
    place = {name: i for i, name in enumerate(classes.tolist())}
    if label is not None:
        place[label] = -1  # a class that the model does not know may have the same name
    forced = np.array([place[name] for name in answers], dtype=np.intp)
    doubt = np.where(forced < 0, np.inf, 0.0)
    return OutOfFold(doubt, forced, REGION, classes=classes, lower=forced)


def among(cases: OutOfFold, classes: NDArray[Any]) -> OutOfFold:
    """Replace indices into the classes that a model knows by indices into all ``classes``."""
    known = class_indices(cases.classes, classes)
    place = np.append(known, -1)  # a rejection stays -1
    lower = place[cases.lower]
    return replace(cases, forced=place[cases.forced], lower=lower, classes=classes)


# ---- the engine ---------------------------------------------------------------------------


def judge_folds(
    estimator: Any,
    X: Any,
    y: Any,
    splits: Splits,
    *,
    costs: Sequence[float] | None = None,
    grid: Sequence[Point] = ({},),
    posteriors: bool | None = None,
    sample_weight: Floats | None = None,
    loss: Floats | None = None,
    n_jobs: int | None = None,
    verbose: bool | None = False,
) -> list[list[OutOfFold]]:
    """Fit on the training part of every split and judge the test part, at each point of a grid.

    For each point, there is one entry by posteriors, and by boundaries one for each of the
    ascending reject ``costs``, or for the estimator's own, or for a ``loss`` of each case.  Cases
    come fold by fold; ``rows`` says which they are.
    """
    posteriors = folds.by_posteriors(estimator) if posteriors is None else posteriors
    if not posteriors and costs is not None:
        folds.check_rejects(estimator)
    if sample_weight is not None and not all(sample_weight[test].any() for _, test in splits):
        raise ValueError("sample_weight is 0 for all test cases of a fold: give cv fewer folds.")
    classes, k = folds.known_classes(estimator, y)
    if type(estimator) is RejoSVC and costs is not None:
        parts = _judge_machines(estimator, grid, costs, X, y, splits, sample_weight, n_jobs)
    else:
        cells = [
            delayed(_judge_split)(
                estimator, grid, costs, posteriors, X, y, sample_weight, loss, classes, *split
            )
            for split in splits
        ]
        parts = list(progress(each_done(cells, n_jobs), len(cells), "judging", show=verbose))
    rows = np.concatenate([test for _, test in splits])
    about = {
        "rows": rows, "y": k[rows], "classes": classes,
        "fold": np.repeat(np.arange(len(splits)), [len(test) for _, test in splits]),
        "weight": None if sample_weight is None else sample_weight[rows],
    }  # fmt: skip
    return gathered(parts, **about)


def gathered(parts: Sequence[Sequence[Sequence[OutOfFold]]], **about: Any) -> list[list[OutOfFold]]:
    """All cases at each point and cost, from those of each fold, point and cost."""
    return [
        [replace(joined(of_cost), **about) for of_cost in zip(*of_point, strict=True)]
        for of_point in zip(*parts, strict=True)
    ]


def in_order(cases: OutOfFold) -> OutOfFold:
    """The cases in the order in which they were given, if each was tested once."""
    order = np.argsort(cases.rows, kind="stable")
    once = np.array_equal(cases.rows[order], np.arange(len(order)))
    return cases.take(order) if once else cases


def best_points(found: Sequence[Sequence[OutOfFold]], prices: Sequence[Floats | None]) -> list[int]:
    """Index of the point with the lowest mean cost at each of the prices, or log loss if None.

    ``found`` has the same cases at each point, for each of the prices or one for all.
    """

    def loss(cases: OutOfFold, L: Floats | None) -> float:
        losses = cases.log_losses() if L is None else cases.paid(L, cases.decision)
        return round(float(np.average(losses, weights=cases.weight)), 9)

    if len(found) == 1:
        return [0] * len(prices)
    at = [[of_point[min(i, len(of_point) - 1)] for of_point in found] for i in range(len(prices))]
    return [
        int(np.argmin([loss(cases, L) for cases in points]))
        for points, L in zip(at, prices, strict=True)
    ]


def _judge_split(
    estimator: Any, grid: Sequence[Point], costs: Sequence[float] | None, posteriors: bool, X: Any,
    y: Any, weight: Floats | None, loss: Floats | None, classes: NDArray[Any], train: Indices,
    test: Indices,
) -> list[list[OutOfFold]]:  # fmt: skip
    """Judge a test part at each point; those that share the steps before the last, together."""
    found: list[Any] = [None] * len(grid)
    for which in folds.alike([folds.early_parameters(estimator, point) for point in grid]):
        points = [grid[i] for i in which]
        fold = folds.make_fold(candidate(estimator, points[0]), X, y, weight, train, test, loss)
        cases = judge_fold(estimator, points, fold, classes, costs=costs, posteriors=posteriors)
        for i, of_point in zip(which, cases, strict=True):
            found[i] = of_point
    return found


def judge_fold(
    estimator: Any, points: Sequence[Point], fold: Fold, classes: NDArray[Any], *,
    costs: Sequence[float] | None, posteriors: bool,
) -> list[list[OutOfFold]]:  # fmt: skip
    """Fit the last step at each point, as the steps before it prepared a split, and judge."""
    if posteriors:
        return [[cases] for cases in _by_posteriors(estimator, points, fold, classes)]
    paths = (folds.fit_path(candidate(estimator, point), costs, fold) for point in points)
    return [
        [judge_with(fit, fold.X_test, classes, posteriors=False) for fit in fits] for fits in paths
    ]


def _by_posteriors(
    estimator: Any, points: Sequence[Point], fold: Fold, classes: NDArray[Any]
) -> list[OutOfFold]:
    """Cases at each point; those that differ in trees alone, or in ``C``, may share a fit."""
    found: list[Any] = [None] * len(points)
    shared = "" if fold.weight is not None else _shared_parameter(estimator)
    for which in folds.alike(points, shared):
        if len(which) > 1 and all(shared in points[i] for i in which):
            model = _source(last_step(candidate(estimator, points[which[0]])))
            answers = _along(model, [points[i][shared] for i in which], fold)
            cases: Iterable[Any] = (with_classes(p, known, classes) for known, p in answers)
        else:
            fits = (
                next(folds.fit_path(candidate(estimator, points[i]), None, fold)) for i in which
            )
            cases = (judge_with(fit, fold.X_test, classes, posteriors=True) for fit in fits)
        for i, of_point in zip(which, cases, strict=True):
            found[i] = of_point
    return found


def _along(model: Any, values: Sequence[Any], fold: Fold) -> Iterator[tuple[Any, Floats]]:
    """Classes and posteriors at values of one parameter, by one fit or along one path."""
    X, y = fold.X_train, fold.y_train
    if not hasattr(model, "staged_predict_proba"):
        for fit in candidate(model).fit_path(X, y, Cs=values):
            yield fit.classes_, fit.predict_proba(fold.X_test)
        return
    model = candidate(model, {rounds_of(model): max(values)}).fit(X, y)
    stages, p = {}, np.empty(0)
    for n_trees, p in enumerate(model.staged_predict_proba(fold.X_test), start=1):
        if n_trees in values:
            stages[n_trees] = p.copy()
    for value in values:  # the last ones, if it stopped before
        yield model.classes_, stages.get(value, p)


def _source(model: Any) -> Any:
    """Return the classifier inside that has the posteriors, if fits of it can be shared."""
    if not isinstance(model, ThresholdRejectClassifier) or model.random_state is not None:
        return model
    inner = model.estimator
    plain = model.calibration in ("auto", None) and hasattr(inner, "predict_proba")
    shares = hasattr(inner, "staged_predict_proba") or hasattr(inner, "fit_path")
    return inner if plain and shares else model


def _shared_parameter(estimator: Any) -> str:
    """Name of a parameter of which several values take one fit; empty if there is none."""
    model, before = last_step(estimator), folds.last_name(estimator)
    source = _source(model)
    before += "estimator__" if source is not model else ""
    if hasattr(source, "staged_predict_proba"):
        return f"{before}{rounds_of(source)}"
    return f"{before}C" if hasattr(source, "fit_path") else ""


def rounds_of(booster: Any) -> str:
    """Name of its parameter for the number of rounds."""
    return "max_iter" if "max_iter" in booster.get_params(deep=False) else "n_estimators"


def _judge_machines(
    model: RejoSVC, grid: Sequence[Point], costs: Sequence[float], X: Any, y: Any, splits: Splits,
    weight: Floats | None, n_jobs: int | None,
) -> list[list[list[OutOfFold]]]:  # fmt: skip
    """Judge all test parts by support vector machines, for each split and each point.

    They work on one kernel matrix for each ``gamma``, and every solve starts from the one before.
    Points that are all combinations of ``C``, ``gamma`` and ``h`` are solved together.
    """
    classes, _ = folds.known_classes(model, y)
    names = ("C", "gamma", "h")
    parts: list[list[Any]] = [[None] * len(grid) for _ in splits]
    groups = folds.alike(grid, *names)
    while groups:
        which = groups.pop()
        models = [candidate(model, grid[i]) for i in which]
        at = [tuple(getattr(m, name) for name in names) for m in models]
        Cs, gammas, hs = (list(dict.fromkeys(values)) for values in zip(*at, strict=True))
        if len(which) != len(Cs) * len(gammas) * len(hs):  # not all combinations
            groups += [[i] for i in which]
            continue
        folds.check_rejects(models[0])
        by_gamma = score_folds(
            models[0], X, y, SVMGrid(costs, Cs, gammas, hs), splits,
            lambda _, known, scores: (classes[known], scores),
            sample_weight=weight, n_jobs=n_jobs,
        )  # fmt: skip
        for i, (C, gamma, h) in zip(which, at, strict=True):
            c, j = Cs.index(C), hs.index(h)
            for f, (known, scores) in enumerate(by_gamma[gammas.index(gamma)]):
                parts[f][i] = [
                    among(of_scores(scores[:, w, c, j], trained_for=cost, classes=known), classes)
                    for w, cost in enumerate(costs)
                ]
    return parts


def novel_kinds(model: Any, X: Any, cases: OutOfFold) -> Any:
    """Kinds (n,) of review by the detector around a classifier, out of the folds of these cases."""
    detecting = candidate(model)
    last_step(detecting).set_params(classifier=DummyClassifier())
    splits = list(PredefinedSplit(cases.fold).split())
    ((found,),) = judge_folds(detecting, X, cases.y, splits, posteriors=True)
    return in_order(found).kind
