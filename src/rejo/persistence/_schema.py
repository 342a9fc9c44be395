"""The tree of a model as skops writes it, checked node by node before anything is built.

A node names one of skops' loaders and the type that the loader makes.  Both must be on our list,
and the node must have exactly the entries that skops writes.  Anything else is refused.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from rejo.persistence._arrays import check_array, read_array, read_sparse
from rejo.persistence._container import Bytes
from rejo.persistence._refusals import ModelFileError, ensure, untrusted
from rejo.persistence._trusted import ESTIMATORS, KEYS, TRUSTED

Node = Mapping[str, Any]

PROTOCOL = 2  # of skops' format
MAX_DEPTH = 100
MOST_NESTED = 10  # estimators: scikit-learn asks a Pipeline's steps what they are three times each
MOST_NUMBERED_KEYS = 1000  # of a dict: equal hashes of whole numbers can be made, of words not
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
SEQUENCES = ("ListNode", "TupleNode", "NdArrayNode")
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
        self.shapes: dict[str, tuple[int, ...]] = {}  # of the arrays that are used
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
        unused = members.keys() - self.shapes.keys() - {"schema.json", "rejo.json"}
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
            return json.loads(node["content"])
        if node["__loader__"] == "NdArrayNode" and node["type"] == "numpy":
            values = read_array(node["file"], self.members[node["file"]])
            ensure(values.size <= MOST_VALUES, f"{node['file']} has more than {MOST_VALUES} values")
            return values.tolist()
        if node["__loader__"] == "NdArrayNode":
            return [self.value(item) for item in node["content"]]
        raise ModelFileError(f"a {type_name(node)} stands where a value is expected")

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
        self._open.add(number)
        if expected:
            getattr(self, f"_check_{loader}", self._check_content)(node, where)
        self._open.remove(number)
        self._seen[number] = node

    def _check_type(self, loader: str, name: str, where: str) -> None:
        """Note the name and place of a type that is not on the list, but could be trusted."""
        askable = loader in ASKABLE
        if askable and name in self.trusted:
            self.asked.add(name)
        elif name not in TRUSTED.get(loader, ()):
            ensure(askable, f"{where} is a {name[:120]}, as a {loader[:40]}: not a trusted type")
            if len(self._untrusted) < 20:
                self._untrusted.setdefault(name[:120], where)

    def _check_content(self, node: Node, where: str) -> None:
        """Check a node around one other, or a list of others."""
        content = node["content"]
        if node["__loader__"] not in SEQUENCES:
            self._check(content, where)
            return
        ensure(isinstance(content, list), f"{where}: the items of a {type_name(node)} are missing")
        for i, item in enumerate(content):
            self._check(item, f"{where}[{i}]")

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

    def _check_DictNode(self, node: Node, where: str) -> None:
        content, key_types = node["content"], node["key_types"]
        self._check(key_types, f"keys of {where}")
        fine = isinstance(content, dict) and key_types["__loader__"] == "ListNode"
        ensure(fine, f"{where} is not a dict")
        types = key_types["content"]
        fine = len(types) == len(content) and all(
            item["__loader__"] == "TypeNode" and type_name(item) in KEYS for item in types
        )
        ensure(fine, f"{where}: the keys of a dict are not strings or numbers")
        numbered = sum(type_name(item) != "builtins.str" for item in types)
        ensure(numbered <= MOST_NUMBERED_KEYS, f"{where}: a dict has {numbered} numbers as keys")
        for key, value in content.items():
            self._check(value, f"{where}.{key[:40]}" if where != "model" else key[:40])

    def _check_SliceNode(self, node: Node, where: str) -> None:
        content = node["content"]
        named = isinstance(content, dict) and content.keys() == {"start", "stop", "step"}
        plain = named and all(x is None or type(x) in (int, str) for x in content.values())
        ensure(plain, f"{where} is not a slice of numbers or names")

    def _check_ObjectNode(self, node: Node, where: str) -> None:
        content = node.get("content")
        if content is None:
            return
        estimator = type_name(node) in ESTIMATORS or type_name(node) in self.asked
        self._nested += estimator
        fine = self._nested <= MOST_NESTED
        ensure(fine, f"{where[:80]}: more than {MOST_NESTED} estimators are nested")
        self._check(content, where)
        self._nested -= estimator
        if content["__loader__"] != "JsonNode" or self.value(content) is not None:
            self._strings(content, where)

    def _check_NdArrayNode(self, node: Node, where: str) -> None:
        array = node["__class__"] == "ndarray"
        if node["type"] == "numpy":
            name = self._member(node, ".npy", f"{where} is not an array", where)
            self.shapes[name] = check_array(name, self.members[name]).shape
            single = self.shapes[name] == ()
            ensure(array or single, f"{where} is not a single {node['__class__']}")
            return
        ensure(array and node["type"] == "json", f"{where} is not an array")
        self._check_content(node, where)
        self._check(node["shape"], f"shape of {where}")
        sizes = node["shape"].get("content")
        fine = node["shape"]["__loader__"] == "TupleNode" and all(
            item["__loader__"] == "JsonNode" and _is_count(self.value(item)) for item in sizes
        )
        fine = fine and [self.value(item) for item in sizes] == [len(node["content"])]
        ensure(fine, f"{where} is not an array of one dimension with as many items as it says")

    def _check_SparseMatrixNode(self, node: Node, where: str) -> None:
        problem = f"{where} is not a sparse matrix"
        ensure(node["type"] == "scipy", problem)
        name = self._member(node, ".npz", problem, where)
        if name not in self.shapes:
            self.shapes[name] = read_sparse(name, self.members[name], "csr_matrix").shape

    def _check_RandomStateNode(self, node: Node, where: str) -> None:
        self._check(node["content"], where)
        state = self._strings(node["content"], where)
        inner = self._strings(state.get("state", {}), where)
        problem = f"{where} is not the state of a random number generator"
        named = state.keys() == {"bit_generator", "state", "has_gauss", "gauss"}
        ensure(named and inner.keys() == {"key", "pos"} and "file" in inner["key"], problem)
        name = inner["key"]["file"]
        layout, place = check_array(name, self.members[name]), self.value(inner["pos"])
        fine = (
            (layout.shape, layout.dtype) == ((624,), np.uint32)
            and _is_count(place)
            and place <= 624  # beyond, NumPy would read what is not its own
            and self.value(state["bit_generator"]) == "MT19937"
            and self.value(state["has_gauss"]) in (0, 1)
            and isinstance(self.value(state["gauss"]), float)
        )
        ensure(fine, problem)

    def _check_TreeNode(self, node: Node, where: str) -> None:
        """Check what scikit-learn copies as it is; ``_sklearn_trees`` checks the rest."""
        args = self._arguments(node, where)
        state = self._strings(node["content"], where)
        fine = len(args) == 3 and state.keys() == {"max_depth", "node_count", "nodes", "values"}
        ensure(fine, f"{where} is not a decision tree")
        n_features, n_classes, n_outputs = (self.value(arg) for arg in args)
        count, deepest = self.value(state["node_count"]), self.value(state["max_depth"])
        shapes = [self.shapes.get(state[k].get("file", "")) for k in ("nodes", "values")]
        agree = (
            n_outputs == 1
            and isinstance(n_classes, list)
            and len(n_classes) == 1
            and all(map(_is_count, (n_features, *n_classes, count, deepest)))
            and count > 0
            and shapes == [(count,), (count, 1, *n_classes)]
        )
        ensure(agree, f"{where}: the parts of a decision tree do not agree")

    def _arguments(self, node: Node, where: str) -> list[Node]:
        """Arguments of a constructor; the state that follows them is checked as well."""
        reduce = node["__reduce__"]
        problem = f"{where}: the node of a {type_name(node)} is malformed"
        ensure(isinstance(reduce, dict) and reduce.keys() == {"args"}, problem)
        args = reduce["args"]
        self._check(args, where)
        plain = args["__loader__"] == "TupleNode" and all(
            arg["__loader__"] in ("JsonNode", "NdArrayNode") for arg in args["content"]
        )
        ensure(plain, problem)
        self._check(node["content"], where)
        return list(args["content"])

    def _strings(self, node: Node, where: str) -> Mapping[str, Node]:
        """Content of a checked dict whose keys are strings."""
        fine = node.get("__loader__") == "DictNode" and all(
            type_name(item) == "builtins.str" for item in node["key_types"]["content"]
        )
        ensure(fine, f"{where} is not a dict of names")
        content: Mapping[str, Node] = node["content"]
        return content

    def _member(self, node: Node, ending: str, problem: str, where: str) -> str:
        name = node["file"]
        ensure(isinstance(name, str) and name.endswith(ending), problem)
        ensure(name in self.members, f"{where}: the file has no member {name[:40]}")
        first = self._owners.setdefault(name, node["__id__"])  # each node gets an array of its own
        ensure(first == node["__id__"], f"{where}: member {name} belongs to two parts")
        return str(name)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 48
