"""How much can be promised, and from how many cases.

Three questions: which bound for a mean cost is valid and tight; which error rate can be promised
with so many calibration cases, by cuts that are tested in a settled order, and by 14 candidates
that share the confidence; and how many cases are decided in the end, compared with the
Learn-then-Test controller of MAPIE, on tables of the data folder (``REJO_DATA``).

    python -m benchmarks.bench_guarantees [costs] [power] [mapie] [--splits N] [--sets N]

MAPIE is not a dependency: ``pip install "mapie==1.6.*"``.
"""

from __future__ import annotations

import argparse
import math
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.tables import Report, Target
from rejo import ThresholdRejectClassifier
from rejo.metrics import binomial_upper_bounds, cases_needed, mean_upper_bound
from rejo.selection import CANDIDATES, RejectClassifierCV, TargetUnattainable
from rejo.selection.folds import hold_out
from rejo.tables import TableEncoder
from studies.tables import fetch

Floats = NDArray[np.float64]

# Losses of a case, where the most expensive error is 1, and how often they occur.
LOSSES = {
    "an error 1, nothing else (1 %)": ([0, 1], [0.99, 0.01]),
    "a review 0.2, an error 1 (2 %)": ([0, 0.2, 1], [0.78, 0.2, 0.02]),
    "one in fifty is ill: errors 1 and 0.02, a review 0.01": (
        [0, 0.01, 0.02, 1], [0.8, 0.18, 0.015, 0.005],
    ),
    "one in fifty is ill: errors 1 and 0.1, a review 0.05": (
        [0, 0.05, 0.1, 1], [0.7, 0.27, 0.02, 0.01],
    ),
    "four classes, dear errors rare": (
        [0, 0.05, 0.1, 0.3, 0.5, 1], [0.6, 0.3, 0.05, 0.03, 0.015, 0.005],
    ),
    "four classes, errors of all prices": (
        [0, 0.1, 0.2, 0.4, 0.7, 1], [0.6, 0.2, 0.08, 0.06, 0.04, 0.02],
    ),
}  # fmt: skip

# For each table a limit that is hard to prove, and one that is easier.
TABLES = {
    "australian_credit": (0.1, 0.15),
    "mammographic_mass": (0.12, 0.18),
    "default_credit_card": (0.14, 0.18),
}
CONFIDENCE, MAX_ROWS = 0.9, 6_000
PROMISES = np.geomspace(0.002, 0.5, 200).tolist()  # limits to be tried


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help="costs, power, mapie; all by default")
    parser.add_argument("--splits", type=int, default=100)
    parser.add_argument("--sets", type=int, default=2_000)
    arguments = parser.parse_args()
    parts = arguments.parts or ["costs", "power", "mapie"]
    report = Report()
    with threadpool_limits(1):
        if "costs" in parts:
            costs(report, arguments.sets)
        if "power" in parts:
            power(report, arguments.sets // 5)
        if "mapie" in parts:
            side_by_side(report, arguments.splits)
    report.summary()


# ---- bounds of a mean cost -----------------------------------------------------------------


def costs(report: Report, n_sets: int, confidence: float = 0.95) -> None:
    """Print how far above the true mean each bound is, and how often below it."""
    report.section(
        "Bounds of a mean cost",
        f"Mean distance from the true mean, in % of it, and in brackets how often the bound was "
        f"below it, in % of {n_sets} data sets; a valid one at most {100 * (1 - confidence):.0f}.",
    )
    bounds: dict[str, Callable[[Floats, float], Floats]] = {
        "betting": mean_upper_bound,
        "Hoeffding-Bentkus": hoeffding_bentkus,
        "empirical Bernstein": empirical_bernstein,
    }
    report.header("losses", "cases", *bounds)
    rng = np.random.default_rng(0)
    worst, ratios = 0.0, []
    for name, (values, shares) in LOSSES.items():
        mean = float(np.dot(values, shares))
        for n in (100, 300, 1000, 3000):
            found: dict[str, list[Floats]] = {key: [] for key in bounds}
            for _ in range(0, n_sets, 200):
                x = rng.choice(values, p=shares, size=(n, 200))
                for key, bound in bounds.items():
                    found[key].append(bound(x, confidence))
            at = {key: np.concatenate(parts) for key, parts in found.items()}
            cells = [
                f"{100 * (b.mean() / mean - 1):.0f} ({100 * (b < mean).mean():.1f})"
                for b in at.values()
            ]
            report.row(name, f"{n:,}", *cells)
            worst = max(worst, 100 * float((at["betting"] < mean).mean()))
            if len(values) > 2:
                gap = at["Hoeffding-Bentkus"].mean() - mean, at["betting"].mean() - mean
                ratios.append(gap[0] / gap[1])
    delta = 1 - confidence
    allowed = 100 * (delta + 3 * math.sqrt(delta * confidence / n_sets))
    report.judge(Target("betting, worst share below the mean", allowed, [worst], True, " %"))
    print(
        f"\nHoeffding-Bentkus is {min(ratios):.2f} to {max(ratios):.2f} times as far from the mean."
    )


def hoeffding_bentkus(x: Floats, confidence: float) -> Floats:
    """Angelopoulos et al. (Learn then Test), inverted by bisection."""
    n, mean = len(x), x.mean(axis=0)

    def p_value(m: Floats) -> Floats:
        q = np.minimum(mean, m)
        with np.errstate(divide="ignore", invalid="ignore"):
            h = np.where(q > 0, q * np.log(q / m), 0.0)
            h += np.where(q < 1, (1 - q) * np.log((1 - q) / (1 - m)), 0.0)
        bentkus = math.e * binom.cdf(np.ceil(n * mean - 1e-9), n, m)
        return np.asarray(np.minimum(np.exp(-n * h), bentkus))

    low, high = np.zeros(x.shape[1]), np.ones(x.shape[1])
    for _ in range(40):
        m = (low + high) / 2
        proved = p_value(m) <= 1 - confidence
        low, high = np.where(proved, low, m), np.where(proved, m, high)
    return high


def empirical_bernstein(x: Floats, confidence: float) -> Floats:
    """Maurer and Pontil (2009)."""
    n, log = len(x), math.log(2 / (1 - confidence))
    return np.asarray(
        x.mean(axis=0) + np.sqrt(2 * x.var(axis=0, ddof=1) * log / n) + 7 * log / (3 * (n - 1))
    )


# ---- what can be promised ------------------------------------------------------------------


def power(report: Report, n_sets: int, confidence: float = 0.95) -> None:
    """Print the smallest error that can be promised, before and after."""
    delta, k = 1 - confidence, len(CANDIDATES)
    report.section(
        "What can be promised with 95 % confidence",
        f"Smallest share of errors among the decided cases: {k} candidates that share the "
        "confidence (Bonferroni), and cuts tested in a settled order at the full confidence. "
        "Error-free: no error in the calibration cases, all decided. With errors: a classifier "
        "whose posteriors are near the truth (11 % errors if it decides everything), the limit "
        f"that four of five of {n_sets} data sets prove.",
    )
    report.header(
        "calibration cases", "error-free, 14 candidates", "in order", "with errors, 14 candidates",
        "in order",
    )  # fmt: skip
    for n in (300, 1000, 3000):
        before, after = (
            float(np.quantile([least(n, seed) for seed in range(n_sets)], 0.8))
            for least in (_least_of_candidates, _least_in_order)
        )
        report.row(
            f"{n:,}", f"{100 * (1 - (delta / k) ** (1 / n)):.2f} %",
            f"{100 * (1 - delta ** (1 / n)):.2f} %", f"{100 * before:.2f} %",
            f"{100 * after:.2f} %",
        )  # fmt: skip
    report.section("Calibration cases needed to promise 2 % with 95 % confidence")
    report.header("", "14 candidates", "in order", "ratio")
    clean = cases_needed(0.02, 1 - delta / k), cases_needed(0.02, confidence)
    report.row("all decided, no error", *map(str, clean), f"{clean[0] / clean[1]:.2f}")
    real = _needed(n_sets, before=True), _needed(n_sets, before=False)
    report.row("with errors, proved in four of five", *map(str, real), f"{real[0] / real[1]:.2f}")
    report.judge(Target("times fewer cases for 2 %", 1.7, [clean[0] / clean[1], real[0] / real[1]]))


class Trained(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier from elsewhere, a little too sure of itself."""

    def fit(self, X: Any, y: Any) -> Trained:
        self.classes_, self.n_features_in_ = np.unique(y), 1
        return self

    def predict_proba(self, X: Any) -> Floats:
        p = expit(6 * np.asarray(X)[:, 0])
        return np.column_stack([1 - p, p])


def _cases(n: int, seed: int) -> tuple[Floats, NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1))
    return X, (rng.uniform(size=n) < expit(5 * X[:, 0])).astype(np.int64)


def _promise(n: int, seed: int, limit: float, confidence: float = 0.95) -> RejectClassifierCV:
    """A guarantee from n calibration cases; 500 others settle the order."""
    X, y = _cases(n + 500, seed)
    return RejectClassifierCV(
        ThresholdRejectClassifier(Trained()), max_error=limit, confidence=confidence,
        calibration_size=n / (n + 500), random_state=seed,
    ).fit(X, y)  # fmt: skip


def _least_of_candidates(n: int, seed: int, confidence: float = 0.95) -> float:
    """The lowest of the bounds of 14 reject costs that hold at once."""
    X, y = _cases(n + 500, seed)
    test = hold_out(n + 500, n / (n + 500), seed)[1]
    p = Trained().predict_proba(X[test])
    decided = p.max(axis=1)[:, None] >= 1 - np.array(CANDIDATES)  # (n, n_candidates)
    wrong = decided & (p.argmax(axis=1) != y[test])[:, None]
    level = 1 - (1 - confidence) / len(CANDIDATES)  # all of them hold at once
    return float(binomial_upper_bounds(wrong.sum(axis=0), decided.sum(axis=0), level).min())


def _least_in_order(n: int, seed: int) -> float:
    """The lowest of many limits that is proved."""
    proved = bisect_left(PROMISES, True, key=lambda limit: _proves_in_order(n, seed, limit))
    return PROMISES[proved]


def _proves_in_order(n: int, seed: int, limit: float) -> bool:
    try:
        _promise(n, seed, limit)
    except TargetUnattainable:
        return False
    return True


def _needed(n_sets: int, *, before: bool, limit: float = 0.02) -> int:
    """Calibration cases with which four of five data sets prove the limit."""
    sizes = np.unique(np.geomspace(150, 4000, 22).astype(int))
    shares: list[float] = []
    for n in sizes.tolist():
        proved = [
            _least_of_candidates(n, seed) <= limit if before else _proves_in_order(n, seed, limit)
            for seed in range(n_sets)
        ]
        shares.append(float(np.mean(proved)))
        if shares[-1] > 0.95:
            break
    return round(float(np.interp(0.8, np.maximum.accumulate(shares), sizes[: len(shares)])))


# ---- side by side with MAPIE ---------------------------------------------------------------


def side_by_side(report: Report, n_splits: int) -> None:
    """Print the share of cases decided within a limit, and how often the limit was missed."""
    try:
        import mapie
    except ImportError:
        print('\nMAPIE is not installed: pip install "mapie==1.6.*"')
        return
    report.section(
        f"The same promise by MAPIE {mapie.__version__}",
        "At most this share of errors among the decided cases, with "
        f"{100 * CONFIDENCE:g} % confidence. In each of {n_splits} splits, logistic regression "
        "learns from 40 % of a table. The others are the population, so that true rates are known: "
        "as many cases are drawn from it with replacement, half of them to settle the order of the "
        "tests and half to calibrate, the same for all. Decided: mean true share, 0 if nothing was "
        "proved. Broken: splits whose true rate is above the limit.",
    )
    report.header("table, limit", "method", "proved", "decided", "errors", "broken")
    warnings.simplefilter("ignore")
    gains, broken = [], []
    for table, limit in [(table, limit) for table, both in TABLES.items() for limit in both]:
        rows = [row for split in range(n_splits) for row in _split(table, limit, split)]
        shares = {}
        for method in dict.fromkeys(row["method"] for row in rows):
            own = [row for row in rows if row["method"] == method]
            proved = [row for row in own if row["decided"]]
            shares[method] = sum(row["decided"] for row in own) / len(own)
            wrong = np.mean([row["error"] for row in proved]) if proved else math.nan
            over = sum(row["error"] > limit + 1e-12 for row in proved)
            report.row(
                f"{table}, {100 * limit:g} %", method, f"{len(proved)} of {len(own)}",
                f"{100 * shares[method]:.1f} %", f"{100 * wrong:.1f} %", str(over),
            )  # fmt: skip
            if method == "rejo":
                broken.append(100 * over / len(own))
        rivals = max(share for method, share in shares.items() if method != "rejo")
        gains.append(100 * (shares["rejo"] - rivals))
    delta = 1 - CONFIDENCE
    allowed = 100 * (delta + 3 * math.sqrt(delta * CONFIDENCE / n_splits))
    report.judge(Target("decided, more than the best of MAPIE's ways", 0, gains, unit=" points"))
    report.judge(Target("promises of rejo broken", allowed, broken, True, " %"))


def _split(table: str, limit: float, split: int) -> Iterator[dict[str, Any]]:
    X, y = _load(table)
    train, rest = train_test_split(np.arange(len(y)), train_size=0.4, random_state=split)
    encoder = TableEncoder().fit(X.iloc[train])
    Z, y_all = encoder.transform(X.iloc[rest]), y[rest]  # the population
    classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    classifier.fit(encoder.transform(X.iloc[train]), y[train])
    drawn = np.random.default_rng(split).integers(len(rest), size=len(rest))
    Z_drawn, y_drawn = Z[drawn], y_all[drawn]

    def row(method: str, decided: Any, right: Any) -> dict[str, Any]:
        share = float(decided.mean())
        error = float((decided & ~right).sum() / decided.sum()) if share else math.nan
        return {"method": method, "decided": share, "error": error}

    model = RejectClassifierCV(
        ThresholdRejectClassifier(FrozenEstimator(classifier)), max_error=limit,
        confidence=CONFIDENCE, calibration_size=0.5, random_state=split,
    )  # fmt: skip
    right = classifier.predict(Z) == y_all
    try:
        decision = model.fit(Z_drawn, y_drawn).predict(Z)
        yield row("rejo", decision != model.reject_label_, right)
    except TargetUnattainable:
        yield row("rejo", np.zeros(len(Z), dtype=bool), right)
    first, held = hold_out(len(drawn), 0.5, split)
    cases = (Z_drawn[first], y_drawn[first]), (Z_drawn[held], y_drawn[held])
    for method in RIVALS:
        yield row(f"MAPIE, {method}", _mapie_decides(classifier, *cases, Z, limit, method), right)


RIVALS = ("bonferroni_holm", "fixed_sequence", "five starts", "split_fixed_sequence")


def _mapie_decides(
    classifier: Any, learn: Any, calibrate: Any, X_new: Any, limit: float, method: str
) -> Any:
    """Which new cases it decides.

    "Decide this case" is MAPIE's positive class, predicted if the largest posterior reaches a
    threshold, and its precision is the share of right decisions: with one threshold, all of its
    corrections for many thresholds can be used.  The highest threshold decides one in twenty: at
    those that decide nothing its p-values are not defined, and it would stop there.
    """
    from mapie.risk_control import BinaryClassificationController, FWERFixedSequenceTesting

    def sureness(X: Any) -> Floats:
        s = classifier.predict_proba(X).max(axis=1)
        return np.column_stack([1 - s, s])

    def right(X: Any, y: Any) -> Any:
        return (classifier.predict(X) == y).astype(int)

    correction: Any = FWERFixedSequenceTesting(n_starts=5) if method == "five starts" else method
    controller = BinaryClassificationController(
        sureness, "precision", 1 - limit, confidence_level=CONFIDENCE,
        best_predict_param_choice="recall", fwer_method=correction,
        list_predict_params=np.linspace(0.5, np.quantile(sureness(learn[0])[:, 1], 0.95), 100),
    )  # fmt: skip
    if method == "split_fixed_sequence":
        controller.learn_fixed_sequence_order(learn[0], right(*learn), binary=True)
    controller.calibrate(calibrate[0], right(*calibrate))
    if controller.best_predict_param is None:
        return np.zeros(len(X_new), dtype=bool)
    return controller.predict(X_new).astype(bool)


@cache
def _load(table: str) -> tuple[Any, Any]:
    data = fetch(table)
    X, y = data.data, np.asarray(data.target, dtype=np.int64)
    if len(y) > MAX_ROWS:
        kept, _ = train_test_split(np.arange(len(y)), train_size=MAX_ROWS, random_state=0)
        X, y = X.iloc[kept], y[kept]
    return X.reset_index(drop=True), y


if __name__ == "__main__":
    main()
