"""The scoring of a model as an ONNX graph, for runtimes without Python.

The graph counts boundaries as ``predict`` does, in double precision throughout: the two differ by
the rounding of single operations, far below what separates a point from a boundary.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

import rejo
from rejo._io import WholeFile
from rejo.estimators import RejectClassifier
from rejo.estimators.pipelines import final_classifier
from rejo.persistence._container import check_free
from rejo.persistence._header import plain
from rejo.persistence._trusted import KNOWN, OWN, known

OPSET, IR = 17, 8


def to_onnx(
    model: Any, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False
) -> Any:
    """Export the decisions of a fitted model as an ONNX graph.

    Parameters
    ----------
    model : RejoSVC, RejoKernelLogistic, RejoLinear, RejoMLP, or one of these tuned or in a Pipeline
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
    check_is_fitted(model)
    graph = _Graph()
    scores = graph.apply(model, "X")
    decider = final_classifier(model)
    if not isinstance(decider, RejectClassifier):
        raise _unsupported(decider, True)
    proto = graph.finish(scores, int(model.n_features_in_), decider)
    if path is not None:
        with WholeFile(path, overwrite=overwrite) as file:
            file.write(proto.SerializeToString())
    return proto


class _Graph:
    """Nodes and constants so far; every method returns the name of what it adds."""

    def __init__(self) -> None:
        try:
            import onnx
        except ImportError:
            raise ImportError('to_onnx needs onnx: pip install "rejo[onnx]"') from None
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def apply(self, part: Any, X: str) -> str:
        """Add a fitted classifier, which gives boundary scores, or a transformer."""
        if part is None or (isinstance(part, str) and part == "passthrough"):
            return X
        said = known(part)
        if said is None or said.onnx is None:
            raise _unsupported(part, hasattr(part, "predict"))
        return said.onnx(part, self, X)

    def add(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; inputs are names of others, or constants."""
        names = [name if isinstance(name, str) else self.constant(name) for name in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def cast(self, value: str, kind: str) -> str:
        """Add a conversion to one of ONNX's types."""
        return self.add("Cast", value, to=getattr(self.onnx.TensorProto, kind))

    def constant(self, value: Any) -> str:
        """Add an array of doubles, of 64-bit integers or of strings."""
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

    def index(self, scores: str, rejects: bool) -> str:
        """Count the boundaries below each point: the class, or -1 between two boundaries."""
        above = self.cast(self.add("Greater", scores, np.array(0.0)), "INT64")
        count = self.add("ReduceSum", above, np.array([1]), keepdims=0)
        if not rejects:
            return count
        two = np.array(2)
        between = self.add("Equal", self.add("Mod", count, two), np.array(1))
        return self.add("Where", between, np.array(-1), self.add("Div", count, two))

    def finish(self, scores: str, n_features: int, decider: Any) -> Any:
        """Return the whole model, with the decisions by the scores."""
        helper, T = self.onnx.helper, self.onnx.TensorProto
        labels, rejects = _labels(decider), decider.reject_label_ is not None
        index = self.index(scores, rejects)
        kind = {"f": T.DOUBLE, "U": T.STRING, "S": T.STRING}.get(labels.dtype.kind, T.INT64)
        Q = (len(decider.classes_) - 1) * (2 if rejects else 1)
        outputs = {
            "label": (self.add("Gather", labels, index), kind, ["n"]),
            "index": (index, T.INT64, ["n"]),
            "scores": (scores, T.DOUBLE, ["n", Q]),
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
            opset_imports=[helper.make_opsetid("", OPSET)],
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


def _unsupported(part: Any, classifies: bool) -> TypeError:
    able = [name.rpartition(".")[2] for name, said in KNOWN.items()
            if said.onnx is not None and (name in OWN) == classifies]  # fmt: skip
    what = "a model" if classifies else "a step of a pipeline"
    names = f"{', '.join(sorted(able))}" + (" or a pipeline" if classifies else "")
    return TypeError(f"to_onnx cannot export {type(part).__name__} as {what}: use {names}.")
