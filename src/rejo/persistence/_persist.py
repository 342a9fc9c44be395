"""Save, load and inspect: the way of a model to a file and back."""

import os
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import sklearn

from rejo._io import WholeFile, printable
from rejo._state import is_fitted
from rejo.persistence._building import build
from rejo.persistence._container import (
    HEADER,
    MAX_BYTES,
    SCHEMA,
    memory_needed,
    pack,
    parse_json,
    read_file,
    unpack,
)
from rejo.persistence._description import ModelFile, describe
from rejo.persistence._header import data_hash, make_header, plain, read_header
from rejo.persistence._parts import check_and_restore, rejecting_part
from rejo.persistence._refusals import AGAIN, about, any_error, ensure
from rejo.persistence._schema import Schema
from rejo.persistence._writing import serialise


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    y: Any = None,
    expected: Mapping[str, Any] | None = None,
    table: Mapping[str, Any] | None = None,
    notes: str = "",
    overwrite: bool = False,
    trusted: Collection[str] = (),
) -> None:
    """Write a fitted model to a file that can be opened without running code from it.

    The file appears whole or not at all.

    Parameters
    ----------
    model : RejectClassifier or Pipeline
        A fitted classifier of rejo, or a pipeline that ends in one.
    path : str or path-like
        Where to write; by convention ``*.rejo``.
    X, y : array-like, default=None
        The training data.  The header gets their hash.
    expected : dict, default=None
        Rates to expect for new cases, for the header.  By default those of the model, if it has
        ``expected_``.
    table : dict, default=None
        What a table must have besides the features, for the header: strings, numbers, and lists and
        dicts of these.
    notes : str, default=""
        Anything else worth knowing, for the header.
    overwrite : bool, default=False
        Replace a file that exists.
    trusted : collection of str, default=()
        Full names of types that the model may hold besides
        :data:`~rejo.persistence.TRUSTED_TYPES`; :func:`load` then needs them too.

    Raises
    ------
    ModelFileError
        If the model holds something that :func:`load` would not open.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoLinear, load, save
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(100, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     path = f"{folder}/model.rejo"
    ...     save(RejoLinear().fit(X, y), path, notes="first try")
    ...     load(path)
    RejoLinear()
    """
    path = Path(path)
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither: the hash in the header is of both.")
    if not isinstance(notes, str):
        raise TypeError(f"notes must be a string; got {notes!r}.")
    with about(path, "not saved: "):
        with any_error():
            fitted = is_fitted(rejecting_part(model))
        ensure(fitted, "the model is not fitted", remedy="Call fit first")
        members, schema = serialise(model, trusted)
        with any_error():
            decider = rejecting_part(_build(schema))  # as it will be loaded
            point, rates = decider._operating_point(), getattr(decider, "expected_", None)
        header = make_header(
            members,
            data_hash=None if X is None else data_hash(X, y),
            operating_point=point,
            expected=rates if expected is None else expected,
            table=table,
            notes=notes,
        )
        members = {HEADER: header, **members}  # the header first, for people who look inside
        read_header(members)
        data = pack(members)
    with WholeFile(path, overwrite=overwrite) as file:
        file.write(data)
    needed = memory_needed(members)
    if needed > MAX_BYTES:
        warnings.warn(
            f"{path} is large: opening it may take {needed / 1e6:,.0f} MB of memory, so it has to "
            f"be opened with max_bytes={needed} (in commands, --max-bytes).",
            UserWarning,
            stacklevel=2,
        )


def load(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, trusted: Collection[str] = ()
) -> Any:
    """Open a model file.

    No code from the file is run.  It may name only the types in
    :data:`~rejo.persistence.TRUSTED_TYPES`; that, sizes and shapes are checked before anything is
    built.  Then each part must be as its class says, and the parts must agree with each other.

    Parameters
    ----------
    path : str or path-like
        A file or a pipe.
    max_bytes : int, default=2**28
        How much memory opening the file may take, at least twice its size.  If it may take more,
        the file is refused before anything is allocated.
    trusted : collection of str, default=()
        Full names of types that the file may name besides ours, such as
        ``"sklearn.decomposition._pca.PCA"``.  Nothing is guaranteed then: their modules are
        imported, their attributes are not checked, and a file that was made to do harm can crash
        the process through them, or run code.

    Returns
    -------
    model : RejectClassifier or Pipeline
        It decides as the model that was saved.  ``n_jobs`` is None and ``verbose`` False, and
        attributes of scikit-learn that no prediction uses, such as ``oob_score_``, are not there.

    Raises
    ------
    ModelFileError
        If it is not a complete and harmless model file.

    Warns
    -----
    UserWarning
        If another version of scikit-learn wrote the file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoLinear, load, save
    >>> from rejo.datasets import make_synthetic_2
    >>> X, y = make_synthetic_2(100, random_state=0)
    >>> model = RejoLinear(reject_cost=0.2).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.rejo")
    ...     same = load(f"{folder}/model.rejo")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    return _open(path, max_bytes, trusted)[0]


def open_file(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, trusted: Collection[str] = ()
) -> tuple[Any, ModelFile]:
    """Open a model file and describe it: :func:`~rejo.load` and :func:`inspect` in one reading.

    Parameters
    ----------
    path, max_bytes, trusted
        As for :func:`~rejo.load`.

    Returns
    -------
    model, file : (RejectClassifier or Pipeline, ModelFile)
        As :func:`~rejo.load` and :func:`inspect` return them.
    """
    return _open(path, max_bytes, trusted)


def inspect(
    path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES, trusted: Collection[str] = ()
) -> ModelFile:
    """Describe what a model file holds, without building the model.

    Parameters
    ----------
    path, max_bytes, trusted
        As for :func:`~rejo.load`; but nothing is imported, and nothing runs.

    Returns
    -------
    file : ModelFile
        Its header, its parts, and how many training rows it contains; ``print`` shows all.

    Raises
    ------
    ModelFileError
        If it is not a complete and harmless model file.  Only :func:`~rejo.load` checks that the
        parts of the model agree.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoLinear, save
    >>> from rejo.datasets import make_synthetic_2
    >>> from rejo.persistence import inspect
    >>> X, y = make_synthetic_2(100, random_state=0)
    >>> with TemporaryDirectory() as folder:
    ...     save(RejoLinear(reject_cost=0.2).fit(X, y), f"{folder}/model.rejo", X=X, y=y)
    ...     file = inspect(f"{folder}/model.rejo")
    >>> print(file.estimators)
    RejoLinear
    >>> file.classes, file.operating_point, file.privacy
    ([-1, 1], {'reject_cost': 0.2}, 'contains no training rows')
    """
    return _open(path, max_bytes, trusted, built=False)[1]


def _open(
    path: str | os.PathLike[str], max_bytes: int, trusted: Collection[str], built: bool = True
) -> tuple[Any, ModelFile]:
    path = Path(path)
    if isinstance(trusted, str):
        raise TypeError(f"trusted must be a list of names; got {trusted!r}.")
    with about(path, remedy=AGAIN):
        data = read_file(path, max_bytes)
        with any_error():
            members = unpack(data, max_bytes)
            header = read_header(members)
            schema = Schema(parse_json(SCHEMA, members[SCHEMA]), members, trusted)
            model = _build(schema, header["operating_point"]) if built else None
            found = describe(path, len(data), header, schema)
    theirs, ours = printable(found.versions["scikit-learn"][:40]), sklearn.__version__
    if built and theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{printable(str(path))} was saved with scikit-learn {theirs}, this is {ours}: the "
            "model may decide differently. Compare its decisions on known cases, or fit and save "
            "it again.",
            UserWarning,
            stacklevel=3,
        )
    return model, found


def _build(schema: Schema, point: Mapping[str, Any] | None = None) -> Any:
    model = build(schema)
    check_and_restore(model, schema.asked)
    if point is not None:
        same = plain(rejecting_part(model)._operating_point()) == point
        ensure(same, "the operating point in rejo.json is not that of the model")
    return model
