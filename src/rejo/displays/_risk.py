"""Risk against the reject cost."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from rejo._errors import number
from rejo.displays._comparisons import curves_from_rows
from rejo.displays._curves import (
    REFERENCE,
    RING,
    Curve,
    CurveDisplay,
    check_curves,
    draw_legend,
    draw_reference,
)
from rejo.displays._inputs import described
from rejo.displays.style import from_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@described
@dataclass(kw_only=True, eq=False, repr=False)
class RiskCurveDisplay(CurveDisplay):
    """Risk against the reject cost: what a case costs on average, for any price of a review.

    The risk is ``reject_cost * R + E``, where a wrong decision costs 1. Where a curve lies above
    the dotted line, it would be cheaper to reject everything.

    Parameters
    ----------
    curves : list of Curve
        Named curves: ``x`` is the reject cost, ``y`` the risk.
    %bayes, band_label, operating_point

    Examples
    --------
    >>> from rejo.displays import RiskCurveDisplay
    >>> rows = [
    ...     {"method": "svm", "reject_cost": 0.1, "risk": 0.06},
    ...     {"method": "svm", "reject_cost": 0.4, "risk": 0.15},
    ... ]
    >>> display = RiskCurveDisplay.from_rows(rows, operating_point=0.2)
    >>> display.ax_.get_ylabel()
    'risk $w_r R + E$'
    """

    operating_point: float | None = None

    @classmethod
    @described
    def from_rows(
        cls,
        rows: Any,
        *,
        bayes: tuple[ArrayLike, ArrayLike] | None = None,
        operating_point: float | None = None,
        ax: "Axes | None" = None,
    ) -> Self:
        """Plot the risk of methods at several reject costs.

        Parameters
        ----------
        %rows, bayes, operating_point, ax
        """
        curves = curves_from_rows(rows, "reject_cost", "risk")
        display = cls(curves=curves, bayes=bayes, operating_point=operating_point)
        return display.plot(ax=ax)

    def _plot(self, ax: "Axes | None") -> None:
        if self.operating_point is not None:  # within the reject costs of every curve
            ends = [(min(curve.x), max(curve.x)) for curve in check_curves(self.curves)]
            low, high = (max(low for low, _ in ends), min(high for _, high in ends))
            number("operating_point", self.operating_point, low, high)
        ax, curves = self._draw(ax)
        # An infinite line leaves the limits to the curves.
        look: dict[str, Any] = {"color": "0.4", "lw": 1, "ls": ":", "gid": REFERENCE}
        ax.axline((0, 0), slope=1, label="reject everything", **look)
        if self.operating_point is not None:
            self._draw_point(float(self.operating_point), curves)
        from_zero(ax, "xy")
        ax.set(xlabel="reject cost $w_r$", ylabel="risk $w_r R + E$")
        draw_legend(ax)

    def _draw_point(self, cost: float, curves: list[Curve]) -> None:
        self.ax_.axvline(cost, color="0.6", linewidth=0.8, zorder=1)
        risks = [np.interp(cost, curve.x, curve.y) for curve in curves]
        label = f"operating point, $w_r$ = {cost:g}"
        look: dict[str, Any] = {"markersize": 9, "mfc": "none", "mec": "0.15"}
        draw_reference(self.ax_, [cost] * len(curves), risks, label, **RING, **look)
