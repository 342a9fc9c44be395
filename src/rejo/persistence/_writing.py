"""The tree of a model as it is written: what skops stores of it, less what a file need not hold.

Of each object a file keeps the parameters and what its class names (:mod:`rejo._state`).
"""

import json
import warnings
from collections.abc import Collection, Mapping
from io import BytesIO
from typing import Any
from zipfile import ZipFile

from rejo._errors import optional
from rejo.persistence._arrays import repack_sparse
from rejo.persistence._container import SCHEMA
from rejo.persistence._refusals import TRUST, ModelFileError
from rejo.persistence._schema import Schema, type_name
from rejo.persistence._trusted import KNOWN, kept_names

OTHER_TYPES = "Use one of the types in rejo.persistence.TRUSTED_TYPES"
BOOSTER = "Use HistGradientBoostingClassifier, or keep the booster in its own format"
ALTERNATIVES = {  # to types that cannot be saved, by a part of their names or places
    "cost_of is a": "Give cost_of as text, such as 'error=5000,review=40', or as an array",
    "kernel is a": "Use a kernel by name, or kernel='precomputed' with your own matrix",
    "_preprocessor": "Encode categories before the model, e.g. with rejo.tables.TableEncoder",
    "SearchCV": "Fit with the best parameters that the search found",
    "xgboost": BOOSTER,
    "lightgbm": BOOSTER,
}
# NumPy's new generators may stand in a parameter, for the next fit, which then starts elsewhere.
GENERATOR = "RandomGeneratorNode"
NULL = {
    "__class__": "str",
    "__module__": "builtins",
    "__loader__": "JsonNode",
    "content": "null",
    "is_json": True,
}


def serialise(model: Any, trusted: Collection[str] = ()) -> tuple[dict[str, bytes], Schema]:
    """Members of a file for a model, numbered in the order of its tree, and that tree, checked."""
    payload = _dumped(model)
    with ZipFile(BytesIO(payload)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema, names = _kept(json.loads(members.pop(SCHEMA)), frozenset(trusted))
    renamed = {}
    for name, new in names.items():
        renamed[new] = repack_sparse(members[name]) if name.endswith(".npz") else members[name]
    try:
        checked = Schema(schema, renamed, trusted)
    except ModelFileError as error:
        remedies = (text for word, text in ALTERNATIVES.items() if word in error.problem)
        remedy = (error.remedy or OTHER_TYPES).replace(TRUST, "To save it all the same")
        error.remedy = next(remedies, remedy)
        raise
    return {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **renamed}, checked


def _dumped(model: Any) -> bytes:
    skops = optional("skops.io", "a model file", "skops", "files")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's, within skops
            return bytes(skops.dumps(model))
    except Exception as error:  # any part may fail to say what it holds
        problem = f"skops cannot store a part of the model ({str(error)[:200]})"
        raise ModelFileError(problem, remedy=OTHER_TYPES) from None


def _kept(root: Any, trusted: frozenset[str]) -> tuple[Any, dict[str, str]]:
    """Leave out the attributes that a file does not keep; number nodes and arrays as they come.

    So the same model gives the same file, and a node that is repeated is repeated exactly.  Return
    the tree, and the new names of the arrays.
    """
    nodes: dict[int, dict[str, Any]] = {}
    names: dict[str, str] = {}

    def visit(value: Any) -> Any:
        if isinstance(value, list):
            return [visit(item) for item in value]
        if not isinstance(value, dict):
            return value
        # In a dict of the user, these keys lead to nodes, not to numbers and names.
        number, file, loader = (value.get(key) for key in ("__id__", "file", "__loader__"))
        if isinstance(number, int) and number in nodes:
            return nodes[number]
        if loader == GENERATOR:
            value = {**NULL, "__id__": number}
        name = type_name(value) if loader == "ObjectNode" else ""
        state: Any = value.get("content")
        if name in KNOWN and name not in trusted and state and state["__loader__"] == "DictNode":
            value = {**value, "content": _only(state, kept_names(name))}
        copy = {key: visit(item) for key, item in value.items()}
        if isinstance(number, int):
            nodes[number] = copy
            copy["__id__"] = len(nodes)
        if isinstance(file, str):
            copy["file"] = names.setdefault(file, f"{len(names) + 1}.{file.rpartition('.')[2]}")
        return copy

    return visit(root), names


def _only(node: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    types = node["key_types"]
    pairs = zip(node["content"].items(), types["content"], strict=True)
    kept = [(key, item, kind) for (key, item), kind in pairs if key in names]
    return {
        **node,
        "content": {key: item for key, item, _ in kept},
        "key_types": {**types, "content": [kind for _, _, kind in kept]},
    }
