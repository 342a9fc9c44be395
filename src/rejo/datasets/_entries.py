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
    """One table of the catalogue: what it holds, and how to read its source.

    Parameters
    ----------
    name : str
        For :func:`fetch`.
    task : {"binary", "ordinal"}
        With the classes 0 and 1, or with 1 to K.
    counts : tuple of int
        Rows in each class, lowest class first.
    target_names : tuple of str
        Meaning of the classes.
    columns : tuple of str
        In the order of the source, without the target.
    citation : str
        What to cite.
    note : str
        What a careful user should know.
    licence : str
        Licence of the table.
    not_features : tuple of str, default=()
        Columns that must not be learned from.
    group : str, default=None
        Column of the rows that belong together.
    nominal : tuple of str, default=()
        Columns of words.
    zero_is_missing : tuple of str, default=()
        Columns in which 0 means a missing value.
    openml : OpenML, default=None
        Address at OpenML.
    source_classes : tuple of str, default=None
        Labels at the source, in class order; rows with other labels are left out. ``None``: the
        labels are numbers, in ascending order.
    levels : tuple of tuple of str, default=()
        Values of the source's nominal columns; each value is a column here.
    n_images : int, default=0
        The source repeats this many images, in the same order, for each annotator.
    paper_features : tuple of str, default=()
        Columns used in the paper's experiments.
    published : str, default=""
        File name of the authors' own copy.
    url : str, default=""
        Its page.
    file : str, default=""
        Table that this task is made from, if not its own; ``<file>.csv`` on disk.
    merge : tuple of int, default=()
        Class of this task for each class of that table, lowest first.

    Attributes
    ----------
    features : tuple of str
        Columns to learn from.
    classes : tuple of int
        Labels, lowest first.

    See Also
    --------
    fetch : Load the table.
    CATALOGUE : All tables, by name.

    Examples
    --------
    >>> from rejo.datasets import CATALOGUE
    >>> credit = CATALOGUE["german_credit"]
    >>> credit.task, credit.counts, credit.target_names
    ('binary', (700, 300), ('good', 'bad'))
    >>> sorted(name for name, table in CATALOGUE.items() if table.task == "ordinal")[:4]
    ['balance_scale', 'bcct', 'bcct_all', 'car']
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


#: The public tables that :func:`fetch` loads, by name.
CATALOGUE: Mapping[str, Dataset] = MappingProxyType({entry.name: entry for entry in _entries()})
