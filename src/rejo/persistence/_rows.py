"""How many rows of the training table stand in a model file, found by their values.

The table is pushed through the model as in a prediction.  At each stage (the table itself, after
each step of a pipeline, the columns of a ColumnTransformer, the replicas of a point) its rows are
compared with all arrays in the file, whatever their names.  Rows are compared by hashes of their
values, so time and memory grow with the size of the file and of the table, not with their product.

A fit and a later transform may differ in the last digits, so the last digits do not count.
"""

import json
import warnings
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from rejo._state import is_fitted
from rejo._typing import Floats, Indices
from rejo.persistence._arrays import check_array, read_array, read_sparse
from rejo.persistence._container import SCHEMA, Bytes
from rejo.persistence._parts import held_in

Keys = NDArray[np.uint64]  # (2 or 3, n): hashes of each row; the last one is exact

BLOCK = 1 << 15  # values hashed at a time, or a row
LOOKED_AT = 1 << 18  # values of a sparse table, or of a row, in a file from elsewhere
DROPPED = np.uint64(18)  # bits of a value that do not count; 34 do, or ten digits
SMALL = 1e-13  # of the largest value of a row: nothing but rounding
FEW = 3  # columns of small integers that an array of counts may repeat by chance
MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
SCALARS = (bool, int, float, str, np.generic, type, type(None))


class Stage(NamedTuple):
    """The table as a part of the model sees it."""

    X: Any  # (m, q)
    rows: Indices  # (m,) of the table
    whole: bool  # False: only some columns


class Matches(NamedTuple):
    """The rows of a stage that stand in the file."""

    groups: Keys  # (m,) rows that are equal at this stage have the same
    rows: Indices  # (m,) of the table


def count_rows(members: Mapping[str, Bytes], model: Any, X: Any) -> int | None:
    """Return how many distinct rows of the training table X a file holds.

    None: the model, which the members store, does not take this table.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2 or 0 in X.shape:
        return None
    held = Held(members)
    found: list[Matches] = []
    start = Stage(X, np.arange(X.shape[0]), whole=True)
    stages = _stages(model, start, set())
    stage: Stage | None = start
    while stage is not None:
        found += held.matches(stage)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                stage = next(stages, None)
        except Exception:  # any transformer may refuse a table that it was not fitted on
            return None
    return _n_distinct(found, X.shape[0])


def _n_distinct(found: list[Matches], n: int) -> int:
    """Count rows of the table; several that are equal at some stage count once."""
    marked = np.zeros(n, dtype=bool)
    split = [(*np.unique(m.groups, return_index=True, return_inverse=True), m) for m in found]
    for keys, first, group, m in sorted(split, key=lambda item: -len(item[0])):  # finest first
        known = np.bincount(group, weights=marked[m.rows], minlength=len(keys)) > 0
        marked[m.rows[first[~known]]] = True
    return int(marked.sum())


# ---- the stages of the table ----------------------------------------------------------------


def _stages(part: Any, at: Stage, seen: set[int]) -> Iterator[Stage]:
    """Yield what becomes of the table within a part of a model."""
    if isinstance(part, SCALARS) or issparse(part):
        return
    if hasattr(part, "__dict__"):
        if id(part) in seen:
            return
        seen.add(id(part))
    if isinstance(part, Pipeline):
        for i, (_, step) in enumerate(part.steps):
            yield from _stages(step, at, seen)
            if i + 1 < len(part.steps) and step not in (None, "passthrough"):
                if not is_fitted(step):
                    return  # a parameter, from which the model was fitted
                at = at._replace(X=step.transform(at.X))
                yield at
    elif isinstance(part, ColumnTransformer):
        for _, transformer, columns in getattr(part, "transformers_", ()):
            if not isinstance(transformer, str):
                some = Stage(_safe_indexing(at.X, columns, axis=1), at.rows, whole=False)
                yield some
                yield from _stages(transformer, some, seen)
    elif hasattr(part, "_replicas") and is_fitted(part):
        yield from _stages(part.transformer_, at, seen)
        X, points = part._replicas(at.X)
        copies = Stage(X, at.rows[points], at.whole)
        yield copies
        yield from _stages(part.estimator_, copies, seen)
    else:
        for child in held_in(part):
            yield from _stages(child, at, seen)


# ---- the arrays in the file -----------------------------------------------------------------


class Needles(NamedTuple):
    """Rows of all arrays in a file that have some width."""

    keys: Keys
    weak: NDArray[np.bool_]  # (m,) may be equal to a row by chance
    owner: Indices  # (m,) their arrays
    single: bool  # whether some hold numbers in single precision


class Held:
    """The arrays in a file, of numbers and of other values."""

    def __init__(self, members: Mapping[str, Bytes]) -> None:
        self._numbers: list[Any] = []
        self._values: list[NDArray[Any]] = []
        self._needles: dict[tuple[bool, int], Needles | None] = {}
        arrays = (stored_array(name, data) for name, data in members.items() if name != SCHEMA)
        for array in chain(arrays, _lists(json.loads(bytes(members[SCHEMA])))):
            if array.dtype.names is None and array.ndim > 0:  # not the nodes of a tree
                numbers = _as_numbers(array)
                if numbers is None:
                    self._values.append(array)
                else:
                    self._numbers.append(numbers)

    def matches(self, stage: Stage) -> list[Matches]:
        """Return the rows of a stage that stand in the arrays."""
        width = stage.X.shape[1]
        if width == 0 or (width == 1 and not stage.whole):  # single values are not rows
            return []
        X = _as_numbers(stage.X)
        needles = self._of(X is not None, width)
        if needles is None:
            return []
        if X is None:
            return [_match(needles, _value_hashes(np.asarray(stage.X, dtype=object)), stage.rows)]
        found = [_match(needles, hashes(X), stage.rows)]
        if needles.single:
            found.append(_match(needles, hashes(X, single=True), stage.rows))
        return found

    def _of(self, numbers: bool, width: int) -> Needles | None:
        if (numbers, width) not in self._needles:
            arrays = self._numbers if numbers else self._values
            views = [view for array in arrays for view in _row_views(array, width)]
            self._needles[numbers, width] = _needles(views, numbers) if views else None
        return self._needles[numbers, width]


def _needles(views: list[Any], numbers: bool) -> Needles:
    sizes = [view.shape[0] for view in views]
    return Needles(
        np.hstack([hashes(view) if numbers else _value_hashes(view) for view in views]),
        np.concatenate([_weak(v) if numbers else np.zeros(v.shape[0], bool) for v in views]),
        np.repeat(np.arange(len(views)), sizes),
        numbers and any(map(_is_single, views)),
    )


def _match(needles: Needles, keys: Keys, rows: Indices) -> Matches:
    """Find rows in arrays; one that may be there by chance counts only among others."""
    pairs = zip(needles.keys[:2], keys[:2], strict=True)
    lookups = [_look_up(mine, theirs) for mine, theirs in pairs]
    owner, n = needles.owner, int(needles.owner[-1]) + 1
    hit = np.logical_or.reduce([seen[inverse] for _, inverse, _, seen in lookups])
    others = np.bincount(owner[hit & ~needles.weak], minlength=n) > 0
    rows_of = np.unique(np.stack([owner.astype(np.uint64), needles.keys[0]]), axis=1)
    several = np.bincount(rows_of[0].astype(np.intp), minlength=n) > 1
    only = several & (np.bincount(owner[~hit], minlength=n) == 0)
    hit &= ~needles.weak | (others | only)[owner]
    found = np.zeros(keys.shape[1], dtype=bool)
    for place, inverse, there, seen in lookups:
        kept = np.zeros_like(seen)
        kept[inverse[hit]] = True
        found |= there & kept[place]
    return Matches(keys[-1, found], rows[found])


def _look_up(mine: Any, theirs: Any) -> tuple[Indices, Indices, Any, Any]:
    """Look up keys among distinct ones of ours.

    Return the place of each of theirs, the place of each of ours, which of theirs are there, and
    which places were found.
    """
    distinct, inverse = np.unique(mine, return_inverse=True)
    place = np.minimum(np.searchsorted(distinct, theirs), len(distinct) - 1)
    there = distinct[place] == theirs
    seen = np.zeros(len(distinct), dtype=bool)
    seen[place[there]] = True
    return place, inverse, there, seen


def _row_views(array: Any, width: int) -> Iterator[Any]:
    """Yield an array as rows of some width: as they are, in columns, or one after the other."""
    if array.ndim >= 2 and array.shape[-1] == width:
        yield array if array.ndim == 2 else array.reshape(-1, width)
    if width == 1 or 0 in array.shape:
        return  # a list of single values is no list of rows
    if array.ndim == 2 and array.shape[0] == width:
        yield array.T.tocsr() if issparse(array) else array.T
    elif array.ndim == 1 and len(array) % width == 0:
        yield array.reshape(-1, width)


def _weak(rows: Any) -> NDArray[np.bool_]:
    """Return which rows are so plain that other arrays may repeat them by chance."""
    if issparse(rows):
        return np.asarray(np.diff(rows.indptr) <= 1)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = np.diff(rows, axis=1)
        whole = (rows == np.floor(rows)).all(axis=1)
        counting = (steps == 1).all(axis=1) | ((rows != 0).sum(axis=1) <= 1)
        constant = (steps == 0).all(axis=1)
    if rows.shape[1] <= FEW:
        return np.asarray(whole)
    return np.asarray(constant | (whole & counting))


def _is_single(rows: Any) -> bool:
    values = rows.data if issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.array_equal(values, values.astype(np.float32), equal_nan=True)
        return fine and not np.array_equal(values, np.floor(values), equal_nan=True)


def stored_array(name: str, data: Bytes) -> Any:
    """Return an array from a member of a file; a sparse one as CSR."""
    return read_array(name, data) if name.endswith(".npy") else read_sparse(name, data, "csr_array")


def first_rows(name: str, data: Bytes, n_rows: int) -> Any:
    """Return some rows of a table of numbers in a member of a file; None if it is something else.

    A dense table is not copied: this reads files from elsewhere, within bounds.
    """
    if name.endswith(".npz"):
        rows = read_sparse(name, data, "csr_array")
        few = int(np.searchsorted(rows.indptr, LOOKED_AT, side="right")) - 1
        return rows[: min(n_rows, few)]
    layout = check_array(name, data)
    if layout.dtype.kind not in "iuf" or len(layout.shape) != 2 or 0 in layout.shape:
        return None
    if layout.shape[1] > LOOKED_AT:
        return None
    values = np.frombuffer(data, layout.dtype, offset=layout.start)
    return values.reshape(layout.shape, order="F" if layout.fortran else "C")[:n_rows]


def _lists(root: Any) -> Iterator[NDArray[Any]]:
    """Yield the lists, and the arrays of objects, that stand in the tree of a file."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack += node
        elif isinstance(node, dict):
            values = _values(node)
            if values is not None and values.size:
                yield values
            stack += node.values()


def _values(node: Any) -> NDArray[Any] | None:
    """Return a list of values, or of such lists of the same length, as an array."""
    content = node.get("content")
    if node.get("__loader__") not in ("ListNode", "TupleNode", "NdArrayNode") or not content:
        return None
    if all(item.get("__loader__") == "JsonNode" for item in content):
        values = [json.loads(item["content"]) for item in content]
        return np.array(values, dtype=object)
    inner = [_values(item) for item in content]
    lists = [values for values in inner if values is not None and values.ndim == 1]
    if len(lists) == len(content) and len({len(values) for values in lists}) == 1:
        return np.array(lists, dtype=object)
    return None


def _as_numbers(values: Any) -> Any:
    """Return a dense array of floats or a CSR matrix, or None if the values are not numbers."""
    if issparse(values):
        values = csr_array(values, dtype=np.float64)
        values.sum_duplicates()
        return values
    values = np.asarray(values)
    if values.dtype.kind not in "biufO":
        return None
    try:
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        return None


# ---- hashes of rows -------------------------------------------------------------------------


def hashes(rows: Any, single: bool = False) -> Keys:
    """Return three hashes of each row of numbers, the same for dense and sparse rows.

    Values that differ only in the last digits agree in one of the first two hashes, or in both; the
    third one is exact.  ``single``
    rounds the values to single precision first.
    """
    n = rows.shape[0]
    found = np.empty((3, n), dtype=np.uint64)
    step = 1 + BLOCK * n // (1 + (rows.nnz if issparse(rows) else rows.size))
    for start in range(0, n, step):
        part = rows[start : start + step]
        hashed = _sparse(part, single) if issparse(rows) else _dense(part, single)
        found[:, start : start + step] = hashed
    return found


def _dense(rows: Any, single: bool) -> Keys:
    values = _rounded(rows, single)
    largest = _sizes(values).max(axis=1, initial=0.0)[:, None]
    hashed = _hash(values, np.arange(rows.shape[1]), largest)
    return np.array([h.sum(axis=1, dtype=np.uint64) for h in hashed])


def _sparse(rows: Any, single: bool) -> Keys:
    values, ends = _rounded(rows.data, single), rows.indptr
    row = np.repeat(np.arange(rows.shape[0]), np.diff(ends))
    largest = np.zeros(rows.shape[0])
    np.maximum.at(largest, row, _sizes(values))
    hashed = _hash(values, rows.indices, largest[row])
    sums = np.array([np.append(np.uint64(0), np.cumsum(h, dtype=np.uint64)) for h in hashed])
    return sums[:, ends[1:]] - sums[:, ends[:-1]]


def _rounded(values: Any, single: bool) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(values, dtype=np.float32 if single else np.float64)
        return values.astype(np.float64)


def _sizes(values: Floats) -> Floats:
    return np.where(np.isfinite(values), np.abs(values), 0.0)


def _hash(values: Floats, columns: Indices, largest: Floats) -> Iterator[Keys]:
    """Yield hashes of values, rounded in two ways and exact; that of 0 is 0, as if sparse."""
    zero = np.abs(values) <= SMALL * largest
    bits = np.where(np.isnan(values), np.nan, values).view(np.uint64)
    salts = _mix(columns.astype(np.uint64) + np.uint64(1))
    none, half = np.uint64(0), np.uint64(1) << (DROPPED - np.uint64(1))
    for add, dropped in ((none, DROPPED), (half, DROPPED), (none, none)):
        yield np.where(zero, none, _mix(((bits + add) >> dropped) + salts))


def _mix(bits: Keys) -> Keys:
    for factor in MIX:
        bits = (bits ^ (bits >> np.uint64(31))) * factor
    return bits ^ (bits >> np.uint64(31))


def _value_hashes(rows: NDArray[Any]) -> Keys:
    """Return the hashes of rows of text, numbers and other values."""
    keys = [hash(tuple(map(_plain, row))) & (2**64 - 1) for row in rows.tolist()]
    return np.array([keys, keys], dtype=np.uint64).reshape(2, -1)


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float)):
        return None if value != value else float(value)
    return value if value is None or isinstance(value, str) else str(value)
