"""Training on rows that do not fit into memory, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from rejo._errors import RejoError
from rejo.distributed.here import Tell, place_of, quiet
from rejo.distributed.learning import StreamedTraining, sample_table
from rejo.distributed.out_of_core import RowLayout, matrix_of, settle_layout, shares_of
from rejo.distributed.row_sources import input_of
from rejo.estimators import RejoBoost, RejoLinear
from rejo.selection import RejectClassifierCV, check_targets
from rejo.tables import TableEncoder


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
    """Train on Parquet files that may be larger than the memory.

    Rows are held out by a hash of their place, the same in every run.  Half of them stop the growth
    of trees, set thresholds and choose the operating point.  The other half say what to expect of
    the model and prove what is promised.  With ``confidence``, these test the operating points in
    an order that the first half settles, and the last one that is proved is taken; that is valid.

    Parameters
    ----------
    estimator : RejoBoost, RejoLinear, Pipeline or RejectClassifierCV
        One of the two classifiers; a pipeline of a :class:`~rejo.tables.TableEncoder` and one of
        them; or a :class:`~rejo.selection.RejectClassifierCV` around one of these, with any target
        but those by group.  It is not changed.
    data : str, path-like, or list of these
        ``"loans/*.parquet"``, a folder, files, or URLs that fsspec can open.  Without a
        ``TableEncoder``, all features must be numbers.
    target : str
        The column of the classes.
    client : distributed.Client, cluster or str, default=None
        ``None``: this process.  Else a client of a Dask cluster, or the address of its scheduler:
        workers read the files themselves, so they must see them under the same names.
    held_out : float, default=0.1
        Share of the rows that is held out, but at most a million; without a target, half a million,
        which stop the growth and set thresholds.  It takes the place of ``validation``.
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
    Memory: about a byte for each value of the encoded table (two if ``max_bin`` is above 256; times
    the number of boundaries if ``boundaries="replicas"``), one row group, and the held-out rows
    as numbers in single precision; on a cluster, each worker holds its share.  Encoders, and the
    bins of trees, are learned from 200,000 rows, drawn by the same hash: however many workers there
    are, models agree but for rounding.

    XGBoost's workers listen on all interfaces, unauthenticated, while trees grow: use a cluster in
    a private network only.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoBoost
    >>> from rejo.datasets import make_synthetic_1
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
    search, pipeline, classifier = _taken_apart(estimator)
    tell = tell or quiet
    with place_of(client) as place:
        source = input_of(data)
        shares = shares_of(source.n_rows, held_out, proves=search is not None)
        features = source.features(target, together, columns)
        layout = RowLayout(target, features, shares, together)
        found = place.survey(layout, source.pieces, tell)
        if found.n_missing:
            raise RejoError(
                f"column {target!r} has {found.n_missing:,} missing values", parameter="target",
                remedy="Leave these rows out.",
            )  # fmt: skip
        order, ordered = classifier.class_order, classifier.class_order is not None
        free = getattr(classifier, "boundaries", None) in ("auto", "posteriors")
        if order is None and (free or len(found.counts) == 2):  # two have one, posteriors need none
            order = "sorted"
        layout, classes = settle_layout(layout, found, order, classifier.class_weight)
        if pipeline is None:
            X, sample = None, np.concatenate([matrix_of(layout, one) for one in found.sample])
        else:
            X = sample_table(found, source.name).frame
            tell(f"The columns are learned from {len(X):,} rows, drawn at random.")
            layout = layout._replace(encoder=pipeline[0].fit(X))
            sample = pipeline[0].transform(X)
        if search is not None:
            costs = search.costs_to_try(classes, ordered=ordered)
            if len(costs) == 1 and not classifier.decides_by_posteriors:
                classifier.set_params(reject_cost=costs[0])
        training = StreamedTraining(place, source.pieces, layout, classes, ordered, sample)
        learnt = training.learn(classifier, tell)
        model = learnt.classifier
        if pipeline is not None:
            names = [name for name, _ in pipeline.steps]
            model = Pipeline(list(zip(names, (pipeline[0], model), strict=True)))
        return model if search is None else training.settle(search, model, learnt, X)


def _taken_apart(estimator: Any) -> tuple[RejectClassifierCV | None, Pipeline | None, Any]:
    """A copy of an estimator as a search, a pipeline, if it has them, and a classifier.

    What cannot be streamed is refused, and so are values that are invalid.
    """
    search = clone(estimator) if isinstance(estimator, RejectClassifierCV) else None
    inner = clone(estimator) if search is None else search.estimator
    steps = [step for _, step in inner.steps] if isinstance(inner, Pipeline) else [inner]
    if isinstance(inner, Pipeline) and (len(steps) != 2 or not isinstance(steps[0], TableEncoder)):
        raise RejoError(
            f"a pipeline of {', '.join(type(step).__name__ for step in steps)} cannot learn from "
            "rows that are streamed",
            parameter="estimator",
            remedy="Give a pipeline of a TableEncoder and a classifier.",
        )
    if not isinstance(steps[-1], RejoBoost | RejoLinear):
        raise RejoError(
            f"{type(steps[-1]).__name__} cannot learn from rows that are streamed",
            parameter="estimator",
            remedy="Give RejoBoost or RejoLinear, or use its own fit on rows that fit into memory.",
        )
    for part in steps if search is None else [search, *steps]:
        part._validate_params()
    if search is not None:
        check_targets(search.get_params(deep=False))
    if isinstance(folds := getattr(steps[-1], "validation", None), Integral):
        raise RejoError(
            f"validation={folds} asks for folds, which need all rows in memory",
            parameter="validation",
            remedy='Leave it at "auto", or give a share of the rows, such as 0.1.',
        )
    return search, inner if len(steps) == 2 else None, steps[-1]
