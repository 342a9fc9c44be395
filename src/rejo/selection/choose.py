"""One way from what was asked for to an operating point: a cut at which all limits hold.

The limits hold on cases judged out of fold or, with a confidence, held-out cases prove them.
Prices alone are the cut at zero.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from rejo._errors import Setting, Text
from rejo._state import check_fields, maybe, number, storable
from rejo._typing import Floats, Indices
from rejo.baselines import CutRanking, with_last
from rejo.metrics import cases_needed, wilson_limits
from rejo.prices import CasePrices
from rejo.selection.expected import mean_cost
from rejo.selection.folds import last_step
from rejo.selection.limits import Limit, count_limit, decided_sums
from rejo.selection.out_of_fold import REGION, OutOfFold, every_cut, with_cut
from rejo.selection.promises import (
    Guarantee,
    TargetUnattainable,
    Tests,
    prove,
    refusal,
    reviewing,
)

LEAST = 10  # decided cases: a rate among fewer means nothing
FEW = 0.1  # share of decided cases below which a user should know
SURE = 0.9  # one-sided, of a margin
SHARES = np.linspace(0.0, 1.0, 101)  # of reviews, at which a curve is kept


@storable
class Margin(NamedTuple):
    """What to ask for in order to be ``confidence`` sure of a limit, though nothing proves it."""

    limit: float | None  # None if there are too few cases to be so sure
    rejection_rate: float | None  # share of reviews that follows
    confidence: float

    def _check_state(self) -> None:
        """Three shares."""
        share = maybe(number(0.0, 1.0))
        check_fields(self, limit=share, rejection_rate=share, confidence=number(1e-9, 1 - 1e-15))


TIED = 5  # cases that share a doubt, from which it is known where the model on all cases puts them
MANY = 10_000  # cases that show whether doubts are tied
GAP = 0.05  # of the cases, between two cuts, from which a user should know


def is_tied(cases: OutOfFold) -> bool:
    """Whether many of the cases have the same doubt as others of their fold."""
    if cases.fold is None or len(cases.doubt) < TIED:
        return False
    some = cases.doubt[cases.fold == 0][:MANY]
    return len(np.unique(some)) < 0.9 * len(some)


def settle_ties(cases: OutOfFold, final: Floats) -> OutOfFold:
    """Give cases that every model ranks alike the doubt of the ``final`` model on all cases (n,).

    Each fold has its own doubt for a block of equal cases, so a cut among these is in no place of
    the ranking of the final model, which decides or reviews the whole block.  Blocks that only the
    final model sees as equal are left: it knows the classes of its own cases.
    """
    doubt, fold = cases.doubt, cases.fold
    order = np.argsort(final, kind="stable")
    block = np.empty(len(order), dtype=np.intp)
    block[order] = np.append(0, np.cumsum(np.diff(final[order]) > cases.tie))
    part = block * (int(fold.max()) + 1) + fold  # of a block, in a fold
    low, high = np.full(part.max() + 1, np.inf), np.full(part.max() + 1, -np.inf)
    np.minimum.at(low, part, doubt)
    np.maximum.at(high, part, doubt)
    with np.errstate(invalid="ignore"):
        differs = ~(high[part] - low[part] <= cases.tie)  # also if both are infinite
    alike = (np.bincount(block) >= TIED) & (np.bincount(block, differs) == 0)
    return replace(cases, doubt=np.where(alike[block], final, doubt))


class Chosen(NamedTuple):
    """An operating point in the ranking of a learner."""

    cut: float
    cuts: Floats  # (m,) rising: this one, and others to compare with
    reviewed: tuple[int, ...] = ()  # groups that are reviewed entirely
    guarantees: Sequence[Guarantee] = ()
    margin: Margin | None = None  # if an allowed error chose the cut
    smooth: bool = False  # whether errors at the cut are to be read from a curve
    gap: tuple[float, float] | None = None  # shares of reviews next to a budget, if none is between


def choose(
    cases: OutOfFold,
    limits: Sequence[Limit],
    prices: Floats | None = None,
    confidence: float | None = None,
    *,
    held_out: OutOfFold | None = None,
    small: tuple[int, ...] = (),
    small_groups: str = "error",
    given: Floats | None = None,
    rests_on: str = "random",
    size: float | None = None,
) -> Chosen:
    """Find the cut at which all limits hold; without any, the cut at the prices.

    With a ``confidence``, ``held_out`` cases, which neither the learner nor its candidates have
    seen, prove the limits in an order that ``cases`` settle: at the ``given`` cuts, or one for
    every half a percent of reviews.  ``small`` groups go to review entirely, and others may if
    ``small_groups`` is "review".  ``rests_on`` says how held-out cases were chosen, and ``size``
    how many of the cases are independent.
    """
    if confidence is not None:
        assert held_out is not None
        n_new = len(held_out.forced)
        if held_out.together is not None:  # one of each group counts, so each row for its share
            n_new = len(np.unique(held_out.together))
            _, index, counts = np.unique(cases.together, return_inverse=True, return_counts=True)
            cases = replace(cases, weight=1.0 / counts[index])
        bounded = limits or [Limit("max_cost", "mean_cost", None)]  # say what it is at most
        tests = Tests(cases, bounded, prices, confidence, n_new, given)
        cut, line, reviewed, guarantees = prove(
            tests, held_out, small, small_groups == "review", rests_on
        )
        return Chosen(cut, np.unique(line), reviewed, guarantees)
    own = reviewing(cases, small)
    limits = [x for x in limits if x.by != "group" or x.member not in small]
    cuts, sizes = every_cut(own)  # rising in reviews
    at = None
    if prices is not None and (own.prices is not None or not limits):
        at = int(np.searchsorted(-cuts, -own.price_cut))
        reviewed = (own.decisions([own.price_cut]) < 0).sum()
        cuts, sizes = np.insert(cuts, at, own.price_cut), np.insert(sizes, at, reviewed)
    chosen = _nearest(own, limits, cuts, at)
    cut = float(cuts[chosen])
    if prices is not None and not limits:
        review = np.average(own.paid(prices, -1), weights=own.weight)
        if mean_cost(own.at(cut), prices, size).estimate >= review:
            cut = own.ends[1]  # review every case
    margin, smooth = None, False
    if len(limits) == 1 and limits[0].by is None and limits[0].limits_errors:
        margin = _margin(own, limits[0], cuts, len(own.y) if size is None else size)
        smooth = prices is None or cut < own.price_cut
    kept = np.unique(np.append(own.cuts_at(SHARES), cut))
    return Chosen(cut, kept, small, (), margin, smooth, _gap(limits, sizes / len(own.y), chosen))


def _gap(limits: Sequence[Limit], shares: Floats, at: int) -> tuple[float, float] | None:
    """Shares of reviews at the cut and at the next, if they lie far apart around a budget."""
    budget = next((x.most for x in limits if x.parameter == "review_budget"), None)
    if budget is None or at + 1 >= len(shares):
        return None
    below, above = float(shares[at]), float(shares[at + 1])
    return (below, above) if above - below > GAP and below < budget - GAP / 2 else None


def _nearest(own: OutOfFold, limits: Sequence[Limit], cuts: Floats, at: int | None) -> int:
    """Index of the cut that keeps all limits: the next to that of prices, if there are any.

    Else with the fewest reviews if errors are limited, or the most within a budget.
    """
    if not limits and at is not None:
        return at
    rates = np.array([count_limit(limit, own, cuts, smooth=True).rate for limit in limits])
    most = np.array([[limit.most] for limit in limits], dtype=np.float64)
    errors = any(limit.limits_errors for limit in limits)
    counted = np.ones(len(own.doubt)) if own.weight is None else own.weight > 0
    (n_decided,) = decided_sums(replace(own, weight=None), counted, cuts, [np.ones(len(own.doubt))])
    n = int(n_decided[0])
    if errors:  # the rate of a handful means nothing
        some = n_decided >= max(min(LEAST, n / 10), n / 100)
        rates = np.where(some, rates, np.inf)
    fine = np.flatnonzero((rates <= most + 1e-12).all(axis=0))
    if not len(fine):
        raise _refusal(limits, rates)
    if at is None:
        found = int(fine[0] if errors else fine[-1])
    else:
        fewer, more = fine[fine < at], fine[fine >= at]
        on = len(more) and (errors or more[0] == at or not len(fewer))
        found = int(more[0] if on else fewer[-1])
    if errors and n_decided[found] < FEW * n:
        limit = limits[0]
        warnings.warn(
            f"{limit} leaves few decisions: {n_decided[found]:,.0f} of {n:,} cases "
            f"({100 * n_decided[found] / n:.2g} %). So few cases say little about their error "
            f"rate. Raise {limit.parameter}, or find a better estimator.",
            UserWarning,
            stacklevel=5,
        )
    return found


def _refusal(limits: Sequence[Limit], rates: Floats) -> TargetUnattainable:
    """Say which limits no cut keeps, by their rates (n_limits, m) at every cut."""
    place = {limit._replace(most=None): j for j, limit in enumerate(limits)}

    def holds(tried: Sequence[Limit]) -> bool:
        rows = [place[limit._replace(most=None)] for limit in tried]
        most = np.array([[limit.most] for limit in tried], dtype=np.float64)
        return bool((rates[rows] <= most + 1e-12).all(axis=0).any())

    remedy = Text("give more cases, or try another ", Setting("estimator"))
    if limits[0].rate == "rejection_rate":
        remedy = Text("or lower ", Setting("review_share"), " of the detector")
    return refusal(limits, holds, "met by cross-validation", remedy)


def _margin(own: OutOfFold, limit: Limit, cuts: Floats, size: float) -> Margin:
    """Return the margin for an allowed error.

    The rate at a cut that meets the limit is above it about as often as not.  At the cut with the
    fewest reviews whose likely limit is within the target, it is above in one of ten.
    """
    bad, total = count_limit(limit, own, cuts, smooth=True)
    every = own.weight.sum() if own.weight is not None else len(own.forced)
    highest, some = np.ones(len(cuts)), total > 0
    rate = np.clip(bad[some] / total[some], 0.0, 1.0)
    highest[some] = wilson_limits(rate, size * total[some] / every, max(2 * SURE - 1, 0.1))[1]
    sure = np.flatnonzero(highest <= float(limit.most or 0.0))
    if not len(sure):
        return Margin(None, None, SURE)
    reviews = count_limit(Limit("review_budget", "rejection_rate", 1.0), own, cuts[sure[:1]])
    return Margin(float(bad[sure[0]] / total[sure[0]]), float(reviews.rate[0]), SURE)


def closest(points: Sequence[OutOfFold], limits: Sequence[Limit]) -> int:
    """Index of the learner, of those trained for several reject costs, that fits the limits best.

    With the fewest reviews if errors are limited, or the fewest errors; else the closest.
    """
    if len(points) == 1:
        return 0
    limits = [limit._replace(by=None) for limit in limits]  # of all cases, for a first look

    def rate(limit: Limit) -> list[float]:
        return [count_limit(limit, point, np.array([point.cut])).rate[0] for point in points]

    rates = np.array([rate(limit) for limit in limits])  # (n_limits, n_points)
    most = np.array([[limit.most] for limit in limits], dtype=np.float64)
    within = (rates <= most + 1e-12).all(axis=0)
    if not within.any():
        return int((rates - most).max(axis=0).argmin())
    R, E = (np.round(rate(Limit("", name, 1.0)), 12) for name in ("rejection_rate", "error_rate"))
    errors = any(limit.limits_errors for limit in limits)
    keys = (E, R) if errors else (R, E)  # the last one counts most
    return int(np.lexsort((*keys, ~within))[0])


def too_small(
    limits: Sequence[Limit], group: Indices, names: Sequence[str], n_new: int,
    confidence: float | None, *, refuse: bool,
) -> tuple[int, ...]:  # fmt: skip
    """Groups with too few cases for their limits, which go to review; or refuse them.

    How many of ``n_new`` cases belong to each is expected from the ``group`` (n,) of the cases to
    learn from: held-out cases must not choose the groups that they prove something for.
    """
    counts = np.bincount(group, minlength=len(names))
    counts = np.floor(counts * n_new / len(group) + 1e-9).astype(int)
    needed: dict[int, int] = {}  # cases that a small group would take
    first: Limit | None = None
    for limit in limits:
        if limit.by == "group" and limit.most is not None:
            least = (
                int(np.ceil(1 / limit.most)) if confidence is None
                else cases_needed(limit.most, confidence)
            )  # fmt: skip
            if counts[limit.member] < least:
                first = first or limit
                needed[limit.member] = max(least, needed.get(limit.member, 0))
    groups = tuple(sorted(needed))
    if first is None or not refuse:
        return groups
    listed = ", ".join(f"{names[g]!r} ({counts[g]})" for g in groups[:10])
    what = "calibration cases" if confidence is not None else "cases"
    level = "" if confidence is None else f" at {100 * confidence:g} %"
    raise TargetUnattainable(
        Text(
            first._replace(name=None).setting(),
            f"{level} takes at least {max(needed.values())} "
            f"{what} of each group, and some groups have fewer: {listed}",
        ),
        parameter="small_groups",
        remedy=Text(
            "Merge them with others in your data, or give ",
            Setting("small_groups", "review"),
            ", which sends all their cases to review.",
        ),
    )


def model_at(
    model: Any, cases: OutOfFold, means: Floats | None = None, by: CasePrices | None = None
) -> Any:
    """Return a copy of a fitted model that decides at the cut of these cases.

    If prices depend on the case, ``by`` says how, and ``means`` (K, K + 1) are theirs.
    """
    last, cut = last_step(model), cases.cut
    last = last.estimator_ if isinstance(last, CutRanking) else last
    if cases.prices is not None and by is not None and means is not None:
        about = {"prices": with_cut(means, cut), "case_prices": by._replace(cut=cut)}
        return with_last(model, last.at(**about))
    if cases.prices is not None:
        return with_last(model, last.at(prices=with_cut(cases.prices, cut)))
    if last.reject_cost_ not in (None, cases.trained_for):  # one fitted for several reject costs
        last = last.at(cases.trained_for)
    if cut == REGION:
        return with_last(model, last)
    widen = cut <= 1.0
    at = cut if widen else cut - 1.0
    limit = 1.0 / at - 1.0 if 0 < at <= 1 else -1.0 if at > 1 else 1e300  # of sureness
    ranking = CutRanking(estimator=clone(last), limit=limit, widen=widen)
    return with_last(model, ranking.answer_for(last))
