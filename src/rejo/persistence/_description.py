"""What a model file holds, read off its header and its tree without building the model."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from rejo._html import text_html
from rejo._io import percent, printable
from rejo._state import STORABLE
from rejo.persistence._refusals import ensure
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import ESTIMATORS, KNOWN

Rows = Mapping[int, int | None]  # training rows, by the number of a node
MOST_CLASSES = 5  # whose prices are shown one by one

RATES = {
    "rejection_rate": "to review",
    "error_rate": "wrong",
    "accepted_error_rate": "wrong of the decided",
}

TARGETS = {
    "review_budget": "to review",
    "max_error": "wrong",
    "max_error_by_class": "wrong of each class",
    "max_error_by_decision": "wrong of the decisions for each class",
    "max_error_by_group": "wrong of each group",
    "review_budget_by_group": "of each group to review",
}

FROZEN = "sklearn.frozen._frozen.FrozenEstimator"
FITTED = re.compile(r"[a-zA-Z]\w*_|steps|transformer_list|_preprocessor")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds, read without building the model.

    Parameters
    ----------
    path : Path
        The file.
    size : int
        Bytes.
    format_version : int
        Version of the format.
    versions : dict of str to str
        Versions of rejo, scikit-learn, NumPy and skops that wrote it.
    date : str
        When the model was saved, UTC, as in ISO 8601.
    data_hash : str or None
        :func:`data_hash` of the training data, if given.
    operating_point : dict
        The reject cost or the loss matrix and, if the model was chosen for one, the target.
    expected, table, notes : dict or None, dict or None, and str
        As they were given to :func:`save`.
    payload_hash : str
        SHA-256 of the model itself, without this header: the same if a fit is repeated.
    estimators : str
        The parts of the model, one per line, inner ones indented.
    n_training_rows : int or None
        Rows of the training table that the file contains, at least: those of the part that holds
        most.  None: not known, as a part has a class that rejo does not know.
    classes, reject_label : list, object
        The classes, in their order, and the label of a rejection.
    n_features : int or None
        Number of features, of a table without the columns that are left out or only for prices;
        None if the model does not say.
    most_columns : int
        The largest number of columns that a part of the model takes or puts out.

    Attributes
    ----------
    privacy : str
        Whether the file contains rows of the training table, in a few words.
    """

    path: Path
    size: int
    format_version: int
    versions: dict[str, str]
    date: str
    data_hash: str | None
    operating_point: dict[str, Any]
    expected: dict[str, Any] | None
    table: dict[str, Any] | None
    notes: str
    payload_hash: str
    estimators: str
    n_training_rows: int | None
    classes: list[Any]
    reject_label: Any
    n_features: int | None
    most_columns: int

    @property
    def privacy(self) -> str:
        """Whether the file contains rows of the training table, in a few words."""
        n = self.n_training_rows
        if n is None:
            return "may contain training rows"
        if n == 0:
            return "contains no training rows"
        return f"CONTAINS AT LEAST {n:,} TRAINING ROW{'S' if n > 1 else ''}"

    def _repr_html_(self) -> str:
        return text_html(str(self))

    def __str__(self) -> str:
        rows = self.privacy
        if self.n_training_rows:
            rows += ": anyone who can read this file can read them"
        facts: dict[str, list[Any]] = {
            "saved": [f"{self.date} by " + ", ".join(map(" ".join, self.versions.items()))],
            "classes": [f"{self.classes}, rejected: {self.reject_label!r}"],
            "features": [self.n_features],
            "operating point": _say_point(self.operating_point, self.classes, self.table or {}),
            "expected": [None if self.expected is None else _say_expected(self.expected)],
            "table": [None] if self.table is None else _say_table(self.table),
            "data hash": [self.data_hash],
            "model hash": [self.payload_hash],
            "notes": [self.notes or None],
        }
        lines = [f"{self.path}: {self.size} bytes, {rows}"]
        lines += ["  " + line for line in self.estimators.splitlines()]
        for name, (first, *more) in facts.items():
            lines += [] if first is None else [f"{name}: {first}", *more]
        return "\n".join(map(printable, lines))


def _say_table(table: dict[str, Any]) -> list[str]:
    lines = table.get("columns_read")
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return [json.dumps(table, ensure_ascii=False)]
    rest = {name: value for name, value in table.items() if name != "columns_read"}
    if isinstance(prices := table.get("prices"), dict):  # that depend on the case
        lines = [*lines, "Prices: " + ", ".join(f"{n}={value}" for n, value in prices.items())]
    return [json.dumps(rest, ensure_ascii=False), *(f"  {line}" for line in lines)]


def _say_point(point: dict[str, Any], classes: list[Any], table: dict[str, Any]) -> list[str]:
    """Return what is paid, asked for and promised, in plain words; if it makes no sense, as it is.

    A file may say anything here.
    """
    try:
        paid, *rows = _say_prices(point, classes)
        if isinstance(table.get("prices"), dict):
            paid += ", on average; those of each case are below"
        for name, what in TARGETS.items():
            if name in point.get("target", {}):
                paid += f"; chosen for at most {percent(point['target'][name])} {what}"
        return [paid, *rows, *_say_promises(point)]
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError):
        return [json.dumps(point)]


def _say_promises(point: dict[str, Any]) -> list[str]:
    said: list[str] = []
    for proof in point.get("guarantees", []):
        if not said:
            said.append(f"promises, with {percent(proof['confidence'], 0)} confidence:")
        rate, bound = proof["rate"], proof["bound"]
        told = f"a case costs {bound:.6g} on average"
        told = told if rate == "mean_cost" else f"{percent(bound)} {RATES[rate]}"
        some = "" if proof["by"] is None else f", {proof['by']} {proof['value']}"
        said.append(f"  at most {told}{some} ({proof['n_cases']:,} cases prove it)")
    if groups := point.get("groups"):
        told = f"groups: {', '.join(groups['names'])}"
        if groups["reviewed"]:
            told += f"; all cases of {', '.join(groups['reviewed'])} go to review"
        said.append(told)
    if "novelty" in point:
        share = percent(point["novelty"])
        unlike = "cases unlike those of training go to review"
        said.append(f"novelty: {unlike}, at most {share} of ordinary ones")
    return said


def _say_prices(point: dict[str, Any], classes: list[Any]) -> list[str]:
    """Return what is paid, and a table of few prices."""
    if "loss_matrix" in point:
        return [f"loss matrix {json.dumps(point['loss_matrix'])}"]
    if "prices" not in point:
        cost = point["reject_cost"]
        return ["decides every case" if cost is None
                else f"a review costs {cost:g}, where an error costs 1"]  # fmt: skip
    prices, K = np.array(point["prices"], dtype=np.float64), len(classes)
    if prices.shape != (K, K + 1):
        raise ValueError("the prices are not those of the classes")
    if K > MOST_CLASSES:
        kinds = prices[:, :-1][~np.eye(K, dtype=bool)], prices[:, -1]
        errors, reviews = (f"{one.min():,.10g} to {one.max():,.10g}" for one in kinds)
        return [f"lowest expected cost: errors cost {errors}, reviews {reviews}"]
    rows = zip(classes, prices, strict=True)
    cells = [[str(c), *(f"{x:,.10g}" for x in row)] for c, row in rows]
    cells = [["", *map(str, classes), "review"], *cells]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    said = "lowest expected cost, by these prices of decisions on each true class"
    return [said, *("  " + "  ".join(map(str.rjust, row, widths)) for row in cells)]


def _say_expected(expected: dict[str, Any]) -> str:
    """Return rates in percent with their ranges, or plain JSON if they are not ``expected_``."""
    parts = []
    try:
        for name, title in RATES.items():
            keys = ("estimate", "low", "high")
            rate, low, high = (percent(expected[name][key]) for key in keys)
            parts.append(f"{title} {rate} ({low} to {high})")
    except (KeyError, TypeError, ValueError, OverflowError):
        return json.dumps(expected)
    n = expected.get("n_cases")
    return ", ".join(parts) + (f", in a batch of {n} cases" if isinstance(n, int) else "")


def describe(path: Path, size: int, header: Mapping[str, Any], schema: Schema) -> ModelFile:
    rows = training_rows(schema)
    n_rows = max((n for n in rows.values() if n is not None), default=0)
    facts = {name: value for name, value in header.items() if name != "format"}
    first, last = _end(schema, 0), _end(schema, -1)
    classes = [_label(value) for value in schema.value(last["classes_"])]
    held = [schema.attributes(node).get("n_features_in_") for node in schema.nodes()]
    widths = [schema.value(node) for node in held if node is not None]
    return ModelFile(
        path=path,
        size=size,
        **facts,
        estimators="\n".join(_tree(schema, schema.root, 0, rows, set())),
        n_training_rows=None if n_rows == 0 and None in rows.values() else n_rows,
        classes=classes,
        reject_label=_label(schema.value(last["reject_label_"])),
        n_features=_n_features(schema, first),
        most_columns=max([len(classes), *(n for n in widths if type(n) is int)]),
    )


def _n_features(schema: Schema, first: Mapping[str, Node]) -> int | None:
    """Number of features; of a table, the columns that are used, and not only for prices."""
    encoder = _end(schema, 0, schema.attributes(schema.root).get("best_estimator_"))
    if {"kinds_", "prices"} <= encoder.keys():
        prices = encoder["prices"]
        roles = prices["content"] if prices["__loader__"] == "DictNode" else {}
        only = [name for name, node in roles.items() if not schema.value(node)]
        return len([name for name in encoder["kinds_"]["content"] if name not in only])
    n_features = first.get("n_features_in_")
    return None if n_features is None else schema.value(n_features)


def _label(value: Any) -> Any:
    ensure(not isinstance(value, (list, dict)), "a class is neither a number nor a string")
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _end(schema: Schema, which: int, node: Node | None = None) -> Mapping[str, Node]:
    """Attributes of the first or the last step of a pipeline, or of the model itself."""
    attributes = schema.attributes(schema.root if node is None else node)
    while steps := attributes.get("steps", attributes.get("transformer_list")):
        attributes = schema.attributes(steps["content"][which]["content"][1])
    return attributes


def _tree(schema: Schema, node: Node, depth: int, rows: Rows, seen: set[int]) -> list[str]:
    """One line for each fitted estimator at or below a node that was not seen before."""
    lines: list[str] = []
    children: list[Node] = []
    if node["__loader__"] == "DictNode":
        children = list(node["content"].values())
    elif node["__loader__"] in ("ListNode", "TupleNode"):
        children = node["content"]
    elif node["__loader__"] == "ObjectNode" and node["__id__"] not in seen:
        seen.add(node["__id__"])
        attributes, name = schema.attributes(node), type_name(node)
        # Parameters hold prototypes that were never fitted, but for the steps of a pipeline.
        whole = name not in ESTIMATORS or name == FROZEN
        children = [v for key, v in attributes.items() if whole or FITTED.fullmatch(key)]
        n_rows = rows[node["__id__"]]
        if name in ESTIMATORS and children:
            count = f", {n_rows:,} training rows" if n_rows else ""
            lines.append("  " * depth + node["__class__"] + count)
            depth += 1
            if KNOWN[name].weighted:
                return lines + _members(schema, node, depth, rows, seen)
    below = [line for child in children for line in _tree(schema, child, depth, rows, seen)]
    for line, same in groupby(below):  # say "x 100" for the hundred equal trees of a forest
        n = len(list(same))
        lines.append(line if n == 1 else f"{line} x {n}")
    return lines


def _members(schema: Schema, node: Node, depth: int, rows: Rows, seen: set[int]) -> list[str]:
    attributes = schema.attributes(node)
    names, members, weights = (attributes[key] for key in KNOWN[type_name(node)].weighted)
    lines = []
    pairs = zip(names["content"], members["content"], schema.value(weights), strict=True)
    for name, member, weight in pairs:
        below = _tree(schema, member, depth, rows, seen)
        label = f"{percent(weight)} {schema.value(name['content'][0])}: "
        lines += ["  " * depth + label + line.lstrip() for line in below[:1]] + below[1:]
    return lines


def training_rows(schema: Schema) -> dict[int, int | None]:
    """Return how many training rows each object holds itself, at least, by the number of its node.

    ``None``: its class says nothing.  A part that is fitted on copies of each row may hold all of
    them, so it holds as many rows as it has, divided by the number of copies.
    """
    held: dict[int, int | None] = {}
    stack: list[tuple[Any, int]] = [(schema.root, 1)]
    while stack:
        node, copies = stack.pop()
        if isinstance(node, list):
            stack += [(item, copies) for item in node]
        # In a dict of the user, this key leads to a node, not to a name.
        elif isinstance(node, dict) and node.get("__loader__") == "ObjectNode":
            if node["__id__"] not in held:
                name, attributes = type_name(node), schema.attributes(node)
                known, times = KNOWN.get(name), getattr(STORABLE.get(name), "_copies", {})
                tables = [attributes.get(key) for key in (known.rows if known else ())]
                most = max((_rows(schema, table) for table in tables), default=0)
                held[node["__id__"]] = -(-most // copies) if known else None
                for key, item in attributes.items():
                    each = _rows(schema, attributes.get(times.get(key, "")))
                    stack.append((item, copies * max(1, each)))
        elif isinstance(node, dict):
            stack += [(item, copies) for item in node.values()]
    return held


def _rows(schema: Schema, node: Node | None) -> int:
    shape = schema.shape(node)
    return shape[0] if len(shape) == 2 else 0
