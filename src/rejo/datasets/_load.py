"""Load a table from a file: features, classes and groups apart."""

import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from rejo.tables import TableError, check_columns, import_pandas, read_table


def load_table(
    path: str | os.PathLike[str],
    *,
    target: str = "target",
    order: Sequence[Hashable] | None = None,
    groups: str | None = None,
    drop: str | Iterable[str] = (),
    text: str | Iterable[str] = (),
    **options: Any,
) -> Bunch:
    r"""Load a labelled table from a file; needs ``rejo[tables]``.

    Parameters
    ----------
    path : str or path
        The file.
    target : str, default="target"
        Column of the classes.
    order : sequence of labels, default=None
        The classes, lowest first. The target is then an ordered categorical, and the estimators
        of this package follow its order. ``None``: the column as it is.
    groups : str, default=None
        Column that says which rows belong together (a patient, a customer). It is not a feature:
        pass it to a splitter such as scikit-learn's ``GroupKFold``.
    drop : str or iterable of str, default=()
        More columns that are not features.
    text : str or iterable of str, default=()
        Columns to keep as strings, such as classes written ``01``.
    **options
        How the file is written, such as ``sep`` and ``encoding`` of :func:`rejo.tables.read_table`.

    Returns
    -------
    Bunch
        ``data`` (DataFrame), ``target`` (Series), ``groups`` (Series, or None),
        ``feature_names``, ``target_names`` (the classes in order), ``name``, ``filename`` and
        ``DESCR``. Whole numbers are integers in ``target`` and ``groups``, and floats in ``data``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.datasets import load_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "visits.csv")
    ...     _ = path.write_text("age;patient;grade\n41;7;good\n41;7;fair\n63;8;poor\n")
    ...     grades = ["good", "fair", "poor"]
    ...     visits = load_table(path, target="grade", order=grades, groups="patient")
    >>> visits.feature_names, visits.target_names, visits.groups.tolist()
    (['age'], ['good', 'fair', 'poor'], [7, 7, 8])
    """
    path = Path(path)
    others = [drop] if isinstance(drop, str) else list(drop)
    texts = [text] if isinstance(text, str) else list(text)
    frame = read_table(path, text=texts + others, **options).frame
    grouping = [] if groups is None else [groups]
    for parameter, columns in (("target", [target]), ("groups", grouping)):
        check_columns(str(path), columns, frame.columns, parameter)
    if target == groups:
        raise TableError(
            f"target and groups are the same column, {target!r}",
            where=str(path),
            parameter="groups",
        )
    y = _labels(frame, target, path, "target")
    classes = sorted(y.unique().tolist()) if order is None else list(order)
    data = frame.drop(columns=list({target, *grouping, *others}))
    return Bunch(
        data=data,
        target=y if order is None else _ordered(y, order, path),
        groups=None if groups is None else _labels(frame, groups, path, "groups"),
        feature_names=list(data.columns),
        target_names=classes,
        name=path.stem,
        filename=str(path),
        DESCR=f"{path.name}: {len(frame)} rows, {data.shape[1]} features, "
        f"{len(classes)} classes in column {target!r}.",
    )


def _labels(frame: Any, name: str, path: Path, parameter: str) -> Any:
    """Return a complete column, with whole numbers as integers."""
    column = frame[name]
    empty = np.flatnonzero(column.isna())
    if len(empty):
        raise TableError(
            f"{len(empty)} of {len(column)} values are missing",
            where=f"{path}, row {empty[0] + 1}, column {name!r}",
            parameter=parameter,
            remedy="Fill them in or remove these rows, or pass text=[...] if they are values.",
        )
    if column.dtype.kind != "f":
        return column
    if (column.abs() >= 2**53).any():
        raise TableError(
            "some numbers have more than 15 digits, too many to tell them apart",
            where=f"{path}, column {name!r}",
            parameter=parameter,
            remedy=f"Read them as strings: text=[{name!r}].",
        )
    return column.astype(np.int64) if (column % 1 == 0).all() else column


def _ordered(y: Any, order: Sequence[Hashable], path: Path) -> Any:
    pd = import_pandas("an ordered target")
    classes = list(order)
    if isinstance(order, (str, set, frozenset, dict)) or len(set(classes)) < len(classes):
        raise TableError(
            f"order must be a list of distinct classes, lowest first, got {order!r}",
            parameter="order",
        )
    if unknown := sorted(set(y.unique().tolist()) - set(classes)):
        raise TableError(
            f"the classes {unknown} are not in order={classes}",
            where=f"{path}, column {y.name!r}",
            parameter="order",
            remedy="Add them in their place, or correct the table.",
        )
    return y.astype(pd.CategoricalDtype(classes, ordered=True))
