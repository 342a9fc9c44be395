"""What happened to each class: decided correctly, sent to review, decided wrongly."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo.displays._inputs import column, described, judge
from rejo.displays.style import BLUE, VERMILION, Display, legend, tint
from rejo.estimators import final_step
from rejo.metrics import outcomes, reject_confusion_matrix

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A hue for each outcome. Its depth grows with the square root of the share in the row, so that a
# few errors show beside many right decisions.
HUES = {"right": BLUE, "review": "0.35", "wrong": VERMILION}
DEEPEST = 0.7  # black text can be read on any hue up to this


@dataclass(kw_only=True, eq=False, repr=False)
class RejectConfusionDisplay(Display):
    """Table of true classes against decisions and reviews, with counts and shares of each row.

    Blue is right, grey is sent to review, vermilion is wrong; a deeper colour is a larger share.

    Parameters
    ----------
    matrix : ndarray of shape (K, K + 1) or (K, 2 K - 1)
        Counts, or sums of weights, as from :func:`rejo.metrics.reject_confusion_matrix`.
    classes : ndarray of shape (K,)
        The classes, in the order of the rows.
    ordinal : bool, default=False
        Whether there is a review column between any two neighbouring classes; otherwise all
        reviews are in the last column.

    Attributes
    ----------
    text_ : ndarray of matplotlib Text, of the shape of ``matrix``
        What is written in the cells.
    shares_ : ndarray of the shape of ``matrix``
        Shares of each true class; 0 in the row of a class without points.

    Examples
    --------
    >>> from rejo.displays import RejectConfusionDisplay
    >>> y_true, y_pred = [1, 1, 2, 2, 3], [1, -1, 2, -1, 2]
    >>> display = RejectConfusionDisplay.from_predictions(y_true, y_pred)
    >>> display.shares_
    array([[0.5, 0. , 0. , 0.5],
           [0. , 0.5, 0. , 0.5],
           [0. , 1. , 0. , 0. ]])
    """

    matrix: NDArray[Any]
    classes: NDArray[Any]
    ordinal: bool = False

    @classmethod
    @described
    def from_estimator(
        cls, estimator: Any, X: Any, y: ArrayLike, *, ordinal: bool = False, **options: Any
    ) -> Self:
        """Let a fitted classifier decide, and plot.

        Without ``ordinal``, any classifier will do.

        Parameters
        ----------
        %estimator, X, y, ordinal
        **options
            As in :meth:`from_predictions`.
        """
        lower = None
        if ordinal:
            model, judgement = judge(estimator, X)
            rejected = judgement.decision < 0
            if (judgement.upper - judgement.lower)[rejected].max(initial=1) > 1:
                raise ValueError(
                    f"ordinal=True needs rejections between neighbouring classes, but "
                    f"{type(model).__name__} rejects between others too; use ordinal=False"
                )
            y_pred, lower = model.outputs()[judgement.decision], model.classes_[judgement.lower]
        else:
            model, X = final_step(estimator, X)
            y_pred = model.predict(X)
        label = getattr(model, "reject_label_", None)
        return cls.from_predictions(
            y, y_pred, reject_label=label, classes=model.classes_, lower=lower, **options
        )

    @classmethod
    @described
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        reject_label: Any = None,
        classes: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Count decisions, and plot.

        Parameters
        ----------
        y_true, y_pred : array-like of shape (n_samples,)
            True classes, and decisions, with ``reject_label`` where the classifier rejects.
        %reject_label
        classes : array-like of shape (n_classes,), default=None
            All classes in the order of the rows; by default the sorted labels.
        lower : array-like of shape (n_samples,), default=None
            For each rejected point, the lower of the two classes that it lies between, as in the
            column ``lower`` of ``review(X)``. There is then a review column between any two
            neighbours. Needs ``classes``, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the points; the table then holds sums of weights.
        %ax
        """
        true, pred = (y if np.ndim(y) == 1 else column(y) for y in (y_true, y_pred))
        found = outcomes(true, pred, reject_label, classes)
        matrix = reject_confusion_matrix(
            true, pred, reject_label=reject_label, classes=classes, lower=lower,
            sample_weight=sample_weight,
        )  # fmt: skip
        classes = np.array(found.coded(classes)[0]) if classes is None else np.asarray(classes)
        display = cls(matrix=matrix, classes=classes, ordinal=lower is not None)
        return display.plot(ax=ax)

    @property
    def shares_(self) -> NDArray[np.float64]:
        """Shares of each true class."""
        totals = self.matrix.sum(axis=1, keepdims=True)
        return self.matrix / np.where(totals > 0, totals, 1)

    def _plot(self, ax: "Axes | None") -> None:
        K = len(self.classes)
        names = [str(label) for label in self.classes]
        shape = K, 2 * K - 1 if self.ordinal else K + 1
        if np.shape(self.matrix) != shape:
            raise ValueError(
                f"matrix must have shape {shape} for {K} classes and ordinal={self.ordinal!r}, got "
                f"{np.shape(self.matrix)}"
            )
        own = range(0, 2 * K, 2) if self.ordinal else range(K)  # column of each class
        titles = ["review"] * shape[1]
        for k in range(K):
            titles[own[k]] = names[k]
        ax = self._set_axes(ax, (2.4 + 0.85 * shape[1], 1.1 + 0.75 * K))
        shares, colours = self.shares_, np.empty((*shape, 3))
        self.text_ = np.empty(shape, dtype=object)
        for k, o in np.ndindex(shape):
            outcome = "wrong" if o in own else "review"
            hue = HUES["right" if o == own[k] else outcome]
            share = float(shares[k, o])
            colours[k, o] = tint(hue, DEEPEST * np.sqrt(share))
            self.text_[k, o] = self._write(k, o, share)
        ax.imshow(colours, aspect="auto")
        # White gaps separate the cells without competing with the numbers, as lines would.
        for edge in range(1, shape[1]):
            ax.axvline(edge - 0.5, color="white", linewidth=2)
        for edge in range(1, K):
            ax.axhline(edge - 0.5, color="white", linewidth=2)
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        ax.set_xticks(range(shape[1]), titles)
        ax.set_yticks(range(K), names)
        ax.set(xlabel="decision", ylabel="true class")
        self._draw_legend()

    def _write(self, k: int, o: int, share: float) -> Any:
        count = self.matrix[k, o]
        text, ink = (f"{count:.6g}\n{_percent(share)}", "black") if count else ("0", "0.6")
        return self.ax_.text(o, k, text, ha="center", va="center", color=ink, fontsize=9)

    def _draw_legend(self) -> None:
        from matplotlib.patches import Patch

        handles = [Patch(facecolor=tint(hue, DEEPEST), label=name) for name, hue in HUES.items()]
        legend(self.ax_, handles, title="% of the true class")


def _percent(share: float) -> str:
    """Round to whole percents, but show 0% and 100% only where they are exact."""
    if 0 < share < 0.01:
        return "<1%"
    if 0.99 < share < 1:
        return ">99%"
    return f"{100 * share:.0f}%"
