"""Classes of scikit-learn as parts of an ONNX graph: ``(object, graph, name of X) -> name``."""

from typing import Any

import numpy as np

from rejo.persistence._trees_onnx import boosting, boosting_scores, forest


def pipeline(step: Any, graph: Any, X: str) -> str:
    for _, part in step.steps:
        X = graph.apply(part, X)
    return X


def scale(step: Any, graph: Any, X: str) -> str:
    """``(X - centre) / scale``, each if there is one."""
    for operator, names in (("Sub", ("mean_", "center_")), ("Div", ("scale_",))):
        value = next((v for name in names if (v := getattr(step, name, None)) is not None), None)
        if operator == "Div" and value is not None and len(value) == 1:
            X = graph.times(X, 1.0 / value[0])
        elif value is not None:
            X = graph.add(operator, X, value)
    return X


def min_max(step: Any, graph: Any, X: str) -> str:
    """``scale X + min``, clipped if that was asked for."""
    X = graph.add("Add", graph.add("Mul", X, step.scale_), step.min_)
    if not step.clip:
        return X
    low, high = map(float, step.feature_range)
    return str(graph.add("Min", graph.add("Max", X, np.array(low)), np.array(high)))


def impute(step: Any, graph: Any, X: str) -> str:
    """The statistic of the column where ``X`` is NaN."""
    values = np.asarray(step.statistics_, dtype=np.float64)
    missing = step.missing_values
    simple = isinstance(missing, float) and np.isnan(missing) and not step.add_indicator
    if not simple or np.isnan(values).any():
        raise ValueError(
            "to_onnx exports a SimpleImputer of NaN, without an indicator, of columns that all "
            f"had values; got {step!r}."
        )
    return str(graph.add("Where", graph.add("IsNaN", X), values[None, :], X))


def one_hot(step: Any, graph: Any, X: str) -> str:
    numbers = all(categories.dtype.kind in "fiub" for categories in step.categories_)
    frequent = not getattr(step, "_infrequent_enabled", False)
    if not numbers or step.drop is not None or not frequent:
        raise ValueError(
            "to_onnx exports a OneHotEncoder of numbers, without drop and infrequent "
            f"categories; got {step!r}. Encode strings before the model."
        )
    blocks = []
    for j, categories in enumerate(step.categories_):
        column = graph.add("Gather", X, np.array([j]), axis=1)  # (n, 1)
        equal = graph.add("Equal", column, categories[None, :].astype(np.float64))
        blocks.append(graph.cast(equal, "DOUBLE"))
    return str(graph.add("Concat", *blocks, axis=1))


def columns(step: Any, graph: Any, X: str) -> str:
    blocks = []
    for name, part, _ in step.transformers_:
        places = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)
        if (isinstance(part, str) and part == "drop") or not len(places):
            continue
        passed = getattr(part, "func", part) is None  # "passthrough", once fitted
        block = graph.add("Gather", X, places, axis=1)
        blocks.append(block if passed else graph.apply(part, block))
    return str(graph.add("Concat", *blocks, axis=1))


def nystroem(step: Any, graph: Any, X: str) -> str:
    """Kernel values with some training rows, and a linear map of them."""
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
        "ColumnTransformer": columns,
        "SimpleImputer": impute,
        "OneHotEncoder": one_hot,
        "MinMaxScaler": min_max,
        **dict.fromkeys(("StandardScaler", "RobustScaler", "MaxAbsScaler"), scale),
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
