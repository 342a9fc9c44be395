"""Accuracy against rejection rate."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import choice
from rejo._typing import Floats
from rejo.displays._comparisons import curves_from_rows
from rejo.displays._curves import RANKING, Curve, CurveDisplay, draw_legend
from rejo.displays._inputs import column, described, rank
from rejo.displays.style import percent
from rejo.metrics import accuracy_reject_curve, bootstrap_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Accuracy = Literal["accepted", "overall"]
YLABELS = {
    "accepted": "accuracy on the accepted points",
    "overall": "overall accuracy $1 - E$\n(rejections count as right)",
}
N_GRID = 101  # rejection rates at which a bootstrap band is evaluated


@described
@dataclass(kw_only=True, eq=False, repr=False)
class AccuracyRejectDisplay(CurveDisplay):
    """Accuracy against rejection rate: what a classifier gains by leaving cases to review.

    A curve is made in one of two ways, and the legend says which. *By refitting*: each point, with
    a marker, is a classifier trained for its own reject cost; use :meth:`from_rows`. *By ranking*:
    a threshold moves along the sureness of one classifier; use :meth:`from_estimator` or
    :meth:`from_predictions`. To have both in one plot, draw the second into the axes of the first.

    Parameters
    ----------
    curves : list of Curve
        Named curves: ``x`` is the rejection rate, ``y`` the accuracy.
    %bayes, band_label, accuracy

    Examples
    --------
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.displays import AccuracyRejectDisplay
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> model = RejoLinear(reject_cost=0.2).fit(X[:200], y[:200])
    >>> display = AccuracyRejectDisplay.from_estimator(model, X[200:], y[200:])
    >>> display.curves[0].name, display.curves[0].traced
    ('RejoLinear', 'by ranking')

    Several methods, each refitted for every reject cost:

    >>> rows = [
    ...     {"method": "svm", "reject_cost": 0.1, "R": 0.4, "E": 0.03, "accepted_accuracy": 0.95},
    ...     {"method": "svm", "reject_cost": 0.4, "R": 0.2, "E": 0.08, "accepted_accuracy": 0.90},
    ... ]
    >>> display = AccuracyRejectDisplay.from_rows(rows, ax=display.ax_)
    >>> display.curves[0].x
    array([0.2, 0.4])
    """

    accuracy: Accuracy = "accepted"

    @classmethod
    @described
    def from_rows(
        cls,
        rows: Any,
        accuracy: Accuracy = "accepted",
        *,
        bayes: tuple[ArrayLike, ArrayLike] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot results of methods that were refitted for each reject cost.

        A point of a curve is the mean accuracy, and the mean R, over the runs at one reject cost.

        Parameters
        ----------
        %rows
        %accuracy, bayes, ax
        """
        choice("accuracy", accuracy, YLABELS)
        y = "accepted_accuracy" if accuracy == "accepted" else "E"
        curves = curves_from_rows(rows, "R", y)
        if accuracy == "overall":
            curves = [curve._replace(y=1 - curve.y) for curve in curves]
        display = cls(curves=curves, accuracy=accuracy, bayes=bayes)
        return display.plot(ax=ax)

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        accuracy: Accuracy = "accepted",
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Rank the points by the sureness of one fitted classifier, and plot.

        Parameters
        ----------
        %estimator, X, y, accuracy, name
        **options
            As in :meth:`from_predictions`.
        """
        y_pred, sureness, _, name = rank(estimator, X, name)
        return cls.from_predictions(y, y_pred, sureness, accuracy, name=name, **options)

    @classmethod
    @described
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sureness: ArrayLike,
        accuracy: Accuracy = "accepted",
        *,
        n_resamples: int = 0,
        random_state: Any = None,
        name: str = "classifier",
        bayes: tuple[ArrayLike, ArrayLike] | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Rank the points by how sure their decisions are, and plot.

        Parameters
        ----------
        %y_true, y_pred, sureness, accuracy, n_resamples, random_state, name, bayes, ax
        """
        true = column(y_true)

        def trace(true: Any, pred: Any, sureness: Any) -> tuple[Floats, Floats]:
            curve = accuracy_reject_curve(true, pred, sureness, accuracy=accuracy)
            defined = ~np.isnan(curve.accuracy)
            return curve.rejection_rate[defined], curve.accuracy[defined]

        curve = Curve(name, *trace(true, y_pred, sureness), traced=RANKING)
        about = {}
        if n_resamples:
            grid = np.linspace(0, curve.x.max(), N_GRID)

            def on_grid(*arrays: Any) -> Floats:
                return np.interp(grid, *trace(*arrays))

            arrays = true, np.asarray(y_pred), np.asarray(sureness)
            band = bootstrap_interval(
                on_grid, *arrays, n_resamples=n_resamples, confidence=0.9, random_state=random_state
            )
            low, high = (np.interp(curve.x, grid, limit) for limit in (band.low, band.high))
            curve = curve._replace(low=low, high=high)
            about["band_label"] = f"5% to 95% of {n_resamples}\nbootstrap samples"
        display = cls(curves=[curve], accuracy=accuracy, bayes=bayes, **about)
        return display.plot(ax=ax)

    def _plot(self, ax: "Axes | None") -> None:
        choice("accuracy", self.accuracy, YLABELS)
        ax, _ = self._draw(ax)
        percent(ax.xaxis)
        percent(ax.yaxis)
        ax.set(xlabel="rejection rate R", ylabel=YLABELS[self.accuracy])
        draw_legend(ax, tell_traced=True)
