"""Classification with a reject option: decide the clear cases, send the doubtful ones to review.

A classifier that must always answer also answers where it cannot know. Give it one more answer,
"review", at a price between that of a right and that of a wrong decision. There are two ways to
use it.

*Posteriors and prices.* Estimate the probability of each class. The expected cost of each decision,
and of a review, follows from the prices, and the lowest is taken. This works for any prices and any
classes; it is as good as the posteriors.

*Learned boundaries.* Keep a *reject region* between the classes, and learn its edges. The data
replication method of Cardoso and colleagues copies every point once for each boundary, marks each
copy with a constant extra feature, and gives it the label and the cost of an error that belong to
that boundary. An ordinary binary classifier on the copies is a single function with ordered
thresholds, so that boundaries never cross. The same serves K ordered classes with K - 1 reject
regions, and ordinal classification with none.

The rooms, in the order to read them: ``decisions`` (from posteriors and prices to decisions),
``prices`` (as people have them), ``typical`` (what a typical case looks like), ``replication`` (the
reduction), ``solvers``, ``metrics``, ``estimators`` (scikit-learn classifiers), ``explain`` (why a
case is in doubt), ``baselines`` (decisions by the posteriors of any classifier, and the rivals),
``catalogue`` (all methods by name), ``selection`` (operating points, promises, models,
comparisons), ``datasets``, ``displays``, ``tables`` (from files to features), ``report`` (one HTML
page), ``persistence`` (model files that are safe to open, ONNX), ``scoring``, ``distributed``,
``book`` (decisions, answers, what came of them), ``torch``, ``versions`` and ``cli``, the ``rejo``
command.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # not from typing, whose import a Ctrl-C could interrupt
if TYPE_CHECKING:
    from typing import Any

    from rejo.baselines import BlendClassifier, NoveltyReject, ThresholdRejectClassifier
    from rejo.estimators import (
        RejoBoost,
        RejoKernelLogistic,
        RejoLinear,
        RejoMLP,
        RejoSVC,
        ReplicationClassifier,
        judge,
        queue,
        review,
    )
    from rejo.explain import why
    from rejo.persistence import ModelFileError, load, save, to_onnx
    from rejo.selection import RejectClassifierCV, TargetUnattainable, compare, reject_curve
    from rejo.versions import show_versions

__version__ = "0.1.0"

__all__ = [
    "BlendClassifier",
    "ModelFileError",
    "NoveltyReject",
    "RejectClassifierCV",
    "RejoBoost",
    "RejoKernelLogistic",
    "RejoLinear",
    "RejoMLP",
    "RejoSVC",
    "ReplicationClassifier",
    "TargetUnattainable",
    "ThresholdRejectClassifier",
    "compare",
    "judge",
    "load",
    "queue",
    "reject_curve",
    "review",
    "save",
    "show_versions",
    "to_onnx",
    "why",
]

# Rooms and names are imported at first use: scikit-learn takes about a second to import, and
# `rejo --help` should not wait for it.
_ROOMS = [
    "baselines",
    "catalogue",
    "datasets",
    "decisions",
    "displays",
    "distributed",
    "estimators",
    "metrics",
    "prices",
    "replication",
    "report",
    "selection",
    "tables",
    "torch",
]
_HOMES = ("estimators", "explain", "baselines", "selection", "persistence", "versions")


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"rejo.{name}")
    if name in __all__:
        for home in _HOMES:
            module = import_module(f"rejo.{home}")
            if name in module.__all__:
                value = globals()[name] = getattr(module, name)
                return value
    raise AttributeError(f"module 'rejo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])
