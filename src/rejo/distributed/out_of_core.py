"""Rows that do not fit into memory: read piece by piece, and put into three parts by a number.

The number of a row, in ``[0, 1)``, is the same wherever the row is read.  The lowest numbers
*prove*: they say what to expect of a model.  The next ones *stop* the growth of trees and set
thresholds.  All others are learned from.  Only the first two parts stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._io import without_password
from rejo._typing import Floats, Indices
from rejo.estimators import Block, class_factors, encode_classes, in_single_precision
from rejo.tables import RowGroup, import_pandas, import_pyarrow, read_chunks, read_piece, row_hashes

Edges = list[NDArray[np.float32]]  # (p,) rising, of each column

MOST_KEPT = 500_000  # rows of a part that stays in memory
SAMPLE = 200_000  # rows that encoders and bins are learned from
MOST_LABELS = 1000  # of the classes, in all spellings
SAMPLE_FILE = b"rejo.file"  # the file of a sample, in the metadata of its table
PARTS = 3
PROVE, STOP, LEARN = range(PARTS)


class Shares(NamedTuple):
    """Which share of all rows proves, and which stops."""

    prove: float
    stop: float
    sample: float = 0.0  # of the rows, of those to learn from, for encoders and bins

    def part_of(self, number: Floats) -> Indices:
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
    edges: Edges | None = None  # of the bins of each column, for trees
    encoder: Any = None  # a fitted TableEncoder
    reading: dict[str, Any] | None = None  # how to read words; None: labels as they are stored

    @property
    def others(self) -> list[str]:
        return [self.target] if self.together is None else [self.target, self.together]


class Rows(NamedTuple):
    """Some rows, as a classifier sees them, or their scores."""

    X: Any  # (n, p) float32, or scores (n, S)
    k: Indices  # (n,)
    number: Floats  # (n,) the same for rows that belong together

    def some(self, which: NDArray[np.bool_]) -> Rows:
        return Rows(self.X[which], self.k[which], self.number[which])

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def block(self, factors: Floats | None) -> Block:
        """The rows as trees see them, with weights by the factors (K,) of the classes."""
        return Block(self.X, self.k, None if factors is None else factors[self.k])


# ---- first pass: classes and a sample -----------------------------------------------------------


class Survey(NamedTuple):
    """What a first pass over some rows finds out."""

    counts: Mapping[Any, Indices]  # rows of each label in each part
    n_missing: int  # rows without a label
    sample: Sequence[Any]  # tables of pyarrow, or frames of words

    @classmethod
    def joined(cls, found: Iterable[Survey], target: str) -> Survey:
        counts: dict[Any, Any] = {}
        n_missing = 0
        sample: list[Any] = []
        for one in found:
            for label, n in one.counts.items():
                counts[label] = counts.get(label, 0) + n
            if len(counts) > MOST_LABELS:
                raise RejoError(
                    f"column {target!r} has more than {MOST_LABELS:,} different values",
                    parameter="target",
                    remedy="Name a column of classes, or put its values into a few.",
                )
            n_missing += one.n_missing
            sample += one.sample
        return cls(counts, n_missing, sample)


def survey_piece(layout: RowLayout, item: tuple[Any]) -> Survey:
    return Survey.joined(_surveys(layout, item[0]), layout.target)


def _surveys(layout: RowLayout, piece: Any) -> Iterator[Survey]:
    done = 0
    for frame in _other_columns(layout, piece):
        number = _numbers(layout, piece, frame, done)
        of = layout.shares.part_of(number)
        codes, labels = import_pandas().factorize(frame[layout.target])
        table = np.zeros((len(labels) + 1, PARTS), dtype=np.intp)
        np.add.at(table, (codes, of), 1)
        rows = np.flatnonzero((number >= 1.0 - layout.shares.sample) & (of == LEARN))
        yield Survey(
            dict(zip(labels.tolist(), table, strict=False)),
            int(table[-1].sum()),
            [_take(layout, piece, frame, rows, done)] if len(rows) else [],
        )
        done += len(frame)


def _other_columns(layout: RowLayout, piece: Any) -> Iterator[Any]:
    if layout.reading is None:
        yield read_piece(piece, layout.others).to_pandas()
    else:
        whole = not isinstance(piece, RowGroup)  # read it once
        text = [*layout.others, *layout.features] if whole else layout.others
        no_features: Any = SimpleNamespace(kinds_={}, written_={})  # in the place of an encoder
        yield from read_chunks(piece, no_features, text=text, **layout.reading)


def _numbers(layout: RowLayout, piece: Any, frame: Any, start: int) -> Floats:
    rows = piece._replace(rows=len(frame), start=piece.start + start)
    values = None if layout.together is None else frame[layout.together]
    return row_hashes(rows, values)


def _take(layout: RowLayout, piece: Any, frame: Any, rows: Indices, start: int) -> Any:
    """The features of some rows of a frame, which begins at a row of the piece."""
    features = list(layout.features)
    if not isinstance(piece, RowGroup):
        return frame[features].iloc[rows]
    table = read_piece(piece, features).take(start + rows)
    return table.replace_schema_metadata({SAMPLE_FILE: without_password(piece.path)})


def settle_layout(
    layout: RowLayout,
    found: Survey,
    class_order: Any,
    class_weight: Any = None,
    spelled: Mapping[Any, Any] | None = None,
) -> tuple[RowLayout, NDArray[Any]]:
    """Settle the classes (K,) and their weights, after the first pass.

    ``spelled`` gives the class of each label; those that it lacks are left out.
    """
    spelled = {label: label for label in found.counts} if spelled is None else spelled
    if not spelled:
        raise RejoError("no row has a class", parameter="target")
    classes, _ = encode_classes(np.array(list(dict.fromkeys(spelled.values()))), class_order)
    names = classes.tolist()
    if len(classes) < 2:
        raise RejoError(
            f"all rows have the same class, {names[0]!r}", parameter="target",
            remedy="Is it the right column?",
        )  # fmt: skip
    place = {label: names.index(name) for label, name in spelled.items()}
    counts = np.zeros((len(classes), PARTS), dtype=np.intp)
    for label, k in place.items():
        counts[k] += found.counts.get(label, 0)
    if not counts[:, LEARN].all():
        raise RejoError(
            f"class {names[int(np.argmin(counts[:, LEARN]))]!r} is so rare that all its rows are "
            "held out, so the model could not learn it",
            parameter="held_out",
            remedy="Give more rows of this class, leave it out, or lower held_out.",
        )
    needed = {PROVE: layout.shares.prove, STOP: layout.shares.stop}
    if any(share and not counts[:, part].sum() for part, share in needed.items()):
        raise RejoError(
            f"none of the {counts.sum():,} rows is held out, to stop the growth or to prove",
            parameter="held_out", remedy="Give more rows, or raise held_out.",
        )  # fmt: skip
    factors = None
    if class_weight is not None:
        factors = class_factors(class_weight, classes, counts[:, LEARN])
    return layout._replace(place=place, factors=factors), classes


# ---- rows ---------------------------------------------------------------------------------------


def read_rows(layout: RowLayout, piece: Any) -> Iterator[Rows]:
    """Yield the rows of a piece that have a class, as numbers."""
    assert layout.place is not None  # it is settled
    done = 0
    for frame, X in _blocks(layout, piece):
        codes, labels = import_pandas().factorize(frame[layout.target])
        place = [layout.place.get(label, -1) for label in labels.tolist()]
        k = np.array([*place, -1], dtype=np.intp)[codes]
        rows = Rows(X, k, _numbers(layout, piece, frame, done))
        yield rows if (k >= 0).all() else rows.some(k >= 0)
        done += len(frame)


def _blocks(layout: RowLayout, piece: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the other columns of some rows, and the features (n, p) in single precision."""
    encoder, others = layout.encoder, layout.others
    if layout.reading is not None:
        for frame in read_chunks(piece, encoder, text=others, **layout.reading):
            yield frame[others], _encoded(_readable(frame, encoder), encoder)
        return
    labels, done = read_piece(piece, others).to_pandas(), 0
    if encoder is None:
        yield labels, matrix_of(layout, read_piece(piece, layout.features))
        return
    for frame in read_chunks(piece, encoder):
        yield labels[done : done + len(frame)], _encoded(frame, encoder)
        done += len(frame)


def _encoded(frame: Any, encoder: Any) -> Any:
    return encoder.transform(frame).astype(np.float32)


def _readable(frame: Any, encoder: Any) -> Any:
    """The frame with cells that cannot be read as missing; where there are any, it has objects."""
    typed = [name for name, kind in encoder.kinds_.items() if kind != "category"]
    odd = any(frame[name].dtype == object for name in typed)
    return encoder.check(frame).frame if odd else frame


def matrix_of(layout: RowLayout, table: Any) -> NDArray[np.float32]:
    pa = import_pyarrow()
    X = np.empty((table.num_rows, len(layout.features)), dtype=np.float32)
    for j, name in enumerate(layout.features):
        try:
            if pa.types.is_dictionary(table[name].type):  # codes of categories, not numbers
                raise pa.ArrowInvalid
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
    """The rows of some pieces: those to learn from are read anew in each pass."""

    def __init__(self, layout: RowLayout, pieces: Sequence[Any]) -> None:
        self.layout, self.pieces = layout, pieces
        self._kept: dict[int, Rows] = {}

    def learning(self) -> Iterator[Block]:
        """Yield the rows to learn from; the first complete pass keeps the others."""
        layout = self.layout
        kept: dict[int, list[Rows]] = {PROVE: [], STOP: []}
        for rows in (rows for piece in self.pieces for rows in read_rows(layout, piece)):
            of = layout.shares.part_of(rows.number)
            if not self._kept:
                for number, found in kept.items():
                    if (of == number).any() or not found:  # an empty one, for the shape
                        found.append(rows.some(of == number))
            learn = rows.some(of == LEARN)
            if len(learn.k):
                if layout.edges is not None:
                    learn = learn._replace(X=at_edges(learn.X, layout.edges))
                yield learn.block(layout.factors)
        if not self._kept:
            self._kept = {number: Rows.joined(found) for number, found in kept.items()}

    def kept(self, number: int) -> Rows:
        return self._kept[number]

    def stopping(self) -> Iterable[Block]:
        return [self.kept(STOP).block(self.layout.factors)]


# ---- bins that do not depend on who reads which rows --------------------------------------------
#
# XGBoost finds bins from sketches of all rows, and those of two workers are not those of one: near
# their edges, cases would be decided otherwise.  So every value is replaced by the lower edge of a
# bin that was settled before, from a sample.  Then there are no more values than bins, the sketches
# are exact, and a split ``x < t`` at an edge is the same for a value and for the edge below it: the
# trees are for the values themselves.


def edges_of(X: Any, max_bin: int) -> Edges:
    """Edges of up to ``max_bin`` bins of each column, with about as many rows of a sample each."""
    found: Edges = []
    places = np.linspace(0, 1, max_bin + 1)[1:-1]
    for column in X.T:
        values = column[~np.isnan(column)]
        edges = np.unique(values)
        if len(edges) >= max_bin:
            edges = np.unique(np.quantile(values, places, method="lower"))
        found.append(edges.astype(np.float32))
    return found


def at_edges(X: Any, edges: Edges) -> NDArray[np.float32]:
    """Replace each value by the edge below it; below all edges, by one lower value."""
    found = np.array(X, dtype=np.float32)
    for j, own in enumerate(edges):
        if len(own):
            lowest = own[0] - max(1.0, abs(float(own[0])))
            steps = np.concatenate([[lowest], own, [np.nan]]).astype(np.float32)
            place = np.searchsorted(own, X[:, j], side="right")
            place[np.isnan(X[:, j])] = len(own) + 1
            found[:, j] = steps[place]
    return found
