"""The operating point of a model that was fitted elsewhere, by cases that it did not learn from.

Of these, some choose the operating point, and the others say what to expect of it, and prove what
is promised: the same cases must not do both.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError
from rejo._typing import Floats, Indices
from rejo.decisions import TIE
from rejo.estimators import final_classifier, judge_scores
from rejo.selection.crossfit import CrossFit, relative_price
from rejo.selection.cuts import CutRanking, cut_decision
from rejo.selection.expected import independent_cases
from rejo.selection.folds import by_posteriors, check_rejects, has_order
from rejo.selection.learned import Learned, costs_of, learned_boundaries, learned_posteriors
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.outcomes import Judged, OutOfFold, joined, judged_scores
from rejo.selection.proof import estimate, prove_learned
from rejo.selection.ranked import Ranked, rank
from rejo.selection.rate_limits import read_limits
from rejo.selection.search import (
    Fit,
    Found,
    Request,
    last_at,
    outcome_costs,
    search_cut,
    search_path,
)
from rejo.selection.target import LIMITS, Target, check_prices, check_targets


class Answers(NamedTuple):
    """What a fitted model answers for cases that it did not learn from.

    Without posteriors, ``boundaries`` gives the scores (n, n_boundaries) at a reject cost.
    """

    k: Indices  # (n,) true classes
    posteriors: Floats | None = None  # (n, K)
    boundaries: Callable[[float], Floats] | None = None
    groups: Any = None  # (n,) what belongs together; None: each case by itself

    @property
    def n_independent(self) -> float:
        """Number of cases that these are worth; those of one group count as one."""
        return independent_cases(len(self.k), None, self.groups)

    def crossfit(self, classes: Any) -> CrossFit | None:
        """The posteriors as those of one fold; None without posteriors."""
        if self.posteriors is None:
            return None
        return CrossFit(self.posteriors, np.zeros_like(self.k), classes, self.k)


def settle(
    search: RejectClassifierCV,
    model: Any,
    choosing: Answers,
    proving: Answers,
    *,
    ordered: bool,
    reject_costs: Sequence[float] | None = None,
    X: Any = None,
) -> RejectClassifierCV:
    """Find the operating point of a ``model`` fitted on other cases, in the place of ``fit``.

    Some cases choose the operating point, others say what to expect of it and prove what is
    promised.  ``reject_costs`` are those that a model without posteriors can decide at; by default
    any.  ``X`` are some training cases, to know what is typical.
    """
    targets = _check(search)
    request = _request(search, model, choosing, targets, ordered, X)
    case = _Case(request, model, choosing, proving)
    several = len(targets) > 1 or "_by_" in targets[0].name or targets[0].name == "max_cost"
    judged = choosing.crossfit(request.classes) or _judged(choosing, _costs(request, reject_costs))
    if search.confidence is not None:
        found = case.proved(judged, float(search.confidence), search.random_state)
    elif several:
        found = estimate(request, case.learned(judged))
    elif isinstance(judged, CrossFit):
        found = search_cut(request, judged, case.fit)
    else:
        found = search_path(request, judged, case.fit)
    search._store(case.measured(found), request, targets)
    return search


def cost_to_fit(search: RejectClassifierCV, classes: Any, *, ordered: bool) -> float | None:
    """The reject cost that an estimator should be fitted for, if prices are the target."""
    params, posteriors = search.get_params(deep=False), by_posteriors(search.estimator)
    if check_targets(params)[0].rate is not None or posteriors:
        return None
    ordered = has_order(classes, ordered)
    prices = check_prices(params, classes, ordered=ordered, posteriors=posteriors)
    return None if prices is None else relative_price(prices)


class _Case(NamedTuple):
    """A model, what is asked for, and its answers for both parts of the held-out cases."""

    request: Request
    model: Any
    choosing: Answers
    proving: Answers

    @property
    def fit(self) -> Fit:
        """The model itself, at the reject cost of the one that is to be fitted."""
        if self.proving.posteriors is not None:
            return lambda _: self.model

        def at(wanted: Any) -> Any:
            return last_at(self.model, wanted.get_params()[check_rejects(wanted)])

        return at

    def learned(self, judged: Any) -> Learned:
        """The ranking of the cases that choose."""
        if isinstance(judged, CrossFit):
            rows = np.arange(len(judged.y))
            return learned_posteriors(self.request, judged, {}, rows, self.fit)
        return learned_boundaries(self.request, judged, self.fit)

    def proved(self, judged: Any, confidence: float, random_state: Any) -> Found:
        """Accept an operating point that the other cases prove."""
        learned = self.learned(judged)
        proving = _one_each(self.proving, random_state)
        rows = np.split(np.arange(len(judged.y) + len(proving.k)), [len(judged.y)])
        whole = replace(self.request, k=np.append(self.request.k, proving.k))
        ranked = _ranked(proving, learned)
        return prove_learned(whole, self.request, learned, ranked, (rows[0], rows[1]), confidence)

    def measured(self, found: Found) -> Found:
        """The rates of the operating point among the cases that did not choose it."""
        answers, prices = self.proving, self.request.prices
        decision, forced = self.decided(found)
        reviewed, wrong = decision < 0, (decision >= 0) & (decision != answers.k)
        n = answers.n_independent / (2.0 if found.guarantees else 1.0)  # luck, if they accepted it
        return found._replace(
            rates=(float(reviewed.mean()), float(wrong.mean())),
            sizes=(n, n),
            costs=outcome_costs(decision, forced, answers.k, None, prices),
            outcomes=None,
        )

    def decided(self, found: Found) -> tuple[Indices, Indices]:
        """Decisions (n,) of the chosen model on the cases that prove, with and without review."""
        answers, prices = self.proving, self.request.ranking_prices
        if (cases := answers.crossfit(self.request.classes)) is not None:
            ranked = _by_worth(cases, prices)
            return ranked.decisions([found.cut])[0].astype(np.intp), ranked.forced
        last = final_classifier(found.model)
        cut = last if isinstance(last, CutRanking) else None
        cost = (last if cut is None else cut.estimator_).reject_cost_
        judged = _judged(answers, [cost]).points[0]
        decision, forced = judged.decision[0], judged.forced[0]
        if cut is not None:
            decision = cut_decision(decision, forced, judged.sureness[0], cut.limit, cut.widen)
        return decision, forced


def _check(search: RejectClassifierCV) -> list[Target]:
    search._validate_params()
    search.__dict__.pop("expected_", None)
    targets = search._check(None)
    if search.param_grid is not None:
        raise RejoError(
            "param_grid needs a fit for each point and fold, and this model is fitted once",
            parameter="param_grid",
            remedy="Choose the parameters on a sample with RejectClassifierCV.fit, then give them "
            "to the estimator.",
        )
    by_group = [name for name in LIMITS if name.endswith("_by_group")]
    if given := [name for name in by_group if getattr(search, name) is not None]:
        raise RejoError(
            f"{given[0]} needs the group of each case, which is not known of rows that are "
            "streamed",
            parameter=given[0],
            remedy="Use RejectClassifierCV.fit on rows that fit into memory.",
        )
    return targets


def _request(
    search: RejectClassifierCV, model: Any, choosing: Answers, targets: list[Target],
    ordered: bool, X: Any,
) -> Request:  # fmt: skip
    params, classes = search.get_params(deep=False), final_classifier(model).classes_
    posteriors = choosing.posteriors is not None
    ordered = has_order(classes, ordered)
    prices = check_prices(params, classes, ordered=ordered, posteriors=posteriors)
    limits = read_limits(params, targets, classes, None)
    return Request(
        search.estimator, X, None, classes, choosing.k, None, choosing.groups, targets[0], prices,
        search.reject_costs, None, search.cv, None, limits, apart=True,
    )  # fmt: skip


def _costs(request: Request, known: Sequence[float] | None) -> list[float]:
    """Reject costs to try; those that the model can decide at."""
    wanted = costs_of(request)
    if known is None:
        return wanted
    if request.target.rate is None and wanted[0] not in known:
        raise RejoError(
            f"the model was fitted for reject_cost={known[0]:g}, not {wanted[0]:g}",
            parameter="reject_cost", remedy="Give both the same.",
        )  # fmt: skip
    return [*known]


def _judged(answers: Answers, costs: list[float]) -> OutOfFold:
    assert answers.boundaries is not None
    parts: list[Judged] = [judged_scores(answers.boundaries(w)[None], True) for w in costs]
    n = len(answers.k)
    none = np.zeros(n, dtype=np.intp)
    return OutOfFold(costs, [joined(parts, axis=0)], np.arange(n), none, answers.k, None, False)


def _ranked(answers: Answers, learned: Learned) -> Ranked:
    """Rank cases as the learner ranks its own."""
    if learned.prices is None:
        assert answers.boundaries is not None
        scores = answers.boundaries(learned.reject_cost)
        return rank(judge_scores(scores, rejects=True))._replace(slack=learned.own.slack)
    cases = answers.crossfit(None)
    assert cases is not None
    return _by_worth(cases, learned.prices)


def _by_worth(cases: CrossFit, prices: Floats) -> Ranked:
    found = cases.decided(prices)
    return Ranked(found.worth, found.forced, TIE * float(np.abs(prices).max()))


def _one_each(answers: Answers, random_state: Any) -> Answers:
    """One case of each group, drawn at random: cases of a group may be wrong together."""
    if answers.groups is None:
        return answers
    rng = np.random.RandomState(random_state if isinstance(random_state, int) else 0)
    mixed = rng.permutation(len(answers.k))
    _, first = np.unique(np.asarray(answers.groups)[mixed], return_index=True)
    rows = np.sort(mixed[first])
    at = answers.boundaries
    return Answers(
        answers.k[rows],
        None if answers.posteriors is None else answers.posteriors[rows],
        None if at is None else lambda cost: at(cost)[rows],
        answers.groups[rows],
    )
