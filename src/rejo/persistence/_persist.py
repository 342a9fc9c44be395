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

from rejo._io import WholeFile
from rejo.persistence._container import HEADER, SCHEMA, check_free, pack, parse_json, unpack
from rejo.persistence._header import ModelFile, data_hash, describe, make_header, plain, read_header
from rejo.persistence._parts import check_and_restore, rejecting_part
from rejo.persistence._refusals import ModelFileError, UntrustedType, about, any_error, ensure
from rejo.persistence._schema import Schema, renumber
from rejo.persistence._trusted import TRUSTED_TYPES

MAX_BYTES = 1 << 31
OTHER_TYPES = "Use one of the types in rejo.persistence.TRUSTED_TYPES"
BOOSTER = "Use HistGradientBoostingClassifier, or keep the booster in its own format"
ALTERNATIVES = {  # to types that cannot be saved, by a word of their names
    "cost_of": "Give cost_of as text, such as 'error=5000,review=40', or as an array",
    "kernel": "Use a kernel by name, or kernel='precomputed' with your own matrix",
    "SearchCV": "Fit with the best parameters that the search found",
    "xgboost": BOOSTER,
    "lightgbm": BOOSTER,
}


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
            members,
            skops.__version__,
            data_hash=None if X is None else data_hash(X, y),
            operating_point=decider._operating_point(),
            expected=getattr(decider, "expected_", None) if expected is None else expected,
            table=table,
            notes=notes,
        )
        data = pack({HEADER: header, **members})  # the header first, for people who look inside
        _build(*_read(data))  # what is written can be opened
    with WholeFile(path, overwrite=overwrite) as file:
        file.write(data)


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

    Parameters and errors are those of :func:`load`.

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
    return _open(path, max_bytes, build=False)[1]


def _open(
    path: str | os.PathLike[str], max_bytes: int, build: bool = True
) -> tuple[Any, ModelFile]:
    path = Path(path)
    with about(path):
        with path.open("rb") as file:
            data = file.read(max_bytes + 1)
        problem = f"the file has more than {max_bytes} bytes"
        ensure(len(data) <= max_bytes, problem, remedy="If you expect that, raise max_bytes")
        header, schema = _read(data)
        model = _build(header, schema) if build else None
        found = describe(path, len(data), header, schema)
    theirs, ours = found.versions["scikit-learn"], sklearn.__version__
    if build and theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {theirs}, this is {ours}: the model may decide "
            "differently. Compare its decisions on known cases, or fit and save it again.",
            UserWarning,
            stacklevel=3,
        )
    return model, found


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
        remedies = (text for word, text in ALTERNATIVES.items() if word in error.problem)
        raise ModelFileError(error.problem, remedy=next(remedies, OTHER_TYPES)) from None
    return {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **renamed}


def _read(data: bytes) -> tuple[dict[str, Any], Schema]:
    """Header and tree of a file, checked; nothing is built."""
    members = unpack(data)
    return read_header(members), Schema(parse_json(SCHEMA, members[SCHEMA]), members)


def _build(header: Mapping[str, Any], schema: Schema) -> Any:
    """Build the model of a checked tree, and check that its parts agree."""
    payload = pack({name: data for name, data in schema.members.items() if name != HEADER})
    skops = _skops()
    with any_error():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # load warns once
            model = skops.io.loads(payload, trusted=list(TRUSTED_TYPES))
        check_and_restore(model)
        same = plain(rejecting_part(model)._operating_point()) == header["operating_point"]
        ensure(same, "the operating point in rejo.json is not that of the model")
    return model


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise ImportError('model files need skops: pip install "rejo[files]"') from None
    return skops
