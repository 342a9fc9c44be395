"""Curves from rows of results: means over the runs."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from rejo._typing import Floats
from rejo.displays._curves import Curve


def curves_from_rows(rows: Any, x: str, y: str) -> list[Curve]:
    """Mean over the runs at each reject cost, a curve for each method.

    Where ``y`` is ``nan``, such as the accuracy on accepted points if nothing is accepted, the run
    has no point.
    """
    found: dict[str, dict[float, dict[Any, tuple[float, float]]]] = {}
    for row in _records(rows, list(dict.fromkeys(["method", "reject_cost", x, y]))):
        method, cost, fold = str(row["method"]), row["reject_cost"], row.get("fold")
        if not isinstance(cost, Real) or not np.isfinite(float(cost)):
            raise ValueError(
                f"reject_cost must be a number in every row, got {cost!r} for method {method!r}; "
                "leave out the rows of classifiers that never reject"
            )
        runs = found.setdefault(method, {}).setdefault(float(cost), {})
        if fold in runs:
            raise ValueError(
                f"rows has two rows for method={method!r}, reject_cost={cost!r}, fold={fold!r}; "
                "choose the rows of one experiment, or number its repetitions in a column 'fold'"
            )
        runs[fold] = _value(row, x), _value(row, y)
    return [Curve(method, *_means(costs)) for method, costs in found.items()]


def _means(costs: Mapping[float, Mapping[Any, tuple[float, float]]]) -> tuple[Floats, Floats]:
    """Means of x and y at each cost at which a run has a point, in the order of x."""
    means = []
    for runs in costs.values():
        points = np.array([point for point in runs.values() if not np.isnan(point[1])])
        if len(points):  # exact if all are equal, so that a reject cost stays as it is
            means.append(tuple(points[0] + (points - points[0]).mean(axis=0)))
    x, y = np.array(sorted(means)).reshape(-1, 2).T
    return x, y


def _records(rows: Any, columns: list[str]) -> list[Mapping[str, Any]]:
    records = rows.to_dict("records") if hasattr(rows, "columns") else list(rows)
    if not records:
        raise ValueError("rows is empty; give one row for each method, reject_cost and fold")
    for record in records:
        if not isinstance(record, Mapping):
            raise TypeError(
                f"rows must be a DataFrame or a list of dicts, got {type(record).__name__} in it"
            )
        missing = [name for name in columns if name not in record]
        if missing:
            raise ValueError(
                f"rows has no column {', '.join(map(repr, missing))}; it has "
                f"{', '.join(map(repr, record))}"
            )
    return records


def _value(row: Mapping[str, Any], name: str) -> float:
    value = row[name]
    value = np.nan if value is None else value
    if not isinstance(value, Real):
        raise TypeError(f"{name} must be a number in every row, got {value!r}")
    if not np.isfinite(float(value)) and name != "accepted_accuracy":
        raise ValueError(f"{name} must be finite in every row, got {value!r}")
    return float(value)
