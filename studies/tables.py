"""Public tables: what is known of them (``public_tables.toml``), and how to read them.

No table is part of this repository. ``fetch`` reads ``<name>.csv`` of the data folder, or the file
that the authors of a table publish; ``download`` fills the folder from OpenML. The data folder is
an argument, or the environment variable ``REJO_DATA``. The numbers of rows in each
class are checked, so that a changed source is an error and not another experiment.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from studies.store import StudyError

# Fields that the file gives as names with blanks between them.
NAMES = ("columns", "not_features", "nominal", "zero_is_missing", "paper_features")
NO_HEADER = re.compile(r"[-+\d.eE,;\t ?]*")  # a first line of numbers and gaps


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A table of the catalogue: what it holds, and how to read its source."""

    name: str
    task: str  # "binary", with the classes 0 and 1, or "ordinal", with 1 to K
    counts: tuple[int, ...]  # rows in each class, lowest class first
    target_names: tuple[str, ...]
    columns: tuple[str, ...]  # in the order of the source, without the target
    citation: str
    note: str  # what a careful user should know
    licence: str = "UCI Machine Learning Repository (site-wide CC BY 4.0)"
    not_features: tuple[str, ...] = ()
    group: str | None = None  # column that says which rows belong together
    nominal: tuple[str, ...] = ()  # columns of words
    zero_is_missing: tuple[str, ...] = ()
    openml: tuple[Any, ...] | None = None  # number, name and version at OpenML
    source_classes: tuple[str, ...] | None = None  # in class order; None: numbers, ascending
    levels: tuple[tuple[str, ...], ...] = ()  # of the source's columns; each is a column here
    n_images: int = 0  # the source repeats this many images for each annotator
    paper_features: tuple[str, ...] = ()  # columns of the paper's experiments
    published: str = ""  # file name of the authors' own copy
    url: str = ""
    file: str = ""  # table that this task is made from, if not its own
    merge: tuple[int, ...] = ()  # class of this task for each class of that table

    @property
    def features(self) -> tuple[str, ...]:
        """Columns to learn from."""
        return tuple(c for c in self.columns if c not in (*self.not_features, self.group))

    @property
    def classes(self) -> tuple[int, ...]:
        """Labels, lowest first."""
        first = 0 if self.task == "binary" else 1
        return tuple(range(first, first + len(self.counts)))


class Table(NamedTuple):
    """Cases of a table of the catalogue."""

    data: pd.DataFrame  # numbers are float64, words are categories
    target: pd.Series  # 0 and 1, or an ordered categorical of 1 to K
    groups: pd.Series | None  # which rows belong together, and must not be split


def fetch(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    paper: bool = False,
    mark_missing: bool = False,
) -> Table:
    """Read a table; ``paper``: only the columns of the paper's experiments, of the BCCT tables.

    ``mark_missing`` replaces zeros that are known to mean missing values by NaN.
    """
    entry = CATALOGUE[name]
    path = _local_file(entry, _folder(data_home))
    if path is None:
        where = f"the authors publish it as {entry.published} at {entry.url}"
        if entry.openml:
            where = "`python -m studies download` gets it from OpenML"
        raise FileNotFoundError(
            f"{entry.file or name}.csv is not in the data folder (--data or REJO_DATA); {where}"
        )
    frame = _from_file(entry, path)
    _check(entry, frame, str(path))
    target = frame["target"].astype(np.int64)
    if entry.merge:
        target = pd.Series(np.take(entry.merge, target - 1), name="target")
    if entry.task == "ordinal":
        target = target.astype(pd.CategoricalDtype(list(entry.classes), ordered=True))
    for column in entry.zero_is_missing if mark_missing else ():
        frame[column] = frame[column].mask(frame[column] == 0)
    chosen = list(entry.paper_features if paper else entry.features)
    return Table(frame[chosen], target, frame[entry.group] if entry.group else None)


def available(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Return the names of the tables that are in the data folder."""
    folder = _folder(data_home)
    return [name for name, entry in CATALOGUE.items() if _local_file(entry, folder)]


def download(data_home: str | os.PathLike[str] | None = None) -> list[str]:
    """Get the tables that are not in the data folder from OpenML; return their names."""
    folder, missing = _folder(data_home), []
    if folder is None:
        raise StudyError("give the folder for the tables: --data DIR or REJO_DATA.")
    for name, entry in CATALOGUE.items():
        if entry.openml and _local_file(entry, folder) is None:
            frame = _from_openml(entry)
            _check(entry, frame, f"OpenML {entry.openml}")
            frame.to_csv(folder / f"{name}.csv", index=False)
            missing.append(name)
    return missing


def _folder(data_home: str | os.PathLike[str] | None) -> Path | None:
    given = data_home or os.environ.get("REJO_DATA")
    if not given:
        return None
    folder = Path(given).expanduser()
    if not folder.is_dir():
        raise StudyError(f"the data folder {str(given)!r} (--data or REJO_DATA) is not there.")
    return folder


def _local_file(entry: Entry, folder: Path | None) -> Path | None:
    """Return the file in the data folder: our form, or as its authors publish it."""
    if folder is None:
        return None
    names = [f"{entry.file or entry.name}.csv", entry.published]
    return next((folder / n for n in names if n and (folder / n).is_file()), None)


def _from_file(entry: Entry, path: Path) -> pd.DataFrame:
    """Return the table; without a column ``target`` it is in its authors' form."""
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(2**16).strip()
    bare = bool(NO_HEADER.fullmatch(first))
    sep = " " if path.suffix == ".asc" else ";" if ";" in first else ","
    frame = pd.read_csv(path, sep=sep, header=None if bare else 0, na_values=["?"], dtype=str)
    if "target" not in frame.columns:
        table = _arrange(entry, frame.iloc[:, :-1], frame.iloc[:, -1], str(path))
    elif absent := [column for column in entry.columns if column not in frame.columns]:
        raise _other_table(entry, str(path), f"it has no column {', '.join(absent)}")
    else:
        derived = [c for c in (entry.group, *entry.not_features) if c and c not in entry.columns]
        columns = [c for c in (*entry.columns, *derived) if c in frame.columns]
        table = _typed(entry, frame[columns]).assign(target=pd.to_numeric(frame["target"]))
    if entry.n_images:  # the patient and the annotator follow from the order of the rows
        row = np.arange(len(table))
        derived_values = {"group": row % entry.n_images + 1, "annotator": row // entry.n_images + 1}
        for column, values in derived_values.items():
            there = column in table.columns
            table[column] = table[column].astype(np.int64) if there else values
    return table


def _from_openml(entry: Entry) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    assert entry.openml is not None
    table = fetch_openml(data_id=entry.openml[0], as_frame=True, parser="liac-arff")
    return _arrange(entry, table.data, table.target, f"OpenML {entry.openml}")


def _arrange(entry: Entry, data: Any, labels: Any, source: str) -> pd.DataFrame:
    """Give columns and classes of the source the form of the catalogue."""
    expected = len(entry.levels) or len(entry.columns)
    if data.shape[1] != expected:
        found = f"it has {data.shape[1]} columns before the target, not {expected}"
        raise _other_table(entry, source, found)
    if entry.levels:
        pairs = zip(data.columns, entry.levels, strict=True)
        values = [data[column].astype(str) == level for column, levels in pairs for level in levels]
        data = pd.DataFrame(np.column_stack(values).astype(np.float64), index=data.index)
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


def _typed(entry: Entry, data: Any) -> pd.DataFrame:
    """Return numbers as float64 and words as categories in alphabetical order."""
    return pd.DataFrame(
        {
            c: pd.Categorical(data[c].astype(object).map(str, na_action="ignore"))
            if c in entry.nominal
            else data[c].astype(object).map(float, na_action="ignore").astype(np.float64)
            for c in data.columns
        },
        index=data.index,
    )


def _check(entry: Entry, frame: Any, source: str) -> None:
    """Refuse a table whose classes do not have the numbers of rows of the catalogue."""
    table = CATALOGUE[entry.file] if entry.file else entry
    counts = [int((frame["target"] == label).sum()) for label in table.classes]
    if counts != list(table.counts) or len(frame) != sum(counts):
        found = f"its {len(frame)} rows have {counts} in the classes {list(table.classes)}"
        raise _other_table(table, source, f"{found}, expected {list(table.counts)}")


def _other_table(entry: Entry, source: str, reason: str) -> StudyError:
    return StudyError(f"{source} is not the table {entry.name!r}: {reason}.")


def _entries() -> Iterator[Entry]:
    text = files("studies").joinpath("public_tables.toml").read_text("utf-8")
    known: dict[str, dict[str, Any]] = {}
    for name, own in tomllib.loads(text).items():
        fields = known[name] = known.get(own.pop("like", ""), {}) | own
        values = {key: _tuples(value) for key, value in fields.items()}
        values |= {key: tuple(_split(fields[key])) for key in NAMES if key in fields}
        grades = tuple(str(grade + 1) for grade in range(len(fields["counts"])))
        yield Entry(**{"name": name, "target_names": grades, **values})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _split(names: str) -> Iterator[str]:
    """Split names at blanks; ``x1..x4`` is x1, x2, x3 and x4."""
    for name in names.split():
        if span := re.fullmatch(r"(\w+?)1\.\.\1(\d+)", name):
            yield from (f"{span[1]}{i + 1}" for i in range(int(span[2])))
        else:
            yield name


CATALOGUE: Mapping[str, Entry] = {entry.name: entry for entry in _entries()}
