"""Hostile containers: zip files, arrays and JSON that cost more than they weigh, or lie.

Each function takes a good file and a ``random.Random``, and returns a hostile one.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.files import (
    Edit,
    attributes,
    checksum,
    dictionary,
    key_type,
    npy,
    npy_header,
    rezip,
    scalar,
    sequence,
    signed,
    unzip,
)

BOMBS: dict[str, Callable[[bytes, Random], bytes]] = {}


def bomb(make: Any) -> Any:
    BOMBS[make.__name__] = make
    return make


def _add(edit: Edit, node: Any, name: str = "more_") -> bytes:
    """One more attribute of the model."""
    inner = attributes(edit.root)
    assert inner is not None
    inner["content"][name] = node
    inner["key_types"]["content"].append(key_type())
    return bytes(edit)


def _instead(edit: Edit, node: Any, draw: Random) -> bytes:
    """A node in the place of another one."""
    place = draw.choice([p for p in edit.places() if ".key_types" not in p.path])
    place.put(node)
    return bytes(edit)


def _array(edit: Edit, data: bytes, ending: str = "npy") -> Any:
    return {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": edit.add_member(data, ending),
    }


def _matrix(edit: Edit, data: bytes) -> Any:
    return {
        "__class__": "csr_matrix",
        "__module__": "scipy.sparse._csr",
        "__loader__": "SparseMatrixNode",
        "type": "scipy",
        "file": edit.add_member(data, "npz"),
    }


def _first_array(edit: Edit) -> Any:
    return next(p for p in edit.places() if edit.array(p.node) is not None)


# ---- arrays ----------------------------------------------------------------------------------

HEADERS = {
    "array_of_many_empty_rows": ("'<f8'", "(20000000, 0)"),
    "array_of_empty_strings": ("'|S0'", "(20000000,)"),
    "array_of_empty_words": ("'<U0'", "(20000000,)"),
    "array_of_nothing": ("'|V0'", "(20000000,)"),
    "array_of_empty_fields": ("[('a', '|V0')]", "(20000000,)"),
    "array_of_integers_of_three_bytes": ("'<i3'", "(0,)"),
    "array_of_floats_of_sixteen_bytes": ("'<f16'", "(0,)"),
    "array_of_no_rows_and_many_columns": ("'<f8'", "(0, 999999999999999)"),
    "array_of_an_overflowing_shape": ("'<f8'", "(4294967296, 4294967296, 0)"),
    "array_of_many_axes": ("'<f8'", "(" + "0, " * 40 + ")"),
    "array_of_pickles": ("'|O'", "(1,)"),
}


def _register_headers() -> None:
    def register(name: str, descr: str, shape: str) -> None:
        def make(data: bytes, draw: Random) -> bytes:
            edit = Edit(data)
            edit.set_array(_first_array(edit).node, npy_header(descr, shape))
            return bytes(edit)

        def add(data: bytes, draw: Random) -> bytes:
            edit = Edit(data)
            return _instead(edit, _array(edit, npy_header(descr, shape)), draw)

        BOMBS[name], BOMBS[f"another_{name}"] = make, add

    for name, (descr, shape) in HEADERS.items():
        register(name, descr, shape)


_register_headers()


@bomb
def huge_array_header(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"0, " * 20_000 + b"), }\n"
    member = b"\x93NUMPY\x01\x00" + (len(text) & 0xFFFF).to_bytes(2, "little") + text
    edit.set_array(_first_array(edit).node, member)
    return bytes(edit)


@bomb
def array_header_of_version_two(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }" + b" " * 10**6 + b"\n"
    member = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text
    edit.set_array(_first_array(edit).node, member)
    return bytes(edit)


@bomb
def array_that_says_more_than_it_holds(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    edit.set_array(_first_array(edit).node, npy_header("'<f8'", "(1000000000,)", data=b"\0" * 800))
    return bytes(edit)


@bomb
def one_array_in_many_places(data: bytes, draw: Random) -> bytes:
    """A small member, opened ten thousand times."""
    edit = Edit(data)
    node = _array(edit, npy(np.zeros(50_000)))
    return _instead(edit, sequence("list", [dict(node) for _ in range(5_000)]), draw)


@bomb
def wide_string_array(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    return _instead(edit, _array(edit, npy(np.full(100, "x" * 2000))), draw)


# ---- sparse matrices -------------------------------------------------------------------------


def _parts(**changes: Any) -> dict[str, bytes]:
    parts = {
        "indices.npy": npy(np.zeros(1, np.int32)),
        "indptr.npy": npy(np.array([0, 1], np.int32)),
        "format.npy": npy(np.array(b"csr")),
        "shape.npy": npy(np.array([1, 3])),
        "data.npy": npy(np.zeros(1)),
    }
    return parts | {f"{name}.npy": data for name, data in changes.items()}


@bomb
def deflated_matrix(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    big = npy(np.zeros(4_000_000))
    packed = rezip(
        _parts(data=big, indices=npy(np.zeros(4_000_000, np.int32))), zipfile.ZIP_DEFLATED
    )
    return _instead(edit, _matrix(edit, packed), draw)


@bomb
def matrix_that_lies_about_its_size(data: bytes, draw: Random) -> bytes:
    """A deflated part of 400 MB that the directory calls 128 bytes."""
    edit = Edit(data)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    chunk = b"\0" * (1 << 20)
    head = npy_header("'<f8'", "(52428800,)")
    packed = packer.compress(head) + b"".join(packer.compress(chunk) for _ in range(400))
    packed += packer.flush()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, part in _parts().items():
            archive.writestr(name, part)
        info = archive.getinfo("data.npy")
        place = info.header_offset
    honest = file.getvalue()
    # Put the deflated bytes in the place of the last part, and let the sizes lie.
    start = place + 30 + len(b"data.npy")
    body = honest[:place] + struct.pack(
        "<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 0, 0, len(packed), 128, 8, 0
    )
    body += b"data.npy" + packed
    directory = io.BytesIO(honest)
    with zipfile.ZipFile(directory) as archive:
        entries = archive.infolist()
    assert start > place
    central, at = b"", len(body)
    for entry in entries:
        last = entry.filename == "data.npy"
        sizes = (len(packed), 128) if last else (entry.compress_size, entry.file_size)
        central += struct.pack(
            "<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8 if last else 0, 0, 0,
            0 if last else entry.CRC, *sizes, len(entry.filename), 0, 0, 0, 0, 0,
            entry.header_offset,
        )  # fmt: skip
        central += entry.filename.encode()
    n = len(entries)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(central), at, 0)
    return _instead(edit, _matrix(edit, body + central + end), draw)


@bomb
def broken_deflate_stream(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    packed = bytearray(rezip(_parts(), zipfile.ZIP_DEFLATED))
    at = packed.find(b"PK\3\4") + 30 + len(b"indices.npy")
    packed[at : at + 6] = b"\xff" * 6
    return _instead(edit, _matrix(edit, bytes(packed)), draw)


@bomb
def matrix_of_many_columns(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    packed = rezip(_parts(shape=npy(np.array([1, 2**62]))))
    return _instead(edit, _matrix(edit, packed), draw)


@bomb
def matrix_of_many_empty_rows(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    parts = {"data": npy_header("'|V0'", "(20000000,)"), "indices": npy_header("'<i4'", "(0,)")}
    return _instead(edit, _matrix(edit, rezip(_parts(**parts))), draw)


@bomb
def matrix_with_indices_outside(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    packed = rezip(_parts(indices=npy(np.array([2**30], np.int32))))
    return _instead(edit, _matrix(edit, packed), draw)


# ---- the zip file ----------------------------------------------------------------------------


@bomb
def overlapping_members(data: bytes, draw: Random) -> bytes:
    """Many names for the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, part in unzip(data).items():
            archive.writestr(name, part)
        archive.writestr("777.npy", npy(np.zeros(100_000)))
        first = archive.filelist[-1]
        for i in range(1000, 3000):
            again = zipfile.ZipInfo(f"{i}.npy")
            for name in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(again, name, getattr(first, name))
            archive.filelist.append(again)
    return buffer.getvalue()


@bomb
def false_size_in_the_directory(data: bytes, draw: Random) -> bytes:
    """A size that the directory gives for one member is not that of its header."""
    changed = bytearray(data)
    at = changed.find(b"PK\1\2")
    for _ in range(draw.randrange(3)):
        at = max(changed.find(b"PK\1\2", at + 4), at)
    size = draw.choice([0, 1, 2**31 - 1, 2**32 - 1, len(data)])
    for place in (20, 24) if draw.random() < 0.5 else (24,):
        changed[at + place : at + place + 4] = struct.pack("<L", size)
    return bytes(changed)


@bomb
def false_offset_in_the_directory(data: bytes, draw: Random) -> bytes:
    changed = bytearray(data)
    at = changed.find(b"PK\1\2")
    offset = draw.choice([0, 1, len(data), 2**32 - 1])
    changed[at + 42 : at + 46] = struct.pack("<L", offset)
    return bytes(changed)


@bomb
def false_number_of_members(data: bytes, draw: Random) -> bytes:
    changed = bytearray(data)
    at = changed.rfind(b"PK\5\6")
    changed[at + 8 : at + 12] = struct.pack("<2H", 65535, 65535)
    return bytes(changed)


@bomb
def many_small_members(data: bytes, draw: Random) -> bytes:
    members = unzip(data)
    header = json.loads(members.pop("rejo.json"))
    return signed(header, members | {f"{i}.npy": b"" for i in range(10**6, 10**6 + 5000)})


@bomb
def compressed_members(data: bytes, draw: Random) -> bytes:
    members = unzip(data) | {"777.npy": npy(np.zeros(3_000_000))}
    return rezip(members, zipfile.ZIP_DEFLATED)


@bomb
def compressed_schema(data: bytes, draw: Random) -> bytes:
    members = unzip(data)
    schema = members["schema.json"] + b" " * 20_000_000
    header = json.loads(members.pop("rejo.json"))
    members["schema.json"] = schema
    header["payload_hash"] = checksum(members)
    return rezip({"rejo.json": json.dumps(header).encode(), **members}, zipfile.ZIP_DEFLATED)


@bomb
def truncated(data: bytes, draw: Random) -> bytes:
    return data[: draw.randrange(len(data))]


@bomb
def broken_bytes(data: bytes, draw: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.randint(1, 8)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


@bomb
def long_comment(data: bytes, draw: Random) -> bytes:
    return data[:-2] + struct.pack("<H", 65535) + b"PK\5\6" * 16383 + b"abc"


# ---- JSON ------------------------------------------------------------------------------------


def _schema(data: bytes, text: bytes) -> bytes:
    members = unzip(data)
    header = json.loads(members.pop("rejo.json"))
    return signed(header, members | {"schema.json": text})


def _header(data: bytes, **entries: Any) -> bytes:
    members = unzip(data)
    header = json.loads(members.pop("rejo.json"))
    return signed(header | entries, members)


@bomb
def numbers_for_a_schema(data: bytes, draw: Random) -> bytes:
    return _schema(data, b"[" + b"1," * 500_000 + b"1]")


@bomb
def empty_lists_for_a_schema(data: bytes, draw: Random) -> bytes:
    return _schema(data, b"[" + b"[]," * 400_000 + b"1]")


@bomb
def deep_lists_for_a_schema(data: bytes, draw: Random) -> bytes:
    depth = draw.choice([200, 900, 5_000, 500_000])
    return _schema(data, b"[" * depth + b"]" * depth)


@bomb
def long_number_in_the_schema(data: bytes, draw: Random) -> bytes:
    text = unzip(data)["schema.json"]
    return _schema(
        data, text.replace(b'"protocol":', b'"x":' + b"9" * 200_000 + b',"protocol":', 1)
    )


@bomb
def long_number_for_a_scalar(data: bytes, draw: Random) -> bytes:
    return _instead(Edit(data), scalar("9" * draw.choice([400, 5_000, 500_000])), draw)


@bomb
def long_float_for_a_scalar(data: bytes, draw: Random) -> bytes:
    return _instead(Edit(data), scalar("0." + "3" * 500_000), draw)


@bomb
def key_twice(data: bytes, draw: Random) -> bytes:
    text = unzip(data)["schema.json"]
    return _schema(data, text.replace(b'"content":', b'"content":0,"content":', 1))


@bomb
def same_number_twice(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    places = edit.places()
    for place in draw.sample(places, 2):
        place.node["__id__"] = 77
    return bytes(edit)


@bomb
def node_within_itself(data: bytes, draw: Random) -> bytes:
    edit = Edit(data)
    edit.root["__id__"] = 77
    places = [p for p in edit.places() if p.loader in ("ListNode", "DictNode", "JsonNode")]
    draw.choice(places).node["__id__"] = 77
    return bytes(edit)


@bomb
def reference_to_the_root(data: bytes, draw: Random) -> bytes:
    """skops takes a node with a known number for the object that it has built."""
    edit = Edit(data)
    edit.root["__id__"] = 77
    place = draw.choice([p for p in edit.places() if ".key_types" not in p.path])
    root = {k: v for k, v in edit.root.items() if k in ("__class__", "__module__", "__loader__")}
    place.put({**root, "__id__": 77, "content": scalar("null")})
    return bytes(edit)


def _nested(depth: int, kind: str) -> Any:
    node = scalar("0")
    for _ in range(depth):
        node = dictionary({"a": node}) if kind == "dict" else sequence(kind, [node])
    return node


@bomb
def deep_nesting(data: bytes, draw: Random) -> bytes:
    kind = draw.choice(["list", "tuple", "dict"])
    return _instead(Edit(data), _nested(draw.choice([50, 90, 120, 160]), kind), draw)


@bomb
def doubling(data: bytes, draw: Random) -> bytes:
    """Lists of twice the same list: small in memory, endless for whoever walks through."""
    node: Any = sequence("list", [scalar("0")])
    for number in range(16):
        node = {**sequence("list", [node, node]), "__id__": 10**6 + number}
    return _instead(Edit(data), node, draw)


@bomb
def colliding_integers(data: bytes, draw: Random) -> bytes:
    """A set of integers with the same hash: its time grows with the square of their number."""
    step = 2**61 - 1
    items = [scalar(str(i * step)) for i in range(1, 12_000)]
    return _instead(Edit(data), sequence("set", items), draw)


@bomb
def colliding_keys(data: bytes, draw: Random) -> bytes:
    step = 2**61 - 1
    node = dictionary({str(i * step): scalar("0") for i in range(1, 12_000)})
    node["key_types"] = sequence("list", [key_type("int") for _ in node["content"]])
    return _instead(Edit(data), node, draw)


@bomb
def unhashable_items(data: bytes, draw: Random) -> bytes:
    return _instead(Edit(data), sequence("set", [sequence("list", [])]), draw)


@bomb
def many_scalars(data: bytes, draw: Random) -> bytes:
    return _instead(Edit(data), sequence("list", [scalar("0.5") for _ in range(20_000)]), draw)


@bomb
def huge_expectation(data: bytes, draw: Random) -> bytes:
    rate = {"estimate": 10**400, "low": -(10**400), "high": 1e308}
    names = ("rejection_rate", "error_rate", "accepted_error_rate")
    return _header(data, expected={**dict.fromkeys(names, rate), "n_cases": 10**400})


@bomb
def deep_expectation(data: bytes, draw: Random) -> bytes:
    value: Any = {}
    for _ in range(draw.choice([100, 800])):
        value = {"a": value}
    return _header(data, expected=value)


@bomb
def deep_operating_point(data: bytes, draw: Random) -> bytes:
    value: Any = []
    for _ in range(draw.choice([100, 800])):
        value = [value]
    return _header(data, operating_point={"reject_cost": 0.2, "target": value})


@bomb
def long_expectation(data: bytes, draw: Random) -> bytes:
    return _header(data, expected={str(i): [] for i in range(60_000)})


@bomb
def surrogates_in_the_notes(data: bytes, draw: Random) -> bytes:
    return _header(data, notes="\ud800\x00\x1b[2J\u202e", date="\ud8ff")


@bomb
def versions_that_are_no_versions(data: bytes, draw: Random) -> bytes:
    names = ("rejo", "scikit-learn", "numpy", "skops", "\x1b[31m")
    return _header(data, versions=dict.fromkeys(names, draw.choice(["", ".", "\x1b", "9" * 10**5])))
