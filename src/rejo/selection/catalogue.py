"""The methods that rejo knows: models for a table, data replication and its rivals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rejo.baselines import (
    EmbeddedRejectSVC,
    FrankHallReject,
    SurrogateRejectSVC,
    ThresholdRejectClassifier,
    TwoClassifierReject,
)
from rejo.estimators import RejoLinear, RejoMLP, RejoSVC, ReplicationClassifier

if TYPE_CHECKING:
    from rejo.selection.choice import Choice

FAMILIES = ("logistic", "svm", "mlp", "boosting")
COSTS = (0.5, 4.0, 32.0, 256.0)  # C of a support vector machine
WIDTHS = (0.3, 1.5, 6.0)  # gamma x number of features, for standardised features
DECAYS = (1e-2, 1e-1, 1.0, 10.0)  # weight decay of a network


class Family(NamedTuple):
    """A kind of model with a reject option, its grid, and the plain classifier it corresponds to.

    ``plain`` has the same parameters; ``inside`` is what stands before their names in the grid of
    the model.
    """

    model: Any
    grid: dict[str, Any]
    plain: Any
    inside: str = ""


def make_family(name: str, n_features: int, random_state: int | None = 0) -> Family:
    """Return a family by its name, for standardised features.

    Parameters
    ----------
    name : {"logistic", "svm", "mlp", "boosting"}
    n_features : int
        The widths of kernels depend on it.
    random_state : int, default=0

    Returns
    -------
    family : Family
    """
    if name == "logistic":
        strengths = (0.003, 0.03, 0.3, 3.0, 30.0)
        return Family(RejoLinear(), {"C": strengths}, LogisticRegression(max_iter=1000))
    if name == "svm":
        widths = [width / n_features for width in WIDTHS]
        return Family(RejoSVC(), {"C": COSTS, "gamma": widths}, SVC())
    if name == "mlp":
        seed: Any = {"random_state": random_state}
        plain = MLPClassifier((10,), "tanh", solver="lbfgs", max_iter=300, **seed)
        return Family(RejoMLP((10,), max_iter=300, **seed), {"alpha": DECAYS}, plain)
    if name == "boosting":
        # Few bins: scikit-learn finds them one by one if the rows have weights.
        plain = HistGradientBoostingClassifier(
            learning_rate=0.06, max_bins=32, early_stopping=False, random_state=random_state
        )
        grid = {"estimator__max_leaf_nodes": (4, 15)}
        return Family(ReplicationClassifier(plain), grid, plain, "estimator__")
    raise ValueError(f"family={name!r} must be one of {', '.join(FAMILIES)}.")


def rivals_of(choice: Choice, n_classes: int, random_state: int | None = 0) -> dict[str, Any]:
    """Other ways to reject with the plain classifier of a choice, with the same parameters.

    Parameters
    ----------
    choice : Choice
    n_classes : int
    random_state : int, default=0

    Returns
    -------
    rivals : dict of str to Pipeline
    """
    family = make_family(choice.name, 1, random_state)
    params = {key.removeprefix(family.inside): value for key, value in choice.params.items()}
    plain = clone(family.plain).set_params(**params)
    ways: dict[str, Any] = {
        "one classifier, Chow's rule": ThresholdRejectClassifier(plain, rule="chow"),
    }
    if n_classes == 2:
        ways["two classifiers"] = TwoClassifierReject(plain)
    else:
        ways["two classifiers a boundary"] = FrankHallReject(plain, per_split=2)
    model = choice.estimator[-1]
    labels = {"class_order": model.class_order, "reject_label": model.reject_label}
    return {
        name: Pipeline(
            [("prepare", clone(choice.estimator[0])), ("model", way.set_params(**labels))]
        )
        for name, way in ways.items()
    }


def standard_methods(
    n_classes: int,
    n_features: int,
    n_samples: int,
    random_state: int | None = 0,
    prepare: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Methods for a problem of this size, and their grids.

    Unless ``prepare`` is given, features must be numbers; they are standardised in a pipeline.

    Parameters
    ----------
    n_classes : int
        For two classes: data replication (``rejo ...``), one classifier with cut-offs (``1C``),
        two classifiers (``2C``), and support vector machines with losses of their own.  For more,
        those that know ordered classes.
    n_features : int
        The widths of the kernels depend on it.
    n_samples : int
        The number of features that stand for the kernel in the logistic model depends on it.
    random_state : int, default=0
    prepare : transformer, default=None
        What stands before each method in place of a ``StandardScaler``, such as a
        :class:`~rejo.tables.TableEncoder`.

    Returns
    -------
    estimators : dict of {name: estimator}
        Data replication first.
    param_grids : dict of {name: grid}
    """
    machine, network = {"C": COSTS, "gamma": [w / n_features for w in WIDTHS]}, {"alpha": DECAYS}
    svc = SVC()
    mlp = MLPClassifier((10,), "tanh", solver="lbfgs", max_iter=300, random_state=random_state)
    own_mlp = RejoMLP((10,), max_iter=300, random_state=random_state)
    size = min(100, max(10, n_samples // 4))  # of a fold of a fold, there are as many points
    features = Nystroem(n_components=size, random_state=random_state)
    chow = ThresholdRejectClassifier(svc, rule="chow")

    # Name -> the steps after the scaler, and the grid of the last step but for `features`.
    methods: dict[str, tuple[Any, dict[str, Any]]] = {
        "rejo SVM": (RejoSVC(), machine),
        "rejo logistic": (RejoLinear(max_iter=1000), {}),
        "rejo NN": (own_mlp, network),
    }
    inside = {f"estimator__{name}": values for name, values in machine.items()}
    inside_mlp = {f"estimator__{name}": values for name, values in network.items()}
    if n_classes == 2:
        methods |= {
            "SVM-1C cut-offs": (ThresholdRejectClassifier(svc, rule="score"), inside),
            "SVM-1C Chow": (chow, inside),
            "SVM-1C class": (ThresholdRejectClassifier(svc, rule="class"), inside),
            "SVM-2C": (TwoClassifierReject(svc), inside),
            "NN-1C Chow": (ThresholdRejectClassifier(mlp, rule="chow"), inside_mlp),
            "NN-2C": (TwoClassifierReject(mlp), inside_mlp),
            "Bartlett-Wegkamp": (SurrogateRejectSVC(surrogate="bartlett-wegkamp"), machine),
            "double hinge": (SurrogateRejectSVC(), machine),
            "embedded": (EmbeddedRejectSVC(second_order=True), {"C": COSTS[::2]}),
        }
    else:
        methods |= {
            "Frank-Hall 1C": (FrankHallReject(svc, per_split=1), inside),
            "Frank-Hall 2C": (FrankHallReject(svc, per_split=2), inside),
            "SVM-1C Chow": (chow, inside),
        }
    estimators, grids = {}, {}
    for name, (last, grid) in methods.items():
        steps = [features, last] if name == "rejo logistic" else [last]
        first = StandardScaler() if prepare is None else clone(prepare)
        estimators[name] = pipeline = make_pipeline(first, *steps)
        grids[name] = {f"{pipeline.steps[-1][0]}__{key}": values for key, values in grid.items()}
    grids["rejo logistic"] = {"nystroem__gamma": machine["gamma"], "rejolinear__C": COSTS}
    return estimators, grids
