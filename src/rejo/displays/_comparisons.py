"""Curves from rows of results: means over the runs, and bands around them."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from rejo._errors import choice
from rejo._typing import Floats
from rejo.displays._curves import Curve

BANDS = ("deviation", "quantiles", None)
QUANTILES = (0.05, 0.95)

Table = tuple[Floats, Floats]  # x and y of a method, (n_runs, n_costs); nan where there is none


def curves_from_rows(rows: Any, x: str, y: str, band: str | None) -> tuple[list[Curve], str]:
    """Mean over the runs at each reject cost, a curve for each method, and what the band means.

    Where ``y`` is ``nan``, such as the accuracy on accepted points if nothing is accepted, the run
    has no point.
    """
    choice("band", band, BANDS)
    tables = _tables(rows, x, y)
    curves = [_curve(method, *table, band) for method, table in tables.items()]
    sizes = {len(table[0]) for table in tables.values()}
    return curves, _band_label(band, sizes)


def _curve(method: str, x: Floats, y: Floats, band: str | None) -> Curve:
    """Mean of the runs, cost by cost, and their spread at the same ``x``.

    At one reject cost, runs have different rejection rates, and their accuracies differ for that
    reason alone. So the band is made of the curves of the runs, read at the ``x`` of the mean.
    """
    defined = ~np.isnan(y)
    kept = np.flatnonzero(defined.any(axis=0))
    means = [(_mean(x[defined[:, j], j]), _mean(y[defined[:, j], j])) for j in kept]
    mean_x, mean_y = np.array(sorted(means)).reshape(-1, 2).T  # (n_points,)
    if band is None or len(y) < 2:
        return Curve(method, mean_x, mean_y)
    values = np.array([_read(mean_x, *run) for run in zip(x, y, strict=True)])
    limits = [_limits(at, v[~np.isnan(v)], band) for at, v in zip(mean_y, values.T, strict=True)]
    low, high = np.array(limits).reshape(-1, 2).T
    if np.isnan(low).all():
        return Curve(method, mean_x, mean_y)
    return Curve(method, mean_x, mean_y, low, high)


def _mean(values: Floats) -> float:
    """Mean that is exact if all values are equal, so that a reject cost stays as it is."""
    return float(values[0] + (values - values[0]).mean())


def _read(at: Floats, x: Floats, y: Floats) -> Floats:
    """Interpolate the curve of a run; ``nan`` beyond its ends."""
    x, y = x[~np.isnan(y)], y[~np.isnan(y)]
    if not len(x):
        return np.full(len(at), np.nan)
    order = np.argsort(x, kind="stable")
    return np.interp(at, x[order], y[order], left=np.nan, right=np.nan)


def _limits(mean: float, values: Floats, band: str) -> tuple[float, float]:
    """Lower and upper limit of the band; ``nan`` where fewer than two runs have a value."""
    if len(values) < 2:
        return np.nan, np.nan
    if band == "quantiles":
        low, high = np.quantile(values, QUANTILES)
        return float(low), float(high)
    deviation = values.std(ddof=1)
    return max(mean - deviation, 0.0), min(mean + deviation, 1.0)


def _band_label(band: str | None, sizes: set[int]) -> str:
    if band is None or not sizes:
        return ""
    low, high = min(sizes), max(sizes)
    runs = f"{low} runs" if low == high else f"{low} to {high} runs"
    if band == "deviation":
        return f"± 1 standard deviation\nof {runs}"
    return f"{100 * QUANTILES[0]:.0f}% to {100 * QUANTILES[1]:.0f}% of {runs}"


def _tables(rows: Any, x: str, y: str) -> dict[str, Table]:
    found: dict[str, dict[Any, dict[float, tuple[float, float]]]] = {}
    for row in _records(rows, list(dict.fromkeys(["method", "reject_cost", x, y]))):
        method, cost, fold = str(row["method"]), row["reject_cost"], row.get("fold")
        if not isinstance(cost, Real) or not np.isfinite(float(cost)):
            raise ValueError(
                f"reject_cost must be a number in every row, got {cost!r} for method {method!r}; "
                "leave out the rows of classifiers that never reject"
            )
        run = found.setdefault(method, {}).setdefault(fold, {})
        if float(cost) in run:
            raise ValueError(
                f"rows has two rows for method={method!r}, reject_cost={cost!r}, fold={fold!r}; "
                "choose the rows of one experiment, or number its repetitions in a column 'fold'"
            )
        run[float(cost)] = _value(row, x), _value(row, y)
    tables = {}
    for method, runs in found.items():
        costs = sorted({cost for run in runs.values() for cost in run})
        cells = [[run.get(cost, (np.nan, np.nan)) for cost in costs] for run in runs.values()]
        columns = np.array(cells, dtype=np.float64)  # (n_runs, n_costs, 2)
        tables[method] = columns[..., 0], columns[..., 1]
    return tables


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
