"""Every type and function that a model file may name, one by one.

skops trusts all of scikit-learn by default and lets a caller add to it.  This list is the whole
of what may be in a file, and it is checked before skops sees the file.  It is put together once,
from what rejo's classes say about themselves and from the table of scikit-learn's; nothing is
added at run time.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import rejo.baselines
import rejo.estimators
import rejo.selection
import rejo.tables  # noqa: F401  (the classes of these rooms are in STORABLE once imported)
from rejo._state import STORABLE, fitted_of
from rejo.persistence import _sklearn
from rejo.persistence._sklearn import Known


def _in(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


def _own(name: str, cls: type) -> Known:
    """Read off a class of rejo what it says about itself."""
    return Known(
        name,
        check=getattr(cls, "_check_state", None),
        fitted=fitted_of(cls) or None,
        sizes=getattr(cls, "_lengths", None),
        rows=getattr(cls, "_training_rows", ()),
        weighted=getattr(cls, "_weighted", ()),
        onnx=getattr(cls, "_to_onnx", None),
        posteriors=getattr(cls, "_posteriors_to_onnx", None),
        decision=getattr(cls, "_decision_to_onnx", None),
        not_saved=getattr(cls, "_not_saved", ()),
        restore=getattr(cls, "_restore_state", None),
    )


OWN = {name: _own(name, cls) for name, cls in STORABLE.items()}
TUPLES = frozenset(name for name, cls in STORABLE.items() if issubclass(cls, tuple))
KNOWN = MappingProxyType(
    OWN | {known.name: known for known in (*_sklearn.ESTIMATORS, *_sklearn.PARTS, _sklearn.TREE)}
)

# What inspect lists as parts of a model.
ESTIMATORS = frozenset(known.name for known in _sklearn.ESTIMATORS) | {
    name for name, cls in STORABLE.items() if hasattr(cls, "get_params")
}

NUMBERS = _in(
    "numpy", "bool bool_ float16 float32 float64 int16 int32 int64 int8 uint16 uint32 uint64 uint8"
)
KEYS = _in("builtins", "float int str") | NUMBERS - {"numpy.bool", "numpy.bool_"}

# What each of skops' loaders may be asked for; the other loaders are refused.
TRUSTED = MappingProxyType(
    {
        "JsonNode": _in("builtins", "str"),
        "DictNode": _in("builtins", "dict"),
        "ListNode": _in("builtins", "list"),
        "SetNode": _in("builtins", "set"),
        "SliceNode": _in("builtins", "slice"),
        "TupleNode": _in("builtins", "tuple") | TUPLES,
        "TypeNode": KEYS | NUMBERS | _in("builtins", "bool"),
        "FunctionNode": _in(
            "numpy", "absolute cbrt exp expm1 log log10 log1p log2 sign sqrt square tanh"
        )
        | _in("sklearn.feature_selection._univariate_selection", "chi2 f_classif")
        | _in("sklearn.utils.validation", "check_array"),
        "PartialNode": _in("functools", "partial"),
        "NdArrayNode": _in("numpy", "ndarray bytes_ str_") | NUMBERS,
        "DTypeNode": _in("numpy", "dtype"),
        "RandomStateNode": _in("numpy.random.mtrand", "RandomState"),
        "RandomGeneratorNode": _in("numpy.random._generator", "Generator"),
        "SparseMatrixNode": _in("scipy.sparse._csr", "csr_array csr_matrix")
        | _in("scipy.sparse._csc", "csc_array csc_matrix"),
        "ObjectNode": KNOWN.keys() - TUPLES - {_sklearn.TREE.name},
        "TreeNode": frozenset({_sklearn.TREE.name}),
        "LossNode": _in("sklearn._loss._loss", "CyHalfBinomialLoss CyHalfMultinomialLoss")
        | _in("sklearn.linear_model._sgd_fast", "Hinge ModifiedHuber SquaredHinge"),
    }
)

TRUSTED_TYPES = tuple(sorted(frozenset().union(*TRUSTED.values())))


def known(part: Any) -> Known | None:
    """Return what is known about the class of an object."""
    return KNOWN.get(f"{type(part).__module__}.{type(part).__name__}")
