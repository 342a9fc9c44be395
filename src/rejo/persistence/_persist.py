"""Save, load and inspect: the way of a model to a file and back."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import sklearn
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.utils.validation import check_is_fitted

from rejo.persistence._container import (
    HEADER,
    MAX_HEADER,
    SCHEMA,
    check_free,
    pack,
    parse_json,
    payload_hash,
    read_bytes,
    unpack,
    write_whole,
)
from rejo.persistence._header import (
    ModelFile,
    check_header,
    data_hash,
    describe,
    expected_rates,
    make_header,
    operating_point,
    plain,
)
from rejo.persistence._parts import check_model, rejecting_part, restore
from rejo.persistence._refusals import ModelFileError, UntrustedType, about, any_error
from rejo.persistence._schema import Schema, renumber
from rejo.persistence._trusted import TRUSTED_TYPES

MAX_BYTES = 1 << 31
OTHER_TYPES = "Use one of the types in rejo.persistence.TRUSTED_TYPES"


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
) -> None:
    """Write a fitted model to a file that can be opened without running code from it.

    The file appears whole or not at all, whatever happens meanwhile.

    Parameters
    ----------
    model : RejectClassifier or Pipeline
        A fitted classifier of rejo, or a pipeline that ends in one.
    path : str or path-like
        Where to write; by convention ``*.rejo``.
    X, y : array-like, default=None
        The training data.  Only their hash is stored, in the header.  A support vector machine
        contains rows of them all the same: its support vectors.
    expected : dict, default=None
        Rates to expect for new cases, for the header.  By default those of the model, if it has
        ``expected_``.
    table : dict, default=None
        What a table must have besides the features, such as the columns of classes and of row
        names, for the header: strings, numbers, and lists and dicts of these.
    notes : str, default=""
        Anything else worth knowing, for the header.
    overwrite : bool, default=False
        Replace a file that exists.

    Raises
    ------
    ModelFileError
        If the model holds something that :func:`load` would not open.

    See Also
    --------
    load, inspect

    Notes
    -----
    If the process is killed while it writes, a hidden ``.part`` file may remain beside ``path``.

    Examples
    --------
    >>> import rejo.persistence, tempfile
    >>> from rejo import RejoLinear, make_synthetic_1
    >>> X, y = make_synthetic_1(100, random_state=0)
    >>> path = tempfile.mkdtemp() + "/model.rejo"
    >>> rejo.persistence.save(RejoLinear().fit(X, y), path, notes="first try")
    >>> rejo.persistence.inspect(path).notes
    'first try'
    >>> rejo.persistence.load(path)
    RejoLinear()
    """
    path = Path(path)
    check_free(path, overwrite)
    if (X is None) != (y is None):
        raise ValueError("give both X and y, or neither: the hash in the header is of both.")
    if not isinstance(notes, str):
        raise TypeError(f"notes must be a string; got {notes!r}.")
    skops = _skops()
    with about(path, "not saved: "):
        decider = rejecting_part(model)
        with any_error():
            check_is_fitted(decider)
        members = _serialise(model)
        header = make_header(
            skops=skops.__version__,
            data_hash=None if X is None else data_hash(X, y),
            operating_point=operating_point(decider),
            expected=expected_rates(decider) if expected is None else plain(expected),
            table=None if table is None else plain(table),
            notes=notes,
            payload_hash=payload_hash(members),
        )
        data = pack({HEADER: header, **members})  # the header first, for people who look inside
        _build(*_read(data))  # what is written can be opened
    write_whole(path, data, overwrite=overwrite)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Open a model file.

    No code from the file is run.  It may name only the types in
    :data:`~rejo.persistence.TRUSTED_TYPES`; that, sizes and shapes are checked before anything is
    built.  Then the parts of the model must agree with each other.

    Parameters
    ----------
    path : str or path-like
    max_bytes : int, default=2**31
        Larger files are refused.

    Returns
    -------
    model : RejectClassifier or Pipeline
        As it was saved.

    Raises
    ------
    ModelFileError
        If it is not a complete and harmless model file.

    Warns
    -----
    UserWarning
        If another version of scikit-learn wrote the file.

    See Also
    --------
    open_file, save, inspect
    """
    return _open(path, max_bytes)[0]


def open_file(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Any, ModelFile]:
    """Open a model file and describe it: :func:`load` and :func:`inspect` in one reading.

    Parameters
    ----------
    path : str or path-like
    max_bytes : int, default=2**31
        Larger files are refused.

    Returns
    -------
    model : RejectClassifier or Pipeline
    file : ModelFile

    See Also
    --------
    load, inspect
    """
    return _open(path, max_bytes)


def inspect(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> ModelFile:
    """Describe what a model file holds, without building the model.

    Parameters
    ----------
    path : str or path-like
    max_bytes : int, default=2**31
        Larger files are refused.

    Returns
    -------
    file : ModelFile
        Its header, its parts, and how many training rows it contains; ``print`` shows all.

    Raises
    ------
    ModelFileError
        If it is not a complete and harmless model file.  Only :func:`load` checks that the parts
        of the model agree.
    """
    path = Path(path)
    with about(path):
        data = read_bytes(path, max_bytes)
        return _describe(path, data, *_read(data))


def _open(path: str | os.PathLike[str], max_bytes: int) -> tuple[Any, ModelFile]:
    path = Path(path)
    with about(path):
        data = read_bytes(path, max_bytes)
        header, schema = _read(data)
        model = _build(header, schema)
        file = _describe(path, data, header, schema)
    theirs, ours = file.versions["scikit-learn"], sklearn.__version__
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {theirs}, this is {ours}: the model may decide "
            "differently. Compare its decisions on known cases, or fit and save it again.",
            UserWarning,
            stacklevel=3,
        )
    return model, file


def _serialise(model: Any) -> dict[str, bytes]:
    """Members of a file for a model, numbered in the order of its tree."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's, within skops
            payload = _skops().io.dumps(model)
    except (TypeError, AttributeError, RecursionError) as error:
        problem = f"skops cannot store a part of the model ({str(error)[:200]})"
        raise ModelFileError(problem, remedy=OTHER_TYPES) from None
    with ZipFile(BytesIO(payload)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema, names = renumber(parse_json(SCHEMA, members.pop(SCHEMA)))
    renamed = {names[name]: data for name, data in members.items() if name in names}
    try:
        Schema(schema, renamed)  # a part that is not trusted is refused by its name
    except UntrustedType as error:
        raise ModelFileError(error.problem, remedy=_alternative(error.problem)) from None
    return {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **renamed}


def _read(data: bytes) -> tuple[dict[str, Any], Schema]:
    """Header and tree of a file, checked; nothing is built."""
    members = unpack(data)
    if len(members[HEADER]) > MAX_HEADER:
        raise ModelFileError(f"rejo.json has more than {MAX_HEADER} bytes")
    header = check_header(parse_json(HEADER, members[HEADER]))
    if payload_hash(members) != header["payload_hash"]:
        raise ModelFileError(
            "the contents do not match their checksum: the file is damaged",
            remedy="Copy or save it again",
        )
    return header, Schema(parse_json(SCHEMA, members[SCHEMA]), members)


def _build(header: Mapping[str, Any], schema: Schema) -> Any:
    """Build the model of a checked tree, and check that its parts agree."""
    payload = pack({name: data for name, data in schema.members.items() if name != HEADER})
    skops = _skops()
    with any_error():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # load warns once
            model = skops.io.loads(payload, trusted=list(TRUSTED_TYPES))
        check_model(model)
        if operating_point(rejecting_part(model)) != header["operating_point"]:
            raise ModelFileError("the operating point in rejo.json is not that of the model")
        restore(model)
    return model


def _describe(path: Path, data: bytes, header: Mapping[str, Any], schema: Schema) -> ModelFile:
    with any_error():
        return describe(path, len(data), header, schema)


def _alternative(problem: str) -> str:
    """Return what to use in place of a type that cannot be saved."""
    if "kernel" in problem:
        return "Use a kernel by name, or kernel='precomputed' with your own matrix"
    if "SearchCV" in problem:
        return "Fit with the best parameters that the search found"
    if "xgboost" in problem or "lightgbm" in problem:
        return "Use HistGradientBoostingClassifier, or keep the booster in its own format"
    return OTHER_TYPES


def _skops() -> Any:
    try:
        import skops
        import skops.io
    except ImportError:
        raise ImportError('model files need skops: pip install "rejo[files]"') from None
    return skops
