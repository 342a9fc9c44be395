"""Reviews and errors of the values of a column."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rejo._typing import Indices
from rejo.metrics import tally
from rejo.report._counts import Counts, shared
from rejo.report._labels import clean
from rejo.selection import OutOfFold

SMALL = 30  # groups with fewer cases are not judged
MAX_VALUES = 30  # of a column; the rest becomes "all others"
MAX_ROWS = 100  # of all columns; each row has counts for every operating point


def group_columns(
    outcomes: Sequence[OutOfFold], y: Indices, by: Mapping[str, NDArray[Any]]
) -> tuple[list[Counts], list[str]]:
    """Count reviews and errors for each value of each column; name columns with too many values."""
    columns: list[Counts] = []
    left_out: list[str] = []
    for name, values in by.items():
        labels, code = _most_frequent([str(value) for value in values])
        if sum(len(column["groups"]) for column in columns) + len(labels) > MAX_ROWS:
            left_out.append(clean(name))
            continue
        found = [tally(point.decision, y, fold=code) for point in outcomes]
        reviewed, wrong = (
            np.transpose(part).astype(int).tolist()  # by group and point
            for part in ([point.rejected for point in found], [point.wrong for point in found])
        )
        sizes = np.bincount(code).tolist()
        # wrong if every case were decided: the same at all points of one model
        forced = [np.bincount(code[p.forced != y], minlength=len(labels)) for p in outcomes]
        groups = [
            {"value": label, "n": n, "reviewed": r, "wrong": w}
            for label, n, r, w in zip(labels, sizes, reviewed, wrong, strict=True)
        ]
        compared = sum(size >= SMALL for size in sizes) > 1
        columns.append({
            "name": clean(name), "compared": compared, "groups": groups,
            "forced": shared([tuple(counts.tolist()) for counts in forced]),
        })  # fmt: skip
    return columns, left_out


def _most_frequent(values: list[str]) -> tuple[list[str], Indices]:
    """Labels to show, and the index of each case among them; rare values share the last one."""
    counts = Counter(values)
    kept = sorted(value for value, _ in counts.most_common(MAX_VALUES))
    place = {value: i for i, value in enumerate(kept)}
    labels = [clean(value) or "(empty)" for value in kept]
    if len(counts) > MAX_VALUES:
        labels.append(f"all {len(counts) - MAX_VALUES:,} other values")
    return labels, np.array([place.get(value, MAX_VALUES) for value in values], dtype=np.intp)


def gap_quantiles(n_groups: int, confidence: float) -> list[tuple[float, float]]:
    """For 0, 1, ... groups: standard errors of an interval for each, and for each two of them."""
    found = [(0.0, 0.0)]
    for G in range(1, n_groups + 1):
        each, pairs = 1 - (1 - confidence) / G, max(G * (G - 1) // 2, 1)
        z = float(ndtri((1 + each) / 2)), float(ndtri(1 - (1 - confidence) / (2 * pairs)))
        found.append(z)
    return found
