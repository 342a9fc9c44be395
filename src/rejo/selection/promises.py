"""What can be promised about a rate, by cases that the candidates have never seen.

Candidates are cuts in the ranking of a fitted learner.  They, and the order in which they are
tested, are settled before anybody looks at the held-out cases.  A rate is bounded exactly, for any
distribution of the data (Clopper and Pearson).

A candidate passes if each limit is proved by itself, at the full confidence: it is bad as soon as
one limit is broken, and the test of this one goes wrong with probability ``delta`` at most (an
intersection-union test).  The first candidate that fails is the last that is tested (fixed-sequence
testing; Angelopoulos et al., Learn then Test), so nothing is divided by the number of candidates.
Only if it is open which groups can be promised anything, several sequences share the confidence.

Of cases that belong together, one of each group counts in the exact test.  All of them count in a
bet: ``z_g``, the mean over group ``g`` of ``bad - limit * counts``, has an expectation above 0 if
the limit is broken, and then ``prod_g (1 - stake * z_g)`` reaches ``1 / delta`` with probability
``delta`` at most.  Stakes, and which of the two tests is used, are settled beforehand, too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logit, ndtr, ndtri
from scipy.stats import binom

from rejo._errors import RejoError, Setting, Text
from rejo._html import table_html
from rejo._state import check_fields, count, maybe, number, one_of, require, storable, text
from rejo._typing import Floats
from rejo.metrics import (
    binomial_p_values,
    binomial_upper_bounds,
    mean_upper_bound,
    wilson_limits,
)
from rejo.prices import of_rows
from rejo.selection.folds import one_each
from rejo.selection.limits import RATES, Limit, count_limit, members, name_limits
from rejo.selection.out_of_fold import OutOfFold

SHARES = np.linspace(0.0, 1.0, 201)  # of reviews, at which a model may be cut
LEAST = 1e-6
HARDLY = 0.01  # a chance
FEW_BAD = 60  # cases, up to which their number is not taken as normal
STEPS = np.array(
    [1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]
)  # of round numbers
# Shares of the highest stake, at which one group of errors ruins the gambler.
STAKES = np.array([0.02, 0.04, 0.06, 0.09, 0.13, 0.18, 0.25, 0.33, 0.43, 0.55, 0.7, 0.85, 0.95])
LITTLE = 0.05  # groups of each kind that are added before stakes are settled
DRAWS = 200  # of groups, to choose between the tests
SURE = 0.9  # that a group can be promised something
HEAVY = 5.0  # times the usual highest price of a case: the bound for a mean cost suffers from more
CAPPED = 0.95  # share of the cases that a suggested cap leaves as they are
MOST_LINES = 6  # sequences that share the confidence

ASSUMPTIONS = {
    "random": "This holds if new cases are drawn from the same population as these, independently "
    "of each other.",
    "one_each": "This holds for one case of a new group (a person, a thing) that is drawn from the "
    "same population as these, and not for all cases of one group.",
    "latest": "This holds as long as new cases are like the latest cases, which proved it.",
    "latest_one_each": "This holds for one case of a new group (a person, a thing), as long as new "
    "groups are like the latest, which proved it.",
}


class TargetUnattainable(RejoError):
    """No candidate reaches the target; the message says what is attainable.

    Parameters
    ----------
    problem : str
        What is wrong.
    attainable : float, default=nan
        The lowest round value that could be asked for.
    **parts : str
        ``parameter`` that sets the target, and ``remedy``, what to do about it.
    """

    def __init__(self, problem: str, attainable: float = np.nan, **parts: Any) -> None:
        super().__init__(problem, **parts)
        self.attainable = attainable


@storable
class Guarantee(NamedTuple):
    """With probability ``confidence`` over the data, the true rate is at most ``bound``.

    If there are several, all of them hold at once with this probability.
    """

    rate: str  # one of RATES
    bound: float
    target: float | None  # what was asked for; None if the bound says what was found
    confidence: float
    n_cases: int  # calibration cases that count: all, or the decided ones
    n_candidates: int  # from which the model was chosen
    by: str | None = None  # "class", "decision" or "group", if it is about some of the cases
    value: str | None = None  # the class or group
    rests_on: str = "random"  # how calibration cases were chosen
    highest: float | None = None  # what a case counts for at most, if prices differ by case

    @property
    def assumption(self) -> str:
        """What it rests on, in a sentence."""
        return ASSUMPTIONS[self.rests_on]

    def _repr_html_(self) -> str:
        about = {} if self.by is None else {f"of {self.by}": [self.value]}
        columns = {
            "rate": [self.rate], **about, "at most": [self.bound], "asked for": [self.target],
            "confidence": [self.confidence], "cases": [self.n_cases],
        }  # fmt: skip
        shares = {"confidence"} if self.rate == "mean_cost" else {*columns} - {"cases"}
        return table_html("Guarantee", columns, shares=shares, notes=[self.assumption])

    def _check_state(self) -> None:
        """The name of a rate, shares or a cost, counts, and what it is about."""
        check_fields(self, rate=one_of(*RATES))
        share = number() if self.rate == "mean_cost" else number(0.0, 1.0)
        check_fields(
            self, bound=share, target=maybe(share), confidence=number(1e-9, 1 - 1e-15),
            n_cases=count(0, 1 << 53), n_candidates=count(1), value=maybe(text()),
            highest=maybe(number()),
            by=one_of(None, "class", "decision", "group"), rests_on=one_of(*ASSUMPTIONS),
        )  # fmt: skip
        require((self.by is None) == (self.value is None), self, "it does not say what it is about")


# ---- candidates, and the order of their tests ---------------------------------------------


class Tests(NamedTuple):
    """What is settled before the held-out cases are looked at."""

    own: OutOfFold  # cases that candidates, and their order, come from
    limits: Sequence[Limit]
    prices: Floats | None
    confidence: float
    n_new: int  # number of held-out cases
    given: Floats | None = None  # cuts to try, in place of every half a percent of reviews

    @property
    def highest(self) -> float | None:
        """The highest price of cases to learn from, for which any case counts at most.

        The bound for a mean cost needs a highest cost that is known beforehand.
        """
        if self.prices is None or self.prices.ndim == 2:
            return None
        return float(of_rows(self.prices, self.own.rows).max())

    @property
    def price_cut(self) -> float:
        """The cut up to which a review pays; if reviews are free, a cost says nothing of them.

        As few as keep it are asked for then, as with errors.
        """
        L, bounded = self.prices, any(x.rate == "mean_cost" and x.most for x in self.limits)
        if bounded and L is not None and not L[..., -1].any():
            return self.own.ends[0]
        return self.own.price_cut

    def kept(self, reviewed: Sequence[int]) -> list[Limit]:
        """The limits that remain if some groups are reviewed entirely."""
        return [x for x in self.limits if x.by != "group" or x.member not in reviewed]

    def line(self, reviewed: Sequence[int], limits: Sequence[Limit] | None = None) -> Floats:
        """Candidates (m,) in the order of their tests, if some groups are reviewed entirely.

        From the one that is likeliest to be proved to fewer reviews or, of budgets, to more.
        """
        limits = self.kept(reviewed) if limits is None else limits
        if not limits:
            raise TargetUnattainable(
                "no group has enough cases to promise anything",
                parameter="small_groups", remedy="Give more cases, or a higher limit.",
            )  # fmt: skip
        cuts = self.cuts(limits, reviewed)
        if not any(limit.limits_errors for limit in limits):
            return cuts[::-1]
        own = reviewing(self.own, reviewed)
        kept = cuts[int(self.hopes(limits, own, cuts).argmax()) :]
        if self.prices is not None and not reviewed:  # up to this cut, a review pays anyway
            kept = kept[: max(1, int((kept <= self.price_cut).sum()))]
        return kept

    def lines(self, small: tuple[int, ...], review: bool) -> dict[tuple[int, ...], Floats]:
        """Sequences of candidates, by the groups that are reviewed entirely."""
        lines = {small: self.line(small)}
        if not review:
            return lines
        groups = {limit.member: limit for limit in self.kept(small) if limit.by == "group"}
        own, cuts = reviewing(self.own, small), self.cuts(self.kept(small), small)
        chances = {g: self.hope(limit, own, cuts)[0].max() for g, limit in groups.items()}
        worst = sorted(groups, key=lambda g: (chances[g], g))
        n_doubtful = sum(chance < SURE for chance in chances.values())
        if not n_doubtful:
            return lines
        # Leave out the worst, the two worst, and so on: one more than the doubtful ones.
        most = min(n_doubtful + 1, len(groups) - 1)
        left_out = np.unique(np.linspace(1, most, MOST_LINES - 1).round().astype(int))
        left_out = left_out[(left_out > 0) & (left_out < len(groups))]
        more = [tuple(sorted([*small, *worst[:n]])) for n in left_out]
        return lines | {groups: self.line(groups) for groups in more}

    def cuts(self, limits: Sequence[Limit], reviewed: Sequence[int]) -> Floats:
        """Candidates (m,) from many reviews to few, by shares of reviews out of fold."""
        lowest = self.price_cut == self.own.price_cut
        if lowest and all(limit.rate == "mean_cost" for limit in limits):
            return np.array([self.own.price_cut])  # the lowest expected cost
        cuts = self.given
        if cuts is None:
            own = self.own.take(~in_groups(self.own, reviewed)) if len(reviewed) else self.own
            cuts = own.cuts_at(SHARES)
        if self.prices is not None:  # limits count where prices would not keep them
            if not any(limit.limits_errors for limit in limits):
                cuts = np.maximum(cuts, self.price_cut)
            elif all(limit.limits_errors for limit in limits):
                cuts = np.minimum(cuts, self.price_cut)
        return np.unique(cuts)

    def hopes(self, limits: Sequence[Limit], own: OutOfFold, cuts: Floats) -> Floats:
        """Log of the chance (m,) that new cases prove all limits, or how low bounds may be."""
        chance, margin = np.zeros(len(cuts)), np.full(len(cuts), np.inf)
        for limit in limits:
            p, distance = self.hope(limit, own, cuts)
            chance += np.log(np.maximum(p, 1e-300))
            margin = np.minimum(margin, distance)
        return chance if chance.max() > np.log(HARDLY) else margin

    def hope(self, limit: Limit, own: OutOfFold, cuts: Floats) -> tuple[Floats, Floats]:
        """Probability (m,) that new cases prove a limit, and how low their bound may be."""
        if limit.most is None:
            return np.ones(len(cuts)), np.full(len(cuts), np.inf)
        bad, total = count_limit(limit, own, cuts, smooth=True, prices=self.prices)
        if limit.rate == "mean_cost":
            assert self.prices is not None
            paid = own.paid(self.prices, own.decisions(cuts))  # (m, n)
            spread = paid.std(axis=1) / np.sqrt(self.n_new)
            z = (limit.most - bad / total) / np.maximum(spread, 1e-300)
            return ndtr(z - ndtri(self.confidence)), z
        every = len(own.y) if own.weight is None else own.weight.sum()
        new: Floats = np.round(total * self.n_new / float(every))
        some = total > 0
        if not some.any():  # nothing is known of it, so the other limits settle the order
            return np.zeros(len(cuts)), np.full(len(cuts), np.inf)
        rate = np.clip(bad[some] / total[some], 0.0, 1.0)
        highest, level = np.ones(len(cuts)), max(2 * self.confidence - 1, 0.1)  # two-sided
        highest[some] = wilson_limits(rate, np.maximum(new[some], 1e-9), level)[1]
        margin = logit(limit.most) - logit(np.clip(highest, LEAST, 1 - LEAST))
        return chance_of_proof(bad, total, new, limit.most, self.confidence), np.asarray(margin)


def in_groups(cases: OutOfFold, groups: Sequence[int]) -> Any:
    """Which cases (n,) are in one of these groups."""
    none = np.zeros(len(cases.forced), dtype=bool)
    return none if cases.group is None else np.isin(cases.group, groups)


def reviewing(cases: OutOfFold, groups: Sequence[int]) -> OutOfFold:
    """The same cases, those of these groups reviewed at any cut."""
    if not len(groups):
        return cases
    return replace(cases, doubt=np.where(in_groups(cases, groups), np.inf, cases.doubt))


def chance_of_proof(
    bad: Floats, total: Floats, new: Floats, limit: float, confidence: float
) -> Floats:
    """Probability (m,) that ``new`` cases prove a limit, if ``bad`` of ``total`` others were bad.

    The number of bad ones is beta-binomial, from Jeffreys' prior; for many cases, nearly normal.
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


# ---- proofs -------------------------------------------------------------------------------


def prove(
    tests: Tests, held_out: OutOfFold, small: tuple[int, ...], review: bool, rests_on: str
) -> tuple[float, Floats, tuple[int, ...], list[Guarantee]]:
    """Test candidates in the settled order on held-out cases; refuse if none passes.

    With ``review``, groups that nothing is proved for may be sent to review.  Return the cut, all
    candidates of its sequence, the groups that are reviewed entirely, and what is proved.
    """
    lines = tests.lines(small, review)
    level = 1 - (1 - tests.confidence) / len(lines)
    n_candidates = sum(map(len, lines.values()))
    best, most_decided = None, -1.0
    for reviewed, cuts in lines.items():
        limits, new = tests.kept(reviewed), reviewing(held_out, reviewed)
        own = reviewing(tests.own, reviewed)
        proofs = [prove_limit(x, own, new, cuts, level, tests.prices) for x in limits]
        at = int(np.cumprod([passed for passed, *_ in proofs], axis=1).all(axis=0).sum()) - 1
        decided = float((new.decisions(cuts[at : at + 1]) >= 0).mean()) if at >= 0 else -1.0
        if decided > most_decided:
            guarantees = [
                Guarantee(
                    x.rate, float(bound[at]) if x.most is None else x.most, x.most,
                    tests.confidence, int(total[at]), n_candidates, x.by, x.name, rests_on,
                    tests.highest if x.rate == "mean_cost" else None,
                )
                for x, (_, bound, total) in zip(limits, proofs, strict=True)
            ]  # fmt: skip
            best, most_decided = (float(cuts[at]), cuts, reviewed, guarantees), decided
    if best is None:
        raise _refusal(tests, small, held_out, rests_on)
    return best


def prove_limit(
    limit: Limit, own: OutOfFold, new: OutOfFold, cuts: Floats, confidence: float,
    prices: Floats | None,
) -> tuple[Any, Floats, Floats]:  # fmt: skip
    """Test one limit at each candidate; of cases that belong together, by what suits ``own``.

    Return whether it is proved (m,), bounds (m,) by the exact test, and how many cases count (m,).
    """
    one = new if new.together is None else new.take(one_each(new.together))
    if prices is not None and limit.rate == "mean_cost":
        prices = np.minimum(prices, of_rows(prices, own.rows).max())
    bound, total = bounds_of(limit, one, cuts, confidence, prices)
    most = np.inf if limit.most is None else limit.most
    passed = bound <= most * (1 + 1e-9)
    if new.together is None or limit.most is None or limit.rate == "mean_cost":
        return passed, bound, total
    n_new = len(one.forced)
    scores, shares = group_scores(limit, own, cuts), (own.decisions(cuts) >= 0).mean(axis=1)
    stakes = settle_stakes(scores, limit.most, n_new, confidence)
    if prefers_bets(limit, own, cuts, scores, stakes, n_new, confidence, shares):
        fresh = group_scores(limit, new, cuts)
        won = np.log1p(-stakes * fresh).sum(axis=0) >= -np.log(1 - confidence)
        return won, bound, np.full(len(cuts), float(n_new))
    return passed, bound, total


def _parts(limit: Limit, cases: OutOfFold, cuts: Floats) -> tuple[Any, Any]:
    """Which cases (m, n) are bad at each cut, and which count."""
    of, reviewed = members(limit, cases), cases.decisions(cuts) < 0
    if limit.rate == "rejection_rate":
        return reviewed & of, np.broadcast_to(of, reviewed.shape)
    decided = ~reviewed & of
    among_decided = limit.rate == "accepted_error_rate" or limit.by == "decision"
    return decided & cases.wrong, decided if among_decided else np.broadcast_to(of, decided.shape)


def group_scores(limit: Limit, cases: OutOfFold, cuts: Floats) -> Floats:
    """Mean (n_groups, m) of ``bad - most * counts`` over what belongs together, at each cut."""
    bad, counts = _parts(limit, cases, cuts)
    _, index = np.unique(cases.together, return_inverse=True)
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(index.max() + 1))
    score = (bad - float(limit.most or 0.0) * counts)[:, order]
    return np.asarray((np.add.reduceat(score, starts, axis=1) / np.bincount(index)).T)


def settle_stakes(own: Floats, limit: float, n_new: int, confidence: float) -> Floats:
    """Stakes (m,) by the scores (n, m) of groups that the model learned from, out of fold.

    A little of a group that is all wrong, and of one that is all right, is added.
    """
    n, m = own.shape
    best, chosen = np.full(m, -np.inf), np.zeros(m)
    for stake in STAKES / (1 - limit):
        log = np.log1p(-stake * own)
        ends = np.log1p(-stake * np.array([1 - limit, -limit]))
        mean = (log.sum(axis=0) + LITTLE * ends.sum()) / (n + 2 * LITTLE)
        square = ((log**2).sum(axis=0) + LITTLE * (ends**2).sum()) / (n + 2 * LITTLE)
        spread = np.sqrt(n_new * np.maximum(square - mean**2, 1e-12) * (1 + n_new / n))
        z = (n_new * mean + np.log(1 - confidence)) / spread
        best, chosen = np.maximum(best, z), np.where(z > best, stake, chosen)
    return chosen


def prefers_bets(
    limit: Limit, own: OutOfFold, cuts: Floats, scores: Floats, stakes: Floats, n_new: int,
    confidence: float, shares: Floats,
) -> bool:  # fmt: skip
    """Whether bets on all cases decide more than one of each group, in groups drawn from ours.

    Both see the same draws, so the comparison is fair though the model learned from these cases.
    """
    rng = np.random.RandomState(0)
    _, index, sizes = np.unique(own.together, return_inverse=True, return_counts=True)
    first, order = np.cumsum(sizes) - sizes, np.argsort(index, kind="stable")
    bad, counts = _parts(limit, own, cuts)  # (m, n)
    gains = np.zeros(DRAWS)
    for i in range(DRAWS):
        drawn = rng.randint(len(sizes), size=n_new)
        won = np.log1p(-stakes * scores[drawn]).sum(axis=0) >= -np.log(1 - confidence)
        rows = order[first[drawn] + (rng.uniform(size=n_new) * sizes[drawn]).astype(int)]
        errors, total = bad[:, rows].sum(axis=1), counts[:, rows].sum(axis=1)
        exact = binomial_p_values(errors, total, float(limit.most or 0.0)) <= 1 - confidence
        decided = []
        for passed in (won, exact):  # until the first that fails
            n_passed = int(np.cumprod(passed).sum())
            decided.append(shares[n_passed - 1] if n_passed else 0.0)
        gains[i] = decided[0] - decided[1]
    return bool(gains.mean() > 0)


def bounds_of(
    limit: Limit, cases: OutOfFold, cuts: Floats, confidence: float, prices: Floats | None
) -> tuple[Floats, Floats]:
    """Upper bounds (m,) for a rate, or a cost, at each candidate, and how many cases count."""
    if limit.rate != "mean_cost":
        bad, total = count_limit(limit, cases, cuts)
        return binomial_upper_bounds(np.round(bad), np.round(total), confidence), total
    assert prices is not None
    low, high = float(prices.min()), float(prices.max())
    paid = cases.paid(prices, cases.decisions(cuts))  # -1 is the last: a review
    bounds = [float(mean_upper_bound(row, confidence, low, high)) for row in paid]
    return np.array(bounds), np.full(len(cuts), float(len(cases.y)))


def _refusal(
    tests: Tests, reviewed: Sequence[int], held_out: OutOfFold, rests_on: str
) -> TargetUnattainable:
    """Say which limits the held-out cases do not prove, and what they would."""
    latest = "latest " if rests_on.startswith("latest") else ""
    own, new = reviewing(tests.own, reviewed), reviewing(held_out, reviewed)

    def proved(limits: Sequence[Limit]) -> bool:
        """Whether the first test passes: its order depends on the limits."""
        first = tests.line(reviewed, limits)[:1]
        found = (prove_limit(x, own, new, first, tests.confidence, tests.prices) for x in limits)
        return all(passed[0] for passed, *_ in found)

    remedy = Text("give more cases, or ask for less ", Setting("confidence"))
    heavy = [x for x in tests.kept(reviewed) if x.rate == "mean_cost" and tests.highest is not None]
    if heavy and tests.prices is not None:
        remedy = Text(remedy, _capped(tests, heavy[0], new, tests.line(reviewed)[:1]))
    return refusal(
        tests.kept(reviewed), proved,
        f"proved with {100 * tests.confidence:g} % confidence by {tests.n_new} {latest}calibration "
        "cases", remedy,
    )  # fmt: skip


def _capped(tests: Tests, limit: Limit, new: OutOfFold, cuts: Floats) -> str:
    """Say how heavy the tail of prices by case is, and what a cap of them would prove."""
    assert tests.prices is not None
    top = of_rows(tests.prices, tests.own.rows).max(axis=(1, 2))
    usual, high = float(np.median(top)), float(top.max())
    if high < HEAVY * usual:
        return ""
    cap = round_numbers(float(np.quantile(top, CAPPED)))[0]
    bound, _ = bounds_of(limit, new, cuts, tests.confidence, np.minimum(tests.prices, cap))
    return (
        f". The highest price, {high:,.4g}, is {high / usual:,.3g} times the usual one, and a few "
        f"such cases allow no low bound: at prices of at most {cap:g}, as by min(..., {cap:g}), "
        f"{float(bound[0]):,.3g} would be proved"
    )


def refusal(
    limits: Sequence[Limit], holds: Callable[[Sequence[Limit]], bool], how: str, remedy: Text
) -> TargetUnattainable:
    """Say of limits that cannot be kept what round ones could be: ``holds`` says if they would."""
    parts: dict[tuple[str, Any], list[int]] = {}  # one share for all classes is one limit
    for j, limit in enumerate(limits):
        parts.setdefault((limit.parameter, limit.most), []).append(j)

    def lowest(among: list[Limit], raised: Sequence[int]) -> float | None:
        for most in round_numbers(max(float(among[j].most or 0.0) for j in raised)):
            tried = [x._replace(most=most) if j in raised else x for j, x in enumerate(among)]
            if (most < 1 or among[raised[0]].rate == "mean_cost") and holds(tried):
                return most
        return None

    said, base = [], list(limits)
    for rows in parts.values():
        own = [limits[j] for j in rows]
        if not holds(own):
            most = lowest(own, range(len(own)))
            what = "nothing would do" if most is None else f"{most:g} would"
            said.append(Text(name_limits(own), f" cannot be {how}; {what}"))
            base = [x._replace(most=most or x.most) if j in rows else x for j, x in enumerate(base)]
    several = len(parts) > 1
    if several and not holds(base):
        said = [Text(part, ", by itself") for part in said]
        said.append(Text(name_limits(base), f" cannot all be {how}"))
        for rows in parts.values():
            if (most := lowest(base, rows)) is not None:
                raised = Setting(base[rows[0]].parameter, most)
                said.append(Text("if the rest stays, ", raised, " would"))
    # What would do alone, with the other limits as they are.
    enough = {limits[rows[0]].parameter: lowest(list(limits), rows) for rows in parts.values()}
    named = next((name for name, most in enough.items() if most is not None), limits[0].parameter)
    attainable = enough.get(named)
    first, *others = said
    problem = Text(first, *(part for text in others for part in ("; ", text)))
    return TargetUnattainable(
        problem, attainable=np.nan if attainable is None else attainable, parameter=named,
        remedy=Text(f"{'Raise a limit' if several else 'Raise it'}, ", remedy, "."),
    )  # fmt: skip


def round_numbers(above: float) -> list[float]:
    """Round numbers above one, rising, over three powers of ten."""
    low = np.floor(np.log10(max(above, 1e-4)))
    every = np.concatenate([STEPS * 10.0**k for k in (low, low + 1, low + 2, low + 3)])
    return [float(f"{x:.3g}") for x in every if x > above * (1 + 1e-9)]
