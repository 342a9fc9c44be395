"""rejoNN: a neural network that may answer "review"."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.metaestimators import available_if

from rejo._state import count, declare, each, figure, floats, maybe, optional, part, require
from rejo._typing import Floats, Indices
from rejo.estimators.boundaries import LearnsLosses, ParallelBoundaries
from rejo.estimators.classes import times_class_weight
from rejo.estimators.parameters import MOST_RUNS, FiniteInterval
from rejo.estimators.posteriors import PosteriorsMixin
from rejo.solvers import Data, Moments, Network, NetworkSolution, mlp

WORSE = 1.01  # times the loss of a constant score: the fit failed
AUTO_BATCH = 200
MOST_WEIGHTS = 2**28  # of a network: 2 GB, and a fit holds several copies


def _streams(model: RejoMLP) -> bool:
    if model.solver != "adam":
        raise AttributeError(
            f"partial_fit needs solver='adam', which uses mini-batches; solver={model.solver!r} "
            "needs all data at once."
        )
    return True


@dataclass(kw_only=True, eq=False, repr=False)
class RejoMLP(LearnsLosses, PosteriorsMixin, ParallelBoundaries):
    """Multilayer perceptron with a reject option, by data replication: the paper's rejoNN.

    One network ``G`` with a single linear output separates the ordered classes ``0..K-1`` by
    ordered thresholds, two between neighbouring classes; what lies between the two is
    rejected.  With the label ``y_iq``, the cost ``c_iq`` of point ``i`` at boundary ``q`` (see
    :mod:`rejo.replication`) and the weights ``W`` of the network it minimises::

        sum_iq c_iq loss(y_iq, G(x_i) + b_q)
            + alpha/2 (|W|^2 + 1/h^2 sum_{q>=1} (b_q - b_0)^2)

    divided by the sum of the sample weights: rejoNN of :footcite:t:`sousa2013`, where the extension
    features enter only the last unit.  The network sees every point once, whatever the number
    of boundaries.

    Parameters
    ----------
    hidden_layer_sizes : int or array-like of int, default=(10,)
        Number of units in each hidden layer; ``()`` is a linear model.
    activation : {"tanh", "relu", "logistic"}, default="tanh"
        Activation function of the hidden layers.
    loss : {"logistic", "squared_error"}, default="logistic"
        ``log(1 + exp(-y f))``, or ``(y - tanh f)^2 / 2``, a tanh output unit with targets -1
        and 1, as the paper's authors had it.
    solver : {"lbfgs", "rprop", "adam"}, default="lbfgs"
        "lbfgs" is best for small and medium data.  "rprop", the choice of the paper's authors,
        also uses all points in each step.  "adam" uses mini-batches, for large data and streams.
    alpha : float, default=0.1
        Regularisation strength; non-negative.  ``1 / alpha`` is like the ``C`` of
        :class:`RejoSVC`.
    %h
    max_iter : int, default=1000
        Maximum number of iterations; for "adam", of passes over the data.
    tol : float, default=1e-4
        "lbfgs" stops when no derivative is larger.  "rprop" and "adam", and all solvers with
        ``early_stopping``, stop when the loss has not improved by more than this in
        ``n_iter_no_change`` iterations.
    n_iter_no_change : int, default=10
        See ``tol``.
    early_stopping : bool, default=False
        Hold out ``validation_fraction`` of the points of each class, with all of their
        replicas, stop when the loss on them no longer improves, and keep the best parameters.
    validation_fraction : float in (0, 1), default=0.1
        Fraction of the points that ``early_stopping`` holds out.
    batch_size : int or "auto", default="auto"
        Size of the mini-batches of "adam".  "auto" is ``min(200, n_samples)``.
    learning_rate_init : float, default=0.001
        Initial step size of "adam".
    n_restarts : int, default=1
        Number of random starts; the one with the lowest objective is kept (with
        ``early_stopping``, with the lowest validation loss).
    warm_start : bool, default=False
        Start ``fit`` from the solution of the previous call.
    random_state : int, RandomState instance or None, default=None
        For the initial weights, the mini-batches and the validation split.
    %reject_cost, s, loss_matrix, class_order, reject_label, class_weight, verbose

    Attributes
    ----------
    %classes_, reject_label_, reject_cost_, n_features_in_, feature_names_in_, thresholds_
    coefs_ : list of ndarray of shape (n_units, n_units of the next layer)
        Weights of each layer.
    intercepts_ : list of ndarray
        Biases of each layer; the last are ``-thresholds_``.
    n_layers_ : int
        Number of layers, including input and output.
    objective_ : float
        Value of the objective function, before the thresholds are sorted.
    loss_curve_ : list of float
        Its value in each iteration; for "adam" the mean over the batches of a pass.
        ``warm_start`` and ``partial_fit`` continue it.
    best_loss_ : float
        The lowest of these.
    validation_curve_ : list of float
        Loss on the held-out points, without regularisation; empty without ``early_stopping``.
    n_iter_ : int
        Number of iterations of the last ``fit``; 1 after ``partial_fit``.

    See Also
    --------
    RejoKernelLogistic : The same loss with a kernel: one minimum, no random start.
    ReplicationClassifier : Another network that takes sample weights, such as your own.

    Examples
    --------
    >>> from rejo import RejoMLP
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> model = RejoMLP(reject_cost=0.2, random_state=0).fit(X, y)
    >>> model.predict([[0.9, 0.9], [0.1, 0.9], [0.48, 0.9]])
    array([ 1, -1,  0])
    """

    hidden_layer_sizes: Any = field(default=(10,), kw_only=False)
    activation: str = "tanh"
    loss: str = "logistic"
    solver: str = "lbfgs"
    alpha: float = 0.1
    h: float = 1.0
    max_iter: int = 1000
    tol: float = 1e-4
    n_iter_no_change: float = 10
    early_stopping: bool = False
    validation_fraction: float = 0.1
    batch_size: int | str = "auto"
    learning_rate_init: float = 1e-3
    n_restarts: int = 1
    warm_start: bool = False
    random_state: Any = None
    s: int | None = None
    loss_matrix: Any = None
    verbose: bool = False

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ParallelBoundaries._parameter_constraints,
        "hidden_layer_sizes": "no_validation",
        "activation": [StrOptions({"tanh", "relu", "logistic"})],
        "loss": [StrOptions({"logistic", "squared_error"})],
        "solver": [StrOptions({"lbfgs", "rprop", "adam"})],
        "alpha": [FiniteInterval(Real, 0.0, None, closed="left")],
        "h": [FiniteInterval(Real, 1e-6, 1e6, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [FiniteInterval(Real, 0.0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left"), Options(Real, {np.inf})],
        "early_stopping": ["boolean"],
        "validation_fraction": [FiniteInterval(Real, 0.0, 1.0, closed="neither")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "learning_rate_init": [FiniteInterval(Real, 0.0, None, closed="neither")],
        "n_restarts": [Interval(Integral, 1, MOST_RUNS, closed="both")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None, loss: Any = None) -> Self:
        self._check_parameters()
        continued = self.warm_start and hasattr(self, "_theta")
        X = self._check_X(X, reset=not continued)
        targets = self._check_targets(X, y, sample_weight, loss)
        classes, rows = targets.classes, targets.rows
        if continued and not np.array_equal(classes, self.classes_):
            raise ValueError(
                f"warm_start=True continues with the classes {self.classes_.tolist()}, but y has "
                f"{classes.tolist()}. Set warm_start=False to start again."
            )
        labels, costs, row = self._set_tables(targets, len(self.thresholds_) if continued else None)
        net = self._network(X.shape[1], labels.shape[1], continued)
        self._rng = check_random_state(self.random_state)
        parts = (X if rows is None else X[rows]), row, targets.weight, labels, costs
        held_out = None
        if self.early_stopping:
            train, test = _split(targets.indices, self.validation_fraction, self._rng)
            data, held_out = _replica_data(*parts, train), _replica_data(*parts, test)
        else:
            data = _replica_data(*parts)
        if continued:
            starts, moments = [self._theta], self._moments
        else:
            starts = [mlp.initialise(net, data, self._rng) for _ in range(self.n_restarts)]
            moments = None
        runs = []
        for theta in starts:
            before = mlp.value(theta, data, net)
            found = self._minimise(theta, data, net, self.max_iter, moments, held_out)
            runs.append((found, before, mlp.value(found.theta, data, net)))
        found, before, objective = min(
            runs, key=lambda run: min(run[0].validation_curve, default=run[2])
        )
        constant = mlp.value(mlp.constant(net, data), data, net)
        if message := self._doubt(found, before, objective, constant):
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
        return self._store(found, net, objective, continued)

    @available_if(_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with one pass over more data; ``solver="adam"`` only.

        The parameters are those of :meth:`rejo.RejoLinear.partial_fit`; ``alpha`` is weighted as
        if these were all the data.
        """
        self._check_parameters()
        if self.early_stopping:
            raise ValueError("partial_fit does not support early_stopping=True: set it to False.")
        continued = hasattr(self, "_theta")
        known, X, k, weight = self._check_stream(X, y, classes, sample_weight, first=not continued)
        if self.class_weight is not None:
            weight = np.ones(len(k)) if weight is None else weight
            weight = times_class_weight(weight, self.class_weight, known, k)
        tables = self._set_classes(known, len(self.thresholds_) if continued else None)
        net = self._network(X.shape[1], tables[0].shape[1], continued)
        data = _replica_data(X, k, weight, *tables)
        if not continued:
            self._rng = check_random_state(self.random_state)
        theta = self._theta if continued else mlp.initialise(net, data, self._rng)
        moments = self._moments if continued else None
        solution = self._minimise(theta, data, net, 1, moments)
        return self._store(solution, net, solution.loss_curve[-1], continued)

    def _odds_of(self, scores: Floats) -> Floats:
        # The squared error brings tanh f to 2 P - 1, and tanh f = 2 expit(2 f) - 1.
        return 2.0 * scores if self.loss == "squared_error" else scores

    def _function(self, X: Any) -> Floats:
        X = self._check_X(X, reset=False)
        return mlp.forward(X, self.coefs_, self.intercepts_, self.activation)

    def _network(self, n_features: int, n_replicas: int, continued: bool) -> Network:
        units = (n_features, *layer_sizes(self.hidden_layer_sizes), 1)
        if sum(m * n for m, n in pairwise(units)) > MOST_WEIGHTS:
            raise ValueError(
                f"hidden_layer_sizes={self.hidden_layer_sizes!r} with {n_features} features is a "
                f"network of more than {MOST_WEIGHTS} weights, the most that there may be."
            )
        if continued:
            before = (*map(len, self.coefs_), 1)
            if (before, len(self.thresholds_)) != (units, n_replicas):
                raise ValueError(
                    f"the fitted network has layers of {before} units and {len(self.thresholds_)} "
                    f"thresholds, but hidden_layer_sizes={self.hidden_layer_sizes} and the costs "
                    f"ask for {units} and {n_replicas}. To start again, call fit with "
                    "warm_start=False."
                )
        return Network(units, n_replicas, self.activation, self.loss, self.alpha, self.h)

    def _minimise(
        self,
        theta: Floats,
        data: Data,
        net: Network,
        max_iter: int,
        moments: Moments | None,
        held_out: Data | None = None,
    ) -> NetworkSolution:
        solution = mlp.minimise(
            theta,
            data,
            net,
            solver=self.solver,
            max_iter=int(max_iter),
            tol=float(self.tol),
            validation=held_out,
            n_iter_no_change=self.n_iter_no_change,
            batch_size=AUTO_BATCH if self.batch_size == "auto" else int(self.batch_size),
            learning_rate=self.learning_rate_init,
            moments=moments,
            rng=self._rng,
            verbose=self.verbose,
        )
        if not (np.isfinite(solution.loss_curve[-1]) and np.isfinite(solution.theta).all()):
            raise ValueError(
                f"the network diverged: the loss of iteration {len(solution.loss_curve)} is not "
                f"finite. {self._remedy()}."
            )
        return solution

    def _doubt(
        self, solution: NetworkSolution, before: float, after: float, constant: float
    ) -> str | None:
        """What to warn of, if anything, by the objective at the start, the end and a constant."""
        n_iter = len(solution.loss_curve)
        if after > before:
            return (
                f"The network diverged: its loss rose from {before:.3g} to {after:.3g} in "
                f"{n_iter} iterations. {self._remedy()}."
            )
        if solution.converged and after > WORSE * constant:
            return (
                f"The network settled at a loss of {after:.3g}, above the {constant:.3g} of a "
                f"constant score. {self._remedy()}."
            )
        if not solution.converged:
            first = "Raise max_iter, scale" if n_iter >= self.max_iter else "Scale"
            return (
                f"solver={self.solver!r} stopped after {n_iter} iterations "
                f"(max_iter={self.max_iter}) before the loss, {after:.6g}, had settled "
                f"(tol={self.tol:g}). {first} the features, raise alpha, or raise tol."
            )
        return None

    def _remedy(self) -> str:
        remedy = "Scale the features, e.g. by sklearn.preprocessing.StandardScaler"
        if self.solver == "adam":
            remedy += f", or lower learning_rate_init={self.learning_rate_init:g}"
        return remedy

    def _store(
        self, solution: NetworkSolution, net: Network, objective: float, continued: bool
    ) -> Self:
        self._theta, self._moments = solution.theta, solution.moments
        self.coefs_, self.intercepts_ = mlp.unpack(solution.theta, net)
        self.thresholds_ = np.sort(-self.intercepts_[-1])  # sorting changes no count
        self.intercepts_[-1] = -self.thresholds_
        self.n_layers_ = len(net.units)
        self.n_iter_ = len(solution.loss_curve)
        self.objective_ = objective
        before: list[float] = getattr(self, "loss_curve_", []) if continued else []
        self.loss_curve_ = [*before, *solution.loss_curve]
        self.best_loss_ = min(self.loss_curve_)
        self.validation_curve_ = solution.validation_curve
        return self

    def _to_onnx(self, graph: Any, X: str) -> str:
        activation = {"tanh": "Tanh", "relu": "Relu", "logistic": "Sigmoid"}[self.activation]
        for W, c in zip(self.coefs_[:-1], self.intercepts_[:-1], strict=True):
            X = graph.add(activation, graph.add("Add", graph.add("MatMul", X, W), c))
        g = graph.add("MatMul", X, self.coefs_[-1])
        return str(graph.add("Sub", g, self.thresholds_[None, :]))


def layer_sizes(hidden_layer_sizes: Any) -> tuple[int, ...]:
    """Check the sizes of the hidden layers."""
    sizes = np.atleast_1d(np.asarray(hidden_layer_sizes, dtype=object))
    if sizes.ndim > 1 or not all(
        isinstance(size, Integral) and not isinstance(size, bool) and int(size) >= 1
        for size in sizes
    ):
        raise ValueError(
            "hidden_layer_sizes must be a positive integer or a sequence of them, such as (10,) or "
            f"(20, 10); got {hidden_layer_sizes!r}."
        )
    return tuple(int(size) for size in sizes)


def _replica_data(
    X: Any,
    k: Indices,
    weight: Floats | None,
    labels: Floats,
    costs: Floats,
    rows: Indices | None = None,
) -> Data:
    """Signs and weighted costs (n_boundaries, n_samples) of the points, or of some rows."""
    if rows is not None:
        X, k, weight = X[rows], k[rows], None if weight is None else weight[rows]
    C = costs.T[:, k]
    if weight is not None:
        C *= weight
    return Data(X, labels.T[:, k], C, float(len(k) if weight is None else weight.sum()))


def _split(k: Indices, share: float, rng: np.random.RandomState) -> tuple[Indices, Indices]:
    """Points to train on and points to validate on; all replicas of a point stay together."""
    try:
        train, test = train_test_split(
            np.arange(len(k)), test_size=share, stratify=k, random_state=rng
        )
    except ValueError as error:
        raise ValueError(
            f"early_stopping=True cannot hold out validation_fraction={share:g} of every class "
            f"with {len(k)} points: {error}. Give more data, change validation_fraction, or set "
            "early_stopping=False."
        ) from None
    return train, test


MOST_UNITS = 1 << 14  # of a layer: a prediction holds them for 2048 points


def _mlp(model: Any) -> None:
    """The layers are those of ``hidden_layer_sizes`` and fit to each other."""
    units = (model.n_features_in_, *layer_sizes(model.hidden_layer_sizes), 1)
    require(max(units[1:]) <= MOST_UNITS, model, f"a layer has more than {MOST_UNITS} units")
    shapes = [W.shape for W in model.coefs_]
    same = shapes == [*pairwise(units)] and model.n_layers_ == len(units)
    require(same, model, "its layers and hidden_layer_sizes do not agree")
    lengths = [len(c) for c in model.intercepts_]
    same = lengths == [*units[1:-1], len(model.thresholds_)]
    same = same and np.array_equal(model.intercepts_[-1], -model.thresholds_)
    require(same, model, "its intercepts and layers do not agree")
    n = sum(W.size for W in model.coefs_) + sum(lengths)
    moments = model._moments
    require(moments is None or len(moments.first) == n, model, "its moments are malformed")


def _restore_mlp(model: Any) -> None:
    model._theta = np.concatenate([*map(np.ravel, model.coefs_), *model.intercepts_])
    if not hasattr(model, "_rng"):
        model._rng = check_random_state(model.random_state)


declare(
    RejoMLP,
    {
        "coefs_": each(floats(None, None)),
        "intercepts_": each(floats(None)),
        "n_layers_": count(2),
        "objective_": figure(),
        "loss_curve_": each(figure()),
        "best_loss_": figure(),
        "validation_curve_": each(figure()),
        "n_iter_": count(),
        "_moments": maybe(part(Moments)),
        "_rng": optional(part(np.random.RandomState)),
    },
    _mlp,
    restore_state=_restore_mlp,
    saved=True,
)
