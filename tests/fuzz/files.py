"""Model files taken apart and put together again, always with a correct checksum.

The tree of skops is changed as plain dicts and lists.  A node that comes several times in the tree
is one dict here, so a change is made everywhere; ``__bytes__`` numbers the nodes anew.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

Node = dict[str, Any]


class Place(NamedTuple):
    """Where a node hangs: ``holder[key]``."""

    path: str
    holder: Any  # a dict or a list
    key: Any
    owner: str  # the class of the object it is an attribute of

    @property
    def node(self) -> Node:
        return self.holder[self.key]

    def put(self, node: Node) -> None:
        self.holder[self.key] = node

    @property
    def loader(self) -> str:
        return self.node["__loader__"]


def unzip(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rezip(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file; the same members give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            part = zipfile.ZipInfo(name)
            part.compress_type = compression
            part.external_attr = 0o600 << 16
            archive.writestr(part, data)
    return buffer.getvalue()


def checksum(members: dict[str, bytes]) -> str:
    """SHA-256 of names, lengths and contents of all members but the header."""
    digest = hashlib.sha256()
    for name in sorted(members.keys() - {"rejo.json"}):
        digest.update(f"{name}:{len(members[name])}\n".encode())
        digest.update(members[name])
    return digest.hexdigest()


def signed(header: Node, members: dict[str, bytes]) -> bytes:
    """Return a file with a correct checksum."""
    header = {**header, "payload_hash": checksum(members)}
    return rezip({"rejo.json": json.dumps(header, default=str).encode(), **members})


def npy(values: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(values), version=(1, 0))
    return buffer.getvalue()


def npy_header(descr: str, shape: str, fortran: bool = False, data: bytes = b"") -> bytes:
    """Return an array whose header says anything."""
    text = f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def npz(matrix: Any) -> bytes:
    buffer = io.BytesIO()
    sparse.save_npz(buffer, matrix, compressed=False)
    return buffer.getvalue()


class Edit:
    """A file taken apart: change ``header``, ``root`` and ``members``, then ``bytes()``."""

    def __init__(self, data: bytes) -> None:
        self.members = unzip(data)
        self.header = json.loads(self.members.pop("rejo.json"))
        self.root: Node = _shared(json.loads(self.members.pop("schema.json")), {})
        self._new = 0

    def __bytes__(self) -> bytes:
        root, used = _numbered(self.root)
        members = {"schema.json": json.dumps(root, separators=(",", ":")).encode()}
        members |= {name: data for name, data in self.members.items() if name in used}
        return signed(self.header, members)

    # ---- finding ------------------------------------------------------------------------------

    def places(self) -> list[Place]:
        """Every node but the root, each once, in the order of the tree."""
        return list(_places(self.root, "", _name(self.root), set()))

    def objects(self) -> list[Node]:
        """All objects with attributes, the model first."""
        found = [place.node for place in self.places()]
        return [node for node in (self.root, *found) if attributes(node) is not None]

    def give(self, kind: str, name: str, value: Node) -> None:
        """Give the first object of a class an attribute, whether it has it or not."""
        inner = next(attributes(node) for node in self.objects() if node["__class__"] == kind)
        assert inner is not None
        if name not in inner["content"]:
            inner["key_types"]["content"].append(key_type())
        inner["content"][name] = value

    # ---- values -------------------------------------------------------------------------------

    def array(self, node: Node) -> Any:
        """Values of an array; ``None`` if it is not one of numbers or strings."""
        if node["__loader__"] != "NdArrayNode" or node.get("type") != "numpy":
            return None
        return self._read(node, np.load)

    def matrix(self, node: Node) -> Any:
        """A sparse matrix; ``None`` if it cannot be read any more."""
        return self._read(node, sparse.load_npz)

    def _read(self, node: Node, reader: Any) -> Any:
        try:
            return reader(io.BytesIO(self.members[node["file"]]))
        except Exception:  # it was changed before
            return None

    def add_member(self, data: bytes, ending: str = "npy") -> str:
        self._new += 1
        name = f"{900_000 + self._new}.{ending}"
        self.members[name] = data
        return name

    def set_array(self, node: Node, values: Any) -> None:
        """Give an array other values, or a header of its own (as bytes)."""
        old = self.array(node)
        data = values if isinstance(values, bytes) else npy(values)
        node["file"] = self.add_member(data)
        if old is not None and not isinstance(values, bytes) and old.dtype.kind in "fiu":
            self.in_header(old.tolist(), np.asarray(values).tolist())

    def set_matrix(self, node: Node, matrix: Any) -> None:
        data = matrix if isinstance(matrix, bytes) else npz(matrix)
        node["file"] = self.add_member(data, "npz")

    def set_scalar(self, place: Place, text: str) -> None:
        """Put a scalar, given as JSON, in the place of a node."""
        old = place.node
        place.put(scalar(text))
        try:
            self.in_header(json.loads(old["content"]), json.loads(text))
        except (KeyError, TypeError, ValueError, RecursionError):
            return  # it was no scalar, or is none now

    def in_header(self, old: Any, new: Any) -> None:
        """Let what the header says of the operating point follow a change, as an attacker would."""
        if old is None or isinstance(old, (bool, str)):
            return
        for part in ("operating_point", "expected"):
            self.header[part] = _replaced(self.header[part], old, new)

    def imported(self, other: Edit, node: Node) -> Node:
        """A copy of a node of another file, with its arrays."""
        copy = json.loads(json.dumps(node))
        for part in _with_files(copy):
            data = other.members[part["file"]]
            part["file"] = self.add_member(data, part["file"].rpartition(".")[2])
        return copy


def scalar(text: str) -> Node:
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": text,
        "is_json": True,
    }


def sequence(kind: str, content: list[Any]) -> Node:
    loader = {"list": "ListNode", "tuple": "TupleNode", "set": "SetNode"}[kind]
    return {"__class__": kind, "__module__": "builtins", "__loader__": loader, "content": content}


def key_type(kind: str = "str") -> Node:
    return {"__class__": kind, "__module__": "builtins", "__loader__": "TypeNode"}


def dictionary(content: dict[str, Any]) -> Node:
    kinds = sequence("list", [key_type() for _ in content])
    return {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": content,
        "key_types": kinds,
    }


def attributes(node: Node) -> Node | None:
    """The dict of the attributes of an object, as a node."""
    inner = node.get("content")
    is_object = node.get("__loader__") in ("ObjectNode", "TreeNode")
    return inner if is_object and is_node(inner) and inner["__loader__"] == "DictNode" else None


def _name(node: Node) -> str:
    return f"{node['__module__']}.{node['__class__']}"


def is_node(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("__loader__"), str)


def _places(node: Any, path: str, owner: str, seen: set[int]) -> Iterator[Place]:
    """The nodes below a node or below a container of nodes."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if is_node(node) and node["__loader__"] in ("ObjectNode", "TreeNode", "LossNode"):
        owner = node["__class__"]
    items: Any = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = enumerate(node)
    for key, value in items:
        silent = key in ("content", "__reduce__", "args") and is_node(node)
        where = path if silent else f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}"
        if is_node(value) and id(value) not in seen:
            yield Place(where, node, key, owner)
        if isinstance(value, (dict, list)):
            yield from _places(value, where, owner, seen)


def _with_files(value: Any) -> Iterator[Node]:
    if isinstance(value, dict):
        if isinstance(value.get("file"), str):
            yield value
        for item in value.values():
            yield from _with_files(item)
    elif isinstance(value, list):
        for item in value:
            yield from _with_files(item)


def _shared(value: Any, seen: dict[int, Node]) -> Any:
    """Let nodes with the same number be the same dict; scalars and types stay apart."""
    if isinstance(value, list):
        return [_shared(item, seen) for item in value]
    if not isinstance(value, dict):
        return value
    number = value.get("__id__")
    lone = value.get("__loader__") in ("JsonNode", "TypeNode", "FunctionNode")
    if isinstance(number, int) and not lone and number in seen:
        return seen[number]
    copy = {key: _shared(item, seen) for key, item in value.items() if key != "__id__"}
    if not isinstance(number, int) and number is not None:
        copy["__id__"] = value["__id__"]  # a key of a user's dict
    if isinstance(number, int) and not lone:
        seen[number] = copy
    return copy


def _numbered(root: Node) -> tuple[Any, set[str]]:
    numbers: dict[int, int] = {}
    used: set[str] = set()

    def visit(value: Any) -> Any:
        if isinstance(value, list):
            return [visit(item) for item in value]
        if not isinstance(value, dict):
            return value
        if isinstance(value.get("file"), str):
            used.add(value["file"])
        copy = {key: visit(item) for key, item in value.items()}
        if is_node(value) and not isinstance(value.get("__id__"), int):
            copy["__id__"] = numbers.setdefault(id(value), len(numbers) + 1)
        return copy

    return visit(root), used


def _replaced(value: Any, old: Any, new: Any) -> Any:
    if type(value) is type(old) and value == old:
        return _plain(new)
    if isinstance(value, dict):
        return {key: _replaced(item, old, new) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, old, new) for item in value]
    return value


def _plain(value: Any) -> Any:
    """What a header holds: no NaN."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
