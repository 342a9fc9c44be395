"""Rows of the study as arrays: one panel is a data set, a way to split it and a training share."""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats
from rejo.datasets import CATALOGUE, bayes_rates
from rejo.replication import loss_from_costs, replica_costs
from rejo.study._data import MAKERS
from rejo.study.paper import DATA

N_DRAWN = 100_000
Key = tuple[str, str, float]  # dataset, split, share
# What a method costs, as columns of the rows: by 0 / w / 1 for a right decision, a rejection and
# an error, or by the ordinal loss that data replication trains; for two classes these are the same.
RISK, ORDINAL_RISK = "risk", "ordinal_risk"
Cells = dict[str, dict[int, dict[float, Mapping[str, Any]]]]  # method, repetition, reject cost


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
    measure: str = RISK  # what ``risk`` is

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
        """Test points for each training point: 0 where every repetition is a fresh draw.

        The corrected resampled t-test needs it: training sets drawn from one table share points,
        fresh draws do not.
        """
        return 0.0 if DATA[self.dataset].fresh else self.n_test / self.n_train

    @property
    def bayes(self) -> tuple[Floats, Floats, Floats] | None:
        """Rejection rate, error rate and risk (n_costs,) of the best possible classifier."""
        name = DATA[self.dataset].bayes
        if name is None or self.measure != RISK:
            return None
        R, E, risk = np.array([_best(name, w) for w in self.costs.tolist()]).T
        return R, E, risk

    @property
    def review_all(self) -> Floats:
        """Risk (n_costs,) of rejecting every point.

        By the ordinal loss a rejection lies between two classes and costs more the farther away the
        true class is; here every point is rejected between the same two, the best ones.
        """
        n_classes = DATA[self.dataset].n_classes
        if self.measure == RISK or n_classes == 2:
            return self.costs
        shares = _class_shares(self.dataset)
        losses = (loss_from_costs(replica_costs(n_classes, w)) for w in self.costs.tolist())
        return np.array([(shares @ loss[:, 1::2]).min() for loss in losses])


def index_rows(rows: Iterable[Mapping[str, Any]]) -> dict[Key, Cells]:
    """Group rows by panel, method, repetition and reject cost."""
    found: dict[Key, Cells] = {}
    for row in rows:
        cells = found.setdefault(_key(row["dataset"], row["split"], row["share"]), {})
        runs = cells.setdefault(row["method"], {}).setdefault(int(row["repetition"]), {})
        runs[round(float(row["reject_cost"]), 6)] = row
    return found


def make_panel(
    indexed: Mapping[Key, Cells],
    dataset: str,
    split: str,
    share: float,
    methods: Iterable[str],
    measure: str = RISK,
) -> Panel | None:
    """Return a panel, or ``None`` if no repetition has been run with all methods that have rows."""
    cells = indexed.get(_key(dataset, split, share), {})
    present = [method for method in dict.fromkeys(methods) if cells.get(method)]
    if not present:
        return None
    repetitions = sorted(set.intersection(*(set(cells[method]) for method in present)))
    runs = [cells[method][i] for method in present for i in repetitions]
    costs = sorted(set.intersection(*(set(run) for run in runs))) if runs else []
    if not costs:
        return None

    def values(column: str) -> dict[str, Floats]:
        return {
            method: np.array(
                [[cells[method][i][w][column] for w in costs] for i in repetitions],
                dtype=np.float64,  # None, of a method without boundaries, becomes nan
            )
            for method in present
        }

    R, E, risk, crossing = map(values, ("R", "E", measure, "crossing_rate"))
    crossing = {method: rates for method, rates in crossing.items() if not np.isnan(rates).all()}
    n_train, n_test = (float(runs[0][costs[0]][name]) for name in ("n_train", "n_test"))
    key = dataset, split, share, np.array(costs)
    return Panel(*key, R, E, risk, crossing, n_train, n_test, measure)


_best = cache(bayes_rates)  # integrals over the plane, the same in every panel


@cache
def _class_shares(dataset: str) -> Floats:
    """Shares (K,) of the classes: in the table, or in a large sample of the synthetic ones."""
    name = DATA[dataset].catalogue
    if name is None:
        y = MAKERS[dataset][0](N_DRAWN, random_state=0)[1]
        counts = np.unique(y, return_counts=True)[1]
    else:
        counts = np.array(CATALOGUE[name].counts)
    return np.asarray(counts / counts.sum())


def _key(dataset: str, split: str, share: float) -> Key:
    return dataset, split, round(float(share), 6)
