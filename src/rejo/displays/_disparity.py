"""Accuracy of the decided cases of each group against the share of reviews."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import choice
from rejo.displays._curves import RANKING, Curve, draw_curves, draw_legend, draw_reference
from rejo.displays._inputs import column, described, judge_in_groups, rejected_first
from rejo.displays.style import (
    LINE_COLOURS,
    LINE_STYLES,
    Display,
    from_zero,
    legend,
    percent,
    sober,
    wrap,
)
from rejo.estimators import AMBIGUOUS
from rejo.metrics import DisparityCurve, disparity_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Show = Literal["accuracy", "gap"]
MAX_NAMED = 14  # lines with a colour and a name; the largest groups come first
MAX_BANDS = 3  # more intervals on top of each other cannot be told apart
DASHED = (0, (1.5, 1.5))


@dataclass(kw_only=True, eq=False, repr=False)
class DisparityDisplay(Display):
    """Accuracy of the decided cases of each group, as the share of reviews grows.

    All groups share one ranking and one cut. A line is thin and dotted where fewer than
    ``min_cases`` cases of its group are decided; groups that never have as many are left out, and
    the label of the axis says so. With ``show="gap"``: the gap between the best and the worst
    group, its interval, and the gap between the same two groups if every case were decided.

    Parameters
    ----------
    curve : DisparityCurve
        From :func:`rejo.metrics.disparity_curve`.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.displays import DisparityDisplay
    >>> X, y = make_synthetic_2(1000, random_state=0)
    >>> group = np.where(X[:, 0] < 0.3, "west", "east")
    >>> model = RejoLinear(reject_cost=0.2).fit(X[:200], y[:200])
    >>> display = DisparityDisplay.from_estimator(model, X[200:], y[200:], group[200:])
    >>> display.curve.groups.tolist()
    ['east', 'west']
    >>> print(display.curve.words(0.2))
    With 20.0 % of the cases in review, decisions are right for ... % of east and ... % of west:
    a gap of ... points (...). If every case were decided, it would be ...: no change beyond chance.
    """

    curve: DisparityCurve

    @classmethod
    @described
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        group: ArrayLike,
        *,
        show: Show = "accuracy",
        shares: Sequence[float] | None = None,
        min_cases: int = 30,
        ax: "Axes | None" = None,
    ) -> Self:
        """Review the queue of a fitted classifier, and plot.

        The order is that of ``queue(X, fill=True)``: rejected points first, then decided points,
        the least sure at the front. Novel points, and those that a policy sends to review, are
        reviewed at every share. If the decisions of the classifier depend on groups, ``group``
        must be those that it was fitted with.

        Parameters
        ----------
        %estimator, X, y, group, show, shares, min_cases, ax
        """
        model, found = judge_in_groups(estimator, X, group)
        rank = rejected_first(found.decision < 0, found.sureness)
        reviewed = None if found.kind is None else found.kind != AMBIGUOUS
        given: dict[str, Any] = {"reviewed": reviewed, "shares": shares, "min_cases": min_cases}
        curve = disparity_curve(column(y), model.classes_[found.forced], rank, group, **given)
        return cls(curve=curve).plot(ax=ax, show=show)

    @classmethod
    @described
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        sureness: ArrayLike,
        group: ArrayLike,
        *,
        show: Show = "accuracy",
        shares: Sequence[float] | None = None,
        min_cases: int = 30,
        ax: "Axes | None" = None,
    ) -> Self:
        """Review the least sure points of all groups first, and plot.

        Parameters
        ----------
        %y_true, y_pred, sureness, group, show, shares, min_cases, ax
        """
        curve = disparity_curve(
            column(y_true), y_pred, sureness, group, shares=shares, min_cases=min_cases
        )
        return cls(curve=curve).plot(ax=ax, show=show)

    def plot(self, ax: "Axes | None" = None, *, show: Show = "accuracy") -> Self:
        """Draw the accuracy of each group, or the gap, into ``ax`` or a new figure."""
        choice("show", show, ("accuracy", "gap"))
        ax = self._set_axes(ax)
        self.lines_: list[Any] = []
        if show == "accuracy":
            self._plot_accuracy(ax)
        else:
            self._plot_gap(ax)
        sober(ax)
        percent(ax.xaxis)
        percent(ax.yaxis)
        return self

    def _plot_accuracy(self, ax: "Axes") -> None:
        curve = self.curve
        enough = curve.n_decided >= curve.min_cases  # (n_shares, n_groups)
        largest = np.argsort(-curve.n_cases, kind="stable")
        shown = [g for g in largest if enough[:, g].any()]
        for i, g in enumerate(shown):
            named = i < MAX_NAMED
            colour = LINE_COLOURS[i % len(LINE_COLOURS)] if named else "0.75"
            style = LINE_STYLES[i // len(LINE_COLOURS) % len(LINE_STYLES)] if named else "-"
            y, safe = curve.accuracy[:, g], enough[:, g]
            self.lines_ += ax.plot(
                curve.share, np.where(safe, y, np.nan), color=colour, linestyle=style,
                linewidth=1.8 if named else 0.8, zorder=3 if named else 1,
                label=wrap(curve.groups[g]),
            )  # fmt: skip
            few = np.where(_next_to(~safe) & ~np.isnan(y), y, np.nan)
            ax.plot(curve.share, few, color=colour, linestyle=DASHED, linewidth=0.9, zorder=2)
            if len(shown) <= MAX_BANDS:
                ax.fill_between(
                    curve.share, curve.low[:, g], curve.high[:, g], where=safe, color=colour,
                    alpha=0.13, lw=0, zorder=1.5,
                )  # fmt: skip
        everyone = ax.plot(curve.share, curve.overall, color="black", linewidth=1, label="all")
        legend(ax, [*self.lines_[:MAX_NAMED], *everyone])
        ax.set(
            xlabel=self._x_label(len(curve.groups) - len(shown), len(shown) <= MAX_BANDS),
            ylabel="accuracy of the decided cases",
        )
        low = curve.accuracy[:, shown][enough[:, shown]]
        if low.size:  # a few decided cases of a small group must not flatten the rest
            pad = max(0.02, 0.15 * (1 - low.min()))
            ax.set_ylim(max(low.min() - pad, 0.0), 1.0 + pad / 4)

    def _x_label(self, left_out: int, bands: bool) -> str:
        curve = self.curve
        text = "share of all cases in review, one cut for all groups"
        notes = [f"dotted: fewer than {curve.min_cases} decided cases"]
        if left_out:
            groups = "group that never has" if left_out == 1 else "groups that never have"
            notes.append(f"without {left_out} {groups} as many")
        if bands:
            notes.append(f"band: {100 * curve.confidence:g} % interval")
        return f"{text}\n({'; '.join(notes)})"

    def _plot_gap(self, ax: "Axes") -> None:
        curve = self.curve
        band = f"{100 * curve.confidence:g} % interval"
        gap = Curve("gap", curve.share, curve.gap, curve.gap_low, curve.gap_high, RANKING)
        self.lines_ += draw_curves(ax, [gap], band)
        before = curve.gap - curve.change
        look: dict[str, Any] = {"color": "black", "linestyle": ":"}
        draw_reference(ax, curve.share, before, "the same two groups,\nevery case decided", **look)
        wide = np.flatnonzero(curve.change_low > 0)
        self.lines_ += ax.plot(
            curve.share[wide], curve.gap[wide], "o", color=LINE_COLOURS[1], markersize=5, zorder=4
        )
        from_zero(ax, "y")
        draw_legend(ax)
        note = "\n(dots: wider than without reviews, beyond chance)" if len(wide) else ""
        ax.set(
            xlabel=f"share of all cases in review{note}",
            ylabel="gap in accuracy, best to worst group",
        )


def _next_to(mask: Any) -> Any:
    """Also the neighbours of what is marked, so that a line has no hole."""
    grown = mask.copy()
    grown[1:] |= mask[:-1]
    grown[:-1] |= mask[1:]
    return grown
