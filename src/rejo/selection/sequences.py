"""Candidates in an order that is settled before anybody looks at the calibration cases.

All limits are tested together at each candidate: it passes if each of them is proved by itself, at
the full confidence, for the candidate is bad as soon as one limit is broken, and the test of this
one goes wrong with the probability ``delta`` at most (an intersection-union test).  The first
candidate that fails is the last that is tested, so that all that passed keep all limits at once
(fixed-sequence testing; Angelopoulos et al., Learn then Test).  Nothing is divided by the number of
candidates or of limits.  Only if it is to be found out which groups can be promised anything at
all, several sequences share the confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logit, ndtr, ndtri
from scipy.stats import binom

from rejo._typing import Floats, Indices
from rejo.metrics import binomial_upper_bounds, mean_upper_bound, wilson_limits
from rejo.selection.cuts import rank_cuts, share_cuts
from rejo.selection.learned import Learned
from rejo.selection.ranked import Ranked
from rejo.selection.rate_limits import Counts, Limit, count_limit, decided_sums

SHARES = np.linspace(0.0, 1.0, 201)  # of reviews, at which a model may be cut
LEAST = 1e-6
PRIOR = 5.0  # errors that speak for the curve
HARDLY = 0.01  # a chance
FEW_BAD = 60  # cases, up to which their number is not taken as normal


class Line(NamedTuple):
    """Candidates in the order of their tests."""

    cuts: Floats  # (m,)
    reviewed: tuple[int, ...]  # groups that are reviewed entirely


class RankedCases(NamedTuple):
    """Cases that candidates decide."""

    ranked: Ranked
    wrong: Any  # (n,) whether the decision without a review is wrong, or how likely that is
    y: Indices  # (n,)
    group: Indices | None  # (n,)
    counted: Any = None  # (n,) whether it is wrong, if ``wrong`` says how likely that is

    def count_of(self, limit: Limit, cuts: Floats) -> Counts:
        """Count what a limit is about; what is likely, as well as the cases can tell.

        The curve that says how likely errors are knows nothing of true classes, so theirs are
        counted, and nothing of groups, so it is raised or lowered to the errors of each.
        """
        wrong = self.wrong
        if self.counted is not None and limit.by == "class":
            wrong = self.counted
        elif self.counted is not None and limit.by == "group":
            of = self.group == limit.member
            factor = (self.counted[of].sum() + PRIOR) / (wrong[of].sum() + PRIOR)
            wrong = np.minimum(factor * wrong, 1.0)
        return count_limit(limit, self.ranked, wrong, self.y, self.group, cuts)

    def in_groups(self, groups: Sequence[int]) -> Any:
        """Which cases (n,) are in one of these groups."""
        none = np.zeros(len(self.y), dtype=bool)
        return none if self.group is None else np.isin(self.group, groups)

    def reviewing(self, groups: Sequence[int]) -> RankedCases:
        """The same cases, those of these groups reviewed at any cut."""
        doubt = np.where(self.in_groups(groups), np.inf, self.ranked.doubt)
        return self._replace(ranked=self.ranked._replace(doubt=doubt))


def candidate_cuts(
    learned: Learned, limits: Sequence[Limit], rows: Any, *, given: Floats | None = None,
    priced: bool = False,
) -> Floats:  # fmt: skip
    """Cuts (m,) from many reviews to few, by shares of reviews of the ``rows`` (n,) out of fold."""
    if all(limit.rate == "mean_cost" for limit in limits):
        return np.array([learned.price_cut])  # the lowest expected cost
    doubt, chance = learned.own.doubt[rows], learned.chance[rows]
    ranking = rank_cuts(doubt, chance, ends=learned.ends, tie=learned.tie)
    cuts = ranking.cut[share_cuts(ranking, SHARES)] if given is None else given
    if priced:  # limits count where prices would not keep them
        if not any(limit.limits_errors for limit in limits):
            cuts = np.maximum(cuts, learned.price_cut)
        elif all(limit.limits_errors for limit in limits):
            cuts = np.minimum(cuts, learned.price_cut)
    return np.unique(cuts)


def sequence(
    cuts: Floats, limits: Sequence[Limit], hopes: Floats, price_cut: float | None = None
) -> Floats:
    """Put candidates (m,), from many reviews to few, in the order of their tests.

    If reviews help to keep a limit: from the one that is likeliest to be proved to those with fewer
    reviews.  Else, from the fewest reviews to more.
    """
    if not any(limit.limits_errors for limit in limits):
        return cuts[::-1]
    start = int(hopes.argmax())
    kept = cuts[start:]
    if price_cut is not None:  # up to this cut, a review pays anyway
        kept = kept[: max(1, int((kept <= price_cut).sum()))]
    return kept


def hopes_of(
    limits: Sequence[Limit], cases: RankedCases, cuts: Floats, n_new: float, confidence: float,
    prices: Floats | None,
) -> Floats:  # fmt: skip
    """What speaks for each candidate (m,) to be proved to keep all limits by ``n_new`` cases.

    The logarithm of its probability; or, if there is hardly a chance for any, how low the bounds
    may well be.
    """
    chance, margin = np.zeros(len(cuts)), np.full(len(cuts), np.inf)
    for limit in limits:
        p, distance = hope_of_limit(limit, cases, cuts, n_new, confidence, prices)
        chance += np.log(np.maximum(p, 1e-300))
        margin = np.minimum(margin, distance)
    return chance if chance.max() > np.log(HARDLY) else margin


def hope_of_limit(
    limit: Limit, cases: RankedCases, cuts: Floats, n_new: float, confidence: float,
    prices: Floats | None,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Probability (m,) that new cases prove a limit, and how far below it their bound may be."""
    if limit.most is None:
        return np.ones(len(cuts)), np.full(len(cuts), np.inf)
    if limit.rate == "mean_cost":
        mean, spread = _mean_cost(cases, cuts, prices)
        z = (limit.most - mean) / np.maximum(spread / np.sqrt(n_new), 1e-300)
        return ndtr(z - ndtri(confidence)), z
    bad, total = cases.count_of(limit, cuts)
    new = np.round(total * n_new / len(cases.y))
    some = total > 0
    rate = np.clip(bad[some] / total[some], 0.0, 1.0)
    if not some.any():  # nothing is known of it, so the other limits settle the order
        return np.zeros(len(cuts)), np.full(len(cuts), np.inf)
    highest, level = np.ones(len(cuts)), max(2 * confidence - 1, 0.1)  # two-sided
    highest[some] = wilson_limits(rate, np.maximum(new[some], 1e-9), level)[1]
    margin = logit(limit.most) - logit(np.clip(highest, LEAST, 1 - LEAST))
    return chance_of_proof(bad, total, new, limit.most, confidence), np.asarray(margin)


def chance_of_proof(
    bad: Floats, total: Floats, new: Floats, limit: float, confidence: float
) -> Floats:
    """Probability (m,) that ``new`` cases prove a limit, if ``bad`` of ``total`` others were bad.

    They prove it if no more than ``most`` of them are bad.  Their number is beta-binomial, from
    Jeffreys' prior; for many cases, nearly normal.
    """
    most = binom.ppf(1 - confidence, new, limit)
    most = np.where(binom.cdf(most, new, limit) <= 1 - confidence, most, most - 1)  # or -1
    a, b = bad + 0.5, np.maximum(total - bad, 0.0) + 0.5
    mean = new * a / (a + b)
    variance = mean * b / (a + b) * (1 + (new - 1) / (a + b + 1))
    found = ndtr((most + 0.5 - mean) / np.sqrt(np.maximum(variance, 1e-12)))
    few = (most <= FEW_BAD) & (most >= 0)
    k = np.arange(FEW_BAD + 1)[:, None]
    a, b, n = a[few], b[few], new[few]
    log_p = gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1)
    log_p = log_p + betaln(k + a, np.maximum(n - k, 0) + b) - betaln(a, b)
    found[few] = np.where(k <= most[few], np.exp(log_p), 0.0).sum(axis=0)
    return np.where(most < 0, 0.0, np.clip(found, 0.0, 1.0))


def _mean_cost(cases: RankedCases, cuts: Floats, prices: Floats | None) -> tuple[Floats, Floats]:
    """Mean and standard deviation (m,) of what a case costs at each candidate."""
    if prices is None:
        raise ValueError("max_cost needs prices")
    n, ranked = len(cases.y), cases.ranked
    review, decision = prices[cases.y, -1], prices[cases.y, ranked.forced]
    every = np.ones(n, dtype=bool)
    values = [decision - review, decision**2 - review**2]
    first, second = decided_sums(ranked, every, cuts, values)
    mean = (review.sum() + first) / n
    square = ((review**2).sum() + second) / n
    return mean, np.sqrt(np.maximum(square - mean**2, 0.0))


class Proof(NamedTuple):
    """How far a sequence of tests went."""

    n_passed: int  # candidates that keep all limits
    bounds: Floats  # (n_limits, n_tested) of each limit at the candidates that were tested
    totals: Floats  # (n_limits, n_tested) cases that count


def prove_line(
    limits: Sequence[Limit],
    cases: RankedCases,
    cuts: Floats,
    confidence: float,
    prices: Floats | None,
) -> Proof:
    """Test candidates on calibration cases, one after the other, until one fails."""
    found = [bounds_of(limit, cases, cuts, confidence, prices) for limit in limits]
    bounds = np.array([bound for bound, _ in found])  # (n_limits, m)
    totals = np.array([total for _, total in found])
    failed = np.flatnonzero(~keeps(limits, bounds).all(axis=0))
    passed = int(failed[0]) if len(failed) else len(cuts)
    return Proof(passed, bounds[:, : passed + 1], totals[:, : passed + 1])


def keeps(limits: Sequence[Limit], bounds: Floats) -> Any:
    """Whether bounds (n_limits, m) are within the limits."""
    most = np.array([np.inf if limit.most is None else limit.most for limit in limits])
    return bounds <= most[:, None] * (1 + 1e-9)


def bounds_of(
    limit: Limit, cases: RankedCases, cuts: Floats, confidence: float, prices: Floats | None
) -> tuple[Floats, Floats]:
    """Upper bounds (m,) for a rate, or a cost, at each candidate, and how many cases count."""
    if limit.rate == "mean_cost":
        bounds = [cost_bound(cases, cut, confidence, prices) for cut in cuts]
        return np.array(bounds), np.full(len(cuts), float(len(cases.y)))
    bad, total = cases.count_of(limit, cuts)
    return binomial_upper_bounds(np.round(bad), np.round(total), confidence), total


def cost_bound(cases: RankedCases, cut: float, confidence: float, prices: Floats | None) -> float:
    """Upper bound for the mean cost of a case at one candidate."""
    if prices is None:
        raise ValueError("max_cost needs prices")
    column = cases.ranked.decisions([cut])[0]  # -1 is the last: a review
    low, high = float(prices.min()), float(prices.max())
    return float(mean_upper_bound(prices[cases.y, column], confidence, low, high))
