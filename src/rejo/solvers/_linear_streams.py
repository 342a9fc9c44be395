"""The linear problem on a stream: one chunk of points after another, none of them kept."""

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from rejo._typing import Floats, Indices
from rejo.solvers._linear_descent import minimise
from rejo.solvers._linear_losses import LOSSES
from rejo.solvers._linear_objective import Objective, threshold_penalty

CURVED = 500  # features; up to here a stream keeps the curvature seen
BATCH = 128  # points of a gradient step


class Stream(NamedTuple):
    """What is known after some chunks of a stream."""

    x: Floats  # (p + Q,) the current weights and thresholds
    mean: Floats  # (p + Q,) what to predict with
    memory: Floats  # curvature seen so far (p + Q, p + Q), or sums of squared gradients (p + Q,)
    pace: float  # step for the weights; 0 with curvature
    n_seen: int
    n_steps: int


def begin(X: Any, n_replicas: int, loss: str, h: float) -> Stream:
    """Know nothing yet: the penalty alone; ``X`` (n, p) tells the scale of the points."""
    p = X.shape[1]
    x = np.zeros(p + n_replicas)
    if LOSSES[loss].is_smooth and p <= CURVED:
        prior = np.eye(len(x))
        prior[p:, p:] = threshold_penalty(n_replicas, h)
        return Stream(x, x, prior, 0.0, 0, 0)
    squares = X.multiply(X).sum() if issparse(X) else np.square(X, dtype=np.float64).sum()
    pace = 1.0 / np.sqrt(max(float(squares) / X.shape[0], 1e-300))
    return Stream(x, x, np.zeros_like(x), pace, 0, 0)


def resume(
    X: Any,  # (n, p) the next chunk
    k: Indices,  # (n,)
    labels: Floats,  # (K, Q)
    caps: Floats,  # (K, Q)
    weight: Floats | None = None,  # (n,)
    *,
    start: tuple[Floats, Floats],  # (w, b)
    n_seen: int,
    loss: str = "logistic",
    h: float = 1.0,
) -> Stream:
    """Go on from a solution for ``n_seen`` points, which are taken to be like this chunk."""
    stream, x = begin(X, labels.shape[1], loss, h), np.concatenate(start)
    stream = stream._replace(x=x, mean=x, n_seen=n_seen)
    if stream.memory.ndim == 1:
        return stream._replace(n_steps=-(-n_seen // BATCH))
    objective = Objective(X, LOSSES[loss](labels, caps, k, weight), h)
    seen = (objective.hessian(x) - stream.memory) * (n_seen / X.shape[0])
    return stream._replace(memory=stream.memory + seen)


def advance(
    stream: Stream,
    X: Any,  # (n, p) a chunk
    k: Indices,  # (n,)
    labels: Floats,  # (K, Q)
    caps: Floats,  # (K, Q)
    weight: Floats | None = None,  # (n,)
    *,
    loss: str = "logistic",
    h: float = 1.0,
    rng: Any = None,
) -> Stream:
    """Learn from one more chunk.

    With curvature, the sum of all losses seen so far is replaced by its expansion to second order
    about the current point, and the chunk is solved with that as its penalty: the first chunk is
    solved as by ``solve``.  Otherwise one pass of averaged, scaled gradient steps is made.
    """
    if stream.memory.ndim == 2:
        fit = LOSSES[loss](labels, caps, k, weight)
        objective = Objective(X, fit, h, prior=(stream.x, stream.memory))
        done = minimise(objective, stream.x, tol=1e-10, max_iter=100)
        x, n_steps = done.point.x, stream.n_steps + done.n_iter
        return Stream(x, x, objective.hessian(x), 0.0, stream.n_seen + len(k), n_steps)

    p, (x, mean, memory, pace, n_seen, n_steps) = X.shape[1], stream
    x, mean, memory = x.copy(), mean.copy(), memory.copy()
    paces = np.where(np.arange(len(x)) < p, pace, 1.0)
    order = rng.permutation(len(k))
    for start in range(0, len(k), BATCH):
        rows = order[start : start + BATCH]
        fit = LOSSES[loss](labels, caps, k[rows], None if weight is None else weight[rows])
        fit.sharpen()
        batch = Objective(X[rows], fit, h)
        n_seen += len(rows)
        pull = batch.penalty(x)[1]
        g = (batch(x)[1] - pull) / len(rows) + pull / n_seen
        memory += g * g if memory.any() else (1 + n_steps) * g * g
        x -= paces * g / np.sqrt(np.maximum(memory, 1e-300))
        n_steps += 1
        mean += (x - mean) * (4.0 / (n_steps + 3.0))  # later points count more
    return Stream(x, mean, memory, pace, n_seen, n_steps)
