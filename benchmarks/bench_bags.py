"""What decisions on bags cost, by the way to the reject region.

Bags of ``rejo.datasets.make_bags``, drawn anew each time: some to train on, 4,000 to decide.  All
methods but the last see the same embedding of the bags, and all are tuned by their own cost over
the same folds.  The mean risk ``w_r R + E`` over the draws, with its standard error.

    python -m benchmarks.bench_bags [--draws 10] [--bags 200]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from benchmarks.tables import Report
from rejo import RejoSVC, ThresholdRejectClassifier
from rejo.baselines import BagEmbedding, EmbeddedRejectSVC
from rejo.datasets import make_bags

REJECT_COSTS = (0.1, 0.2, 0.3)
CS = (0.001, 0.01, 0.1, 1.0, 10.0)  # the same for all: wide, as their losses differ in scale
GAMMAS = (0.5, 1.0, 2.0)
N_NEW = 4_000
FIRST_SEED = 1000  # the grid was settled on draws with lower seeds


def methods(reject_cost: float) -> dict[str, Any]:
    """Searches for the best parameters of each method, by name."""
    price = {"reject_cost": reject_cost}
    on_bags = {
        "`EmbeddedRejectSVC`": (EmbeddedRejectSVC(**price), "C"),
        "`RejoSVC`, linear": (RejoSVC(kernel="linear", **price), "C"),
        "`SVC`, two cut-offs": (
            ThresholdRejectClassifier(SVC(kernel="linear"), rule="score", **price),
            "estimator__C",
        ),
        "logistic regression, posteriors": (
            ThresholdRejectClassifier(LogisticRegression(max_iter=1000), **price),
            "estimator__C",
        ),
    }
    found = {}
    for name, (learner, C) in on_bags.items():
        model = make_pipeline(BagEmbedding(random_state=0), learner)
        found[name] = (model, {f"{model.steps[-1][0]}__{C}": CS, "bagembedding__gamma": GAMMAS})
    means = make_pipeline(FunctionTransformer(bag_means), StandardScaler(), RejoSVC(**price))
    found["`RejoSVC` on the mean of a bag"] = (means, {"rejosvc__C": CS, "rejosvc__gamma": GAMMAS})
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return {name: GridSearchCV(*pair, cv=folds) for name, pair in found.items()}


def bag_means(bags: Any) -> Any:
    return np.array([bag.mean(axis=0) for bag in bags])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--bags", type=int, default=200, help="to train on")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    risks = np.empty((len(methods(0.2)), len(REJECT_COSTS), arguments.draws))
    for draw in range(arguments.draws):
        X, y = make_bags(arguments.bags, random_state=FIRST_SEED + 2 * draw)
        X_new, y_new = make_bags(N_NEW, random_state=FIRST_SEED + 2 * draw + 1)
        for j, cost in enumerate(REJECT_COSTS):
            for i, search in enumerate(methods(cost).values()):
                risks[i, j, draw] = 1 - search.fit(X, y).score(X_new, y_new)
    report = Report()
    report.section(f"{arguments.bags} bags to train on, {arguments.draws} draws")
    report.header("risk at a reject cost of", *map(str, REJECT_COSTS))
    report.row("*best possible*", *(f"{(w - w**2) / 2:.3f}" for w in REJECT_COSTS))
    error = risks.std(axis=-1, ddof=1) / arguments.draws**0.5
    for name, mean, spread in zip(methods(0.2), risks.mean(axis=-1), error, strict=True):
        cells = [f"{m:.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)]
        report.row(name, *cells)
    report.row("*review all bags*", *(f"{w:.3f}" for w in REJECT_COSTS))
    first = next(iter(methods(0.2)))
    report.section("Differences", f"Risk above that of {first} on the same draws.")
    report.header("", *map(str, REJECT_COSTS))
    extra = risks - risks[0]
    error = extra.std(axis=-1, ddof=1) / arguments.draws**0.5
    for name, mean, spread in list(zip(methods(0.2), extra.mean(axis=-1), error, strict=True))[1:]:
        report.row(name, *(f"{m:+.3f} ± {s:.3f}" for m, s in zip(mean, spread, strict=True)))


if __name__ == "__main__":
    main()
