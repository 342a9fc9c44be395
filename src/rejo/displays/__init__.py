"""Plots of classifiers that may reject, in scikit-learn's display convention.

A display stores the arrays that it draws, draws them with ``plot(ax=None)`` and returns itself. So
you can draw it again in another figure without asking the classifier again. Class methods make one:
``from_estimator`` from a fitted classifier, ``from_predictions`` from its decisions, ``from_rows``
from a table of results. Curves drawn into axes that already hold some take the next colour, line
style and marker, and share the legend.

After a plot, ``ax_``, ``figure_`` and ``line_`` or ``lines_`` hold its axes, figure and curves.

Plots need matplotlib, ``pip install "rejo[plot]"``, which is imported when something is drawn.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.displays._accuracy import AccuracyRejectDisplay
from rejo.displays._budget import ReviewBudgetDisplay
from rejo.displays._confusion import RejectConfusionDisplay
from rejo.displays._curves import Curve
from rejo.displays._disparity import DisparityDisplay
from rejo.displays._regions import RejectRegionDisplay
from rejo.displays._reliability import ReliabilityDisplay
from rejo.displays._risk import RiskCurveDisplay
from rejo.displays.style import LINE_COLOURS, percent, sober

__all__ = [
    "AccuracyRejectDisplay",
    "Curve",
    "DisparityDisplay",
    "RejectConfusionDisplay",
    "RejectRegionDisplay",
    "ReliabilityDisplay",
    "ReviewBudgetDisplay",
    "RiskCurveDisplay",
]
