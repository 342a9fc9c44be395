"""Save, load and inspect: the way of a model to a file and back."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import sklearn
from sklearn.exceptions import InconsistentVersionWarning

from rejo._io import printable
from rejo.metrics import Interval
from rejo.persistence._checks import check_model, rejecting_part
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
from rejo.persistence._errors import ModelFileError
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
from rejo.persistence._schema import Schema, renumber
from rejo.persistence._trusted import TRUSTED_TYPES
from rejo.selection.expected import Expected

MAX_BYTES = 1 << 31


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
        Where; by convention ``*.rejo``.
    X, y : array-like, default=None
        The training data, for their hash in the header; they are not stored.  A support vector
        machine contains rows of them all the same: its support vectors.
    expected : dict, default=None
        Rates to be expected of new cases, for the header; by default those of the model, if it
        has ``expected_``.
    table : dict, default=None
        What a table must have besides the features, such as its columns of classes and of row
        names, for the header; strings, numbers, and lists and dicts of these.
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
    A process that is killed while it writes may leave a hidden ``.part`` file beside ``path``.

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
    with _naming(path, "not saved: "):
        decider = rejecting_part(model)
        members = _serialise(model)
        members[HEADER] = make_header(
            skops=skops.__version__,
            data_hash=None if X is None else data_hash(X, y),
            operating_point=operating_point(decider),
            expected=expected_rates(decider) if expected is None else plain(expected),
            table=None if table is None else plain(table),
            notes=notes,
            payload_hash=payload_hash(members),
        )
        members = {HEADER: members.pop(HEADER), **members}  # first, for those who look into it
        data = pack(members)
        _build(*_read(data))  # what is written can be opened
    write_whole(path, data, overwrite=overwrite)


def load(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Any:
    """Open a model file.

    No code from the file is run: it may name only the types in
    :data:`~rejo.persistence.TRUSTED_TYPES`, which is checked, with sizes and shapes, before
    anything is built, and the parts of the model must agree with each other.

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
        If it is not a whole and harmless model file.

    Warns
    -----
    UserWarning
        If another version of scikit-learn wrote the file.

    See Also
    --------
    save, inspect
    """
    return open_file(path, max_bytes=max_bytes)[0]


def open_file(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> tuple[Any, ModelFile]:
    """Return the model of a file, as :func:`load`, and its description, as :func:`inspect`.

    The file is read and checked once.
    """
    path = Path(path)
    with _naming(path):
        data = read_bytes(path, max_bytes)
        header, schema = _read(data)
        model = _build(header, schema)
        with _any_error():
            found = describe(path, len(data), header, schema)
    _warn_of_versions(path, header["versions"])
    return model, found


def inspect(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> ModelFile:
    """Tell what a model file holds, without building the model.

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
        If it is not a whole and harmless model file; that the parts of the model agree is for
        :func:`load` to find out.
    """
    path = Path(path)
    with _naming(path):
        data = read_bytes(path, max_bytes)
        header, schema = _read(data)
        with _any_error():
            return describe(path, len(data), header, schema)


def _serialise(model: Any) -> dict[str, bytes]:
    """Members of a file for a model, numbered in the order of its tree."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of NumPy's, within skops
            members = _unpack_payload(_skops().io.dumps(model))
    except (TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(
            f"skops cannot store a part of the model ({str(error)[:200]}). Use one of the types in "
            "rejo.persistence.TRUSTED_TYPES"
        ) from None
    schema, names = renumber(parse_json(SCHEMA, members.pop(SCHEMA)))
    renamed = {names[name]: data for name, data in members.items() if name in names}
    Schema(schema, renamed)  # a part that is not trusted is refused by its name
    return {SCHEMA: json.dumps(schema, separators=(",", ":")).encode(), **renamed}


def _unpack_payload(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _read(data: bytes) -> tuple[dict[str, Any], Schema]:
    """Header and tree of a file, checked; nothing is built."""
    members = unpack(data)
    if len(members[HEADER]) > MAX_HEADER:
        raise ModelFileError(f"rejo.json has more than {MAX_HEADER} bytes")
    header = check_header(parse_json(HEADER, members[HEADER]))
    if payload_hash(members) != header["payload_hash"]:
        raise ModelFileError(
            "the contents do not match their checksum: the file is damaged. Copy or save it again"
        )
    return header, Schema(parse_json(SCHEMA, members[SCHEMA]), members)


def _build(header: Mapping[str, Any], schema: Schema) -> Any:
    """Build the model of a checked tree, and check that its parts agree."""
    payload = pack({name: data for name, data in schema.members.items() if name != HEADER})
    skops = _skops()
    with _any_error():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # load warns once
            model = skops.io.loads(payload, trusted=list(TRUSTED_TYPES))
        check_model(model)
        decider = rejecting_part(model)
        if operating_point(decider) != header["operating_point"]:
            raise ModelFileError("the operating point in rejo.json is not that of the model")
        _restore_intervals(decider)
    return model


def _restore_intervals(decider: Any) -> None:
    """Make named tuples again of what skops returns as plain ones."""
    expected = getattr(decider, "expected_", None)
    if isinstance(expected, Expected):
        rates: dict[str, Any] = {
            name: Interval(*part)
            for name, part in expected._asdict().items()
            if isinstance(part, tuple)
        }
        decider.expected_ = expected._replace(**rates)


def _warn_of_versions(path: Path, versions: Mapping[str, str]) -> None:
    theirs, ours = versions["scikit-learn"], sklearn.__version__
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {theirs}, this is {ours}: the model may decide "
            "otherwise. Compare its decisions on known cases, or fit and save it again.",
            UserWarning,
            stacklevel=4,
        )


@contextmanager
def _any_error() -> Iterator[None]:
    """Turn any error into a ModelFileError: hostile attributes can make every step stumble."""
    try:
        yield
    except ModelFileError:
        raise
    except Exception as error:
        reason = (str(error).splitlines() or [""])[0][:200]
        raise ModelFileError(f"the model is malformed ({type(error).__name__}: {reason})") from None


@contextmanager
def _naming(path: Path, what: str = "") -> Iterator[None]:
    """Begin the message of a ModelFileError with the name of the file."""
    try:
        yield
    except ModelFileError as error:
        message = str(error)
        if "not a trusted type" in message:
            message += ". " + _remedy(message, saving=bool(what))
        raise ModelFileError(printable(f"{path}: {what}{message.rstrip('.')}.")) from None


def _remedy(message: str, saving: bool) -> str:
    if not saving:
        return "Do not open it by other means; ask its author for a file made by rejo.save"
    if "kernel" in message:
        return "Use a kernel by name, or kernel='precomputed' with your own matrix"
    if "SearchCV" in message:
        return "Fit with the best parameters that the search found"
    if "xgboost" in message or "lightgbm" in message:
        return "Use HistGradientBoostingClassifier, or keep the booster in its own format"
    return "Use one of the types in rejo.persistence.TRUSTED_TYPES"


def _skops() -> Any:
    try:
        import skops
        import skops.io
    except ImportError:
        raise ImportError('model files need skops: pip install "rejo[files]"') from None
    return skops
