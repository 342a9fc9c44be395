"""The scoring of a model as an ONNX graph, for runtimes without Python.

The graph counts boundaries, or compares expected costs, as ``predict`` does, in double precision
throughout: the two differ by the rounding of single operations, far below what separates a point
from a boundary, or two costs that are not equal.
"""

import json
import os
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

import rejo
from rejo._errors import optional
from rejo._io import WholeFile
from rejo._state import STORABLE
from rejo.decisions import TIE
from rejo.estimators import RejectClassifier, final_classifier
from rejo.persistence._header import plain
from rejo.persistence._sklearn_onnx import SKLEARN
from rejo.persistence._trees_onnx import boosted
from rejo.persistence._trusted import type_name_of

OPSETS = {"": 17, "ai.onnx.ml": 5}  # the second one has trees in double precision
IR = 8


def to_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Any:
    """Export the decisions of a fitted model as an ONNX graph.

    Parameters
    ----------
    model : RejectClassifier or Pipeline
        ``RejoSVC``, ``RejoLinear``, ``RejoMLP`` or ``RejoKernelLogistic``; or a
        ``ThresholdRejectClassifier`` around one of the last three, ``LogisticRegression``, trees,
        a forest, ``HistGradientBoostingClassifier`` or a ``BlendClassifier`` of these; or the
        choice of a ``RejectClassifierCV`` among them.  A pipeline may have, before one of these, a
        ``SimpleImputer``, a ``StandardScaler`` and ``Nystroem``.
    path : str or path-like, default=None
        Where to write the graph, if anywhere.
    overwrite : bool, default=False
        Replace a file that exists.

    Returns
    -------
    graph : onnx.ModelProto
        Input ``X``, double (n, n_features).  Outputs ``label`` (n,), as ``predict``; ``index``,
        int64 (n,), the class as an index into ``classes_``, -1 if rejected; and ``scores``, double
        (n, n_boundaries), as ``boundary_scores``.  A model that decides by posteriors has, instead
        of ``scores``, ``posteriors``, double (n, n_classes), as ``predict_proba``, and ``worth``,
        double (n,), what a review is expected to save, as ``judge``.

    Notes
    -----
    The graph of a kernel machine contains rows of the training set, as its model file does.  Run
    graphs with trees in ONNX Runtime 1.24 or newer: 1.23 adds up the trees of several classes
    wrongly.

    Examples
    --------
    >>> from onnxruntime import InferenceSession
    >>> from rejo import RejoLinear, to_onnx
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(100, random_state=0)
    >>> graph = to_onnx(RejoLinear(reject_cost=0.2).fit(X, y))
    >>> [output.name for output in graph.graph.output]
    ['label', 'index', 'scores']
    >>> session = InferenceSession(graph.SerializeToString())
    >>> session.run(["label"], {"X": X[:5]})[0]
    array([ 0,  0, -1,  0,  0], dtype=int64)
    """
    check_is_fitted(model)
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    policy = getattr(last, "policy_", None)
    if policy is not None and policy.needed:
        raise TypeError(
            "to_onnx cannot export a model whose decisions depend on the group of a case: the "
            "graph would decide cases of groups that must be reviewed."
        )
    graph = _Graph()
    decider = final_classifier(model)
    if not isinstance(decider, RejectClassifier):
        raise _unsupported(decider, "a model")
    if getattr(decider, "case_prices_", None) is not None:
        raise TypeError(
            "to_onnx cannot export a model whose prices depend on the case: the graph would decide "
            "at their means. Export model.at(cost_of=...) at prices that are the same for all."
        )
    if decider.decides_by_posteriors or getattr(decider, "form_", "") == "posteriors":
        cut = getattr(model, "cut_", None) or 0.0  # in the prices that decide
        index, outputs = graph.by_posteriors(graph.posteriors(model, "X"), decider, cut)
    else:
        index, outputs = graph.by_scores(graph.apply(model, "X"), decider)
    proto = graph.finish(index, outputs, int(model.n_features_in_), decider)
    if path is not None:
        with WholeFile(path, overwrite=overwrite) as file:
            file.write(proto.SerializeToString())
    return proto


class _Graph:
    """Nodes and constants so far; every method returns the name of what it adds."""

    def __init__(self) -> None:
        self.onnx = optional("onnx", "to_onnx", "onnx", "onnx")
        self.nodes: list[Any] = []
        self.unknown: list[str] = []  # whether (n,) a case cannot be decided
        self.constants: list[Any] = []

    def apply(self, part: Any, X: str) -> str:
        """Add a fitted classifier, which gives boundary scores, or a transformer."""
        if part is None or (isinstance(part, str) and part == "passthrough"):
            return X
        what = "a model" if hasattr(part, "predict") else "a step of a pipeline"
        return self._said(part, "_to_onnx", what)(part, self, X)

    def posteriors(self, part: Any, X: str, labels: Any = None) -> str:
        """Add the posteriors (n, K) of a fitted classifier, in the order of the labels."""
        part, X = self._before(part, X)
        add = self._said(part, "_posteriors_to_onnx", "a classifier with posteriors")
        p = add(part, self, X)
        columns = [] if labels is None else _columns(part, labels)
        return p if columns == sorted(columns) else self.add("Gather", p, np.array(columns), axis=1)

    def decision(self, part: Any, X: str, labels: Any) -> str:
        """Add the scores of ``decision_function``: (n, 1) for two labels, else (n, K)."""
        part, X = self._before(part, X)
        add = self._said(part, "_decision_to_onnx", "a classifier with scores to calibrate")
        f = add(part, self, X)
        columns = _columns(part, labels)
        if columns == sorted(columns):
            return f
        if len(columns) == 2:
            return self.add("Neg", f)
        return self.add("Gather", f, np.array(columns), axis=1)

    def _before(self, part: Any, X: str) -> tuple[Any, str]:
        """The last step of pipelines and the chosen model of searches, and what reaches it."""
        while isinstance(part, Pipeline) or hasattr(part, "best_estimator_"):
            if isinstance(part, Pipeline):
                for _, step in part.steps[:-1]:
                    X = self.apply(step, X)
            part = part.steps[-1][1] if isinstance(part, Pipeline) else part.best_estimator_
        return part, X

    def _said(self, part: Any, way: str, what: str) -> Any:
        function = getattr(STORABLE.get(type_name_of(part)), way, None)
        if type(part).__module__.startswith("sklearn."):
            function = SKLEARN[way].get(type(part).__name__)
        if function is None:
            raise _unsupported(part, what, way)
        return function

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; inputs are names of others, or constants."""
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def times(self, values: str, factor: float, n_columns: int = 1) -> str:
        """Add values (n, n_columns) times a number.

        ONNX Runtime would fuse a plain product with a MatMul next to it, in single precision.
        """
        return self.add("MatMul", values, float(factor) * np.eye(n_columns))

    def falling(self, values: str, n_columns: int) -> str:
        output = self.add("TopK", values, np.array([n_columns]), axis=1)
        self.nodes[-1].output.append(f"{output}_columns")
        return output

    def cast(self, value: str, kind: str) -> str:
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind))

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

    def kernel(
        self, X: str, Z: Any, kind: str, gamma: float, degree: int = 3, coef0: float = 0.0
    ) -> str:
        """Kernel values (n, m) of the rows of ``X`` with the rows of an array ``Z``."""
        if kind == "rbf":
            centre = Z.mean(axis=0)  # distances lose no digits to a common offset
            Z, X = Z - centre, self.add("Sub", X, centre)
            squares = self.add("ReduceSum", self.add("Mul", X, X), np.array([1]), keepdims=1)
            D = self.add("Add", self.add("MatMul", X, -2.0 * Z.T), squares)
            D = self.add("Max", self.add("Add", D, (Z**2).sum(axis=1)[None, :]), np.array(0.0))
            return self.add("Exp", self.add("Mul", D, np.array(-gamma)))
        K = self.add("MatMul", X, gamma * Z.T)  # one product, as in `times`
        K = self.add("Add", K, np.array(float(coef0)))
        if kind == "sigmoid":
            return self.add("Tanh", K)
        return self.add("Pow", K, np.array(float(degree)))

    def boosted(self, X: str, trees: Any, n_scores: int) -> str:
        return boosted(self, X, trees, n_scores)

    def two_columns(self, p: str) -> str:
        """Posteriors (n, 2) from those of the second class (n, 1)."""
        return self.add("Concat", self.add("Sub", np.array(1.0), p), p, axis=1)

    def from_logits(self, f: str, n_classes: int) -> str:
        """Posteriors (n, K) from log-odds (n, 1) of two classes, or logarithms (n, K)."""
        if n_classes > 2:
            return self.add("Softmax", f, axis=1)
        return self.two_columns(self.add("Sigmoid", f))

    def by_scores(self, scores: str, decider: Any) -> tuple[str, dict[str, Any]]:
        """Count the boundaries below each point: the class, or -1 between two boundaries."""
        above = self.cast(self.add("Greater", scores, np.array(0.0)), "INT64")
        index = self.add("ReduceSum", above, np.array([1]), keepdims=0)
        rejects = decider.reject_label_ is not None
        if rejects:
            two = np.array(2)
            between = self.add("Equal", self.add("Mod", index, two), np.array(1))
            index = self.add("Where", between, np.array(-1), self.add("Div", index, two))
        Q = (len(decider.classes_) - 1) * (2 if rejects else 1)
        return index, {"scores": (scores, ["n", Q])}

    def by_posteriors(self, p: str, decider: Any, cut: float) -> tuple[str, dict[str, Any]]:
        """The class with the lowest expected cost, or -1; as :func:`rejo.decisions.decide`."""
        prices, K = decider.prices_, len(decider.classes_)
        slack = TIE * np.abs(prices).max()
        costs = self.add("MatMul", p, prices[:, :-1])
        best = self.add("ReduceMin", costs, axes=[1], keepdims=1)
        level = self.add("LessOrEqual", costs, self.add("Add", best, np.array(slack)))
        among = self.add("Where", level, p, np.array(-1.0))
        top = self.add("Sub", self.add("ReduceMax", among, axes=[1], keepdims=1), np.array(TIE))
        likeliest = self.cast(self.add("GreaterOrEqual", among, top), "INT32")
        index = self.add("ArgMax", likeliest, axis=1, keepdims=0)  # the first of equal ones
        review = self.add("MatMul", p, prices[:, -1:])
        worth = self.add("Squeeze", self.add("Sub", best, review), np.array([1]))
        if decider.reject_label_ is not None:
            reject = self.add("GreaterOrEqual", worth, np.array(-slack))
            index = self.add("Where", reject, np.array(-1), index)
        worth = self.add("Add", worth, np.array(cut)) if cut else worth
        return index, {"posteriors": (p, ["n", K]), "worth": (worth, ["n"])}

    def finish(self, index: str, more: dict[str, Any], n_features: int, decider: Any) -> Any:
        helper, T = self.onnx.helper, self.onnx.TensorProto
        labels = _labels(decider)
        for unknown in self.unknown if decider.reject_label_ is not None else ():
            index = self.add("Where", unknown, np.array(-1), index)
        kind = {"f": T.DOUBLE, "U": T.STRING, "S": T.STRING}.get(labels.dtype.kind, T.INT64)
        outputs = {
            "label": (self.add("Gather", labels, index), kind, ["n"]),
            "index": (index, T.INT64, ["n"]),
            **{name: (value, T.DOUBLE, shape) for name, (value, shape) in more.items()},
        }
        for name, (value, _, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [value], [name]))
        graph = helper.make_graph(
            self.nodes,
            "rejo",
            [helper.make_tensor_value_info("X", T.DOUBLE, ["n", n_features])],
            [helper.make_tensor_value_info(name, *what) for name, (_, *what) in outputs.items()],
            self.constants,
        )
        proto = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid(domain, OPSETS[domain])
                for domain in sorted({"", *(node.domain for node in self.nodes)})
            ],
            ir_version=IR,
            producer_name="rejo",
            producer_version=rejo.__version__,
        )
        facts = {
            "classes": plain(decider.classes_),
            "reject_label": plain(decider.reject_label_),
            "operating_point": plain(decider._operating_point()),
        }
        helper.set_model_props(proto, {name: json.dumps(fact) for name, fact in facts.items()})
        self.onnx.checker.check_model(proto)
        return proto


def _labels(decider: Any) -> Any:
    """Classes and, last, where the index -1 finds it, the reject label."""
    labels = decider.outputs().tolist()
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError(
            f"ONNX has no array for the labels {labels}: give a reject_label of the same kind as "
            "the classes."
        )
    return np.array(labels)


def _columns(part: Any, labels: Any) -> list[int]:
    classes = np.asarray(part.classes_).tolist()
    return [classes.index(label) for label in labels.tolist()]


def _unsupported(part: Any, what: str, way: str = "_to_onnx") -> TypeError:
    own = [cls.__name__ for cls in STORABLE.values() if hasattr(cls, way)]
    able = [] if what == "a step of a pipeline" else own
    able += [] if what == "a model" else SKLEARN[way]
    names = ", ".join(sorted(able)) + (" or a pipeline" if what == "a model" else "")
    return TypeError(f"to_onnx cannot export {type(part).__name__} as {what}: use {names}.")
