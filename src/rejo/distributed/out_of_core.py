"""Rows that do not fit into memory: read piece by piece, and put into three parts by a number.

The number of a row, in ``[0, 1)``, depends on its place or on what it belongs to, and is the same
wherever the row is read.  The lowest numbers *prove*: they say what to expect of a model.  The next
ones *stop* the growth of trees and set thresholds.  All others are learned from.  Only the first
two parts stay in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._io import without_password
from rejo._typing import Floats, Indices
from rejo.estimators import (
    CATEGORIES,
    Block,
    Categories,
    RejoBoost,
    class_factors,
    encode_classes,
    encoded,
    in_single_precision,
)
from rejo.tables import (
    RowGroup,
    import_pandas,
    import_pyarrow,
    read_chunks,
    read_piece,
    row_hashes,
)

Edges = list[NDArray[np.float32] | None]  # (p,) rising, of each column; None: categories

MOST_KEPT = 500_000  # rows of a part that stays in memory
SAMPLE = 200_000  # rows that encoders and bins are learned from
MOST_LABELS = 1000  # of the classes, in all spellings
SAMPLE_FILE = b"rejo.file"  # the file of a sample, in the metadata of its table
UNNAMED_INDEX = re.compile(r"__index_level_\d+__$")  # how pandas stores it in a file
PARTS = 3
PROVE, STOP, LEARN = range(PARTS)


class Shares(NamedTuple):
    """Which share of all rows proves, and which stops."""

    prove: float
    stop: float
    sample: float = 0.0  # of the rows, of those to learn from, for encoders and bins

    def part_of(self, number: Floats) -> Indices:
        """Part (n,) of rows by their numbers (n,)."""
        return np.digitize(number, [self.prove, self.prove + self.stop])


def shares_of(n_rows: int, held_out: float, *, proves: bool) -> Shares:
    """Hold out a share of the rows, at most half a million for each purpose."""
    if not 0 < held_out < 1:
        raise RejoError(
            f"held_out={held_out!r} must be a share of the rows between 0 and 1, such as 0.1",
            parameter="held_out",
        )
    most = MOST_KEPT / max(1, n_rows)
    each = min(held_out / 2 if proves else held_out, most)
    prove = each if proves else 0.0
    return Shares(prove, each, min(SAMPLE / max(1, n_rows), 1.0 - prove - each))


class RowLayout(NamedTuple):
    """What to read of each piece; the same for all who read."""

    target: str
    features: tuple[str, ...]
    shares: Shares
    together: str | None = None  # column of what is held out together
    place: dict[Any, int] | None = None  # class of each label; rows with another are left out
    factors: Floats | None = None  # (K,) weights of the classes
    words: tuple[str, ...] = ()  # features that are categories, without an encoder
    categories: Categories | None = None  # of each feature
    edges: Edges | None = None  # of the bins of each column, for trees
    encoder: Any = None  # a fitted TableEncoder
    reading: dict[str, Any] | None = None  # how to read words; None: labels as they are stored

    @property
    def others(self) -> list[str]:
        """Columns besides the features."""
        return [self.target] if self.together is None else [self.target, self.together]


class Rows(NamedTuple):
    """Some rows, as a classifier sees them, or their scores."""

    X: Any  # (n, p) float32, or scores (n, S)
    k: Indices  # (n,)
    number: Floats  # (n,) the same for rows that belong together

    def some(self, which: NDArray[np.bool_]) -> Rows:
        """Some of these rows."""
        return Rows(self.X[which], self.k[which], self.number[which])

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """All rows of some parts."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def block(self, factors: Floats | None) -> Block:
        """The rows as trees see them, with weights by the factors (K,) of the classes."""
        return Block(self.X, self.k, None if factors is None else factors[self.k])


class Part(NamedTuple):
    """A piece of a table: a row group, a whole CSV file, or a frame that is in memory."""

    piece: Any  # RowGroup or CsvStream
    frame: Any = None


# ---- first pass: classes, categories and a sample ----------------------------------------------


class Survey(NamedTuple):
    """What a first pass over all rows finds out; at first nothing."""

    counts: Mapping[Any, Indices] = {}  # rows of each label in each part
    n_missing: int = 0  # rows without a label
    levels: Mapping[str, list[Any]] = {}  # categories of each feature that has some
    sample: Sequence[Any] = ()  # tables of pyarrow, or frames

    def joined(self, other: Survey) -> Survey:
        """Put two together."""
        counts = dict(self.counts)
        for label, n in other.counts.items():
            counts[label] = counts.get(label, 0) + n
        levels = dict(self.levels)
        for name, found in other.levels.items():
            levels[name] = list(dict.fromkeys([*levels.get(name, ()), *found]))
        return Survey(
            counts, self.n_missing + other.n_missing, levels, [*self.sample, *other.sample]
        )


def survey_part(layout: RowLayout, part: Part) -> Survey:
    """Count the classes of a piece, collect categories, and draw a sample of the rows."""
    pd = import_pandas()
    found, done = Survey(levels=_levels(layout.words, part)), 0
    for frame in _other_columns(layout, part):
        number = _numbers(layout, part, frame, done)
        of = layout.shares.part_of(number)
        codes, labels = pd.factorize(frame[layout.target])
        table = np.zeros((len(labels) + 1, PARTS), dtype=np.intp)
        np.add.at(table, (codes, of), 1)
        counts = dict(zip(labels.tolist(), table, strict=False))
        sample = []
        if layout.shares.sample and len(frame):
            rows = np.flatnonzero((number >= 1.0 - layout.shares.sample) & (of == LEARN))
            sample = [_take(layout, part, frame, rows, done)] if len(rows) else []
        missing = int(table[-1].sum())
        found = found.joined(Survey(counts, missing, {}, sample))
        check_size(layout, found)
        done += len(frame)
    return found


def check_size(layout: RowLayout, found: Survey) -> None:
    """Refuse a target that is no column of classes, and words that do not repeat."""
    if len(found.counts) > MOST_LABELS:
        raise RejoError(
            f"column {layout.target!r} has more than {MOST_LABELS:,} different values",
            parameter="target", remedy="Name a column of classes, or put its values into a few.",
        )  # fmt: skip
    for name, levels in found.levels.items():
        if len(levels) > CATEGORIES:
            raise RejoError(
                f"column {name!r} has more than {CATEGORIES:,} categories", parameter="data",
                remedy="Is it an id? Leave it out.",
            )  # fmt: skip


def _other_columns(layout: RowLayout, part: Part) -> Iterator[Any]:
    if part.frame is not None:
        yield part.frame[layout.others]
    elif layout.reading is None:
        yield read_piece(part.piece, layout.others).to_pandas()
    else:
        whole = layout.shares.sample and not isinstance(part.piece, RowGroup)  # read it once
        text = [*layout.others, *layout.features] if whole else layout.others
        no_features: Any = SimpleNamespace(kinds_={}, written_={})  # in the place of an encoder
        yield from read_chunks(part.piece, no_features, text=text, **layout.reading)


def _numbers(layout: RowLayout, part: Part, frame: Any, start: int) -> Floats:
    """Numbers (n,) of the rows of a frame that begins at a row of the piece."""
    rows = part.piece._replace(rows=len(frame), start=part.piece.start + start)
    values = None if layout.together is None else frame[layout.together]
    return row_hashes(rows, values)


def _take(layout: RowLayout, part: Part, frame: Any, rows: Indices, start: int) -> Any:
    """The features of some rows of a frame, which begins at a row of the piece."""
    features = list(layout.features)
    if part.frame is not None:
        return part.frame[features].iloc[start + rows]
    if isinstance(part.piece, RowGroup):
        table = read_piece(part.piece, features).take(start + rows)
        file = without_password(part.piece.path)
        return table.replace_schema_metadata({**(table.schema.metadata or {}), SAMPLE_FILE: file})
    return frame[features].iloc[rows]


def _levels(words: Sequence[str], part: Part) -> dict[str, list[Any]]:
    """Categories of each of these features."""
    if not words:
        return {}
    if part.frame is not None:
        return {name: part.frame[name].cat.categories.tolist() for name in words}
    table = read_piece(part.piece, words)
    return {name: table[name].unique().drop_null().to_pylist() for name in words}


def settle_layout(
    layout: RowLayout, found: Survey, class_order: Any, class_weight: Any = None
) -> tuple[RowLayout, NDArray[Any]]:
    """Settle the classes (K,), their weights and the categories, after the first pass."""
    labels = list(found.counts)
    if not labels:
        raise RejoError("no row has a class", parameter="target")
    classes, _ = encode_classes(np.array(labels), class_order)
    if len(classes) < 2:
        raise RejoError(
            f"all rows have the same class, {classes.tolist()[0]!r}", parameter="target",
            remedy="Is it the right column?",
        )  # fmt: skip
    counts = np.array([found.counts[label] for label in classes.tolist()])  # (K, 3)
    for label, n in zip(classes.tolist(), counts, strict=True):
        if not n[LEARN]:
            raise RejoError(
                f"class {label!r} is so rare that all its rows are held out, so the model could "
                "not learn it",
                parameter="held_out",
                remedy="Give more rows of this class, leave it out, or lower held_out.",
            )
    needed = {PROVE: layout.shares.prove, STOP: layout.shares.stop}
    if any(share and not counts[:, part].sum() for part, share in needed.items()):
        raise RejoError(
            f"none of the {counts.sum():,} rows is held out, to stop the growth or to prove",
            parameter="held_out", remedy="Give more rows, or raise held_out.",
        )  # fmt: skip
    levels = [found.levels.get(name) for name in layout.features]
    categories: Categories | None = None
    if any(level is not None for level in levels):
        index = import_pandas().Index
        categories = [
            None if level is None else np.asarray(index(sorted(level)).to_numpy())
            for level in levels
        ]
    factors = None
    if class_weight is not None:
        factors = class_factors(class_weight, classes, counts[:, LEARN])
    place = {label: k for k, label in enumerate(classes.tolist())}
    return layout._replace(place=place, factors=factors, categories=categories), classes


def sample_matrix(layout: RowLayout, found: Survey) -> Any:
    """The sample (n, p) in single precision, as a classifier sees it without an encoder."""
    tables = [
        _plain(layout, one) if hasattr(one, "iloc") else _columns(layout, one)
        for one in found.sample
    ]
    return np.concatenate(tables) if tables else np.empty((0, len(layout.features)), np.float32)


# ---- rows ---------------------------------------------------------------------------------------


def read_rows(layout: RowLayout, part: Part) -> Iterator[Rows]:
    """Yield the rows of a piece that have a class, as numbers."""
    pd = import_pandas()
    assert layout.place is not None  # it is settled
    done = 0
    for frame, X in _blocks(layout, part):
        codes, labels = pd.factorize(frame[layout.target])
        place = [layout.place.get(label, -1) for label in labels.tolist()]
        k = np.array([*place, -1], dtype=np.intp)[codes]
        rows = Rows(X, k, _numbers(layout, part, frame, done))
        yield rows if (k >= 0).all() else rows.some(k >= 0)
        done += len(frame)


def _blocks(layout: RowLayout, part: Part) -> Iterator[tuple[Any, Any]]:
    """Yield the other columns of some rows, and the features (n, p) in single precision."""
    encoder, others = layout.encoder, layout.others
    if part.frame is not None:
        frame = part.frame
        X = _encoded(frame, encoder) if encoder is not None else _plain(layout, frame)
        yield frame[others], X
    elif encoder is None:
        yield (
            read_piece(part.piece, others).to_pandas(),
            _columns(layout, read_piece(part.piece, layout.features)),
        )
    elif layout.reading is not None:
        for frame in read_chunks(part.piece, encoder, text=others, **layout.reading):
            yield frame[others], _encoded(_readable(frame, encoder), encoder)
    else:
        labels, done = read_piece(part.piece, others).to_pandas(), 0
        for frame in read_chunks(part.piece, encoder):
            yield labels[done : done + len(frame)], _encoded(frame, encoder)
            done += len(frame)


def _encoded(frame: Any, encoder: Any) -> Any:
    return encoder.transform(frame).astype(np.float32)


def _readable(frame: Any, encoder: Any) -> Any:
    """The frame with cells that cannot be read as missing; where there are any, it has objects."""
    typed = [name for name, kind in encoder.kinds_.items() if kind != "category"]
    odd = any(frame[name].dtype == object for name in typed)
    return encoder.check(frame).frame if odd else frame


def _plain(layout: RowLayout, frame: Any) -> Any:
    features = list(layout.features)
    return encoded(frame[features], layout.categories or [None] * len(features))


def _columns(layout: RowLayout, table: Any) -> Any:
    """Columns of a table of pyarrow (n, p) in single precision, one after the other."""
    if layout.categories is not None:
        return _plain(layout, table.to_pandas())
    pa = import_pyarrow()
    X = np.empty((table.num_rows, len(layout.features)), dtype=np.float32)
    for j, name in enumerate(layout.features):
        try:
            values = table[name].cast(pa.float64(), safe=False).to_numpy()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise RejoError(
                f"column {name!r} holds {table[name].type}, not numbers",
                parameter="data",
                remedy="Put a rejo.tables.TableEncoder before the classifier, in a pipeline, or "
                "leave the column out.",
            ) from None
        X[:, j] = in_single_precision(values)
    return X


class StreamedRows:
    """The rows of some parts: those to learn from are read anew in each pass.

    ``tell`` gets the number of rows of every block that has been read.
    """

    def __init__(
        self, layout: RowLayout, parts: Sequence[Part], tell: Callable[[int], None] | None = None
    ) -> None:
        self.layout, self.parts, self._tell = layout, parts, tell
        self._kept: dict[int, Rows] = {}

    def learning(self) -> Iterator[Block]:
        """Yield the rows to learn from; the first complete pass keeps the others."""
        layout = self.layout
        kept: dict[int, list[Rows]] = {PROVE: [], STOP: []}
        for part in self.parts:
            for rows in read_rows(layout, part):
                of = layout.shares.part_of(rows.number)
                if not self._kept:
                    for number, found in kept.items():
                        if (of == number).any() or not found:  # an empty one, for the shape
                            found.append(rows.some(of == number))
                if self._tell is not None:
                    self._tell(len(rows.k))
                learn = rows.some(of == LEARN)
                if len(learn.k):
                    if layout.edges is not None:
                        learn = learn._replace(X=at_edges(learn.X, layout.edges))
                    yield learn.block(layout.factors)
        if not self._kept:
            self._kept = {number: Rows.joined(found) for number, found in kept.items()}

    def kept(self, number: int) -> Rows:
        """The rows that prove, or stop, after a complete pass."""
        return self._kept[number]

    def stopping(self) -> Iterable[Block]:
        """The rows that stop the growth, as blocks."""
        return [self.kept(STOP).block(self.layout.factors)]


def check_validation(model: RejoBoost) -> None:
    """Refuse folds: rows that are streamed are held out once."""
    if isinstance(model.validation, Integral):
        raise RejoError(
            f"validation={model.validation} asks for folds, which need all rows in memory",
            parameter="validation",
            remedy='Leave it at "auto", or give a share of the rows, such as 0.1.',
        )


def order_of(model: Any, n_classes: int) -> Any:
    """The order of the classes; two have one, and posteriors need none."""
    free = n_classes == 2 or getattr(model, "boundaries", None) in ("auto", "posteriors")
    return "sorted" if model.class_order is None and free else model.class_order


# ---- bins that do not depend on who reads which rows --------------------------------------------
#
# XGBoost finds bins from sketches of all rows, and those of two workers are not those of one: near
# their edges, cases would be decided otherwise.  So every value is replaced by the lower edge of a
# bin that was settled before, from a sample.  Then there are no more values than bins, the sketches
# are exact, and a split ``x < t`` at an edge is the same for a value and for the edge below it: the
# trees are for the values themselves.


def edges_of(X: Any, max_bin: int, categories: Categories | None = None) -> Edges:
    """Edges of up to ``max_bin`` bins of each column, with about as many rows of a sample each."""
    found: Edges = []
    places = np.linspace(0, 1, max_bin + 1)[1:-1]
    for j in range(X.shape[1]):
        if categories is not None and categories[j] is not None:
            found.append(None)
            continue
        values = X[:, j][~np.isnan(X[:, j])]
        edges = np.unique(values)
        if len(edges) >= max_bin:
            edges = np.unique(np.quantile(values, places, method="lower"))
        found.append(edges.astype(np.float32))
    return found


def at_edges(X: Any, edges: Edges) -> NDArray[np.float32]:
    """Replace each value by the edge below it; below all edges, by one lower value."""
    found = np.empty(X.shape, dtype=np.float32)
    for j, own in enumerate(edges):
        column = X[:, j]
        if own is None or not len(own):
            found[:, j] = column
            continue
        lowest = own[0] - max(1.0, abs(float(own[0])))
        steps = np.concatenate([[lowest], own, [np.nan]]).astype(np.float32)
        place = np.searchsorted(own, column, side="right")
        place[np.isnan(column)] = len(own) + 1
        found[:, j] = steps[place]
    return found
