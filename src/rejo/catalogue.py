"""The catalogue: every method that rejo knows, its name, and what it can do.

Everything that offers methods reads :data:`METHODS`: ``rejo train --model``, ``rejo compare``,
``compare("standard")`` and the rivals on a report. To add a method, write a function that builds it
and add a row to the table.

Estimators are imported only when a method is built, because ``rejo --help`` reads the names.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any, NamedTuple

__all__ = ["METHODS", "Built", "Method", "ProblemSize", "find", "standard_methods"]

COSTS = (0.5, 4.0, 32.0, 256.0)  # C of a support vector machine
WIDTHS = (0.3, 1.5, 6.0)  # gamma x number of features, for standardised features
SMOOTH_WIDTHS = (0.06, 0.3, 1.5)  # the same for a logistic loss, which prefers wider kernels
DECAYS = (1e-2, 1e-1, 1.0, 10.0)  # weight decay of a network
PENALTIES = (0.003, 0.03, 0.3, 3.0, 30.0)  # C of a logistic regression
STAGES = (25, 50, 75, 100, 150, 200)  # trees of a booster
BOOST = find_spec("xgboost") is not None  # otherwise scikit-learn boosts
# From scikit-learn 1.7, MLPClassifier takes the weights that a pair of classifiers needs.
_NETWORK_WEIGHTS = not version("scikit-learn").startswith("1.6.")
LARGE = 10_000  # rows from which boosting takes larger steps and trees
# Features above which 64 bins for each do, as for fewer than LARGE rows: with 400 a third of the
# time, and on 19 tables of up to 4,000 rows 0.8 of it, at a log loss that is no higher.
WIDE = 100


class ProblemSize(NamedTuple):
    """What a method needs to know about the data before it is built."""

    n_classes: int
    n_features: int  # after standardisation or encoding
    n_samples: int
    random_state: int | None = 0
    ordered: bool = True  # the classes have an order


class Built(NamedTuple):
    """An unfitted estimator, and the grid of parameters to tune it on.

    ``plain`` is the ordinary classifier that a learner corresponds to, with the same parameters.
    """

    estimator: Any
    grid: dict[str, Any]
    plain: Any = None


@dataclass(frozen=True, kw_only=True)
class Method:
    """A way to classify with a reject option.

    ``build`` takes a :class:`ProblemSize` and returns an estimator for standardised features. The
    other fields say where the method is offered and what it can do.
    """

    name: str  # in Python, on the command line and in tables of results
    label: str  # in reports and help
    build: Callable[[ProblemSize], Built]
    trained: bool = False  # offered by `rejo train --model`
    blended: bool = False  # decides by posteriors, which "auto" tunes and blends with others
    standard: bool = False  # in compare("standard") and `rejo compare`
    multiclass: bool = True  # takes more than two classes
    unordered: bool = False  # classes may have no order
    least_classes: int = 2  # with fewer, it is the same as another method
    max_samples: int | None = None  # above this, too slow to be tried unless asked for by name
    max_features: int | None = None  # the same

    def takes(self, n_classes: int, ordered: bool = True) -> bool:
        """Return whether it can be trained on this number of classes, and is of use there."""
        if n_classes == 2:
            return self.least_classes == 2
        return self.multiclass and (ordered or self.unordered)


# ---- data replication ----------------------------------------------------------------------


def _machine_grid(problem: ProblemSize) -> dict[str, Any]:
    return {"C": COSTS, "gamma": [width / problem.n_features for width in WIDTHS]}


def _logistic(problem: ProblemSize) -> Built:
    from sklearn.linear_model import LogisticRegression

    from rejo.estimators import RejoLinear

    return Built(RejoLinear(), {"C": PENALTIES}, LogisticRegression(max_iter=1000))


def _svm(problem: ProblemSize) -> Built:
    from sklearn.svm import SVC

    from rejo.estimators import RejoSVC

    return Built(RejoSVC(), _machine_grid(problem), SVC())


def _mlp(problem: ProblemSize) -> Built:
    from sklearn.neural_network import MLPClassifier

    from rejo.estimators import RejoMLP

    common: dict[str, Any] = {"max_iter": 300, "random_state": problem.random_state}
    plain = MLPClassifier((10,), "tanh", solver="lbfgs", **common)
    return Built(RejoMLP((10,), **common), {"alpha": DECAYS}, plain)


def _boosting(problem: ProblemSize) -> Built:
    from sklearn.ensemble import HistGradientBoostingClassifier

    from rejo.estimators import RejoBoost, ReplicationClassifier

    plain = HistGradientBoostingClassifier(
        learning_rate=0.06, early_stopping=False, random_state=problem.random_state
    )
    if BOOST:
        form = "parallel" if problem.n_classes == 2 else "replicas"
        learner = RejoBoost(boundaries=form, random_state=problem.random_state)
        return Built(learner, {"max_depth": (2, 4)}, plain)
    return Built(ReplicationClassifier(plain), {"estimator__max_leaf_nodes": (4, 15)}, plain)


def _kernel_logistic(problem: ProblemSize) -> Built:
    from rejo.estimators import RejoKernelLogistic

    gammas = [width / problem.n_features for width in SMOOTH_WIDTHS]
    return Built(RejoKernelLogistic(), {"C": COSTS, "gamma": gammas})


# ---- posteriors and prices -----------------------------------------------------------------


def _multinomial(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000), {"C": PENALTIES}


def _additive(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from rejo.baselines import Pieces

    model = make_pipeline(Pieces(), StandardScaler(), LogisticRegression(max_iter=1000))
    return model, {"logisticregression__C": (0.001, 0.01, 0.1, 1.0, 10.0)}


def _cumulative(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from rejo.estimators import RejoLinear

    return RejoLinear(reject_cost=None), {"C": PENALTIES}


def _kernel(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if problem.n_classes == 2:
        return _cumulative_kernel(problem)
    size = min(300, max(10, problem.n_samples // 4))
    features = Nystroem(n_components=size, random_state=problem.random_state)
    grid = {
        "nystroem__gamma": _machine_grid(problem)["gamma"],
        "logisticregression__C": (0.3, 3.0, 30.0, 300.0),
    }
    return make_pipeline(features, LogisticRegression(max_iter=1000)), grid


def _cumulative_kernel(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from rejo.estimators import RejoKernelLogistic

    widths = sorted({*SMOOTH_WIDTHS, *WIDTHS})
    grid = {"C": COSTS, "gamma": [width / problem.n_features for width in widths]}
    return RejoKernelLogistic(reject_cost=None), grid


def _trees(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier

    large = problem.n_samples > LARGE
    rate = 0.1 if large else 0.05
    if BOOST:
        from rejo.estimators import RejoBoost

        booster = RejoBoost(
            boundaries="posteriors", reject_cost=None, learning_rate=rate,
            early_stopping_rounds=None, random_state=problem.random_state,
            max_bin=256 if large and problem.n_features <= WIDE else 64,
        )  # fmt: skip
        return booster, {"max_depth": (6,) if large else (2, 4), "n_estimators": STAGES}
    model = HistGradientBoostingClassifier(
        learning_rate=rate, early_stopping=False, random_state=problem.random_state
    )
    grid = {"max_leaf_nodes": (31,) if large else (4, 15), "max_iter": STAGES}
    return model, grid


def _forest(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.ensemble import RandomForestClassifier

    model = RandomForestClassifier(100, random_state=problem.random_state)
    # Deep trees of many rows are large in a file, and hardly better.
    return model, {"min_samples_leaf": (1, 3, 8) if problem.n_samples <= 5_000 else (3, 8)}


def _extra(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    from sklearn.ensemble import ExtraTreesClassifier

    model = ExtraTreesClassifier(100, random_state=problem.random_state)
    return model, {"min_samples_leaf": (1, 4) if problem.n_samples <= 5_000 else (4,)}


def _network(problem: ProblemSize) -> tuple[Any, dict[str, Any]]:
    _, grid, plain = _mlp(problem)
    return plain, grid


def _blend(problem: ProblemSize) -> Built:
    from rejo.baselines import BlendClassifier, ThresholdRejectClassifier

    members = [
        (method.name, method.build(problem).estimator.estimator)
        for method in _POSTERIORS
        if method.takes(problem.n_classes, problem.ordered)
    ]
    return Built(ThresholdRejectClassifier(BlendClassifier(members)), {})


# ---- rivals --------------------------------------------------------------------------------

_WAYS = {
    "cutoffs": "two cut-offs",
    "pair": "two classifiers",
    "posterior": "posteriors and prices",
    "class": "a threshold for each class",
}


def _rival(learner: Method, way: str, standard: bool = False) -> Method:
    """Return a rival around the ordinary classifier of a learner, tuned on the same grid."""

    def build(problem: ProblemSize) -> Built:
        from rejo.baselines import FrankHallReject, ThresholdRejectClassifier

        _, grid, plain = learner.build(problem)
        model: Any
        if way in ("posterior", "class"):
            rule = "chow" if way == "posterior" else way
            model = ThresholdRejectClassifier(plain, rule=rule)
        elif way == "cutoffs" and problem.n_classes == 2:
            model = ThresholdRejectClassifier(plain, rule="score")
        else:
            model = FrankHallReject(plain, per_split=1 if way == "cutoffs" else 2)
        keys = {key: f"estimator__{key.removeprefix('estimator__')}" for key in grid}
        return Built(model, {keys[key]: grid[key] for key in grid})

    return Method(
        name=f"{learner.name}-{way}",
        label=f"{learner.label.partition(',')[0]}, {_WAYS[way]}",
        build=build,
        standard=standard,
        unordered=way in ("posterior", "class"),
    )


def _surrogate(name: str, problem: ProblemSize) -> Built:
    from rejo.baselines import SurrogateRejectSVC

    return Built(SurrogateRejectSVC(surrogate=name), _machine_grid(problem))


def _embedded(problem: ProblemSize) -> Built:
    from rejo.baselines import EmbeddedRejectSVC

    return Built(EmbeddedRejectSVC(second_order=True), {"C": COSTS[::2]})


# ---- the table -----------------------------------------------------------------------------

_LEARNERS = (
    Method(
        name="logistic", label="logistic regression, data replication", build=_logistic,
        trained=True,
    ),
    Method(
        name="svm", label="SVM, data replication", build=_svm, trained=True,
        standard=True, max_samples=5_000,
    ),
    Method(
        name="mlp", label="neural network, data replication", build=_mlp,
        trained=True, standard=True, max_samples=5_000, max_features=200,
    ),
    Method(
        name="boosting", label="gradient boosting, data replication", build=_boosting,
        trained=True, max_samples=100_000 if BOOST else 5_000,
        max_features=1_000 if BOOST else 200,
    ),
    Method(
        name="kernel-logistic", label="kernel logistic regression, data replication",
        build=_kernel_logistic, trained=True, standard=True, max_samples=10_000,
    ),
)  # fmt: skip
_NAMED = {method.name: method for method in _LEARNERS}
_LOGISTIC, _SVM, _MLP, _BOOSTING = (_NAMED[n] for n in ("logistic", "svm", "mlp", "boosting"))


def _by_posteriors(name: str, label: str, plain: Any, **traits: Any) -> Method:
    """Decide by the posteriors of an ordinary classifier."""

    def build(problem: ProblemSize) -> Built:
        from rejo.baselines import ThresholdRejectClassifier

        estimator, grid = plain(problem)
        grid = {f"estimator__{key}": values for key, values in grid.items()}
        return Built(ThresholdRejectClassifier(estimator), grid)

    return Method(
        name=f"{name}-posterior", label=f"{label}, posteriors and prices", build=build,
        trained=True, blended=True, **traits,
    )  # fmt: skip


_FREE: dict[str, Any] = {"unordered": True, "standard": True}
_POSTERIORS = (
    _by_posteriors("logistic", "logistic regression", _multinomial, **_FREE),
    _by_posteriors(
        "additive", "additive logistic regression", _additive,
        max_samples=10_000, max_features=100, unordered=True,
    ),
    _by_posteriors("ordinal", "ordinal logistic regression", _cumulative, least_classes=3),
    _by_posteriors("kernel", "kernel logistic regression", _kernel, max_samples=10_000, **_FREE),
    _by_posteriors(
        "ordinal-kernel", "ordinal kernel logistic regression", _cumulative_kernel,
        least_classes=3, max_samples=10_000,
    ),
    _by_posteriors(
        "mlp", "neural network", _network, max_samples=5_000, max_features=200, **_FREE
    ),
    _by_posteriors("boosting", "gradient boosting", _trees, **_FREE),
    _by_posteriors("forest", "random forest", _forest, max_samples=30_000, **_FREE),
    _by_posteriors(
        "extra", "extremely randomised trees", _extra, max_samples=5_000, unordered=True
    ),
)  # fmt: skip
_BLEND = Method(
    name="blend", label="mean of the posteriors of several models, and prices", build=_blend,
    trained=True, unordered=True,
)  # fmt: skip

_RIVALS = (
    _rival(_SVM, "cutoffs", standard=True),
    _rival(_SVM, "pair", standard=True),
    _rival(_SVM, "posterior", standard=True),
    _rival(_SVM, "class"),
    _rival(_MLP, "cutoffs"),
    _rival(_MLP, "pair", standard=_NETWORK_WEIGHTS),
    _rival(_MLP, "class"),
    *(
        _rival(learner, way)
        for learner in (_LOGISTIC, _BOOSTING)
        for way in _WAYS
        if way != "posterior"
    ),
    Method(
        name="bartlett-wegkamp", label="SVM with the loss of Bartlett and Wegkamp",
        build=partial(_surrogate, "bartlett-wegkamp"), standard=True, multiclass=False,
    ),
    Method(
        name="double-hinge", label="SVM with the double hinge",
        build=partial(_surrogate, "double-hinge"), standard=True, multiclass=False,
    ),
    Method(
        name="embedded", label="SVM with embedded rejection (Fumera and Roli)", build=_embedded,
        standard=True, multiclass=False, max_features=10,
    ),
)  # fmt: skip

METHODS: Mapping[str, Method] = {
    method.name: method for method in (*_LEARNERS, *_POSTERIORS, _BLEND, *_RIVALS)
}
"""All methods, by name."""
TRAINED = tuple(method.name for method in METHODS.values() if method.trained)


def find(names: Iterable[str], n_classes: int | None = None, ordered: bool = True) -> list[Method]:
    """Return methods by name; refuse those that cannot be trained on ``n_classes`` classes."""
    found = []
    for name in names:
        method = METHODS.get(name)
        if method is None:
            raise ValueError(f"{name!r} is not a method; methods: {', '.join(METHODS)}.")
        if n_classes is not None and not method.takes(n_classes, ordered):
            raise ValueError(_refusal(method, n_classes))
        found.append(method)
    return found


def _refusal(method: Method, n_classes: int) -> str:
    """Say why a method cannot be trained on these classes."""
    if n_classes < method.least_classes:
        return f"{method.name!r} is for {method.least_classes} or more classes; there are two."
    if not method.multiclass:
        return f"{method.name!r} takes two classes only; there are {n_classes}."
    return f"{method.name!r} needs classes in an order, and these have none."


def standard_methods(
    n_classes: int,
    n_features: int,
    n_samples: int,
    random_state: int | None = 0,
    prepare: Any = None,
    names: Iterable[str] | None = None,
    ordered: bool = True,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Methods for a problem of this size, and their grids.

    Parameters
    ----------
    n_classes : int
        Some methods take two classes only; they are left out if there are more.
    n_features, n_samples : int
        Size of the table, on which kernel widths and the number of kernel features depend.
    random_state : int, default=0
        Seeds the methods that draw at random.
    prepare : transformer, default=None
        The first step of each pipeline, such as a :class:`~rejo.tables.TableEncoder`. ``None``: a
        ``StandardScaler``, which needs numbers.
    names : iterable of str, default=None
        Names in the catalogue. ``None``: the standard methods, data replication first.
    ordered : bool, default=True
        Whether three or more classes have an order. If not, methods that need one are left out.

    Returns
    -------
    estimators : dict of {name: Pipeline}
        The methods, unfitted.
    param_grids : dict of {name: grid}
        For ``GridSearchCV``, or ``param_grids`` of :func:`~rejo.compare`.

    Examples
    --------
    >>> from rejo.selection import standard_methods
    >>> methods, grids = standard_methods(2, 4, 200, names=["logistic", "logistic-posterior"])
    >>> grids["logistic"]
    {'rejolinear__C': (0.003, 0.03, 0.3, 3.0, 30.0)}
    """
    from sklearn.base import clone
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if names is None:
        methods = [m for m in METHODS.values() if m.standard and m.takes(n_classes, ordered)]
    else:
        methods = find(names, n_classes, ordered)
    problem = ProblemSize(n_classes, n_features, n_samples, random_state, ordered)
    estimators, grids = {}, {}
    for method in methods:
        last, grid, *_ = method.build(problem)
        pipeline = make_pipeline(StandardScaler() if prepare is None else clone(prepare), last)
        step = pipeline.steps[-1][0]
        estimators[method.name] = pipeline
        grids[method.name] = {f"{step}__{key}": values for key, values in grid.items()}
    return estimators, grids


def need_order(n_classes: int) -> list[str]:
    """Names of the standard methods that take this number of classes only in an order."""
    return [
        method.name
        for method in METHODS.values()
        if method.standard and method.takes(n_classes) and not method.takes(n_classes, False)
    ]
