"""Alarms that may be looked at every day: what is no longer as it was in training, and since when.

Someone bets against "as in training" with a capital of 1.  Whatever the number of looks, the
capital reaches ``1 / a`` with probability ``a`` at most if nothing has changed (Ville).  There are
two ways to bet:

- What was *expected* is as uncertain as the cases it comes from: those of training, and of the
  weeks before the bet.  Counts of cases by bin (reviewed or not, the cells of a column) then have a
  Dirichlet-multinomial likelihood, and errors and costs that of a gamma and a Poisson; the bet is
  on one that is wider.
- A *promise* has a limit ``m``, whatever the cases.  The capital is multiplied by ``(1 + f x / pi)
  * exp(-f m / pi)`` for each case that becomes known, which is fair if the mean of ``x`` is ``m``.

A change in the middle of the year is met with capital kept for bets that begin in each week, as in
:func:`rejo.book.audit.begin_weights`.  All bets share one chance of a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from rejo._typing import Floats
from rejo.book.audit import begin_weights
from rejo.book.timeline import Timeline, trained_cells
from rejo.metrics import Interval

# The one place where alarms share the chance of a false one; those not watched leave theirs to the
# others, and promises, or columns, divide theirs.
SHARES = {"error": 0.3, "cost": 0.15, "review": 0.15, "novel": 0.1, "column": 0.2, "promise": 0.1}
FACTORS = np.array([1.25, 1.5, 2.0, 3.0, 5.0, 8.0])  # by which errors or costs may have grown
# Training and the weeks before a bet count for so much at most that a rate is uncertain by a
# twentieth, or a column by 3 % of its cells: a smaller change is of no use to anybody.
TOLERANCE, MOST_CELLS = 0.05, 2000.0
WIDER = (4.0, 40.0)  # what is bet on: that they count for so many times less
Z = 1.96  # of limits of 95 %
FIRST = 4  # weeks that the others are compared with, if training does not say what to expect
RECENT = 13  # weeks of the rates that are shown


class Series(NamedTuple):
    """A rate by week, and the bet against what was expected of it."""

    kind: str  # of SHARES
    name: str  # of the column or promise, else of the kind
    rate: Floats  # (n_weeks,), of what is known of each week
    n: Floats  # number of cases that this comes from
    expected: float | None  # in training, or promised
    bound: float  # above this it is tested; of counts, as expected
    log_capital: Floats  # (n_weeks,) at the end of each week
    needed: float  # log of the capital of an alarm
    begun: int  # week from which the best bet runs

    @property
    def raised(self) -> int | None:
        """The first week with an alarm."""
        over = np.flatnonzero(self.log_capital >= self.needed)
        return int(over[0]) if len(over) else None

    def mean(self, first: int, last: int | None = None) -> float:
        """Mean of the rate over some weeks."""
        n, rate = self.n[first:last], self.rate[first:last]
        return float(n @ np.where(n > 0, rate, 0.0) / n.sum()) if n.sum() else float("nan")


def watch(cases: Timeline, about: Mapping[str, Any], level: float = 0.05) -> list[Series]:
    """Bet against everything that the book expects of a model.

    Parameters
    ----------
    cases : Timeline
        Cases of one model.
    about : dict
        What the book knows of it: the ``rates`` of training with their limits, ``promises``,
        ``prices`` and ``columns``.
    level : float, default=0.05
        Chance that there is ever a false alarm.

    Returns
    -------
    list of Series
        Those that raise an alarm first.
    """
    wanted = list(_bets(cases, about))
    number = {kind: sum(one[0] == kind for one in wanted) for kind in SHARES}
    whole = sum(share for kind, share in SHARES.items() if number[kind])
    found = []
    for kind, name, bet, arguments in wanted:
        chance = level * SHARES[kind] / whole / number[kind]
        found.append(bet(kind, name, chance, **arguments))
    never = cases.n_weeks
    return sorted(found, key=lambda one: never if one.raised is None else one.raised)


def _bets(cases: Timeline, about: Mapping[str, Any]) -> Iterator[tuple[str, str, Any, Any]]:
    """Yield kind, name, the way to bet and what it needs."""
    rates = about.get("rates") or {}
    values = Values(cases)
    if "accepted_error_rate" in rates:
        yield "error", "error", values.series, {"expected": rates["accepted_error_rate"]}
    if cost := _decided_cost(about):
        top = float(np.max(np.asarray(about["prices"])[:, :-1]))
        yield "cost", "cost", values.series, {"expected": cost, "of": "paid", "scale": top}
    everything = np.bincount(cases.week, minlength=cases.n_weeks)
    for kind, which in (("review", cases.rejected), ("novel", cases.novel)):
        some = np.bincount(cases.week[which], minlength=cases.n_weeks)
        counts = np.stack([some, everything - some], axis=1).astype(np.float64)
        if kind == "review" and "rejection_rate" in rates:
            m, low, high = (rates["rejection_rate"][name] for name in Interval._fields)
            size = m * (1 - m) * (2 * Z / max(high - low, 1e-9)) ** 2
            trained = size * np.array([m, 1 - m])
        elif cases.n_weeks > FIRST and some.any():
            trained = counts[:FIRST].sum(axis=0)
            counts[:FIRST] = 0
        else:
            continue
        yield kind, kind, count_series, {"counts": counts, "trained": trained}
    for name, counts in cases.counts.items():
        trained = trained_cells(about["columns"][name])
        yield "column", name, count_series, {"counts": counts, "trained": trained}
    for promise in about.get("promises") or ():
        name = PROMISED[promise["rate"]].format(
            "" if promise["by"] is None else f" of {promise['by']} {promise['value']}"
        )
        given = {"rate": promise["rate"], "bound": promise["bound"]}
        scope = values.scope(promise["by"], promise["value"], about.get("classes") or [])
        if scope is not None and promise["rate"] != "mean_cost":
            yield "promise", name, values.promised, given | {"scope": scope}


def _decided_cost(about: Mapping[str, Any]) -> dict[str, float] | None:
    """What a decided case cost in training, with limits, if all reviews cost the same."""
    rates, prices = about.get("rates") or {}, about.get("prices")
    if prices is None or not {"mean_cost", "rejection_rate"} <= rates.keys():
        return None
    review, share = np.asarray(prices)[:, -1], rates["rejection_rate"]["estimate"]
    if np.ptp(review) > 0 or share >= 1:
        return None
    estimate = (rates["mean_cost"]["estimate"] - share * review[0]) / (1 - share)
    found = {"estimate": max(float(estimate), 0.0)}
    for end in ("low", "high"):
        away = rates["mean_cost"][end] - rates["mean_cost"]["estimate"]
        found[end] = found["estimate"] + away / (1 - share)
    return found if found["estimate"] > 0 else None


PROMISED = {
    "accepted_error_rate": "wrong of the decided cases{}", "error_rate": "wrong of all cases{}",
    "rejection_rate": "sent to review{}", "mean_cost": "cost of a case{}",
}  # fmt: skip


# ---- counts -------------------------------------------------------------------------------------


def count_series(kind: str, name: str, chance: float, *, counts: Floats, trained: Floats) -> Series:
    """Bet on counts (n_weeks, n_bins) that were ``trained`` (n_bins,) in training."""
    n = counts.sum(axis=1)
    mean = (trained + 0.5) / (trained + 0.5).sum()
    two = len(mean) == 2
    most = (1 - mean[0]) / mean[0] / TOLERANCE**2 if two else MOST_CELLS
    log_capital = count_bets(counts, trained + 0.5, max(most, 4.0))
    expected = float(mean[0]) if two else 0.0
    share = counts / np.maximum(n, 1)[:, None]
    rate = share[:, 0]
    if not two:  # cells that differ, beyond those that differ by chance
        spread = mean * (1 - mean) * (1 / np.maximum(n, 1)[:, None] + 1 / max(trained.sum(), 1.0))
        differ = 0.5 * np.abs(share - mean).sum(axis=1)
        by_chance = np.sqrt(spread / (2 * np.pi)).sum(axis=1)
        rate = np.sqrt(np.maximum(differ**2 - by_chance**2, 0.0))
    rate = np.where(n > 0, rate, np.nan)
    return _series(kind, name, rate, n, expected, expected, log_capital, chance)


def count_bets(counts: Floats, trained: Floats, most: float) -> Floats:
    """Log capital (n_weeks, n_weeks) of bets that begin in week ``j``, at the end of week ``t``.

    Without a change, counts since ``j`` are as in training and in the weeks before, which together
    are worth ``most`` cases at most.
    """
    T = len(counts)
    total = np.concatenate([np.zeros((1, counts.shape[1])), counts.cumsum(axis=0)])
    j, t = np.triu_indices(T)
    seen, prior = total[t + 1] - total[j], trained + total[j]
    prior *= np.minimum(1.0, most / prior.sum(axis=1))[:, None]
    found = np.zeros((T, T))
    found[j, t] = _wider(lambda by: _likelihood(seen, prior / by))
    return found


def _wider(likelihood: Callable[[float], Floats]) -> Floats:
    """Log of the bets on a likelihood that is so many times wider, mixed, against that for 1."""
    mixed = logsumexp([likelihood(by) for by in WIDER], axis=0) - np.log(len(WIDER))
    return np.asarray(mixed - likelihood(1.0))


def _likelihood(counts: Floats, prior: Floats) -> Floats:
    """Log probability (...,) of counts in one order, Dirichlet-multinomial."""
    some, all_ = prior.sum(axis=-1), prior.sum(axis=-1) + counts.sum(axis=-1)
    cells = (gammaln(prior + counts) - gammaln(prior)).sum(axis=-1)
    return np.asarray(cells + gammaln(some) - gammaln(all_))


# ---- values that are known late, and of some cases -----------------------------------------------


class Values:
    """Cases whose truth counts, with the weight of an audit that gave it."""

    def __init__(self, cases: Timeline) -> None:
        self.cases = cases
        self.rows = np.flatnonzero(np.isfinite(cases.known) & cases.own)
        T, own = cases.n_weeks, cases.own
        drawn = np.bincount(cases.week[cases.drawn & own], minlength=T)
        mean = drawn / np.maximum(np.bincount(cases.week[own], minlength=T), 1)
        weight = mean[cases.week] / np.where(cases.drawn, cases.probability, 1.0)
        weight = np.where(cases.drawn, weight, 1.0)  # 1 on average
        self.weight = weight[self.rows]
        one, two = (
            np.bincount(cases.week[cases.drawn & own], weight[cases.drawn & own] ** k, minlength=T)
            for k in (1, 2)
        )
        self.uneven = np.where(one > 0, two / np.maximum(one, 1e-300), 1.0)  # the less they tell

    def scope(self, by: str | None, value: Any, classes: list[str]) -> Any:
        """Which cases (n,) a promise is about; None if that is not known."""
        cases = self.cases
        if by is None:
            return np.ones(len(cases.week), dtype=bool)
        if by == "group":
            return cases.group == value
        if value not in classes:
            return None
        return (cases.forced if by == "decision" else cases.truth) == classes.index(value)

    def series(
        self, kind: str, name: str, chance: float, *, expected: Any, of: str = "wrong",
        scale: float = 1.0,
    ) -> Series:  # fmt: skip
        """Bet that the mean is above that of training, whose limits are of 95 %."""
        mean, low, high = (float(expected[name]) for name in Interval._fields)
        trained = (mean / max((high - low) / (2 * Z), 1e-9 * mean)) ** 2  # errors it is worth
        n, x, seen, due = self._sums(of, scale, mean)
        log = value_bets(seen, due, trained)
        return _series(kind, name, _rate(x, n) * scale, n, mean, mean, log, chance)

    def promised(
        self, kind: str, name: str, chance: float, *, rate: str, bound: float, scope: Any
    ) -> Series:
        """Bet that a promise is broken."""
        if rate == "accepted_error_rate":
            return self._bet(kind, name, chance, bound, scope)
        cases, T = self.cases, self.cases.n_weeks
        n = np.bincount(cases.week[scope], minlength=T)
        if rate == "rejection_rate":
            bad = np.bincount(cases.week[scope & cases.rejected], minlength=T)
            gain = bad[:, None] * np.log(FACTORS)
            log = _log_capital(np.diag(bound * n), gain[:, None] * np.eye(T)[:, :, None])
            return _series(kind, name, bad / np.maximum(n, 1), n, bound, bound, log, chance)
        decided = np.bincount(cases.week[scope & ~cases.rejected], minlength=T)
        # Errors are those of decided cases, which are a share of all.
        return self._bet(kind, name, chance, bound, scope, decided / np.maximum(n, 1))

    def _sums(self, of: str, scale: float, mean: float) -> tuple[Any, Any, Any, Any]:
        """Cases (T,) and their values, and by week of decision and truth the seen and the due."""
        cases, T = self.cases, self.cases.n_weeks
        week, known = cases.week[self.rows], cases.known[self.rows].astype(np.intp)
        x = np.clip(getattr(cases, of)[self.rows] / scale, 0.0, 1.0)
        part = self.weight / np.where(cases.drawn[self.rows], self.uneven[week], 1.0)
        at, shape = week * T + known, (T, T)
        seen = np.bincount(at, part * x, minlength=T * T).reshape(shape)
        due = np.bincount(at, part * mean / scale, minlength=T * T).reshape(shape)
        n = np.bincount(week, self.weight, minlength=T)
        return n, np.bincount(week, self.weight * x, minlength=T), seen, due

    def _bet(
        self, kind: str, name: str, chance: float, bound: float, scope: Any,
        share: Floats | None = None,
    ) -> Series:  # fmt: skip
        """Bet that errors are more than ``bound``, of the decided, or of which they are a share."""
        cases, T = self.cases, self.cases.n_weeks
        rows, weight = self.rows[scope[self.rows]], self.weight[scope[self.rows]]
        week, known = cases.week[rows], cases.known[rows].astype(np.intp)
        x, most = weight * cases.wrong[rows], bound / (np.ones(T) if share is None else share)
        n = np.bincount(week, weight, minlength=T)
        due = np.bincount(week * T + known, weight * most[week], minlength=T * T).reshape(T, T)
        gain = np.zeros((T, T, len(FACTORS)))
        bad = x > 0
        np.add.at(gain, (week[bad], known[bad]), np.log1p((FACTORS - 1) * x[bad][:, None]))
        rate = _rate(np.bincount(week, x, minlength=T), n) * bound / most
        return _series(kind, name, rate, n, bound, bound, _log_capital(due, gain), chance)


def _rate(total: Any, n: Any) -> Floats:
    return np.asarray(total / np.where(n > 0, n, np.nan))


def value_bets(seen: Floats, due: Floats, trained: float) -> Floats:
    """Log capital (T, T) of bets from week ``j``, at the end of ``t``, on more than was expected.

    ``seen`` and ``due`` (T, T), by the week of the decision and that of its truth, are errors and
    how many were expected.  Without a change, their ratio since ``j`` is that of ``trained`` errors
    and of the weeks before: it has a gamma distribution.
    """
    K, A = _since(seen), _since(due)
    a, b = trained + K[0] - K, trained + A[0] - A  # its shape and rate, by what came before
    part = np.minimum(1.0, 1 / TOLERANCE**2 / a)
    a, b = a * part, b * part

    def likelihood(by: float) -> Floats:
        shape, rate = a / by, b / by
        ratio = gammaln(shape + K) - gammaln(shape) + shape * np.log(rate)
        return np.asarray(ratio - (shape + K) * np.log(rate + A))

    log = _wider(likelihood)
    return np.where(K * b > A * a, log, np.minimum(log, 0.0))  # fewer errors are no alarm


def _since(by_truth: Floats) -> Floats:
    """Sums (T, T, ...) over decisions since week ``j`` whose truth was known by week ``t``."""
    return np.asarray(np.cumsum(by_truth[::-1].cumsum(axis=0)[::-1], axis=1))


def _log_capital(due: Any, gain: Floats) -> Floats:
    """Log capital (T, T) of bets from week ``j``, at the end of ``t``, on factors mixed equally.

    ``due`` (T, T) and ``gain`` (T, T, n_factors) are by the week of the decision, and that of its
    truth.
    """
    log = _since(gain) - (FACTORS - 1) * _since(due)[:, :, None]
    return np.asarray(logsumexp(log, axis=2) - np.log(len(FACTORS)))


def _series(
    kind: str, name: str, rate: Any, n: Any, expected: float, bound: float,
    log_capital: Floats, chance: float,
) -> Series:  # fmt: skip
    """Mix the bets that begin in each week; those that have not begun keep their capital."""
    T = len(rate)
    begin = begin_weights(T)
    log = np.where(np.triu(np.ones((T, T), dtype=bool)), log_capital, 0.0)
    log += np.log(begin)[:, None]
    rest = np.log1p(-begin.sum())
    mixed = np.logaddexp(logsumexp(log, axis=0), rest)
    needed = -float(np.log(chance))
    over = np.flatnonzero(mixed >= needed)
    at = int(over[0]) if len(over) else T - 1
    begun = int(log[: at + 1, at].argmax())
    return Series(kind, name, np.asarray(rate, np.float64), np.asarray(n, np.float64), expected,
                  bound, mixed, needed, begun)  # fmt: skip
