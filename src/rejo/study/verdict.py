"""Do the paper's claims hold? Paired tests over the repetitions, and their numbers.

A *contrast* compares a method with a rival on the same repetitions: the difference of their risks,
rival minus method, at each reject cost and on average over the costs. Where each repetition is a
fresh draw, the differences are independent and a paired t-test is valid. Splits of one table share
points; there the corrected resampled t-test of Nadeau and Bengio (2003) takes the variance of the
mean as ``(1 / J + n_test / n_train) s^2``. Holm's step-down correction is applied to all averages
of a claim, and to all its single costs; it bounds the chance of any false alarm among either by
``ALPHA``. So one panel against a claim is enough to refute it, if no panel supports it.

In one panel a claim *holds* if the method is significantly better than each rival on average over
the costs and, if the claim is about the full range, at no cost significantly worse. It *does not
hold* if a rival is significantly better, and is *not significant* otherwise. A claim as a whole
holds if it holds in more than half of the panels; it does not hold if more panels contradict it
than support it.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from rejo._typing import Floats
from rejo.selection.compared import corrected_t_test
from rejo.study.panels import Panel
from rejo.study.paper import Claim, label

ALPHA = 0.05
Pair = tuple[str, str]  # method, rival
HOLDS, FAILS, OPEN, UNTESTED = "holds", "does not hold", "not significant", "not tested"


class Paired(NamedTuple):
    """A mean difference of risks over repetitions; above 0 the method is better than the rival."""

    difference: float
    low: float  # of the 95 % interval, which is not corrected for the number of tests
    high: float
    p_value: float  # corrected by Holm's method

    @property
    def sign(self) -> int:
        """1: significantly better, -1: significantly worse, 0: not significant."""
        return 0 if self.p_value >= ALPHA else int(np.sign(self.difference))


class Contrast(NamedTuple):
    """A method against a rival in one panel."""

    method: str
    rival: str
    mean: Paired  # on average over the reject costs
    at_costs: tuple[Paired, ...]  # at each of them

    @property
    def n_better(self) -> int:
        """Reject costs at which the method is significantly better."""
        return sum(test.sign > 0 for test in self.at_costs)

    @property
    def n_worse(self) -> int:
        """Reject costs at which it is significantly worse."""
        return sum(test.sign < 0 for test in self.at_costs)


class Trial(NamedTuple):
    """One test of a claim."""

    dataset: str
    split: str
    share: float
    n_repetitions: int
    verdict: str
    methods: tuple[str, ...]
    numbers: str  # behind the verdict, in words


class Verdict(NamedTuple):
    """The verdict on a claim, and the tests behind it."""

    claim: Claim
    verdict: str
    trials: tuple[Trial, ...]

    def count(self, verdict: str) -> int:
        """Number of tests with this verdict."""
        return sum(trial.verdict == verdict for trial in self.trials)


def holm(p_values: Sequence[float]) -> Floats:
    """Correct p-values by Holm's method, which bounds the chance of any false alarm.

    Examples
    --------
    >>> from rejo.study.verdict import holm
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order])
    corrected = np.empty_like(p)
    corrected[order] = np.maximum.accumulate(steps)
    return corrected


def contrasts(panel: Panel, pairs: Iterable[Pair]) -> tuple[Contrast, ...]:
    """Compare the first of each pair with the second, in one panel."""
    return joint_contrasts([(panel, list(pairs))])[0]


def joint_contrasts(setups: Sequence[tuple[Panel, list[Pair]]]) -> list[tuple[Contrast, ...]]:
    """Contrasts of each panel, with p-values corrected for all of them together.

    Holm's correction is applied twice: to the averages, and to the single costs.
    """
    means, at_costs = [], []
    for panel, pairs in setups:
        for method, rival in pairs:
            d = panel.risk[rival] - panel.risk[method]  # (n_repetitions, n_costs)
            means.append(paired_test(d.mean(axis=1), panel.ratio))
            at_costs += [paired_test(column, panel.ratio) for column in d.T]
    mean, at_cost = iter(_corrected(means)), iter(_corrected(at_costs))
    return [
        tuple(
            Contrast(*pair, next(mean), tuple(next(at_cost) for _ in panel.costs)) for pair in pairs
        )
        for panel, pairs in setups
    ]


def judge(claim: Claim, panels: Iterable[Panel]) -> Verdict:
    """Test a claim in each of the panels that have its methods."""
    trials: list[Trial] = []
    if claim.kind == "crossing":
        trials += (trial for panel in panels for trial in _crossing(claim, panel))
    else:
        setups = [(panel, _pairs(claim, panel)) for panel in panels]
        for (panel, _), found in zip(setups, joint_contrasts(setups), strict=True):
            if claim.kind == "pairs":
                trials += (_pair_trial(panel, contrast) for contrast in found)
            elif claim.kind == "alike":
                trials += _parallel_trials(claim, panel, found)
            elif found:
                trials.append(_best_trial(claim, panel, found))
    return Verdict(claim, _overall(trials), tuple(trials))


def paired_test(d: Floats, ratio: float) -> Paired:
    """Test paired differences of repetitions; if all are equal, nothing is significant.

    ``ratio`` is ``n_test / n_train``.
    """
    if len(d) > 1 and np.ptp(d) == 0:
        # Few repetitions on few points may agree by chance: a test needs some variance.
        return Paired(float(d[0]), float(d[0]), float(d[0]), 1.0)
    return Paired(*corrected_t_test(d, ratio, 1 - ALPHA))


def _corrected(tests: list[Paired]) -> list[Paired]:
    p_values = holm([test.p_value for test in tests])
    return [test._replace(p_value=float(p)) for test, p in zip(tests, p_values, strict=True)]


def _pairs(claim: Claim, panel: Panel) -> list[Pair]:
    """The pairs of a claim whose methods were run."""
    pairs: Iterable[Pair] = claim.pairs or [(claim.method, rival) for rival in claim.rivals]
    if claim.kind == "alike":
        pairs = [pair for two in claim.parallels for pair in two]
    return [pair for pair in pairs if set(pair) <= set(panel.methods)]


def _best_trial(claim: Claim, panel: Panel, found: tuple[Contrast, ...]) -> Trial:
    full_range = claim.kind == "range"
    if any(c.mean.sign < 0 or (full_range and c.n_worse) for c in found):
        verdict = FAILS
    else:
        verdict = HOLDS if all(c.mean.sign > 0 for c in found) else OPEN
    n = len(panel.costs)
    words = "; ".join(
        f"{_gain(c)}, better at {c.n_better} and worse at {c.n_worse} of {n} costs"
        if full_range
        else _gain(c)
        for c in found
    )
    return _trial(panel, verdict, (claim.method, *(c.rival for c in found)), words)


def _pair_trial(panel: Panel, contrast: Contrast) -> Trial:
    verdict = (OPEN, HOLDS, FAILS)[contrast.mean.sign]
    words = f"{label(contrast.method)} {_gain(contrast)}"
    return _trial(panel, verdict, (contrast.method, contrast.rival), words)


def _parallel_trials(claim: Claim, panel: Panel, found: tuple[Contrast, ...]) -> list[Trial]:
    """Test whether the better of one pair is also that of the pair that it corresponds to."""
    by_pair = {(contrast.method, contrast.rival): contrast for contrast in found}
    trials = []
    for two in claim.parallels:
        if not set(two) <= set(by_pair):
            continue
        one, other = (by_pair[pair] for pair in two)
        # Only two significant differences can agree or contradict each other.
        verdict = (OPEN, HOLDS, FAILS)[one.mean.sign * other.mean.sign]
        words = "; ".join(f"{label(c.method)} {_gain(c)}" for c in (one, other))
        trials.append(_trial(panel, verdict, (*two[0], *two[1]), words))
    return trials


def _crossing(claim: Claim, panel: Panel) -> list[Trial]:
    trials = []
    for pair in _pairs(claim, panel):
        if pair[1] not in panel.crossing:
            continue
        # A method without a rate has no boundaries that could cross.
        rates = {m: panel.crossing.get(m, np.zeros(1)) for m in pair}
        ours, theirs = rates.values()
        verdict = FAILS if ours.max() > 0 else HOLDS if theirs.max() > 0 else OPEN
        words = "; ".join(
            f"{label(m)}: {(v > 0).mean():.0%} of the fits cross, {v.mean():.2%} of the points on "
            f"average and {v.max():.1%} at most"
            if v.max() > 0
            else f"{label(m)}: no crossing"
            for m, v in rates.items()
        )
        trials.append(_trial(panel, verdict, pair, words))
    return trials


def _trial(panel: Panel, verdict: str, methods: tuple[str, ...], words: str) -> Trial:
    key = panel.dataset, panel.split, panel.share, panel.n_repetitions
    return Trial(*key, verdict, methods, words)


def _gain(contrast: Contrast) -> str:
    test = contrast.mean
    p = "< 0.001" if test.p_value < 0.001 else f"= {test.p_value:.2g}"
    gain = f"{1000 * test.difference:+.1f} thousandths of risk (p {p})"
    return f"against {label(contrast.rival)}: {gain}"


def _overall(trials: list[Trial]) -> str:
    if not trials:
        return UNTESTED
    n_for, n_against = (sum(t.verdict == v for t in trials) for v in (HOLDS, FAILS))
    if n_for > len(trials) / 2:
        return HOLDS
    return FAILS if n_against > n_for else OPEN
