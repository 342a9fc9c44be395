"""The explanatory figures of the paper, drawn from samples and fits instead of by hand.

In figure 2 the two classifiers see few points, and the classes overlap more at one end than at the
other: their boundaries move apart at that end and cross at the other. The sample was chosen for
this. The toy examples of the replication (4 and 5) have one extension feature: the replicated data
lie in three dimensions, and the fit is a plane that cuts the floor and the ceiling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from sklearn.svm import SVC

from rejo.baselines import TwoClassifierReject
from rejo.datasets import make_synthetic_1, make_synthetic_3
from rejo.displays import REJECT_FACE, REJECT_HATCH, class_colours, tint
from rejo.estimators import RejoSVC
from rejo.replication import replica_costs, replicate
from studies.run import Floats, Indices

COST, H, BIG_C = 0.2, 1.0, 10.0
SHOWN = 9  # the sample of figure 2, chosen because its boundaries cross
MARKERS = "os^Dv"
STYLES = ("-", "--")  # of the first boundary and the second
REVIEW, BOTH = "review", "both classes at once"
FACES = {REVIEW: (REJECT_FACE, "////"), BOTH: ("#F4D79A", "xxx")}


def draw_clouds(n: int, seed: int) -> tuple[Floats, Indices]:
    """Two round clouds of unit spread around (-1.1, -0.4) and (1.1, 0.4)."""
    rng = np.random.RandomState(seed)
    k = np.repeat([0, 1], n // 2)
    return np.array([[-1.1, -0.4], [1.1, 0.4]])[k] + rng.normal(size=(len(k), 2)), k


def draw_funnel(n: int, seed: int) -> tuple[Floats, Indices]:
    """Two classes that are apart at the bottom and overlap more and more towards the top."""
    rng = np.random.RandomState(seed)
    k = np.repeat([0, 1], n // 2)
    height = rng.uniform(0, 3, size=len(k))
    x = 0.8 * (2 * k - 1) + (0.15 + 0.3 * height) * rng.normal(size=len(k))
    return np.column_stack([x, height]), k


def _overlapping() -> Figure:
    X, k = draw_clouds(160, seed=3)

    def posterior(Z: Floats) -> Floats:
        # Equal round clouds: the log odds are linear in x, 2 m.x for centres m and -m.
        p = 1 / (1 + np.exp(-2 * Z @ np.array([1.1, 0.4])))
        return np.column_stack([p - COST, p - (1 - COST)])

    left = "a. The classes overlap: there, no class is likelier\nthan 4 to 1"
    right = "b. Two classifiers with opposite costs, and what\nlies between them"
    return _side_by_side(X, k, {left: posterior, right: _two_lines(X, k)}, REVIEW)


def _crossing() -> Figure:
    X, k = draw_funnel(24, SHOWN)
    two = _two_lines(X, k)
    first, second = two(draw_funnel(20_000, seed=0)[0]).T
    rate = ((second > 0) & (first <= 0)).mean()
    replicated = RejoSVC(kernel="linear", C=BIG_C, h=10, reject_cost=COST).fit(X, k)
    left = "a. Two independent classifiers: the boundaries cross;\n"
    left += f"{rate:.1%} of new points are decided for both classes"
    right = "b. Data replication: one direction, two thresholds,\nno crossing"
    return _side_by_side(X, k, {left: two, right: replicated.boundary_scores}, REVIEW, BOTH)


def _two_lines(X: Floats, k: Indices) -> Callable[[Floats], Floats]:
    """Scores (n, 2) of two independent linear machines with opposite costs."""
    model = TwoClassifierReject(SVC(kernel="linear", C=BIG_C), reject_cost=COST).fit(X, k)
    fits = model.estimators_
    return lambda Z: np.column_stack([fit.decision_function(Z) for fit in fits])


def _side_by_side(
    X: Floats, k: Indices, panels: dict[str, Callable[[Floats], Floats]], *regions: str
) -> Figure:
    canvas = Figure(figsize=(9.6, 4.8), layout="constrained")
    for ax, (title, scores) in zip(canvas.subplots(1, 2), panels.items(), strict=True):
        _paint(ax, X, scores, 2)
        _scatter(ax, X, k)
        ax.set_title(title, size=10)
    _legend(canvas, 2, *regions)
    return canvas


def _replication(centres: Sequence[Sequence[float]], spread: float, costs: Floats) -> Figure:
    """A toy problem twice over, with the plane that separates its copies, and its boundaries."""
    rng, K = np.random.RandomState(1), len(centres)
    k = np.repeat(np.arange(K), 16)
    X = np.array(centres)[k] + spread * rng.normal(size=(len(k), 2))
    extended, sides, cost = replicate(X, k, costs, h=H)
    fit = SVC(kernel="linear", C=BIG_C, tol=1e-6).fit(extended, sides, sample_weight=cost)
    w, b = fit.coef_[0], float(fit.intercept_[0])
    canvas = Figure(figsize=(10, 4.6), layout="constrained")
    solid: Any = canvas.add_subplot(1, 2, 1, projection="3d")
    flat = canvas.add_subplot(1, 2, 2)
    colours = class_colours(2)
    for side, colour in zip((-1, 1), colours, strict=True):
        solid.scatter(*extended[sides == side].T, s=20, color=[colour], depthshade=False)
    ends = np.array([X[:, 1].min(), X[:, 1].max()])
    y, z = np.meshgrid(ends, [0.0, H])
    solid.plot_surface(-(b + w[1] * y + w[2] * z) / w[0], y, z, color="0.6", alpha=0.35)
    solid.set(xlabel="$x_1$", ylabel="$x_2$", zticks=[0, H], zticklabels=["0", "$h$"])
    solid.view_init(elev=20, azim=-66)
    solid.set_title(
        "a. Each point twice; one plane separates no (blue)\nfrom yes (orange)", size=10
    )
    _paint(flat, X, lambda Z: (Z @ w[:2] + b)[:, None] + w[2] * np.array([0.0, H]), K)
    _scatter(flat, X, k)
    flat.set_title("b. Where it cuts floor and ceiling\nare the two boundaries", size=10)
    _legend(canvas, K, *[REVIEW] * (K == 2))
    return canvas


# The edges of the zones of the synthetic problems, on the scale 10 (x1 - 0.5) (x2 - 0.5).
CUTS_1 = (-0.5, 0.25)
CUTS_3 = (-1.5, -1.25, -1.0, -0.5, -0.1, 0.1, 0.5, 1.1)


def _sample(make: Callable[..., Any], cuts: tuple[float, ...], n: int, title: str) -> Figure:
    """Points of the unit square, and grey zones where the class is random."""
    X, y = make(n, random_state=0)
    labels, k = np.unique(y, return_inverse=True)
    canvas = Figure(figsize=(6.4, 4.8), layout="constrained")
    ax = canvas.subplots()
    xx, yy = np.meshgrid(*[np.linspace(0, 1, 400)] * 2)
    alpha = 10 * (xx - 0.5) * (yy - 0.5)
    for zone in zip(cuts[::2], cuts[1::2], strict=True):
        ax.contourf(xx, yy, alpha, list(zone), colors=[REJECT_FACE])
    ax.contour(xx, yy, alpha, levels=list(cuts), colors="0.25", linewidths=1, linestyles="-")
    _scatter(ax, X, k)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(f"{n} points of {title}; grey: transitions", size=10)
    handles = [_mark(j, len(labels), f"class {label}") for j, label in enumerate(labels)]
    canvas.legend(handles=handles, loc="outside right upper", frameon=False)
    return canvas


def _paint(ax: Axes, X: Floats, scores: Callable[[Floats], Floats], n_classes: int) -> None:
    """Regions between two boundaries, by the scores (n, 2) of points."""
    low, high = X.min(axis=0) - 0.4, X.max(axis=0) + 0.4
    xx, yy = np.meshgrid(*(np.linspace(*ends, 400) for ends in zip(low, high, strict=True)))
    first, second = scores(np.column_stack([xx.ravel(), yy.ravel()])).T.reshape(2, *xx.shape)
    faces = [(tint(colour, 0.2), "") for colour in class_colours(n_classes)]
    # Below both, between them, between them the wrong way round, above both.
    middle = faces[1] if n_classes == 3 else FACES[REVIEW]
    region = (first > 0) + 2.0 * (second > 0)
    colours, hatches = zip(faces[0], middle, FACES[BOTH], faces[-1], strict=True)
    with rc_context({"hatch.color": REJECT_HATCH, "hatch.linewidth": 0.5}):
        levels = [-0.5, 0.5, 1.5, 2.5, 3.5]
        ax.contourf(xx, yy, region, levels, colors=colours, hatches=hatches)
    for score, style in zip((first, second), STYLES, strict=True):
        ax.contour(xx, yy, score, levels=[0], colors="black", linewidths=1.6, linestyles=style)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")


def _scatter(ax: Axes, X: Floats, k: Indices) -> None:
    colours = class_colours(int(k.max()) + 1)
    for j in np.unique(k):
        look: dict[str, Any] = {"marker": MARKERS[j], "color": colours[j], "s": 24}
        ax.scatter(*X[k == j].T, edgecolors="white", linewidths=0.5, zorder=3, **look)


def _mark(k: int, n_classes: int, label: str) -> Line2D:
    colour = class_colours(n_classes)[k]
    return Line2D([], [], linestyle="", marker=MARKERS[k], color=colour, label=label)


def _legend(canvas: Figure, n_classes: int, *regions: str) -> None:
    handles: list[Any] = [_mark(k, n_classes, f"class {k + 1}") for k in range(n_classes)]
    for region in regions:
        face, hatch = FACES[region]
        handles.append(Patch(facecolor=face, edgecolor=REJECT_HATCH, hatch=hatch, label=region))
    for style, name in zip(STYLES, ("first boundary", "second boundary"), strict=True):
        handles.append(Line2D([], [], linestyle=style, color="black", label=name))
    canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


_ORDERED = ((-1.6, -0.9), (0.0, 0.0), (1.6, 0.9))
SKETCHES: dict[str, Callable[[], Figure]] = {
    "1": _overlapping,
    "2": _crossing,
    "4": partial(_replication, _ORDERED, 0.33, replica_costs(3, None)),
    "5": partial(_replication, ((-0.7, -0.35), (0.7, 0.35)), 0.75, replica_costs(2, COST)),
    "8": partial(_sample, make_synthetic_1, CUTS_1, 200, "SyntheticI"),
    "9": partial(_sample, make_synthetic_3, CUTS_3, 100, "SyntheticIII"),
}
