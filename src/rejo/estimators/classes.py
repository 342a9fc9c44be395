"""From ``y`` and sample weights to arrays for a solver."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length

from rejo._typing import Indices
from rejo.replication import as_matrix, costs_of_rows

LARGEST_WEIGHT = 1e100
SMALLEST_WEIGHT = 1e-305  # of the largest: below, floats lose their digits


class Targets(NamedTuple):
    """Class and weight of every row that takes part."""

    classes: NDArray[Any]  # (K,) labels in class order
    indices: Indices  # (n,) index into classes
    weight: NDArray[np.float64] | None  # (n,) positive, class weights included; None: all 1
    sample_weight: NDArray[np.float64] | None  # (n,) the same without class weights
    rows: Indices | None  # (n,) rows of X with a weight; None: all
    loss_matrix: NDArray[np.float64] | None = None  # (K, Q + 1) given to fit; means, if by case
    costs: NDArray[np.float64] | None = None  # (n, Q) of the replicas, if they differ by case


def check_targets(
    X: Any, y: Any, sample_weight: Any, class_order: Any, class_weight: Any, name: str
) -> Targets:
    """Encode ``y`` in class order, drop the rows of weight zero, join the weights."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    classes, k = encode_classes(y, class_order)
    n = X.shape[0]
    if len(k) != n:
        check_consistent_length(X, k)
    if len(classes) < 2:
        raise ValueError(
            f"y has only one class, {classes.tolist()[0]!r}: {name} needs at least two classes."
        )
    if sample_weight is None and class_weight is None:
        return Targets(classes, k, None, None, None)

    w = np.ones(n) if sample_weight is None else check_sample_weight(sample_weight, n)
    totals = np.bincount(k, weights=w, minlength=len(classes))
    for label in classes[totals == 0].tolist():
        raise ValueError(
            f"sample_weight is 0 for every row of class {label!r}: a row of weight 0 counts as "
            "absent. Leave the class out of y, or give it some weight."
        )
    rows = None if (w > 0).all() else np.flatnonzero(w)
    if rows is not None:
        k, w = k[rows], w[rows]
    return Targets(classes, k, times_class_weight(w, class_weight, classes, k), w, rows)


def with_loss(targets: Targets, loss: Any, n: int) -> Targets:
    """Add a loss (n, Q + 1) for each of ``n`` cases; if they are equal in a class, for each class.

    So equal losses give the same model as a ``loss_matrix``, to the bit.
    """
    if loss is None:
        return targets
    classes, k, _, weight, rows = targets[:5]
    K, loss = len(classes), as_matrix("loss", loss)
    if loss.shape not in ((n, K), (n, 2 * K - 1)):
        raise ValueError(
            f"loss must have shape {(n, 2 * K - 1)}, a row for each case and a column for each "
            f"output (class, reject, class, ...), or {(n, K)} without rejection; got {loss.shape}."
        )
    loss = loss if rows is None else loss[rows]
    costs = costs_of_rows(loss, k, K, "loss", rows)
    first = loss[[(k == c).argmax() for c in range(K)]]
    if (loss == first[k]).all():
        return targets._replace(loss_matrix=first)
    totals = np.bincount(k, weight)
    sums = [np.bincount(k, column if weight is None else column * weight) for column in loss.T]
    return targets._replace(loss_matrix=np.transpose(sums) / totals[:, None], costs=costs)


def encode_classes(y: Any, class_order: Any = None) -> tuple[NDArray[Any], Indices]:
    """Classes in their order and the index of each entry of ``y``.

    The order is given by ``class_order``, or by an ordered pandas Categorical or a polars Enum, or
    is ascending.  Three or more classes of strings need one of the first two.
    """
    y = label_column(y)
    if class_order is None and is_ordered(y):
        categories, codes = _categories(y)
        if (codes < 0).any():
            raise ValueError("y contains missing values. Drop these rows first.")
        used, k = np.unique(codes, return_inverse=True)
        return categories[used], k
    try:
        labels = _check_labels(y)
        classes, k = _distinct(labels)
    except TypeError as error:
        kinds = set(map(type, labels.tolist()))
        if type(None) in kinds and len(kinds) == 2:
            raise ValueError("y contains missing values (None). Drop these rows first.") from None
        raise ValueError(f"y mixes labels that cannot be compared: {error}.") from None
    if class_order is None or isinstance(class_order, str):  # "sorted"
        if class_order is None and len(classes) > 2 and isinstance(classes[0], (str, bytes)):
            raise ValueError(
                f"y has {len(classes)} classes given as strings, and their order is not known. "
                f"Pass it, lowest first, as class_order={classes.tolist()}, or make y an ordered "
                "pandas Categorical or a polars Enum; class_order='sorted' says that alphabetical "
                "order is right."
            )
        return classes, k
    if isinstance(class_order, (set, frozenset, dict)):
        raise ValueError(
            f"class_order must be a list, lowest first; a {type(class_order).__name__} has no "
            f"meaningful order: {class_order!r}."
        )
    if np.ndim(class_order) != 1:
        raise ValueError(f"class_order must be a list of classes; got {class_order!r}.")
    order = class_order.tolist() if hasattr(class_order, "tolist") else list(class_order)
    position = {label: i for i, label in enumerate(order)}
    if len(position) < len(order):
        raise ValueError(f"class_order names a class twice: {order}.")
    if missing := [label for label in classes.tolist() if label not in position]:
        raise ValueError(f"y has classes that class_order={order} does not name: {missing}.")
    rank = np.argsort([position[label] for label in classes.tolist()])
    return classes[rank], np.argsort(rank)[k]


def _distinct(labels: NDArray[Any]) -> tuple[NDArray[Any], Indices]:
    """Return the labels that there are, ascending, and the place of each entry among them."""
    if labels.dtype.kind not in "biufU":
        return np.unique(labels, return_inverse=True)
    found = np.array(sorted(set(labels.tolist())), dtype=labels.dtype)  # a sort takes three times
    return found, found.searchsorted(labels)


def is_ordered(y: Any) -> bool:
    """Return whether ``y`` is an ordered pandas Categorical, or a polars Enum."""
    y = _only_column(y)
    return bool(getattr(getattr(y, "dtype", None), "ordered", False)) or _is_enum(y)


def label_column(y: Any) -> Any:
    """``y``, or its column if it is a frame of one, with scikit-learn's warning."""
    column = _only_column(y)
    if column is not y:
        column_or_1d(y, warn=True)
    return column


def _only_column(y: Any) -> Any:
    if len(getattr(y, "shape", ())) != 2 or y.shape[1] != 1:
        return y
    if hasattr(y, "iloc"):
        return y.iloc[:, 0]
    return y.to_series() if hasattr(y, "to_series") else y  # of polars


def _is_enum(y: Any) -> bool:
    """Return whether ``y`` is a polars Series of an Enum, without an import of polars."""
    kind = type(getattr(y, "dtype", None))
    return kind.__name__ == "Enum" and kind.__module__.partition(".")[0] == "polars"


def _categories(y: Any) -> tuple[NDArray[Any], Indices]:
    """Categories of an ordered ``y``, and the index of each entry; -1 if it is missing."""
    if _is_enum(y):
        codes = y.to_physical().cast(int).fill_null(-1)
        return np.array(y.dtype.categories.to_list()), codes.to_numpy()
    codes = getattr(y, "cat", y).codes  # of a Series or a Categorical
    return np.asarray(y.dtype.categories), np.asarray(codes)


def class_indices(y: Any, classes: NDArray[Any]) -> Indices:
    """Index (n,) in ``classes`` of each entry of ``y``, which need not have all of them."""
    used, k = encode_classes(labels_like(y, classes), "sorted")
    position = {label: i for i, label in enumerate(classes.tolist())}
    if new := [label for label in used.tolist() if label not in position]:
        raise ValueError(f"y has classes {new} that the model does not know: {classes.tolist()}.")
    return np.array([position[label] for label in used.tolist()], dtype=np.intp)[k]


def stream_classes(classes: Any, class_order: Any, known: NDArray[Any] | None) -> NDArray[Any]:
    """All classes (K,) of a stream in their order; ``known``: those of the calls before."""
    if classes is None:
        classes = class_order if known is None else known
        if classes is None or isinstance(classes, str):
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all classes of the "
                "stream, or class_order with all of them."
            )
    given, _ = encode_classes(classes, known if classes is known else class_order)
    if len(given) < 2:
        raise ValueError(f"classes must name two or more classes; got {classes!r}.")
    if known is not None and given.tolist() != known.tolist():
        raise ValueError(
            f"classes={given.tolist()} is not the same as on the last call to fit or "
            f"partial_fit: {known.tolist()}."
        )
    return given


def choose_reject_label(classes: NDArray[Any], reject_label: Any) -> Any:
    """Label for "review": as given, else ``"reject"`` or the first free one of -1, 0, -2, ..."""
    labels = classes.tolist()
    if reject_label is not None:
        if not np.isscalar(reject_label):
            raise ValueError(f"reject_label must be one number or string; got {reject_label!r}.")
        if reject_label in labels:
            raise ValueError(
                f"reject_label={reject_label!r} is also a class of y: {labels}. Give another one."
            )
        return reject_label
    if not isinstance(labels[0], (str, bytes)):
        return next(c for c in (-1, 0, *range(-2, -3 - len(labels), -1)) if c not in labels)
    label: Any = "reject" if isinstance(labels[0], str) else b"reject"
    if label in labels:
        raise ValueError(
            f"the default reject_label {label!r} is also a class of y: {labels}. Give another one "
            "as reject_label."
        )
    return label


def labels_like(y: Any, classes: NDArray[Any]) -> NDArray[Any]:
    """``y`` as labels that may be compared with ``classes``: numbers with numbers."""
    y = _check_labels(y)
    kinds = {k: "text" if k in "US" else "numbers" for k in "USbiuf"}
    mine, theirs = kinds.get(classes.dtype.kind), kinds.get(y.dtype.kind)
    if mine and theirs and mine != theirs:
        raise ValueError(
            f"y holds {theirs}, but the classes are {mine}: {classes.tolist()}. None could match."
        )
    return y


def _check_labels(y: Any) -> NDArray[Any]:
    """``y`` as a 1-d array of labels, with the errors of scikit-learn's checks."""
    y = np.asarray(y)
    if y.ndim != 1:
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            large = f"infinity or a value too large for {y.dtype!r}"
            found = "NaN" if np.isnan(y).any() else large
            raise ValueError(f"Input y contains {found}. Drop these rows first.")
        if (y != np.floor(y)).any():
            check_classification_targets(y)  # raises: a regression target
    elif y.dtype.kind == "O":
        try:
            assert_all_finite(y)
        except ValueError:
            raise ValueError("Input y contains NaN. Drop these rows first.") from None
    return y


def check_sample_weight(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """Return the weights as floats: finite, not negative, not all zero."""
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":
            raise ValueError("they are complex")
        w = given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must hold numbers: {error}.") from None
    if w.ndim == 0:
        w = np.full(n, w)
    if w.shape != (n,):
        raise ValueError(f"sample_weight.shape == {w.shape}, expected ({n},), one for each row.")
    if not np.isfinite(w).all():
        raise ValueError("sample_weight contains NaN or infinity; weights must be finite.")
    if w.min() < 0:
        raise ValueError(f"sample_weight must not be negative; the lowest is {w.min():g}.")
    if not w.any():
        raise ValueError("sample_weight is zero for all samples; at least one must be positive.")
    if not SMALLEST_WEIGHT <= w.max() <= LARGEST_WEIGHT:
        raise ValueError(
            f"sample_weight reaches {w.max():.1e}, which overflows or vanishes in the sums of the "
            "fit. Only the ratios of the weights and their product with C matter: rescale them, "
            "e.g. to a mean of 1."
        )
    return w


def times_class_weight(
    w: NDArray[np.float64], class_weight: Any, classes: NDArray[Any], k: Indices
) -> NDArray[np.float64]:
    """Return the weights times those of the classes."""
    if class_weight is None:
        return w
    return w * class_factors(class_weight, classes, np.bincount(k, weights=w))[k]


def class_factors(class_weight: Any, classes: NDArray[Any], totals: Any) -> NDArray[np.float64]:
    """Weights (K,) of the classes: positive, finite; "balanced" by their totals (K,)."""
    if isinstance(class_weight, str):
        factors = totals.sum() / (len(classes) * totals)
    else:
        factors = np.asarray(compute_class_weight(class_weight, classes=classes, y=classes))
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        given = dict(zip(classes.tolist(), factors.tolist(), strict=True))
        raise ValueError(f"class_weight must be positive and finite for every class; got {given}.")
    return factors
