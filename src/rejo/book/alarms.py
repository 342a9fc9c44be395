"""Alarms that may be looked at every day: what is no longer as it was in training, and since when.

Someone bets against "as in training" with a capital of 1.  Whatever the number of looks, the
capital reaches ``1 / a`` with probability ``a`` at most if nothing has changed (Ville).  There are
two ways to bet:

- What was *expected* is as uncertain as the cases it comes from: those of training, and of the
  weeks before the bet.  Counts of cases by bin (reviewed or not, the cells of a column) then have a
  Dirichlet-multinomial likelihood, and errors and costs that of a gamma and a Poisson; the bet is
  on one that is wider.
- A *promise* has a limit, whatever the cases, and is tested as it was made.

A change in the middle of the year is met with capital kept for bets that begin in each week, as in
:func:`rejo.book.audit.begin_weights`.  All bets share one chance of a false alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaincc, gammaln, logsumexp

from rejo._typing import Floats
from rejo.book.audit import begin_weights
from rejo.book.timeline import Timeline, trained_cells
from rejo.metrics import Interval

# The one place where alarms share the chance of a false one; those not watched leave theirs to the
# others, and promises, or columns, divide theirs.
SHARES = {"error": 0.3, "cost": 0.15, "review": 0.15, "novel": 0.1, "column": 0.2, "promise": 0.1}
RATIOS = (2.5, 25.0)  # shapes of how many times more errors there may be than were promised
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
    if rates.get("accepted_error_rate", {}).get("high", 0) > 0:
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
        known = promise["rate"] == "accepted_error_rate" or promise["by"] != "class"
        if scope is not None and known and promise["rate"] != "mean_cost":
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
    return _series(kind, name, rate, n, expected, log_capital, chance)


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
        self.most = np.ones(T)  # the highest weight of each week
        np.maximum.at(self.most, cases.week[self.rows], self.weight)

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
        mean, low, high = (float(expected[name]) / scale for name in Interval._fields)
        mean = max(mean, 0.1 * high)  # if there was no error
        trained = (mean / max((high - low) / (2 * Z), 1e-9 * mean)) ** 2  # errors it is worth
        every = np.ones(len(self.cases.week), dtype=bool)
        rate, n, seen, due = self._sums(getattr(self.cases, of) / scale, mean, every, self.uneven)
        log = value_bets(seen, due, trained)
        return _series(kind, name, rate * scale, n, mean * scale, log, chance)

    def promised(
        self, kind: str, name: str, chance: float, *, rate: str, bound: float, scope: Any
    ) -> Series:
        """Bet that a promise is broken."""
        cases, T = self.cases, self.cases.n_weeks
        n = np.bincount(cases.week[scope], minlength=T)
        bad = np.bincount(cases.week[scope & cases.rejected], minlength=T)
        if rate == "rejection_rate":
            log = promise_bets(np.diag(bad * 1.0), np.diag(bound * n))
            return _series(kind, name, _rate(bad, n), n, bound, log, chance)
        # Errors of all cases are those of the decided ones.
        share = 1.0 if rate == "accepted_error_rate" else np.maximum(1 - _rate(bad, n), 1e-9)
        seen_rate, n, seen, due = self._sums(cases.wrong, bound / share, scope, self.most)
        log = promise_bets(seen, due)
        return _series(kind, name, seen_rate * share, n, bound, log, chance)

    def _sums(self, value: Floats, mean: Any, scope: Any, divisor: Floats) -> tuple[Any, ...]:
        """Rate (T,) and cases by week; by week of decision and truth the seen and the due.

        ``mean`` is what is due of a case, in each week; weights of an audit count for less.
        """
        cases, T = self.cases, self.cases.n_weeks
        inside = scope[self.rows]
        rows, weight = self.rows[inside], self.weight[inside]
        week, x = cases.week[rows], np.clip(value[rows], 0.0, 1.0)
        part = weight / np.where(cases.drawn[rows], divisor[week], 1.0)
        at = week * T + cases.known[rows].astype(np.intp)
        due = part * np.broadcast_to(mean, T)[week]
        n = np.bincount(week, weight, minlength=T)
        rate = _rate(np.bincount(week, weight * x, minlength=T), n)
        sums = (np.bincount(at, y, minlength=T * T).reshape(T, T) for y in (part * x, due))
        return rate, n, *sums


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
    """Sums (T, T) over decisions since week ``j`` whose truth was known by week ``t``."""
    return np.asarray(np.cumsum(by_truth[::-1].cumsum(axis=0)[::-1], axis=1))


def promise_bets(seen: Floats, due: Floats) -> Floats:
    """As :func:`value_bets`, on more than is promised, whatever training saw.

    Errors that count 1 at most, with a mean of ``m`` at most, multiply the capital fairly by
    ``r ** x * exp((1 - r) m)``; ratios ``r`` above 1 are mixed by a gamma distribution.
    """
    K, A = _since(seen), _since(due)

    def likelihood(shape: Any, rate: Any) -> Any:
        with np.errstate(divide="ignore"):  # the bet is lost
            above = np.log(gammaincc(shape, rate))
        return gammaln(shape) + above - shape * np.log(rate)

    bets = [A + likelihood(a + K, a + A) - likelihood(a, a) for a in RATIOS]
    return np.asarray(logsumexp(bets, axis=0) - np.log(len(bets)))


def _series(
    kind: str, name: str, rate: Any, n: Any, expected: float, log_capital: Floats, chance: float
) -> Series:
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
                  mixed, needed, begun)  # fmt: skip
