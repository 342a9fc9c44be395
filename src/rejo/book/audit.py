"""The error rate among the decided cases, and their cost, from an audit and from late outcomes.

An audit draws case ``i`` with a known probability ``pi_i``.  Errors are rare among decided cases, a
few of them in hundreds of audits, so that limits from a variance fail.  These do not rest on one:
for a value ``x_i`` (1: the decision is wrong), a forecast ``h_i`` made before, and a tilt ``c``,

    M = exp(c * sum_i (x_i - h_i) - sum_{i drawn} g(x_i - h_i)),
    g(r) = c r - log((1 - (1 - pi) exp(c r)) / pi)

has the mean 1 whatever the values are, case by case.  So it exceeds ``1 / alpha``, ever, with
probability ``alpha`` at most, and the total ``sum_i x_i`` has limits that hold at every look, in a
world that changes.  Tilts are mixed.  With ``h_i = lambda * chance_i``, this is prediction-powered
inference; ``lambda`` is tuned on earlier weeks (PPI++; Angelopoulos, Duchi and Zrnic 2023).

Outcomes replace the audit of a week once they are known.  Terms that begin in each week are
mixed, too: of those that begin after a known past, only the recent weeks are uncertain.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats
from rejo.book.timeline import Timeline

# Tilts, as the factor exp(-s) that an error found by the audit is worth: the largest suit no error,
# the smallest hundreds.  With twice as many, limits hardly change.
ABOVE, BELOW = np.geomspace(0.06, 6.0, 12), np.geomspace(0.06, 1.0, 8)
HIGHEST_FORECAST = 0.5  # of an error: with the tilts BELOW, all logarithms exist
BELIEF = 200  # audited cases that the model's own chances are worth, until audits say otherwise
HALF_LIFE = 26  # weeks in which half of the terms begin that do not begin at once


class Audit(NamedTuple):
    """For each week (n_weeks,), what is then known of all decided cases up to it."""

    rate: Floats  # mean over the decided cases
    low: Floats  # limits that hold in all weeks, with the confidence
    high: Floats
    forecast: Floats  # by the model's own chances of errors, an estimate
    n_cases: Floats  # decided cases that it speaks of
    n_audited: Floats  # of them, in weeks for which the audit speaks
    n_known: Floats  # decided cases whose truth counts


def begin_weights(n_weeks: int) -> Floats:
    """Weights of terms that begin in each week, half of all at once; with those to come, 1."""
    j = np.arange(n_weeks) + HALF_LIFE
    weights = 0.5 * HALF_LIFE / (j * (j + 1))
    weights[:1] += 0.5
    return np.asarray(weights)


def audit(
    cases: Timeline, *, of: str = "wrong", scale: float = 1.0, confidence: float = 0.95,
    powered: bool = True,
) -> Audit:  # fmt: skip
    """Estimate the mean of ``wrong`` or ``paid`` over all decided cases up to each week.

    Parameters
    ----------
    cases : Timeline
        Weeks in which nothing was drawn count once their outcomes are known.
    of : {"wrong", "paid"}, default="wrong"
        Errors, or costs.
    scale : float, default=1.0
        The highest possible value.
    confidence : float, default=0.95
        Least probability that the limits hold in all weeks.
    powered : bool, default=True
        Whether to use what the model says of the cases.

    Returns
    -------
    Audit
        ``nan``, 0 and ``scale`` as long as nothing is known.
    """
    T, K = cases.n_weeks, cases.n_classes
    d = np.flatnonzero(cases.decided)
    week, cell = cases.week[d], cases.week[d] * K + cases.forced[d]
    value = np.clip(getattr(cases, of)[d] / scale, 0.0, 1.0)
    said = np.clip((cases.chance if of == "wrong" else cases.cost)[d] / scale, 0.0, 1.0)
    known, pi = cases.known[d], cases.reached[d]
    drawn = cases.drawn[d] & (pi > 0) & np.isfinite(known)
    share = _shares(week[drawn], known[drawn], value[drawn], said[drawn], 1 / pi[drawn], T)
    forecast = np.minimum(share[week] * said, HIGHEST_FORECAST) if powered else 0.0 * said

    def cells(weights: Floats | None = None) -> Floats:
        return np.bincount(cell, weights, minlength=T * K).reshape(T, K).astype(np.float64)

    n, expected, trusted = cells(), cells(forecast), cells(said)
    seen = np.isfinite(known)
    at = cell[seen] * T + known[seen].astype(np.intp)
    n_known, x_known = (
        np.bincount(at, weights, minlength=T * K * T).reshape(T, K, T).cumsum(axis=2)
        for weights in (None, value[seen])
    )
    audited = np.full(T, np.inf)  # week from which the audit of a week counts
    np.minimum.at(audited, week[drawn], known[drawn])
    open_ = seen & ~cases.drawn[d]
    outcomes = np.full((T, K), np.inf)
    np.minimum.at(outcomes, (week[open_], cases.forced[d][open_]), known[open_])
    none_open = cells((~cases.drawn[d]).astype(np.float64)) == 0
    outcomes = np.where(none_open & (n > 0), audited[:, None], outcomes)
    least = float(pi[pi > 0].min(initial=1.0))
    digit = 10.0 ** (math.floor(math.log10(least)) - 1)
    least = math.floor(least / digit + 1e-9) * digit  # hardly ever changes later
    tilts = [-np.log1p(-least * -np.expm1(-ABOVE)), -np.log1p(least * np.expm1(BELOW))]
    rest = (value - forecast)[drawn]
    prices = [_price(rest[:, None] * c, pi[drawn][:, None]) for c in tilts]  # (n_drawn, n_tilts)
    where, since, weight = cell[drawn], known[drawn], 1 / pi[drawn]
    paid = [np.zeros((T * K, len(c))) for c in tilts]
    begins = begin_weights(T)
    found = np.full((T, 7), np.nan)
    for t in range(T):
        now = since == t
        for each, price in zip(paid, prices, strict=True):
            np.add.at(each, where[now], price[now])
        by_audit = (audited <= t)[:, None] & (n > 0)
        settled = (outcomes <= t) & (n > 0)
        covered, uncertain = by_audit | settled, by_audit & ~settled
        total, now_known = np.zeros((T, K)), n_known[:, :, t]
        total[settled] = x_known[:, :, t][settled]
        N = n[uncertain].sum() + now_known[settled].sum()
        found[t, 1:3], found[t, 4:] = (0.0, 1.0), (N, 0.0, now_known[covered].sum())
        if not N:
            continue
        mine = (since <= t) & uncertain.ravel()[where]
        estimate = total.sum() + expected[uncertain].sum()
        if mine.any():
            estimate += weight[mine] @ rest[mine] / weight[mine].sum() * n[uncertain].sum()
        # A term that begins in week j takes the audits from then on, and for decisions whose
        # outcomes never come those of all weeks; what it leaves out must be settled.
        never = np.asarray(~settled.any(axis=0))
        fine = (settled | ~covered | never).all(axis=1)
        J = min(T if fine.all() else int(fine.argmin()), t) + 1
        taken = by_audit.astype(np.float64)
        base = total.sum() + _taken((expected - total) * taken, never)[:J]
        ends = []
        for c, each in zip(tilts, paid, strict=True):
            cost = _taken(each.reshape(T, K, -1) * taken[:, :, None], never)[:J]
            cost -= np.log(begins[:J] / len(c))[:, None]
            ends.append(_end(c, base[:, None], cost, -math.log((1 - confidence) / 2)))
        high = min(ends[0], total.sum() + n[uncertain].sum())
        low = max(ends[1], total.sum())
        found[t, :3] = min(max(estimate, low), high) / N, low / N, high / N
        found[t, 3], found[t, 5] = trusted[covered].sum() / n[covered].sum(), (since <= t).sum()
    found[:, :4] *= scale
    return Audit(*found.T)


def _shares(
    week: NDArray[np.intp], known: Floats, value: Floats, said: Floats, weight: Floats, T: int
) -> Floats:
    """By how much (T,) the model's chances are to be multiplied, from what earlier weeks know."""
    strength, at = weight * (weight - 1), known.astype(np.intp)
    top, bottom, number = (
        np.bincount(at, part, minlength=T).cumsum()
        for part in (strength * value * said, strength * said * said, np.ones(len(at)))
    )
    prior = BELIEF * bottom / np.maximum(number, 1)
    share = np.ones(T)
    share[1:] = np.divide(prior + top, prior + bottom, out=np.ones(T), where=bottom > 0)[:-1]
    return np.asarray(np.clip(share, 0.0, 2.0))


def _price(tilted: Floats, pi: Floats) -> Floats:
    """``g`` of the module, of drawn cases."""
    return np.asarray(tilted - np.log((1 - (1 - pi) * np.exp(tilted)) / pi))


def _taken(parts: Floats, never: NDArray[np.bool_]) -> Floats:
    """Sums (T, ...) of parts (T, K, ...) from each week on; of some columns, of all weeks."""
    later = parts[:, ~never].sum(axis=1)[::-1].cumsum(axis=0)[::-1]
    return np.asarray(later + parts[:, never].sum(axis=(0, 1)))


def _end(c: Floats, base: Floats, cost: Floats, most: float) -> float:
    """Total at which the mixture of ``exp(c * (total - base) - cost)`` reaches ``exp(most)``.

    Its logarithm is convex, so Newton's steps from where one term does stay on the safe side.
    """
    alone = base + (most + cost) / c
    total = float(alone.min() if c[0] > 0 else alone.max())
    for _ in range(4):
        log = c * (total - base) - cost
        top = log.max()
        part = np.exp(log - top)
        total -= (top + math.log(part.sum()) - most) / float((c * part).sum() / part.sum())
    return total
