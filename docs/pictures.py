"""Draws the pictures of the guide, beside this file (`make docs`)."""

from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from PIL import Image
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from rejo import (
    NoveltyReject,
    RejectClassifierCV,
    RejoLinear,
    RejoSVC,
    ThresholdRejectClassifier,
    compare,
)
from rejo.datasets import (
    bayes_rates,
    load_diabetes_ordinal,
    make_synthetic_1,
    make_synthetic_2,
    make_synthetic_3,
    make_synthetic_4,
    posterior,
)
from rejo.displays import (
    AccuracyRejectDisplay,
    DisparityDisplay,
    RejectConfusionDisplay,
    RejectRegionDisplay,
    ReliabilityDisplay,
    ReviewBudgetDisplay,
    RiskCurveDisplay,
)

FOLDER = Path(__file__).parent
COST = 0.2
COSTS = np.arange(1, 13) / 25  # 0.04, 0.08, ..., 0.48: those of the paper
QUADRATIC = {"kernel": "poly", "degree": 2, "gamma": 0.05, "coef0": 1, "C": 1}


def save(figure, name):
    """Write a small file, of 256 colours."""
    file = BytesIO()
    figure.savefig(file, dpi=110)
    image = Image.open(file).convert("RGB").quantize(256, kmeans=3, dither=Image.Dither.NONE)
    image.save(FOLDER / name, optimize=True)


def one_panel():
    figure = Figure(figsize=(6.8, 4.0), layout="constrained")
    return figure, figure.subplots()


def reject_region():
    """The classifier of the README."""
    X, y = make_synthetic_1(400, random_state=0)
    model = RejoSVC(C=10, gamma=4, reject_cost=COST).fit(X, y)
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    RejectRegionDisplay.from_estimator(model, X, y, ax=figure.subplots())
    save(figure, "reject_region.png")


def data():
    """A sample of each problem, and Chow's rule: reject if no class is as likely as 1 - COST."""
    figure = Figure(figsize=(9.4, 7.8), layout="constrained")
    square, plane = np.linspace(0, 1, 500), np.linspace(-17, 17, 500)
    panels = zip(
        figure.subplots(2, 2).flat,
        ("SyntheticI", "SyntheticII", "SyntheticIII", "SyntheticIV"),
        (make_synthetic_1, make_synthetic_2, make_synthetic_3, make_synthetic_4),
        (square, plane, square, plane),
        strict=True,
    )
    for i, (ax, title, make, axis) in enumerate(panels, start=1):
        X, y = make(400, random_state=0)
        xx0, xx1 = np.meshgrid(axis, axis)
        p = posterior(f"synthetic_{i}", np.column_stack([xx0.ravel(), xx1.ravel()]))
        decisions = np.where(p.max(axis=1) < 1 - COST, -1, p.argmax(axis=1))
        RejectRegionDisplay(
            xx0=xx0,
            xx1=xx1,
            classes=np.unique(y),
            decisions=decisions.reshape(xx0.shape),
            X=X,
            y=y,
            xlabel="x1",
            ylabel="x2",
        ).plot(ax=ax)
        ax.set_title(title)
    save(figure, "data.png")


def regions():
    """Three classes, and five: all reject regions between neighbours."""
    figure = Figure(figsize=(9.8, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    X, y = make_synthetic_4(300, random_state=0)
    model = RejoSVC(C=10, gamma=0.01, s=1, reject_cost=0.28).fit(X, y)
    RejectRegionDisplay.from_estimator(model, X, y, ax=left)
    X, y = make_synthetic_3(400, random_state=0)
    model = RejoSVC(C=100, gamma=2, reject_cost=COST).fit(X, y)
    RejectRegionDisplay.from_estimator(model, X, y, ax=right)
    save(figure, "regions.png")


@cache
def comparison():
    """Three methods on SyntheticII: 10 times 400 points to learn from and 4,000 to try them on."""
    X, y = make_synthetic_2(40_000, random_state=0)
    methods = {
        "RejoSVC, quadratic": RejoSVC(**QUADRATIC),
        "one SVC, two cut-offs": ThresholdRejectClassifier(SVC(**QUADRATIC), rule="score"),
        "RejoLinear": RejoLinear(),
    }
    splits = ShuffleSplit(10, train_size=400, test_size=4_000, random_state=0)
    return compare(methods, X, y, reject_costs=COSTS, cv=splits).rows


def best():
    """Rejection rate, error rate and risk of the Bayes rule, (n_costs,) each."""
    return np.array([bayes_rates("synthetic_2", cost) for cost in COSTS]).T


def accuracy_reject():
    R, E, _ = best()
    figure, ax = one_panel()
    AccuracyRejectDisplay.from_rows(comparison(), "overall", bayes=(R, 1 - E), ax=ax)
    save(figure, "accuracy_reject.png")


def risk():
    figure, ax = one_panel()
    bayes = (COSTS, best()[2])
    RiskCurveDisplay.from_rows(comparison(), bayes=bayes, operating_point=COST, ax=ax)
    save(figure, "risk.png")


def patients(n_classes, reject_cost):
    """A model of real patients, in classes by the progress of their illness, and new ones."""
    X, y = load_diabetes_ordinal(n_classes=n_classes, return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=reject_cost))
    return model.fit(X, y), X_new, y_new


def confusion():
    """One column of reviews, or one between any two neighbours."""
    arguments = patients(n_classes=3, reject_cost=0.3)
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(4, 5))
    RejectConfusionDisplay.from_estimator(*arguments, ax=left)
    left.get_legend().remove()
    RejectConfusionDisplay.from_estimator(*arguments, ordinal=True, ax=right)
    save(figure, "confusion.png")


def budget():
    figure, ax = one_panel()
    ReviewBudgetDisplay.from_estimator(*patients(n_classes=2, reject_cost=COST), ax=ax)
    save(figure, "budget.png")


def start():
    """The model of the page for beginners."""
    X, y = load_breast_cancer(return_X_y=True)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
    mine = make_pipeline(StandardScaler(), LogisticRegression())
    model = RejectClassifierCV(ThresholdRejectClassifier(mine), review_budget=0.05).fit(X, y)
    figure, ax = one_panel()
    ReviewBudgetDisplay.from_estimator(model, X_new, y_new, counts=True, ax=ax)
    ax.set_yticks(range(5))
    save(figure, "start.png")


def reliability():
    """A logistic model of the right form, and boosted trees that learn too long."""
    X, y = make_synthetic_2(3_000, random_state=0)
    X, X_new, y, y_new = train_test_split(X, y, train_size=600, random_state=0)
    models = {
        "RejoLinear, quadratic": make_pipeline(PolynomialFeatures(2), RejoLinear(reject_cost=COST)),
        "gradient boosting": HistGradientBoostingClassifier(random_state=0),
    }
    figure, ax = one_panel()
    for name, model in models.items():
        model.fit(X, y)
        ReliabilityDisplay.from_estimator(model, X_new, y_new, label=1, name=name, ax=ax)
    save(figure, "reliability.png")


def disparity():
    """In one branch of two, one record in four belongs to another case: it is wrong surely."""
    X, y = make_synthetic_2(16_000, random_state=0)
    rng = np.random.default_rng(0)
    group = np.where(rng.random(len(y)) < 0.3, "branch B", "branch A")
    mixed_up = (group == "branch B") & (rng.random(len(y)) < 1 / 4)
    X[mixed_up] = rng.permutation(X[mixed_up])
    model = make_pipeline(PolynomialFeatures(2), StandardScaler(), RejoLinear(reject_cost=COST))
    model.fit(X[:4000], y[:4000])
    figure = Figure(figsize=(11, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    display = DisparityDisplay.from_estimator(model, X[4000:], y[4000:], group[4000:], ax=left)
    display.plot(ax=right, show="gap")
    save(figure, "disparity.png")


def novelty():
    """A polynomial machine far around its training data, without and with a detector."""
    X, y = make_synthetic_1(400, random_state=0)
    machine = RejoSVC(kernel="poly", gamma=1, coef0=1, C=10, reject_cost=COST)
    figure = Figure(figsize=(9.8, 4.4), layout="constrained")
    for ax, model in zip(figure.subplots(1, 2), (machine, NoveltyReject(machine)), strict=True):
        model.fit(X, y)
        RejectRegionDisplay.from_estimator(model, X, y, eps=1.0, points=False, ax=ax)
        ax.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], "k--", linewidth=1)
        ax.set_title(f"{type(model).__name__}, trained on the unit square")
    save(figure, "novelty.png")


if __name__ == "__main__":
    reject_region()
    data()
    regions()
    accuracy_reject()
    risk()
    confusion()
    budget()
    start()
    reliability()
    disparity()
    novelty()
