"""Made-up rows of both studies, in which it is known which method is better."""

import numpy as np

from studies.paper import SHARES
from studies.suite import DECIDE_ALL, MEASURES, TABLES, TableSuite, family_of

COSTS = (0.04, 0.12, 0.2, 0.28, 0.36, 0.44)
SOME = ("auto", "logistic", "logistic-posterior", "logistic-class", "svm-posterior", "svm-class")


def paper_rows(
    dataset, excess, *, split="random", n_repetitions=12, noise=0.01, crossing=None, seed=0
):
    """Rows of methods whose error rate exceeds a common one by ``excess[method]`` on average."""
    rng = np.random.default_rng(seed)
    rows = []
    for share in SHARES:
        sizes = {"n_train": round(share * 400), "n_test": 400 - round(share * 400)}
        for repetition in range(n_repetitions):
            luck = rng.normal(scale=0.02)  # of the training set, the same for all methods
            for method, extra in excess.items():
                for w in COSTS:
                    R = float(np.clip(0.45 - 0.8 * w + luck, 0, 1))
                    E = 0.02 + 0.25 * w + 0.02 * (0.4 - share) + luck / 10 + extra
                    E = float(np.clip(E + rng.normal(scale=noise), 0, 1 - R))
                    key = (dataset, split, share, repetition, method, w)
                    names = ("dataset", "split", "share", "repetition", "method", "reject_cost")
                    rows.append({
                        **dict(zip(names, key, strict=True)), "R": R, "E": E, "risk": w * R + E,
                        "ordinal_risk": w * R + E, "crossing_rate": (crossing or {}).get(method),
                        **sizes, "seconds": 0.1, "params": "{}", "code": "rejo 0.1.0, digest 0",
                    })  # fmt: skip
    return rows


def suite_rows(tables=tuple(TABLES), methods=SOME, n_splits=4, excess=(), noise=0.002, seed=0):
    """A plan, and rows of methods with an error rate above that of a table by ``excess``."""
    rng, excess = np.random.default_rng(seed), dict(excess)
    plan = TableSuite(tuple(tables), n_splits, tuple(methods))
    rows = []
    for name in plan.datasets:
        hardness = rng.uniform(0.02, 0.2)
        names = plan.methods_for(TABLES[name])
        names += [DECIDE_ALL] * ("auto" in names)
        for split in range(n_splits):
            for method in names:
                for w in plan.reject_costs:
                    error = hardness / 4 + excess.get(method, 0.0) + rng.uniform(0, noise)
                    rows.append(suite_row(name, split, method, w, R=hardness, E=error))
    return plan, rows


def suite_row(dataset, split, method, w, *, R, E, problem=None):
    measures = dict.fromkeys(MEASURES, E) | {"R": R, "risk": w * R + E, "auarc": 1 - E}
    if problem is not None:
        measures = dict.fromkeys(MEASURES)
    return {
        "dataset": dataset, "repetition": split, "family": family_of(method), "method": method,
        "reject_cost": w, **measures, "n_train": 300, "n_test": 200, "seconds": 0.5,
        "params": "{}", "problem": problem, "code": "rejo 0.1.0, digest 0",
    }  # fmt: skip
