"""What a fitted model is made of, as far as pulls of features need to know."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from rejo._typing import Floats, Indices
from rejo.estimators import RejectClassifier, RejoBoost, RejoLinear, library_of, middle_scores
from rejo.explain.trees import SplitTree
from rejo.solvers import BoostedTrees
from rejo.typical import Typical

LEAST = 1e-6  # of a probability, before its logarithm


class Insides(NamedTuple):
    """A fitted model in parts: cases go through ``before``, then ``after``, to ``scorer``."""

    before: list[Any]  # transformers up to the classifier that rejects
    after: list[Any]  # those inside it
    scorer: Any  # the classifier whose score is explained
    column: Indices  # (K,) place of each class of the model among those of the scorer
    ordered: bool  # its score is that of a boundary between neighbouring classes
    typical: Typical | None  # what the model knows of the cases that reach ``after``


def insides(model: Any) -> Insides:
    """Take a fitted model apart, down to the classifier that gives the score.

    A calibration between this score and the decision keeps its order; for more than two classes,
    whose calibration mixes scores, what is explained is the classifier around it.
    """
    before: list[Any] = []
    after: list[Any] = []
    typical = None
    steps = before
    while True:
        typical = getattr(model, "typical_", None) or typical
        inside = _inside(model, steps)
        if inside is None:
            break
        if inside is getattr(model, "classifier_", None):  # the model rejects novel cases
            steps = after
        model = inside
    K = len(model.classes_)
    same = np.arange(K)
    if hasattr(model, "boundary_scores"):
        return Insides(before, after, model, same, True, typical)
    mixes = K > 2 and getattr(model, "calibrator_", None) is not None
    wraps = isinstance(model, RejectClassifier) and hasattr(model, "estimator_")
    if mixes or not wraps:
        return Insides(before, after, model, same, False, typical)
    scorer = model.estimator_
    while (inside := _inside(scorer, after)) is not None:
        scorer = inside
    column = same
    if library_of(scorer) != "xgboost":  # which calls the classes 0, 1, ...
        known = np.asarray(scorer.classes_).tolist()
        column = np.array([known.index(label) for label in model.classes_.tolist()])
    return Insides(before, after, scorer, column, False, typical)


def _inside(model: Any, transformers: list[Any]) -> Any:
    """What a pipeline, a search or a novelty detector stands around; its transformers are added."""
    if hasattr(model, "steps"):
        transformers += [step for _, step in model.steps[:-1]]
        return model.steps[-1][1]
    if hasattr(model, "best_estimator_"):
        return model.best_estimator_
    return model.classifier_ if hasattr(model, "detector_") else None


def through(transformers: list[Any], X: Any) -> Any:
    for transformer in transformers:
        if transformer is not None and transformer != "passthrough":
            X = transformer.transform(X)
    return X


def pair_scores(parts: Insides, Z: Any, lower: Indices, upper: Indices) -> Floats:
    """Score (n,) of the upper against the lower class of each of the cases, as the scorer sees it.

    Log-odds, or the score itself if it decides: for two classes calibration keeps its order.
    """
    scorer, column = parts.scorer, parts.column
    rows = np.arange(len(lower))
    posteriors = hasattr(scorer, "predict_proba") or hasattr(scorer, "decision_function")
    if parts.ordered or not posteriors:
        rejects = getattr(scorer, "reject_label_", None) is not None
        middles = middle_scores(scorer.boundary_scores(Z), rejects=rejects)
        totals = np.column_stack([np.zeros(len(rows)), np.cumsum(middles, axis=1)])
        return np.asarray(totals[rows, upper] - totals[rows, lower])
    if len(column) == 2 and hasattr(scorer, "decision_function"):
        sign = np.where(column[upper] == 1, 1.0, -1.0)
        return np.asarray(sign * np.asarray(scorer.decision_function(Z), dtype=np.float64))
    p = np.asarray(scorer.predict_proba(Z), dtype=np.float64)
    of_upper, of_lower = p[rows, column[upper]], p[rows, column[lower]]
    if len(column) == 2:
        return np.asarray(logit(np.clip(of_upper, LEAST, 1 - LEAST)))
    return np.log(np.maximum(of_upper, LEAST)) - np.log(np.maximum(of_lower, LEAST))


def linear_coef(parts: Insides, lower: Indices, upper: Indices) -> Floats | None:
    """Coefficients (1, p) or (n, p) of the score of each case, if it is linear."""
    scorer, column = parts.scorer, parts.column
    if isinstance(scorer, RejoLinear):
        return scorer.coef_
    if isinstance(scorer, RejectClassifier) or not hasattr(scorer, "classes_"):
        return None
    coef = getattr(scorer, "coef_", None)
    if coef is None or not hasattr(scorer, "intercept_"):
        return None
    coef = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
    if len(column) == 2 and coef.ndim == 2 and len(coef) == 1:
        return coef * np.where(column[upper] == 1, 1.0, -1.0)[:, None]
    softmax = isinstance(scorer, LogisticRegression | LinearDiscriminantAnalysis)
    if softmax and len(coef) == len(column) and getattr(scorer, "solver", "") != "liblinear":
        return np.asarray(coef[column[upper]] - coef[column[lower]])
    return None


def trees_of(parts: Insides) -> list[tuple[SplitTree, Indices]] | None:
    """Trees whose sum is the score, each with the classes (k,) of the scorer that it speaks for.

    Only a RejoBoost shows its trees; ``None`` if the scorer is something else, or splits by sets of
    categories.  What lies above a boundary counts for all classes there, so that the difference
    between two neighbours is the score of the boundary between them; posteriors of two classes have
    one score, that of the second.
    """
    scorer = parts.scorer
    if not isinstance(scorer, RejoBoost) or scorer.trees_.splits_by_category:
        return None
    trees, K = scorer.trees_, len(scorer.classes_)
    if scorer.form_ == "posteriors":
        first = 1 if K == 2 else 0
        of = trees.target.tolist()
        return [(tree, np.array([k + first])) for tree, k in zip(_splits(trees), of, strict=True)]
    Q = len(scorer.offsets_)
    above = [np.arange(q // (Q // (K - 1)) + 1, K) for q in range(Q)]
    if scorer.form_ == "parallel":  # every boundary has the same trees
        one = list(_splits(trees))
        return [(tree, classes) for classes in above for tree in one]
    p = scorer.n_features_in_
    return [(tree, above[q]) for q in range(Q) for tree in _splits(trees.settled(p, q))]


def _splits(trees: BoostedTrees) -> Iterator[SplitTree]:
    for first, end in trees.bounds:
        part = slice(first, end)
        left = (trees.left[part] - first).astype(np.intp)
        yield SplitTree(
            feature=trees.feature[part].astype(np.intp),
            threshold=trees.limit[part],
            missing_left=trees.missing_left[part],
            left=left,
            right=left + 1,
            value=trees.value[part].astype(np.float64)[:, None],
            weight=trees.cover[part].astype(np.float64),
        )


def booster_pulls(parts: Insides, Z: Any, n_classes: int) -> Floats | None:
    """Pulls (n, p, K) by XGBoost's or LightGBM's own TreeSHAP; K is 1 for two classes."""
    scorer, kind = parts.scorer, library_of(parts.scorer)
    if kind == "xgboost":
        from xgboost import DMatrix

        booster = scorer.get_booster()
        data = DMatrix(Z, feature_names=booster.feature_names, enable_categorical=True)
        found = booster.predict(data, pred_contribs=True)
    elif kind == "lightgbm":
        found = scorer.booster_.predict(Z, pred_contrib=True)
    else:
        return None
    K = 1 if n_classes == 2 else n_classes
    by_class = np.asarray(found, dtype=np.float64).reshape(len(Z), K, -1)
    return by_class.transpose(0, 2, 1)[:, :-1]
