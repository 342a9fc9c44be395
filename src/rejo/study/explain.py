"""The explanatory figures of the paper, drawn from samples and fits instead of by hand.

In ``SeiLa2`` the two classifiers see few points, and the classes overlap more at one end than at
the other. Their boundaries move apart at that end and cross at the other. The sample was chosen for
this: ``crossing_frequency`` estimates how many samples cross like it. The toy examples of the
replication have one extension feature: the replicated data lie in three dimensions, and the fit is
a plane that cuts the floor and the ceiling.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._typing import Floats, Indices
from rejo.datasets import make_synthetic_1, make_synthetic_3
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
CLASS_NAMES = (r"$\mathcal{C}_1$", r"$\mathcal{C}_2$", r"$\mathcal{C}_3$")


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
    model = _two_lines(X, k)
    canvas, (left, right) = _canvas(1, 2, (9.6, 4.6))
    grid = _grid(X)
    # Equal round clouds: the log odds are linear in x, 2 m.x for centres m and -m of unit spread.
    p = 1 / (1 + np.exp(-2 * (1.1 * grid.xx + 0.4 * grid.yy)))
    _paint_regions(left, grid, p - COST, p - (1 - COST), lines=False)
    left.set_title("a. The classes overlap: there, no class is likelier\nthan 4 to 1", size=10)
    _draw_boundaries(right, model, grid)
    right.set_title("b. Two classifiers with opposite costs, and what\nlies between them", size=10)
    for ax in (left, right):
        _scatter(ax, X, k)
    _legend(canvas, right, "review")
    return canvas


def crossing_fits() -> tuple[Floats, Indices, Any, Any]:
    """Points and classes, two independent classifiers whose boundaries cross, and data replication.

    Both are linear, with the same ``C`` and the same reject cost.
    """
    from rejo.estimators import RejoSVC

    X, k = draw_funnel(24, SHOWN)
    return (
        X,
        k,
        _two_lines(X, k),
        RejoSVC(kernel="linear", C=BIG_C, h=10, reject_cost=COST).fit(X, k),
    )


def crossing_frequency(n_samples: int = 100) -> tuple[float, float]:
    """Estimate how rare the sample of ``SeiLa2`` is among samples drawn in the same way.

    Returns
    -------
    crossed, as_much : float
        Share of the samples whose boundaries cross where new points fall, and share of the samples
        that cross at least as much as the one in the picture.
    """
    new = draw_funnel(20_000, seed=0)[0]
    rates = np.array([_two_lines(*draw_funnel(24, seed)).crossing_mask(new).mean()
                      for seed in range(n_samples)])  # fmt: skip
    shown = _two_lines(*draw_funnel(24, SHOWN)).crossing_mask(new).mean()
    return float((rates > 0).mean()), float((rates >= shown).mean())


def _two_lines(X: Floats, k: Indices) -> Any:
    from sklearn.svm import SVC

    from rejo.baselines import TwoClassifierReject

    return TwoClassifierReject(SVC(kernel="linear", C=BIG_C), reject_cost=COST).fit(X, k)


def _crossing() -> "Figure":
    X, k, two, replicated = crossing_fits()
    canvas, (left, right) = _canvas(1, 2, (9.6, 4.8))
    grid = _grid(X)
    _draw_boundaries(left, two, grid)
    rate = two.crossing_mask(draw_funnel(20_000, seed=0)[0]).mean()
    left.set_title(
        f"a. Two independent classifiers: the boundaries cross;\n{rate:.1%} of new points are "
        "decided for both classes",
        size=10,
    )
    _draw_boundaries(right, replicated, grid)
    right.set_title("b. Data replication: one direction, two thresholds,\nno crossing", size=10)
    for ax in (left, right):
        _scatter(ax, X, k)
    _legend(canvas, left, "review", "both classes at once")
    return canvas


class _Grid(NamedTuple):
    xx: Floats  # (m, m)
    yy: Floats

    def apply(self, score: Callable[[Floats], Any]) -> Floats:
        points = np.column_stack([self.xx.ravel(), self.yy.ravel()])
        return np.asarray(score(points)).reshape(*self.xx.shape, *np.shape(score(points[:1]))[1:])


def _grid(X: Floats, margin: float = 0.4, size: int = 300) -> _Grid:
    low, high = X.min(axis=0) - margin, X.max(axis=0) + margin
    return _Grid(*np.meshgrid(*(np.linspace(a, b, size) for a, b in zip(low, high, strict=True))))


def _draw_boundaries(ax: "Axes", model: Any, grid: _Grid) -> None:
    """Regions and both boundaries of a linear model, also where they cross."""
    if hasattr(model, "estimators_"):
        first, second = (grid.apply(fit.decision_function) for fit in model.estimators_)
    else:
        first, second = np.moveaxis(grid.apply(model.boundary_scores), -1, 0)
    _paint_regions(ax, grid, first, second)


def _paint_regions(
    ax: "Axes", grid: _Grid, first: Floats, second: Floats, *, lines: bool = True
) -> None:
    """Class 1 below both boundaries, class 2 above both, between them review or contradiction."""
    low, high = (tint(colour, 0.16) for colour in class_colours(2))
    below, above = np.maximum(first, second), np.minimum(first, second)
    review, crossed = np.minimum(first, -second), np.minimum(-first, second)
    for score, face, hatch in (
        (-below, low, None),
        (above, high, None),
        (review, REJECT_FACE, "////"),
        (crossed, tint(CROSSED, 0.45), "xxx"),
    ):
        _paint(ax, grid, score, face, hatch)
    if lines:
        ax.contour(*grid, first, levels=[0], colors="black", linewidths=1.6)
        ax.contour(*grid, second, levels=[0], colors="black", linewidths=1.6, linestyles="--")


def _paint(ax: "Axes", grid: _Grid, score: Floats, face: Any, hatch: str | None) -> None:
    from matplotlib import rc_context

    if score.max() <= 0:
        return
    with rc_context({"hatch.color": REJECT_HATCH, "hatch.linewidth": 0.5}):
        ax.contourf(
            *grid, score, levels=[0, 1.01 * score.max()], colors=[face], hatches=[hatch], zorder=0.5
        )


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


def _ordinal_replication() -> "Figure":
    return _replication(
        *ordinal_toy(),
        (
            "a. Three ordered classes in the plane",
            "b. Each point twice: on the floor the question is\n"
            '"above class 1?", at height $h$ it is "above class 2?"',
            "c. One plane separates no (blue) from yes (orange)",
            "d. Where it cuts floor and ceiling\nare the two boundaries",
        ),
    )


def _reject_replication() -> "Figure":
    return _replication(
        *reject_toy(),
        (
            "a. Two classes that overlap",
            f"b. Each point twice; filled points cost {1 - COST:g}, the others {COST:g}.\n"
            "Floor: errors on class 2 cost more; ceiling: those on class 1",
            "c. One plane separates the two classes",
            "d. Where it cuts floor and ceiling are the edges\nof the reject region",
        ),
    )


def _replication(X: Floats, k: Indices, costs: Floats, titles: tuple[str, ...]) -> "Figure":
    from matplotlib.figure import Figure

    weights, constant = fit_plane(X, k, costs)
    extended, sides, cost = replicate(X, k, costs, h=H)
    reject = costs.shape[1] > len(costs) - 1
    canvas = Figure(figsize=(10, 8.4), layout="constrained")
    data = canvas.add_subplot(2, 2, 1)
    copies = canvas.add_subplot(2, 2, 2, projection="3d")
    solved = canvas.add_subplot(2, 2, 3, projection="3d")
    back = canvas.add_subplot(2, 2, 4)

    _scatter(data, X, k)
    classes = np.tile(k, costs.shape[1])
    filled = cost > cost.mean() if reject else np.ones(len(cost), dtype=bool)
    for ax in (copies, solved):
        _scatter_copies(ax, extended, classes if ax is copies else (sides > 0).astype(int), filled)
    _draw_plane(solved, X, weights, constant)

    grid = _grid(X)
    g = weights[0] * grid.xx + weights[1] * grid.yy + constant  # on the floor
    first, second = g, g + weights[2] * H
    if reject:
        _paint_regions(back, grid, first, second)
    else:
        _paint_ordinal(back, grid, first, second)
    _scatter(back, X, k)
    for ax, title in zip((data, copies, solved, back), titles, strict=True):
        ax.set_title(title, size=10)
    for ax in (data, back):
        ax.set(xlabel="$x_1$", ylabel="$x_2$", xlim=grid.xx[0, [0, -1]], ylim=grid.yy[[0, -1], 0])
    _legend(canvas, back, *(("review",) if reject else ()), n_classes=len(costs))
    return canvas


def _draw_toy(centres: list[list[float]], spread: float) -> tuple[Floats, Indices]:
    rng = np.random.RandomState(1)
    k = np.repeat(np.arange(len(centres)), 16)
    return np.array(centres)[k] + spread * rng.normal(size=(len(k), 2)), k


def _scatter_copies(ax: Any, extended: Floats, group: Indices, filled: NDArray[Any]) -> None:
    colours = class_colours(int(group.max()) + 1)
    for value in np.unique(group):
        for full in (True, False):
            chosen = (group == value) & (filled == full)
            ax.scatter(
                *extended[chosen].T,
                marker=CLASS_MARKERS[value],
                s=24,
                facecolors=[colours[value]] if full else "none",
                edgecolors=[colours[value]],
                depthshade=False,
            )
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
        t = np.linspace(-6, 6, 1200)
        line = foot + t[:, None] * along
        inside = line[np.all((line >= low) & (line <= high), axis=1)]
        ends = inside[[0, -1]] if len(inside) else foot + 0.5 * np.array([[-1], [1]]) * along
        cuts.append(np.column_stack([ends, [z, z]]))  # (2, 3)
    ax.plot_surface(*np.moveaxis(np.array(cuts), -1, 0), color="0.6", alpha=0.35, shade=False)
    for cut, style in zip(cuts, ("-", "--"), strict=True):
        ax.plot(*cut.T, color="black", linewidth=1.6, linestyle=style)


def _paint_ordinal(ax: "Axes", grid: _Grid, first: Floats, second: Floats) -> None:
    """Three regions between two parallel boundaries."""
    colours = [tint(colour, 0.25) for colour in class_colours(3)]
    for score, face in zip((-first, np.minimum(first, -second), second), colours, strict=True):
        _paint(ax, grid, score, face, None)
    ax.contour(*grid, first, levels=[0], colors="black", linewidths=1.6)
    ax.contour(*grid, second, levels=[0], colors="black", linewidths=1.6, linestyles="--")


# ---- samples of the synthetic problems ----------------------------------------------------------


def _sample(make: Callable[..., Any], cuts: tuple[float, ...], n: int, title: str) -> "Figure":
    """Points of the unit square, and grey zones where the class is random."""
    X, y = make(n, random_state=0)
    labels, k = np.unique(y, return_inverse=True)
    canvas, (ax,) = _canvas(1, 1, (6.4, 4.8))
    side = np.linspace(0, 1, 400)
    grid = _Grid(*np.meshgrid(side, side))
    alpha = grid.apply(alpha_of)
    for low, high in zip(cuts[::2], cuts[1::2], strict=True):
        _paint(ax, grid, np.minimum(alpha - low, high - alpha), REJECT_FACE, None)
    ax.contour(*grid, alpha, levels=list(cuts), colors="0.25", linewidths=1, linestyles="-")
    _scatter(ax, X, k)
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(title.format(n=n), size=10)
    handles = [_mark(j, len(labels), f"class {label}") for j, label in enumerate(labels)]
    handles.append(_patch(REJECT_FACE, None, "transition"))
    canvas.legend(handles=handles, loc="outside right upper", frameon=False)
    return canvas


def _sample_1() -> "Figure":
    title = r"{n} points of SyntheticI, edges at $\alpha = -0.5$ and $0.25$"
    return _sample(make_synthetic_1, CUTS_1, 200, title)


def _sample_3() -> "Figure":
    return _sample(
        make_synthetic_3, CUTS_3, 100, "{n} points of SyntheticIII, five ordered classes"
    )


# ---- what the drawings share --------------------------------------------------------------------


def _canvas(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, list[Axes]]":
    from matplotlib.figure import Figure

    canvas = Figure(figsize=size, layout="constrained")
    axes = list(canvas.subplots(rows, columns, squeeze=False).ravel())
    for ax in axes:
        ax.set(xlabel="$x_1$", ylabel="$x_2$")
    return canvas, axes


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


def _legend(canvas: "Figure", ax: "Axes", *regions: str, n_classes: int = 2) -> None:
    from matplotlib.lines import Line2D

    handles = [_mark(k, n_classes, f"class {CLASS_NAMES[k]}") for k in range(n_classes)]
    faces = {"review": (REJECT_FACE, "////"), "both classes at once": (tint(CROSSED, 0.45), "xxx")}
    handles += [_patch(*faces[name], name) for name in regions]
    for style, label in (("-", "first boundary"), ("--", "second boundary")):
        handles.append(Line2D([], [], color="black", linewidth=1.6, linestyle=style, label=label))
    canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), frameon=False)


DRAWINGS: dict[str, Callable[[], "Figure"]] = {
    "SeiLa": _overlapping,
    "SeiLa2": _crossing,
    "proposedModel": _ordinal_replication,
    "proposedRejectModel": _reject_replication,
    "syntheticI": _sample_1,
    "syntheticIII": _sample_3,
}
