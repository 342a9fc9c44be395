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

# Fields that the file gives as names with blanks between them.
NAMES = ("columns", "not_features", "nominal", "zero_is_missing", "paper_features")


class OpenML(NamedTuple):
    """Address of a table at openml.org."""

    data_id: int
    name: str
    version: int


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """One table of the catalogue: what it holds, and how to read its source."""

    name: str  # for ``fetch``
    task: str  # "binary", with the classes 0 and 1, or "ordinal", with 1 to K
    counts: tuple[int, ...]  # rows in each class, lowest class first
    target_names: tuple[str, ...]  # meaning of the classes
    columns: tuple[str, ...]  # in the order of the source, without the target
    citation: str
    note: str  # what a careful user should know
    licence: str = "UCI Machine Learning Repository (site-wide CC BY 4.0)"
    not_features: tuple[str, ...] = ()  # columns that must not be learned from
    group: str | None = None  # column of the rows that belong together
    nominal: tuple[str, ...] = ()  # columns of words
    zero_is_missing: tuple[str, ...] = ()  # columns in which 0 means a missing value
    openml: OpenML | None = None  # address at OpenML
    # Labels at the source, in class order; rows with other labels are left out. None: the labels
    # are numbers, in ascending order.
    source_classes: tuple[str, ...] | None = None
    # Values of the source's nominal columns; each value is a column here.
    levels: tuple[tuple[str, ...], ...] = ()
    # The source repeats this many images, in the same order, for each annotator.
    n_images: int = 0
    paper_features: tuple[str, ...] = ()  # columns used in the paper's experiments
    published: str = ""  # file name of the authors' own copy
    url: str = ""  # its page
    file: str = ""  # table that this task is made from, if not its own; ``<file>.csv`` on disk
    merge: tuple[int, ...] = ()  # class of this task for each class of that table, lowest first

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
