"""Counts for all operating points at once: scores, groups, rivals."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Indices
from rejo.metrics import tally
from rejo.report._format import clean
from rejo.report._groups import SMALL
from rejo.selection import OutOfFold

N_BINS = 40
MAX_VALUES = 30  # of a column; the rest becomes "all others"
MAX_ROWS = 100  # of all columns; each row has counts for every operating point
TAIL = 0.005  # share of the scores at each end that goes into the last bin


class Histogram(NamedTuple):
    """Scores by class, in the same bins at all operating points."""

    edges: tuple[float, ...]  # (N_BINS + 1,)
    total: list[list[list[int]]]  # (n_points or 1, n_classes, N_BINS): one if all are alike
    reviewed: list[list[list[int]]]  # (n_points, n_classes, N_BINS)
    bands: list[list[list[float]]]  # for each point (n_bands, 2)


class Group(NamedTuple):
    """Cases with the same value in a column."""

    value: str
    n: int
    reviewed: list[int]  # (n_points,)
    wrong: list[int]  # (n_points,)
    forced: list[int]  # (n_points or 1,) wrong if every case were decided; one if all are alike


class Column(NamedTuple):
    """A column and its groups."""

    name: str
    groups: list[Group]

    @property
    def compared(self) -> bool:
        """Whether there is a gap to show: at least two groups are large enough."""
        return sum(group.n >= SMALL for group in self.groups) > 1


class Rival(NamedTuple):
    """Accuracy of another method against its share of rejections."""

    method: str
    curve: list[tuple[float, float]]  # (share to review, accuracy of the decided)


def histogram(outcomes: Sequence[OutOfFold], y: Indices, n_classes: int) -> Histogram | None:
    """Count the scores of each class; ``None`` if a case has no score."""
    scores = [point.score for point in outcomes if point.score is not None]
    if len(scores) < len(outcomes) or not all(np.isfinite(score).all() for score in scores):
        return None
    low, high = (float(end) for end in np.quantile(np.concatenate(scores), [TAIL, 1 - TAIL]))
    if not high > low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, N_BINS + 1)
    total, reviewed, bands = [], [], []
    for point, score in zip(outcomes, scores, strict=True):
        place = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, N_BINS - 1)
        cell = y * N_BINS + place
        out = point.decision < 0
        total.append(_cells(cell, n_classes))
        reviewed.append(_cells(cell[out], n_classes))
        inside = [] if point.bands is None else np.clip(point.bands, low, high).tolist()
        bands.append([band for band in inside if band[0] < band[1]])
    if all(cells == total[0] for cells in total):
        del total[1:]
    return Histogram(tuple(edges.tolist()), total, reviewed, bands)


def _cells(cell: Indices, n_classes: int) -> list[list[int]]:
    counts = np.bincount(cell, minlength=n_classes * N_BINS)
    rows: list[list[int]] = counts.reshape(n_classes, N_BINS).tolist()
    return rows


def group_columns(
    outcomes: Sequence[OutOfFold], y: Indices, by: Mapping[str, NDArray[Any]]
) -> tuple[list[Column], list[str]]:
    """Count reviews and errors for each value of each column; name columns with too many values."""
    columns: list[Column] = []
    left_out: list[str] = []
    alike = all(np.array_equal(point.forced, outcomes[0].forced) for point in outcomes)
    for name, values in by.items():
        labels, code = _most_frequent([str(value) for value in values])
        if sum(len(column.groups) for column in columns) + len(labels) > MAX_ROWS:
            left_out.append(clean(name))
            continue
        found = [tally(point.decision, y, fold=code) for point in outcomes]
        reviewed, wrong = (
            np.transpose(part).astype(int).tolist()  # by group and point
            for part in ([point.rejected for point in found], [point.wrong for point in found])
        )
        own = outcomes[:1] if alike else outcomes
        forced = [tally(point.forced, y, fold=code).wrong for point in own]
        by_group = np.transpose(forced).astype(int).tolist()
        rows = map(Group, labels, np.bincount(code).tolist(), reviewed, wrong, by_group)
        columns.append(Column(clean(name), list(rows)))
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


def rival_curves(rows: Sequence[Mapping[str, Any]]) -> list[Rival]:
    """Mean over the folds for each method and reject cost; points without decisions are left out.

    The accuracy is over all folds together, as for the classifier of the report.
    """
    rates: dict[str, dict[float, list[tuple[float, float]]]] = {}
    for row in rows:
        at_cost = rates.setdefault(str(row["method"]), {})
        at_cost.setdefault(float(row["reject_cost"]), []).append((row["R"], row["E"]))
    rivals = []
    for method, at_cost in rates.items():
        means = [np.mean(at_cost[cost], axis=0) for cost in sorted(at_cost)]
        curve = [(float(R), float(1 - E / (1 - R))) for R, E in means if R < 1]
        if curve:
            rivals.append(Rival(clean(method), sorted(curve)))
    return rivals
