"""Classification with a reject option: decide the clear cases, send the doubtful ones to review.

A classifier that must always answer also answers where it cannot know. Give it a third answer,
"review", at a price between that of a right and that of a wrong decision, and the best it can do is
to keep a *reject region* between the classes. Training two classifiers for the two edges of that
region lets them cross. The data replication method of Cardoso and colleagues trains one: it puts
the reject class between its neighbours on an ordered scale, copies every point once for each
boundary, marks each copy with a constant extra feature, and gives it the label and the cost of an
error that belong to that boundary. An ordinary binary classifier on the copies then yields a single
function with ordered thresholds, so that boundaries never cross. The same table serves K ordered
classes with K - 1 reject regions, and ordinal classification with none.

The modules, in the order to read them:

``rejo.replication``
    the reduction: labels, costs and extension of the copies, and the way back
``rejo.solvers``
    the optimisation problems, on arrays of floats, that never make the copies
``rejo.metrics``
    rejection rate, error rate and the risk that joins them
``rejo.estimators``
    scikit-learn classifiers: :class:`RejoSVC`, :class:`RejoLinear`, :class:`RejoMLP`, and
    :class:`ReplicationClassifier` over any other binary classifier
``rejo.datasets``
    the synthetic problems of the paper, with their true posteriors
``rejo.displays``
    pictures of the reject region
``rejo.torch``
    a head and a loss for deep networks; needs PyTorch, and is never imported by the others
``rejo.cli``
    the ``rejo`` command
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejo.datasets import make_synthetic_1, make_synthetic_2
    from rejo.displays import RejectRegionDisplay
    from rejo.estimators.linear import RejoLinear
    from rejo.estimators.mlp import RejoMLP
    from rejo.estimators.replication import ReplicationClassifier
    from rejo.estimators.svm import RejoSVC
    from rejo.metrics import accepted_accuracy, empirical_risk, error_rate, rejection_rate
    from rejo.selection import compare, make_reject_scorer

__version__ = "0.1.0"

__all__ = [
    "RejectRegionDisplay",
    "RejoLinear",
    "RejoMLP",
    "RejoSVC",
    "ReplicationClassifier",
    "accepted_accuracy",
    "compare",
    "empirical_risk",
    "error_rate",
    "make_reject_scorer",
    "make_synthetic_1",
    "make_synthetic_2",
    "rejection_rate",
]

# Where each public name lives. It is imported at first use: scikit-learn takes about a second to
# import, and `rejo --help` should not wait for it.
_HOMES = {
    "RejectRegionDisplay": "rejo.displays",
    "RejoLinear": "rejo.estimators.linear",
    "RejoMLP": "rejo.estimators.mlp",
    "RejoSVC": "rejo.estimators.svm",
    "ReplicationClassifier": "rejo.estimators.replication",
    "accepted_accuracy": "rejo.metrics",
    "compare": "rejo.selection",
    "empirical_risk": "rejo.metrics",
    "error_rate": "rejo.metrics",
    "make_reject_scorer": "rejo.selection",
    "make_synthetic_1": "rejo.datasets",
    "make_synthetic_2": "rejo.datasets",
    "rejection_rate": "rejo.metrics",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rejo' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
