"""Populations whose true rates are known exactly, to see how often promises are broken.

A population is a finite list of kinds of cases, each with the probability of every class.  Data
sets are drawn from it with replacement, so the true rate of any fitted model is a weighted sum.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from rejo.baselines import ThresholdRejectClassifier
from rejo.selection import TargetUnattainable


class Population(NamedTuple):
    """Kinds of cases, equally frequent; ``size``: how many rows of such a case come together."""

    X: Any  # (n_kinds, n_features)
    p: Any  # (n_kinds, n_classes)
    group: Any  # (n_kinds,) of str
    size: Any = None

    def draw(self, n, rng):
        """Features, classes, groups, and which rows belong together."""
        kind = rng.randint(len(self.X), size=n)
        y = (rng.uniform(size=n)[:, None] > self.p[kind].cumsum(axis=1)[:, :-1]).sum(axis=1)
        rows = np.arange(n) if self.size is None else np.repeat(np.arange(n), self.size[kind])
        return self.X[kind][rows], y[rows], self.group[kind][rows], rows


def population(n_kinds, scores, groups=("a",), shares=None, seed=99, levels=None, size=None):
    """Normal features, or of few values; ``scores`` of features and groups give the posteriors."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n_kinds, 3))
    if levels is not None:
        X = np.round(X * levels) / levels
    group = rng.choice(list(groups), p=shares, size=n_kinds).astype(str)
    p = softmax(scores(X, group), axis=1)
    return Population(X, p, group, None if size is None else size(p))


class Fixed(ClassifierMixin, BaseEstimator):
    """A classifier that was trained elsewhere: its posteriors are near the truth, not equal to it.

    ``sharpness`` above 1 makes them too sure.
    """

    def __init__(self, scores=None, sharpness=1.0):
        self.scores, self.sharpness = scores, sharpness

    def fit(self, X, y):
        self.classes_, self.n_features_in_ = np.unique(y), 3
        return self

    def predict_proba(self, X):
        X = np.asarray(X)
        scores = self.scores(X, np.full(len(X), "a"))[:, self.classes_]
        return softmax(self.sharpness * scores, axis=1)


def true_value(promise, model, decision, population, prices=None):
    """The rate, or the mean cost, that a guarantee speaks of, in the whole population."""
    X, p = population.X, population.p
    rejected = decision == model.reject_label_
    code = np.searchsorted(model.classes_, np.where(rejected, model.classes_[0], decision))
    classes = np.asarray(model.classes_, dtype=int)  # those that were seen
    right = np.where(rejected, 0.0, p[np.arange(len(X)), classes[code]])
    wrong = np.where(rejected, 0.0, 1.0 - right)
    weight = np.ones(len(X))  # how much of each kind counts
    by, value = promise.by, promise.value
    if by == "class":
        k = int(value)
        weight = p[:, k]
        wrong = np.where(rejected | (classes[code] == k), 0.0, weight)
    elif by == "decision":
        weight = (~rejected & (classes[code] == int(value))).astype(float)
        wrong = wrong * weight
    elif by == "group":
        weight = (population.group == value).astype(float)
        wrong = wrong * weight
    if promise.rate == "rejection_rate":
        return (weight * rejected).sum() / weight.sum()
    if promise.rate == "mean_cost":
        cost = p @ prices  # (n_kinds, n_classes + 1)
        chosen = np.where(rejected, prices.shape[1] - 1, classes[code])
        return (weight * cost[np.arange(len(X)), chosen]).sum() / weight.sum()
    if promise.rate == "accepted_error_rate":
        weight = weight * ~rejected
    return wrong.sum() / weight.sum() if weight.sum() > 0 else 0.0


def group_of(model, population):
    """What ``predict`` needs to know of the groups."""
    return {} if getattr(model, "policy_", None) is None else {"group": population.group}


class Promise(NamedTuple):
    """A guarantee that nobody gave."""

    rate: str
    target: float
    by: str | None = None
    value: str | None = None


class Tally(NamedTuple):
    """What became of many fits."""

    n_sets: int
    n_fits: int  # that reached their target
    n_broken: int  # at least one promise of the fit is broken
    promises: tuple[str, ...]  # kinds that occurred


def made_by(model):
    """The promises of a fitted model."""
    return model.guarantees_


def simulate(model, population, n, n_sets, *, fit=(), prices=None, then=None, promises=made_by):
    """Fit on many data sets, and count those with a broken promise.

    ``fit`` names what goes to ``fit``: "group", "groups", "time".  With ``then``, the first half of
    each data set comes from ``population``, the second from ``then``, to which the promise applies.
    """
    rng = np.random.RandomState(0)
    truth = population if then is None else then
    n_fits = n_broken = 0
    kinds = set()
    for i in range(n_sets):
        parts = [population.draw(n, rng)] if then is None else [
            population.draw(n // 2, rng), then.draw(n - n // 2, rng)
        ]  # fmt: skip
        X, y, group, rows = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        given = {"group": group, "groups": rows, "time": np.arange(len(y))}
        model.set_params(random_state=i)
        try:
            model.fit(X, y, **{name: given[name] for name in fit})
        except TargetUnattainable:
            continue
        n_fits += 1
        made, decision = promises(model), model.predict(truth.X, **group_of(model, truth))
        n_broken += any(
            true_value(promise, model, decision, truth, prices) > limit_of(promise) + 1e-9
            for promise in made
        )
        kinds.update(f"{g.rate} by {g.by}" if g.by else g.rate for g in made)
    return Tally(n_sets, n_fits, n_broken, tuple(sorted(kinds)))


def limit_of(promise):
    """What was asked for, or else what was said."""
    return promise.bound if promise.target is None else promise.target


def logistic_problem():
    """Cases with an error rate of about 0.2 if all are decided."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 2))
    return X, np.where(rng.uniform(size=300) < 1 / (1 + np.exp(-2 * X.sum(axis=1))), 1, -1)


def logistic():
    return ThresholdRejectClassifier(LogisticRegression(max_iter=1000))


class Counting(LogisticRegression):
    """Counts its fits."""

    fits = 0

    def fit(self, X, y, sample_weight=None):
        Counting.fits += 1
        return super().fit(X, y, sample_weight)
