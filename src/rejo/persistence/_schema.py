"""The tree of a model as skops writes it, checked node by node before anything is built.

A node names one of skops' loaders and the type that the loader makes.  Both must be on our list,
and the node must have exactly the entries that skops writes.  Anything else is refused.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from rejo.persistence._arrays import Layout, check_array, read_array, read_sparse
from rejo.persistence._container import Bytes
from rejo.persistence._refusals import ModelFileError, ensure, untrusted
from rejo.persistence._trusted import ESTIMATORS, TRUSTED

Node = Mapping[str, Any]

PROTOCOL = 2  # of skops' format
MAX_DEPTH = 100
# Estimators; the models of `rejo train` have 6.  scikit-learn asks the steps of a Pipeline several
# times what they are, at each level again: with 10, to show a model of 500 KB took minutes.
MOST_NESTED = 8
MOST_VALUES = 100_000  # of an array that becomes a list

COMMON = {"__class__", "__module__", "__loader__", "__id__"}
ENTRIES: dict[str, set[str]] = {
    "JsonNode": {"content", "is_json"},
    "DictNode": {"content", "key_types"},
    "TypeNode": set(),  # nothing but a name
    "FunctionNode": set(),
    "SparseMatrixNode": {"type", "file"},
    "TreeNode": {"content", "__reduce__"},
}
SHAPED = {"type", "content", "shape"}  # an array of objects
ASKABLE = ("ObjectNode", "FunctionNode", "TypeNode")  # what ``trusted`` may add to


def type_name(node: Node) -> str:
    return f"{node['__module__']}.{node['__class__']}"


class Schema:
    """A checked tree, from the parsed ``schema.json``, and the members of the file it belongs to.

    Anything that no model file has is refused with a ModelFileError.  ``trusted`` are the names of
    types that the caller allows besides ours.
    """

    def __init__(
        self, root: Any, members: Mapping[str, Bytes], trusted: Collection[str] = ()
    ) -> None:
        self.members = members
        self.trusted = frozenset(trusted)
        self.scalars: dict[int, Any] = {}  # by the number of their node
        self.layouts: dict[str, Layout] = {}  # of arrays
        self.sparse: dict[str, Any] = {}  # sparse matrices
        self.asked: set[str] = set()  # types that only ``trusted`` allows
        self._seen: dict[int, Node] = {}
        self._open: set[int] = set()  # the numbers of a node's ancestors
        self._nested = 0  # estimators around a node
        self._owners: dict[str, int] = {}  # the number of the node of each array
        self._untrusted: dict[str, str] = {}  # the first place of each
        ensure(isinstance(root, dict), "schema.json does not hold an object")
        protocol = root.get("protocol")
        ensure(
            type(protocol) is int and protocol == PROTOCOL,
            f"schema.json has the skops protocol {protocol!r:.20}; this version of rejo reads "
            f"protocol {PROTOCOL}",
            remedy="Upgrade rejo, or save the model with an older skops",
        )
        self.root = {k: v for k, v in root.items() if k not in ("protocol", "_skops_version")}
        try:
            self._check(self.root, "model")
        except ModelFileError:
            if not self._untrusted:
                raise
        if self._untrusted:
            raise untrusted(self._untrusted)
        unused = members.keys() - self._owners.keys() - {"schema.json", "rejo.json"}
        ensure(not unused, f"member {min(unused, default='')} belongs to nothing in the model")

    def nodes(self) -> Iterable[Node]:
        return self._seen.values()

    # ---- values that are read without building anything -------------------------------------

    def attributes(self, node: Node) -> Mapping[str, Node]:
        """Return the attributes of an object; empty for all else."""
        content = node.get("content") if node["__loader__"] == "ObjectNode" else None
        return content["content"] if content and content["__loader__"] == "DictNode" else {}

    def value(self, node: Node) -> Any:
        """Return a scalar, or an array as a list."""
        if node["__loader__"] == "JsonNode":
            return self.scalars[node["__id__"]]
        if node["__loader__"] == "NdArrayNode" and node["type"] == "numpy":
            values = self.array(node["file"])
            ensure(values.size <= MOST_VALUES, f"{node['file']} has more than {MOST_VALUES} values")
            return values.tolist()
        if node["__loader__"] == "NdArrayNode":
            return [self.value(item) for item in node["content"]]
        raise ModelFileError(f"a {type_name(node)} stands where a value is expected")

    def array(self, file: str) -> Any:
        return read_array(file, self.members[file], self.layouts[file])

    def shape(self, node: Node | None) -> tuple[int, ...]:
        """Return the shape of an array or a sparse matrix; empty for all else."""
        file = None if node is None else node.get("file")
        found = self.layouts.get(file) or self.sparse.get(file) if isinstance(file, str) else None
        return () if found is None else tuple(found.shape)

    # ---- checks ---------------------------------------------------------------------------

    def _check(self, node: Any, where: str) -> None:
        ensure(len(self._open) <= MAX_DEPTH, f"{where[:80]}...: the model is nested too deeply")
        ensure(isinstance(node, dict), f"{where}: a node is missing")
        loader, module, name = (node.get(f"__{k}__") for k in ("loader", "module", "class"))
        named = all(isinstance(text, str) for text in (loader, module, name))
        ensure(named, f"{where}: a node does not name its type")
        self._check_type(loader, f"{module}.{name}", where)
        expected = ENTRIES.get(loader, {"content"})
        if loader == "NdArrayNode":
            expected = {"type", "file"} if node.get("type") == "numpy" else SHAPED
        elif loader == "ObjectNode" and "content" not in node:
            expected = set()
        fine = node.keys() == COMMON | expected
        ensure(fine, f"{where}: the node of a {module}.{name} is malformed")
        number = node["__id__"]
        fine = type(number) is int and 0 <= number < 1 << 48
        ensure(fine, f"{where}: a node has no number")
        ensure(number not in self._open, f"{where} contains itself")
        if number in self._seen:  # the first one stands for both
            same = self._seen[number] == node
            ensure(same, f"{where}: two different nodes have the number {number}")
            return
        estimator = f"{module}.{name}" in ESTIMATORS or f"{module}.{name}" in self.asked
        self._nested += estimator
        fine = self._nested <= MOST_NESTED
        ensure(fine, f"{where[:80]}: more than {MOST_NESTED} estimators are nested")
        self._open.add(number)
        for place, child in self._children(node, where):
            self._check(child, place)
        self._open.remove(number)
        self._nested -= estimator
        self._seen[number] = node
        if expected and loader in ("JsonNode", "ObjectNode", "NdArrayNode", "SparseMatrixNode"):
            getattr(self, f"_check_{loader}")(node, where)

    def _check_type(self, loader: str, name: str, where: str) -> None:
        """Note the name and place of a type that is not on the list, but could be trusted."""
        askable = loader in ASKABLE
        if askable and name in self.trusted:
            self.asked.add(name)
        elif name not in TRUSTED.get(loader, ()):
            ensure(askable, f"{where} is a {name[:120]}, as a {loader[:40]}: not a trusted type")
            if len(self._untrusted) < 20:
                self._untrusted.setdefault(name[:120], where)

    def _children(self, node: Node, where: str) -> Iterator[tuple[str, Any]]:
        """Yield the nodes inside a node, each with its place."""
        loader: str = node["__loader__"]
        content: Any = node.get("content")
        if "shape" in node:
            yield f"shape of {where}", node["shape"]
        if "key_types" in node:
            yield f"keys of {where}", node["key_types"]
            ensure(isinstance(content, dict), f"{where} is not a dict")
            for key, value in content.items():
                yield f"{where}.{key[:40]}" if where != "model" else key[:40], value
        elif loader in ("ListNode", "TupleNode") or "shape" in node:
            problem = f"{where}: the items of a {type_name(node)} are missing"
            ensure(isinstance(content, list), problem)
            yield from ((f"{where}[{i}]", item) for i, item in enumerate(content))
        elif loader in ("ObjectNode", "RandomStateNode", "TreeNode") and "content" in node:
            yield where, content
        if "__reduce__" in node:
            reduce = node["__reduce__"]
            fine = isinstance(reduce, dict) and reduce.keys() == {"args"}
            ensure(fine, f"{where}: the node of a {type_name(node)} is malformed")
            yield where, reduce["args"]

    def _check_JsonNode(self, node: Node, where: str) -> None:
        content = node["content"]
        try:
            value = json.loads(content) if isinstance(content, str) else [content]
        except (ValueError, RecursionError):
            raise ModelFileError(f"{where} is not a JSON value") from None
        scalar = not isinstance(value, (dict, list)) and node["is_json"] is True
        ensure(scalar, f"{where} is not a number, a string, true, false or null")
        small = not isinstance(value, int) or -(1 << 63) <= value < 1 << 64
        ensure(small, f"{where} is a whole number of more than 64 bits")
        self.scalars[node["__id__"]] = value

    def _check_ObjectNode(self, node: Node, where: str) -> None:
        """Its state is a dict of names, or nothing."""
        state = node["content"]
        if state["__loader__"] == "JsonNode" and self.value(state) is None:
            return
        fine = state["__loader__"] == "DictNode" and state["key_types"]["__loader__"] == "ListNode"
        types = state["key_types"]["content"] if fine else []
        fine = fine and len(types) == len(state["content"])
        fine = fine and all(type_name(kind) == "builtins.str" for kind in types)
        ensure(fine, f"{where} is not a dict of names")

    def _check_NdArrayNode(self, node: Node, where: str) -> None:
        if node["type"] == "numpy":
            name = self._member(node, ".npy", where)
            self.layouts[name] = check_array(name, self.members[name])
        array = node["__class__"] == "ndarray"
        single = node["type"] == "numpy" and self.layouts[node["file"]].shape == ()
        ensure(array or single, f"{where} is not a single {node['__class__']}")
        ensure(node["type"] in ("numpy", "json"), f"{where} is not an array")

    def _check_SparseMatrixNode(self, node: Node, where: str) -> None:
        ensure(node["type"] == "scipy", f"{where} is not a sparse matrix")
        name = self._member(node, ".npz", where)
        self.sparse[name] = read_sparse(name, self.members[name], node["__class__"])

    def _member(self, node: Node, ending: str, where: str) -> str:
        name = node["file"]
        fine = isinstance(name, str) and name.endswith(ending)
        ensure(fine, f"{where} is not an array, or not a sparse matrix")
        ensure(name in self.members, f"{where}: the file has no member {name[:40]}")
        first = self._owners.setdefault(name, node["__id__"])  # each node gets an array of its own
        ensure(first == node["__id__"], f"{where}: member {name} belongs to two parts")
        return str(name)
