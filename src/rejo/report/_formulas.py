"""Prices of each case: formulas whose numbers the reader may change, and the columns they name."""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from rejo._typing import Floats, Indices, Mask
from rejo.prices import price_columns, price_matrix, read_formula, read_prices
from rejo.report._counts import Counts, OutcomeLayout, shared
from rejo.report._labels import clean
from rejo.selection import OutOfFold

DIGITS = 3  # of the columns that the page contains: nobody is told by the last cent
# A quoted column, another word, or a number.
_PARTS = re.compile(r'"(?:[^"]|"")*"|[^\W\d]\w*|((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)')


def prices_by_case(
    prices: Any, classes: Sequence[Any], ordered: bool, amounts: Any
) -> tuple[Floats, Mask]:
    """Return prices (n, K, K + 1), 0 where a case has none, and which cases (n,) have them."""
    found = price_matrix(prices, classes, ordered=ordered, columns=amounts)
    priced: Mask = np.asarray(~np.isnan(found).any(axis=(1, 2)))
    return np.where(priced[:, None, None], found, 0.0), priced


def mean_prices(by_case: Floats, priced: Mask, y: Indices) -> Floats:
    """Return mean prices (K, K + 1) of the cases of each class."""
    own = [priced & (y == k) for k in range(by_case.shape[1])]
    sums = [by_case[some, k].sum(axis=0) / max(some.sum(), 1) for k, some in enumerate(own)]
    return np.stack(sums)


def price_fields(
    prices: Any, classes: Sequence[Any], ordered: bool, layout: OutcomeLayout
) -> Counts:
    """Return formulas cut at their numbers, with their steps, and what each counts for.

    The prices of a case are a sum over the formulas: of the value times the weight, by true class
    and column of the prices.
    """
    flat = read_prices(prices)
    right = [f"{half}>{half}" for half in (name[: len(name) // 2] for name in flat)]
    fixed = [name for name in flat if name.startswith("accuracy")]
    names = [name for name in flat if name not in {*right, *fixed}]
    ones = flat | dict.fromkeys(names, 1.0)
    usual = price_matrix(ones, classes, ordered=ordered)
    columns, entries, weights = price_columns(prices), [], []
    numbers: list[float] = []
    for name in names:
        text, first = str(flat[name]), len(numbers)
        found = [part for part in _PARTS.finditer(text) if part[1]]
        numbers += [float(part[1]) for part in found]
        ends = [0, *(end for part in found for end in part.span()), len(text)]
        # Each number becomes its place, from 1: a sign before a column adds a 0 of its own.
        parts = [text[a:b] for a, b in zip(ends[::2], ends[1::2], strict=True)]
        places = map(str, range(first + 1, len(numbers) + 1))
        numbered = "".join(chain(*zip(parts, [*places, ""], strict=True)))
        steps = [
            step if isinstance(step, str)
            else int(step) if isinstance(step, float) else -1 - columns.index(step.name)
            for step in read_formula(numbered).steps
        ]  # fmt: skip
        entries.append({"name": clean(name), "parts": parts, "first": first, "steps": steps})
        weight = price_matrix({**ones, name: 2.0}, classes, ordered=ordered) - usual
        weights.append(_of_layout(weight, layout).tolist())
    kept = [f"{name}={flat[name]}" for name in fixed]
    return {"entries": entries, "numbers": numbers, "weights": weights, "fixed": kept}


def _of_layout(weight: Floats, layout: OutcomeLayout) -> Floats:
    if layout.wide:
        return weight
    error = weight[:, :-1].sum(axis=1) / (len(weight) - 1)
    return np.stack([np.zeros(len(weight)), error, weight[:, -1]], axis=1)


def priced_cases(
    outcomes: Sequence[OutOfFold], y: Indices, priced: Mask, columns: Mapping[str, Any],
    names: Sequence[str], layout: OutcomeLayout,
) -> Counts:  # fmt: skip
    """Return true classes, the columns that prices need, and rankings of the cases."""
    keys = []
    for point in outcomes:
        order = np.argsort(-point.doubt, kind="stable")
        order = order[np.argsort(point.decision[order] >= 0, kind="stable")]  # the reviewed first
        forced = layout.price_column(point.forced, y)
        keys.append((order.astype(np.int32).tobytes(), forced.astype(np.int32).tobytes()))
    rankings = shared(keys)
    rankings["kept"] = [
        [np.frombuffer(part, np.int32).tolist() for part in key] for key in rankings["kept"]
    ]
    values = {name: np.asarray(columns[name], dtype=np.float64) for name in names}
    return {
        "names": [clean(name) for name in names],
        "digits": DIGITS,
        "y": y.tolist(),
        "values": [
            [float(f"{v:.{DIGITS}g}") if fine else None
             for v, fine in zip(values[name].tolist(), priced.tolist(), strict=True)]
            for name in names
        ],
        "rankings": rankings,
    }  # fmt: skip
