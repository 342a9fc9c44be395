"""Made-up rows of the suite, in which it is known which method is better."""

import numpy as np

from rejo.study.suite import REJECT_COSTS, SUITE_METHODS, TABLES, TableSuite
from rejo.study.suite.trials import MEASURES, family_of

SOME = ("auto", "logistic", "logistic-posterior", "logistic-class", "svm-posterior", "svm-class")


def make_rows(tables=tuple(TABLES), methods=SOME, n_splits=4, excess=(), noise=0.002, seed=0):
    """Rows of methods whose error rate exceeds that of their table by ``excess[method]``."""
    rng, excess = np.random.default_rng(seed), dict(excess)
    suite = TableSuite(tables, n_splits, [m for m in methods if m in SUITE_METHODS])
    rows = []
    for name in suite.datasets:
        hardness = rng.uniform(0.02, 0.2)
        names = suite.methods_for(TABLES[name])
        names += ["decide everything"] * ("auto" in names)
        for split in range(n_splits):
            for method in names:
                for w in REJECT_COSTS:
                    error = hardness / 4 + excess.get(method, 0.0) + rng.uniform(0, noise)
                    rows.append(row_of(name, split, method, w, R=hardness, E=error))
    return rows


def row_of(dataset, split, method, w, *, R, E, problem=None):
    measures = dict.fromkeys(MEASURES, E) | {"R": R, "risk": w * R + E, "auarc": 1 - E}
    if problem is not None:
        measures = dict.fromkeys(MEASURES)
    return {
        "dataset": dataset,
        "repetition": split,
        "family": family_of(method),
        "method": method,
        "reject_cost": w,
        **measures,
        "n_train": 300,
        "n_test": 200,
        "seconds": 0.5,
        "params": "{}",
        "problem": problem,
        "code": "rejo 0.1.0, files 0",
    }
