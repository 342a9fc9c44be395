"""Training on rows that do not fit into memory, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads

from rejo._errors import RejoError
from rejo.distributed.inputs import Input, input_of
from rejo.distributed.linear_streams import learn_linear
from rejo.distributed.pace import Tell
from rejo.distributed.places import Place, place_of
from rejo.estimators.boosting import RejoBoost
from rejo.estimators.file_fits import order_of
from rejo.estimators.linear import RejoLinear
from rejo.estimators.out_of_core import (
    PROVE,
    STOP,
    Layout,
    Scored,
    Survey,
    settled,
    shares_of,
    words_among,
)
from rejo.selection import RejectClassifierCV
from rejo.selection.held_out import Answers, cost_to_fit, settle
from rejo.tables import TableEncoder, read_table
from rejo.tables.errors import import_pandas, import_pyarrow


def fit(
    estimator: Any,
    data: Any,
    *,
    target: str,
    client: Any = None,
    held_out: float = 0.1,
    together: str | None = None,
    columns: Sequence[str] | None = None,
    tell: Tell | None = None,
) -> Any:
    """Train on Parquet files, or on a Dask DataFrame, that may be larger than the memory.

    Rows are held out by a hash of their place, the same in every run.  Half of them stop the growth
    of trees, set thresholds and choose the operating point.  The other half say what to expect of
    the model and prove what is promised; they do nothing else.

    Parameters
    ----------
    estimator : RejoBoost, RejoLinear, Pipeline or RejectClassifierCV
        One of the two classifiers; a pipeline of a :class:`~rejo.tables.TableEncoder` and one of
        them; or a :class:`~rejo.selection.RejectClassifierCV` around one of these, with any target
        but those by group.  It is not changed.
    data : str, path-like, list of these, or dask.dataframe.DataFrame
        ``"loans/*.parquet"``, a folder, files, or URLs that fsspec can open.  Of a Dask DataFrame,
        all partitions must fit into the memory of the workers.
    target : str
        The column of the classes.
    client : distributed.Client, cluster or str, default=None
        ``None``: this process, without any socket.  Else a client of a Dask cluster, or the address
        of its scheduler: workers read the files themselves, so they must see them under the same
        names.
    held_out : float, default=0.1
        Share of the rows that is held out, but at most two million; without a target, one million,
        which stop the growth and set thresholds.
    together : str, default=None
        A column, such as the customer, whose rows are held out together, and count as one case.
    columns : sequence of str, default=None
        Columns to learn from; by default all others.
    tell : callable, default=None
        Gets a line of text on every step.

    Returns
    -------
    model : as ``estimator``
        Fitted, as if by its own ``fit``.

    Raises
    ------
    ClusterError
        If workers are lost again and again, or need more memory than they may use, or the
        scheduler goes away.

    Notes
    -----
    Memory: about a byte for each value of the encoded table, one row group, and the held-out rows
    as numbers in single precision; on a cluster, each worker holds its share.  An encoder learns
    from 200,000 rows, drawn by the same hash.  ``RejoLinear`` learns in one pass by
    :meth:`~rejo.RejoLinear.partial_fit`, on a cluster by one worker.

    XGBoost's workers listen on all interfaces, unauthenticated, while trees grow: use a cluster in
    a private network only.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoBoost, make_synthetic_1
    >>> from rejo.distributed import fit
    >>> from rejo.selection import RejectClassifierCV
    >>> X, y = make_synthetic_1(4000, random_state=0)
    >>> table = pd.DataFrame(X, columns=["a", "b"]).assign(group=y)
    >>> with TemporaryDirectory() as folder:
    ...     table.to_parquet(Path(folder, "1.parquet"))
    ...     search = RejectClassifierCV(RejoBoost(n_estimators=50), review_budget=0.2)
    ...     model = fit(search, folder, target="group")
    >>> abs(model.rates_[0] - 0.2) < 0.1
    True
    """
    wanted = Wanted.of(estimator)
    tell = tell or _quiet
    with place_of(client) as place:
        source = input_of(data, getattr(place, "client", None))
        shares = shares_of(
            source.n_rows, held_out,
            proves=wanted.search is not None, samples=wanted.encoder is not None,
        )  # fmt: skip
        features = source.features(target, together, columns)
        layout = Layout(target, features, shares, together)
        some = next(part for part in source.parts if part.piece.rows)
        if wanted.encoder is None and not hasattr(some.frame, "key"):  # a future tells nothing
            layout = layout._replace(words=words_among(features, some))
        found = place.survey(layout, source.parts, tell)
        if found.n_missing:
            raise RejoError(
                f"column {target!r} has {found.n_missing:,} missing values", parameter="target",
                remedy="Leave these rows out.",
            )  # fmt: skip
        order = order_of(wanted.classifier, len(found.counts))
        layout = settled(layout, found, order, wanted.classifier.class_weight)
        if wanted.encoder is not None:
            layout = layout._replace(encoder=learn_encoder(wanted.encoder, found, tell))
        training = Training(place, source, layout, wanted.classifier.class_order is not None)
        return wanted.finished(training, training.learn(wanted, tell), found)


def _quiet(_: str) -> None:
    pass


class Wanted(NamedTuple):
    """An estimator, taken apart."""

    search: RejectClassifierCV | None
    pipeline: Pipeline | None
    encoder: TableEncoder | None
    classifier: Any  # RejoBoost or RejoLinear

    @classmethod
    def of(cls, estimator: Any) -> Wanted:
        """Take an estimator apart; refuse what cannot be streamed."""
        search = clone(estimator) if isinstance(estimator, RejectClassifierCV) else None
        inner = clone(estimator) if search is None else search.estimator
        if not isinstance(inner, Pipeline):
            return cls(search, None, None, _streamed(inner))
        encoder, last = inner.steps[0][1], inner.steps[-1][1]
        if len(inner.steps) != 2 or not isinstance(encoder, TableEncoder):
            raise RejoError(
                f"a pipeline of {', '.join(type(step).__name__ for _, step in inner.steps)} "
                "cannot learn from rows that are streamed",
                parameter="estimator",
                remedy="Give a pipeline of a TableEncoder and a classifier.",
            )
        return cls(search, inner, encoder, _streamed(last))

    def finished(self, training: Training, learned: Learnt, found: Survey) -> Any:
        """Put the fitted parts together, and find the operating point if there is a target."""
        model = learned.classifier
        if self.pipeline is not None:
            model = Pipeline([
                (self.pipeline.steps[0][0], training.layout.encoder),
                (self.pipeline.steps[1][0], model),
            ])  # fmt: skip
        if self.search is None:
            return model
        search = self.search.set_params(estimator=clone(model))
        X = sample_frame(found) if self.encoder is not None else None
        return settle(
            search, model, learned.answers(STOP, training.layout),
            learned.answers(PROVE, training.layout), ordered=training.ordered,
            reject_costs=learned.reject_costs, X=X,
        )  # fmt: skip


def _streamed(classifier: Any) -> Any:
    if isinstance(classifier, RejoBoost | RejoLinear):
        return classifier
    raise RejoError(
        f"{type(classifier).__name__} cannot learn from rows that are streamed",
        parameter="estimator",
        remedy="Give RejoBoost or RejoLinear, or use its own fit on rows that fit into memory.",
    )


class Learnt(NamedTuple):
    """A fitted classifier, and its scores of the rows that were held out."""

    classifier: Any
    scored: dict[int, Scored]

    @property
    def reject_costs(self) -> list[float] | None:
        """Those that it can decide at; None: any."""
        model = self.classifier
        return [float(model.reject_cost_)] if isinstance(model, RejoLinear) else None

    def answers(self, part: int, layout: Layout) -> Answers:
        """What it answers for the rows of a part."""
        (scores, k, number), model = self.scored[part], self.classifier
        groups = None if layout.together is None else number
        if model.decides_by_posteriors:
            return Answers(k, posteriors=model.posteriors_of(scores), groups=groups)
        if isinstance(model, RejoLinear):
            return Answers(k, boundaries=lambda _: scores, groups=groups)
        return Answers(
            k, boundaries=lambda cost: model.at(cost).boundaries_of(scores), groups=groups
        )


class Training(NamedTuple):
    """A table whose classes and columns are known, and where to learn from it."""

    place: Place
    source: Input
    layout: Layout
    ordered: bool  # whether the user gave an order of the classes

    def learn(self, wanted: Wanted, tell: Tell) -> Learnt:
        """Fit a classifier."""
        layout, parts = self.layout, self.source.parts
        assert layout.place is not None
        classes = np.array(list(layout.place))
        model = wanted.classifier
        if wanted.search is not None:
            cost = cost_to_fit(wanted.search, classes, ordered=self.ordered)
            model.set_params(reject_cost=model.reject_cost if cost is None else cost)
        if isinstance(model, RejoLinear):
            return Learnt(*self.place.alone(learn_linear, model, classes, layout, parts, tell=tell))
        random = check_random_state(model.random_state)
        names = self._names()
        plan = model.plan(classes, self.ordered, random, names=names, categories=layout.categories)
        if model.form_ == "posteriors":
            model.set_params(boundaries="posteriors")  # what "auto" takes for these classes
        stage, scored = self.place.grow(plan, layout, parts, threads_of(model.n_jobs), tell)
        stop = scored[STOP]
        weight = None if layout.factors is None else layout.factors[stop.k]
        model.store(plan, stage, stop.scores, stop.k, weight)
        return Learnt(model, scored)

    def _names(self) -> Any:
        """Names of the columns that reach the classifier; of an encoder, only their number."""
        encoder = self.layout.encoder
        if encoder is None:
            return list(self.layout.features)
        return len(encoder.get_feature_names_out())


def threads_of(n_jobs: int | None) -> int:
    """Number of threads, as in joblib; ``None``: all."""
    return int(_openmp_effective_n_threads(n_jobs))


# ---- encoders -----------------------------------------------------------------------------------


def learn_encoder(encoder: TableEncoder, found: Survey, tell: Tell) -> TableEncoder:
    """Fit an encoder on the sample of a first pass."""
    X = sample_frame(found)
    tell(f"The columns are learned from {len(X):,} rows, drawn at random.")
    return encoder.fit(X)


def sample_frame(found: Survey) -> Any:
    """The sample, with typed columns as :func:`~rejo.tables.read_table` reads them."""
    if not found.sample:
        raise RejoError("no row is left to learn from", parameter="held_out", remedy="Lower it.")
    if hasattr(found.sample[0], "iloc"):
        return import_pandas().concat(found.sample, ignore_index=True)
    pa = import_pyarrow()
    table = pa.concat_tables(found.sample, promote_options="permissive")
    with TemporaryDirectory() as folder:
        path = Path(folder, "sample.parquet")
        pa.parquet.write_table(table, path)
        return read_table(path).frame
