"""Words for the cells of a row that are unlike those of training."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rejo.tables.errors import shown

LONGEST = 40  # letters of a cell


class Origin(NamedTuple):
    """Where a column of the output of an encoder comes from."""

    name: str  # of the column of the table
    what: str  # "number", "date", "month", "word" or "missing"
    word: str | None  # whose column it is
    center: float = 0.0  # of a number: what 0 stands for
    scale: float = 1.0  # and what a step of 1 is

    def value(self, encoded: float, *, about: bool = False) -> str:
        """Return a number or a date as people write it; ``about``: a number in three digits."""
        number = encoded * self.scale + self.center
        if self.what == "date":
            return str(np.datetime64(round(number), "D"))
        return shown_number(float(f"{number:.3g}") + 0.0 if about else number)


def origins(kinds: Mapping[str, str], learnt: Mapping[str, Any]) -> list[Origin]:
    """Where each column of the output comes from, in their order."""
    found = []
    for name, kind in kinds.items():
        known = learnt[name]
        if kind == "category":
            words = [*known["categories"], *[None] * bool(known["other"])]
            parts = [Origin(name, "word", word) for word in words]
            parts += [Origin(name, "missing", None)] * bool(known["missing"])
            found += parts[1:] if len(parts) == 2 else parts
            continue
        center, scale = known["center"], known["scale"]
        found.append(Origin(name, kind, None, center, scale))
        found += [Origin(name, "month", None)] * (2 if kind == "date" else 0)
        found += [Origin(name, "missing", None)] * bool(known["missing"])
    return found


def describe_strange(
    where: list[Origin], features: Iterable[Any], row: Mapping[str, Any] | None = None
) -> list[str]:
    """Say of each strange feature, once for each column of the table, what is strange about it."""
    said: dict[str, str] = {}
    for strange in features:
        origin = where[strange.feature]
        if origin.name not in said:
            cell = None if row is None else row.get(origin.name)
            said[origin.name] = _describe(origin, strange, cell)
    return list(said.values())


def _describe(origin: Origin, strange: Any, cell: Any) -> str:
    name = origin.name
    if origin.what == "missing":
        there = strange.value < 0.5
        return (
            f"{name}: unusual to have a value here" if there else f"{name}: unusual to be missing"
        )
    if origin.what == "word":
        if strange.value < 0.5 and _is_empty(cell):
            return f"{name}: unusual not to be {_cell(cell, origin)}"
        return f"{name} {_cell(cell, origin)}: unusual with the other values"
    if origin.what == "month":
        return f"{name}: unusual month"
    value = origin.value(strange.value)
    if strange.kind == "outside":
        low, high = origin.value(strange.low), origin.value(strange.high)
        return f"{name} {value}: training had {low} to {high}"
    expected = origin.value(strange.expected, about=True)
    if expected in (value, origin.value(strange.value, about=True)):  # by less than is shown
        return f"{name} {value}: unusual with the other values"
    return f"{name} {value}: the other values suggest about {expected}"


def _cell(cell: Any, origin: Origin) -> str:
    if _is_empty(cell):
        return "another word" if origin.word is None else shown(origin.word)
    return shown(str(cell)[:LONGEST])


def _is_empty(cell: Any) -> bool:
    return cell is None or str(cell) in ("nan", "NaT", "<NA>")


def shown_number(number: float) -> str:
    """Return a number in at most six digits; a whole number in all of them.

    >>> shown_number(97.0000000001), shown_number(1234567.0), shown_number(0.12345678)
    ('97', '1234567', '0.123457')
    """
    whole = round(number) if abs(number) < 1e15 else number
    if abs(number - whole) <= 1e-6 * max(abs(number), 1e-3):
        return f"{whole:.0f}" if abs(number) < 1e15 else f"{number:.6g}"
    return f"{number:.6g}"
