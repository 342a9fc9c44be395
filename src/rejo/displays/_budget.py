"""Errors left against reviews done."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo.displays._curves import RANKING, Curve, draw_curves, draw_legend, draw_reference
from rejo.displays._inputs import column, judge
from rejo.displays.style import from_zero, get_axes, percent, require_matplotlib, sober
from rejo.metrics import accuracy_reject_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class ReviewBudgetDisplay:
    """Errors left against reviews done, as the queue is worked off from the most doubtful on.

    A review is taken to be right. The curve starts at the error rate of a classifier that decides
    everything and ends at 0, when everything is reviewed. Reviews in random order go down the
    straight line; the ideal order would find an error in every review until none is left. Points of
    equal doubt have no order: between the first and the last of them the curve is straight.

    Use :meth:`from_estimator` or :meth:`from_predictions` to make one.

    Parameters
    ----------
    reviewed : ndarray of shape (n_steps,)
        Reviews as a share of all points, from 0 to 1.
    errors : ndarray of shape (n_steps,)
        Errors left, as a share of all points, from the error rate to 0.
    n_samples : int
        Number of points.
    n_rejected : int, default=None
        How many of them the classifier itself rejects: marked on the curve.
    name : str, default="classifier"
        Name of the curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The axes of the last plot.
    figure_ : matplotlib Figure
        The figure that holds them.
    line_ : matplotlib Line2D
        The curve of the last plot.

    Examples
    --------
    >>> from rejo import RejoSVC, make_synthetic_1
    >>> from rejo.displays import ReviewBudgetDisplay
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejoSVC(C=10, gamma=4, reject_cost=0.2).fit(X[:200], y[:200])
    >>> display = ReviewBudgetDisplay.from_estimator(model, X[200:], y[200:])  # doctest: +SKIP
    """

    ax_: "Axes"
    figure_: "Figure | SubFigure"
    line_: Any

    def __init__(
        self,
        *,
        reviewed: NDArray[np.float64],
        errors: NDArray[np.float64],
        n_samples: int,
        n_rejected: int | None = None,
        name: str = "classifier",
    ) -> None:
        self.reviewed = reviewed
        self.errors = errors
        self.n_samples = n_samples
        self.n_rejected = n_rejected
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        counts: bool = False,
        name: str | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Work off the queue of a fitted classifier, and plot.

        The order is that of ``queue(X, fill=True)``: the rejected points, the most doubtful first,
        then the decided ones, the least sure first.

        Parameters
        ----------
        estimator : estimator instance
            A fitted classifier of this package; also at the end of a ``Pipeline``, or in a search
            such as ``GridSearchCV``.
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Points that it was not trained on.
        y : array-like of shape (n_samples,)
            Their classes.
        counts : bool, default=False
            Whether the axes count points, instead of shares.
        name : str, default=None
            Name of the curve; by default that of the classifier.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ReviewBudgetDisplay
            The display, plotted.
        """
        require_matplotlib(cls.__name__)
        model, judgement = judge(estimator, X)
        return cls.from_predictions(
            y,
            model.classes_[judgement.forced],
            judgement.sureness,
            rejected=judgement.decision < 0,
            counts=counts,
            name=type(model).__name__ if name is None else name,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        confidence: ArrayLike,
        *,
        rejected: ArrayLike | None = None,
        counts: bool = False,
        name: str = "classifier",
        ax: "Axes | None" = None,
    ) -> Self:
        """Review the points from the lowest confidence on, and plot.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            True classes.
        y_pred : array-like of shape (n_samples,)
            Decisions for all points, without rejection, as ``predict_forced`` gives them.
        confidence : array-like of shape (n_samples,)
            Any score that is higher where a decision is more certain, such as the largest
            posterior.
        rejected : array-like of bool of shape (n_samples,), default=None
            Points that the classifier rejects: they are reviewed before the others.
        counts : bool, default=False
            Whether the axes count points, instead of shares.
        name : str, default="classifier"
            Name of the curve.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ReviewBudgetDisplay
            The display, plotted.
        """
        require_matplotlib(cls.__name__)
        true, score = column(y_true), np.asarray(confidence, dtype=np.float64)
        n_rejected = None
        if rejected is not None:
            mask = np.asarray(rejected)
            if mask.shape != true.shape or mask.dtype != bool:
                raise ValueError(
                    f"rejected must be True or False for each of the {len(true)} points, got shape "
                    f"{mask.shape} of {mask.dtype}; such as model.reject_mask(X)"
                )
            n_rejected = int(mask.sum())
            # Else the error is that of the curve.
            if score.shape == mask.shape and np.isfinite(score).all():
                pairs = np.column_stack([~mask, score])
                score = np.unique(pairs, axis=0, return_inverse=True)[1].ravel().astype(np.float64)
        # To review a point is to reject it, and then to have it right.
        curve = accuracy_reject_curve(true, y_pred, score, accuracy="overall")
        display = cls(
            reviewed=curve.rejection_rate,
            errors=1 - curve.accuracy,
            n_samples=len(true),
            n_rejected=n_rejected,
            name=name,
        )
        return display.plot(ax=ax, counts=counts)

    def plot(self, ax: "Axes | None" = None, *, counts: bool = False) -> Self:
        """Draw the curve, the random and the ideal order, and the classifier's own rejections.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default. Curves that are there already stay.
        counts : bool, default=False
            Whether the axes count points, instead of shares.

        Returns
        -------
        ReviewBudgetDisplay
            The display itself.
        """
        ax = get_axes(type(self).__name__, ax, (6.8, 4.2))
        self.ax_, self.figure_ = ax, ax.figure
        unit = self.n_samples if counts else 1
        reviewed, errors = np.asarray(self.reviewed) * unit, np.asarray(self.errors) * unit
        (self.line_,) = draw_curves(ax, [Curve(self.name, reviewed, errors, traced=RANKING)], "")
        worst, everything = errors[0], reviewed[-1]
        colour = self.line_.get_color()
        thin: dict[str, Any] = {"color": colour, "linewidth": 0.9}
        draw_reference(ax, [0, everything], [worst, 0], "random order", linestyle="--", **thin)
        draw_reference(
            ax, [0, worst, everything], [worst, 0, 0], "ideal order", linestyle=":", **thin
        )
        if self.n_rejected is not None:
            own = self.n_rejected * unit / self.n_samples
            draw_reference(
                ax,
                [own],
                [np.interp(own, reviewed, errors)],
                "all its rejections reviewed",
                linestyle="",
                marker="o",
                markersize=7,
                markerfacecolor="white",
                markeredgecolor=colour,
                markeredgewidth=1.5,
                zorder=4,
            )
        sober(ax)
        if counts:
            ax.set(xlabel="reviews done", ylabel="errors left")
        else:
            percent(ax.xaxis)
            percent(ax.yaxis)
            ax.set(xlabel="reviews done, of all points", ylabel="errors left, of all points")
        from_zero(ax, "xy")
        draw_legend(ax)
        return self
