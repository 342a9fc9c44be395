"""The catalogue of public tables, read from ``public_tables.toml``.

The numbers of rows in each class are checked on every load, so that a changed source, or a wrong
mapping of its classes, is an error and not a different experiment.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, NamedTuple

NAMES = ("columns", "not_features", "nominal", "zero_is_missing", "paper_features")


class OpenML(NamedTuple):
    """Address of a table at openml.org."""

    data_id: int
    name: str
    version: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One table of the catalogue.

    Attributes
    ----------
    name : str
        The name for ``fetch``; the file in the data folder is ``<file>.csv``.
    task : {"binary", "ordinal"}
        Binary classes are 0 and 1, ordinal ones 1 to K.
    counts : tuple of int
        Number of rows in each class, lowest class first.
    target_names : tuple of str
        Meaning of the classes.
    columns : tuple of str
        Columns in the order of the source, without the target.
    citation, licence, note : str
        What to cite, the terms of use, and what a careful user should know.
    not_features : tuple of str
        Columns that must not be learned from.
    group : str or None
        Column of the rows that belong together.
    nominal : tuple of str
        Columns of words.
    zero_is_missing : tuple of str
        Columns in which 0 means a missing value.
    openml : OpenML or None
        Address at OpenML.
    source_classes : tuple of str or None
        Labels at the source, in class order; rows with other labels are left out. ``None``: the
        labels are numbers, in ascending order.
    levels : tuple of tuple of str
        Values of the source's nominal columns; each value is a column here.
    n_images : int
        The source repeats this many images, in the same order, for each annotator.
    paper_features : tuple of str
        Columns used in the paper's experiments.
    published, url : str
        File name and page of the authors' own copy.
    file : str
        Table that this task is made from, if not its own.
    merge : tuple of int
        Class of this task for each class of that table, lowest first.
    """

    name: str
    task: str
    counts: tuple[int, ...]
    target_names: tuple[str, ...]
    columns: tuple[str, ...]
    citation: str
    note: str
    licence: str = "UCI Machine Learning Repository (site-wide CC BY 4.0)"
    not_features: tuple[str, ...] = ()
    group: str | None = None
    nominal: tuple[str, ...] = ()
    zero_is_missing: tuple[str, ...] = ()
    openml: OpenML | None = None
    source_classes: tuple[str, ...] | None = None
    levels: tuple[tuple[str, ...], ...] = ()
    n_images: int = 0
    paper_features: tuple[str, ...] = ()
    published: str = ""
    url: str = ""
    file: str = ""
    merge: tuple[int, ...] = ()

    @property
    def features(self) -> tuple[str, ...]:
        """Columns to learn from."""
        return tuple(c for c in self.columns if c not in (*self.not_features, self.group))

    @property
    def classes(self) -> tuple[int, ...]:
        """Labels, lowest first."""
        first = 0 if self.task == "binary" else 1
        return tuple(range(first, first + len(self.counts)))


def _entries() -> Iterator[Dataset]:
    text = files("rejo.datasets").joinpath("public_tables.toml").read_text("utf-8")
    known: dict[str, dict[str, Any]] = {}
    for name, own in tomllib.loads(text).items():
        fields = known[name] = known.get(own.pop("like", ""), {}) | own
        values = {key: _tuples(value) for key, value in fields.items()}
        values |= {key: tuple(_split(fields[key])) for key in NAMES if key in fields}
        if "openml" in fields:
            values["openml"] = OpenML(*fields["openml"])
        grades = tuple(str(grade + 1) for grade in range(len(fields["counts"])))
        yield Dataset(**{"name": name, "target_names": grades, **values})


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def _split(names: str) -> Iterator[str]:
    """Split names at blanks; ``x1..x4`` is x1, x2, x3 and x4."""
    for name in names.split():
        if span := re.fullmatch(r"(\w+?)1\.\.\1(\d+)", name):
            yield from (f"{span[1]}{i + 1}" for i in range(int(span[2])))
        else:
            yield name


CATALOGUE: Mapping[str, Dataset] = MappingProxyType({entry.name: entry for entry in _entries()})
