"""Every type and function that a model file may name, one by one, unless the caller adds to it.

The list is put together once, from what rejo's classes say about themselves and from the table of
scikit-learn's.
"""

from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from sklearn.base import BaseEstimator

import rejo.baselines
import rejo.estimators
import rejo.selection
import rejo.tables  # noqa: F401  (the classes of these rooms are in STORABLE once imported)
from rejo._state import STORABLE, Must, fitted_of, optional
from rejo.persistence import _sklearn
from rejo.persistence._sklearn import Known

OUTPUTS = ("default", "pandas", "polars")  # of set_output, before an estimator is fitted
FRAMES = Must(
    "the kind of output",
    lambda value, sizes: value in ({}, *({"transform": kind} for kind in OUTPUTS)),
)
SETTINGS = {"_sklearn_output_config": optional(FRAMES)}


def _in(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


def _own(name: str, cls: type) -> Known:
    return Known(
        name,
        check=getattr(cls, "_check_state", None),
        fitted=fitted_of(cls) or None,
        sizes=getattr(cls, "_lengths", None),
        rows=getattr(cls, "_training_rows", ()),
        weighted=getattr(cls, "_weighted", ()),
        restore=getattr(cls, "_restore_state", None),
    )


OWN = {name: _own(name, cls) for name, cls in STORABLE.items()}
TUPLES = frozenset(name for name, cls in STORABLE.items() if issubclass(cls, tuple))
KNOWN = MappingProxyType(
    OWN | {known.name: known for known in (*_sklearn.ESTIMATORS, *_sklearn.PARTS)}
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
        "SliceNode": _in("builtins", "slice"),  # columns of a ColumnTransformer that is trusted
        "TupleNode": _in("builtins", "tuple") | TUPLES,
        "TypeNode": KEYS | NUMBERS | _in("builtins", "bool"),
        "NdArrayNode": _in("numpy", "ndarray bytes_ str_") | NUMBERS,
        "RandomStateNode": _in("numpy.random.mtrand", "RandomState"),
        "SparseMatrixNode": _in("scipy.sparse._csr", "csr_array csr_matrix"),
        "ObjectNode": KNOWN.keys() - TUPLES - {_sklearn.TREE.name},
        "TreeNode": frozenset({_sklearn.TREE.name}),
    }
)

#: Full names of the types that a model file may name.
TRUSTED_TYPES = tuple(sorted(frozenset().union(*TRUSTED.values())))


def type_name_of(part: Any) -> str:
    return f"{type(part).__module__}.{type(part).__name__}"


def class_named(name: str) -> Any:
    module, _, name = name.rpartition(".")
    return getattr(import_module(module), name)


def parameters_of(cls: Any) -> frozenset[str]:
    return frozenset(cls._get_param_names() if issubclass(cls, BaseEstimator) else ())


@cache
def kept_names(name: str) -> frozenset[str]:
    return parameters_of(class_named(name)) | (KNOWN[name].fitted or {}).keys() | SETTINGS.keys()
