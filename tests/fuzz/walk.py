"""Every attribute of every object in the zoo, replaced by hostile values.

Each attribute of a class is changed in the file, and in memory before ``save``, alone and together
with others.  ``python -m tests.fuzz.walk --file 1 --memory 1`` tries all changes and prints, as
JSON, what became of them; ``--values`` says how many hostile values each attribute gets.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from tests.fuzz import mutate
from tests.fuzz.files import Edit, Place, scalar, sequence
from tests.fuzz.limits import Attempt, attempt_all
from tests.fuzz.probe import Verdict, cases_for, probe
from tests.fuzz.recipes import try_in_memory
from tests.fuzz.stock import file_of
from tests.fuzz.zoo import ANIMALS, fitted

TOGETHER = 20


class Step(NamedTuple):
    """One change of one model."""

    animal: str
    said: str
    change: Callable[[Any], Any]  # of an Edit, or of a fitted model
    in_file: bool


# ---- in the file -----------------------------------------------------------------------------


def steps_in_files(n_values: int) -> Iterator[Step]:
    """Each attribute of each class, by its first model; and all changes that go together."""
    seen: set[tuple[str, str]] = set()
    for name in ANIMALS:
        edit = Edit(file_of(name))
        for place in edit.places():
            key = (place.owner, f"{_attribute(place)} {place.loader}")
            if key in seen or ".key_types" in place.path:
                continue
            seen.add(key)
            for i in range(n_values):
                seed = f"{key} {i}"
                said = f"{place.owner}.{_attribute(place)} in the file, value {i}"
                yield Step(name, said, partial(_change_place, place.path, place.loader, seed), True)
        for i in range(2 * n_values):
            change = TOGETHER_IN_FILES[i % len(TOGETHER_IN_FILES)]
            said = f"{change.__name__} in the file of {name}, {i}"
            yield Step(name, said, partial(_change_together, change, f"{name} {i}"), True)


TOGETHER_IN_FILES = (
    mutate.same_length,
    mutate.keep_sum,
    mutate.same_number,
    mutate.same_array,
    mutate.other_classes,
    mutate.wider_model,
)


def _attribute(place: Place) -> str:
    """Name of an attribute, whatever its place in a list."""
    return place.path.rpartition(".")[2].partition("[")[0] + "[]" * place.path.endswith("]")


def _change_place(path: str, loader: str, seed: str, edit: Edit) -> None:
    draw = Random(seed)
    place = next(p for p in edit.places() if (p.path, p.loader) == (path, loader))
    node = place.node
    values, matrix = edit.array(node), None
    if loader == "SparseMatrixNode":
        matrix = edit.matrix(node)
    if values is not None and draw.random() < 0.85:
        edit.set_array(node, mutate.alter(values, draw)[1])
    elif matrix is not None and draw.random() < 0.85:
        edit.set_matrix(node, mutate.alter_sparse(matrix, draw)[1])
    elif loader in ("ListNode", "TupleNode") and draw.random() < 0.6:
        items = node["content"]
        kinds = [[], items[:-1], items * 2, items[::-1], [*items, scalar("1e308")]]
        place.put(sequence(draw.choice(["list", "tuple"]), draw.choice(kinds)))
    else:
        old = json.loads(node["content"]) if loader == "JsonNode" else None
        edit.set_scalar(place, mutate.hostile(draw, old))


def _change_together(change: Any, seed: str, edit: Edit) -> None:
    draw = Random(seed)
    for _ in range(10):
        if change(edit, draw, None) is not None:
            return


# ---- in memory -------------------------------------------------------------------------------


def steps_in_memory(n_values: int) -> Iterator[Step]:
    """Each attribute of each class of estimators, and pairs of attributes of one object."""
    seen: set[tuple[str, str]] = set()
    for name in ANIMALS:
        for i, part in enumerate(_parts(fitted(name).model)):
            kind, names = type(part).__name__, sorted(vars(part))
            for attribute in names:
                if (kind, attribute) in seen:
                    continue
                seen.add((kind, attribute))
                for j in range(n_values):
                    said = f"{kind}.{attribute} in memory, value {j}"
                    yield Step(name, said, partial(_set, i, [attribute], f"{said}"), False)
            if (kind, "") in seen:
                continue
            seen.add((kind, ""))
            for pair in _pairs(part, names):
                said = f"{kind}.{' and '.join(pair)} in memory"
                for change in (_set_alike, _swap):
                    yield Step(name, said, partial(change, i, pair), False)


def _parts(model: Any) -> list[Any]:
    """All objects with attributes in a model, each once, in a fixed order."""
    found, seen, stack = [], set(), [model]
    while stack:
        part = stack.pop(0)
        if id(part) in seen:
            continue
        seen.add(id(part))
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, (list, tuple)):
            stack.extend(part)
        elif hasattr(part, "__dict__") and type(part).__module__.startswith(("rejo", "sklearn")):
            found.append(part)
            stack.extend(vars(part).values())
    return found


def _pairs(part: Any, names: list[str]) -> list[list[str]]:
    """Attributes that a check may compare: arrays or lists of one length, and whole numbers."""
    by_length: dict[Any, list[str]] = {}
    for name in names:
        value = vars(part)[name]
        rows = isinstance(value, list) or (isinstance(value, np.ndarray) and value.ndim > 0)
        if rows and len(value):
            by_length.setdefault(("rows", len(value)), []).append(name)
        elif type(value) is int and name.strip("_").startswith("n_"):
            by_length.setdefault(("number", value), []).append(name)
    return [found for found in by_length.values() if len(found) > 1]


def _set(i: int, names: list[str], seed: str, model: Any) -> None:
    part, draw = _parts(model)[i], Random(seed)
    for name in names:
        _assign(part, name, _hostile(vars(part)[name], draw))


def _set_alike(i: int, names: list[str], model: Any) -> None:
    """One row less, or a larger number, in all of them."""
    part = _parts(model)[i]
    for name in names:
        value = vars(part)[name]
        _assign(part, name, value + 1 if isinstance(value, int) else value[:-1])


def _swap(i: int, names: list[str], model: Any) -> None:
    part = _parts(model)[i]
    first, second = names[:2]
    one, two = vars(part)[first], vars(part)[second]
    _assign(part, first, two)
    _assign(part, second, one)


def _assign(part: Any, name: str, value: Any) -> None:
    object.__setattr__(part, name, value)


def _hostile(old: Any, draw: Random) -> Any:
    """A value that might be unexpected where ``old`` stood."""
    if isinstance(old, np.ndarray) and old.dtype != object and draw.random() < 0.8:
        new = mutate.alter(old, draw)[1]
        return old[:0] if isinstance(new, bytes) else new
    if issparse(old):
        kinds = [old.tocsc(), old[:0], old.astype(np.float32), old * 1e300, old.toarray()]
        return draw.choice(kinds)
    if isinstance(old, (list, tuple)) and draw.random() < 0.7:
        kinds = [old[:0], old[:-1], old + old, old[::-1], old[:1] * 100]
        return draw.choice(kinds)
    if isinstance(old, dict) and draw.random() < 0.7:
        return draw.choice([{}, {**old, "more": 1}, dict(list(old.items())[1:])])
    plain = isinstance(old, (int, float, str)) or old is None
    value = json.loads(mutate.hostile(draw, old if plain else None))
    if isinstance(value, int) and draw.random() < 0.3 and abs(value) < 2**62:
        return np.int64(value)
    return value


# ---- running all of them ---------------------------------------------------------------------


def try_steps(steps: list[Step], folder: Path) -> list[tuple[Step, Verdict]]:
    """Those in files together in a process, those in memory each alone."""
    attempts = []
    for k, step in enumerate(steps):
        path = folder / f"{k}.rejo"
        animal, good = fitted(step.animal), file_of(step.animal)
        cases = _cases(step.animal)
        if step.in_file:
            edit = Edit(good)
            step.change(edit)
            path.write_bytes(bytes(edit))
            attempts.append(Attempt(partial(probe, path, cases), path.stat().st_size))
        else:
            task = partial(try_in_memory, animal.model, step.change, path, cases)
            attempts.append(Attempt(task, len(good)))
    alone = not steps[0].in_file
    size = 1 if alone else TOGETHER
    results = [
        result for i in range(0, len(steps), size) for result in attempt_all(attempts[i : i + size])
    ]
    return [(step, result.verdict) for step, result in zip(steps, results, strict=True)]


_known: dict[str, Any] = {}


def _cases(name: str) -> Any:
    if name not in _known:
        _known[name] = cases_for(fitted(name))[:4]
    return _known[name]


def walk(steps: Iterator[Step], share: float) -> dict[str, Any]:
    """Try a share of the changes; how often each verdict was given, and what failed."""
    chosen = list(steps)
    chosen = Random(0).sample(chosen, int(share * len(chosen)))
    with tempfile.TemporaryDirectory() as folder:
        found = try_steps(chosen, Path(folder))
    failures = [
        f"{step.said} ({step.animal}): {verdict.kind}: {verdict.detail}"
        for step, verdict in found
        if verdict.kind not in ("refused", "predicted")
    ]
    return {"counts": Counter(verdict.kind for _, verdict in found), "failures": failures}


def classes() -> list[str]:
    """All classes that the files of the zoo hold."""
    held = set()
    for name in ANIMALS:
        edit = Edit(file_of(name))
        for node in (edit.root, *(place.node for place in edit.places())):
            held.add(f"{node['__module__']}.{node['__class__']}")
    return sorted(held)


def run(argv: list[str] | None = None) -> dict[str, Any]:
    """Walk, and return what to print."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.walk", description=__doc__)
    parser.add_argument("--values", type=int, default=1)
    parser.add_argument("--file", type=float, default=0.0, help="share of the changes in files")
    parser.add_argument("--memory", type=float, default=0.0, help="share of those in memory")
    arguments = parser.parse_args(argv)
    found: dict[str, Any] = {"classes": classes()}
    if arguments.file:
        found["file"] = walk(steps_in_files(arguments.values), arguments.file)
    if arguments.memory:
        found["memory"] = walk(steps_in_memory(arguments.values), arguments.memory)
    return found


if __name__ == "__main__":
    json.dump(run(), sys.stdout)
