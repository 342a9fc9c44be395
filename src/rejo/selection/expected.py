"""What to expect of new cases at an operating point, with intervals: rates, classes, costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import beta, betabinom, gamma, norm, poisson

from rejo._state import check_fields, count, maybe, number, require, storable
from rejo._typing import Floats
from rejo.baselines import learn_pool, pooled
from rejo.metrics import Interval, intervals_html, tally
from rejo.prices import mean_prices, of_rows
from rejo.selection.out_of_fold import OutOfFold

# Of error_numbers, measured on six simulated lenders (2 to 30 % defaults, errors of 10 and 125
# reviews, 500 and 5,000 cases).  With half or twice the strength, intervals cover as often.
STRENGTH = 2.0  # of the prior: its variance is m (m + 1) / 2 where m errors are expected
# Errors of each decision that posteriors do not know of; with 0.05 costs are said too low, with 0.2
# too high by 1 % where an error costs 125 reviews.
UNSEEN = 0.1
MANY = 100_000  # cases in a batch, from which chance in it is nothing beside the rest
ROUNDING = 1e-12  # a share of decided cases below this is a rounding error of summed weights


@storable
class Expected(NamedTuple):
    """Rates in a batch of ``n_cases`` new cases: an estimate, and a prediction interval.

    The interval is for the rate of the batch: it also allows for chance in the batch.
    """

    rejection_rate: Interval[float]  # rejected / all
    error_rate: Interval[float]  # decided wrongly / all
    accepted_error_rate: Interval[float]  # decided wrongly / decided
    n_cases: int
    confidence: float  # approximate probability that a rate falls in its interval

    def _repr_html_(self) -> str:
        title = f"Expected of {self.n_cases:,} new cases"
        return intervals_html(title, dict(zip(self._fields, self[:3], strict=False)))

    def _check_state(self) -> None:
        """Three intervals of shares, a count and a share."""
        check_fields(self, n_cases=count(1, 1 << 53), confidence=number(1e-9, 1 - 1e-15))
        _check_intervals(self, self[:3], lambda rate: not (rate < 0 or rate > 1))  # it may be NaN


def _check_intervals(record: Any, intervals: Iterable[Any], test: Callable[[float], Any]) -> None:
    for part in intervals:
        fine = isinstance(part, Interval)
        fine = fine and all(isinstance(x, float) and test(x) for x in part)
        require(fine, record, "what it expects is malformed")


def estimate_rates(
    cases: OutOfFold,
    size: float,
    *,
    tested: float = 1.0,
    smooth: bool = False,
    luck: float = 0.0,
    held_out: OutOfFold | None = None,
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Estimate the shares of rejections and errors at the cut, and how many cases each is worth.

    Five variances add up: chance in the cases, and ``rho = n_test / n_train`` of it for what models
    of the folds do not share with that on all cases; a region that jumps from fold to fold (Nadeau
    and Bengio 2003), beyond chance; :func:`learning_drift`; ``luck`` in a cut that was chosen by
    its error rate; and how far ``held_out`` cases are from the folds, beyond chance.

    ``size`` is the number of independent cases, and ``tested`` the number of tests / number of
    cases; if ``smooth``, errors are read from a curve, for counted ones chose the cut.
    """
    found = tally(cases.decision, cases.y, cases.weight, cases.fold)
    folds = found.total  # (J,)
    J = len(folds)
    share = float(folds.mean() / folds.sum()) * tested if J > 1 else tested
    if share >= 1:
        raise ValueError(
            "cv tests on all cases, which leaves none to learn from: give cv=5, for example."
        )
    rho = share / (1.0 - share)
    n = size * min(tested, 1.0)
    drift = learning_drift(cases, 1.0 - share) if cases.p is not None else None
    rates, sizes = [], []
    for i, in_folds in enumerate((found.rejection_rate, found.error_rate)):
        rate = float(np.average(in_folds, weights=folds))
        v = max(rate * (1 - rate), (1 - 1 / n) / n)  # of no cases and of one: the same
        variance = (1 + (2 * rho if drift is None else rho)) * v / n
        if J > 1:
            spread = float(np.average((in_folds - rate) ** 2, weights=folds)) * J / (J - 1)
            chance = v * J / (size * tested)  # in a fold of average size
            variance += (1 / J + rho) * max(0.0, spread - 1.5 * chance)
        if drift is not None:
            variance += (0.9 * drift[i]) ** 2
        if i == 1:
            variance += luck * v / n
        if held_out is not None:
            seen = tally(held_out.decision, held_out.y)
            other = float((seen.rejection_rate, seen.error_rate)[i])
            chance = v / len(held_out.y) + variance
            variance += max(0.0, (other - rate) ** 2 - chance)
        rates.append(rate)
        sizes.append(float(v / variance))
    if smooth:
        decided = cases.decision >= 0
        rates[1] = float(np.average(np.where(decided, cases.chance, 0.0), weights=cases.weight))
    return (rates[0], rates[1]), (sizes[0], sizes[1])


def independent_cases(n_samples: int, sample_weight: Floats | None, groups: Any = None) -> float:
    """Number of cases of equal weight that these are worth; a group is worth one case."""
    n = float(n_samples)
    if sample_weight is not None:
        w = sample_weight / sample_weight.max()
        n = float(w.sum()) ** 2 / float(w @ w)  # Kish
    return n if groups is None else n * len(np.unique(groups)) / n_samples


def learning_drift(cases: OutOfFold, share: float) -> tuple[float, float]:
    """Estimate how the rates change if a model learns from all cases instead of ``share`` of them.

    The power ``b`` to which the posteriors must be raised to fit the cases says how far they are
    too extreme.  What is missing to 1 shrinks like one over the number of training cases.
    """
    assert cases.p is not None
    assert cases.prices is not None
    log_p = np.log(np.clip(cases.p, 1e-7, 1.0))
    own = np.arange(len(log_p)), cases.y

    def loss(b: float) -> float:
        return -float(np.average(log_softmax(b * log_p, axis=1)[own], weights=cases.weight))

    b = float(minimize_scalar(loss, bounds=(0.85, 1.15), method="bounded").x)
    later = replace(cases, p=softmax(b / (1 - share * (1 - b)) * log_p, axis=1))
    later = later.at_prices(cases.prices).at(cases.cut)
    tied = cases.doubt != cases.at_prices(cases.prices).doubt  # as the model on all cases has them
    later = replace(later, doubt=np.where(tied, cases.doubt, later.doubt))
    before, after = (tally(one.decision, one.y, one.weight) for one in (cases, later))
    return (
        float(after.rejection_rate - before.rejection_rate),
        float(after.error_rate - before.error_rate),
    )


@storable
class MeanCosts(NamedTuple):
    """What a case is expected to cost on average, at the prices that were given."""

    chosen: Interval[float]  # by the model
    review_all: float
    decide_all: Interval[float]
    spread: float | None = None  # standard deviation by the model, if prices differ by case

    @property
    def saves(self) -> float:
        """How much less a case costs than its review."""
        return self.review_all - self.chosen.estimate

    def _check_state(self) -> None:
        """A number, and two intervals."""
        check_fields(self, review_all=number(), spread=maybe(number(0.0)))
        _check_intervals(self, (self.chosen, self.decide_all), np.isfinite)


def error_numbers(
    cases: OutOfFold, n_classes: int, size: float | None = None, confidence: float = 0.95,
    likely: Floats | None = None,
) -> Interval[Floats]:  # fmt: skip
    """Estimate how many of ``size`` cases are errors of each kind (K, K), true class and decided.

    An error that costs a hundred reviews may not happen once among the cases at hand.  So the
    number of errors of each kind has a prior, what calibrated posteriors expect: it is a gamma
    distribution, at the expected number where errors are few, at the counted one where they are
    many.  ``likely`` (n, K) is what :func:`likely_classes` gives, if that is known.
    """
    decision, y, K = np.asarray(cases.decision, dtype=np.intp), cases.y, n_classes
    w, size = _weights(cases), _size(cases, size)
    q = likely_classes(cases, size) if likely is None else likely
    raw = q if cases.p is None else cases.p
    decided = (decision[:, None] == np.arange(K)).astype(np.float64)  # (n, K)
    some = np.isin(np.arange(K), decision)  # whether anything is decided so
    true = y[:, None] == np.arange(K)
    counted, expected = (size * (part * w[:, None]).T @ decided for part in (true, q))
    said = expected if raw is q else size * (raw * w[:, None]).T @ decided
    m = expected + UNSEEN / (K - 1)
    # Errors beyond what posteriors make likely say that these are wrong: the prior counts for less.
    surprise = np.maximum(counted - m, 0.0) ** 2 / (m + m * (m + 1) / STRENGTH)
    prior = STRENGTH / (m + 1) / np.maximum(surprise, 1.0)
    more, tail = 1 + _refit(cases), (1 - confidence) / 2

    def limit(share: float, prior: Floats) -> Floats:
        shape = (prior * m + counted) / more
        return np.asarray(gamma.ppf(share, shape, scale=more / (prior + 1)))

    number, low = (prior * m + counted) / (prior + 1), limit(tail, prior)
    high = np.maximum(limit(1 - tail, prior), limit(1 - tail, prior / 2))  # if they err in the tail
    number, low = (np.where(some, part, 0.0) for part in (number, low))
    # Limits move apart by what a model that is too sure of itself would still learn.
    learns = np.where(some, _refit(cases) / 2 * (number - said), 0.0)
    low, high = number - np.hypot(low - number, learns), number + np.hypot(high - number, learns)
    for part in (number, low, high):
        np.fill_diagonal(part, 0.0)
    return Interval(number, low, high)


def outcome_shares(
    cases: OutOfFold, n_classes: int, size: float | None = None, likely: Floats | None = None
) -> Floats:
    """Share (K, K + 1) of all cases of each true class that is decided as each class, or reviewed.

    Errors that were not seen count.  ``likely`` is as in :func:`error_numbers`.
    """
    K, w = n_classes, _weights(cases)
    outcome = np.where(cases.decision < 0, K, cases.decision).astype(np.intp)
    counts = np.bincount(cases.y * (K + 1) + outcome, weights=w, minlength=K * (K + 1))
    shares = counts.reshape(K, K + 1).astype(np.float64)
    size = _size(cases, size)
    errors = error_numbers(cases, K, size, likely=likely)
    off = ~np.eye(K, K + 1, dtype=bool)
    off[:, -1] = False
    shares[off] = (errors.estimate / size)[~np.eye(K, dtype=bool)]
    return shares


def mean_costs(
    cases: OutOfFold, prices: Floats, size: float | None = None, likely: Floats | None = None
) -> MeanCosts:
    """What a case costs at the cut of these cases, if all are reviewed, and if all are decided."""
    if likely is None and cases.p is not None:
        likely = likely_classes(cases, size)  # the same at any cut
    review = float(np.average(cases.paid(prices, -1), weights=cases.weight))
    everything = mean_cost(cases.all_decided(), prices, size, likely=likely)
    chosen, deviation = _cost_and_spread(cases, prices, size, 0.95, likely)
    return MeanCosts(chosen, review, everything, None if prices.ndim == 2 else deviation)


def _paid(cases: OutOfFold, prices: Floats) -> Floats:
    """What each case costs (n,) that is reviewed or decided rightly; 0 for the others."""
    decision = cases.decision
    right = (decision < 0) | (decision == cases.y)
    return np.where(right, cases.paid(prices, decision), 0.0)


def mean_cost(
    cases: OutOfFold, prices: Floats, size: float | None = None, confidence: float = 0.95,
    likely: Floats | None = None,
) -> Interval[float]:  # fmt: skip
    """Estimate what a case costs on average, where an error that was not seen counts too.

    The limits of all kinds of errors, and of what reviews cost, are combined by their squares
    (MOVER; Zou and Donner 2008).  With prices by case, errors of a kind cost what likely ones cost
    on average, and their limits are further apart by the spread of these prices.  ``likely`` is as
    for :func:`error_numbers`.
    """
    return _cost_and_spread(cases, prices, size, confidence, likely)[0]


def _cost_and_spread(
    cases: OutOfFold, prices: Floats, size: float | None, confidence: float, likely: Floats | None
) -> tuple[Interval[float], float]:
    """The mean cost, and the standard deviation of what a case costs."""
    size, means = _size(cases, size), mean_prices(prices)
    likely = likely_classes(cases, size) if likely is None else likely
    errors = error_numbers(cases, len(means), size, confidence, likely)
    w, paid = _weights(cases), _paid(cases, prices)
    mean = float(w @ paid)
    one = np.abs(means[:, -1]).max() / size  # one case more, or less, that is reviewed
    spread = (1 + _refit(cases)) * (w @ (paid - mean) ** 2 / size + one**2)
    spread *= norm.ppf(0.5 + confidence / 2) ** 2
    price, wide = (part / size for part in _error_prices(cases, prices, size, likely))
    mean += float((price * errors.estimate).sum())
    squares = float(w @ paid**2) + size * float((wide**2 * errors.estimate).sum())
    below, above = (
        float(np.sqrt(spread + ((wide * (end - errors.estimate)) ** 2).sum()))
        for end in (errors.low, errors.high)
    )
    cost = Interval(mean, max(mean - below, float(prices.min())), mean + above)
    return cost, float(np.sqrt(max(squares - mean**2, 0.0)))


def _error_prices(
    cases: OutOfFold, prices: Floats, size: float, likely: Floats | None
) -> tuple[Floats, Floats]:
    """Mean price of each kind of error (K, K) at the cut, and the root of their mean square.

    As their numbers, money has a prior, what posteriors expect: it counts like the expected errors
    where those counted are few, and less and less where they are many.
    """
    if prices.ndim == 2:
        return prices[:, :-1], prices[:, :-1]
    w, K = size * _weights(cases), prices.shape[1]
    q = likely_classes(cases, size) if likely is None else likely
    L, decision, found = of_rows(prices, cases.rows), cases.decision, np.zeros((2, K, K))
    for d in range(K):
        mine = np.flatnonzero(decision == d)
        v, y, p = w[mine], cases.y[mine], q[mine]
        errors, seen = v @ p, np.bincount(y, v, K)
        prior = STRENGTH / (errors + 1)
        total = prior * errors + seen
        for i in range(2):
            own = L[mine, :, d] ** (i + 1)  # (m, K)
            money = prior * (v @ (p * own)) + np.bincount(y, v * own[np.arange(len(y)), y], K)
            known = money / np.maximum(total, 1e-300)
            if not total.all():  # nothing is decided so
                rest = np.average(L[:, :, d] ** (i + 1), axis=0, weights=w)
                known = np.where(total > 0, known, rest)
            found[i, :, d] = known
    return found[0], np.sqrt(found[1])


def expect_cost(
    shares: Floats, prices: Floats, cost: Interval[float], n_cases: int, confidence: float = 0.95,
    spread: float | None = None,
) -> Interval[float]:  # fmt: skip
    """Predict the mean cost in a batch, given that in the long run; chance in the batch is added.

    ``shares`` (K, K + 1) are those of all outcomes; errors of each kind come one by one.  If prices
    differ by case, the ``spread`` of what a case costs says all of this.
    """
    K, tails = len(prices), np.array([1 - confidence, 1 + confidence]) / 2
    if spread is not None:
        chance = float(norm.ppf(tails[1])) * spread / np.sqrt(n_cases)
        away = [float(np.hypot(end - cost.estimate, chance)) for end in (cost.low, cost.high)]
        return Interval(cost.estimate, cost.estimate - away[0], cost.estimate + away[1])
    errors = np.append(1.0 - np.eye(K), np.zeros((K, 1)), axis=1)
    rest = np.where(errors > 0, 0.0, shares)
    mean = float((rest * prices).sum())
    spread = (float((rest * prices**2).sum()) - mean**2) / n_cases * norm.ppf(tails[1]) ** 2
    ends = []
    for end, tail in zip((cost.low, cost.high), tails, strict=True):
        away = (poisson.ppf(tail, n_cases * shares) / n_cases - shares) * prices * errors
        ends.append(np.sqrt((end - cost.estimate) ** 2 + max(spread, 0.0) + (away**2).sum()))
    return Interval(cost.estimate, float(cost.estimate - ends[0]), float(cost.estimate + ends[1]))


def _weights(cases: OutOfFold) -> Floats:
    n = len(cases.y)
    return np.full(n, 1.0 / n) if cases.weight is None else cases.weight / cases.weight.sum()


def _size(cases: OutOfFold, size: float | None) -> float:
    """Number of independent cases, unless it is known."""
    return independent_cases(len(cases.y), cases.weight) if size is None else size


def _refit(cases: OutOfFold) -> float:
    """Variance of a model on all cases, beside that of these; none if one model decided them."""
    n_folds = 1 if cases.fold is None else int(cases.fold.max()) + 1
    return 2 / (n_folds - 1) if n_folds > 1 else 0.0


def likely_classes(cases: OutOfFold, size: float | None = None) -> Floats:
    """Chance (n, K) of each class, by the posteriors of a model that may be too sure of itself.

    Without posteriors, the errors of each decision are divided by the shares of the classes.
    """
    w, y = _weights(cases), cases.y
    if cases.p is not None:
        power, _ = learn_pool(cases.p[None], y, w * len(w), offsets=False)
        return pooled(cases.p[None], np.minimum(power, 1.0))  # never surer than it says
    size = _size(cases, size)
    K = int(max(y.max(), cases.forced.max())) + 1 if cases.classes is None else len(cases.classes)
    share = np.bincount(y, weights=w, minlength=K)
    q = np.zeros((len(w), K))
    for d in np.unique(cases.decision[cases.decision >= 0]):
        mine = cases.decision == d
        other = np.where(np.arange(K) == d, 0.0, share)
        bad = size * (w[mine] @ (y[mine] != d)) + 0.5
        q[mine] = bad / (size * w[mine].sum() + 1) * other / max(other.sum(), 1e-300)
    return q


def expect(
    rejection_rate: float,
    error_rate: float,
    size: float | tuple[float, float],
    n_cases: int,
    confidence: float,
) -> Expected:
    """Predict the rates of ``n_cases`` new cases from rates observed in ``size`` cases.

    ``size`` may be two numbers: one for the rejection rate and one for the error rate.
    """
    of_rejections, of_errors = size if isinstance(size, tuple) else (size, size)
    decided = 1.0 - rejection_rate
    accepted = error_rate / decided if decided > ROUNDING else np.nan
    return Expected(
        _predict(rejection_rate, of_rejections, n_cases, confidence),
        _predict(error_rate, of_errors, n_cases, confidence),
        _predict(accepted, of_errors * decided, round(n_cases * decided), confidence),
        n_cases,
        confidence,
    )


def _predict(rate: float, size: float, n_cases: int, confidence: float) -> Interval[float]:
    """Beta-binomial prediction, from Jeffreys' prior."""
    if np.isnan(rate) or n_cases == 0:
        return Interval(rate, 0.0, 1.0)
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    shape = rate * size + 0.5, (1 - rate) * size + 0.5
    if n_cases > MANY:
        low, high = beta.ppf(tails, *shape)
    else:
        low, high = betabinom.ppf(tails, n_cases, *shape) / n_cases
    return Interval(rate, float(min(low, rate)), float(max(high, rate)))
