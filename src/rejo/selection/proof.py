"""From limits to a model that keeps them: by estimates, or so that other cases prove it.

With a confidence, some cases are held out.  Candidates, and the order in which they are tested, are
settled without them (:mod:`rejo.selection.sequences`); they accept or refuse.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import _safe_split

from rejo._typing import Floats, Indices
from rejo.metrics import cases_needed
from rejo.selection.cuts import LEAST
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.guarantee import Guarantee, TargetUnattainable
from rejo.selection.holdout import hold_out
from rejo.selection.learned import Learned, learn
from rejo.selection.path import RejectCurve, fold_curve
from rejo.selection.ranked import Ranked
from rejo.selection.rate_limits import Limit, name_limits
from rejo.selection.search import Found, Request, estimate_rates, fit_on, outcome_costs
from rejo.selection.sequences import (
    Line,
    Proof,
    RankedCases,
    bounds_of,
    candidate_cuts,
    hope_of_limit,
    hopes_of,
    keeps,
    prove_line,
    sequence,
)

SURE = 0.9  # that a group can be promised something
MOST_RAISES = 40  # of a limit that was not proved
MOST_LINES = 6  # sequences that share the confidence


class _Tried(NamedTuple):
    """A sequence of candidates, what they were tested for and on, and how far it went."""

    line: Line
    limits: list[Limit]
    cases: RankedCases
    proof: Proof


def prove(request: Request, confidence: float, size: float, random_state: Any) -> Found:
    """Learn from some of the cases, and accept an operating point that the others prove."""
    train, test = hold_out(len(request.k), size, random_state, request.groups, request.time)
    if unseen := set(request.k[test].tolist()) - set(request.k[train].tolist()):
        label = request.classes.tolist()[min(unseen)]
        raise ValueError(
            f"class {label!r} is so rare that all its cases were drawn for calibration, so the "
            "model could not learn it. Give more cases of this class, leave it out, or lower "
            "calibration_size."
        )
    X_fit, y_fit = _safe_split(request.estimator, request.X, request.y, train)
    X_new, _ = _safe_split(request.estimator, request.X, request.y, test, train)
    groups = None if request.groups is None else np.asarray(request.groups)[train]
    part = replace(request, X=X_fit, y=y_fit, k=request.k[train], groups=groups)
    learned = learn(part, lambda model: model.fit(X_fit, y_fit))
    new = learned.rank(X_new, request.classes)
    return prove_learned(request, part, learned, new, (train, test), confidence)


def prove_learned(
    request: Request, part: Request, learned: Learned, new: Ranked,
    rows: tuple[Indices, Indices], confidence: float,
) -> Found:  # fmt: skip
    """Accept an operating point of a learner that the other cases prove.

    Of the ``rows`` of the request, the first are those that candidates come from, the ``part``, and
    the second the others, in the order of ``new``.
    """
    train, test = rows
    small = small_groups(request, train, len(test), confidence)
    y_new = request.k[test]
    cases = RankedCases(new, new.forced != y_new, y_new, _take(request.group, test))
    own = _own_cases(learned, _take(request.group, train))
    plan = _Plan(part, learned, own, small, len(test), confidence)
    lines = plan.lines()
    level = 1 - (1 - confidence) / len(lines)
    tried = []
    for line in lines:
        limits, tested = plan.kept(line.reviewed), cases.reviewing(line.reviewed)
        proof = prove_line(limits, tested, line.cuts, level, request.prices)
        tried.append(_Tried(line, limits, tested, proof))
    passed = [one for one in tried if one.proof.n_passed]
    if not passed:
        raise _refusal(request, plan, *tried[0])

    def decided(one: _Tried) -> float:
        cut = one.line.cuts[one.proof.n_passed - 1]
        return float((one.cases.ranked.decisions([cut]) >= 0).mean())

    line, limits, tested, proof = max(passed, key=decided)
    at = proof.n_passed - 1
    how = _rests_on(request)
    n_candidates = sum(len(line.cuts) for line in lines)
    guarantees = [
        Guarantee(
            limit.rate, float(proof.bounds[j, at]) if limit.most is None else limit.most,
            limit.most, confidence, int(proof.totals[j, at]), n_candidates,
            limit.by, limit.name, how,
        )
        for j, limit in enumerate(limits)
    ]  # fmt: skip
    decision = tested.ranked.decisions(line.cuts)
    costs = [learned.cost(cut) for cut in line.cuts]
    none = np.zeros(len(test), dtype=np.intp)
    curve = fold_curve(costs, decision, y_new, none)
    held_out = float(curve.rejection_rate[at]), float(curve.error_rate[at]), len(test)
    return _found(plan, line, at, curve, guarantees, held_out)


def estimate(request: Request, learned: Learned | None = None) -> Found:
    """Find the operating point that keeps all limits out of fold, and fit on all cases."""
    if learned is None:
        learned = learn(request, fit_on(request))
    small = small_groups(request, np.arange(len(request.k)), len(request.k), None)
    plan = _Plan(request, learned, _own_cases(learned, request.group), small, len(request.k), None)
    (line,) = plan.lines()
    limits, own = plan.kept(line.reviewed), plan.own.reviewing(line.reviewed)
    rates = np.array([
        bad / np.maximum(total, 1e-300)
        for bad, total in (own.count_of(limit, line.cuts) for limit in limits)
    ])  # fmt: skip
    most = np.array([[limit.most] for limit in limits], dtype=np.float64)
    decision = own.ranked.decisions(line.cuts)
    n_decided = (decision >= 0).sum(axis=1)
    some = n_decided >= max(LEAST, len(own.y) / 100)  # the rate of a handful means nothing
    fine = (rates <= most + 1e-12).all(axis=0) & some
    if not fine.any():
        rates = np.where(some, rates, np.inf)
        over = (rates / most).max(axis=0)
        at = int(over.argmin())
        worst = int((rates[:, at] / most[:, 0]).argmax())
        reviewed = 1 - float(n_decided[at]) / len(own.y)
        raise _unattainable(
            limits[worst], float(rates[worst, at]), reviewed, "by cross-validation",
            "Raise it, or try a better estimator.",
        )  # fmt: skip
    errors = any(limit.limits_errors for limit in limits)
    passed = np.flatnonzero(fine)
    at = int(passed[-1] if errors else passed[0])
    costs = [learned.cost(cut) for cut in line.cuts]
    curve = fold_curve(costs, decision, learned.y, learned.fold)
    return _found(plan, line, at, curve, [], None)


def small_groups(
    request: Request, rows: Indices, n_new: int, confidence: float | None
) -> tuple[int, ...]:
    """Groups with too few cases for their limits, which go to review; or refuse them.

    How many of ``n_new`` cases belong to each is expected from these ``rows``: calibration cases
    must not choose the groups that they prove something for.
    """
    if request.group is None:
        return ()
    names = request.group_names
    counts = np.bincount(request.group[rows], minlength=len(names))
    counts = np.floor(counts * n_new / len(rows) + 1e-9).astype(int)
    needed: dict[int, int] = {}  # cases that a small group would take
    small: list[Limit] = []
    for limit in request.limits:
        if limit.by == "group" and limit.most is not None:
            least = (
                int(np.ceil(1 / limit.most)) if confidence is None
                else cases_needed(limit.most, confidence)
            )  # fmt: skip
            if counts[limit.member] < least:
                small.append(limit)
                needed[limit.member] = max(least, needed.get(limit.member, 0))
    groups = tuple(sorted(needed))
    if not small or request.small_groups == "review":
        return groups
    listed = ", ".join(f"{names[g]!r} ({counts[g]})" for g in groups[:10])
    what = "calibration cases" if confidence is not None else "cases"
    level = "" if confidence is None else f" at {100 * confidence:g} %"
    raise TargetUnattainable(
        f"{small[0].parameter}={small[0].most:g}{level} takes at least {max(needed.values())} "
        f"{what} of each group, and some groups have fewer: {listed}",
        attainable=np.nan,
        parameter="small_groups",
        remedy='Merge them with others in your data, or give small_groups="review", which sends '
        "all their cases to review.",
    )


class _Plan(NamedTuple):
    """What is known before the calibration cases are looked at."""

    request: Request
    learned: Learned
    own: RankedCases
    small: tuple[int, ...]  # groups that are reviewed because there are too few cases
    n_new: int
    confidence: float | None

    def lines(self) -> list[Line]:
        """Sequences of candidates; several if it is open which groups can be promised anything."""
        small = self.small
        lines = [self._line(small)]
        if self.confidence is None or self.request.small_groups != "review":
            return lines
        groups = {limit.member: limit for limit in self.kept(small) if limit.by == "group"}
        cuts, own, prices = self.cuts(small), self.own.reviewing(small), self.request.prices
        chances = {
            g: hope_of_limit(limit, own, cuts, self.n_new, self.confidence, prices)[0].max()
            for g, limit in groups.items()
        }
        worst = sorted(groups, key=lambda g: (chances[g], g))
        n_doubtful = sum(chance < SURE for chance in chances.values())
        if not n_doubtful:
            return lines
        # Leave out the worst, the two worst, and so on: one more than the doubtful ones.
        most = min(n_doubtful + 1, len(groups) - 1)
        left_out = np.unique(np.linspace(1, most, MOST_LINES - 1).round().astype(int))
        left_out = left_out[(left_out > 0) & (left_out < len(groups))]
        return lines + [self._line(tuple(sorted([*small, *worst[:n]]))) for n in left_out]

    def kept(self, reviewed: tuple[int, ...]) -> list[Limit]:
        """The limits that remain if some groups are reviewed entirely."""
        limits = self.request.limits
        return [x for x in limits if x.by != "group" or x.member not in reviewed]

    def cuts(self, reviewed: tuple[int, ...]) -> Floats:
        request, given = self.request, None
        if request.reject_costs is not None and self.learned.prices is not None:
            prices = self.learned.prices
            error = prices[:, :-1].sum() / (len(prices) * (len(prices) - 1))
            given = np.array(request.candidates()) * error - prices[:, -1].mean()
        return candidate_cuts(
            self.learned, self.kept(reviewed), ~self.own.in_groups(reviewed),
            given=given, priced=request.prices is not None,
        )  # fmt: skip

    def _line(self, reviewed: tuple[int, ...]) -> Line:
        limits = self.kept(reviewed)
        if not limits:
            raise TargetUnattainable(
                "no group has enough cases to promise anything", attainable=np.nan,
                parameter="small_groups", remedy="Give more cases, or a higher limit.",
            )  # fmt: skip
        if self.confidence is None:
            return Line(self.cuts(reviewed), reviewed)
        return self.ordered(limits, reviewed)

    def ordered(self, limits: Sequence[Limit], reviewed: tuple[int, ...]) -> Line:
        """Candidates in the order of their tests."""
        cuts, request, level = self.cuts(reviewed), self.request, float(self.confidence or 0.0)
        own = self.own.reviewing(reviewed)
        hopes = hopes_of(limits, own, cuts, self.n_new, level, request.prices)
        price_cut = None if request.prices is None or reviewed else self.learned.price_cut
        return Line(sequence(cuts, limits, hopes, price_cut), reviewed)


# ---- parts of the result ----------------------------------------------------------------------


def _found(
    plan: _Plan, line: Line, at: int, curve: RejectCurve, guarantees: list[Guarantee],
    held_out: Any,
) -> Found:  # fmt: skip
    request, learned, cut = plan.request, plan.learned, float(line.cuts[at])
    decision = plan.own.reviewing(line.reviewed).ranked.decisions([cut])
    cost = learned.cost(cut)
    folds = fold_curve([cost], decision, learned.y, learned.fold)
    crossfit = None if line.reviewed else learned.crossfit
    rates, sizes = estimate_rates(request, folds, 0, crossfit, cut, held_out=held_out)
    policy = None
    if request.group is not None:
        names = list(request.group_names)
        policy = GroupPolicy(names, [names[g] for g in line.reviewed])
    order = np.argsort(curve.reject_costs, kind="stable")
    return Found(
        learned.at(cut), learned.params, cost, cut if learned.prices is not None else None,
        _reordered(curve, order), None, order.tolist().index(at), rates, sizes,
        guarantees=guarantees, policy=policy,
        costs=outcome_costs(decision[0], learned.own.forced, learned.y, None, request.prices),
    )  # fmt: skip


def _own_cases(learned: Learned, group: Indices | None) -> RankedCases:
    wrong = learned.own.forced != learned.y
    return RankedCases(learned.own, learned.chance, learned.y, _take(group, learned.rows), wrong)


def _take(group: Indices | None, rows: Indices) -> Indices | None:
    return None if group is None else group[rows]


def _reordered(curve: RejectCurve, order: Indices) -> RejectCurve:
    rates = curve.rejection_rates[order], curve.error_rates[order]
    return RejectCurve(curve.reject_costs[order], *rates, curve.sizes)


def _rests_on(request: Request) -> str:
    if request.time is not None:
        return "latest" if request.groups is None else "latest_one_each"
    return "random" if request.groups is None else "one_each"


def _refusal(
    request: Request, plan: _Plan, line: Line, limits: list[Limit], cases: RankedCases,
    tested: Proof,
) -> TargetUnattainable:  # fmt: skip
    """Say which limits the calibration cases do not prove, and what they would."""
    confidence = float(plan.confidence or 0.0)
    latest = "latest " if request.time is not None else ""
    how = f"with {100 * confidence:g} % confidence, from {plan.n_new} {latest}calibration cases"
    remedy = "Raise it, or give more cases or less confidence."
    bounds = tested.bounds[:, 0]
    failing = np.flatnonzero(~keeps(limits, tested.bounds[:, :1])[:, 0]).tolist()
    worst = max(failing, key=lambda j: bounds[j] / float(limits[j].most or 1))
    if len(limits) == 1:
        attainable, cut = _provable(plan, limits[0], line, cases)
        reviewed = float((cases.ranked.decisions(cut) < 0).mean())
        return _unattainable(limits[0], attainable, reviewed, f"{how},", remedy)
    # What could be asked for in place of each, if the others are kept: over all candidates, so it
    # is a hint and not a promise.
    cuts = plan.cuts(line.reviewed)
    every = np.array([bounds_of(x, cases, cuts, confidence, request.prices)[0] for x in limits])
    fine = keeps(limits, every)
    hints = []
    for j in failing:
        others = np.delete(fine, j, axis=0).all(axis=0)
        if len(failing) == 1:  # what was tested keeps the others
            hints.append((limits[j], float(bounds[j])))
        elif others.any() and every[j][others].min() > float(limits[j].most or 0):
            hints.append((limits[j], float(every[j][others].min())))
    others = "the other is" if len(limits) == 2 else "the others are"
    said = "; ".join(
        f"if {others} kept, {limit.parameter}{limit.where} could be about {best:.3g}"
        for limit, best in hints
    ) or "; ".join(f"{limits[j]} fails, at about {bounds[j]:.3g}" for j in failing[:6])
    named = name_limits(limits)
    kept = "all be kept" if ", " in named else f"be kept for every {limits[0].by}"
    return TargetUnattainable(
        f"{named} cannot {kept} {how}: {said}",
        attainable=hints[0][1] if hints else float(bounds[worst]),
        parameter=limits[worst].parameter,
        remedy="Raise a limit, or give more cases or less confidence.",
    )


def _provable(plan: _Plan, limit: Limit, line: Line, cases: RankedCases) -> tuple[float, Floats]:
    """A limit that would have been proved, and the first candidate (1,) that proves it.

    The order of the tests depends on the limit, so it is raised until the first test passes.
    """
    confidence, prices = float(plan.confidence or 0.0), plan.request.prices
    cut, bound = line.cuts[:1], np.inf
    for _ in range(MOST_RAISES):
        bound = float(bounds_of(limit, cases, cut, confidence, prices)[0][0])
        if limit.most is not None and bound <= limit.most:
            break
        limit = limit._replace(most=min(bound, 1 - 1e-9) if limit.rate != "mean_cost" else bound)
        cut = plan.ordered([limit], line.reviewed).cuts[:1]
    return max(bound, float(limit.most or 0.0)), cut


def _unattainable(
    limit: Limit, attainable: float, reviewed: float, how: str, remedy: str
) -> TargetUnattainable:
    return TargetUnattainable(
        f"{limit} cannot be reached: the lowest {limit.described()} that is attainable {how} is "
        f"{attainable:.4f}, where {100 * reviewed:.0f} % of the cases go to review",
        attainable=attainable,
        parameter=limit.parameter,
        remedy=remedy,
    )
