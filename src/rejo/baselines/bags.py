"""Bags of instances: made of the rows of a table, told from tables, and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from rejo.tables.series import as_pandas

__all__ = ["Bags", "bag_array", "bags_of", "is_bags"]


class Bags(NamedTuple):
    """Rows of a table as bags, as :func:`bags_of` returns them.

    Attributes
    ----------
    X : ndarray of DataFrames of shape (n_bags,)
        The bags; each of shape (n_instances, n_features).
    y : Series of shape (n_bags,) or None
        Labels, with the names of the bags as index; ``None`` without labels.
    names : ndarray of shape (n_bags,)
        What the bags are called in the table.

    See Also
    --------
    bags_of : Makes bags of the rows of a table.
    rejo.baselines.BagEmbedding : Turns bags into rows of numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from rejo.baselines.bags import bags_of
    >>> table = pd.DataFrame({"image": ["a", "a", "b"], "red": [0.1, 0.2, 0.9]})
    >>> bags = bags_of(table, "image")
    >>> bags.names
    array(['a', 'b'], dtype='<U1')
    >>> bags.X[0]
       red
    0  0.1
    1  0.2
    """

    X: NDArray[np.object_]
    y: Any
    names: NDArray[Any]


def bags_of(table: Any, bag: str, label: str | None = None) -> Bags:
    """Make bags of the rows of a table, one for each value in a column.

    Parameters
    ----------
    table : DataFrame of pandas or polars
        A row for each instance.
    bag : str
        The column that says to which bag a row belongs.
    label : str, default=None
        The column with the class of the bag, the same in all of its rows.

    Returns
    -------
    bags : Bags
        ``X``, ``y`` and ``names``, in the order in which the bags first appear.  All other columns
        are features.

    See Also
    --------
    bag_array : Makes an array of bags that you have.
    rejo.baselines.BagEmbedding : Turns bags into rows of numbers.
    rejo.datasets.make_bags : Draws bags to try it on.

    Examples
    --------
    >>> import pandas as pd
    >>> from rejo.baselines.bags import bags_of
    >>> table = pd.DataFrame({
    ...     "image": ["a", "a", "b"], "red": [0.1, 0.2, 0.9], "blue": [0.5, 0.7, 0.3],
    ...     "beach": ["yes", "yes", "no"],
    ... })
    >>> X, y, names = bags_of(table, "image", "beach")
    >>> [bag.shape for bag in X], y.tolist(), names.tolist()
    ([(2, 2), (1, 2)], ['yes', 'no'], ['a', 'b'])
    """
    table = as_pandas(table)
    if not hasattr(table, "groupby"):
        raise TypeError(f"table must be a pandas or polars DataFrame; got {type(table).__name__}.")
    for name in filter(None, (bag, label)):
        if name not in table.columns:
            raise ValueError(f"table has no column {name!r}; it has {list(table.columns)}.")
        if table[name].isna().any():
            raise ValueError(
                f"the column {name!r} has missing values: fill them, or drop the rows."
            )
    grouped = table.groupby(bag, sort=False, observed=True)
    y = None
    if label is not None:
        differ = grouped[label].nunique() > 1
        if differ.any():
            raise ValueError(
                f"the rows of bag {differ.idxmax()!r} have different labels in {label!r}; a bag "
                "has one label."
            )
        y = grouped[label].first()
    features = table.columns.drop([name for name in (bag, label) if name is not None])
    X = bag_array([part[features] for _, part in grouped])
    return Bags(X, y, np.array([name for name, _ in grouped]))


def bag_array(bags: Sequence[Any]) -> NDArray[np.object_]:
    """Return bags as an array of objects of shape (n_bags,).

    NumPy cannot make one of a list of bags of different sizes, and scikit-learn and rejo try it
    where they need an array.

    Parameters
    ----------
    bags : sequence of {array-like, DataFrame}
        Each of shape (n_instances, n_features).

    Returns
    -------
    array : ndarray of objects of shape (n_bags,)
        The same bags.

    See Also
    --------
    bags_of : Makes bags of the rows of a table.
    is_bags : Tells bags from a table.
    rejo.baselines.BagEmbedding : Turns bags into rows of numbers.

    Examples
    --------
    >>> from rejo.baselines.bags import bag_array
    >>> X = bag_array([[[0.1], [0.2]], [[0.9]]])
    >>> X.shape, len(X[0]), len(X[1])
    ((2,), 2, 1)
    """
    found = np.empty(len(bags), dtype=object)
    for i, bag in enumerate(bags):
        found[i] = bag
    return found


def is_bags(X: Any) -> bool:
    """Return whether ``X`` is a sequence of bags, which are tables, and not a table itself.

    Parameters
    ----------
    X : object
        What may be bags.

    Returns
    -------
    found : bool
        ``False`` also for an empty sequence.

    See Also
    --------
    bag_array : Makes an array of bags.
    bags_of : Makes bags of the rows of a table.

    Examples
    --------
    >>> from rejo.baselines.bags import is_bags
    >>> is_bags([[[0.1, 0.5], [0.2, 0.7]], [[0.9, 0.3]]]), is_bags([[0.1, 0.5], [0.2, 0.7]])
    (True, False)
    """
    sequence = isinstance(X, (list, tuple)) or len(getattr(X, "shape", ())) in (1, 3)
    if not sequence or issparse(X) or len(X) == 0:
        return False
    first = X.iloc[0] if hasattr(X, "iloc") else X[0]
    if isinstance(first, (list, tuple)) and len(first):
        return isinstance(first[0], (list, tuple, np.ndarray))
    return len(getattr(first, "shape", ())) == 2


# ---- checks -----------------------------------------------------------------------------------

GROUP_THEM = (
    "If its rows are instances, make bags of them: rejo.baselines.bags.bags_of(table, column). If "
    "each row is a case of its own, leave BagEmbedding out."
)


def checked_bags(X: Any) -> Iterator[Any]:
    """Yield the bags, as arrays of numbers or frames; all have the same features."""
    if issparse(X) or hasattr(X, "columns") or (hasattr(X, "dtype") and _is_flat(X)):
        kind = f"{type(X).__name__} of shape {X.shape}" if hasattr(X, "shape") else type(X).__name__
        raise ValueError(f"X must be a sequence of bags; got one {kind}. {GROUP_THEM}")
    if isinstance(X, (str, bytes, dict)) or not hasattr(X, "__len__"):
        raise ValueError(
            f"X must be a sequence of bags, arrays (n_instances, n_features); got {X!r:.60}."
        )
    if len(X) == 0:
        raise ValueError("X has no bags.")
    first: Any = None
    for i, bag in enumerate(X):
        checked = _checked_bag(bag, i)
        if first is None:
            first = checked
        if checked.shape[1] != first.shape[1]:
            raise ValueError(
                f"bag {i} of X has {checked.shape[1]} features, and bag 0 has {first.shape[1]}: "
                "all instances need the same features."
            )
        if list(getattr(checked, "columns", ())) != list(getattr(first, "columns", ())):
            raise ValueError(f"bag {i} of X has other columns than bag 0, or in another order.")
        yield checked


def _is_flat(X: Any) -> bool:
    """Return whether an array or a Series cannot be a sequence of bags."""
    return X.dtype != object and len(getattr(X, "shape", ())) != 3


def _checked_bag(bag: Any, i: int) -> Any:
    """Bag number ``i`` as an array of floats, or the frame that it is."""
    try:
        values = np.asarray(bag, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"bag {i} of X is not an array of numbers, one row for each instance; got {bag!r:.60}."
        ) from None
    if values.ndim != 2:
        remedy = " A bag with one instance is [instance]." if values.ndim == 1 else ""
        raise ValueError(
            f"bag {i} of X must have the shape (n_instances, n_features); got {values.shape}."
            f"{remedy} {GROUP_THEM if values.ndim < 2 else ''}".rstrip()
        )
    if 0 in values.shape:
        what = "instances" if len(values) == 0 else "features"
        raise ValueError(f"bag {i} of X has no {what}: leave it out, and let a person decide it.")
    if not np.isfinite(values).all():
        raise ValueError(
            f"bag {i} of X contains NaN or infinity: fill these values, or drop the instances."
        )
    return bag if hasattr(bag, "columns") else values
