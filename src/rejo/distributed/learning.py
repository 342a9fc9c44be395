"""Classifiers that learn from a table in pieces, and what they answer for held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from rejo._errors import RejoError
from rejo._io import one_line, progress
from rejo.distributed.here import Here, Tell, n_rows, quiet
from rejo.distributed.out_of_core import (
    PROVE,
    SAMPLE_FILE,
    STOP,
    RowLayout,
    Rows,
    StreamedRows,
    Survey,
    edges_of,
)
from rejo.estimators import RejoLinear
from rejo.selection import OutOfFold, RejectClassifierCV, of_posteriors, of_scores
from rejo.tables import Table, TableError, import_pandas, import_pyarrow, read_table

MOST_CHOOSING = 200_000  # rows that choose an operating point


class StreamedTraining(NamedTuple):
    """A table whose classes and columns are known, and where to learn from it."""

    place: Here
    pieces: Sequence[Any]
    layout: RowLayout
    classes: NDArray[Any]  # (K,) in their order
    ordered: bool  # whether the user gave this order
    sample: Any  # (n, p) some rows as they reach a classifier

    def learn(self, classifier: Any, tell: Tell) -> Learnt:
        layout, classes = self.layout, self.classes
        if isinstance(classifier, RejoLinear):
            if self.place.client is not None:
                tell("One worker does this: it cannot be divided.")
            item = ("all rows", classifier, list(self.pieces))
            common = (classes, layout, False if tell is quiet else None)
            ((_, found),) = self.place.each(learn_linear, common, [item])
            return Learnt(*found)
        random = check_random_state(classifier.random_state)
        names: Any = list(layout.features)
        if layout.encoder is not None:  # of its columns, the classifier knows only the number
            names = len(layout.encoder.get_feature_names_out())
        plan = classifier.plan(classes, self.ordered, random, names=names)
        if classifier.form_ == "posteriors":
            classifier.set_params(boundaries="posteriors")  # what "auto" takes for these classes
        edges = edges_of(self.sample.astype(np.float32), classifier.max_bin)
        binned = layout._replace(edges=edges)
        n_threads = int(_openmp_effective_n_threads(classifier.n_jobs))
        stage, scored = self.place.grow(plan, binned, self.pieces, n_threads, tell)
        stop = scored[STOP]
        weight = None if layout.factors is None else layout.factors[stop.k]
        classifier.store(plan, stage, stop.X, stop.k, weight)
        return Learnt(classifier, scored)

    def settle(
        self, search: RejectClassifierCV, model: Any, learnt: Learnt, X: Any = None
    ) -> RejectClassifierCV:
        """Find the operating point of a fitted model; ``X`` are some rows, to know what is typical.

        The model is what was learnt, or a pipeline that ends in it.
        """
        search.set_params(estimator=clone(model))
        costs = search.costs_to_try(self.classes, ordered=self.ordered)
        choosing, proving = (learnt.cases(part, self.layout, costs) for part in (STOP, PROVE))
        return search.settle(model, choosing, proving, ordered=self.ordered, X=X)


class Learnt(NamedTuple):
    classifier: Any
    scored: dict[int, Rows]

    def cases(self, part: int, layout: RowLayout, costs: Sequence[float]) -> list[OutOfFold]:
        """The rows of a part; by boundaries, at each reject cost."""
        (scores, k, number), model = self.scored[part], self.classifier
        if part == STOP and len(k) > MOST_CHOOSING:  # more would not choose better
            few = number < np.partition(number, MOST_CHOOSING)[MOST_CHOOSING]
            scores, k, number = scores[few], k[few], number[few]
        n = len(k)
        about = {"y": k, "classes": model.classes_, "fold": np.zeros(n, np.intp)}
        about |= {"rows": np.arange(n), "together": None if layout.together is None else number}
        if model.decides_by_posteriors:
            return [of_posteriors(model.posteriors_of(scores), **about)]
        if isinstance(model, RejoLinear):  # which decides at the reject cost that it was fitted for
            return [of_scores(scores, trained_for=float(model.reject_cost_), **about)]
        moved = ((cost, model.at(cost).boundaries_of(scores)) for cost in costs)
        return [of_scores(found, trained_for=cost, **about) for cost, found in moved]


def sample_table(found: Survey, name: str, **reading: Any) -> Table:
    """The sample of a first pass over files, read as :func:`~rejo.tables.read_table` reads a file.

    Rows of a CSV file are frames of words here.  ``name`` is that of the files, for messages.
    """
    if not found.sample:
        raise RejoError("no row is left to learn from", parameter="held_out", remedy="Lower it.")
    with TemporaryDirectory() as folder:
        if hasattr(found.sample[0], "iloc"):
            path = Path(folder, "sample.csv")
            frame = import_pandas().concat(found.sample, ignore_index=True)
            frame.to_csv(path, sep="\t", index=False)
            reading = {**reading, "sep": "\t", "encoding": None}
        else:
            path = Path(folder, "sample.parquet")
            import_pyarrow().parquet.write_table(_one_table(found.sample), path)
        try:
            return read_table(path, **reading)
        except TableError as error:
            if error.where is not None:
                error.where = error.where.replace(str(path), name)
            raise


def _one_table(tables: Sequence[Any]) -> Any:
    """Tables of files as one; numbers of different sizes, and words, have a type in common."""
    pa = import_pyarrow()
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        first = tables[0].schema
        for other in (table.schema for table in tables[1:]):
            try:
                pa.unify_schemas([first, other], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                files = [schema.metadata[SAMPLE_FILE].decode() for schema in (first, other)]
                raise TableError(
                    f"unlike {files[0]}: {one_line(str(error))}",
                    where=files[1],
                    parameter="data",
                    remedy="Write the column with the same type in all files, or leave it out.",
                ) from None
        raise


def learn_linear(
    common: tuple[NDArray[Any], RowLayout, bool | None], item: tuple[str, RejoLinear, list[Any]]
) -> tuple[RejoLinear, dict[int, Rows]]:
    """Learn from all pieces by ``partial_fit``; the scores of the rows that were held out."""
    (classes, layout, show), (_, model, pieces) = common, item
    rows = StreamedRows(layout, pieces)
    weights = model.class_weight
    model.set_params(class_weight=None)  # the blocks have them
    total = round((1.0 - layout.shares.prove - layout.shares.stop) * n_rows(pieces))
    blocks = progress(rows.learning(), total, "learning", rows=lambda one: len(one.k), show=show)
    for block in blocks:
        if (gaps := np.isnan(block.X).any(axis=0)).any():
            raise _missing(layout, int(np.argmax(gaps)))
        model.partial_fit(block.X, classes[block.k], classes, block.v)
    model.set_params(class_weight=weights)
    scored = {}
    for number in (PROVE, STOP):
        kept = rows.kept(number)
        scored[number] = kept._replace(X=model.boundary_scores(kept.X)) if len(kept.k) else kept
    if layout.encoder is None:
        model.feature_names_in_ = np.array(layout.features, dtype=object)
    return model, scored


def _missing(layout: RowLayout, column: int) -> RejoError:
    named = f"column {layout.features[column]!r}" if layout.encoder is None else "the table"
    return RejoError(
        f"{named} has missing values, which RejoLinear does not take",
        parameter="data",
        remedy="Put a rejo.tables.TableEncoder before it, in a pipeline, or use RejoBoost.",
    )
