"""What prices of each case are worth: decided by, and trained with, the amount of the loan.

Two simulated lenders with known posteriors and log-normal amounts and, with a folder of tables,
credit cards, whose amount is the credit line.  Every way sees the same loans; costs are those of
fresh loans at their own prices.  With ``--speed``, times of deciding and of training with the
prices of each case, beside those with one price for each class, and the memory of deciding.

    python -m benchmarks.bench_amounts [FOLDER] [--draws 20] [--loans 1000]
    python -m benchmarks.bench_amounts --speed
"""

from __future__ import annotations

import argparse
import tracemalloc
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.bench_costs import Floats, Lender
from benchmarks.tables import Report, Target
from benchmarks.timing import one_thread, race
from rejo import (
    RejectClassifierCV,
    RejoBoost,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
)
from rejo.decisions import decide
from rejo.prices import price_matrix

LOAN = "error:default=0.6*amount,error:repaid=0.02*amount+50,review=40"
CARD = "error:default=0.2*amount,error:repaid=0.02*amount+2000,review=4000"
CONSTANT = "error:default=2000,error:repaid=120,review=40"
CLASSES = ["default", "repaid"]
# Share of defaults, features, standard deviation of the logit; standard deviation of log(amount).
LENDERS = {
    "lender, narrow amounts": ((0.1, 8, 2), 0.7),
    "lender, wide amounts": ((0.1, 14, 1.2), 1.4),
}
MEDIAN, N_FRESH = 2_000.0, 50_000
GROWN: dict[str, Any] = dict(n_estimators=60, class_order=CLASSES, random_state=0)
LEARNERS = {
    "logistic": (LogisticRegression(max_iter=500), RejoLinear(class_order=CLASSES)),
    "boosting": (
        RejoBoost(boundaries="posteriors", reject_cost=None, **GROWN),
        RejoBoost(**GROWN),
    ),
}
TRAINED = [
    (50_000, make_pipeline(StandardScaler(), LogisticRegression())),
    (50_000, RejoLinear()),
    (3_000, RejoSVC(gamma=0.05)),
    (6_000, RejoKernelLogistic(gamma=0.05)),
    (20_000, RejoBoost(n_estimators=60, random_state=0, n_jobs=1)),
    (5_000, RejoMLP(hidden_layer_sizes=(20,), random_state=0)),
]
WAYS = (
    "review all", "decide all", "posteriors, mean prices", "posteriors, own prices",
    "trained, mean prices", "trained, own prices",
)  # fmt: skip


class Draw(NamedTuple):
    """Loans to learn from, and fresh ones; ``bad``: their posteriors, or whether they defaulted."""

    X: Floats
    y: Any
    amount: Floats
    X_new: Floats
    bad: Floats
    amount_new: Floats
    formulas: str


def lender_draws(name: str, n: int, draws: int) -> Iterator[Draw]:
    """Loans to learn from, and fresh ones with their true posteriors."""
    kind, spread = LENDERS[name]
    lender = Lender(*kind)
    for seed in range(draws):
        rng = np.random.default_rng([7, seed])
        X, y = lender.loans(rng, n)
        fresh = lender.draw(rng, N_FRESH)
        amounts = [MEDIAN * np.exp(spread * (0.5 * Z[:, 1] + rng.normal(size=len(Z)) * 0.75**0.5))
                   for Z in (X, fresh)]  # fmt: skip
        X, fresh = (
            np.column_stack([Z, np.log(a)]) for Z, a in zip((X, fresh), amounts, strict=True)
        )
        y = np.where(y == 1, *CLASSES)
        bad = lender.posterior(fresh[:, :-1])
        yield Draw(X, y, amounts[0], fresh, bad, amounts[1], LOAN)


def card_draws(folder: Path, n: int, draws: int) -> Iterator[Draw]:
    """Credit cards to learn from; the others are fresh, and their classes stand for posteriors."""
    table = pd.read_csv(folder / "default_credit_card.csv")
    bad, amount = table.pop("target").to_numpy(), table["limit_bal"].to_numpy(dtype=float)
    X = table.to_numpy(dtype=float)
    for seed in range(draws):
        order = np.random.default_rng([8, seed]).permutation(len(X))
        own, new = order[:n], order[n:]
        y = np.where(bad[own] == 1, *CLASSES)
        yield Draw(X[own], y, amount[own], X[new], bad[new].astype(float), amount[new], CARD)


def costs_of(draw: Draw, learner: str) -> Floats:
    """Mean cost of a fresh loan by each way and, last, of the best possible."""
    X, y, amount, fresh, bad, new, formulas = draw
    p = np.column_stack([bad, 1 - bad])
    L = price_matrix(formulas, CLASSES, columns={"amount": new})
    means = price_matrix(formulas, CLASSES, columns={"amount": amount}).mean(axis=0)
    rows = np.arange(len(p))

    def paid(decision: Any) -> float:
        return float((p * L[rows, :, decision]).sum(axis=1).mean())

    def decisions(model: Any, **prices: Any) -> Any:
        forced, decided = model.predict_forced(fresh, **prices), model.predict(fresh, **prices)
        column = {label: k for k, label in enumerate(CLASSES)}
        return [np.array([column.get(label, 2) for label in said]) for said in (forced, decided)]

    plain, trained = (make_pipeline(StandardScaler(), part) for part in LEARNERS[learner])
    own, new_prices = {"prices": {"amount": amount}}, {"prices": {"amount": new}}
    found = {"review all": paid(np.full(len(p), 2))}
    model = RejectClassifierCV(plain, cost_of=means).fit(X, y)
    found["posteriors, mean prices"] = paid(decisions(model)[1])
    model = RejectClassifierCV(plain, cost_of=formulas).fit(X, y, **own)
    forced, decided = decisions(model, **new_prices)
    found["posteriors, own prices"], found["decide all"] = paid(decided), paid(forced)
    model = RejectClassifierCV(trained, cost_of=means).fit(X, y)
    found["trained, mean prices"] = paid(decisions(model)[1])
    model = RejectClassifierCV(trained, cost_of=formulas).fit(X, y, **own)
    found["trained, own prices"] = paid(decisions(model)[1])
    best = paid(decide(p, L).decision)
    return np.array([*(found[way] for way in WAYS), best])


def speed(report: Report) -> None:
    """Time prices of each case against a price for each class."""
    rng, names = np.random.default_rng(0), [f"x{i}" for i in range(20)]

    def loans(n: int) -> tuple[pd.DataFrame, Any]:
        X = pd.DataFrame(rng.normal(size=(n, 20)), columns=names)
        bad = X["x0"] + X["x1"] + rng.logistic(size=n) > 1
        return X.assign(amount=MEDIAN * np.exp(rng.normal(size=n))), np.where(bad, *CLASSES)

    X, y = loans(5_000)
    classifier = make_pipeline(StandardScaler(), LogisticRegression())
    one, own = (RejectClassifierCV(classifier, cost_of=c).fit(X, y) for c in (CONSTANT, LOAN))
    many = loans(1_000_000)[0]
    report.section("A million cases are decided", "Seconds of the processor; peak of the arrays.")
    report.header("method", "price by class", "by case", "ratio", "MB by class", "MB by case")
    for method in ("predict", "review"):
        ways = {"one": getattr(one, method), "own": getattr(own, method)}
        times = race({name: partial(way, many) for name, way in ways.items()}, seconds=0, least=7)
        peaks = [peak(partial(way, many)) for way in ways.values()]
        ratio = times["own"] / times["one"]
        report.row(
            method, *(f"{t:.2f}" for t in times.values()), f"{ratio:.2f}",
            *(f"{size:.0f}" for size in peaks),
        )  # fmt: skip
        report.judge(Target(f"{method}, times", 1.3, [ratio], at_most=True))
    report.section("Training", "Three folds and a last fit, 20 features.")
    report.header("learner", "cases", "price by class", "by case", "ratio")
    for n, learner in TRAINED:
        X, y = loans(n)
        amount = {"amount": X.pop("amount")}
        contenders = {
            "one": partial(RejectClassifierCV(learner, cost_of=CONSTANT, cv=3).fit, X, y),
            "own": partial(
                RejectClassifierCV(learner, cost_of=LOAN, cv=3).fit, X, y, prices=amount
            ),
        }
        times = race(contenders, seconds=0, least=3)
        ratio = times["own"] / times["one"]
        name = type(learner).__name__
        report.row(name, f"{n:,}", *(f"{t:.2f}" for t in times.values()), f"{ratio:.2f}")
        report.judge(Target(f"training of {name}, times", 1.2, [ratio], at_most=True))


def peak(run: Any) -> float:
    """Highest memory in MB that a call allocates."""
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--loans", type=int, default=1_000)
    parser.add_argument("--speed", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # plans that are no better than reviewing everything
    report, tables = Report(), dict.fromkeys(LENDERS, lender_draws)
    if arguments.speed:
        with one_thread():
            speed(report)
        report.summary()
        return
    n, draws = arguments.loans, arguments.draws
    report.section(
        f"Cost of a loan, {n:,} loans to learn from, {draws} draws",
        "In percent of the best possible, or of a review of every card; mean and standard error. "
        "Effective: how many equal amounts weigh as much as these in training.",
    )
    report.header("loans, learner", "effective", *WAYS, "trained: own - mean", "s.e.")
    with threadpool_limits(1):
        for name in [*tables, *(["credit cards"] if arguments.folder else [])]:
            for learner in LEARNERS:
                drawn = (
                    lender_draws(name, n, draws) if name in tables
                    else card_draws(arguments.folder, n, draws)
                )  # fmt: skip
                some, sizes = [], []
                for draw in drawn:
                    some.append(costs_of(draw, learner))
                    sizes.append(draw.amount.sum() ** 2 / (draw.amount**2).sum())
                found = np.array(some)
                unit = found[:, -1] if name in tables else found[:, 0]
                share = 100 * found[:, :-1] / unit.mean()
                error = share.std(axis=0, ddof=1) / np.sqrt(draws)
                gap = share[:, 5] - share[:, 4]
                report.row(
                    f"{name}, {learner}", f"{np.mean(sizes):.0f}",
                    *(f"{m:.1f} ± {e:.1f}" for m, e in zip(share.mean(axis=0), error, strict=True)),
                    f"{gap.mean():+.1f}", f"{gap.std(ddof=1) / np.sqrt(draws):.1f}",
                )  # fmt: skip
    report.summary()


if __name__ == "__main__":
    main()
