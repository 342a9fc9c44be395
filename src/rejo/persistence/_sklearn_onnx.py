"""Classes of scikit-learn as parts of an ONNX graph: ``(object, graph, name of X) -> name``."""

from typing import Any

import numpy as np

from rejo.persistence._trees_onnx import boosting, boosting_scores, forest


def pipeline(step: Any, graph: Any, X: str) -> str:
    for _, part in step.steps:
        X = graph.apply(part, X)
    return X


def scale(step: Any, graph: Any, X: str) -> str:
    X = graph.add("Sub", X, step.mean_) if step.with_mean else X
    if not step.with_std:
        return X
    if len(step.scale_) == 1:
        return str(graph.times(X, 1.0 / step.scale_[0]))
    return str(graph.add("Div", X, step.scale_))


def impute(step: Any, graph: Any, X: str) -> str:
    values = np.asarray(step.statistics_, dtype=np.float64)
    missing = step.missing_values
    simple = isinstance(missing, float) and np.isnan(missing) and not step.add_indicator
    if not simple or np.isnan(values).any():
        raise ValueError(
            "to_onnx exports a SimpleImputer of NaN, without an indicator, of columns that all "
            f"had values; got {step!r}."
        )
    return str(graph.add("Where", graph.add("IsNaN", X), values[None, :], X))


def nystroem(step: Any, graph: Any, X: str) -> str:
    if step.kernel != "rbf" or step.kernel_params:
        raise ValueError(
            f"to_onnx exports a Nystroem with kernel='rbf' and its gamma; got {step!r}."
        )
    gamma = 1.0 / step.n_features_in_ if step.gamma is None else float(step.gamma)
    K = graph.kernel(X, step.components_, "rbf", gamma)
    return str(graph.add("MatMul", K, step.normalization_.T))


def linear(model: Any, graph: Any, X: str) -> str:
    """Scores of a linear classifier: (n, 1) of two classes, or (n, K)."""
    scores = graph.add("MatMul", X, np.asarray(model.coef_, dtype=np.float64).T)
    return str(graph.add("Add", scores, np.asarray(model.intercept_, dtype=np.float64)))


def logistic(model: Any, graph: Any, X: str) -> str:
    """Posteriors of a logistic regression, binary or multinomial."""
    K = len(model.classes_)
    asked = getattr(model, "multi_class", "auto")  # until scikit-learn 1.8
    if asked not in ("auto", "deprecated") or (model.solver == "liblinear" and K > 2):
        raise ValueError(
            "to_onnx exports a LogisticRegression that is binary or multinomial; got "
            f"{model!r}. Leave out multi_class, and use another solver than 'liblinear'."
        )
    return str(graph.from_logits(linear(model, graph, X), K))


def sigmoid(model: Any, graph: Any, X: str) -> str:
    """Posteriors by Platt's sigmoid of the scores of two classes, averaged over the folds."""
    if len(model.classes_) > 2 or model.method != "sigmoid":
        raise ValueError(
            "to_onnx exports a calibration by a sigmoid, of two classes; this one is "
            f"{model.method!r} for {len(model.classes_)} classes."
        )
    p = []
    for part in model.calibrated_classifiers_:
        f = graph.decision(part.estimator, X, model.classes_)
        (curve,) = part.calibrators
        f = graph.add("Add", graph.times(f, -curve.a_), np.array(-float(curve.b_)))
        p.append(graph.add("Sigmoid", f))
    mean = graph.add("Div", graph.add("Sum", *p), np.array(float(len(p))))
    return str(graph.two_columns(mean))


# By what is asked of a class of scikit-learn, under the names by which rejo's own classes say it.
SKLEARN: dict[str, dict[str, Any]] = {
    "_to_onnx": {
        "Pipeline": pipeline,
        "SimpleImputer": impute,
        "StandardScaler": scale,
        "Nystroem": nystroem,
    },
    "_posteriors_to_onnx": {
        "LogisticRegression": logistic,
        **dict.fromkeys(("DecisionTreeClassifier", "ExtraTreeClassifier"), forest),
        **dict.fromkeys(("RandomForestClassifier", "ExtraTreesClassifier"), forest),
        "HistGradientBoostingClassifier": boosting,
        "CalibratedClassifierCV": sigmoid,
    },
    "_decision_to_onnx": {
        **dict.fromkeys(("LogisticRegression", "LinearSVC"), linear),
        "HistGradientBoostingClassifier": boosting_scores,
    },
}
