"""The scoring of a model as an ONNX graph, for runtimes without Python.

The graph counts boundaries as ``predict`` does, in double precision throughout: the two differ by
the rounding of single operations, far below what separates a point from a boundary.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

import rejo
from rejo.estimators.linear import RejoLinear
from rejo.estimators.mlp import RejoMLP
from rejo.estimators.svm import RejoSVC
from rejo.persistence._container import check_free, write_whole
from rejo.persistence._header import operating_point, plain
from rejo.selection.operating import RejectClassifierCV
from rejo.selection.svm_cv import RejoSVCCV

OPSET, IR = 17, 8


def to_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Any:
    """Export the decisions of a fitted model as an ONNX graph.

    Parameters
    ----------
    model : RejoSVC, RejoLinear, RejoMLP, RejectClassifierCV, RejoSVCCV or Pipeline
        A pipeline may have, before one of these, scalers (standard, min-max, max-abs, robust),
        a ``SimpleImputer``, a ``OneHotEncoder`` of numbers, and a ``ColumnTransformer`` of these.
    path : str or path-like, default=None
        Where to write the graph, if anywhere.
    overwrite : bool, default=False
        Replace a file that exists.

    Returns
    -------
    graph : onnx.ModelProto
        Input ``X``, double (n, n_features).  Outputs ``label`` (n,), as ``predict``; ``index``,
        int64 (n,), the class as an index into ``classes_``, -1 if rejected; and ``scores``, double
        (n, n_boundaries), as ``boundary_scores``.

    Notes
    -----
    The graph of a kernel machine contains rows of the training set, as its model file does.
    """
    if path is not None:
        check_free(Path(path), overwrite)
    graph = _Graph()
    check_is_fitted(model)
    scores, decider = graph.model(model, "X")
    index = graph.index(scores, rejects=decider.reject_label_ is not None)
    proto = graph.finish(
        {"label": graph.label(decider, index), "index": index, "scores": scores},
        _n_features(model),
        decider,
    )
    if path is not None:
        write_whole(Path(path), proto.SerializeToString(), overwrite=overwrite)
    return proto


class _Graph:
    """Nodes and constants so far; every method returns the name of what it adds."""

    def __init__(self) -> None:
        try:
            import onnx
            import onnx.helper
            import onnx.numpy_helper
        except ImportError:
            raise ImportError('to_onnx needs onnx: pip install "rejo[onnx]"') from None
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def constant(self, value: Any) -> str:
        name = f"constant_{len(self.constants)}"
        values = np.asarray(value)
        if values.dtype.kind in "fiub":
            kind = np.float64 if values.dtype.kind == "f" else np.int64
            proto = self.onnx.numpy_helper.from_array(values.astype(kind), name)
        else:
            texts: Any = [str(text).encode() for text in values.ravel()]
            text = self.onnx.TensorProto.STRING
            proto = self.onnx.helper.make_tensor(name, text, values.shape, texts)
        self.constants.append(proto)
        return name

    def to(self, value: str, kind: str) -> str:
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    # ---- models ---------------------------------------------------------------------------

    def model(self, model: Any, X: str) -> tuple[str, Any]:
        """Boundary scores, and the classifier that they come from."""
        if isinstance(model, (RejectClassifierCV, RejoSVCCV)):
            return self.model(model.best_estimator_, X)
        if isinstance(model, Pipeline):
            for _, step in model.steps[:-1]:
                X = self.transform(step, X)
            return self.model(model.steps[-1][1], X)
        kinds: dict[type, Callable[[Any, str], str]] = {
            RejoSVC: self.svc,
            RejoLinear: lambda model, X: self.add("MatMul", X, model.coef_[0][:, None]),
            RejoMLP: self.mlp,
        }
        if type(model) not in kinds:
            raise _unsupported(model, "a model", "RejoSVC, RejoLinear, RejoMLP or a pipeline")
        g = kinds[type(model)](model, X)  # (n, 1)
        return self.add("Sub", g, model.thresholds_[None, :]), model

    def svc(self, model: RejoSVC, X: str) -> str:
        if model.kernel == "linear":
            return self.add("MatMul", X, model._coef[:, None])
        if model.kernel not in ("rbf", "poly", "sigmoid"):
            raise ValueError(
                f"kernel={model.kernel!r} cannot be exported to ONNX: use 'linear', 'poly', 'rbf' "
                "or 'sigmoid'."
            )
        Z = model._basis.toarray() if issparse(model._basis) else model._basis
        if model.kernel == "rbf":
            centre = Z.mean(axis=0)  # distances lose no digits to a common offset
            Z = Z - centre
            X = self.add("Sub", X, centre)
            squares = self.add("ReduceSum", self.add("Mul", X, X), np.array([1]), keepdims=1)
            products = self.add("MatMul", X, -2.0 * Z.T)
            D = self.add("Add", self.add("Add", products, squares), (Z**2).sum(axis=1)[None, :])
            D = self.add("Max", D, np.array(0.0))
            K = self.add("Exp", self.add("Mul", D, np.array(-model._gamma)))
        else:
            # A factor of its own would be fused with the product, in single precision.
            K = self.add("MatMul", X, model._gamma * Z.T)
            K = self.add("Add", K, np.array(float(model.coef0)))
            if model.kernel == "poly":
                K = self.add("Pow", K, np.array(float(model.degree)))
            else:
                K = self.add("Tanh", K)
        return self.add("MatMul", K, model._coef[:, None])

    def mlp(self, model: RejoMLP, X: str) -> str:
        activation = {"tanh": "Tanh", "relu": "Relu", "logistic": "Sigmoid"}[model.activation]
        for W, c in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
            X = self.add(activation, self.add("Add", self.add("MatMul", X, W), c))
        return self.add("MatMul", X, model.coefs_[-1])

    # ---- what stands before them ----------------------------------------------------------

    def transform(self, step: Any, X: str) -> str:
        if step is None or step == "passthrough":
            return X
        if isinstance(step, Pipeline):
            for _, part in step.steps:
                X = self.transform(part, X)
            return X
        kinds: dict[type, Callable[[Any, str], str]] = {
            StandardScaler: lambda step, X: self.scale(X, step.mean_, step.scale_),
            RobustScaler: lambda step, X: self.scale(X, step.center_, step.scale_),
            MaxAbsScaler: lambda step, X: self.scale(X, None, step.scale_),
            MinMaxScaler: self.min_max,
            SimpleImputer: self.impute,
            OneHotEncoder: self.one_hot,
            ColumnTransformer: self.columns,
        }
        if type(step) not in kinds:
            names = ", ".join(kind.__name__ for kind in kinds)
            raise _unsupported(step, "a step of a pipeline", names)
        return kinds[type(step)](step, X)

    def scale(self, X: str, centre: Any, scale: Any) -> str:
        X = X if centre is None else self.add("Sub", X, centre)
        return X if scale is None else self.add("Div", X, scale)

    def min_max(self, step: MinMaxScaler, X: str) -> str:
        X = self.add("Add", self.add("Mul", X, step.scale_), step.min_)
        if not step.clip:
            return X
        low, high = map(float, step.feature_range)
        return self.add("Min", self.add("Max", X, np.array(low)), np.array(high))

    def impute(self, step: SimpleImputer, X: str) -> str:
        values = np.asarray(step.statistics_, dtype=np.float64)
        missing = step.missing_values
        simple = isinstance(missing, float) and np.isnan(missing) and not step.add_indicator
        if not simple or np.isnan(values).any():
            raise ValueError(
                "to_onnx exports a SimpleImputer of NaN, without an indicator, of columns that all "
                f"had values; got {step!r}."
            )
        return self.add("Where", self.add("IsNaN", X), values[None, :], X)

    def one_hot(self, step: OneHotEncoder, X: str) -> str:
        numbers = all(categories.dtype.kind in "fiub" for categories in step.categories_)
        frequent = not getattr(step, "_infrequent_enabled", False)
        if not numbers or step.drop is not None or not frequent:
            raise ValueError(
                "to_onnx exports a OneHotEncoder of numbers, without drop and infrequent "
                f"categories; got {step!r}. Encode strings before the model."
            )
        blocks = []
        for j, categories in enumerate(step.categories_):
            column = self.add("Gather", X, np.array([j]), axis=1)  # (n, 1)
            equal = self.add("Equal", column, categories[None, :].astype(np.float64))
            blocks.append(self.to(equal, "DOUBLE"))
        return self.add("Concat", *blocks, axis=1)

    def columns(self, step: ColumnTransformer, X: str) -> str:
        blocks = []
        for name, part, _ in step.transformers_:
            places = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)
            if (isinstance(part, str) and part == "drop") or not len(places):
                continue
            passed = getattr(part, "func", part) is None  # "passthrough", once fitted
            block = self.add("Gather", X, places, axis=1)
            blocks.append(block if passed else self.transform(part, block))
        return self.add("Concat", *blocks, axis=1)

    # ---- decisions ------------------------------------------------------------------------

    def index(self, scores: str, rejects: bool) -> str:
        above = self.to(self.add("Greater", scores, np.array(0.0)), "INT64")
        count = self.add("ReduceSum", above, np.array([1]), keepdims=0)
        if not rejects:
            return count
        two = np.array(2)
        between = self.add("Equal", self.add("Mod", count, two), np.array(1))
        return self.add("Where", between, np.array(-1), self.add("Div", count, two))

    def label(self, decider: Any, index: str) -> str:
        outputs = decider.outputs()  # the reject label is last, where -1 finds it
        if outputs.dtype == object:
            if len({isinstance(label, str) for label in outputs}) > 1:
                raise ValueError(
                    f"ONNX has no array for the labels {outputs.tolist()}: give a reject_label of "
                    "the same kind as the classes."
                )
            outputs = np.array(outputs.tolist())
        return self.add("Gather", outputs, index)

    def finish(self, outputs: dict[str, str], n_features: int, decider: Any) -> Any:
        helper, T = self.onnx.helper, self.onnx.TensorProto
        for name, value in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        kind = {"f": T.DOUBLE, "U": T.STRING, "S": T.STRING}.get(
            np.array(decider.outputs().tolist()).dtype.kind, T.INT64
        )
        Q = len(decider.thresholds_)
        graph = helper.make_graph(
            self.nodes,
            "rejo",
            [helper.make_tensor_value_info("X", T.DOUBLE, ["n", n_features])],
            [
                helper.make_tensor_value_info("label", kind, ["n"]),
                helper.make_tensor_value_info("index", T.INT64, ["n"]),
                helper.make_tensor_value_info("scores", T.DOUBLE, ["n", Q]),
            ],
            self.constants,
        )
        proto = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR,
            producer_name="rejo",
            producer_version=rejo.__version__,
        )
        facts = {
            "classes": plain(decider.classes_),
            "reject_label": plain(decider.reject_label_),
            "operating_point": operating_point(decider),
        }
        helper.set_model_props(proto, {name: json.dumps(fact) for name, fact in facts.items()})
        self.onnx.checker.check_model(proto)
        return proto


def _n_features(model: Any) -> int:
    while not hasattr(model, "n_features_in_") and hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return int(model.n_features_in_)


def _unsupported(part: Any, what: str, names: str) -> TypeError:
    return TypeError(f"to_onnx cannot export {type(part).__name__} as {what}: use {names}.")
