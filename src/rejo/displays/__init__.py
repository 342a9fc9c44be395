"""Plots of classifiers that may reject, in scikit-learn's display convention.

A display stores the arrays that it draws, draws them with ``plot(ax=None)`` and returns itself. So
you can draw it again in another figure without asking the classifier again. Class methods make one:
``from_estimator`` from a fitted classifier, ``from_predictions`` from its decisions, ``from_rows``
from a table of results. Curves drawn into axes that already hold some take the next colour, line
style and marker, and share the legend.

The displays have these arguments and attributes in common:

``estimator``
    a fitted classifier of this package, also in a pipeline or a search
``X``, ``y``
    points that it was not trained on, and their classes
``y_true``, ``y_pred``, ``sureness`` : array-like of shape (n_samples,)
    the true classes, the decisions without rejection (``predict_forced``), and any number that is
    higher for surer decisions, such as the largest posterior
``name`` : str
    name of the curve; by default that of the classifier
``curves`` : list of Curve
    named curves, with their bands; ``band_label`` says in the legend what the bands mean
``bayes`` : pair of arrays, default=None
    x and y of the curve of the best possible classifier
``ax`` : matplotlib Axes, default=None
    where to draw; a new figure by default. Curves that are already there are kept
``ax_``, ``figure_``, ``line_`` or ``lines_``
    the axes, the figure and the curves (Line2D) of the last plot

Plots need matplotlib, ``pip install "rejo[plot]"``, which is imported when something is drawn. The
modules, in the order to read them:

``style``
    colours for readers of any colour vision, axes, and a legend beside them
``_inputs``
    what the displays ask of a classifier, also of one in a pipeline or a search
``_curves``, ``_comparisons``
    a curve with its band, and curves from rows of results
``_regions``, ``_accuracy``, ``_risk``, ``_confusion``, ``_budget``
    one display each
"""

from rejo.displays._accuracy import AccuracyRejectDisplay
from rejo.displays._budget import ReviewBudgetDisplay
from rejo.displays._confusion import RejectConfusionDisplay
from rejo.displays._curves import Curve
from rejo.displays._regions import RejectRegionDisplay
from rejo.displays._risk import RiskCurveDisplay

__all__ = [
    "AccuracyRejectDisplay",
    "Curve",
    "RejectConfusionDisplay",
    "RejectRegionDisplay",
    "ReviewBudgetDisplay",
    "RiskCurveDisplay",
]
