"""Files that no one should open, most of them with a correct checksum."""

import contextlib
import io
import itertools
import json
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from rejo.baselines import BlendClassifier, ThresholdRejectClassifier
from rejo.estimators import RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier
from rejo.persistence import ModelFileError, inspect, load, save
from rejo.persistence._container import pack, payload_hash, unpack
from rejo.persistence._header import VERSION
from rejo.selection import RejectClassifierCV
from rejo.tables import TableEncoder

pd = pytest.importorskip("pandas")

# ---- good files, and how to change them ---------------------------------------------------


def blend():
    members = [
        ("logistic", LogisticRegression()),
        ("forest", RandomForestClassifier(2, max_depth=2, random_state=0)),
        ("boosting", HistGradientBoostingClassifier(max_iter=2)),
    ]
    return BlendClassifier(members, weights=[1, 1, 2], temperature=0.8)


@pytest.fixture(scope="module")
def good(data, tmp_path_factory):
    """Bytes of a good file for each model."""
    X, y = data
    models = {
        "linear": RejoLinear().fit(X, y),
        "svc": RejoSVC().fit(X, y),
        "sparse": RejoSVC().fit(sparse.csr_matrix(np.where(X > 0, X, 0.0)), y),
        "mlp": RejoMLP((3,), random_state=0).fit(X, y),
        "chosen": RejectClassifierCV(RejoLinear(), review_budget=0.3, reject_costs=[0.1, 0.3]).fit(
            X, y
        ),
        "pipeline": make_pipeline(StandardScaler(), RejoLinear()).fit(X, y),
        "inner": ReplicationClassifier(SVC()).fit(X, y),
        "tree": ReplicationClassifier(DecisionTreeClassifier(max_depth=3)).fit(X, y),
        "score": ThresholdRejectClassifier(SVC(), rule="score").fit(X, y),
        "priced": ThresholdRejectClassifier(LogisticRegression(), cost_of="error=50,review=5").fit(
            X, y
        ),
        "blend": ThresholdRejectClassifier(blend(), cost_of=[[0, 5, 0.5], [3, 0, 0.5]]).fit(X, y),
        "by posteriors": RejectClassifierCV(
            ThresholdRejectClassifier(LogisticRegression()), reject_cost=0.3, cv=2
        ).fit(X, y),
        "chow": ThresholdRejectClassifier(SVC(), reject_cost=0.3).fit(X, y),
        "boosted": ReplicationClassifier(HistGradientBoostingClassifier(max_iter=3)).fit(X, y),
    }
    dates = pd.Timestamp("2020-01-01") + pd.to_timedelta(100 * (X[:, 0] + 1), unit="D")
    frame = pd.DataFrame(
        {
            "size": np.where(X[:, 0] < -0.9, np.nan, X[:, 0]),
            "colour": np.array(["red", "green", "blue"])[np.digitize(X[:, 1], [-0.3, 0.3])],
            "since": dates,
            "unit": "kg",
        }
    )
    steps = [("prepare", TableEncoder()), ("model", RejoLinear())]
    models["table"] = Pipeline(steps).fit(frame, y)
    path = tmp_path_factory.mktemp("good") / "model.rejo"
    files = {}
    for name, model in models.items():
        save(model, path, overwrite=True)
        load(path)
        files[name] = path.read_bytes()
    return files


class Edit:
    """A file taken apart: change ``schema``, ``header`` and ``members``, then ``bytes()``."""

    def __init__(self, data):
        self.members = {name: bytes(member) for name, member in unpack(data).items()}
        self.header = json.loads(self.members.pop("rejo.json"))
        self.schema = json.loads(self.members.pop("schema.json"))

    def __bytes__(self):
        members = {"schema.json": json.dumps(self.schema).encode(), **self.members}
        header = {**self.header, "payload_hash": payload_hash(members)}
        return pack({"rejo.json": json.dumps(header).encode(), **members})

    def node(self, path):
        """Node of an attribute, such as ``estimator_.tree_``."""
        node = self.schema
        for name in path.split("."):
            inner = node if node["__loader__"] == "DictNode" else node["content"]
            node = inner["content"][name]
        return node

    def replace(self, path, **entries):
        node = self.node(path)
        node.clear()
        node.update({"__id__": 10**6, "__module__": "builtins", **entries})

    def scalar(self, path, value):
        entries = {"__class__": "str", "content": json.dumps(value), "is_json": True}
        self.replace(path, __loader__="JsonNode", **entries)

    def array(self, path, change):
        node = self.node(path)
        values = np.load(io.BytesIO(self.members[node["file"]]))
        self.members[node["file"]] = npy(change(values.copy()))


def npy(values):
    buffer = io.BytesIO()
    np.save(buffer, values, allow_pickle=True)
    return buffer.getvalue()


def changed(values, index, value):
    values[index] = value
    return values


HOSTILE = {}
NUMBERS = itertools.count(10**6)  # of nodes that are new in a file


def hostile(model, message):
    """Register a change; what is returned, if anything, is the file."""

    def register(change):
        HOSTILE[change.__name__] = (model, message, change)
        return change

    return register


def make(good, name):
    model, _, change = HOSTILE[name]
    edit = Edit(good[model])
    result = change(edit)
    return bytes(edit) if result is None else result


# ---- the container ------------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return os.system, ("echo ran",)


def members_of(edit):
    return unpack(bytes(edit))


def zipped(members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return buffer.getvalue()


@hostile("linear", "pickle")
def renamed_pickle(edit):
    return pickle.dumps(Bomb())


@hostile("linear", "pickle")
def old_pickle(edit):
    return b"\x1f\x8b" + pickle.dumps(Bomb(), protocol=0)


@hostile("linear", "it is empty")
def empty_file(edit):
    return b""


@hostile("linear", "directory")
def truncated(edit):
    return bytes(edit)[:-200]


@hostile("linear", "not a zip file")
def pickle_of_protocol_0(edit):
    return pickle.dumps(Bomb(), protocol=0)


@hostile("linear", "member 'data.pkl'")
def pickle_within(edit):
    return zipped([*members_of(edit).items(), ("data.pkl", pickle.dumps(Bomb()))])


@hostile("linear", "no rejo.json")
def no_header(edit):
    return zipped([item for item in members_of(edit).items() if item[0] != "rejo.json"])


@hostile("linear", "no schema.json")
def no_schema(edit):
    return zipped([item for item in members_of(edit).items() if item[0] != "schema.json"])


@hostile("linear", "compressed")
def compressed_bomb(edit):
    edit.members["99.npy"] = npy(np.zeros(10**5))
    return zipped(unpack(bytes(edit)).items(), zipfile.ZIP_DEFLATED)


@hostile("linear", "directory")
def overlapping_members(edit):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in members_of(edit).items():
            archive.writestr(name, data)
        archive.writestr("77.npy", npy(np.zeros(1000)))
        first = archive.filelist[-1]
        for i in range(100, 200):
            copy = zipfile.ZipInfo(f"{i}.npy")
            for name in ("CRC", "compress_size", "file_size", "header_offset"):
                setattr(copy, name, getattr(first, name))
            archive.filelist.append(copy)
    return buffer.getvalue()


@hostile("linear", "directory")
def second_directory_of_a_larger_file(edit):
    """Python would read this one, of a size that nobody has checked, in place of the other."""
    data = bytes(edit)
    size, start = struct.unpack("<2I", data[-10:-2])
    record = struct.pack("<4sQ2H2I4Q", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, size, start)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, len(data) - 22, 1)
    return data[:-22] + record + locator + data[-22:]


@hostile("linear", "directory")
def names_that_make_the_directory_long(edit):
    return zipped([*members_of(edit).items(), ("9" * 60_000 + ".npy", b"")])


@hostile("linear", "directory")
def member_that_says_something_else_than_the_directory(edit):
    return bytes(edit).replace(b"schema.json", b"schemb.json", 1)


@hostile("linear", "directory")
def members_that_other_programs_find_empty(edit):
    data = bytearray(bytes(edit))
    for mark, offset in ((b"PK\1\2", 20), (b"PK\3\4", 18)):
        data[data.find(mark) + offset : data.find(mark) + offset + 4] = bytes(4)
    return bytes(data)


@hostile("linear", "directory")
def bytes_between_members_and_directory(edit):
    data, place = bytes(edit), bytes(edit).index(b"PK\1\2")
    return data[:place] + b"more" + data[place:]


@hostile("linear", "two members schema.json")
@pytest.mark.filterwarnings("ignore:Duplicate name")
def duplicate_names(edit):
    data = zipped([*members_of(edit).items(), ("zchema.json", b"{}")])
    return data.replace(b"zchema.json", b"schema.json")


@hostile("linear", "member")
def path_upward(edit):
    return zipped([*members_of(edit).items(), ("../../1.npy", b"")])


@hostile("linear", "member")
def absolute_path(edit):
    return zipped([*members_of(edit).items(), ("/etc/1.npy", b"")])


@hostile("linear", r"member|broken")
def name_with_a_nul(edit):
    data = zipped([*members_of(edit).items(), ("1.npyX.so", b"")])
    return data.replace(b"1.npyX.so", b"1.npy\0.so")


@hostile("linear", r"encrypted|password")
def encrypted_member(edit):
    data = bytearray(bytes(edit))
    for mark, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        data[data.find(mark) + offset] |= 1
    return bytes(data)


@hostile("linear", "directory")
def lengths_after_the_members(edit):
    data = bytearray(bytes(edit))
    for mark, offset in ((b"PK\1\2", 8), (b"PK\3\4", 6)):
        data[data.find(mark) + offset] |= 8
    return bytes(data)


@hostile("linear", "not a zip file")
def program_before_the_members(edit):
    return b"#!/bin/sh\n" + bytes(edit)


@hostile("linear", "directory")
def bytes_after_the_directory(edit):
    return bytes(edit) + b"\0"


@hostile("linear", "belongs to nothing")
def unused_member(edit):
    edit.members["99.npy"] = npy(np.zeros(3))


@hostile("linear", "checksum")
def wrong_checksum(edit):
    members = members_of(edit)
    members["schema.json"] += b" "
    return pack(members)


@hostile("linear", f"reads format {VERSION}")
def another_format(edit):
    edit.header["format_version"] = VERSION + 1


@hostile("linear", f"reads format {VERSION}")
def a_format_that_is_no_number(edit):
    edit.header["format_version"] = True


@hostile("linear", "entries")
def header_without_date(edit):
    del edit.header["date"]


@hostile("linear", "operating point")
def header_with_another_operating_point(edit):
    edit.header["operating_point"] = {"reject_cost": 0.01}


@hostile("linear", "key comes twice")
def duplicate_keys(edit):
    members = members_of(edit)
    text = members["schema.json"].decode()
    members["schema.json"] = text.replace('"C":', '"h":', 1).encode()
    header = json.loads(members["rejo.json"])
    header["payload_hash"] = payload_hash(members)
    return pack({**members, "rejo.json": json.dumps(header).encode()})


@hostile("linear", "nested too deeply")
def deep_json(edit):
    members = members_of(edit)
    members["schema.json"] = b"[" * 10**5 + b"]" * 10**5
    header = json.loads(members["rejo.json"])
    header["payload_hash"] = payload_hash(members)
    return pack({**members, "rejo.json": json.dumps(header).encode()})


# ---- the tree -----------------------------------------------------------------------------


@hostile("linear", "posix.system: not a trusted type")
def function_of_another_module(edit):
    edit.replace("verbose", __loader__="FunctionNode", __module__="posix", __class__="system")


@hostile("linear", "builtins.eval")
def builtin_as_a_type(edit):
    edit.replace("verbose", __loader__="TypeNode", __class__="eval")


@hostile("linear", r"a\?b.c\?\[31m")
def name_that_steers_the_terminal(edit):
    edit.schema["__module__"], edit.schema["__class__"] = "a\nb", "c\x1b[31m"


@hostile("linear", "subprocess.Popen")
def foreign_object(edit):
    edit.schema["__module__"], edit.schema["__class__"] = "subprocess", "Popen"


@hostile("linear", "antigravity.Surprise")
def module_not_yet_imported(edit):
    edit.replace("verbose", __loader__="ObjectNode", __module__="antigravity", __class__="Surprise")


@hostile("linear", "os.system, as a ConstructorFromReduceNode")
def constructor(edit):
    call = {"__loader__": "ConstructorFromReduceNode", "__module__": "os", "__class__": "system"}
    edit.replace("verbose", **call, content={})


@hostile("linear", "PartialNode")
def partial(edit):
    entries = {"__loader__": "PartialNode", "__module__": "functools", "__class__": "partial"}
    edit.replace("verbose", **entries, content={})


@hostile("linear", "MethodNode")
def method(edit):
    entries = {"__module__": "rejo.estimators.linear", "__class__": "RejoLinear"}
    edit.replace("verbose", __loader__="MethodNode", **entries, content={})


@hostile("linear", "OperatorFuncNode")
def method_caller(edit):
    entries = {"__module__": "operator", "__class__": "methodcaller"}
    edit.replace("verbose", __loader__="OperatorFuncNode", **entries, attrs={})


@hostile("linear", "CachedNode")
def cached(edit):
    edit.replace("verbose", __loader__="CachedNode", __class__="str")


@hostile("linear", "protocol 0")
def old_protocol(edit):
    edit.schema["protocol"] = 0


@hostile("linear", "malformed")
def more_entries(edit):
    edit.node("verbose")["__reduce__"] = {}


@hostile("linear", "a node is missing")
def no_node(edit):
    edit.schema["content"]["content"]["verbose"] = 3


@hostile("linear", "not a number, a string")
def list_for_a_scalar(edit):
    edit.scalar("verbose", [1, 2])


@hostile("linear", "contains itself")
def loop(edit):
    edit.node("verbose")["__id__"] = edit.schema["__id__"]


@hostile("linear", "two different nodes")
def two_nodes_with_one_number(edit):
    edit.node("coef_")["__id__"] = edit.node("thresholds_")["__id__"]


@hostile("linear", "nested too deeply")
def deep_tree(edit):
    node = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": []}
    for i in range(150):
        node = {**node, "content": [{**node, "__id__": 10**6 + i}]}
    edit.replace("verbose", **node)


@hostile("linear", "dict of names")
def keys_that_are_called(edit):
    keys = edit.schema["content"]["key_types"]["content"]
    keys[0] = {**keys[0], "__class__": "bool", "__id__": 10**6}


@hostile("linear", "not a dict of names")
def attributes_without_names(edit):
    keys = edit.schema["content"]["key_types"]["content"]
    keys[0] = {**keys[0], "__class__": "float", "__id__": 10**6}


@hostile("mlp", "random number generator")
def position_beyond_the_state(edit):
    edit.scalar("_rng.state.pos", 10**6)


# ---- arrays -------------------------------------------------------------------------------


@hostile("linear", "not an array of numbers")
def pickle_for_an_array(edit):
    edit.array("coef_", lambda w: np.array([[Bomb(), 1]], dtype=object))


@hostile("linear", "not an array of numbers")
def code_for_a_header(edit):
    node, code = edit.node("coef_"), b"__import__('os').system('echo ran')\n"
    header = b"\x93NUMPY\x01\x00" + len(code).to_bytes(2, "little") + code
    edit.members[node["file"]] = header


@hostile("linear", "too few")
def array_larger_than_its_bytes(edit):
    data = edit.members[edit.node("coef_")["file"]]
    large = data.replace(b"(1, 2), }           ", b"(1, 20000000000), } ")
    assert large != data
    edit.members[edit.node("coef_")["file"]] = large


@hostile("linear", "no member")
def array_that_is_not_there(edit):
    edit.node("coef_")["file"] = "88.npy"
    edit.node("coef_")["__id__"] = 10**6


@hostile("linear", "not an array")
def header_for_an_array(edit):
    edit.node("coef_")["file"] = "rejo.json"


@hostile("sparse", "compressed")
def bomb_in_a_sparse_matrix(edit):
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, data=np.zeros(10**5), indices=[0], indptr=[0], shape=[1, 1], format=b"csr"
    )
    edit.members[edit.node("_basis")["file"]] = buffer.getvalue()


@hostile("sparse", "directory")
def pickle_in_a_sparse_matrix(edit):
    buffer = io.BytesIO()
    objects = np.array([Bomb()], dtype=object)
    np.savez(buffer, data=objects, indices=[0], indptr=[0, 1], shape=[1, 1], format=b"csr", x=1)
    edit.members[edit.node("_basis")["file"]] = buffer.getvalue()


@hostile("sparse", "compressed")
def damage_in_a_compressed_part(edit):
    name = edit.node("_basis")["file"]
    with zipfile.ZipFile(io.BytesIO(edit.members[name])) as archive:
        parts = [(part, archive.read(part)) for part in archive.namelist()]
    data = bytearray(zipped(parts, zipfile.ZIP_DEFLATED))
    start = data.find(b"PK\3\4") + 30 + len(parts[0][0])
    data[start : start + 4] = b"\xff\xff\xff\xff"
    edit.members[name] = bytes(data)


@hostile("sparse", "sparse matrix do not agree")
def sparse_indices_out_of_range(edit):
    name = edit.node("_basis")["file"]
    matrix = sparse.load_npz(io.BytesIO(edit.members[name]))
    parts = {"indices": np.full_like(matrix.indices, 10**6), "shape": np.array(matrix.shape)}
    parts |= {"data": matrix.data, "indptr": matrix.indptr, "format": np.array(b"csr")}
    edit.members[name] = pack({f"{part}.npy": npy(values) for part, values in parts.items()})


# ---- parts that do not agree --------------------------------------------------------------


@hostile("linear", "thresholds_ is not")
def nan_thresholds(edit):
    edit.array("thresholds_", lambda b: changed(b, 0, np.nan))


@hostile("svc", "rising order")
def unordered_thresholds(edit):
    edit.array("thresholds_", lambda b: b[::-1])


@hostile("mlp", "thresholds_ is not")
def too_many_thresholds(edit):
    edit.array("thresholds_", lambda b: np.append(b, b[-1]))


@hostile("linear", "coef_ is not")
def infinite_weights(edit):
    edit.array("coef_", lambda w: w + np.inf)


@hostile("linear", "coef_ is not")
def weights_of_another_type(edit):
    edit.array("coef_", lambda w: w.astype(np.float32))


@hostile("svc", "_basis is not")
def fewer_coefficients_than_support_vectors(edit):
    edit.array("_coef", lambda c: c[:3])


@hostile("svc", "_basis is not")
def support_vectors_of_fewer_features(edit):
    edit.array("_basis", lambda Z: np.ascontiguousarray(Z[:, :1]))


@hostile("svc", "dual_coef_ is not")
def fewer_dual_coefficients(edit):
    edit.array("dual_coef_", lambda c: c[:, 1:])


@hostile("svc", "_basis is not")
def integers_for_support_vectors(edit):
    edit.array("_basis", lambda Z: Z.astype(np.int64))


@hostile("svc", "kernel")
def function_for_a_kernel(edit):
    edit.replace("kernel", __loader__="FunctionNode", __module__="numpy", __class__="log")


@hostile("svc", "gamma")
def gamma_that_is_no_number(edit):
    edit.scalar("_gamma", float("nan"))


@hostile("linear", "also a class")
def reject_label_among_the_classes(edit):
    edit.scalar("reject_label_", 1)


@hostile("linear", "classes_ is not")
def the_same_class_twice(edit):
    edit.array("classes_", lambda c: c * 0)


@hostile("linear", "reject cost")
def reject_cost_above_a_half(edit):
    edit.scalar("reject_cost_", 5.0)


@hostile("linear", "n_features_in_")
def negative_number_of_features(edit):
    edit.scalar("n_features_in_", -2)


@hostile("linear", "C' parameter")
def parameter_of_another_type(edit):
    edit.scalar("C", "much")


@hostile("mlp", "its layers and hidden_layer_sizes do not agree")
def layers_that_do_not_fit(edit):
    node = edit.node("coefs_")["content"][1]
    edit.members[node["file"]] = npy(np.zeros((7, 1)))


@hostile("score", "rising order")
def unordered_cutoffs(edit):
    edit.array("cutoffs_", lambda t: np.array([1.0, 0.0]))


@hostile("priced", "rule")
def a_rule_of_its_own(edit):
    edit.scalar("_rule", "mine")


@hostile("pipeline", "memory")
def pipeline_with_a_cache_of_pickles(edit):
    edit.scalar("memory", "cache")


@hostile("pipeline", "no reject option")
def pipeline_without_a_classifier(edit):
    steps = edit.node("steps")["content"]
    steps.pop()
    used = {node["file"] for node in walk(steps)}
    edit.members = {name: data for name, data in edit.members.items() if name in used}


def walk(value):
    if isinstance(value, list):
        for item in value:
            yield from walk(item)
    elif isinstance(value, dict):
        if isinstance(value.get("file"), str):
            yield value
        for item in value.values():
            yield from walk(item)


@hostile("inner", "_dual_coef_ is not")
def inner_machine_with_fewer_coefficients(edit):
    edit.array("estimator_._dual_coef_", lambda c: np.ascontiguousarray(c[:, 1:]))


@hostile("inner", "do not agree in number")
def inner_machine_with_wrong_counts(edit):
    edit.array("estimator_._n_support", lambda n: n + 10**6)


@hostile("tree", "out of the tree")
def child_outside_the_tree(edit):
    def change(nodes):
        nodes["right_child"][0] = 10**9
        return nodes

    edit.array("estimator_.tree_.nodes", change)


@hostile("tree", "out of the tree")
def endless_tree(edit):
    def change(nodes):
        nodes["left_child"][0] = 0
        return nodes

    edit.array("estimator_.tree_.nodes", change)


@hostile("tree", "out of the tree")
def split_on_a_feature_that_is_not_there(edit):
    def change(nodes):
        nodes["feature"][0] = 10**6
        return nodes

    edit.array("estimator_.tree_.nodes", change)


@hostile("tree", "do not agree")
def more_nodes_than_the_tree_has(edit):
    edit.scalar("estimator_.tree_.node_count", 10**6)


@hostile("tree", "do not agree")
def more_outputs_than_classes(edit):
    args = edit.node("estimator_.tree_")["__reduce__"]["args"]["content"]
    args[2] = {**args[2], "content": "1000000", "__id__": 10**6}


def boosted_nodes(edit, field, value):
    trees = edit.node("estimator_._predictors")["content"]
    file = trees[0]["content"][0]["content"]["content"]["nodes"]["file"]
    nodes = np.load(io.BytesIO(edit.members[file]))
    nodes[field][nodes["is_leaf"] == 0] = value(nodes) if callable(value) else value
    edit.members[file] = npy(nodes)


@hostile("tree", "the same node")
def children_that_are_shared(edit):
    """A path for each way to a leaf: 2 ** 30 of them in 60 nodes."""

    def change(nodes):
        first, second = np.flatnonzero(nodes["left_child"] > 0)[:2]
        nodes["right_child"][first] = nodes["right_child"][second]
        return nodes

    edit.array("estimator_.tree_.nodes", change)


@hostile("boosted", "the same node")
def boosted_children_that_are_shared(edit):
    boosted_nodes(edit, "left", lambda nodes: nodes["right"][nodes["is_leaf"] == 0])


@hostile("pipeline", "scale_ is not")
def a_scale_that_makes_every_case_huge(edit):
    step = edit.node("steps")["content"][0]["content"][1]["content"]["content"]["scale_"]
    edit.members[step["file"]] = npy(np.full(2, 1e-300))


@hostile("boosted", "out of its tree")
def boosted_child_outside_the_tree(edit):
    boosted_nodes(edit, "left", 10**6)


@hostile("boosted", "feature that it does not have")
def boosted_split_on_a_feature_that_is_not_there(edit):
    boosted_nodes(edit, "feature_idx", 10**6)


@hostile("boosted", "by category. Encode")
def boosted_split_on_categories_that_are_not_there(edit):
    trees = edit.node("estimator_._predictors")["content"]
    file = trees[0]["content"][0]["content"]["content"]["nodes"]["file"]
    nodes = np.load(io.BytesIO(edit.members[file]))
    nodes["is_categorical"][:], nodes["bitset_idx"][:] = 1, 10**6
    edit.members[file] = npy(nodes)


@hostile("boosted", "feature that it does not have")
def boosted_splits_on_more_features_than_there_are(edit):
    edit.scalar("estimator_.n_features_in_", 1)


@hostile("blend", "'_in_fit' that it must not")
def boosted_member_that_takes_bins(edit):
    add_attribute(edit, "_in_fit", {**SCALAR, "content": "true"}, member(edit, 2))


def add_attribute(edit, name, node, part=None):
    """Give the model, or a part of it, one more attribute."""
    inner = (edit.schema if part is None else part)["content"]
    kind = next(k for k in inner["key_types"]["content"] if k["__class__"] == "str")
    inner["content"][name] = {"__module__": "builtins", "__id__": next(NUMBERS), **node}
    inner["key_types"]["content"].append({**kind, "__id__": next(NUMBERS)})


SCALAR = {"__class__": "str", "__loader__": "JsonNode", "content": "0", "is_json": True}
FUNCTION = {"__loader__": "FunctionNode", "__module__": "numpy", "__class__": "square"}


@hostile("linear", "_check_state is a numpy.square")
def function_for_a_check(edit):
    add_attribute(edit, "_check_state", FUNCTION)


@hostile("svc", "predict is a numpy.square")
def function_for_a_method(edit):
    add_attribute(edit, "predict", FUNCTION)


@hostile("mlp", "'_parameter_constraints' hides one of its class")
def no_constraints_on_parameters(edit):
    add_attribute(edit, "_parameter_constraints", SCALAR)


@hostile("linear", "'__sklearn_tags__' hides one of its class")
def scalar_for_a_special_method(edit):
    add_attribute(edit, "__sklearn_tags__", SCALAR)


@hostile("chosen", "it has an attribute 'outcomes_' that it must not")
def judgements_of_training_cases(edit):
    add_attribute(edit, "outcomes_", SCALAR)


@hostile("svc", "'classes_'")
def support_vectors_without_classes(edit):
    node = edit.node("classes_")
    edit.members.pop(node["file"])
    names = list(edit.schema["content"]["content"])
    edit.schema["content"]["key_types"]["content"].pop(names.index("classes_"))
    del edit.schema["content"]["content"]["classes_"]


# ---- posteriors and prices ----------------------------------------------------------------

PRICES = {
    "a_price_that_is_no_number": (lambda L: changed(L, (0, 1), np.nan), "prices_ is not"),
    "a_price_without_end": (lambda L: changed(L, (1, 2), np.inf), "prices_ is not"),
    "a_negative_price": (lambda L: changed(L, (0, 1), -1.0), "price that cannot be"),
    "a_huge_price": (lambda L: changed(L, (0, 1), 1e200), "price"),
    "a_price_of_a_right_decision": (lambda L: changed(L, (1, 1), 1.0), "price that cannot be"),
    "prices_without_a_review": (lambda L: L[:, :2].copy(), "number for each outcome"),
    "prices_of_another_class": (lambda L: np.ones((3, 4)), "prices_ is not"),
    "prices_that_are_integers": (lambda L: L.astype(int), "prices_ is not"),
}
WEIGHTS = {
    "a_negative_weight": lambda w: np.array([-0.5, 1.0, 0.5]),
    "a_weight_that_is_no_number": lambda w: changed(w, 0, np.nan),
    "weights_above_one_in_all": lambda w: 2 * w,
    "a_weight_too_few": lambda w: np.array([0.5, 0.5]),
    "weights_in_a_table": lambda w: w[None],
}
OFFSETS = {
    "an_offset_too_few": lambda c: c[:1].copy(),
    "an_offset_that_is_no_number": lambda c: np.full_like(c, np.nan),
}
FLOORS = {
    "a_negative_floor": -0.1,
    "a_floor_that_is_no_number": float("nan"),
    "a_floor_that_is_a_word": "low",
    "a_floor_above_one": 1.1,
}
TEMPERATURES = {
    "a_temperature_of_zero": 0.0,
    "a_negative_temperature": -1.0,
    "a_temperature_that_is_no_number": float("nan"),
    "a_temperature_without_end": float("inf"),
    "a_temperature_that_is_a_word": "hot",
}


def member(edit, i):
    """Node of a classifier in the blend."""
    return edit.node("estimator_.estimators_")["content"][i]


def register_blends():
    def array(path, change, message, model="blend"):
        return hostile(model, message), lambda edit: edit.array(path, change)

    def scalar(path, value, message):
        return hostile("blend", message), lambda edit: edit.scalar(path, value)

    found = {name: array("prices_", *entry) for name, entry in PRICES.items()}
    for name, change in WEIGHTS.items():
        found[name] = array("estimator_.weights_", change, "weights_ is not|not shares")
    for name, change in OFFSETS.items():
        found[name] = array("estimator_.offsets_", change, "offsets_ is not|shape")
    for name, value in FLOORS.items():
        found[name] = scalar("estimator_.floor_", value, "floor_ is not")
    for name, value in TEMPERATURES.items():
        found[name] = scalar("estimator_.temperature_", value, "temperature_ is not")
    found["prices_that_are_not_the_reject_cost"] = array(
        "prices_", lambda L: changed(L, (0, 2), 0.1), "the reject cost do not agree", "chow"
    )
    for name, (register, change) in found.items():
        change.__name__ = name
        register(change)


register_blends()


@hostile("by posteriors", "not those it decides by")
def a_cut_that_is_not_in_the_prices(edit):
    edit.scalar("cut_", 0.05)


@hostile("by posteriors", "not those it decides by")
def no_cut(edit):
    edit.scalar("cut_", None)


@hostile("by posteriors", "not those it decides by")
def prices_that_it_does_not_decide_by(edit):
    edit.array("prices_", lambda L: 2 * L)


@hostile("blend", "reject cost do not agree")
def a_reject_cost_that_is_not_in_the_prices(edit):
    edit.scalar("reject_cost_", 0.1)


@hostile("blend", "LogisticRegression has other classes")
def a_member_with_other_classes(edit):
    edit.members[member(edit, 0)["content"]["content"]["classes_"]["file"]] = npy(np.arange(3, 5))


@hostile("blend", "LogisticRegression: coef_ is not")
def a_member_with_other_features(edit):
    member(edit, 0)["content"]["content"]["n_features_in_"] = Column._scalar(5)


@hostile("blend", "a classifier is missing")
def a_member_that_is_missing(edit):
    forget(edit, member(edit, 0))


@hostile("blend", "weights_ is not")
def a_member_without_a_name(edit):
    forget(edit, member(edit, 0))
    edit.node("estimator_.estimators_")["content"].pop(0)


@hostile("blend", "estimators_ is not")
def a_member_that_is_a_number(edit):
    forget(edit, member(edit, 0), 3)


@hostile("blend", "StandardScaler")
def a_member_that_is_no_classifier(edit):
    node = member(edit, 0)
    node["__module__"], node["__class__"] = "sklearn.preprocessing._data", "StandardScaler"


@hostile("blend", "not pairs of a name and a classifier")
def members_without_names(edit):
    edit.node("estimator_.estimators")["content"][0] = Column._scalar("logistic")


@hostile("blend", "classes_ is not")
def a_blend_of_one_class(edit):
    edit.array("estimator_.classes_", np.ones_like)


@hostile("chow", "calibrator_ is not")
def a_calibrator_that_is_a_number(edit):
    forget(edit, edit.node("calibrator_"), 3)


def forget(edit, node, value=None):
    """Replace a node by a plain value, and leave out the arrays that nothing else uses."""
    node.clear()
    node.update(Column._scalar(value))
    used = {found["file"] for found in walk(edit.schema)}
    edit.members = {name: data for name, data in edit.members.items() if name in used}


# ---- tables -------------------------------------------------------------------------------


class Column:
    """What a file says of a column, or of all of them, to be changed."""

    def __init__(self, edit, *path):
        self.edit = edit
        node = edit.schema["content"]["content"]["steps"]["content"][0]["content"][1]
        for name in path[:-1]:
            node = (node if node["__loader__"] == "DictNode" else node["content"])["content"][name]
        self.inner = node if node["__loader__"] == "DictNode" else node["content"]
        self.name = path[-1]

    def set(self, value):
        node = self._scalar(value)
        if isinstance(value, list):
            entries = {"__loader__": "ListNode", "__class__": "list", "__id__": next(NUMBERS)}
            items = [self._scalar(item) for item in value]
            node = {"__module__": "builtins", **entries, "content": items}
        self.inner["content"][self.name] = node

    def remove(self):
        del self.inner["content"][self.name]
        self.inner["key_types"]["content"].pop()

    def rename(self, name):
        content = self.inner["content"]
        self.inner["content"] = {name if k == self.name else k: v for k, v in content.items()}

    @staticmethod
    def _scalar(value):
        entries = {"__module__": "builtins", "__class__": "str", "__loader__": "JsonNode"}
        content = {"content": json.dumps(value), "is_json": True}
        return {**entries, **content, "__id__": next(NUMBERS)}


COLUMN = {
    "a_scale_that_is_no_number": ("size", "scale", float("nan")),
    "a_scale_of_zero": ("size", "scale", 0.0),
    "a_negative_scale": ("size", "scale", -1.0),
    "a_center_without_end": ("size", "center", float("inf")),
    "a_fill_value_that_is_a_word": ("size", "fill", "3"),
    "a_fill_value_that_is_a_whole_number": ("size", "fill", 3),
    "a_scale_that_overflows": ("size", "scale", 1e-101),
    "the_least_scale_there_is": ("size", "scale", 5e-324),
    "a_scale_without_measure": ("size", "scale", 1e101),
    "a_center_without_measure": ("size", "center", -1e101),
    "a_fill_value_without_measure": ("size", "fill", 1e101),
    "a_center_of_dates_without_measure": ("since", "center", 1e200),
    "a_date_beyond_all_calendars": ("since", "fill", 1e300),
    "a_date_beyond_most_calendars": ("since", "fill", -1e9),
    "a_list_for_a_number": ("size", "fill", [1.0]),
    "a_number_for_a_truth_value": ("size", "missing", 1),
    "a_number_for_categories": ("colour", "categories", 3),
    "a_string_for_categories": ("colour", "categories", "abc"),
    "categories_that_are_numbers": ("colour", "categories", [1, 2, 3]),
    "a_category_twice": ("colour", "categories", ["red", "red", "blue"]),
    "more_categories_than_allowed": ("colour", "categories", [str(i) for i in range(1000)]),
    "no_categories": ("colour", "categories", []),
    "a_word_for_other": ("colour", "other", "yes"),
    "rare_words_that_are_a_number": ("colour", "rare", 7),
    "rare_words_that_are_not_hashes": ("colour", "rare", "no hashes"),
    "rare_words_cut_short": ("colour", "rare", "0123456"),
    "rare_words_that_do_not_rise": ("colour", "rare", "0000000200000001"),
    "a_rare_word_twice": ("colour", "rare", "0000000100000001"),
    "rare_words_without_end": ("colour", "rare", "".join(f"{i:08x}" for i in range(4097))),
    "a_lowest_value_that_is_a_word": ("size", "low", "3"),
    "a_lowest_value_that_is_no_number": ("size", "low", float("nan")),
    "a_highest_value_without_measure": ("size", "high", 1e101),
    "a_highest_value_below_the_lowest": ("size", "high", -1e100),
    "a_lowest_date_above_the_highest": ("since", "low", 1e50),
}


def register_columns():
    for name, (column, entry, value) in COLUMN.items():

        def change(edit, column=column, entry=entry, value=value):
            Column(edit, "learnt_", column, entry).set(value)

        change.__name__ = name
        hostile("table", f"column '{column}' is malformed|malformed")(change)


register_columns()


@hostile("table", "column 'colour' is malformed")
def another_number_of_categories(edit):
    Column(edit, "learnt_", "colour", "categories").set(["a", "b", "c", "d"])


@hostile("table", "column 'colour' is malformed")
def many_categories_allowed_by_the_file_itself(edit):
    Column(edit, "max_categories").set(10**9)
    Column(edit, "learnt_", "colour", "categories").set([str(i) for i in range(5000)])


@hostile("table", "kinds_ is not")
def a_column_of_an_unknown_kind(edit):
    Column(edit, "kinds_", "size").set("secret")


@hostile("table", "malformed")
def a_column_of_another_kind(edit):
    Column(edit, "kinds_", "size").set("category")


@hostile("table", "do not agree")
def a_column_under_another_name(edit):
    Column(edit, "kinds_", "size").rename("length")


@hostile("table", "do not agree")
def a_column_of_which_nothing_is_known(edit):
    Column(edit, "learnt_", "size").remove()


@hostile("table", "malformed")
def an_entry_too_few(edit):
    Column(edit, "learnt_", "size", "scale").remove()


@hostile("table", "learnt_ is not")
def a_list_for_all_columns(edit):
    Column(edit, "learnt_").set([1.0])


@hostile("table", "how column 'since' is written is malformed")
def a_date_format_that_is_not_ours(edit):
    Column(edit, "written_", "since", "format").set("%c")


@hostile("table", "left_out_ is not")
def a_reason_that_is_no_text(edit):
    Column(edit, "left_out_", "unit").set(5)


@hostile("table", "feature_names_in_ is not")
def more_columns_than_names(edit):
    Column(edit, "n_features_in_").set(9)


@hostile("table", "feature_names_in_ is not")
def names_that_are_no_array(edit):
    Column(edit, "feature_names_in_").set(["size", "colour", "since", "unit"])


@hostile("table", "it lacks kinds_")
def a_table_that_was_never_learnt(edit):
    Column(edit, "kinds_").remove()


# ---- what to expect -----------------------------------------------------------------------

NAN, INF = float("nan"), float("inf")
EXPECTED = {
    "a_rate_above_one": (("rates_", 0), 1.5, "rates_ is not"),
    "a_negative_rate": (("rates_", 1), -0.1, "rates_ is not"),
    "a_rate_that_is_no_number": (("rates_", 1), NAN, "rates_ is not"),
    "a_rate_that_is_a_word": (("rates_", 0), "0.5", "rates_ is not"),
    "rates_above_one_in_all": (("rates_", 0), 0.9999, "shares of all cases"),
    "a_number_for_two_rates": (("rates_",), 0.5, "rates_ is not"),
    "a_size_of_zero": (("n_effective_",), 0.0, "n_effective_ is not"),
    "a_negative_size": (("n_effective_",), -5.0, "n_effective_ is not"),
    "a_size_without_end": (("n_effective_",), INF, "n_effective_ is not"),
    "a_size_that_is_no_number": (("n_effective_",), NAN, "n_effective_ is not"),
    "a_size_that_is_a_word": (("n_effective_",), "100", "n_effective_ is not"),
    "a_confidence_of_one": (("expected_", 4), 1.0, "confidence is not"),
    "a_confidence_of_zero": (("expected_", 4), 0.0, "confidence is not"),
    "a_confidence_that_is_no_number": (("expected_", 4), NAN, "confidence is not"),
    "a_batch_of_no_cases": (("expected_", 3), 0, "n_cases is not"),
    "an_expected_rate_above_one": (("expected_", 0, 2), 1.01, "expects is malformed"),
    "a_negative_expected_rate": (("expected_", 1, 1), -0.01, "expects is malformed"),
    "an_expected_rate_that_is_a_word": (("expected_", 2, 0), "none", "estimate is not"),
    "a_number_for_an_interval": (("expected_", 2), 0.1, "expects is malformed"),
    "a_number_for_all_that_is_expected": (("expected_",), 0.1, "expected_ is not"),
    "a_chosen_cost_above_a_half": (("reject_cost_",), 0.51, r"not in \(0, 0.5\]"),
    "a_chosen_cost_of_zero": (("reject_cost_",), 0.0, r"not in \(0, 0.5\]"),
    "a_chosen_cost_that_is_no_number": (("reject_cost_",), NAN, "reject_cost_ is not"),
}


def register_expected():
    for name, (path, value, message) in EXPECTED.items():

        def change(edit, path=path, value=value):
            content = edit.schema["content"]["content"]
            for step in path[:-1]:
                content = content[step]["content"]
            content[path[-1]] = Column._scalar(value)

        change.__name__ = name
        hostile("chosen", message)(change)


register_expected()


# ---- the table in the header --------------------------------------------------------------


@hostile("linear", "nested too deeply")
def a_deep_description_of_the_table(edit):
    edit.header["table"] = {"a": {"b": {"c": {"d": {"e": 1}}}}}


@hostile("linear", "more than 10000 values")
def a_long_description_of_the_table(edit):
    edit.header["table"] = {"a": [1] * 20_000}


@hostile("linear", "entries")
def a_description_of_the_table_that_is_a_list(edit):
    edit.header["table"] = ["target"]


@hostile("linear", "NaN is not a number")
def a_description_of_the_table_with_a_number_that_is_none(edit):
    edit.header["table"] = {"a": float("nan")}


# ---- what becomes of them -----------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_line(name, good, tmp_path):
    path = tmp_path / "model.rejo"
    path.write_bytes(make(good, name))
    with pytest.raises(ModelFileError, match=HOSTILE[name][1]) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


AUDIT = """
import sys
from pathlib import Path
from rejo.persistence import ModelFileError, inspect, load
from rejo.persistence._arrays import HEADER

folder = Path(sys.argv[1])
for path in sorted(folder.glob("good-*")):
    load(path)
    inspect(path)

FORBIDDEN = (
    "import", "exec", "compile", "socket.", "os.", "subprocess.", "ctypes.", "pickle.", "marshal.",
    "code.", "function.", "urllib.", "http.", "shutil.", "tempfile.", "webbrowser.", "sqlite3.",
)
seen = []


def hook(event, args):
    if event == "compile" and HEADER.fullmatch(args[0].rstrip() + "\\n"):
        return  # NumPy parses, but does not run, the header of an array that was checked before
    if event == "open" and str(args[0]) == str(path) and args[1] in ("r", "rb"):
        return
    if event == "open" or event.startswith(FORBIDDEN):
        seen.append((path.name, event, repr(args)[:200]))


before = set(sys.modules)
hostile = sorted(folder.glob("hostile-*"))
sys.addaudithook(hook)
for path in hostile:
    for call in (load, inspect):
        try:
            call(path)
        except ModelFileError:
            continue
        if call is load:
            seen.append((path.name, "loaded", ""))
after = set(sys.modules)
for line in [*seen, *(after - before)]:
    print(line)
print(len(hostile), "refused")
"""


def test_an_audit_hook_sees_no_import_exec_or_socket(good, tmp_path):
    for name, data in good.items():
        (tmp_path / f"good-{name}").write_bytes(data)
    for name in HOSTILE:
        (tmp_path / f"hostile-{name}").write_bytes(make(good, name))
    run = subprocess.run(
        [sys.executable, "-c", AUDIT, str(tmp_path)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert run.stdout == f"{len(HOSTILE)} refused\n", run.stdout + run.stderr


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="a file without an end")
def test_a_file_without_an_end_is_refused():
    with pytest.raises(ModelFileError, match="more than 2,097,152 bytes"):
        load("/dev/zero", max_bytes=1 << 22)


def test_links_and_orders_of_arrays_change_nothing(good, data, tmp_path):
    """Nothing is unpacked, so a member that says that it is a link is a member."""
    X, path = data[0], tmp_path / "model.rejo"
    path.write_bytes(good["svc"])
    expected, edit = load(path).predict(X), Edit(good["svc"])
    edit.array("support_vectors_", np.asfortranarray)
    content = bytearray(bytes(edit))
    for entry in re.finditer(b"PK\1\2", bytes(content)):
        content[entry.start() + 38 : entry.start() + 42] = struct.pack("<I", 0o120777 << 16)
    path.write_bytes(content)
    assert b"'fortran_order': True" in content
    assert np.array_equal(load(path).predict(X), expected)


SOME_AND_MANY = pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.check)])


@SOME_AND_MANY
@pytest.mark.parametrize("model", ["linear", "svc"])
def test_random_mutations_are_refused_or_change_nothing(model, times, good, data, tmp_path):
    X, _ = data
    path, draw = tmp_path / "model.rejo", random.Random(times)
    path.write_bytes(good[model])
    expected = load(path).predict(X)
    survivors = 0
    with path.open("r+b", buffering=0) as file:
        for _ in range(500 * times):
            file.seek(0)
            file.write(mutated(good[model], draw))
            file.truncate()
            try:
                found = load(path).predict(X)
            except ModelFileError:
                continue
            survivors += 1
            np.testing.assert_array_equal(found, expected)
    assert 0 < survivors < 250 * times


def mutated(data, draw):
    """One to three random changes: of a bit, a byte or a stretch; now and then of the length."""
    data = bytearray(data)
    for _ in range(draw.randint(1, 3)):
        place, kind = draw.randrange(len(data)), draw.randrange(10)
        if kind <= 2:
            data[place] ^= 1 << draw.randrange(8)
        elif kind <= 5:
            data[place] = draw.randrange(256)
        elif kind <= 7:  # the directory at the end, where the structure is
            data[-draw.randint(1, min(600, len(data)))] = draw.randrange(256)
        elif kind == 8:
            start = draw.randrange(len(data))
            stretch = data[start : start + 16]
            data[place : place + len(stretch)] = stretch
        elif draw.random() < 0.5:
            del data[place : place + draw.randint(1, 20)]
        else:
            data[place:place] = draw.randbytes(draw.randint(1, 20))
    return bytes(data)


@SOME_AND_MANY
def test_mutations_behind_a_correct_checksum(times, good, data, tmp_path):
    """What the checksum would find is found by the other checks, or does not crash."""
    X, _ = data
    path, draw = tmp_path / "model.rejo", random.Random(times)
    refused = 0
    parts = {name: unpack(good[name]) for name in ("linear", "svc", "mlp", "tree")}
    for _ in range(60 * times):
        members = dict(parts[draw.choice(list(parts))])
        header = json.loads(members.pop("rejo.json"))
        name = draw.choice(list(members))
        changed = bytearray(members[name])
        for _ in range(draw.randint(1, 3)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        members[name] = bytes(changed)
        header["payload_hash"] = payload_hash(members)
        path.write_bytes(pack({"rejo.json": json.dumps(header).encode(), **members}))
        try:
            with np.errstate(all="ignore"):
                load(path).predict(X)
        except ModelFileError:
            refused += 1
        with contextlib.suppress(ModelFileError):
            inspect(path)
    assert refused > 10 * times
