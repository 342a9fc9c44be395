"""Do the paper's claims hold? Rows as arrays, and paired tests over the repetitions.

A *panel* is a data set, a way to split it and a training share. A *contrast* compares a method
with a rival there: the difference of their risks, rival minus method, at each reject cost and on
average over the costs. Holm's correction is applied to all averages of a claim, and to all its
single costs; it bounds the chance of any false alarm among either by 5 %.

In one panel a claim *holds* if the method is significantly better than each rival on average over
the costs and, if the claim is about the full range, at no cost significantly worse. It *does not
hold* if a rival is significantly better, and is *open* otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rejo.datasets import bayes_rates
from studies.paper import DATA, FIGURES, Claim
from studies.run import Floats
from studies.statistics import Paired, holm, paired_test

HOLDS, FAILS, MIXED, OPEN, UNTESTED = "holds", "does not hold", "mixed", "open", "not tested"
# What a method costs, as columns of the rows: by 0 / w / 1 for a right decision, a rejection and
# an error, or by the ordinal loss that data replication trains; for two classes these are the same.
RISK, ORDINAL_RISK = "risk", "ordinal_risk"

Pair = tuple[str, str]  # method, rival
Key = tuple[str, str, float]  # dataset, split, share
Runs = dict[str, dict[int, dict[float, Mapping[str, Any]]]]  # method, repetition, reject cost
Index = Mapping[Key, Runs]


class Panel(NamedTuple):
    """All methods on the same repetitions and reject costs.

    A repetition that one of the methods lacks is left out for all: every comparison is paired, and
    every curve rests on the same training sets.
    """

    dataset: str
    split: str
    share: float
    costs: Floats  # (n_costs,) ascending
    R: dict[str, Floats]  # method -> (n_repetitions, n_costs)
    E: dict[str, Floats]
    risk: dict[str, Floats]
    crossing: dict[str, Floats]  # only of methods with boundaries that could cross
    n_train: float
    n_test: float

    @property
    def methods(self) -> list[str]:
        """The methods that were run, in the requested order."""
        return list(self.risk)

    @property
    def n_repetitions(self) -> int:
        """Number of training sets that all methods share."""
        return len(next(iter(self.risk.values())))

    @property
    def ratio(self) -> float:
        """Test points for each training point of a table; 0 if every repetition is a fresh draw."""
        return 0.0 if DATA[self.dataset].catalogue is None else self.n_test / self.n_train

    @property
    def bayes(self) -> tuple[Floats, Floats, Floats] | None:
        """Rejection rate, error rate and risk (n_costs,) of the best possible classifier."""
        name = DATA[self.dataset].bayes
        if name is None:
            return None
        R, E, risk = np.array([_best(name, w) for w in self.costs.tolist()]).T
        return R, E, risk


_best = cache(bayes_rates)  # integrals over the plane, the same in every panel


class Contrast(NamedTuple):
    """A method against a rival in one panel; p-values are corrected."""

    method: str
    rival: str
    mean: Paired  # on average over the reject costs
    at_costs: tuple[Paired, ...]  # at each of them

    def worse(self, full_range: bool) -> bool:
        """Whether the method is significantly worse on average, or anywhere in the full range."""
        return self.mean.sign < 0 or (full_range and any(t.sign < 0 for t in self.at_costs))


class Trial(NamedTuple):
    """One test of a claim."""

    dataset: str
    share: float
    verdict: str


class Verdict(NamedTuple):
    """The verdict on a claim, and the tests behind it."""

    claim: Claim
    trials: list[Trial]

    @property
    def verdict(self) -> str:
        """The verdict on the claim as a whole."""
        n_for, n_against, n = self.count(HOLDS), self.count(FAILS), len(self.trials)
        if n == 0:
            return UNTESTED
        if n_against and (not n_for or n_against > n / 2):
            return FAILS
        if n_against:
            return MIXED
        return HOLDS if n_for > n / 2 else OPEN

    def count(self, verdict: str) -> int:
        """Number of tests with this verdict."""
        return sum(trial.verdict == verdict for trial in self.trials)

    def where(self, verdict: str) -> str:
        """Say on which data the tests have this verdict."""
        found = Counter(DATA[t.dataset].title for t in self.trials if t.verdict == verdict)
        return ", ".join(f"{title} {n}" for title, n in found.items()) or "none"


def index_rows(rows: Iterable[Mapping[str, Any]]) -> Index:
    """Group rows by panel, method, repetition and reject cost."""
    found: dict[Key, Runs] = {}
    for row in rows:
        runs = found.setdefault((row["dataset"], row["split"], row["share"]), {})
        costs = runs.setdefault(row["method"], {}).setdefault(row["repetition"], {})
        costs[row["reject_cost"]] = row
    return found


def make_panel(index: Index, key: Key, methods: Iterable[str], measure: str = RISK) -> Panel | None:
    """Return a panel, or ``None`` if no repetition has been run with all methods that have rows."""
    runs = index.get(key, {})
    present = [method for method in dict.fromkeys(methods) if runs.get(method)]
    if not present:
        return None
    repetitions = sorted(set.intersection(*(set(runs[method]) for method in present)))
    some = [runs[method][i] for method in present for i in repetitions]
    costs = sorted(set.intersection(*map(set, some))) if some else []
    if not costs:
        return None

    def values(column: str) -> dict[str, Floats]:
        return {
            method: np.array(
                [[runs[method][i][w][column] for w in costs] for i in repetitions],
                dtype=np.float64,  # None, of a method without boundaries, becomes nan
            )
            for method in present
        }

    R, E, risk, crossing = map(values, ("R", "E", measure, "crossing_rate"))
    crossing = {method: rates for method, rates in crossing.items() if not np.isnan(rates).all()}
    n_train, n_test = (float(some[0][costs[0]][name]) for name in ("n_train", "n_test"))
    return Panel(*key, np.array(costs), R, E, risk, crossing, n_train, n_test)


def claim_panels(
    index: Index, claim: Claim, figures: Iterable[str], split: str, measure: str = RISK
) -> list[Panel]:
    """Return the panels of these figures that a claim is about, with all its methods.

    Only ordered classes have an ordinal loss of their own.
    """
    least = 2 if measure == RISK else 3
    datasets = {FIGURES[name].dataset for name in set(figures) & set(claim.figures)}
    keys = [
        (dataset, split, share)
        for dataset in DATA
        if dataset in datasets and DATA[dataset].n_classes >= least
        for share in sorted({key[2] for key in index if key[:2] == (dataset, split)})
    ]
    found = (make_panel(index, key, claim.methods, measure) for key in keys)
    return [panel for panel in found if panel is not None]


def contrasts(setups: Sequence[tuple[Panel, Sequence[Pair]]]) -> list[list[Contrast]]:
    """Compare the first of each pair with the second, in each panel.

    The p-values are corrected for all panels together: the averages, and the single costs.
    """
    means, at_costs = [], []
    for panel, pairs in setups:
        for method, rival in pairs:
            d = panel.risk[rival] - panel.risk[method]  # (n_repetitions, n_costs)
            means.append(paired_test(d.mean(axis=1), panel.ratio))
            at_costs += [paired_test(column, panel.ratio) for column in d.T]
    mean, at_cost = (iter(_corrected(tests)) for tests in (means, at_costs))
    return [
        [Contrast(*pair, next(mean), tuple(next(at_cost) for _ in panel.costs)) for pair in pairs]
        for panel, pairs in setups
    ]


def judge(claim: Claim, panels: Sequence[Panel]) -> Verdict:
    """Test a claim in each of the panels that have its methods."""
    setups = [(panel, _pairs(claim, panel)) for panel in panels]
    trials = []
    for (panel, pairs), found in zip(setups, contrasts(setups), strict=True):
        if claim.kind == "crossing":
            verdicts = [_crossing(panel, pair) for pair in pairs if pair[1] in panel.crossing]
        elif claim.kind == "pairs":
            verdicts = [(OPEN, HOLDS, FAILS)[contrast.mean.sign] for contrast in found]
        elif claim.kind == "alike":
            # Only two significant differences can agree or contradict each other.
            signs = {(c.method, c.rival): c.mean.sign for c in found}
            both = [two for two in claim.parallels if set(two) <= set(signs)]
            verdicts = [(OPEN, HOLDS, FAILS)[signs[one] * signs[other]] for one, other in both]
        elif any(contrast.worse(claim.kind == "range") for contrast in found):
            verdicts = [FAILS]
        else:
            verdicts = [HOLDS if all(c.mean.sign > 0 for c in found) else OPEN] * bool(found)
        trials += [Trial(panel.dataset, panel.share, verdict) for verdict in verdicts]
    return Verdict(claim, trials)


def _pairs(claim: Claim, panel: Panel) -> list[Pair]:
    """The pairs of a claim whose methods were run."""
    pairs: Iterable[Pair] = claim.pairs or [(claim.method, rival) for rival in claim.rivals]
    if claim.kind == "alike":
        pairs = [pair for two in claim.parallels for pair in two]
    return [pair for pair in pairs if set(pair) <= set(panel.methods)]


def _crossing(panel: Panel, pair: Pair) -> str:
    """Boundaries of the first must never cross; those of the second should, somewhere."""
    # A method without a rate has no boundaries that could cross.
    ours, theirs = (panel.crossing.get(method, np.zeros(1)).max() for method in pair)
    return FAILS if ours > 0 else HOLDS if theirs > 0 else OPEN


def _corrected(tests: Sequence[Paired]) -> list[Paired]:
    p_values = holm([test.p_value for test in tests])
    return [test._replace(p_value=float(p)) for test, p in zip(tests, p_values, strict=True)]
