"""Objects from a checked tree.

An object is made without its constructor, and its attributes are set as they are in the file; so
no code of a class runs before its state has been checked.  Arrays get memory of their own, in C
order.  Types that only the caller trusts restore themselves, by their own ``__setstate__``.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rejo.persistence._refusals import ensure
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import KEYS, KNOWN, class_named

MOST_NUMBERED_KEYS = 1000  # of a dict: equal hashes of whole numbers can be made, of words not


def build(schema: Schema) -> Any:
    return _Builder(schema).make(schema.root)


class _Builder:
    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._made: dict[int, Any] = {}

    def make(self, node: Node) -> Any:
        number = node["__id__"]
        if number not in self._made:
            self._made[number] = getattr(self, f"_make_{node['__loader__']}")(node)
        return self._made[number]

    def _make_JsonNode(self, node: Node) -> Any:
        return self._schema.scalars[node["__id__"]]

    def _make_ListNode(self, node: Node) -> list[Any]:
        return [self.make(item) for item in node["content"]]

    def _make_TupleNode(self, node: Node) -> Any:
        items = [self.make(item) for item in node["content"]]
        name = type_name(node)
        return tuple(items) if name == "builtins.tuple" else class_named(name)(*items)

    def _make_DictNode(self, node: Node) -> dict[Any, Any]:
        types = node["key_types"]["content"]
        fine = all(type_name(kind) in KEYS for kind in types) and len(types) == len(node["content"])
        ensure(fine, "the keys of a dict are not strings or numbers")
        numbered = sum(type_name(kind) != "builtins.str" for kind in types)
        ensure(numbered <= MOST_NUMBERED_KEYS, f"a dict has {numbered} numbers as keys")
        pairs = zip(map(self.make, types), node["content"].items(), strict=True)
        made = {kind(key): self.make(item) for kind, (key, item) in pairs}
        ensure(len(made) == len(types), "a dict has the same key twice")
        return made

    def _make_SliceNode(self, node: Node) -> slice:
        ends = [node["content"][name] for name in ("start", "stop", "step")]
        plain = all(end is None or type(end) in (int, str) for end in ends)
        ensure(plain, "a slice is not one of numbers or names")
        return slice(*ends)

    def _make_TypeNode(self, node: Node) -> Any:
        return class_named(type_name(node))

    _make_FunctionNode = _make_TypeNode

    def _make_NdArrayNode(self, node: Node) -> Any:
        if node["type"] == "json":
            fine = self.make(node["shape"]) == (len(node["content"]),)
            ensure(fine, "an array of objects has not as many items as it says")
            made = np.empty(len(node["content"]), dtype=object)
            for i, item in enumerate(node["content"]):
                made[i] = self.make(item)
            return made
        array = self._schema.array(node["file"])
        return array if node["__class__"] == "ndarray" else array[()]

    def _make_SparseMatrixNode(self, node: Node) -> Any:
        return self._schema.sparse[node["file"]]

    def _make_RandomStateNode(self, node: Node) -> Any:
        state = self.make(node["content"])
        key, place = state["state"]["key"], state["state"]["pos"]
        fine = (
            (key.shape, key.dtype) == ((624,), np.uint32)
            and type(place) is int
            and 0 <= place <= 624  # beyond, NumPy would read what is not its own
            and state["bit_generator"] == "MT19937"
            and state["has_gauss"] in (0, 1)
            and type(state["gauss"]) is float
        )
        ensure(fine, "the state of a random number generator is malformed")
        made = np.random.RandomState(0)
        made.set_state(state)
        return made

    def _make_TreeNode(self, node: Node) -> Any:
        """Check what scikit-learn copies as it is; ``_sklearn_trees`` checks the rest."""
        n_features, n_classes, n_outputs = self.make(node["__reduce__"]["args"])
        state = self.make(node["content"])
        count, K = state["node_count"], n_classes.tolist()
        agree = (
            all(type(n) is int for n in (n_features, count, state["max_depth"], *K))
            and 0 < min(n_features, count, *K) <= max(n_features, count, *K) < 1 << 31
            and (n_outputs, len(K), n_classes.ndim) == (1, 1, 1)
            and (state["nodes"].shape, state["values"].shape) == ((count,), (count, 1, *K))
        )
        ensure(agree, "the parts of a decision tree do not agree")
        made = class_named(type_name(node))(n_features, n_classes.astype(np.intp), 1)
        made.__setstate__(state)  # it copies them
        for used in (node["content"], *node["content"]["content"].values()):
            self._made.pop(used["__id__"], None)
        return made

    def _make_ObjectNode(self, node: Node) -> Any:
        name = type_name(node)
        cls = class_named(name)
        ensure(isinstance(cls, type), f"{name} is not a class")
        made = cls.__new__(cls)
        self._made[node["__id__"]] = made  # for what refers to itself
        content = node.get("content")
        state = {} if content is None else self.make(content)
        if name not in KNOWN and hasattr(made, "__setstate__"):
            made.__setstate__(state)
        elif isinstance(state, Mapping):
            made.__dict__.update(state)
        return made
