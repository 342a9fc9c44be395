"""Objects from a checked tree.

An object is made without its constructor, and its attributes are set as they are in the file; so
no code of a class runs before its state has been checked.  Arrays get memory of their own, in C
order.  Types that only the caller trusts restore themselves, by their own ``__setstate__``.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from rejo.persistence._arrays import read_array, read_sparse
from rejo.persistence._refusals import ensure
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import KNOWN, class_named


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
        return json.loads(node["content"])

    def _make_ListNode(self, node: Node) -> list[Any]:
        return [self.make(item) for item in node["content"]]

    def _make_TupleNode(self, node: Node) -> Any:
        items = [self.make(item) for item in node["content"]]
        name = type_name(node)
        return tuple(items) if name == "builtins.tuple" else class_named(name)(*items)

    def _make_DictNode(self, node: Node) -> dict[Any, Any]:
        types = [self.make(kind) for kind in node["key_types"]["content"]]
        pairs = zip(types, node["content"].items(), strict=True)
        made = {kind(key): self.make(item) for kind, (key, item) in pairs}
        ensure(len(made) == len(types), "a dict has the same key twice")
        return made

    def _make_SliceNode(self, node: Node) -> slice:
        content = node["content"]
        return slice(content["start"], content["stop"], content["step"])

    def _make_TypeNode(self, node: Node) -> Any:
        return class_named(type_name(node))

    def _make_FunctionNode(self, node: Node) -> Any:
        return class_named(type_name(node))

    def _make_NdArrayNode(self, node: Node) -> Any:
        if node["type"] == "json":
            made = np.empty(len(node["content"]), dtype=object)
            for i, item in enumerate(node["content"]):
                made[i] = self.make(item)
            return made
        array = read_array(node["file"], self._schema.members[node["file"]])
        return array if node["__class__"] == "ndarray" else array[()]

    def _make_SparseMatrixNode(self, node: Node) -> Any:
        return read_sparse(node["file"], self._schema.members[node["file"]], node["__class__"])

    def _make_RandomStateNode(self, node: Node) -> Any:
        made = np.random.RandomState(0)
        made.set_state(self.make(node["content"]))
        return made

    def _make_TreeNode(self, node: Node) -> Any:
        arguments = [self.make(item) for item in node["__reduce__"]["args"]["content"]]
        arguments[1] = arguments[1].astype(np.intp)
        made = class_named(type_name(node))(*arguments)
        state = node["content"]
        made.__setstate__(self.make(state))  # it copies them
        for used in (state, *state["content"].values()):
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
