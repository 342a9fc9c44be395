"""Errors left against reviews done."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rejo._typing import Floats
from rejo.displays._curves import RANKING, RING, Curve, draw_curves, draw_legend, draw_reference
from rejo.displays._inputs import column, described, rank, rejected_first
from rejo.displays.style import Display, from_zero, percent, sober
from rejo.metrics import accuracy_reject_curve, check_mask

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(kw_only=True, eq=False, repr=False)
class ReviewBudgetDisplay(Display):
    """Errors left against reviews done, when the most doubtful points are reviewed first.

    Reviews are assumed to be right. Reviews in random order follow the straight line; the ideal
    order finds an error in every review until none is left. Where points are equally doubtful, the
    curve is straight.

    Parameters
    ----------
    reviewed : ndarray of shape (n_steps,)
        Reviews as a share of all points, from 0 to 1.
    errors : ndarray of shape (n_steps,)
        Errors left, as a share of all points, from the error rate to 0.
    n_samples : int
        Number of points.
    n_rejected : int, default=None
        How many of them the classifier itself rejects; marked on the curve.
    name : str, default="classifier"
        What the legend calls it.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo import RejoSVC
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.displays import ReviewBudgetDisplay
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejoSVC(C=10, gamma=4, reject_cost=0.2).fit(X[:200], y[:200])
    >>> display = ReviewBudgetDisplay.from_estimator(model, X[200:], y[200:])
    >>> left = np.interp([0, 0.1, 0.2], display.reviewed, display.errors)
    >>> print("Errors left after 0, 20 and 40 of 200 reviews:", (200 * left).round())
    Errors left after 0, 20 and 40 of 200 reviews: [22. 13.  7.]
    """

    reviewed: Floats
    errors: Floats
    n_samples: int
    n_rejected: int | None = None
    name: str = "classifier"

    @classmethod
    @described
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Self:
        """Review the queue of a fitted classifier, and plot.

        The order is that of ``queue(X, fill=True)``: rejected points first, the most doubtful at
        the front, then decided points, the least sure at the front.

        Parameters
        ----------
        %estimator, X, y, name
        **options
            As in :meth:`from_predictions`.
        """
        y_pred, sureness, rejected, name = rank(estimator, X, name)
        return cls.from_predictions(y, y_pred, sureness, rejected=rejected, name=name, **options)

    @classmethod
    @described
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sureness: ArrayLike,
        *,
        rejected: ArrayLike | None = None,
        counts: bool = False,
        name: str = "classifier",
        ax: "Axes | None" = None,
    ) -> Self:
        """Review the least sure points first, and plot.

        Parameters
        ----------
        %y_true, y_pred, sureness, rejected, counts, name, ax
        """
        true, score = column(y_true), np.asarray(sureness, dtype=np.float64)
        n_rejected = None
        if rejected is not None:
            mask = check_mask("rejected", rejected, len(true))
            n_rejected = int(mask.sum())
            # Otherwise the curve raises the error.
            if score.shape == mask.shape and np.isfinite(score).all():
                score = rejected_first(mask, score)
        # A reviewed point is a rejected one that counts as right.
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

        With ``counts``, the axes show numbers of points instead of shares.
        """
        ax = self._set_axes(ax)
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
            left = np.interp(own, reviewed, errors)
            look: dict[str, Any] = {"markersize": 7, "mfc": "white", "mec": colour, "mew": 1.5}
            draw_reference(ax, [own], [left], "all its rejections reviewed", **RING, **look)
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
