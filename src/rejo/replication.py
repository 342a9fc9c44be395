"""The reduction: K ordered classes with a reject option as one binary problem.

Every training point is copied once for each boundary to be learned.  Copies are
marked with *extension features*, and copy ``q`` is labelled by the side of
boundary ``q`` on which the point's class lies.  Two boundaries stand between
neighbouring classes; what lies between the two is rejected.  This module is
TABLE costs and TABLE ordinalcosts of the paper as array expressions; it counts
classes, replicas and boundaries from 0.

With K classes there are ``Q = 2 (K - 1)`` replicas; without rejection (plain
ordinal classification) ``Q = K - 1``.  The number of positive replicas of a
point, its *count* in ``0..Q``, is the output of a classifier, which ``decode`` reads.
"""

from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rejo._errors import integer
from rejo._sparse import check_sparse
from rejo._typing import Floats, Indices

COPY = 1 << 16  # rows of an array copied at a time

Coding = Literal["onehot", "thermometer", "ordinal"]

__all__ = [
    "costs_from_loss",
    "decode",
    "extension_vectors",
    "loss_from_costs",
    "replica_costs",
    "replica_labels",
    "replicate",
]


def replica_labels(n_classes: int, reject: bool = True) -> Floats:
    """Binary label of each class in each replica.

    Parameters
    ----------
    n_classes : int
        Number of ordered classes, K.
    reject : bool, default=True
        Two boundaries between neighbouring classes (a reject region) or one.

    Returns
    -------
    labels : ndarray of shape (n_classes, n_replicas)
        ``+1`` where the class lies above the boundary, else ``-1``.

    Examples
    --------
    >>> from rejo.replication import replica_labels
    >>> replica_labels(3)
    array([[-1., -1., -1., -1.],
           [ 1.,  1., -1., -1.],
           [ 1.,  1.,  1.,  1.]])
    """
    k, _, j = _classes_and_replicas(n_classes, reject)
    return np.where(k > j, 1.0, -1.0)


def replica_costs(n_classes: int, reject_cost: float | None, s: int | None = None) -> Floats:
    """Cost of an error on each class in each replica.

    Parameters
    ----------
    n_classes : int
        Number of ordered classes, K.
    reject_cost : float in (0, 0.5] or None
        Cost of a rejection, the paper's ``w_r``, where an error costs 1.  ``None`` is plain
        ordinal classification: one replica for each boundary, unit costs.
    s : int, default=None
        Number of classes on each side that take part in a boundary; the others have
        cost 0.  ``None`` means all.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_replicas)
        Not negative.

    Examples
    --------
    >>> from rejo.replication import replica_costs
    >>> replica_costs(2, reject_cost=0.2)
    array([[0.2, 0.8],
           [0.8, 0.2]])
    """
    if reject_cost is not None and not (isinstance(reject_cost, Real) and 0 < reject_cost <= 0.5):
        raise ValueError(
            f"reject_cost must be a number in (0, 0.5], or None for no rejection; got "
            f"{reject_cost!r}. Above 0.5 the two edges of a reject region would change places; a "
            "ThresholdRejectClassifier takes up to 1 - 1/n_classes."
        )
    if s is not None:
        integer("s", s, 1)
    k, q, j = _classes_and_replicas(n_classes, reject_cost is not None)
    if reject_cost is None:
        costs = np.ones((k.size, q.size))
    else:
        costs = np.where(k == j + q % 2, reject_cost, 1.0 - reject_cost)
    beyond = np.where(k > j, k - j, j + 1 - k)  # 1 for the two classes at the boundary
    return np.where(beyond <= (k.size if s is None else s), costs, 0.0)


def loss_from_costs(costs: ArrayLike) -> Floats:
    """Loss that the replica costs induce on the outputs of the classifier.

    Parameters
    ----------
    costs : array-like of shape (n_classes, n_replicas)
        From :func:`replica_costs`, or your own.

    Returns
    -------
    loss : ndarray of shape (n_classes, n_replicas + 1)
        ``loss[k, o]`` is the cost of the count ``o`` for a point of class ``k``: the sum of
        the costs of all replicas that are on the wrong side.

    Examples
    --------
    >>> from rejo.replication import loss_from_costs, replica_costs
    >>> loss_from_costs(replica_costs(2, reject_cost=0.2))
    array([[0. , 0.2, 1. ],
           [1. , 0.2, 0. ]])
    """
    costs = _as_costs(costs)
    steps = np.pad(np.cumsum(costs, axis=1), ((0, 0), (1, 0)))
    right = _right_outputs(*costs.shape)
    return np.abs(steps - np.take_along_axis(steps, right[:, None], axis=1))


def costs_from_loss(loss_matrix: ArrayLike) -> Floats:
    """Replica costs that induce a given loss.

    Parameters
    ----------
    loss_matrix : array-like of shape (n_classes, 2 * n_classes - 1) or (n_classes, n_classes)
        Cost of each output for each true class.  The outputs are class 0, reject
        between 0 and 1, class 1, ...; the square form has no rejections.

    Returns
    -------
    costs : ndarray of shape (n_classes, n_replicas)
        ``abs(loss[k, q + 1] - loss[k, q])``.  Each row must fall to 0 at its own class and rise
        after it: other losses are not sums of costs over boundaries.

    Examples
    --------
    >>> from rejo.replication import costs_from_loss
    >>> costs_from_loss([[0, 0.5, 1], [10, 0.5, 0]])
    array([[0.5, 0.5],
           [9.5, 0.5]])
    """
    loss = as_matrix("loss_matrix", loss_matrix)
    if loss.ndim != 2 or loss.shape[0] < 2 or loss.shape[1] not in _widths(loss.shape[0]):
        raise ValueError(
            "loss_matrix must have one row for each of K >= 2 classes and K columns (no "
            f"rejection) or 2 K - 1 columns (class, reject, class, ...); got shape {loss.shape}."
        )
    return costs_of_rows(loss, np.arange(len(loss)), len(loss), "loss_matrix")


def as_matrix(name: str, values: ArrayLike) -> Floats:
    """Losses as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be a matrix of numbers: {error}.") from None


def costs_of_rows(loss: Floats, y: Indices, n_classes: int, name: str, rows: Any = None) -> Floats:
    """Replica costs (n, Q) of points of the classes ``y`` (n,), each with its loss (n, Q + 1).

    An error names the array, and the row by its number or by its entry in ``rows``.
    """
    right = _right_outputs(n_classes, loss.shape[1] - 1)[y]
    with np.errstate(invalid="ignore"):
        steps = np.diff(loss, axis=1)
    away = np.where(np.arange(steps.shape[1]) < right[:, None], -steps, steps)
    grows, finite, zero = away >= 0, np.isfinite(loss), loss[np.arange(len(loss)), right] == 0
    if grows.all() and finite.all() and zero.all():
        return np.abs(steps)
    i = int((grows.all(axis=1) & finite.all(axis=1) & zero).argmin())
    row, o = loss[i], int(right[i])
    if not np.isfinite(row).all():
        fault = "must be finite"
    elif row[o] != 0:
        fault = f"must be 0 in column {o}, the right answer, where it is {row[o]:g}"
    elif np.any(wrong := steps[i, :o] > 0):
        fault = f"must not rise before column {o}, but rises after column {wrong.argmax()}"
    else:
        wrong = steps[i, o:] < 0
        fault = f"must not fall after column {o}, but falls after column {o + wrong.argmax()}"
    raise ValueError(
        f"{name}, row {i if rows is None else rows[i]} (true class {y[i]}) {fault}: "
        f"{row.tolist()}. The method can only express a loss that grows with the distance from the "
        "true class."
    )


def extension_vectors(n_replicas: int, h: float = 1.0, coding: Coding = "onehot") -> Floats:
    """Extension features that distinguish the replicas.

    Parameters
    ----------
    n_replicas : int
        Number of boundaries, ``2 * (n_classes - 1)`` with rejection.
    h : float, default=1.0
        Size of an extension feature; small values keep the thresholds together.
    coding : {"onehot", "thermometer", "ordinal"}, default="onehot"
        Replica ``q`` has its own feature ``q - 1``, as in the paper; or all features below
        ``q``; or one feature with the value ``q`` (times ``h``), which suits trees.

    Returns
    -------
    vectors : ndarray of shape (n_replicas, n_replicas - 1), or (n_replicas, 1) if ordinal
        The first row is 0.  A single replica has no extension features.

    Examples
    --------
    >>> from rejo.replication import extension_vectors
    >>> extension_vectors(4, coding="thermometer")
    array([[0., 0., 0.],
           [1., 0., 0.],
           [1., 1., 0.],
           [1., 1., 1.]])
    """
    integer("n_replicas", n_replicas, 1)
    if not (isinstance(h, Real) and 0 < h < np.inf):
        raise ValueError(f"h must be a positive finite number; got {h!r}.")
    if coding == "onehot":
        return h * np.eye(n_replicas, n_replicas - 1, k=-1)
    if coding == "thermometer":
        return h * np.tri(n_replicas, n_replicas - 1, k=-1)
    if coding == "ordinal":
        return h * np.arange(n_replicas, dtype=np.float64)[:, None][:, : n_replicas - 1]
    raise ValueError(f"coding must be 'onehot', 'thermometer' or 'ordinal'; got {coding!r}.")


def replicate(
    X: Any,
    y: ArrayLike,
    costs: ArrayLike,
    *,
    h: float = 1.0,
    coding: Coding = "onehot",
    sample_weight: ArrayLike | None = None,
    drop_zero: bool = False,
    return_replica: bool = False,
) -> Any:
    """Build the replicated training set, for any binary classifier with sample weights.

    See :footcite:t:`cardoso2007` and, with a reject option, :footcite:t:`sousa2013`.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
        Points.
    y : array-like of shape (n_samples,)
        Class indices ``0..n_classes - 1``.
    costs : array-like of shape (n_classes, n_replicas)
        From :func:`replica_costs` or :func:`costs_from_loss`.
    h, coding
        As in :func:`extension_vectors`.
    sample_weight : array-like of shape (n_samples,) or (n_samples, n_replicas), default=None
        Multiplies the costs of all replicas of a point, or of each.
    drop_zero : bool, default=False
        Leave out the rows with weight 0.
    return_replica : bool, default=False
        Also return the replica of each row.

    Returns
    -------
    X_replicated : (n_rows, n_features + n_extension_features)
        Row ``q * n_samples + i`` is point ``i`` in replica ``q``, unless rows are dropped.
        Sparse or a DataFrame if ``X`` is.
    y_replicated : ndarray of shape (n_rows,)
        ``+1`` or ``-1``.
    weight_replicated : ndarray of shape (n_rows,)
        0 for points that take no part in a replica (see ``s``).
    replica : ndarray of int of shape (n_rows,)
        Only if ``return_replica=True``.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.replication import replica_costs, replicate
    >>> Xr, yr, wr = replicate([[5.0], [7.0]], [0, 1], replica_costs(2, 0.2))
    >>> np.column_stack([Xr, yr, wr])
    array([[ 5. ,  0. , -1. ,  0.2],
           [ 7. ,  0. ,  1. ,  0.8],
           [ 5. ,  1. , -1. ,  0.8],
           [ 7. ,  1. ,  1. ,  0.2]])
    """
    costs = _as_costs(costs)
    n_classes, n_replicas = costs.shape
    if hasattr(X, "tocsr"):
        check_sparse(X)
    known = ("tocsr", "iloc", "get_columns")  # a sparse matrix, or a frame of pandas or polars
    X = X if any(hasattr(X, name) for name in known) else np.asarray(X)
    k = np.asarray(y)
    n = X.shape[0]
    if k.shape != (n,):
        raise ValueError(f"y must have one entry for each of the {n} rows of X; got {k.shape}.")
    if n and not (k.dtype.kind in "iu" and k.min() >= 0 and k.max() < n_classes):
        raise ValueError(
            f"y must hold class indices 0..{n_classes - 1}, as costs has {n_classes} rows: "
            "np.unique(y, return_inverse=True) gives them."
        )
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weight.shape not in ((n,), (n, n_replicas)):
        raise ValueError(
            f"sample_weight must have shape ({n},) as y, or ({n}, {n_replicas}) with an entry for "
            f"each replica; got {weight.shape}."
        )
    vectors = extension_vectors(n_replicas, h, coding)
    labels = replica_labels(n_classes, reject=_has_reject(n_classes, n_replicas))
    weights = costs[k] * weight.reshape(n, -1)  # (n_samples, n_replicas)
    q, i = np.nonzero(weights.T if drop_zero else np.ones((n_replicas, n)))
    replicated = extend_rows(X, i, vectors[q]), labels[k[i], q], weights[i, q]
    return (*replicated, q) if return_replica else replicated


def extend_rows(X: Any, rows: Indices, vectors: Floats) -> Any:
    """Take rows (n_rows,) of ``X`` and put vectors (n_rows, n_extension_features) beside them.

    Sparse rows become CSR; in a DataFrame the new columns are ``replica_0``, ...
    """
    n_features = X.shape[1]
    if hasattr(X, "tocsr"):
        from scipy import sparse

        extended = sparse.hstack([X.tocsr()[rows], sparse.csr_array(vectors)], format="csr")
        return sparse.csr_matrix(extended)  # LightGBM takes no sparse arrays
    if hasattr(X, "iloc"):
        frame = X.iloc[rows].reset_index(drop=True)
        named = all(isinstance(name, str) for name in X.columns)
        if not named:  # names that scikit-learn ignores must not mix with strings
            frame.columns = range(n_features)
        for j, feature in enumerate(vectors.T):
            frame[_free_name(j, X.columns) if named else n_features + j] = feature
        return frame
    if hasattr(X, "get_columns"):  # of polars
        marks = {_free_name(j, X.columns): feature for j, feature in enumerate(vectors.T)}
        return X[rows].hstack(type(X)(marks))
    kind = X.dtype if X.dtype.kind in "fO" else np.float64
    array = np.empty((len(rows), n_features + vectors.shape[1]), dtype=kind)
    array[:, n_features:] = vectors
    for start in range(0, len(rows), COPY):
        part = slice(start, start + COPY)
        array[part, :n_features] = X[rows[part]]
    return array


def decode(counts: ArrayLike, reject: bool = True) -> NDArray[np.intp]:
    """Class index of each count of positive replicas.

    Parameters
    ----------
    counts : array-like of int
        ``0..n_replicas``.
    reject : bool, default=True
        Two replicas for each boundary (an odd count is a rejection) or one.

    Returns
    -------
    classes : ndarray of int
        ``-1`` where the point is rejected: it then lies between the classes
        ``counts // 2`` and ``counts // 2 + 1``.

    Examples
    --------
    >>> from rejo.replication import decode
    >>> decode([0, 1, 2, 3, 4])
    array([ 0, -1,  1, -1,  2])
    """
    N = np.asarray(counts, dtype=np.intp)
    return np.where(N % 2 == 1, -1, N // 2) if reject else N


def _free_name(j: int, taken: Any) -> str:
    name = f"replica_{j}"
    while name in taken:
        name = "_" + name
    return name


def _classes_and_replicas(n_classes: int, reject: bool) -> tuple[Any, Any, Any]:
    """Classes k (K, 1), replicas q (Q,) and the class j (Q,) just below boundary q."""
    integer("n_classes", n_classes, 2)
    k, q = np.arange(n_classes)[:, None], np.arange((n_classes - 1) * (2 if reject else 1))
    return k, q, q // 2 if reject else q


def _widths(n_classes: int) -> tuple[int, int]:
    """Columns of a loss matrix without and with rejection."""
    return n_classes, 2 * n_classes - 1


def _has_reject(n_classes: int, n_replicas: int) -> bool:
    return n_replicas == 2 * (n_classes - 1)


def _right_outputs(n_classes: int, n_replicas: int) -> NDArray[np.intp]:
    """Count (K,) that stands for each class itself."""
    return np.arange(n_classes) * (2 if _has_reject(n_classes, n_replicas) else 1)


def _as_costs(costs: ArrayLike) -> Floats:
    costs = np.asarray(costs, dtype=np.float64)
    if costs.ndim != 2 or len(costs) < 2 or costs.shape[1] + 1 not in _widths(len(costs)):
        raise ValueError(
            "costs must have one row for each of K >= 2 classes and K - 1 or 2 (K - 1) columns, "
            f"as replica_costs gives them; got shape {costs.shape}."
        )
    if not (np.isfinite(costs).all() and (costs >= 0).all()):
        raise ValueError(f"costs must be finite and not negative; got {costs.tolist()}.")
    return costs
