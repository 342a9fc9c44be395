"""What a class says about its fitted state, for the code that stores, inspects and exports it.

``@storable`` allows the objects of a class to stand in a model file.  Such a class has

- ``_fitted``, the attributes that a file keeps, each with what it must be (:func:`floats`,
  :func:`indices`, :func:`number`, ...).  Those of its bases belong to it.  An attribute that is
  neither named there nor a parameter is not saved, and refused if a file has it.  A named tuple
  checks its fields by :func:`check_fields` instead;

and may have

- ``_lengths(self)``, which returns the names of lengths that the shapes in ``_fitted`` use; ``p``,
  the number of features, and ``K``, the number of classes, are known;
- ``_check_state(self)``, which refuses, with :func:`require`, attributes that do not agree;
- ``_restore_state(self)``, which computes what is not saved because it follows from the rest;
- ``_operating_point(self)``, which returns the costs that it was fitted for, and its target;
- ``_training_rows``, the names of the attributes that hold rows of the training set;
- ``_copies``, if a part is fitted on copies of each row: by the name of the part, that of an
  attribute with an entry for each copy;
- ``_weighted``, the names of the attributes with the names, the fitted members and their weights;
- ``_not_saved``, the names of the attributes that copies and pickles do not get either;
- ``_to_onnx(self, graph, X)``, which adds the computation of the boundary scores to an ONNX graph;
- ``_posteriors_to_onnx(self, graph, X)`` and ``_decision_to_onnx(self, graph, X)``, which add what
  ``predict_proba`` and ``decision_function`` return.

A learner says this at the end of its module (:func:`declare`), out of the way of its mathematics.

A file may hold anything in any attribute.  Compiled code takes shapes and indices as they are, so
``_fitted`` and ``_check_state`` must bound each one that a prediction uses.  Any exception that
they raise is a refusal.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

T = TypeVar("T")
Sizes = dict[str, int]
Size = int | str | None  # a length, the name of one, or any

STORABLE: dict[str, type] = {}  # by full name
CHECKS: dict[type, Callable[[Any], None]] = {}  # of each class that declares one
LARGEST = 1e100  # of a number in a model: its square is far from an overflow
MOST_CLASSES = 10_000  # a prediction holds a number for each class of each case
MOST_FEATURES = 1 << 24
SHARED = "two splits lead to the same node"
DEEPEST = 6  # lists in lists in a parameter


class StateError(ValueError):
    """Fitted attributes of a model do not agree with each other."""


def storable(cls: type[T]) -> type[T]:
    """Allow objects of exactly this class, not of its subclasses, in model files."""
    STORABLE[f"{cls.__module__}.{cls.__name__}"] = cls
    return cls


def declare(
    cls: Any,
    fitted: Mapping[str, "Must"],
    check: Callable[[Any], None] | None = None,
    *,
    saved: bool = False,
    **more: Any,
) -> None:
    """Say of a class what stands above; ``saved`` makes it storable.

    ``check`` refuses attributes that do not agree, after the checks of its bases; ``more`` are the
    other names, without their underscores.
    """
    cls._fitted = fitted
    if check is not None:
        CHECKS[cls] = check
    if not hasattr(cls, "_check_state"):
        cls._check_state = check_state
    for name, value in more.items():
        setattr(cls, f"_{name}", value)
    if saved:
        storable(cls)


def check_state(part: Any) -> None:
    for base in reversed(type(part).__mro__):
        if base in CHECKS:
            CHECKS[base](part)


def require(holds: Any, part: Any, problem: str) -> None:
    if not holds:
        raise StateError(f"{type(part).__name__}: {problem}")


def is_floats(value: Any, *shape: int | None) -> bool:
    return floats(*shape).fits(value, {})


def is_within(values: Any, low: float, high: float) -> bool:
    """Return whether all values of an array are between two limits, without a copy; NaN is not."""
    return values.size == 0 or bool(low <= values.min() and values.max() <= high)


def is_sorted(values: Any) -> bool:
    return bool((np.diff(values) >= 0).all())


def is_tree(left: Any, right: Any, n_nodes: int) -> bool:
    """Return whether no node has two parents, from the children of the splits; all are in range."""
    return bool(
        (np.bincount(np.concatenate([left, right]).astype(np.intp), minlength=n_nodes) <= 1).all()
    )


# ---- what an attribute must be ----------------------------------------------------------------


@dataclass(frozen=True)
class Must:
    """What an attribute must be, in words and as a test."""

    words: str
    test: Callable[[Any, Sizes], bool]
    needed: bool = True

    def fits(self, value: Any, sizes: Sizes) -> bool:
        """Return whether a value is as it must be; lengths that were unknown become known."""
        return bool(self.test(value, sizes))


def floats(
    *shape: Size, low: float = -LARGEST, high: float = LARGEST, dtype: str = "float64"
) -> Must:
    """Return what an array of numbers between ``low`` and ``high`` must be, in C order.

    A name in ``shape`` stands for a length: the first array that uses it says how long it is.
    """
    return Must(
        f"{dtype} {_shape_words(shape)}, {_range_words(low, high)}",
        lambda value, sizes: _is_array(value, dtype, shape, sizes) and is_within(value, low, high),
    )


def indices(
    *shape: Size, low: int = 0, below: Size = None, dtype: str | tuple[str, ...] = "int64"
) -> Must:
    """Return what an array of whole numbers from ``low`` to less than ``below`` must be."""
    dtypes = (dtype,) if isinstance(dtype, str) else dtype

    def test(value: Any, sizes: Sizes) -> bool:
        fine = any(_is_array(value, d, shape, sizes) for d in dtypes)
        end = sizes[below] if isinstance(below, str) else below
        return fine and is_within(value, low, np.inf if end is None else end - 1)

    end = "" if below is None else f", below {below}"
    return Must(f"{' or '.join(dtypes)} {_shape_words(shape)}, from {low}{end}", test)


def flags(*shape: Size) -> Must:
    return Must(
        f"bool {_shape_words(shape)}", lambda value, sizes: _is_array(value, "bool", shape, sizes)
    )


def number(low: float = -LARGEST, high: float = LARGEST) -> Must:
    """Return what a number must be: Python's or NumPy's, not bool."""

    def test(value: Any, sizes: Sizes) -> bool:
        fine = isinstance(value, Real) and not _is_bool(value)
        return fine and bool(low <= value <= high)

    return Must(f"a number, {_range_words(low, high)}", test)


def count(low: int = 0, high: Size = 1 << 31) -> Must:
    def test(value: Any, sizes: Sizes) -> bool:
        end = sizes[high] if isinstance(high, str) else high
        fine = isinstance(value, Integral) and not _is_bool(value)
        return fine and low <= value and (end is None or value <= end)

    return Must(f"a whole number from {low} to {high}", test)


FEATURES = count(1, MOST_FEATURES)


def one_of(*values: Any) -> Must:
    return Must(
        " or ".join(map(repr, values)),
        lambda value, sizes: any(type(value) is type(known) and value == known for known in values),
    )


def text() -> Must:
    return Must("a string", lambda value, sizes: type(value) is str)


def figure() -> Must:
    """Return what a number must be that is only shown: it may be infinite or not a number."""
    return Must("a number", lambda value, sizes: _is_float(value) or number().fits(value, sizes))


def label() -> Must:
    """Return what a label must be: a string or a number of at most 64 bits."""

    def test(value: Any, sizes: Sizes) -> bool:
        if isinstance(value, Integral) and not _is_bool(value):
            return -(1 << 63) <= int(value) < 1 << 64
        if _is_float(value):
            return not np.isinf(value)  # NaN may stand for a rejection
        return isinstance(value, (bytes, bool, np.bool_)) or _is_text(value)

    return Must("a string or a number", test)


def flag() -> Must:
    return Must("true or false", lambda value, sizes: type(value) is bool)


def labels(size: Size = "K") -> Must:
    """Return what the classes must be: two or more different numbers or strings."""

    def test(value: Any, sizes: Sizes) -> bool:
        if type(value) is not np.ndarray or value.dtype.kind not in "biufUSO":
            return False
        fine = value.ndim == 1 and 2 <= len(value) <= MOST_CLASSES
        fine = fine and _match((size,), value.shape, sizes)
        found = value.tolist() if fine else []
        fine = fine and all(label().fits(x, {}) for x in found)
        fine = fine and all(x == x for x in found)
        return fine and len(set(found)) == len(set(map(str, found))) == len(found)

    return Must(f"{size} different numbers or strings", test)


def names(size: Size = "p") -> Must:
    def test(value: Any, sizes: Sizes) -> bool:
        fine = isinstance(value, np.ndarray) and value.dtype == object
        fine = fine and _match((size,), value.shape, sizes)
        found = value.tolist() if fine else []
        fine = fine and all(type(x) is str and _is_text(x) for x in found)
        return fine and len(set(found)) == len(found)

    return Must(f"{size} different strings", test)


def texts(size: Size = None) -> Must:
    def test(value: Any, sizes: Sizes) -> bool:
        fine = type(value) is np.ndarray and value.dtype.kind in "OU"
        fine = fine and _match((size,), value.shape, sizes)
        return fine and all(type(x) is str for x in value.tolist())

    return Must(f"{size} strings", test)


def part(*kinds: type) -> Must:
    """Return what must be a part of one of these classes; if it is an estimator, a fitted one."""
    article = "an" if kinds[0].__name__[0] in "AEIOU" else "a"
    return Must(
        f"{article} {' or '.join(kind.__name__ for kind in kinds)}",
        lambda value, sizes: isinstance(value, kinds) and is_fitted(value),
    )


def each(item: Must, size: Size = None) -> Must:
    def test(value: Any, sizes: Sizes) -> bool:
        fine = type(value) is list and _match((size,), (len(value),), sizes)
        return fine and all(item.fits(entry, sizes) for entry in value)

    return Must(f"a list {_shape_words((size,))} of: {item.words}", test)


def pair(item: Must) -> Must:
    return Must(
        f"two: {item.words}",
        lambda value, sizes: (
            type(value) is tuple and len(value) == 2 and all(item.fits(x, sizes) for x in value)
        ),
    )


def mapping(key: Must, value: Must) -> Must:
    return Must(
        f"a dict of: {key.words}; to: {value.words}",
        lambda found, sizes: (
            type(found) is dict
            and all(key.fits(k, sizes) and value.fits(v, sizes) for k, v in found.items())
        ),
    )


def plain() -> Must:
    """Return what a parameter must be: see :func:`check_parameters`."""
    return Must("a plain value", lambda value, sizes: _is_plain(value, DEEPEST))


def maybe(must: Must) -> Must:
    return replace(
        must,
        words=f"{must.words}; or none",
        test=lambda value, sizes: value is None or must.fits(value, sizes),
    )


def either(*musts: Must) -> Must:
    def test(value: Any, sizes: Sizes) -> bool:
        for must in musts:
            tried = dict(sizes)
            if must.fits(value, tried):
                sizes.update(tried)
                return True
        return False

    return Must("; or ".join(must.words for must in musts), test)


def optional(must: Must) -> Must:
    return replace(must, needed=False)


def sparse_rows(*shape: Size, low: float = -LARGEST, high: float = LARGEST) -> Must:
    """Return what a sparse matrix must be: CSR in canonical format, float64 and int32 or int64."""

    def test(value: Any, sizes: Sizes) -> bool:
        if not issparse(value) or value.format != "csr" or not _match(shape, value.shape, sizes):
            return False
        n, p = value.shape
        kind = "int64" if value.indptr.dtype == np.int64 else "int32"
        fine = indices(n + 1, dtype=kind).fits(value.indptr, {})
        fine = fine and value.indptr[0] == 0 and is_sorted(value.indptr)
        nnz = int(value.indptr[-1]) if fine else 0
        fine = fine and indices(nnz, below=p, dtype=kind).fits(value.indices, {})
        fine = fine and floats(nnz, low=low, high=high).fits(value.data, {})
        if not fine:
            return False
        rising = value.indices[1:] > value.indices[:-1]  # sorted, none twice
        starts = value.indptr[1:-1]
        rising[starts[(starts > 0) & (starts < nnz)] - 1] = True  # the first of a row may be any
        return bool(rising.all())

    return Must(f"sparse rows {_shape_words(shape)}, {_range_words(low, high)}", test)


def check_fitted(
    part: Any, fitted: Mapping[str, Must], parameters: Collection[str], sizes: Sizes | None = None
) -> None:
    """Refuse an object unless it has its parameters and exactly the attributes that it must have.

    ``p`` and ``K`` are known if it has ``n_features_in_`` and ``classes_``.
    """
    held = vars(part)
    lost = sorted(set(parameters) - held.keys())
    require(not lost, part, f"it lacks the parameter {', '.join(lost)[:80]}")
    strange = sorted(held.keys() - set(parameters) - fitted.keys())
    require(not strange, part, f"it has an attribute {', '.join(strange)[:80]!r} that it must not")
    needed = {name for name, must in fitted.items() if must.needed}
    require(not needed or needed & held.keys(), part, "it is not fitted")
    known = {} if sizes is None else dict(sizes)
    for size, name in (("p", "n_features_in_"), ("K", "classes_")):
        if name in held and name in fitted:
            fine = fitted[name].fits(held[name], known)
            require(fine, part, f"{name} is not {fitted[name].words}")
            known.setdefault(size, held[name] if size == "p" else len(held[name]))
    for name, must in fitted.items():
        if name not in held:
            require(not must.needed, part, f"it lacks {name}")
            continue
        require(must.fits(held[name], known), part, f"{name} is not {must.words}")


def check_fields(part: Any, **fields: Must) -> None:
    sizes: Sizes = {}
    for name, must in fields.items():
        fine = must.fits(getattr(part, name), sizes)
        require(fine, part, f"{name} is not {must.words}")


def check_parameters(part: Any) -> None:
    """Refuse an estimator unless its parameters are plain: harmless to show, compare and copy.

    They are strings, numbers, arrays, estimators, splitters and random states, or lists, tuples
    and dicts of these that are not nested deeply.  Whole numbers have a size at which floats exist.
    """
    for name in type(part)._get_param_names():
        fine = _is_plain(getattr(part, name), DEEPEST)
        require(fine, part, f"the parameter {name} is not a plain value")


def fitted_of(cls: type) -> dict[str, Must]:
    found: dict[str, Must] = {}
    for base in reversed(cls.__mro__):
        found |= vars(base).get("_fitted", {})
    return found


def is_fitted(value: Any) -> bool:
    """Return whether a value is not an estimator, or a fitted one, as scikit-learn decides it."""
    if not hasattr(value, "get_params") or isinstance(value, type):
        return not isinstance(value, type)
    if hasattr(value, "__sklearn_is_fitted__"):
        try:
            return bool(value.__sklearn_is_fitted__())
        except (AttributeError, TypeError, ValueError):
            return False
    return any(name.endswith("_") and not name.startswith("__") for name in vars(value))


def _is_array(value: Any, dtype: str, shape: tuple[Size, ...], sizes: Sizes) -> bool:
    return (
        type(value) is np.ndarray
        and value.dtype == np.dtype(dtype)
        and value.dtype.isnative
        and value.flags.c_contiguous
        and value.flags.aligned
        and _match(shape, value.shape, sizes)
    )


def _match(shape: tuple[Size, ...], found: tuple[int, ...], sizes: Sizes) -> bool:
    if len(shape) != len(found):
        return False
    for size, length in zip(shape, found, strict=True):
        known = sizes.setdefault(size, length) if isinstance(size, str) else size
        if known is not None and known != length:
            return False
    return True


def _is_bool(value: Any) -> bool:
    return isinstance(value, (bool, np.bool_))


def _is_text(value: Any) -> bool:
    """Return whether a value is a string that can be written: lone surrogates cannot."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _is_float(value: Any) -> bool:
    return isinstance(value, (float, np.floating))


def _is_plain(value: Any, depth: int) -> bool:
    if value is None or isinstance(value, (str, bytes)) or _is_bool(value) or _is_float(value):
        return True
    if isinstance(value, Integral):
        return abs(int(value)) <= LARGEST
    if isinstance(value, np.ndarray):
        if value.dtype != object:
            return value.dtype.kind in "biufUS" and value.ndim <= 2
        value = value.ravel().tolist()
    if isinstance(value, dict):
        fine = all(isinstance(key, (str, Real)) and _is_plain(key, 0) for key in value)
        return fine and depth > 0 and all(_is_plain(item, depth - 1) for item in value.values())
    if isinstance(value, (list, tuple)):
        return depth > 0 and all(_is_plain(item, depth - 1) for item in value)
    random = isinstance(value, np.random.RandomState)
    return random or hasattr(value, "get_params") or hasattr(value, "get_n_splits")


def _shape_words(shape: tuple[Size, ...]) -> str:
    return "(" + ", ".join("any" if size is None else str(size) for size in shape) + ")"


def _range_words(low: float, high: float) -> str:
    if (low, high) == (-LARGEST, LARGEST):
        return "finite"
    return f"above 0 to {high:g}" if 0 < low < 1e-300 else f"{low:g} to {high:g}"
