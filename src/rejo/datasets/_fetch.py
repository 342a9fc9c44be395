"""The public tables of the catalogue: from the data folder, else from OpenML."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from rejo._docs import cited
from rejo.datasets._entries import CATALOGUE, Dataset
from rejo.datasets._load import data_folder
from rejo.tables import TableError, read_table
from rejo.tables.errors import check_columns, did_you_mean, import_pandas
from rejo.tables.limits import HEADER
from rejo.tables.values import word_of

NO_HEADER = re.compile(r"[-+\d.eE,;\t ?]*")  # a first line of numbers and gaps


@cited
def fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    features: str | Iterable[str] | None = None,
    mark_missing: bool = False,
) -> Bunch:
    """Load a public table by its name in ``CATALOGUE``; needs pandas (``rejo[pandas]``).

    The data folder comes first: there the table is ``<name>.csv``, or the file that its authors
    publish. Otherwise it comes from OpenML, through scikit-learn, which keeps a copy. If OpenML
    does not have it, the error says where to get it. Columns, classes and their order do not depend
    on the source; the order of the rows may.

    Parameters
    ----------
    name : str
        A name in ``CATALOGUE``, such as ``"german_credit"``, ``"bcct"`` (four ordered classes) or
        ``"bcct_binary"`` (the paper's two-class task).
    data_home : str or path, default=None
        The data folder. ``None``: the environment variable ``REJO_DATA``.
    features : "paper" or iterable of str, default=None
        Columns to learn from. ``None``: all suitable ones. ``"paper"``: those of the paper's
        experiments, for the BCCT tables. A list may name any column of the table.
    mark_missing : bool, default=False
        Replace zeros that are known to mean missing values (``pima_diabetes``) by NaN. By default
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
            Series that says which rows belong together and must not be split between training and
            test; None if rows are independent.
        ``others``
            DataFrame of the columns that are not features.
        ``feature_names``, ``target_names``, ``name``, ``task``, ``source``, ``DESCR``
            ``target_names`` are the meanings of the classes in order; ``DESCR`` has the citation
            and the licence.

    Raises
    ------
    TableError
        If the name is unknown, or the file is not the table of the catalogue.

    See Also
    --------
    available : List the tables in the data folder.
    load_table : Load any other table.
    Dataset : What is known of a table.
    sklearn.datasets.fetch_openml : Any table at OpenML, as it is.

    References
    ----------
    %vanschoren2014

    Examples
    --------
    >>> from rejo.datasets import CATALOGUE, fetch
    >>> CATALOGUE["bcct_binary"].target_names
    ('Excellent or Good', 'Fair or Poor')
    >>> table = fetch("bcct_binary", "data", features="paper")  # doctest: +SKIP
    >>> X, y, groups = table.data, table.target, table.groups  # doctest: +SKIP
    """
    if name not in CATALOGUE:
        raise TableError(
            f"{name!r} is not in the catalogue",
            parameter="name",
            remedy=f"{did_you_mean(str(name), CATALOGUE)}The names are: {', '.join(CATALOGUE)}. "
            "load_table loads any other table.",
        )
    entry = CATALOGUE[name]
    pd = import_pandas("fetch")
    folder = data_folder(data_home)
    path = _local_file(entry, folder)
    frame, source = _from_file(entry, path) if path else _from_openml(entry, folder)
    _check(entry, frame, source)

    target = frame["target"].astype(np.int64)
    if entry.merge:
        target = pd.Series(np.take(entry.merge, target - 1), name="target")
    if entry.task == "ordinal":
        target = target.astype(pd.CategoricalDtype(list(entry.classes), ordered=True))
    for column in entry.zero_is_missing if mark_missing else ():
        frame[column] = frame[column].mask(frame[column] == 0)
    columns = [column for column in frame.columns if column != "target"]
    chosen = _choose(entry, features, columns)
    return Bunch(
        data=frame[chosen],
        target=target,
        groups=frame[entry.group] if entry.group else None,
        others=pd.DataFrame(frame[[c for c in columns if c not in (*chosen, entry.group)]]),
        feature_names=chosen,
        target_names=list(entry.target_names),
        name=entry.name,
        task=entry.task,
        source=source,
        DESCR=_describe(entry),
    )


def available(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """List the tables of the catalogue in the data folder; ``fetch`` needs no network for them.

    Parameters
    ----------
    data_home : str or path, default=None
        The data folder. ``None``: the environment variable ``REJO_DATA``.

    Returns
    -------
    list of str
        In the order of the catalogue; empty without a data folder.

    See Also
    --------
    fetch : Load one of them.
    CATALOGUE : All tables, by name.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.datasets import available
    >>> with TemporaryDirectory() as folder:
    ...     available(folder)
    []
    >>> available("data")  # doctest: +SKIP
    ['german_credit', 'pima_diabetes']
    """
    folder = data_folder(data_home)
    return [name for name, entry in CATALOGUE.items() if _local_file(entry, folder)]


def _local_file(entry: Dataset, folder: Path | None) -> Path | None:
    """Return the file in the data folder: our form, or as its authors publish it."""
    if folder is None:
        return None
    names = [f"{entry.file or entry.name}.csv", entry.published]
    return next((folder / n for n in names if n and (folder / n).is_file()), None)


def _from_file(entry: Dataset, path: Path) -> tuple[Any, str]:
    """Return the table and its path; without a column ``target`` it is in its authors' form."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = not NO_HEADER.fullmatch(file.readline(HEADER).strip())
    frame = read_table(path, sep=" " if path.suffix == ".asc" else None, header=header).frame
    if "target" not in frame.columns:
        table = _arrange(entry, frame.iloc[:, :-1], frame.iloc[:, -1], str(path))
    elif absent := [column for column in entry.columns if column not in frame.columns]:
        raise _other_table(entry, str(path), f"it has no column {', '.join(absent)}")
    else:
        derived = [c for c in (entry.group, *entry.not_features) if c and c not in entry.columns]
        columns = [c for c in (*entry.columns, *derived) if c in frame.columns]
        table = _typed(entry, frame[columns]).assign(target=frame["target"])
    return _with_images(entry, table), str(path)


def _from_openml(entry: Dataset, folder: Path | None) -> tuple[Any, str]:
    """Return the table and its source."""
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
            f"{entry.name} could not be downloaded from OpenML ({error}). Check the network, or "
            f"put the table as {file}, with the columns of CATALOGUE[{entry.name!r}] and 'target', "
            f"into {place}"
        ) from error
    source = f"OpenML data_id {entry.openml.data_id}"
    return _arrange(entry, table.data, table.target, source), source


def _arrange(entry: Dataset, data: Any, labels: Any, source: str) -> Any:
    """Give columns and classes of the source the form of the catalogue."""
    pd = import_pandas("fetch")
    expected = len(entry.levels) or len(entry.columns)
    if data.shape[1] != expected:
        raise _other_table(
            entry, source, f"it has {data.shape[1]} columns before the target, not {expected}"
        )
    if entry.levels:
        data = _one_hot(data, entry)
    # By name if the source has the same names but for case and hyphens, else by position.
    names = [str(c).lower().replace("-", "_") for c in data.columns]
    data = data.set_axis(names if set(names) == set(entry.columns) else list(entry.columns), axis=1)

    numbers = pd.to_numeric(labels.astype(object), errors="coerce")
    if entry.source_classes is None:
        target = numbers.rank(method="dense")
    else:
        text = numbers.map("{:g}".format) if numbers.notna().all() else labels.astype(str)
        classes = (CATALOGUE[entry.file] if entry.file else entry).classes
        target = text.map(dict(zip(entry.source_classes, classes, strict=True)))
    kept = target.notna().to_numpy()
    frame = _typed(entry, data[list(entry.columns)])[kept]
    return frame.assign(target=target[kept].astype(np.int64)).reset_index(drop=True)


def _one_hot(data: Any, entry: Dataset) -> Any:
    """Return a column of 0 and 1 for each level of each column, in the order of the catalogue."""
    pd = import_pandas("fetch")
    pairs = zip(data.columns, entry.levels, strict=True)
    values = [data[column].astype(str) == level for column, levels in pairs for level in levels]
    return pd.DataFrame(np.column_stack(values).astype(np.float64), index=data.index)


def _typed(entry: Dataset, data: Any) -> Any:
    """Return numbers as float64 and words as categories in alphabetical order."""
    pd = import_pandas("fetch")
    return pd.DataFrame(
        {
            c: pd.Categorical(data[c].astype(object).map(word_of, na_action="ignore"))
            if c in entry.nominal
            else pd.to_numeric(data[c].astype(object)).astype(np.float64)
            for c in data.columns
        },
        index=data.index,
    )


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
    """Refuse a table whose classes do not have the numbers of rows of the catalogue."""
    table = CATALOGUE[entry.file] if entry.file else entry
    counts = [int((frame["target"] == label).sum()) for label in table.classes]
    if counts != list(table.counts) or len(frame) != sum(counts):
        raise _other_table(
            table,
            source,
            f"its {len(frame)} rows have {counts} in the classes {list(table.classes)}, expected "
            f"{list(table.counts)}",
        )


def _other_table(entry: Dataset, source: str, reason: str) -> TableError:
    return TableError(
        f"this is not the table {entry.name!r}: {reason}",
        where=source,
        remedy="Load another table, or a changed one, with load_table.",
    )


def _choose(entry: Dataset, features: str | Iterable[str] | None, columns: list[str]) -> list[str]:
    if features is None:
        return list(entry.features)
    if features == "paper":
        if not entry.paper_features:
            raise TableError(
                f"features='paper' is for the BCCT tables only, got name={entry.name!r}",
                parameter="features",
                remedy="Pass a list of columns, or None for all.",
            )
        return list(entry.paper_features)
    if isinstance(features, str):
        raise TableError(
            f"features must be None, 'paper' or a list of columns, got {features!r}",
            parameter="features",
        )
    chosen = list(features)
    check_columns(entry.name, chosen, columns, "features")
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
