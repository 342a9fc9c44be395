"""Posteriors against what happened."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from numpy.typing import ArrayLike

from rejo.displays._curves import Curve, draw_curves, draw_legend, draw_reference
from rejo.displays._inputs import column, described
from rejo.displays.style import Display, percent, sober
from rejo.estimators import final_classifier
from rejo.metrics import ReliabilityTable, reliability_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Bins = Literal["quantile", "width"]


@dataclass(kw_only=True, eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Posteriors against what happened, to see whether they can be taken at their word.

    Each marker is a bin of points with similar posteriors.  On the diagonal, posteriors of 70 %
    come true in 70 % of the points.  Below it they promise too much, above it too little.  The band
    is the Wilson interval of the observed share.

    Parameters
    ----------
    table : ReliabilityTable
        From :func:`rejo.metrics.reliability_table`.
    label : a class, default=None
        The class whose posterior it is; ``None`` for the likeliest class of each point.
    name : str, default="classifier"
        What the legend calls it.

    Examples
    --------
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.displays import ReliabilityDisplay
    >>> X, y = make_synthetic_2(400, random_state=0)
    >>> model = RejoLinear(reject_cost=None).fit(X[:200], y[:200])
    >>> display = ReliabilityDisplay.from_estimator(model, X[200:], y[200:], n_bins=5)
    >>> table = display.table
    >>> [f"{p:.0%} said, {share:.0%} seen" for p, share in zip(table.predicted, table.observed)]
    ['55% said, 50% seen', '65% said, 62% seen', '74% said, 75% seen', '83% said, 85% seen',
    '92% said, 95% seen']
    """

    table: ReliabilityTable
    label: Any = None
    name: str = "classifier"

    @classmethod
    @described
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, name: str | None = None, **options: Any
    ) -> Self:
        """Compare the posteriors of a fitted classifier with the classes of new points, and plot.

        Parameters
        ----------
        estimator : estimator
            Any fitted classifier with ``predict_proba``.
        %X, y, name
        **options
            As in :meth:`from_predictions`.
        """
        if not hasattr(estimator, "predict_proba"):
            raise TypeError(
                f"estimator={type(final_classifier(estimator)).__name__} has no predict_proba, so "
                "there are no posteriors to compare; ThresholdRejectClassifier around a classifier "
                "calibrates its scores"
            )
        p, classes = estimator.predict_proba(X), estimator.classes_
        name = type(final_classifier(estimator)).__name__ if name is None else name
        return cls.from_predictions(y, p, classes=classes, name=name, **options)

    @classmethod
    @described
    def from_predictions(
        cls,
        y_true: ArrayLike,
        p: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        label: Any = None,
        n_bins: int = 10,
        bins: Bins = "quantile",
        sample_weight: ArrayLike | None = None,
        name: str = "classifier",
        ax: "Axes | None" = None,
    ) -> Self:
        """Compare posteriors with the true classes, and plot.

        Parameters
        ----------
        %y_true
        p : array-like of shape (n_samples, n_classes) or (n_samples,)
            Posteriors; of two classes, those of the second are enough.
        classes : array-like of shape (n_classes,), default=None
            Classes of the columns of ``p``; by default the sorted labels in ``y_true``.
        %label, n_bins, bins, sample_weight, name, ax
        """
        table = reliability_table(
            column(y_true), p, classes=classes, label=label, n_bins=n_bins, bins=bins,
            sample_weight=sample_weight,
        )  # fmt: skip
        return cls(table=table, label=label, name=name).plot(ax=ax)

    def _plot(self, ax: "Axes | None") -> None:
        ax = self._set_axes(ax)
        table = self.table
        curve = Curve(self.name, table.predicted, table.observed, table.low, table.high)
        (self.line_,) = draw_curves(ax, [curve], "95 % interval")
        draw_reference(ax, [0, 1], [0, 1], "reliable", color="0.4", linewidth=1, linestyle=":")
        sober(ax)
        percent(ax.xaxis)
        percent(ax.yaxis)
        what = "the likeliest class" if self.label is None else f"class {self.label}"
        ax.set(xlabel=f"posterior of {what}", ylabel="share that are of this class")
        draw_legend(ax)
