"""From limits to a model that keeps them: by estimates, or so that other cases prove it.

With a confidence, some cases are held out.  Candidates, and the order in which they are tested, are
settled without them (:mod:`rejo.selection.sequences`); they accept or refuse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.metaestimators import _safe_split

from rejo._typing import Floats, Indices
from rejo.selection.cuts import LEAST
from rejo.selection.group_policy import GroupPolicy
from rejo.selection.group_units import GroupUnits, group_units
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
    """A sequence of candidates, the limits that they were tested for, and how far it went."""

    line: Line
    limits: list[Limit]
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
    units = group_units(request, train, len(test), confidence)
    y_new = request.k[test]
    cases = RankedCases(new, new.forced != y_new, y_new, _take(units.group, test))
    own = _own_cases(learned, _take(units.group, train))
    plan = _Plan(part, learned, own, units, len(test), confidence)
    lines = plan.lines()
    level = 1 - (1 - confidence) / len(lines)
    tried = []
    for line in lines:
        limits = units.kept(request.limits, line.reviewed)
        proof = prove_line(limits, cases, line.cuts, level, request.prices)
        tried.append(_Tried(line, limits, proof))
    passed = [one for one in tried if one.proof.n_passed]
    if not passed:
        raise _refusal(request, plan, *tried[0], cases)

    def decided(one: _Tried) -> float:
        cut = one.line.cuts[[one.proof.n_passed - 1]]
        return float((new.decisions(_for_cases(cut, cases.group)) >= 0).mean())

    line, limits, tested = max(passed, key=decided)
    at = tested.n_passed - 1
    how = _rests_on(request)
    n_candidates = sum(len(line.cuts) for line in lines)
    guarantees = [
        Guarantee(
            limit.rate, float(tested.bounds[j, at]) if limit.most is None else limit.most,
            limit.most, confidence, int(tested.totals[j, at]), n_candidates,
            limit.by, limit.name, how,
        )
        for j, limit in enumerate(limits)
    ]  # fmt: skip
    decision = new.decisions(_for_cases(line.cuts, cases.group))
    costs = [_cost_at(learned, cuts) for cuts in line.cuts]
    none = np.zeros(len(test), dtype=np.intp)
    curve = fold_curve(costs, decision, y_new, none)
    held_out = float(curve.rejection_rate[at]), float(curve.error_rate[at]), len(test)
    return _found(part, learned, own, units, line, at, curve, guarantees, held_out)


def estimate(request: Request, learned: Learned | None = None) -> Found:
    """Find the operating point that keeps all limits out of fold, and fit on all cases."""
    if learned is None:
        learned = learn(request, fit_on(request))
    units = group_units(request, np.arange(len(request.k)), len(request.k), None)
    own = _own_cases(learned, units.group)
    plan = _Plan(request, learned, own, units, len(request.k), None)
    (line,) = plan.lines()
    limits = units.kept(request.limits, line.reviewed)
    rates = np.array([
        bad / np.maximum(total, 1e-300)
        for bad, total in (own.count_of(limit, line.cuts) for limit in limits)
    ])  # fmt: skip
    most = np.array([[limit.most] for limit in limits], dtype=np.float64)
    decision = learned.own.decisions(_for_cases(line.cuts, own.group))
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
    costs = [_cost_at(learned, cuts) for cuts in line.cuts]
    curve = fold_curve(costs, decision, learned.y, learned.fold)
    return _found(request, learned, own, units, line, at, curve, [], None)


class _Plan(NamedTuple):
    """What is known before the calibration cases are looked at."""

    request: Request
    learned: Learned
    own: RankedCases
    units: GroupUnits
    n_new: int
    confidence: float | None

    def lines(self) -> list[Line]:
        """Sequences of candidates; several if it is open which groups can be promised anything."""
        small = tuple(self.units.small)
        lines = [self._line(small)]
        if self.confidence is None or self.request.small_groups != "review":
            return lines
        cuts = self.cuts(small)
        groups = {
            x.member: x for x in self.units.kept(self.request.limits, small) if x.by == "group"
        }
        chances = {g: float(self._chance(x, cuts).max()) for g, x in groups.items()}
        worst = sorted(groups, key=lambda g: (chances[g], g))
        n_doubtful = sum(chance < SURE for chance in chances.values())
        if not n_doubtful:
            return lines
        # Leave out the worst, the two worst, and so on: one more than the doubtful ones.
        most = min(n_doubtful + 1, len(groups) - 1)
        left_out = np.unique(np.linspace(1, most, MOST_LINES - 1).round().astype(int))
        left_out = left_out[(left_out > 0) & (left_out < len(groups))]
        return lines + [self._line(tuple(sorted([*small, *worst[:n]]))) for n in left_out]

    def cuts(self, reviewed: tuple[int, ...]) -> Floats:
        request, given = self.request, None
        if request.reject_costs is not None and self.learned.prices is not None:
            prices = self.learned.prices
            error = prices[:, :-1].sum() / (len(prices) * (len(prices) - 1))
            given = np.array(request.candidates()) * error - prices[:, -1].mean()
        return candidate_cuts(
            self.learned, self.own.group, self.units.kept(request.limits, reviewed), given,
            n_groups=len(self.units.names), reviewed=reviewed, by_group=request.group_thresholds,
            priced=request.prices is not None,
        )  # fmt: skip

    def _chance(self, limit: Limit, cuts: Floats) -> Floats:
        level, prices = self.confidence or 0.5, self.request.prices
        return hope_of_limit(limit, self.own, cuts, self.n_new, level, prices)[0]

    def _line(self, reviewed: tuple[int, ...]) -> Line:
        cuts, request = self.cuts(reviewed), self.request
        limits = self.units.kept(request.limits, reviewed)
        if not limits:
            raise TargetUnattainable(
                "no group has enough cases to promise anything", attainable=np.nan,
                parameter="small_groups", remedy="Give more cases, or a higher limit.",
            )  # fmt: skip
        return Line(cuts, reviewed) if self.confidence is None else self.ordered(limits, reviewed)

    def ordered(self, limits: Sequence[Limit], reviewed: tuple[int, ...]) -> Line:
        """Candidates in the order of their tests."""
        cuts, request, level = self.cuts(reviewed), self.request, float(self.confidence or 0.0)
        hopes = hopes_of(limits, self.own, cuts, self.n_new, level, request.prices)
        price_cut = None if request.prices is None else self.learned.price_cut
        return Line(sequence(cuts, limits, hopes, price_cut), reviewed)


# ---- parts of the result ----------------------------------------------------------------------


def _found(
    request: Request, learned: Learned, own: RankedCases, units: GroupUnits, line: Line, at: int,
    curve: RejectCurve, guarantees: list[Guarantee], held_out: Any,
) -> Found:  # fmt: skip
    cuts = line.cuts[at]
    by_group = request.group_thresholds and cuts.ndim == 1
    kept = [g for g in range(len(units.names)) if g not in line.reviewed]
    common = float(cuts if cuts.ndim == 0 else np.median(cuts[kept]))
    model = learned.at(common) if not by_group or learned.prices is not None else learned.model
    decision = learned.own.decisions(_for_cases(line.cuts[[at]], own.group))
    cost = learned.cost(common)
    folds = fold_curve([cost], decision, learned.y, learned.fold)
    crossfit = None if cuts.ndim else learned.crossfit
    rates, sizes = estimate_rates(request, folds, 0, crossfit, common, held_out=held_out)
    policy = None
    if units.group is not None:
        gone = {units.names[g] for g in line.reviewed}
        reviewed = [
            n for n, u in zip(units.original, units.of, strict=True) if units.names[u] in gone
        ]
        own_cuts = None
        if by_group:
            own_cuts = np.where(np.isfinite(cuts), cuts, common)[units.of]
        policy = GroupPolicy(list(units.original), reviewed, units.merged, own_cuts)
    order = np.argsort(curve.reject_costs, kind="stable")
    return Found(
        model, learned.params, cost, common if learned.prices is not None else None,
        _reordered(curve, order), None, order.tolist().index(at), rates, sizes,
        guarantees=guarantees, policy=policy,
        costs=outcome_costs(decision[0], learned.own.forced, learned.y, None, request.prices),
    )  # fmt: skip


def _own_cases(learned: Learned, group: Indices | None) -> RankedCases:
    wrong = learned.own.forced != learned.y
    return RankedCases(learned.own, learned.chance, learned.y, _take(group, learned.rows), wrong)


def _take(group: Indices | None, rows: Indices) -> Indices | None:
    return None if group is None else group[rows]


def _for_cases(cuts: Floats, group: Indices | None) -> Floats:
    """Cuts (m,), or those of each case's group (m, n)."""
    return cuts if cuts.ndim == 1 or group is None else cuts[:, group]


def _cost_at(learned: Learned, cuts: Any) -> float:
    finite = np.asarray(cuts)[np.isfinite(cuts)]
    return learned.cost(float(np.median(finite)) if finite.size else learned.ends[1])


def _reordered(curve: RejectCurve, order: Indices) -> RejectCurve:
    rates = curve.rejection_rates[order], curve.error_rates[order]
    return RejectCurve(curve.reject_costs[order], *rates, curve.sizes)


def _rests_on(request: Request) -> str:
    if request.time is not None:
        return "latest" if request.groups is None else "latest_one_each"
    return "random" if request.groups is None else "one_each"


def _refusal(
    request: Request, plan: _Plan, line: Line, limits: list[Limit], tested: Proof,
    cases: RankedCases,
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
        reviewed = 1 - float((cases.ranked.decisions(_for_cases(cut, cases.group)) >= 0).mean())
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
    """A limit that would have been proved, and the first candidate (1, ...) that proves it.

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
