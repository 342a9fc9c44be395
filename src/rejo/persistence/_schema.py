"""The tree of a model as skops writes it, checked node by node before anything is built.

A node names one of skops' loaders and the type that the loader makes.  Both must be on our list,
and the node must have exactly the entries that skops writes.  Anything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rejo.persistence._arrays import Layout, check_array, check_sparse, read_array
from rejo.persistence._refusals import ModelFileError, UntrustedType
from rejo.persistence._trusted import KEYS, TRUSTED

Node = Mapping[str, Any]

PROTOCOL = 2  # of skops' format
MAX_DEPTH = 100
GROWTH = 100  # a file may take this many times its size in memory,
ROOM = 1 << 24  # and this many bytes in any case

COMMON = {"__class__", "__module__", "__loader__", "__id__"}
ENTRIES: dict[str, set[str]] = {
    "JsonNode": {"content", "is_json"},
    "DictNode": {"content", "key_types"},
    "TypeNode": set(),
    "FunctionNode": set(),
    "SparseMatrixNode": {"type", "file"},
    "TreeNode": {"content", "__reduce__"},
    "LossNode": {"content", "__reduce__"},
}
NAMES = ("TypeNode", "FunctionNode")  # nothing but a name
SHAPED = {"type", "content", "shape"}  # an array of objects
OPTIONS = ("JsonNode", "TypeNode", "ListNode")
SCALARS = (str, int, float, bool, type(None))


def type_name(node: Node) -> str:
    """Return the full name of the type that a node makes."""
    return f"{node['__module__']}.{node['__class__']}"


class Schema:
    """A checked tree and the arrays that belong to it.

    Parameters
    ----------
    root : object
        Parsed ``schema.json``.
    members : mapping of str to bytes
        Contents of the file.

    Raises
    ------
    ModelFileError
        If there is anything that no model file has.
    """

    def __init__(self, root: Any, members: Mapping[str, bytes]) -> None:
        self.members = members
        self.shapes: dict[str, tuple[int, ...]] = {}  # of the arrays that are used
        self._budget = ROOM + GROWTH * sum(map(len, members.values()))
        self._seen: dict[int, Node] = {}
        self._open: set[int] = set()
        self.root = self._root(root)

    def _root(self, root: Any) -> Node:
        if not isinstance(root, dict):
            raise ModelFileError("schema.json does not hold an object")
        protocol = root.get("protocol")
        if type(protocol) is not int or protocol != PROTOCOL:
            raise ModelFileError(
                f"schema.json has the skops protocol {protocol!r:.20}; this version of rejo reads "
                f"protocol {PROTOCOL}",
                remedy="Upgrade rejo, or save the model with an older skops",
            )
        node = {k: v for k, v in root.items() if k not in ("protocol", "_skops_version")}
        self._check(node, "model", 0)
        unused = self.members.keys() - self.shapes.keys() - {"schema.json", "rejo.json"}
        if unused:
            raise ModelFileError(f"member {min(unused)} belongs to nothing in the model")
        return node

    # ---- values that are read without building anything -------------------------------------

    def attributes(self, node: Node) -> Mapping[str, Node]:
        """Return the attributes of an object; empty for all else."""
        content = node.get("content")
        if node["__loader__"] != "ObjectNode" or not isinstance(content, dict):
            return {}
        found = content.get("content")
        return found if isinstance(found, dict) else {}

    def value(self, node: Node) -> Any:
        """Return a scalar, or an array as a list."""
        if node["__loader__"] == "JsonNode":
            return json.loads(node["content"])
        if node["__loader__"] == "NdArrayNode" and node["type"] == "numpy":
            return read_array(node["file"], self.members[node["file"]]).tolist()
        if node["__loader__"] == "NdArrayNode":
            return [self.value(item) for item in node["content"]]
        raise ModelFileError(f"a {type_name(node)} stands where a value is expected")

    # ---- checks ---------------------------------------------------------------------------

    def _check(self, node: Any, where: str, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise ModelFileError(f"{where[:80]}...: the model is nested too deeply")
        if not isinstance(node, dict):
            raise ModelFileError(f"{where}: a node is missing")
        loader, module, name = (node.get(f"__{k}__") for k in ("loader", "module", "class"))
        if not (isinstance(loader, str) and isinstance(module, str) and isinstance(name, str)):
            raise ModelFileError(f"{where}: a node does not name its type")
        if f"{module}.{name}" not in TRUSTED.get(loader, ()):
            how = "" if loader in TRUSTED else f", as a {loader[:40]}"
            raise UntrustedType(
                f"{where} is a {f'{module}.{name}'[:120]}{how}: not a trusted type",
                remedy="Do not open it by other means; ask its author for a file by rejo.save",
            )
        expected = ENTRIES.get(loader, {"content"})
        if loader == "NdArrayNode":
            expected = {"type", "file"} if node.get("type") == "numpy" else SHAPED
        elif loader == "ObjectNode" and "content" not in node:
            expected = set()
        if node.keys() != COMMON | expected:
            raise ModelFileError(f"{where}: the node of a {module}.{name} is malformed")
        number = node["__id__"]
        if type(number) is not int or number < 0:
            raise ModelFileError(f"{where}: a node has no number")
        if number in self._open:
            raise ModelFileError(f"{where} contains itself")
        if number in self._seen:  # skops takes the first one for both
            if self._seen[number] != node:
                raise ModelFileError(f"{where}: two different nodes have the number {number}")
            return
        self._open.add(number)
        if loader not in NAMES:
            getattr(self, f"_check_{loader}", self._check_content)(node, where, depth + 1)
        self._open.remove(number)
        self._seen[number] = node

    def _check_content(self, node: Node, where: str, depth: int) -> None:
        """Check a node around one other, or a list of others."""
        content = node["content"]
        if node["__loader__"] in ("ListNode", "TupleNode", "SetNode", "NdArrayNode"):
            if not isinstance(content, list):
                raise ModelFileError(f"{where}: the items of a {type_name(node)} are missing")
            for i, item in enumerate(content):
                self._check(item, f"{where}[{i}]", depth)
        else:
            self._check(content, where, depth)

    def _check_JsonNode(self, node: Node, where: str, depth: int) -> None:
        content = node["content"]
        try:
            value = json.loads(content) if isinstance(content, str) else [content]
        except (ValueError, RecursionError):
            raise ModelFileError(f"{where} is not a JSON value") from None
        if not isinstance(value, SCALARS) or node["is_json"] is not True:
            raise ModelFileError(f"{where} is not a number, a string, true, false or null")

    def _check_DictNode(self, node: Node, where: str, depth: int) -> None:
        content, key_types = node["content"], node["key_types"]
        self._check(key_types, f"keys of {where}", depth)
        if not isinstance(content, dict) or key_types["__loader__"] != "ListNode":
            raise ModelFileError(f"{where} is not a dict")
        types = key_types["content"]
        # skops reads the keys from strings, where bool("False") is True.
        if len(types) != len(content) or any(
            item["__loader__"] != "TypeNode" or type_name(item) not in KEYS for item in types
        ):
            raise ModelFileError(f"{where}: the keys of a dict are not strings or numbers")
        for key, value in content.items():
            self._check(value, f"{where}.{key[:40]}" if where != "model" else key[:40], depth)

    def _check_SliceNode(self, node: Node, where: str, depth: int) -> None:
        content = node["content"]
        if not isinstance(content, dict) or content.keys() != {"start", "stop", "step"}:
            raise ModelFileError(f"{where} is not a slice")
        if not all(value is None or type(value) in (int, str) for value in content.values()):
            raise ModelFileError(f"{where} is not a slice of numbers or names")

    def _check_ObjectNode(self, node: Node, where: str, depth: int) -> None:
        content = node.get("content")
        if content is None:
            return
        self._check(content, where, depth)
        empty = content["__loader__"] == "JsonNode" and json.loads(content["content"]) is None
        if not empty:
            self._strings(content, where)

    def _check_NdArrayNode(self, node: Node, where: str, depth: int) -> None:
        if node["type"] == "numpy":
            layout = self._array(node, where)
            if node["__class__"] != "ndarray" and layout.shape != ():
                raise ModelFileError(f"{where} is not a single {node['__class__']}")
        elif node["type"] == "json" and node["__class__"] == "ndarray":
            self._check_content(node, where, depth)
            self._check(node["shape"], f"shape of {where}", depth)
            sizes = node["shape"].get("content")
            if node["shape"]["__loader__"] != "TupleNode" or not all(
                item["__loader__"] == "JsonNode" and _is_count(json.loads(item["content"]))
                for item in sizes
            ):
                raise ModelFileError(f"{where}: the shape of an array is malformed")
            shape = [json.loads(item["content"]) for item in sizes]
            if len(shape) < 1 or len(node["content"]) != shape[0]:
                raise ModelFileError(f"{where} has other items than its shape says")
        else:
            raise ModelFileError(f"{where} is not an array")

    def _check_DTypeNode(self, node: Node, where: str, depth: int) -> None:
        self._check(node["content"], where, depth)
        inner = node["content"]
        empty = inner["__loader__"] == "NdArrayNode" and (
            inner["content"] == [] if inner["type"] == "json" else 0 in self.shapes[inner["file"]]
        )
        if not empty:
            raise ModelFileError(f"{where} is not a dtype")

    def _check_SparseMatrixNode(self, node: Node, where: str, depth: int) -> None:
        name = node["file"]
        if node["type"] != "scipy" or not isinstance(name, str) or not name.endswith(".npz"):
            raise ModelFileError(f"{where} is not a sparse matrix")
        data = self._member(name, where)
        if name not in self.shapes:
            self.shapes[name], size = check_sparse(name, data, self._budget)
            self._budget -= size

    def _check_RandomStateNode(self, node: Node, where: str, depth: int) -> None:
        self._check(node["content"], where, depth)
        state = self._strings(node["content"], where)
        inner = self._strings(state.get("state", {}), where)
        key, pos = inner.get("key"), inner.get("pos")
        if key is None or pos is None or key.get("file") not in self.shapes:
            raise ModelFileError(f"{where} is not the state of a random number generator")
        # Beyond 624 NumPy would read what is not its own.
        position = self.value(pos)
        if self.shapes[key["file"]] != (624,) or not (_is_count(position) and position <= 624):
            raise ModelFileError(f"{where} is not the state of a random number generator")

    def _check_RandomGeneratorNode(self, node: Node, where: str, depth: int) -> None:
        content = node["content"]
        if not isinstance(content, dict) or content.keys() != {"bit_generator", "seed_seq"}:
            raise ModelFileError(f"{where} is not a random number generator")
        for part in content.values():
            self._check(part, where, depth)
        bits, seed = (self._strings(content[k], where) for k in ("bit_generator", "seed_seq"))
        # skops calls what this names, and the time of the call grows with the square of that.
        name, size = bits.get("bit_generator"), seed.get("pool_size")
        if name is None or size is None or (self.value(name), self.value(size)) != ("PCG64", 4):
            raise ModelFileError(f"{where} is not a random number generator of the usual kind")

    def _check_PartialNode(self, node: Node, where: str, depth: int) -> None:
        """A trusted function with options, as HistGradientBoosting keeps for its input."""
        content = node["content"]
        names = ("func", "args", "kwds", "namespace")
        if not isinstance(content, dict) or content.keys() != set(names):
            raise ModelFileError(f"{where} is not a function with options")
        for name in names:
            self._check(content[name], f"{where}.{name}", depth)
        options = self._strings(content["kwds"], where).values()
        if (
            content["func"]["__loader__"] != "FunctionNode"
            or content["args"].get("content") != []
            or content["namespace"].get("content") not in ({}, "null")
            or any(option["__loader__"] not in OPTIONS for option in options)
        ):
            raise ModelFileError(f"{where} is not a function with options")

    def _check_LossNode(self, node: Node, where: str, depth: int) -> None:
        args = self._arguments(node, where, depth)
        self._check(node["content"], where, depth)
        if node["content"].get("content") or len(args) > 2:
            raise ModelFileError(f"{where} is not a loss")

    def _check_TreeNode(self, node: Node, where: str, depth: int) -> None:
        """Check what scikit-learn copies as it is; ``_sklearn_checks`` checks the rest."""
        args = self._arguments(node, where, depth)
        self._check(node["content"], where, depth)
        state = self._strings(node["content"], where)
        if len(args) != 3 or state.keys() != {"max_depth", "node_count", "nodes", "values"}:
            raise ModelFileError(f"{where} is not a decision tree")
        n_features, n_classes, n_outputs = (self.value(arg) for arg in args)
        count, depth_ = self.value(state["node_count"]), self.value(state["max_depth"])
        shapes = [self.shapes.get(state[k].get("file", "")) for k in ("nodes", "values")]
        agree = (
            _is_count(n_features)
            and n_outputs == 1
            and isinstance(n_classes, list)
            and len(n_classes) == 1
            and _is_count(n_classes[0])
            and _is_count(count)
            and _is_count(depth_)
            and count > 0
            and shapes == [(count,), (count, 1, n_classes[0])]
        )
        if not agree:
            raise ModelFileError(f"{where}: the parts of a decision tree do not agree")

    def _arguments(self, node: Node, where: str, depth: int) -> list[Node]:
        reduce = node["__reduce__"]
        if not isinstance(reduce, dict) or reduce.keys() != {"args"}:
            raise ModelFileError(f"{where}: the node of a {type_name(node)} is malformed")
        self._check(reduce["args"], where, depth)
        args = reduce["args"]
        if args["__loader__"] != "TupleNode" or not all(
            arg["__loader__"] in ("JsonNode", "NdArrayNode") for arg in args["content"]
        ):
            raise ModelFileError(f"{where}: the node of a {type_name(node)} is malformed")
        return list(args["content"])

    def _strings(self, node: Node, where: str) -> Mapping[str, Node]:
        """Content of a checked dict whose keys are strings."""
        if node.get("__loader__") != "DictNode" or any(
            type_name(item) != "builtins.str" for item in node["key_types"]["content"]
        ):
            raise ModelFileError(f"{where} is not a dict of names")
        content: Mapping[str, Node] = node["content"]
        return content

    def _array(self, node: Node, where: str) -> Layout:
        name = node["file"]
        if not isinstance(name, str) or not name.endswith(".npy"):
            raise ModelFileError(f"{where} is not an array")
        layout = check_array(name, self._member(name, where))
        self.shapes[name] = layout.shape
        return layout

    def _member(self, name: str, where: str) -> bytes:
        if name not in self.members:
            raise ModelFileError(f"{where}: the file has no member {name[:40]}")
        return self.members[name]


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48


def renumber(root: Any) -> tuple[Any, dict[str, str]]:
    """Number nodes and arrays in the order of the tree, not by their addresses in memory.

    The same model then gives the same file, and a node that is repeated is repeated exactly.

    Returns
    -------
    root : object
        The renumbered tree.
    names : dict of str to str
        New names of the arrays.
    """
    nodes: dict[int, dict[str, Any]] = {}
    names: dict[str, str] = {}

    def visit(value: Any) -> Any:
        if isinstance(value, list):
            return [visit(item) for item in value]
        if not isinstance(value, dict):
            return value
        # In a dict of the user, these keys lead to nodes, not to numbers and names.
        number, name = value.get("__id__"), value.get("file")
        if isinstance(number, int) and number in nodes:
            return nodes[number]
        copy = {key: visit(item) for key, item in value.items()}
        if isinstance(number, int):
            nodes[number] = copy
            copy["__id__"] = len(nodes)
        if isinstance(name, str):
            copy["file"] = names.setdefault(name, f"{len(names) + 1}.{name.rpartition('.')[2]}")
        return copy

    return visit(root), names
