"""rejoNN: one network, one linear output, a threshold for each boundary.

The score of replica ``q`` is ``f_q(x) = G(x) + b_q`` with a multilayer perceptron ``G`` (Fig.
oNNmodel of the paper): the extension features enter only the last unit, where they are its
biases.  So the forward and the backward pass run once for each point, and only the loss, which
is elementwise, sees the replicas:

    J = sum_iq c_iq loss(y_iq, G(x_i) + b_q)
          + alpha / (2 W) ( sum of squared weights + 1/h^2 sum_{q>=1} (b_q - b_0)^2 ),

where the costs ``c`` are divided by the sum ``W`` of the sample weights.  All parameters are one
vector: the weights of each layer, the biases of the hidden layers, the thresholds.

Several networks of one shape on the same points are a leading axis of the parameters, signs and
costs: small ones are trained many times faster together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from rejo._typing import Floats

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-8  # Adam
GROW, SHRINK, FIRST_STEP, LEAST_STEP, LARGEST_STEP = 1.2, 0.5, 0.07, 1e-8, 50.0  # Rprop
LARGEST_START = 5.0  # of a threshold
CHUNK = 2048  # points in a forward pass


class Network(NamedTuple):
    """What the objective depends on besides the parameters and the data."""

    units: tuple[int, ...]  # of every layer: features, hidden ones, 1
    n_replicas: int
    activation: str = "tanh"
    loss: str = "logistic"
    alpha: float = 0.0
    h: float = 1.0


class Data(NamedTuple):
    """Points, and what each of their replicas should be."""

    X: Any  # (n, p) dense or sparse
    signs: Floats  # (Q, n) +1 or -1; (B, Q, n) for B networks, and dense points
    costs: Floats  # (Q, n), or (B, Q, n); sample weights included
    total: float  # sum of the sample weights

    def rows(self, rows: Any, total: float | None = None) -> Data:
        """Some of the points; ``total`` is what their mean is taken over."""
        total = self.total if total is None else total
        return Data(self.X[rows], self.signs[:, rows], self.costs[:, rows], total)


class Moments(NamedTuple):
    """Where Adam stands."""

    first: Floats
    second: Floats
    n_steps: int


class NetworkSolution(NamedTuple):
    """What a minimisation returns."""

    theta: Floats  # parameters; the thresholds, last, are not sorted
    loss_curve: list[float]  # objective in each iteration
    validation_curve: list[float]  # loss on the validation data in each iteration
    converged: bool
    moments: Moments | None  # solver "adam" only


# ---- the network -------------------------------------------------------------------------


def unpack(theta: Floats, net: Network) -> tuple[list[Floats], list[Floats]]:
    """Weights and biases of each layer, as views; the last biases are the thresholds."""
    coefs, intercepts, start = [], [], 0
    for rows, columns in pairwise(net.units):
        W = theta[..., start : start + rows * columns]
        coefs.append(W.reshape(*theta.shape[:-1], rows, columns))
        start += rows * columns
    for size in (*net.units[1:-1], net.n_replicas):
        intercepts.append(theta[..., start : start + size])
        start += size
    return coefs, intercepts


def initialise(net: Network, data: Data, rng: np.random.RandomState) -> Floats:
    """Random weights after Glorot and Bengio; thresholds as if ``G`` were 0.

    Several networks have the same weights, and each its own thresholds.
    """
    coefs, biases = [], []
    for fan_in, fan_out in pairwise(net.units):
        bound = np.sqrt((2.0 if net.activation == "logistic" else 6.0) / (fan_in + fan_out))
        coefs.append(rng.uniform(-bound, bound, fan_in * fan_out))
        biases.append(rng.uniform(-bound, bound, fan_out))
    theta = constant(net, data)
    theta[..., : -net.n_replicas] = np.concatenate([*coefs, *biases[:-1]])
    return theta


def constant(net: Network, data: Data) -> Floats:
    """Parameters of a network that puts out 0, with its best thresholds (but for the decay)."""
    above = np.where(data.signs > 0, data.costs, 0.0).sum(axis=-1)
    below = np.where(data.signs < 0, data.costs, 0.0).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        b = np.log(above) - np.log(below)
    b[np.isnan(b)] = 0.0  # no point takes part
    b = np.clip(b, -LARGEST_START, LARGEST_START) * (1.0 if net.loss == "logistic" else 0.5)
    n_others = sum(map(prod, pairwise(net.units))) + sum(net.units[1:-1])
    return np.concatenate([np.zeros((*b.shape[:-1], n_others)), b], axis=-1)


def forward(X: Any, coefs: list[Floats], intercepts: list[Floats], activation: str) -> Floats:
    """``G`` (n,) at the rows of ``X``, some at a time, that the layers may stay in the cache.

    Of several networks: (B, n).
    """
    g = np.empty((*intercepts[-1].shape[:-1], X.shape[0]))
    for start in range(0, X.shape[0], CHUNK):
        a = X[start : start + CHUNK]
        for W, c in zip(coefs[:-1], intercepts[:-1], strict=True):
            a = a @ W
            a += c[..., None, :]
            ACTIVATIONS[activation](a)
        g[..., start : start + CHUNK] = (a @ coefs[-1])[..., 0]
    return g


def objective(theta: Floats, data: Data, net: Network) -> tuple[float, Floats]:
    """``J`` and its gradient."""
    J, gradient = objectives(theta, data, net)
    return float(J), gradient


def objectives(theta: Floats, data: Data, net: Network) -> tuple[Floats, Floats]:
    """``J`` and its gradient, or those (B,), (B, parameters) of several networks."""
    coefs, intercepts = unpack(theta, net)
    layers = [data.X]  # outputs of each layer (..., n, units)
    for W, c in zip(coefs[:-1], intercepts[:-1], strict=True):
        layers.append(layers[-1] @ W)
        layers[-1] += c[..., None, :]
        ACTIVATIONS[net.activation](layers[-1])
    w, b = coefs[-1], intercepts[-1]

    f = (layers[-1] @ w)[..., None, :, 0] + b[..., None]  # (..., Q, n)
    losses, slopes = LOSSES[net.loss](data.signs, f)
    J = np.einsum("...qn,...qn->...", losses, data.costs) / data.total
    slopes *= data.costs
    slopes /= data.total

    gradient = np.empty_like(theta)
    coef_slopes, intercept_slopes = unpack(gradient, net)
    slopes.sum(axis=-1, out=intercept_slopes[-1])
    slope = slopes.sum(axis=-2)[..., None]  # (..., n, 1) of G
    coef_slopes[-1][:] = _transpose(layers[-1]) @ slope
    if len(layers) > 1:
        delta, ones = slope * _transpose(w), np.ones(slope.shape[-2])  # (..., n, units), (n,)
        for i in range(len(layers) - 1, 0, -1):
            DERIVATIVES[net.activation](layers[i])  # whose outputs have had their use
            delta *= layers[i]
            coef_slopes[i - 1][:] = _transpose(layers[i - 1]) @ delta
            intercept_slopes[i - 1][:] = ones @ delta  # faster than a sum of short rows
            if i > 1:
                delta = delta @ _transpose(coefs[i - 1])
    if net.alpha:
        decay = net.alpha / data.total
        weights = theta[..., : sum(map(prod, pairwise(net.units)))]
        apart = (b - b[..., :1]) / net.h**2
        J += 0.5 * decay * ((weights**2).sum(axis=-1) + (apart * (b - b[..., :1])).sum(axis=-1))
        gradient[..., : weights.shape[-1]] += decay * weights
        intercept_slopes[-1] += decay * apart
        intercept_slopes[-1][..., 0] -= decay * apart.sum(axis=-1)
    return J, gradient


def value(theta: Floats, data: Data, net: Network) -> float:
    """``J`` alone."""
    coefs, (*_, b) = unpack(theta, net)
    with np.errstate(all="ignore"):
        squares = sum(np.vdot(W, W) for W in coefs) + ((b - b[0]) ** 2).sum() / net.h**2
        return data_loss(theta, data, net) + float(0.5 * net.alpha / data.total * squares)


def data_loss(theta: Floats, data: Data, net: Network) -> float:
    """``J`` without the regulariser."""
    coefs, intercepts = unpack(theta, net)
    f = forward(data.X, coefs, intercepts, net.activation) + intercepts[-1][:, None]  # (Q, n)
    return float(np.vdot(LOSSES[net.loss](data.signs, f)[0], data.costs) / data.total)


def _transpose(A: Any) -> Any:
    """Swap the last two axes; points may be sparse."""
    return A.T if A.ndim == 2 else A.swapaxes(-1, -2)


# ---- elementwise functions ---------------------------------------------------------------


def _logistic(z: Floats) -> None:
    z *= 0.5
    np.tanh(z, out=z)
    z += 1.0
    z *= 0.5


ACTIVATIONS: dict[str, Callable[[Floats], Any]] = {  # in place
    "tanh": lambda z: np.tanh(z, out=z),
    "relu": lambda z: np.maximum(z, 0.0, out=z),
    "logistic": _logistic,
}


def _tanh_derivative(a: Floats) -> None:
    a *= a
    np.subtract(1.0, a, out=a)


DERIVATIVES: dict[str, Callable[[Floats], Any]] = {  # from the output, in place
    "tanh": _tanh_derivative,
    "relu": lambda a: np.greater(a, 0.0, out=a),
    "logistic": lambda a: np.multiply(a, 1.0 - a, out=a),
}


def _logistic_loss(signs: Floats, f: Floats) -> tuple[Floats, Floats]:
    """``log(1 + exp(-y f))`` and its derivative in ``f``."""
    z = signs * f
    e = np.exp(-np.abs(z))
    slopes = np.where(z > 0, e, 1.0)
    slopes /= 1.0 + e
    slopes *= -signs
    return np.log1p(e) - np.minimum(z, 0.0), slopes


def _squared_error(signs: Floats, f: Floats) -> tuple[Floats, Floats]:
    """``1/2 (y - tanh f)^2`` and its derivative in ``f``."""
    t = np.tanh(f)
    errors = t - signs
    return 0.5 * errors * errors, errors * (1.0 - t * t)


LOSSES: dict[str, Callable[[Floats, Floats], tuple[Floats, Floats]]] = {
    "logistic": _logistic_loss,
    "squared_error": _squared_error,
}


# ---- minimisation ------------------------------------------------------------------------


class _Trace:
    """Keeps the curves and the best parameters; says when nothing improves any more."""

    def __init__(
        self, net: Network, validation: Data | None, tol: float, patience: float, verbose: bool
    ) -> None:
        self.net, self.validation, self.tol = net, validation, tol
        self.patience, self.verbose = patience, verbose
        self.losses: list[float] = []
        self.validation_losses: list[float] = []
        self.best, self.waited, self.stopped = np.inf, 0, False
        self.best_theta: Floats | None = None

    def step(self, theta: Floats, loss: float, patient: bool = True) -> bool:
        """Note an iteration; return whether to stop after it."""
        self.losses.append(loss)
        watched, text = loss, f"iteration {len(self.losses)}: loss {loss:.6g}"
        if self.validation is not None:
            watched = data_loss(theta, self.validation, self.net)
            self.validation_losses.append(watched)
            text += f", validation loss {watched:.6g}"
        if self.verbose:
            print(text, flush=True)
        self.waited = 0 if watched < self.best - self.tol else self.waited + 1
        if watched < self.best:
            self.best, self.best_theta = watched, theta.copy()
        idle = self.waited >= self.patience and (patient or self.validation is not None)
        self.stopped = idle or not np.isfinite(loss)
        return self.stopped


def minimise(
    theta: Floats,
    data: Data,
    net: Network,
    *,
    solver: str = "lbfgs",
    max_iter: int = 200,
    tol: float = 1e-4,
    validation: Data | None = None,
    n_iter_no_change: float = 10,
    batch_size: int = 200,
    learning_rate: float = 1e-3,
    moments: Moments | None = None,
    rng: np.random.RandomState | None = None,
    verbose: bool = False,
) -> NetworkSolution:
    """Minimise ``J`` from ``theta``, until it or the validation loss does not fall any more.

    With validation data, the best parameters on these are returned; Rprop returns its best in any
    case.  A loss that is not finite ends the minimisation, and the curve.
    """
    trace = _Trace(net, validation, tol, n_iter_no_change, verbose)
    how = theta, data, net, trace, max_iter
    with np.errstate(all="ignore"):
        if solver == "adam":
            if moments is None:
                moments = Moments(np.zeros_like(theta), np.zeros_like(theta), 0)
            rng = np.random.RandomState(0) if rng is None else rng
            theta, converged, moments = _adam(*how, batch_size, learning_rate, moments, rng)
        else:
            theta, converged = (_lbfgs if solver == "lbfgs" else _rprop)(*how, tol)
            moments = None
    if trace.best_theta is not None and (validation is not None or solver == "rprop"):
        theta = trace.best_theta
    converged = bool(converged and np.isfinite(trace.losses[-1]))
    return NetworkSolution(theta, trace.losses, trace.validation_losses, converged, moments)


def _lbfgs(
    theta: Floats, data: Data, net: Network, trace: _Trace, max_iter: int, tol: float
) -> tuple[Floats, bool]:
    last = np.inf

    def function(x: Floats) -> tuple[float, Floats]:
        nonlocal last
        last, gradient = objective(x, data, net)
        return last, gradient

    def note(x: Floats) -> None:
        if trace.step(x, last, patient=False):
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 20 * max_iter, "gtol": tol, "ftol": 1e-5 * tol}
    result = scipy_minimize(
        function, theta, jac=True, method="L-BFGS-B", callback=note, options=options
    )
    if not trace.losses:  # at its minimum from the start, or nowhere to go
        trace.step(result.x, float(result.fun))
    return result.x, result.status == 0 or trace.stopped


def _rprop(
    theta: Floats, data: Data, net: Network, trace: _Trace, max_iter: int, tol: float
) -> tuple[Floats, bool]:
    """Steps by the sign of each derivative, full batch."""
    theta = theta.copy()
    steps, before = np.full_like(theta, FIRST_STEP), np.zeros_like(theta)
    _, gradient = objective(theta, data, net)
    converged = False
    for _ in range(max_iter):
        _rprop_step(theta, steps, gradient, before)
        before = gradient
        loss, gradient = objective(theta, data, net)
        converged = trace.step(theta, loss) or bool(np.abs(gradient).max() <= tol)
        if converged:
            break
    return theta, converged


def _rprop_step(theta: Floats, steps: Floats, gradient: Floats, before: Floats) -> None:
    """Step and adapt the steps, all in place (iRprop-, Igel and Hüsken 2003)."""
    turned = gradient * before
    steps *= np.where(turned > 0, GROW, np.where(turned < 0, SHRINK, 1.0))
    steps.clip(LEAST_STEP, LARGEST_STEP, out=steps)
    gradient[turned < 0] = 0.0
    theta -= np.sign(gradient) * steps


def _adam(
    theta: Floats, data: Data, net: Network, trace: _Trace, max_iter: int, batch_size: int,
    learning_rate: float, moments: Moments, rng: np.random.RandomState,
) -> tuple[Floats, bool, Moments]:  # fmt: skip
    """Mini-batches in random order (Kingma and Ba 2015)."""
    theta, first, second = theta.copy(), moments.first.copy(), moments.second.copy()
    t, n = moments.n_steps, data.signs.shape[1]
    converged = False
    for _ in range(max_iter):
        loss = 0.0
        order = rng.permutation(n)
        for start in range(0, n, batch_size):
            rows = order[start : start + batch_size]
            share = len(rows) / n
            # The mean over the batch estimates that over all points; the decay is shared.
            part = data.rows(rows, total=data.total * share)
            part_loss, gradient = objective(theta, part, net._replace(alpha=net.alpha * share))
            loss += share * part_loss
            t += 1
            first += (1.0 - BETA_1) * (gradient - first)
            second += (1.0 - BETA_2) * (gradient * gradient - second)
            rate = learning_rate * np.sqrt(1.0 - BETA_2**t) / (1.0 - BETA_1**t)
            theta -= rate * first / (np.sqrt(second) + EPSILON)
        if converged := trace.step(theta, loss):
            break
    return theta, converged, Moments(first, second, t)
