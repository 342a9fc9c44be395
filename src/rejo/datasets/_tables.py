"""Tables from CSV files, by their path or by their name in the data folder."""

import csv
import os
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.utils import Bunch

from rejo.tables import MISSING
from rejo.tables.errors import did_you_mean, import_pandas

SEPARATORS = (",", ";", "\t")
BLANKS = r"\s+"  # any run of blanks


def load_table(
    path_or_name: str | os.PathLike[str],
    *,
    target: str = "target",
    order: Sequence[Hashable] | None = None,
    group: str | None = None,
    drop: str | Iterable[str] = (),
    data_home: str | os.PathLike[str] | None = None,
    sep: str | None = None,
    decimal: str = ".",
    missing: Iterable[str] = MISSING,
    encoding: str = "utf-8-sig",
) -> Bunch:
    r"""Read a table with a header line; needs pandas (``rejo[pandas]``).

    Parameters
    ----------
    path_or_name : str or path
        A file; else a name, looked up as ``<name>.csv`` in the data folder.
    target : str, default="target"
        Column of the classes.
    order : sequence of labels, default=None
        The classes, lowest first. The target is then an ordered categorical, which the estimators
        of this package follow. ``None``: the column as it is.
    group : str, default=None
        Column that says which rows belong together (a patient, a customer). It is no feature:
        give it to a splitter such as scikit-learn's ``GroupKFold``.
    drop : str or iterable of str, default=()
        Further columns that are not features.
    data_home : str or path, default=None
        The data folder. ``None``: the environment variable ``REJO_DATA``.
    sep : str, default=None
        What separates the columns. ``None``: comma, semicolon or tab, whichever gives the header
        line the most columns.
    decimal : str, default="."
        Decimal mark, ``","`` in many European files.
    missing : iterable of str
        Entries that stand for a missing value: by default the empty one, ``?``, ``NA``, ``N/A``,
        ``NaN``, ``nan`` and ``NULL``. Other words, such as ``None``, are kept as they are.
    encoding : str, default="utf-8-sig"
        UTF-8, with or without a byte order mark.

    Returns
    -------
    Bunch
        ``data`` (DataFrame), ``target`` (Series), ``groups`` (Series, or None without ``group``),
        ``feature_names``, ``target_names`` (the classes in order), ``name``, ``filename`` and
        ``DESCR``. A column without a name, such as a saved row number, is left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo.datasets import load_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "visits.csv")
    ...     _ = path.write_text("age;patient;grade\n41;7;good\n41;7;fair\n63;8;poor\n")
    ...     grades = ["good", "fair", "poor"]
    ...     visits = load_table(path, target="grade", order=grades, group="patient")
    >>> visits.feature_names, visits.target_names, visits.groups.tolist()
    (['age'], ['good', 'fair', 'poor'], [7, 7, 8])
    """
    path = find_table(path_or_name, data_home)
    frame = read_frame(path, sep=sep, decimal=decimal, missing=missing, encoding=encoding)
    others = [drop] if isinstance(drop, str) else list(drop)
    for parameter, columns in (("target", [target]), ("group", [group]), ("drop", others)):
        for column in columns:
            if column is not None:
                _check_column(frame, path, parameter, column)
    if target == group:
        raise ValueError(f"target and group name the same column of {path}: {target!r}")

    y = _complete(frame[target], path, "target")
    if order is None:
        classes = sorted(y.unique().tolist(), key=_rank)
    else:
        classes, y = list(order), in_order(y, order, path)
    groups = None if group is None else _complete(frame[group], path, "group")
    data = frame.drop(columns=list(dict.fromkeys(c for c in [target, group, *others] if c)))
    return Bunch(
        data=data,
        target=y,
        groups=groups,
        feature_names=list(data.columns),
        target_names=classes,
        name=path.stem,
        filename=str(path),
        DESCR=f"{path.name}: {len(frame)} rows, {data.shape[1]} features, "
        f"{len(classes)} classes in column {target!r}.",
    )


def data_folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    """Folder of the tables: as given, else that of REJO_DATA, else None."""
    source = "data_home"
    if data_home is None:
        source, data_home = "REJO_DATA", os.environ.get("REJO_DATA") or None
    if data_home is None:
        return None
    folder = Path(data_home).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{source} must be a folder that exists, got {str(data_home)!r}")
    return folder


def find_table(
    path_or_name: str | os.PathLike[str], data_home: str | os.PathLike[str] | None
) -> Path:
    """File of a table: a path that exists, else ``<name>.csv`` in the data folder."""
    path = Path(path_or_name).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise IsADirectoryError(f"path_or_name must be a file or a name, got the folder {path}")
    folder = data_folder(data_home)
    if folder is None:
        raise FileNotFoundError(
            f"no file {str(path)!r}, and no data folder to look for that name in: set the "
            "environment variable REJO_DATA to the folder, or pass data_home"
        )
    file = folder / (path if path.suffix else path.with_name(path.name + ".csv"))
    if file.is_file():
        return file
    names = sorted(found.stem for found in folder.glob("*.csv"))
    hint = did_you_mean(path.stem, names)
    raise FileNotFoundError(f"no file {str(path)!r}, and no {file.name} in {folder}{hint}")


def read_frame(
    path: Path,
    *,
    sep: str | None = None,
    decimal: str = ".",
    missing: Iterable[str] = MISSING,
    encoding: str = "utf-8-sig",
    names: Sequence[str] | None = None,
) -> Any:
    """DataFrame of a file with a header line, or without one if ``names`` are given."""
    pd = import_pandas("reading a table")
    header = read_header(path, sep, encoding)
    if names is None and (
        twice := sorted({c for c in header.names if c and header.names.count(c) > 1})
    ):
        raise ValueError(
            f"{path} has two columns with the same name: {', '.join(twice)}; rename one"
        )
    try:
        frame = pd.read_csv(
            path,
            sep=header.sep,
            decimal=decimal,
            encoding=encoding,
            na_values=list(missing),
            keep_default_na=False,
            skipinitialspace=True,
            header=0 if names is None else None,
            names=names,
        )
    except pd.errors.ParserError as error:
        raise ValueError(
            f"{path} could not be read with sep={header.sep!r} ({str(error).strip()}); pass the "
            "right sep, or mend that line"
        ) from None
    if not frame.index.equals(pd.RangeIndex(len(frame))):  # pandas took a column for row names
        raise ValueError(
            f"{path} has rows with more fields than the header line; name every column, or pass "
            f"another sep than {header.sep!r}"
        )
    if names is not None:
        return frame
    frame.columns = header.names
    return frame[[column for column in header.names if column]]


class Header(NamedTuple):
    """First line of a file: what separates the columns, and their names."""

    sep: str
    names: list[str]


def read_header(path: Path, sep: str | None = None, encoding: str = "utf-8-sig") -> Header:
    """Split the first line; ``sep=None`` takes the separator that gives the most columns."""
    try:
        with path.open(encoding=encoding, newline="") as file:
            line = next(filter(str.strip, file), "")
    except UnicodeError:
        raise ValueError(
            f"{path} is not in encoding={encoding!r}; pass another, e.g. 'latin-1' or 'utf-16'"
        ) from None
    if not line:
        raise ValueError(f"{path} is empty; its first line must name the columns")
    if sep is None:
        sep = max(SEPARATORS, key=lambda s: len(_split(line, s)))
    return Header(sep, [field.strip() for field in _split(line, sep)])


def _split(line: str, sep: str) -> list[str]:
    if sep == BLANKS:
        return line.split()
    return next(csv.reader([line], delimiter=sep, skipinitialspace=True))


def in_order(y: Any, order: Sequence[Hashable], source: Any) -> Any:
    """``y`` (Series) as an ordered categorical; the error names the classes left out."""
    pd = import_pandas("an ordered target")
    classes = list(order)
    if isinstance(order, (str, set, frozenset, dict)) or len(set(classes)) < len(classes):
        raise ValueError(f"order must be a list of different classes, lowest first, got {order!r}")
    if unknown := sorted(set(y.unique().tolist()) - set(classes), key=_rank):
        raise ValueError(
            f"column {y.name!r} of {source} has classes that order={classes} does not name: "
            f"{unknown}; add them in their place, or correct the table"
        )
    return y.astype(pd.CategoricalDtype(classes, ordered=True))


def _check_column(frame: Any, path: Path, parameter: str, column: str) -> None:
    if column not in frame.columns:
        hint = did_you_mean(str(column), frame.columns)
        raise ValueError(
            f"{parameter}={column!r} is not a column of {path}{hint or ';'} "
            f"Columns: {', '.join(map(str, frame.columns))}"
        )


def _complete(column: Any, path: Path, parameter: str) -> Any:
    """Return the column; an error if a value is missing."""
    empty = column.isna().to_numpy().nonzero()[0]
    if len(empty):
        raise ValueError(
            f"{parameter} column {column.name!r} of {path} is missing in {len(empty)} of "
            f"{len(column)} rows, the first of them data row {empty[0] + 1}; fill in these rows or "
            "remove them, or pass missing=[...] if these entries are values"
        )
    return column


def _rank(label: Any) -> tuple[bool, Any]:
    """Sort key for labels: numbers before words."""
    return (True, label) if isinstance(label, str) else (False, label)
