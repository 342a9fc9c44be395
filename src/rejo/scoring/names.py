"""Names of cases: strings, kept as pyarrow has them where it is installed; which repeat."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejo.tables import import_pyarrow, mixed

LONG = 64  # bytes of a name that is not usual


def names_of(column: Any) -> Any:
    """Return a column (n,) as a Series of strings; a missing name is empty."""
    if (pa := _pyarrow()) is not None:
        try:
            found = _strings(column, pa)
            return (found.fill_null("") if found.null_count else found).to_pandas()
        except (pa.ArrowException, TypeError, UnicodeError):
            pass  # numbers, or half a character
    texts = column.fillna("").map(lambda name: str(name).encode("utf-8", "backslashreplace"))
    return texts.str.decode("utf-8")


def hashes_of(names: Any) -> NDArray[np.uint64]:
    """Hash of each string (n,), the same in every process that has pyarrow."""
    if (pa := _pyarrow()) is None:
        return _long_hashes(np.asarray(names, dtype=object))
    array = _strings(names, pa)
    _, offsets, data = array.buffers()
    places = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    letters = np.frombuffer(data or b"", np.uint8)
    starts, lengths = places[:-1], np.diff(places)
    found = np.empty(len(array), np.uint64)
    sizes = np.unique(lengths).tolist()
    for size in (size for size in sizes if size <= LONG):
        if len(sizes) == 1:
            found[:] = _hashes(letters[places[0] : places[-1]].reshape(len(array), size))
        else:
            rows = np.flatnonzero(lengths == size)
            found[rows] = _hashes(letters[starts[rows, None] + np.arange(size)])
    if len(rows := np.flatnonzero(lengths > LONG)):
        found[rows] = _long_hashes(array.take(pa.array(rows)).to_numpy(zero_copy_only=False))
    return found


def _hashes(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hash of each row (n, size) of letters, eight at a time."""
    n, size = letters.shape
    padded = np.zeros((n, -(-size // 8) * 8), np.uint8)
    padded[:, :size] = letters
    found = np.full(n, size, np.uint64)
    for words in padded.view("<u8").T:
        found = mixed(found ^ words)
    return mixed(found) if not size else found


def _long_hashes(texts: NDArray[np.object_]) -> NDArray[np.uint64]:
    from pandas.util import hash_array

    found: NDArray[np.uint64] = hash_array(texts, categorize=False)
    return found


def packed(names: Any) -> bytes:
    """Return names as bytes; empty without any."""
    if names is None:
        return b""
    if (pa := _pyarrow()) is None:
        return json.dumps(names.tolist()).encode()
    batch = pa.record_batch({"name": _strings(names, pa)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    found: bytes = sink.getvalue()
    return found


def unpacked(data: bytes) -> Any:
    """Return the names that were packed, as a Series of strings."""
    import pandas as pd

    if not data:
        return None
    if data[:1] == b"[":
        return pd.Series(json.loads(data), dtype=object)
    return import_pyarrow().ipc.open_stream(data).read_all().column(0).to_pandas()


def _strings(names: Any, pa: Any) -> Any:
    found = pa.array(names, pa.large_string(), from_pandas=True)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _pyarrow() -> Any:
    try:
        return import_pyarrow()
    except ImportError:
        return None


class Ids:
    """Finds ids that repeat, by their hashes: 8 bytes a case."""

    MOST = 10_000_000  # compared; more would take too much memory

    def __init__(self) -> None:
        self._hashes: list[NDArray[np.uint64]] = []
        self._n = 0
        self.n_empty = 0

    def add(self, names: Any) -> None:
        """Note the ids (n,) of the next cases, if they have any."""
        if names is not None:
            self.n_empty += int((names == "").sum())
            if self._n < self.MOST:
                self._keep(hashes_of(names))

    def merge(self, other: Ids) -> None:
        """Note the ids that another has noted."""
        self.n_empty += other.n_empty
        for hashes in other._hashes:
            if self._n < self.MOST:
                self._keep(hashes)

    def forget(self) -> None:
        """Compare none of these ids."""
        self._hashes, self._n = [], 0

    def _keep(self, hashes: NDArray[np.uint64]) -> None:
        self._hashes.append(hashes)
        self._n += len(hashes)

    @property
    def n_repeated(self) -> int:
        """Number of cases whose id another case before them has."""
        if not self._hashes:
            return 0
        hashes = np.sort(np.concatenate(self._hashes))
        same = hashes[1:] == hashes[:-1]
        return int((same & (hashes[1:] != hashes_of([""])[0])).sum())
