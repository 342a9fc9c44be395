"""The public tables of the catalogue: from the data folder, else from OpenML."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from rejo.datasets._catalogue import CATALOGUE, Dataset
from rejo.datasets._tables import (
    BLANKS,
    data_folder,
    in_order,
    read_frame,
    read_header,
)
from rejo.tables.errors import did_you_mean, import_pandas


def fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    features: str | Iterable[str] | None = None,
    mark_missing: bool = False,
) -> Bunch:
    """A public table by its name in ``CATALOGUE``; needs pandas (``rejo[pandas]``).

    The data folder is looked into first, for ``<name>.csv`` or for the file as its authors publish
    it. What is not there comes from OpenML, through scikit-learn, which keeps a copy of its own;
    what OpenML does not have is an error that says where to get it. Columns, classes and their
    order are the same from either source, the order of the rows need not be.

    Parameters
    ----------
    name : str
        A name in ``CATALOGUE``, such as ``"german_credit"``, ``"bcct"`` (four ordered classes) or
        ``"bcct_binary"`` (the paper's two-class task).
    data_home : str or path, default=None
        The data folder. ``None``: the environment variable ``REJO_DATA``.
    features : "paper" or iterable of str, default=None
        Columns to learn from. ``None``: all that are fit for it. ``"paper"``: those of the paper's
        experiments, for the BCCT tables. A list may name any column of the table.
    mark_missing : bool, default=False
        Make NaN of zeros that are known to stand for missing values (``pima_diabetes``). By default
        the values are as published.

    Returns
    -------
    Bunch
        ``data``
            DataFrame; numbers are float64, words are categories.
        ``target``
            Series of 0 and 1 for a binary task, an ordered categorical of 1 to K for an ordinal
            one.
        ``groups``
            Series of rows that belong together, which must not be split between training and test;
            None where rows are independent.
        ``others``
            DataFrame of columns that are not features.
        ``feature_names``, ``target_names``, ``name``, ``task``, ``source``, ``DESCR``
            Column names, meaning of the classes in order, the name, ``"binary"`` or ``"ordinal"``,
            where it was read from, and a description with citation and licence.

    See Also
    --------
    available : the names that need no network.
    load_table : any other table.

    Examples
    --------
    >>> from rejo.datasets import CATALOGUE, fetch
    >>> CATALOGUE["bcct_binary"].target_names
    ('Excellent or Good', 'Fair or Poor')
    >>> table = fetch("bcct_binary", "data", features="paper")  # doctest: +SKIP
    >>> X, y, groups = table.data, table.target, table.groups  # doctest: +SKIP
    """
    entry = _entry(name)
    pd = import_pandas("fetch")
    folder = data_folder(data_home)
    path = _local_file(entry, folder)
    frame, source = _from_file(entry, path) if path else _from_openml(entry, folder)
    _check(entry, frame, source)

    if entry.merge:
        frame["target"] = np.take(entry.merge, frame["target"] - 1)
    for column in entry.zero_is_missing if mark_missing else ():
        frame[column] = frame[column].mask(frame[column] == 0)
    chosen = _choose(entry, features, list(frame.columns))
    target = frame["target"].astype(np.int64)
    rest = [c for c in frame.columns if c not in (*chosen, "target", entry.group)]
    return Bunch(
        data=frame[chosen],
        target=target if entry.task == "binary" else in_order(target, entry.classes, source),
        groups=frame[entry.group] if entry.group else None,
        others=pd.DataFrame(frame[rest]),
        feature_names=chosen,
        target_names=list(entry.target_names),
        name=entry.name,
        task=entry.task,
        source=source,
        DESCR=_describe(entry),
    )


def available(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Names of the catalogue that ``fetch`` finds in the data folder, without network.

    Parameters
    ----------
    data_home : str or path, default=None
        The data folder. ``None``: the environment variable ``REJO_DATA``.

    Returns
    -------
    list of str
        In the order of the catalogue; empty without a data folder.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.datasets import available
    >>> with TemporaryDirectory() as folder:
    ...     available(folder)
    []
    """
    folder = data_folder(data_home)
    return [name for name, entry in CATALOGUE.items() if _local_file(entry, folder)]


def _entry(name: str) -> Dataset:
    if name not in CATALOGUE:
        hint = did_you_mean(str(name), CATALOGUE) or "."
        raise ValueError(
            f"name must be one of the catalogue, got {name!r}{hint} "
            f"Names: {', '.join(CATALOGUE)}. load_table reads any other table."
        )
    return CATALOGUE[name]


def _local_file(entry: Dataset, folder: Path | None) -> Path | None:
    """The table in the data folder: our form, or the file as its authors publish it."""
    if folder is None:
        return None
    names = [f"{entry.file or entry.name}.csv", entry.published]
    return next((folder / n for n in names if n and (folder / n).is_file()), None)


def _from_file(entry: Dataset, path: Path) -> tuple[Any, str]:
    """Table and its path; a file without a column ``target`` is in its authors' form."""
    header = read_header(path, sep=BLANKS if path.suffix == ".asc" else None)
    if "target" in header.names:
        frame = read_frame(path)
        if absent := [c for c in entry.columns if c not in frame.columns]:
            raise ValueError(
                f"{path} is not the table {entry.name!r}: it has no column {', '.join(absent)}; "
                "read it with load_table"
            )
        derived = [c for c in _derived(entry) if c in frame.columns]
        table = _typed(entry, frame[[*entry.columns, *derived]]).assign(target=frame["target"])
    else:
        headless = all(_is_number(field) for field in header.names)
        names = [f"column {i}" for i in range(1, len(header.names) + 1)] if headless else None
        raw = read_frame(path, sep=header.sep, names=names)
        table = _arrange(entry, raw.iloc[:, :-1], raw.iloc[:, -1], str(path))
    return _with_images(entry, table), str(path)


def _from_openml(entry: Dataset, folder: Path | None) -> tuple[Any, str]:
    """Table and where it came from."""
    place = f"the data folder {folder}" if folder else "a data folder (REJO_DATA or data_home)"
    file = f"{entry.file or entry.name}.csv"
    if entry.openml is None:
        raise FileNotFoundError(
            f"{entry.name} is not at OpenML. Its authors publish it as {entry.published} at "
            f"{entry.url}: put that file, unchanged, into {place}"
        )
    from sklearn.datasets import fetch_openml

    try:
        table = fetch_openml(data_id=entry.openml.data_id, as_frame=True, parser="liac-arff")
    except OSError as error:
        raise OSError(
            f"{entry.name} could not be had from OpenML ({error}). Try again with network, or put "
            f"it as {file}, with the columns of CATALOGUE[{entry.name!r}] and 'target', into "
            f"{place}"
        ) from error
    source = f"OpenML data_id {entry.openml.data_id}"
    return _arrange(entry, table.data, table.target, source), source


def _arrange(entry: Dataset, data: Any, labels: Any, source: str) -> Any:
    """Columns and classes of the source as those of the catalogue."""
    if entry.levels:
        data = _one_hot(data, entry, source)
    if data.shape[1] != len(entry.columns):
        raise ValueError(
            f"{source} has {data.shape[1]} columns before the target, but {entry.name!r} has "
            f"{len(entry.columns)}: {', '.join(entry.columns)}; read it with load_table"
        )
    # By name where the source has the same names but for case and hyphens, else by position.
    names = [str(c).lower().replace("-", "_") for c in data.columns]
    data = data.set_axis(names if set(names) == set(entry.columns) else list(entry.columns), axis=1)

    pd = import_pandas("fetch")
    numbers = pd.to_numeric(labels.astype(object), errors="coerce")
    if entry.source_classes is None:
        target = numbers.rank(method="dense")
    else:
        text = numbers.map("{:g}".format) if numbers.notna().all() else labels.astype(str)
        target = text.map(dict(zip(entry.source_classes, _file_classes(entry), strict=True)))
    kept = target.notna().to_numpy()
    frame = _typed(entry, data[list(entry.columns)])[kept]
    return frame.assign(target=target[kept].astype(np.int64)).reset_index(drop=True)


def _one_hot(data: Any, entry: Dataset, source: str) -> Any:
    """A column of 0 and 1 for each level of each nominal column, in the order of the catalogue."""
    pd = import_pandas("fetch")
    if data.shape[1] != len(entry.levels):
        raise ValueError(f"{source} has {data.shape[1]} columns, expected {len(entry.levels)}")
    pairs = zip(data.columns, entry.levels, strict=True)
    values = [data[column].astype(str) == level for column, levels in pairs for level in levels]
    return pd.DataFrame(np.column_stack(values).astype(np.float64), index=data.index)


def _typed(entry: Dataset, data: Any) -> Any:
    """Numbers as float64, words as categories in alphabetical order, whatever the source made."""
    pd = import_pandas("fetch")
    return pd.DataFrame(
        {
            c: pd.Categorical(data[c].astype(str))
            if c in entry.nominal
            else pd.to_numeric(data[c].astype(object)).astype(np.float64)
            for c in data.columns
        },
        index=data.index,
    )


def _derived(entry: Dataset) -> list[str]:
    return [c for c in (entry.group, *entry.not_features) if c and c not in entry.columns]


def _with_images(entry: Dataset, frame: Any) -> Any:
    """Add the columns group and annotator, which follow from the order of the rows."""
    if not entry.n_images:
        return frame
    row = np.arange(len(frame))
    derived = {"group": row % entry.n_images + 1, "annotator": row // entry.n_images + 1}
    for column, values in derived.items():
        frame[column] = frame[column].astype(np.int64) if column in frame.columns else values
    return frame


def _check(entry: Dataset, frame: Any, source: str) -> None:
    """Rows of each class as in the catalogue, else it is another table."""
    table = CATALOGUE[entry.file] if entry.file else entry
    counts = [int((frame["target"] == label).sum()) for label in table.classes]
    if counts != list(table.counts) or len(frame) != sum(counts):
        raise ValueError(
            f"{source} is not the table {table.name!r}: its {len(frame)} rows have {counts} in the "
            f"classes {list(table.classes)}, expected {list(table.counts)}; load_table reads a "
            "changed table"
        )


def _file_classes(entry: Dataset) -> tuple[int, ...]:
    return (CATALOGUE[entry.file] if entry.file else entry).classes


def _choose(entry: Dataset, features: str | Iterable[str] | None, columns: list[str]) -> list[str]:
    if features is None:
        return list(entry.features)
    if features == "paper":
        if not entry.paper_features:
            raise ValueError(
                f"features='paper' is for the BCCT tables only, got name={entry.name!r}; give a "
                "list of columns, or None for all"
            )
        return list(entry.paper_features)
    if isinstance(features, str):
        raise ValueError(f"features must be None, 'paper' or a list of columns, got {features!r}")
    chosen = list(features)
    for column in chosen:
        if column not in columns or column == "target":
            hint = did_you_mean(str(column), columns) or ";"
            raise ValueError(
                f"features names {column!r}, which is no column of {entry.name}{hint} Columns: "
                f"{', '.join(c for c in columns if c != 'target')}"
            )
    return chosen


def _describe(entry: Dataset) -> str:
    sizes = zip(entry.classes, entry.target_names, entry.counts, strict=True)
    return "\n".join(
        [
            f"{entry.name}: {sum(entry.counts)} rows, {len(entry.features)} features, {entry.task}",
            *(f"  class {label}: {meaning}, {count} rows" for label, meaning, count in sizes),
            entry.note,
            f"Cite: {entry.citation}.",
            f"Licence: {entry.licence}.",
        ]
    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return field == "?"
    return True
