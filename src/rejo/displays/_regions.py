"""Regions of a classifier on two features."""

from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array

from rejo._errors import integer, number
from rejo._frames import is_polars
from rejo._typing import Floats, Indices
from rejo.displays import style
from rejo.displays._inputs import column
from rejo.displays.style import Display
from rejo.estimators import final_step

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Share of the class colour in the background of its region; the rest is white. More than two
# classes are steps of one scale, and when pale the steps look alike.
TINT_OF_TWO, TINT_OF_MORE = 0.22, 0.35
EDGE = "0.15"
REJECT = -1  # among decisions


@dataclass(kw_only=True, eq=False, repr=False)
class RejectRegionDisplay(Display):
    """Regions of a classifier on two features: what it decides, and what it sends to review.

    For K ordered classes there are K class regions and, where the classifier may reject, K - 1
    reject regions (grey, hatched) between them. The edges are the lines ``f_q(x) = 0``. For a
    classifier without such scores, the decisions on the grid are drawn.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        First and second feature on the grid.
    classes : ndarray of shape (K,)
        The classes, in their order.
    scores : ndarray of shape (grid_resolution, grid_resolution, n_boundaries), default=None
        Boundary scores on the grid.
    decisions : ndarray of shape (grid_resolution, grid_resolution), default=None
        Instead of the scores: positions in ``classes``; -1 for a rejection.
    X, y : ndarray of shape (n_samples, 2) and (n_samples,), default=None
        Points to draw, and their classes.
    xlabel, ylabel : str, default=""
        Names of the two features.

    Attributes
    ----------
    regions_ : ndarray of shape (grid_resolution, grid_resolution)
        Number of positive scores at each point of the grid. With rejection, an even number 2k means
        class k and an odd one a rejection. Without scores: the decisions.

    Examples
    --------
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.displays import RejectRegionDisplay
    >>> X, y = make_synthetic_1(100, random_state=0)
    >>> classifier = RejoSVC(gamma=4, reject_cost=0.2).fit(X, y)
    >>> display = RejectRegionDisplay.from_estimator(classifier, X, y, grid_resolution=50)
    >>> print(f"{(display.regions_ == 1).mean():.0%} of the square is rejected")
    37% of the square is rejected
    """

    xx0: Floats
    xx1: Floats
    classes: NDArray[Any]
    scores: Floats | None = None
    decisions: Indices | None = None
    X: Floats | None = None
    y: NDArray[Any] | None = None
    xlabel: str = ""
    ylabel: str = ""

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        *,
        grid_resolution: int = 200,
        eps: float = 0.05,
        points: bool = True,
        ax: "Axes | None" = None,
        xlabel: str | None = None,
        ylabel: str | None = None,
    ) -> Self:
        """Evaluate a fitted classifier on a grid around the data, and plot.

        Parameters
        ----------
        estimator : estimator instance
            A fitted classifier; also at the end of a ``Pipeline``, or in a search such as
            ``GridSearchCV``. Draws its ``boundary_scores``, or its predictions if it has none.
        X : {array-like, DataFrame} of shape (n_samples, 2)
            Data that set the range of the grid and, unless ``points`` is False, are drawn.
        y : array-like of shape (n_samples,) or (n_samples, 1), default=None
            Classes of the points.
        grid_resolution : int, default=200
            Number of grid points along each feature.
        eps : float, default=0.05
            Margin around the data, as a share of their range.
        points : bool, default=True
            Whether to draw the data. Without them narrow regions are easier to see.
        ax : matplotlib Axes, default=None
        xlabel, ylabel : str, default=None
            Names of the features; by default the columns of a DataFrame, or "x1" and "x2".
        """
        integer("grid_resolution", grid_resolution, 2)
        number("eps", eps, 0)
        values = check_array(X, dtype=np.float64, input_name="X")
        if values.shape[1] != 2:
            raise ValueError(
                f"X must have 2 features to be drawn, got {values.shape[1]}; fit the classifier on "
                "two features"
            )
        names = [str(name) for name in getattr(X, "columns", ("x1", "x2"))]

        low, high = values.min(axis=0), values.max(axis=0)
        margin = eps * np.where(high > low, high - low, 1)
        axes = np.linspace(low - margin, high + margin, grid_resolution)  # (grid_resolution, 2)
        xx0, xx1 = np.meshgrid(axes[:, 0], axes[:, 1])
        grid: Any = np.column_stack([xx0.ravel(), xx1.ravel()])
        if hasattr(X, "columns"):  # so that feature names agree
            names_of = {"schema" if is_polars(X) else "columns": X.columns}
            grid = type(X)(grid, **names_of)
        model, grid = final_step(estimator, grid)
        scores, decisions = _evaluate(model, grid, xx0.shape)
        classes = model.classes_
        display = cls(
            xx0=xx0,
            xx1=xx1,
            classes=classes,
            scores=scores,
            decisions=decisions,
            X=values if points else None,
            y=None if y is None else _check_classes(y, classes, len(values)),
            xlabel=names[0] if xlabel is None else xlabel,
            ylabel=names[1] if ylabel is None else ylabel,
        )
        return display.plot(ax=ax)

    @property
    def regions_(self) -> Indices:
        """Number of positive scores at each point of the grid, or the decision there."""
        if self.scores is not None:
            return np.asarray(np.count_nonzero(self.scores > 0, axis=-1))
        if self.decisions is None:
            raise ValueError("scores and decisions are both None; give one of them")
        return self.decisions

    def _plot(self, ax: "Axes | None") -> None:
        ax = self._set_axes(ax, (6.4, 4.8))
        colours = style.class_colours(len(self.classes))
        share = TINT_OF_TWO if len(colours) == 2 else TINT_OF_MORE
        tints = [style.tint(colour, share) for colour in colours]
        if self.scores is not None:
            self._draw_scores(self.scores, tints)
        else:
            self._draw_decisions(self.regions_, tints)
        self._draw_points(colours)
        ax.set(
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
            xlabel=self.xlabel,
            ylabel=self.ylabel,
        )
        self._draw_legend(colours, tints)

    @property
    def _may_reject(self) -> bool:
        if self.scores is not None:
            return self.scores.shape[-1] == 2 * (len(self.classes) - 1)
        return bool((self.regions_ == REJECT).any())

    def _draw_scores(self, scores: Floats, tints: list[Any]) -> None:
        """Paint region 0 everywhere, then region q + 1 over it where q + 1 scores are positive."""
        self.ax_.set_facecolor(tints[0])
        # Once sorted, score q is positive where more than q are, also where boundaries cross.
        ranked = -np.sort(-scores, axis=-1)
        for q in range(ranked.shape[-1]):
            score = ranked[..., q]
            if score.max() <= 0:
                break
            if self._may_reject and q % 2 == 0:
                self._paint(score, style.REJECT_FACE, "////")
            else:
                self._paint(score, tints[(q + 1) // (1 + self._may_reject)])
            self._outline(score)

    def _draw_decisions(self, decisions: Indices, tints: list[Any]) -> None:
        from matplotlib.colors import to_rgb

        cells = np.array([*tints, to_rgb(style.REJECT_FACE)])[decisions]  # REJECT is the last one
        self.ax_.pcolormesh(self.xx0, self.xx1, cells, shading="nearest", zorder=0.5)
        for value in np.unique(decisions):
            side = np.where(decisions == value, 1.0, -1.0)
            if value == REJECT:
                self._paint(side, "none", "////")
            self._outline(side)

    def _paint(self, score: Floats, face: Any, hatch: str | None = None) -> None:
        from matplotlib import rc_context

        with rc_context({"hatch.color": style.REJECT_HATCH, "hatch.linewidth": 0.6}):
            look: dict[str, Any] = {"colors": [face], "hatches": [hatch], "zorder": 0.5}
            levels = [0, score.max() * 1.01]
            self.ax_.contourf(self.xx0, self.xx1, score, levels=levels, **look)

    def _outline(self, score: Floats) -> None:
        if score.min() < 0 < score.max():
            self.ax_.contour(
                self.xx0, self.xx1, score, levels=[0], colors=EDGE, linewidths=1.2, zorder=1
            )

    def _draw_points(self, colours: list[Any]) -> None:
        if self.X is None:
            return
        look: dict[str, Any] = {"s": 20, "linewidths": 0.5, "edgecolors": "white", "zorder": 2}
        if self.y is None:
            self.ax_.scatter(*self.X.T, color="0.2", **look)
            return
        looks = zip(self.classes, colours, cycle(style.MARKERS), strict=False)
        for label, colour, marker in looks:
            self.ax_.scatter(*self.X[self.y == label].T, color=colour, marker=marker, **look)

    def _draw_legend(self, colours: list[Any], tints: list[Any]) -> None:
        """List the classes in their order: their points, or else their areas."""
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        names = [style.wrap(label) for label in self.classes]
        handles: list[Any]
        if self.X is None or self.y is None:
            handles = [
                Patch(label=name, fc=tint, ec=EDGE, lw=0.6)
                for name, tint in zip(names, tints, strict=True)
            ]
        else:
            handles = [
                Line2D([], [], linestyle="", label=name, color=colour, marker=marker)
                for name, colour, marker in zip(names, colours, cycle(style.MARKERS), strict=False)
            ]
        if self._may_reject:
            look: dict[str, Any] = {"fc": style.REJECT_FACE, "ec": style.REJECT_HATCH, "lw": 0.6}
            handles.append(Patch(label="review", hatch="////", **look))
        style.legend(self.ax_, handles)


def _evaluate(
    model: Any, grid: Any, shape: tuple[int, ...]
) -> tuple[Floats | None, Indices | None]:
    if hasattr(model, "boundary_scores"):
        return model.boundary_scores(grid).reshape(*shape, -1), None
    if not hasattr(model, "predict") or not hasattr(model, "classes_"):
        raise TypeError(
            "estimator must be a classifier, with boundary_scores(X) or predict(X) and classes_; "
            f"got {type(model).__name__}"
        )
    position = {label: k for k, label in enumerate(model.classes_.tolist())}
    labels = np.asarray(model.predict(grid)).tolist()
    return None, np.array([position.get(label, REJECT) for label in labels]).reshape(shape)


def _check_classes(y: ArrayLike, classes: NDArray[Any], n_samples: int) -> NDArray[Any]:
    labels = column(y)
    if labels.shape != (n_samples,):
        raise ValueError(f"y must have shape ({n_samples},) like the rows of X, got {labels.shape}")
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise ValueError(
            f"y contains {labels[unknown][0]!r}, not a class of the estimator: {classes.tolist()}"
        )
    return labels
