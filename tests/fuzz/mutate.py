"""Changes of a model file that keep its structure: of values, types and shapes, alone and together.

``mutate(edit, draw, others)`` makes one to four changes and says what it did.  All are drawn from
``draw``, a ``random.Random``, so a seed gives the same file again.
"""

from __future__ import annotations

import copy
import io
import json
from random import Random
from typing import Any

import numpy as np
from scipy import sparse

from rejo.persistence import TRUSTED_TYPES
from tests.fuzz.files import (
    Edit,
    Node,
    Place,
    attributes,
    key_type,
    npy_header,
    scalar,
    sequence,
)

SCALARS = [
    *("0", "1", "-1", "2", "3", "7", "1000000", "2147483647", "2147483648", "-2147483649"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0" * 400),
    *("0.0", "-0.0", "0.5", "1.0", "1e308", "-1e308", "5e-324", "1e-300", "NaN", "Infinity"),
    *("-Infinity", "true", "false", "null", '""', '"x"', '"\\u0000"', '"\\ud800"', '"1"'),
    json.dumps("long " * 2000),
]
# Words that switch modes of the classes on the list.
WORDS = [
    *("auto", "balanced", "class", "chow", "constant", "csc", "csr", "deviance", "drop", "error"),
    *("default", "first", "hinge", "if_binary", "ignore", "indicator", "infrequent_if_exist"),
    *(
        "identity",
        "isotonic",
        "kd_tree",
        "lbfgs",
        "learn",
        "linear",
        "loky",
        "log_loss",
        "logistic",
    ),
    *("mean", "median", "most_frequent", "multiprocessing", "nan", "ovo", "ovr", "pandas", "score"),
    *("passthrough", "poly", "polynomial", "precomputed", "prefit", "rbf", "relu", "scale", "adam"),
    *("sigmoid", "softmax", "squared_hinge", "tanh", "temperature", "threading", "train", "sgd"),
    *("use_encoded_value", "warn", "laplacian", "chi2", "cosine", "clip", "polars", "__class__"),
]
DTYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i1", "<u8", "<u4", "|u1", "|b1", "<U3", "|S4", ">f8")
NAMES = [
    *(
        "_in_fit",
        "_sparse",
        "_effective_probability",
        "_probA",
        "_probB",
        "n_features_in_",
        "n_jobs",
    ),
    *(
        "feature_names_in_",
        "_n_features_out",
        "_n_features",
        "classes_",
        "n_classes_",
        "n_outputs_",
    ),
    *("__class__", "__dict__", "__module__", "predict", "fit", "_check_state", "_validate_params"),
    *("_parameter_constraints", "_doc_link_module", "_sklearn_output_config", "_metadata_request"),
    *("_sklearn_auto_wrap_output_keys", "__sklearn_tags__", "_repr_html_", "steps", "outcomes_"),
    *("_more", "verbose", "memory", "calibrator_", "estimator_", "thresholds_", "_rng", "prices_"),
    *("_infrequent_enabled", "_default_to_infrequent_mappings", "_drop_idx_after_grouping"),
    *("_missing_indices", "_is_fitted", "_max_degree", "_n_out_full", "indicator_", "_fit_dtype"),
]


class Menagerie:
    """The other files, from which nodes are taken."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self._open: dict[str, tuple[Edit, list[Place]]] = {}

    def draw(self, draw: Random) -> tuple[Edit, list[Place]]:
        name = draw.choice(sorted(self.files))
        if name not in self._open:
            edit = Edit(self.files[name])
            self._open[name] = edit, [p for p in edit.places() if _is_value(p)]
        return self._open[name]


def mutate(edit: Edit, draw: Random, others: Menagerie) -> str:
    """Change a file in one to four ways; return a description."""
    done: list[str] = []
    kinds = list(CHANGES)
    weights = list(CHANGES.values())
    for _ in range(draw.choice((1, 1, 1, 1, 2, 2, 3, 4))):
        for _ in range(20):
            change = draw.choices(kinds, weights)[0]
            try:
                said = change(edit, draw, others)
            except (
                ArithmeticError,
                AttributeError,
                LookupError,
                MemoryError,
                TypeError,
                ValueError,
            ):
                if not done:
                    raise
                return "; ".join(done)  # the change before has left no structure to change
            if said is not None:
                done.append(f"{change.__name__}: {said}")
                break
    return "; ".join(done)


# ---- choosing --------------------------------------------------------------------------------


def _is_value(place: Place) -> bool:
    return ".key_types" not in place.path


def _is_fitted(place: Place) -> bool:
    name = place.path.rpartition(".")[2]
    return name.startswith("_") or name.partition("[")[0].endswith("_")


def values_of(edit: Edit) -> list[Place]:
    return [place for place in edit.places() if _is_value(place)]


def pick(edit: Edit, draw: Random, *loaders: str) -> Place | None:
    """Draw a place, mostly one that a fit has filled."""
    found = [p for p in values_of(edit) if not loaders or p.loader in loaders]
    fitted = [p for p in found if _is_fitted(p)]
    if not found:
        return None
    # Rare names as often as frequent ones: a forest has a hundred nodes of the same name.
    pool = fitted if fitted and draw.random() < 0.75 else found
    name = draw.choice(sorted({_ending(p) for p in pool}))
    return draw.choice([p for p in pool if _ending(p) == name])


def _ending(place: Place) -> str:
    return f"{place.owner}{place.path.rpartition('.')[2].partition('[')[0]}"


def _content(node: Node) -> Any:
    """The number, string or None of a scalar."""
    try:
        return json.loads(node["content"])
    except (KeyError, TypeError, ValueError):
        return None


def hostile(draw: Random, old: Any = None) -> str:
    """A scalar, as JSON, that might be unexpected where ``old`` stood."""
    near: list[str] = []
    if isinstance(old, (int, float)) and not isinstance(old, bool):
        found = [old + 1, old - 1, 2 * old, -old, old + 0.5, float(old), str(old), old * 1e6]
        near = [json.dumps(value) for value in found]
    if isinstance(old, bool):
        near = [json.dumps(not old)] * 6
    if isinstance(old, str):
        near = [json.dumps(draw.choice(WORDS)) for _ in range(12)] + [json.dumps(old + "x")]
    if old is None:
        near = [json.dumps(word) for word in draw.sample(WORDS, 4)]
    return draw.choice(near) if near and draw.random() < 0.5 else draw.choice(SCALARS)


# ---- one change ------------------------------------------------------------------------------


def change_scalar(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "JsonNode")
    if place is None:
        return None
    text = hostile(draw, _content(place.node))
    edit.set_scalar(place, text)
    return f"{place.owner}{place.path} = {text[:60]}"


def change_array(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "NdArrayNode")
    values = None if place is None else edit.array(place.node)
    if place is None or values is None:
        return None
    name, changed = alter(values, draw)
    edit.set_array(place.node, changed)
    return f"{place.owner}{place.path} {values.dtype.str}{values.shape} {name}"


def change_matrix(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "SparseMatrixNode")
    matrix = None if place is None else edit.matrix(place.node)
    if place is None or matrix is None:
        return None
    name, changed = alter_sparse(matrix, draw)
    edit.set_matrix(place.node, changed)
    if draw.random() < 0.1:
        name += " as another class"
        place.node["__class__"] = draw.choice(["csr_array", "csc_array", "csc_matrix"])
    return f"{place.owner}{place.path} {name}"


def change_sequence(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "ListNode", "TupleNode", "SetNode")
    if place is None or not isinstance(place.node.get("content"), list):
        return None
    items = place.node["content"]
    how = draw.randrange(8)
    said = ("shorter", "longer", "repeated", "empty", "reversed", "doubled", "scalar", "kind")[how]
    if how == 0 and items:
        items.pop(draw.randrange(len(items)))
    elif how == 1:
        items.insert(draw.randint(0, len(items)), scalar(hostile(draw)))
    elif how == 2 and items:
        items.extend([draw.choice(items)] * draw.choice((1, 5, 200)))
    elif how == 3:
        items.clear()
    elif how == 4:
        items.reverse()
    elif how == 5:
        items.extend(copy.deepcopy(items))
    elif how == 6 and items:
        items[draw.randrange(len(items))] = scalar(hostile(draw))
    else:
        place.put(sequence(draw.choice(["list", "tuple", "set"]), items))
    return f"{place.owner}{place.path} {said}"


def change_dict(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "DictNode")
    if place is None or not place.node.get("content"):
        return None
    content, kinds = place.node["content"], place.node["key_types"]["content"]
    at = draw.randrange(len(content))
    key = list(content)[at]
    how = draw.randrange(4)
    if how == 0:
        del content[key]
        kinds.pop(at)
    elif how == 1:
        new = draw.choice([*NAMES, key + "_", "0", "", "1e999"])
        items = {new if k == key else k: v for k, v in content.items()}
        if len(items) < len(content):
            return None
        content.clear()
        content.update(items)
    elif how == 2:
        kinds[at] = key_type(draw.choice(["int", "float", "bool", "str", "list"]))
    else:
        order = list(content.items())
        draw.shuffle(order)
        content.clear()
        content.update(order)
    said = ("without", "renamed", "key of another type", "shuffled")[how]
    return f"{place.owner}{place.path} {said} {key}"


def add_attribute(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    objects = [p.node for p in values_of(edit) if attributes(p.node) is not None]
    node = draw.choice([edit.root, *objects])
    inner = attributes(node)
    other, places = others.draw(draw)
    given = draw.choice(places)
    same = [p for p in places if p.owner == node["__class__"] and _is_fitted(p)]
    name = draw.choice(NAMES)
    if same and draw.random() < 0.5:  # a mode that the model does not have
        given = draw.choice(same)
        name = given.path.rpartition(".")[2].partition("[")[0]
    if inner is None or name in inner["content"] or not name:
        return None
    value = edit.imported(other, given.node)
    value = value if draw.random() < 0.6 else scalar(hostile(draw))
    inner["content"][name] = value
    inner["key_types"]["content"].append(key_type())
    return f"{node['__class__']}.{name} = {given.path} {value['__class__']}"


def swap_nodes(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    first, second = pick(edit, draw), pick(edit, draw)
    if first is None or second is None or _within(first.node, second.node):
        return None
    if draw.random() < 0.5:
        alike = [p for p in values_of(edit) if p.loader == first.loader]
        second = draw.choice(alike)
    one, two = first.node, second.node
    if _within(one, two) or _within(two, one):
        return None
    first.put(two)
    second.put(one)
    return f"{first.owner}{first.path} <-> {second.owner}{second.path}"


def copy_node(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Put a node of this or another file in the place of one."""
    place = pick(edit, draw)
    if place is None:
        return None
    other, places = others.draw(draw)
    if draw.random() < 0.4:
        other, places = edit, values_of(edit)
    alike = [p for p in places if p.loader == place.loader] if draw.random() < 0.7 else places
    named = [p for p in places if _ending(p) == _ending(place)]
    pool = named if named and draw.random() < 0.4 else alike
    if not pool:
        return None
    given = draw.choice(pool)
    if _within(given.node, place.node):
        return None
    node = copy.deepcopy(given.node) if other is edit else edit.imported(other, given.node)
    place.put(node)
    return f"{place.owner}{place.path} = copy of {given.owner}{given.path} ({given.loader})"


def change_type(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    place = pick(edit, draw, "ObjectNode", "TupleNode", "TypeNode", "NdArrayNode", "LossNode")
    if place is None:
        return None
    name = draw.choice(TRUSTED_TYPES)
    old = place.node["__class__"]
    place.node["__module__"], place.node["__class__"] = name.rsplit(".", 1)
    if draw.random() < 0.3:
        place.node["__loader__"] = draw.choice(["ObjectNode", "TypeNode", "FunctionNode"])
    return f"{place.owner}{place.path} {old} -> {name}"


def unfit(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Leave out what a fit has filled, all or all but one."""
    found = [p for p in values_of(edit) if attributes(p.node) is not None]
    node = draw.choice([edit.root, *(p.node for p in found)])
    inner = attributes(node)
    if inner is None:
        return None
    fitted = [k for k in inner["content"] if k.startswith("_") or k.endswith("_")]
    if not fitted:
        return None
    gone = set(fitted) - ({draw.choice(fitted)} if draw.random() < 0.5 else set())
    if draw.random() < 0.7:
        gone = {draw.choice(fitted)}
    kept = [k for k in inner["content"] if k not in gone]
    inner["key_types"]["content"] = [key_type() for _ in kept]
    inner["content"] = {k: inner["content"][k] for k in kept}
    return f"{node['__class__']} without {sorted(gone)[:3]}"


def change_header(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Change an entry of rejo.json, at any depth."""
    value: Any = edit.header
    path = ""
    while True:
        key = draw.choice(sorted(value) if isinstance(value, dict) else range(len(value)))
        path += f".{key}"
        inner = value[key]
        if not isinstance(inner, (dict, list)) or not inner or draw.random() < 0.3:
            break
        value = inner
    text = hostile(draw, inner if isinstance(inner, (str, int, float)) else None)
    more: list[Any] = [{}, [], [[]], {"a": {"a": {}}}, [1e308] * 50, {"target": 10**400}]
    value[key] = draw.choice(more) if draw.random() < 0.2 else json.loads(text)
    return f"header{path} = {str(value[key])[:60]}"


def edit_text(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Change an entry of a node that skops writes itself."""
    place = pick(edit, draw)
    if place is None:
        return None
    node = place.node
    key = draw.choice(sorted(node))
    values: list[Any] = [None, 0, -1, 1.5, "", "x", [], {}, [[]], True, 10**400]
    if draw.random() < 0.2:
        del node[key]
        return f"{place.owner}{place.path} without {key}"
    node[key] = draw.choice(values)
    return f"{place.owner}{place.path}.{key} = {str(node[key])[:20]}"


# ---- changes that agree with each other ------------------------------------------------------


def same_number(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Change a whole number everywhere, or everywhere under its name."""
    place = pick(edit, draw, "JsonNode")
    value = None if place is None else _content(place.node)
    if place is None or type(value) is not int:
        return None
    name = place.path.rpartition(".")[2].partition("[")[0]
    by_name = draw.random() < 0.5
    new = draw.choice([value + 1, value - 1, 2 * value, 0, -1, 10**6, 2**31, 2**62])
    for found in values_of(edit):
        if found.loader != "JsonNode" or _content(found.node) != value:
            continue
        if type(_content(found.node)) is int and (
            not by_name or found.path.rpartition(".")[2].startswith(name)
        ):
            edit.set_scalar(found, str(new))
    return f"{name if by_name else 'every number'} {value} -> {new}"


def same_length(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Shorten or lengthen all arrays along the axes of one length, and the numbers that say it."""
    arrays = [p for p in values_of(edit) if edit.array(p.node) is not None]
    lengths = sorted({n for p in arrays for n in edit.array(p.node).shape if n})
    if not lengths:
        return None
    n = draw.choice(lengths)
    new = draw.choice([n - 1, n + 1, 0, 2 * n])
    leading, numbers = draw.random() < 0.5, draw.random() < 0.7
    owner = draw.choice(arrays).owner if draw.random() < 0.4 else None
    for place in arrays:
        values = edit.array(place.node)
        if owner not in (None, place.owner) or n not in values.shape:
            continue
        for axis in range(1 if leading else values.ndim):
            if values.shape[axis] == n:
                values = _resized(values, axis, new)
        edit.set_array(place.node, values)
    for place in values_of(edit):
        if place.loader == "SparseMatrixNode" and owner in (None, place.owner):
            matrix = edit.matrix(place.node)
            if matrix is not None and n in matrix.shape and new:
                shape = tuple(new if m == n else m for m in matrix.shape)
                matrix.resize(shape)
                edit.set_matrix(place.node, matrix)
        elif place.loader in ("ListNode", "TupleNode") and owner in (None, place.owner):
            items = place.node["content"]
            if isinstance(items, list) and len(items) == n and n > 1 and draw.random() < 0.5:
                place.node["content"] = (items * 2)[:new]
        elif numbers and place.loader == "JsonNode" and owner in (None, place.owner):
            value = _content(place.node)
            if type(value) is int and value == n:
                edit.set_scalar(place, str(new))
    scope = "everywhere" if owner is None else f"in {owner}"
    return f"length {n} -> {new} {scope}{', leading' * leading}{', numbers too' * numbers}"


def _resized(values: Any, axis: int, n: int) -> Any:
    size = values.shape[axis]
    return np.take(values, np.arange(n) % size, axis=axis) if values.nbytes else values


def same_array(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Change all equal arrays, or all of a name, in the same way."""
    place = pick(edit, draw, "NdArrayNode")
    values = None if place is None else edit.array(place.node)
    if place is None or values is None:
        return None
    seed, by_name = draw.random(), draw.random() < 0.5
    name, said, n = place.path.rpartition(".")[2].partition("[")[0], "", 0
    for found in values_of(edit):
        other = edit.array(found.node)
        if other is None:
            continue
        alike = found.path.rpartition(".")[2].startswith(name) and by_name
        if alike or (other.dtype == values.dtype and np.array_equal(other, values)):
            said, changed = alter(other, Random(seed))
            edit.set_array(found.node, changed)
            n += 1
    return f"{n} arrays like {name}: {said}"


def keep_sum(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Move an amount from one number of a list or an array to another."""
    amount = draw.choice([1, 2, 10**6, 10**9, 2**31, 2**40, 0.5, 1e300])
    place = pick(edit, draw, "ListNode", "TupleNode", "NdArrayNode")
    if place is None:
        return None
    values = edit.array(place.node)
    if values is not None and values.dtype.kind in "iuf" and values.size >= 2:
        flat = values.ravel().copy()
        i, j = draw.sample(range(flat.size), 2)
        with np.errstate(all="ignore"):
            delta = np.array(amount).astype(flat.dtype)
            flat[i], flat[j] = flat[i] + delta, flat[j] - delta
        edit.set_array(place.node, flat.reshape(values.shape))
        return f"{place.owner}{place.path} array: {amount} moved"
    items = place.node.get("content")
    if not isinstance(items, list):
        return None
    numbers = [i for i, node in enumerate(items) if type(_content(node)) in (int, float)]
    if len(numbers) < 2 or any(items[i]["__loader__"] != "JsonNode" for i in numbers):
        return None
    i, j = draw.sample(numbers, 2)
    for k, sign in ((i, 1), (j, -1)):
        items[k] = scalar(json.dumps(_content(items[k]) + sign * amount))
    return f"{place.owner}{place.path} list: {amount} moved"


def wider_model(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Raise the number of features everywhere, and an index to the new one."""
    new = draw.choice([4, 5, 1000, 10**6, 2**31])
    for place in values_of(edit):
        if place.path.endswith(("n_features_in_", "_n_features", "n_features")):
            edit.set_scalar(place, str(new))
    said = ""
    for place in values_of(edit):
        values = edit.array(place.node)
        if values is None or values.dtype.names is None:
            continue
        for field in ("feature_idx", "feature"):
            if field in values.dtype.names:
                with np.errstate(all="ignore"):
                    values[field] = np.array(new - 1).astype(values.dtype[field])
                edit.set_array(place.node, values)
                said = f", {field} {new - 1}"
    return f"{new} features{said}"


def other_classes(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Give the model one class more or less, wherever classes and their number stand."""
    found = [p for p in values_of(edit) if p.path.endswith("classes_")]
    arrays = [(p, edit.array(p.node)) for p in found]
    arrays = [(p, a) for p, a in arrays if a is not None and a.ndim == 1 and a.size]
    if not arrays:
        return None
    K = max(len(a) for _, a in arrays)
    more = draw.random() < 0.5
    for place, values in arrays:
        if len(values) == K:
            last = values[-1] + 1 if values.dtype.kind in "iu" else values[-1]
            edit.set_array(place.node, np.append(values, last) if more else values[:-1])
    for place in values_of(edit):
        values = edit.array(place.node)
        name = place.path.rpartition(".")[2]
        if values is not None and name in ("thresholds_", "prices_", "floor_", "cutoffs_"):
            rows = range(values.ndim)
            for axis in rows:
                n = values.shape[axis]
                values = _resized(values, axis, n + 1 if more else max(n - 1, 0))
            edit.set_array(place.node, values)
        elif place.loader == "JsonNode" and _content(place.node) == K and "class" in name:
            edit.set_scalar(place, str(K + 1 if more else K - 1))
    return f"{'more' if more else 'fewer'} classes than {K}"


def spread(edit: Edit, draw: Random, others: Menagerie) -> str | None:
    """Put the same hostile scalar into every attribute of a name."""
    place = pick(edit, draw, "JsonNode")
    if place is None:
        return None
    name = place.path.rpartition(".")[2]
    text = hostile(draw, _content(place.node))
    n = 0
    for found in values_of(edit):
        if found.loader == "JsonNode" and found.path.rpartition(".")[2] == name:
            edit.set_scalar(found, text)
            n += 1
    return f"{name} = {text[:60]} in {n} places"


# ---- arrays ----------------------------------------------------------------------------------


def alter(values: Any, draw: Random) -> tuple[str, Any]:
    """Change an array: its values, type, shape or order.  Bytes are a file with a false header."""
    if values.dtype.names is not None and draw.random() < 0.75:
        return _alter_field(values, draw)
    changes = [_extreme, _extreme, _extreme, _all_extreme, _permuted, _other_type, _same_bytes]
    changes += [_reshaped, _reshaped, _flipped_order, _longer, _shorter, _strange]
    for _ in range(20):
        change = draw.choice(changes)
        with np.errstate(all="ignore"):
            try:
                changed = change(values.copy(), draw)
            except (TypeError, ValueError, OverflowError, IndexError):
                continue
        if changed is not None:
            return change.__name__.strip("_"), changed
    return "empty", values[:0]


def _alter_field(values: Any, draw: Random) -> tuple[str, Any]:
    """A field of the nodes of a tree."""
    values, field = values.copy(), draw.choice(values.dtype.names)
    if not values.size:
        return "empty", values
    kind = values.dtype[field]
    if kind.kind == "V":
        return "field of bytes", values
    rows: Any = slice(None) if draw.random() < 0.4 else draw.randrange(len(values))
    if draw.random() < 0.2:
        order = list(range(len(values)))
        draw.shuffle(order)
        values[field] = values[field][order]
        return f"{field} permuted", values
    new = _extreme_value(kind, draw)
    near = draw.randint(-2, len(values) + 1)
    with np.errstate(all="ignore"):
        values[field][rows] = np.array(near if draw.random() < 0.4 else new).astype(kind)
    return f"{field}[{rows}] = {values[field][0 if isinstance(rows, slice) else rows]}", values


def _extreme_value(kind: Any, draw: Random) -> Any:
    if kind.kind == "f":
        top = float(np.finfo(kind).max)
        return draw.choice([np.nan, np.inf, -np.inf, top, -top, 0.0, -1.0, 1e-300, 1e150, 2.0])
    if kind.kind in "iu":
        info = np.iinfo(kind)
        found = [info.max, info.min, 0, 1, 2, 3, info.max // 2, max(info.min, -1)]
        return draw.choice([value for value in found if info.min <= value <= info.max])
    if kind.kind == "b":
        return draw.choice([True, False])
    return draw.choice(["", "x", "\x00", "a" * 40])


def _extreme(values: Any, draw: Random) -> Any:
    if not values.size:
        return None
    new = _extreme_value(values.dtype, draw)
    flat = values.ravel()
    if values.dtype.kind == "U":
        flat = flat.astype("<U40")
    flat[draw.randrange(flat.size)] = new
    return flat.reshape(values.shape)


def _all_extreme(values: Any, draw: Random) -> Any:
    values[...] = _extreme_value(values.dtype, draw)
    return values


def _permuted(values: Any, draw: Random) -> Any:
    if values.ndim < 1 or len(values) < 2:
        return None
    order = list(range(len(values)))
    draw.shuffle(order)
    return values[order]


def _other_type(values: Any, draw: Random) -> Any:
    new = draw.choice(DTYPES)
    return None if new == values.dtype.str else values.astype(new)


def _same_bytes(values: Any, draw: Random) -> Any:
    new = draw.choice([d for d in DTYPES if np.dtype(d).itemsize == values.dtype.itemsize])
    return None if new == values.dtype.str else np.ascontiguousarray(values).view(new)


def _reshaped(values: Any, draw: Random) -> Any:
    n = values.size
    shapes = [(n,), (1, n), (n, 1), values.shape[::-1], (*values.shape, 1), (n, 1, 1)]
    if n == 1:
        shapes.append(())
    shape = draw.choice(shapes)
    return None if shape == values.shape else values.reshape(shape)


def _flipped_order(values: Any, draw: Random) -> Any:
    return None if values.ndim < 2 else np.asfortranarray(values)


def _longer(values: Any, draw: Random) -> Any:
    axis = draw.randrange(values.ndim) if values.ndim else None
    return None if axis is None else _resized(values, axis, values.shape[axis] + 1)


def _shorter(values: Any, draw: Random) -> Any:
    axis = draw.randrange(values.ndim) if values.ndim else None
    if axis is None or not values.shape[axis]:
        return None
    return _resized(values, axis, draw.choice([0, 1, values.shape[axis] - 1]))


STRANGE = [
    ("'<f8'", "(20000000, 0)"),
    ("'<f8'", "(0, 1000000000000)"),
    ("'|S0'", "(20000000,)"),
    ("'|V0'", "(20000000,)"),
    ("'<U0'", "(999999999999,)"),
    ("'<i3'", "(0,)"),
    ("'<f16'", "(0,)"),
    ("'|b8'", "(0,)"),
    ("'|O'", "(0,)"),
    ("'<M8[ns]'", "(0,)"),
    ("'<c16'", "(0,)"),
    ("'<f8'", "(0, 0, 0, 0, 0, 0, 0, 0, 0)"),
    ("[('a', '<f8')]", "(0,)"),
    ("[('a', '|V0')]", "(1000000000,)"),
    ("'<f8'", "()"),
]


def _strange(values: Any, draw: Random) -> Any:
    descr, shape = draw.choice(STRANGE)
    return npy_header(descr, shape, draw.random() < 0.3)


def alter_sparse(matrix: Any, draw: Random) -> tuple[str, Any]:
    """Change a sparse matrix: its values, indices, shape or format."""
    how = draw.randrange(8)
    matrix = matrix.copy()
    if how == 0:
        name, matrix.data = alter(matrix.data, draw)
        if isinstance(matrix.data, bytes) or matrix.data.shape != matrix.indices.shape:
            return "as CSC", sparse.csc_matrix(matrix.shape)
        return f"data {name}", _raw_npz(matrix)
    if how == 1 and matrix.nnz:
        at = draw.randrange(matrix.nnz)
        matrix.indices[at] = draw.choice([-1, matrix.shape[1], 2**31 - 1, 0])
        return "index", _raw_npz(matrix)
    if how == 2:
        at = draw.randrange(len(matrix.indptr))
        matrix.indptr[at] = draw.choice([-1, matrix.nnz + 1, 2**31 - 1, 0])
        return "indptr", _raw_npz(matrix)
    if how == 3:
        return "as CSC", matrix.tocsc()
    if how == 4:
        return "without values", sparse.csr_matrix(matrix.shape)
    if how == 5:
        rows, columns = matrix.shape
        shape = draw.choice([(rows, columns + 1), (rows, 10**9), (columns, rows), (rows + 1, 2)])
        matrix.resize(shape)
        return f"shape {shape}", matrix
    if how == 6:
        wide = matrix.astype(np.float32) if draw.random() < 0.5 else matrix
        wide.indices = wide.indices.astype(np.int64)
        wide.indptr = wide.indptr.astype(np.int64)
        return "other types", _raw_npz(wide)
    shuffled = matrix.copy()
    shuffled.indices = shuffled.indices[::-1].copy()
    return "indices reversed", _raw_npz(shuffled)


def _raw_npz(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(
        buffer,
        indices=matrix.indices,
        indptr=matrix.indptr,
        format=np.array(b"csr"),
        shape=np.array(matrix.shape),
        data=matrix.data,
    )
    return buffer.getvalue()


def _within(node: Any, inner: Any) -> bool:
    """Whether a node holds another one, or is it."""
    if node is inner:
        return True
    if isinstance(node, dict):
        return any(_within(value, inner) for value in node.values())
    return isinstance(node, list) and any(_within(value, inner) for value in node)


CHANGES = {
    change_scalar: 8,
    change_array: 10,
    change_matrix: 1.5,
    change_sequence: 3,
    change_dict: 2,
    add_attribute: 2,
    swap_nodes: 2,
    copy_node: 5,
    change_type: 1,
    unfit: 1,
    change_header: 1,
    edit_text: 1,
    same_number: 4,
    same_length: 5,
    same_array: 4,
    keep_sum: 4,
    wider_model: 1,
    other_classes: 2,
    spread: 3,
}
