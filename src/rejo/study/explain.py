"""The explanatory figures of the paper, drawn from samples and fits instead of by hand.

In ``SeiLa2`` the two classifiers see few points, and the classes overlap more at one end than at
the other. Their boundaries move apart at that end and cross at the other. The sample was chosen for
this: ``crossing_frequency`` estimates how many samples cross like it. The toy examples of the
replication have one extension feature: the replicated data lie in three dimensions, and the fit is
a plane that cuts the floor and the ceiling.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rejo import datasets
from rejo._typing import Floats, Indices, Mask
from rejo.datasets.synthetic import CUTS_1, CUTS_3, alpha_of
from rejo.displays.style import REJECT_FACE, REJECT_HATCH, class_colours, require_matplotlib, tint
from rejo.replication import replica_costs, replicate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


COST, H, BIG_C = 0.2, 1.0, 10.0
SHOWN = 9  # the sample of SeiLa2, chosen because its boundaries cross
CLASS_MARKERS = "os^Dv"
CROSSED = "#E69F00"
LINE: dict[str, Any] = {"color": "black", "linewidth": 1.6}
BOUNDARIES = {"first boundary": "-", "second boundary": "--"}

Region = tuple[Floats, Any, str | None]  # a score, positive inside; colour; hatch


def explain(name: str) -> "Figure":
    """Draw an explanatory figure by its name in the paper."""
    if name not in DRAWINGS:
        raise ValueError(f"name must be one of {', '.join(DRAWINGS)}, got {name!r}")
    require_matplotlib("an explanatory figure")
    return DRAWINGS[name]()


# ---- overlapping classes, and boundaries that cross ------------------------------------------


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


def _overlapping() -> "Figure":
    X, k = draw_clouds(160, seed=3)
    canvas, (left, right), grid = _pair(X, 4.6)
    # Equal round clouds: the log odds are linear in x, 2 m.x for centres m and -m of unit spread.
    p = 1 / (1 + np.exp(-2 * (1.1 * grid.xx + 0.4 * grid.yy)))
    _paint(left, grid, _binary_regions(p - COST, p - (1 - COST)))
    left.set_title("a. The classes overlap: there, no class is likelier\nthan 4 to 1", size=10)
    _draw_model(right, grid, _two_lines(X, k))
    right.set_title("b. Two classifiers with opposite costs, and what\nlies between them", size=10)
    for ax in (left, right):
        _scatter(ax, X, k)
    _legend(canvas, 2, "review")
    return canvas


def crossing_fits() -> tuple[Floats, Indices, Any, Any]:
    """Points and classes, two independent classifiers whose boundaries cross, and data replication.

    Both are linear, with the same ``C`` and the same reject cost.
    """
    from rejo.estimators import RejoSVC

    X, k = draw_funnel(24, SHOWN)
    replicated = RejoSVC(kernel="linear", C=BIG_C, h=10, reject_cost=COST).fit(X, k)
    return X, k, _two_lines(X, k), replicated


def crossing_frequency(n_samples: int = 100) -> tuple[float, float]:
    """Estimate how rare the sample of ``SeiLa2`` is among samples drawn in the same way.

    Returns
    -------
    crossed, as_much : float
        Share of the samples whose boundaries cross where new points fall, and share of the samples
        that cross at least as much as the one in the picture.
    """
    new = draw_funnel(20_000, seed=0)[0]
    *rates, shown = (
        _two_lines(*draw_funnel(24, seed)).crossing_mask(new).mean()
        for seed in (*range(n_samples), SHOWN)
    )
    return float(np.greater(rates, 0).mean()), float(np.greater_equal(rates, shown).mean())


def _two_lines(X: Floats, k: Indices) -> Any:
    from sklearn.svm import SVC

    from rejo.baselines import TwoClassifierReject

    return TwoClassifierReject(SVC(kernel="linear", C=BIG_C), reject_cost=COST).fit(X, k)


def _crossing() -> "Figure":
    X, k, two, replicated = crossing_fits()
    canvas, (left, right), grid = _pair(X, 4.8)
    rate = two.crossing_mask(draw_funnel(20_000, seed=0)[0]).mean()
    left.set_title(
        f"a. Two independent classifiers: the boundaries cross;\n{rate:.1%} of new points are "
        "decided for both classes",
        size=10,
    )
    right.set_title("b. Data replication: one direction, two thresholds,\nno crossing", size=10)
    for ax, model in ((left, two), (right, replicated)):
        _draw_model(ax, grid, model)
        _scatter(ax, X, k)
    _legend(canvas, 2, "review", "both classes at once")
    return canvas


class _Grid(NamedTuple):
    xx: Floats  # (m, m)
    yy: Floats

    def apply(self, score: Callable[[Floats], Any]) -> Floats:
        values = np.asarray(score(np.column_stack([self.xx.ravel(), self.yy.ravel()])))
        return values.reshape(*self.xx.shape, *values.shape[1:])


def _grid(low: Iterable[float], high: Iterable[float], size: int = 300) -> _Grid:
    return _Grid(*np.meshgrid(*(np.linspace(*ends, size) for ends in zip(low, high, strict=True))))


def _around(X: Floats, margin: float = 0.4) -> _Grid:
    return _grid(X.min(axis=0) - margin, X.max(axis=0) + margin)


def _pair(X: Floats, height: float) -> "tuple[Figure, list[Axes], _Grid]":
    """Two panels side by side, and a grid around the points that both show."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9.6, height), layout="constrained")
    axes = list(canvas.subplots(1, 2))
    for ax in axes:
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
    return canvas, axes, _around(X)


def _draw_model(ax: "Axes", grid: _Grid, model: Any) -> None:
    """Regions and both boundaries of a linear model, also where they cross."""
    if hasattr(model, "estimators_"):
        first, second = (grid.apply(fit.decision_function) for fit in model.estimators_)
    else:
        first, second = np.moveaxis(grid.apply(model.boundary_scores), -1, 0)
    _paint(ax, grid, _binary_regions(first, second), first, second)


def _binary_regions(first: Floats, second: Floats) -> list[Region]:
    """Class 1 below both boundaries, class 2 above both, between them review or contradiction."""
    low, high = (tint(colour, 0.16) for colour in class_colours(2))
    return [
        (-np.maximum(first, second), low, None),
        (np.minimum(first, second), high, None),
        (np.minimum(first, -second), *_between("review")),
        (np.minimum(-first, second), *_between("both classes at once")),
    ]


def _ordinal_regions(first: Floats, second: Floats) -> list[Region]:
    """Three classes between two parallel boundaries."""
    scores = (-first, np.minimum(first, -second), second)
    return [(s, tint(c, 0.25), None) for s, c in zip(scores, class_colours(3), strict=True)]


def _between(region: str) -> tuple[Any, str]:
    """Colour and hatch of what is neither of two classes."""
    return (REJECT_FACE, "////") if region == "review" else (tint(CROSSED, 0.45), "xxx")


def _paint(ax: "Axes", grid: _Grid, regions: Iterable[Region], *boundaries: Floats) -> None:
    from matplotlib import rc_context

    with rc_context({"hatch.color": REJECT_HATCH, "hatch.linewidth": 0.5}):
        for score, face, hatch in regions:
            if (top := score.max()) > 0:
                levels = [0, 1.01 * top]
                ax.contourf(*grid, score, levels, colors=[face], hatches=[hatch], zorder=0.5)
    for score, style in zip(boundaries, BOUNDARIES.values(), strict=False):
        ax.contour(*grid, score, levels=[0], colors="black", linewidths=1.6, linestyles=style)


# ---- the replication in three dimensions --------------------------------------------------------


def ordinal_toy() -> tuple[Floats, Indices, Floats]:
    """Three ordered classes that lines can separate, and the costs of one boundary between each."""
    return (*_draw_toy([[-1.6, -0.9], [0.0, 0.0], [1.6, 0.9]], 0.33), replica_costs(3, None))


def reject_toy() -> tuple[Floats, Indices, Floats]:
    """Two classes that overlap, and the costs of the two edges of a reject region."""
    return (*_draw_toy([[-0.7, -0.35], [0.7, 0.35]], 0.75), replica_costs(2, COST))


def fit_plane(X: Floats, k: Indices, costs: Floats) -> tuple[Floats, float]:
    """Weights (3,) and constant of a linear machine on the replicated data."""
    from sklearn.svm import SVC

    extended, sides, weight = replicate(X, k, costs, h=H)
    fit = SVC(kernel="linear", C=BIG_C, tol=1e-6).fit(extended, sides, sample_weight=weight)
    return fit.coef_[0], float(fit.intercept_[0])


ORDINAL_TITLES = (
    "a. Three ordered classes in the plane",
    "b. Each point twice: on the floor the question is\n"
    '"above class 1?", at height $h$ it is "above class 2?"',
    "c. One plane separates no (blue) from yes (orange)",
    "d. Where it cuts floor and ceiling\nare the two boundaries",
)
REJECT_TITLES = (
    "a. Two classes that overlap",
    f"b. Each point twice; filled points cost {1 - COST:g}, the others {COST:g}.\n"
    "Floor: errors on class 2 cost more; ceiling: those on class 1",
    "c. One plane separates the two classes",
    "d. Where it cuts floor and ceiling are the edges\nof the reject region",
)


def _replication(toy: Callable[[], tuple[Floats, Indices, Floats]]) -> "Figure":
    from matplotlib.figure import Figure

    X, k, costs = toy()
    reject = costs.shape[1] > len(costs) - 1
    weights, constant = fit_plane(X, k, costs)
    extended, sides, cost = replicate(X, k, costs, h=H)
    canvas = Figure(figsize=(10, 8.4), layout="constrained")
    data, copies, solved, back = (
        canvas.add_subplot(2, 2, i, projection="3d" if i in (2, 3) else None) for i in range(1, 5)
    )
    _scatter(data, X, k)
    filled = cost > cost.mean() if reject else np.ones(len(cost), dtype=bool)
    _scatter_copies(copies, extended, np.tile(k, costs.shape[1]), filled)
    _scatter_copies(solved, extended, (sides > 0).astype(int), filled)
    _draw_plane(solved, X, weights, constant)

    grid = _around(X)
    first = weights[0] * grid.xx + weights[1] * grid.yy + constant  # on the floor
    second = first + weights[2] * H
    regions = _binary_regions(first, second) if reject else _ordinal_regions(first, second)
    _paint(back, grid, regions, first, second)
    _scatter(back, X, k)
    titles = REJECT_TITLES if reject else ORDINAL_TITLES
    for ax, title in zip((data, copies, solved, back), titles, strict=True):
        ax.set_title(title, size=10)
    for ax in (data, back):
        ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=grid.xx[0, [0, -1]], ylim=grid.yy[[0, -1], 0])
    _legend(canvas, len(costs), *["review"] * reject)
    return canvas


def _draw_toy(centres: list[list[float]], spread: float) -> tuple[Floats, Indices]:
    rng = np.random.RandomState(1)
    k = np.repeat(np.arange(len(centres)), 16)
    return np.array(centres)[k] + spread * rng.normal(size=(len(k), 2)), k


def _scatter_copies(ax: Any, extended: Floats, group: Indices, filled: Mask) -> None:
    colours = class_colours(int(group.max()) + 1)
    for value in np.unique(group):
        look: dict[str, Any] = {"marker": CLASS_MARKERS[value], "edgecolors": [colours[value]]}
        for chosen, face in ((filled, [colours[value]]), (~filled, "none")):
            points = extended[(group == value) & chosen].T
            ax.scatter(*points, s=24, facecolors=face, depthshade=False, **look)
    ax.set(xlabel="$x_1$", ylabel="$x_2$", zticks=[0, H], zlim=(-0.05 * H, 1.05 * H))
    ax.set_zticklabels(["0", "$h$"])
    ax.locator_params(axis="x", nbins=4)
    ax.locator_params(axis="y", nbins=3)
    ax.view_init(elev=20, azim=-66)
    ax.set_box_aspect((1.4, 1.1, 0.9), zoom=1.12)


def _draw_plane(ax: Any, X: Floats, weights: Floats, constant: float) -> None:
    """The part of the plane between floor and ceiling, and its cuts with both."""
    w = weights[:2]
    along = np.array([-w[1], w[0]]) / np.linalg.norm(w)
    low, high = X.min(axis=0), X.max(axis=0)
    cuts = []
    for z in (0.0, H):
        foot = X.mean(axis=0)
        foot = foot - (w @ foot + constant + weights[2] * z) / (w @ w) * w
        line = foot + np.linspace(-6, 6, 1200)[:, None] * along
        inside = line[np.all((line >= low) & (line <= high), axis=1)]
        ends = inside[[0, -1]] if len(inside) else foot + 0.5 * np.array([[-1], [1]]) * along
        cuts.append(np.column_stack([ends, [z, z]]))  # (2, 3)
    ax.plot_surface(*np.moveaxis(np.array(cuts), -1, 0), color="0.6", alpha=0.35, shade=False)
    for cut, style in zip(cuts, BOUNDARIES.values(), strict=True):
        ax.plot(*cut.T, linestyle=style, **LINE)


# ---- samples of the synthetic problems ----------------------------------------------------------


SAMPLE_1 = r"SyntheticI, edges at $\alpha = -0.5$ and $0.25$"
SAMPLE_3 = "SyntheticIII, five ordered classes"


def _sample(make: Callable[..., Any], cuts: tuple[float, ...], n: int, title: str) -> "Figure":
    """Points of the unit square, and grey zones where the class is random."""
    from matplotlib.figure import Figure

    X, y = make(n, random_state=0)
    labels, k = np.unique(y, return_inverse=True)
    canvas = Figure(figsize=(6.4, 4.8), layout="constrained")
    ax = canvas.subplots()
    grid = _grid((0, 0), (1, 1), 400)
    alpha = grid.apply(alpha_of)
    zones = [
        np.minimum(alpha - low, high - alpha)
        for low, high in zip(cuts[::2], cuts[1::2], strict=True)
    ]
    _paint(ax, grid, [(zone, REJECT_FACE, None) for zone in zones])
    ax.contour(*grid, alpha, levels=list(cuts), colors="0.25", linewidths=1, linestyles="-")
    _scatter(ax, X, k)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(f"{n} points of {title}", size=10)
    handles = [_mark(j, len(labels), f"class {label}") for j, label in enumerate(labels)]
    handles.append(_patch(REJECT_FACE, None, "transition"))
    canvas.legend(handles=handles, loc="outside right upper", frameon=False)
    return canvas


# ---- what the drawings share --------------------------------------------------------------------


def _scatter(ax: "Axes", X: Floats, k: Indices) -> None:
    colours = class_colours(int(k.max()) + 1)
    for j in np.unique(k):
        look: dict[str, Any] = {"marker": CLASS_MARKERS[j], "color": colours[j], "s": 24}
        ax.scatter(X[k == j, 0], X[k == j, 1], edgecolors="white", linewidths=0.5, zorder=3, **look)


def _mark(k: int, n_classes: int, label: str) -> Any:
    from matplotlib.lines import Line2D

    colour = class_colours(n_classes)[k]
    return Line2D([], [], linestyle="", marker=CLASS_MARKERS[k], color=colour, label=label)


def _patch(face: Any, hatch: str | None, label: str) -> Any:
    from matplotlib.patches import Patch

    return Patch(facecolor=face, edgecolor=REJECT_HATCH, hatch=hatch, linewidth=0.5, label=label)


def _legend(canvas: "Figure", n_classes: int, *regions: str) -> None:
    from matplotlib.lines import Line2D

    names = [rf"class $\mathcal{{C}}_{k + 1}$" for k in range(n_classes)]
    handles = [_mark(k, n_classes, name) for k, name in enumerate(names)]
    handles += [_patch(*_between(region), region) for region in regions]
    handles += [Line2D([], [], linestyle=s, label=name, **LINE) for name, s in BOUNDARIES.items()]
    canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


DRAWINGS: dict[str, Callable[[], "Figure"]] = {
    "SeiLa": _overlapping,
    "SeiLa2": _crossing,
    "proposedModel": partial(_replication, ordinal_toy),
    "proposedRejectModel": partial(_replication, reject_toy),
    "syntheticI": partial(_sample, datasets.make_synthetic_1, CUTS_1, 200, SAMPLE_1),
    "syntheticIII": partial(_sample, datasets.make_synthetic_3, CUTS_3, 100, SAMPLE_3),
}
