"""The rows of the training table in a file, by what the classes of its parts say."""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import issparse

from rejo._state import STORABLE
from rejo.persistence._arrays import check_array, read_sparse
from rejo.persistence._container import Bytes
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import KNOWN

MOST_ROWS = 1 << 19  # that are looked at, to bound the memory; there may be more
LOOKED_AT = 1 << 18  # values of a sparse table, or of a row


class TrainingRows:
    """The arrays of training rows in a file, by what the classes of its parts say."""

    def __init__(self, schema: Schema) -> None:
        self.unknown = False  # whether there are parts whose classes say nothing
        self._schema = schema
        self._left = MOST_ROWS
        self._distinct: dict[str, int] = {}  # how many distinct rows each array has
        self._held: dict[int, set[tuple[str, int]]] = {}  # arrays and copies of each row, by node
        stack: list[tuple[Any, int]] = [(schema.root, 1)]
        while stack:
            node, copies = stack.pop()
            if isinstance(node, list):
                stack += [(item, copies) for item in node]
            # In a dict of the user, this key leads to a node, not to a name.
            elif isinstance(node, dict) and node.get("__loader__") == "ObjectNode":
                if node["__id__"] not in self._held:
                    stack += self._look(node, copies)
            elif isinstance(node, dict):
                stack += [(item, copies) for item in node.values()]

    def of(self, node: Node) -> int:
        """Return how many rows a part holds itself."""
        return self._most(self._held[node["__id__"]])

    def least(self) -> int:
        """Return how many rows of the table all parts hold together, at least: those of one."""
        return max(map(self._most, self._held.values()), default=0)

    def _most(self, held: set[tuple[str, int]]) -> int:
        """Return the most rows that one of these arrays holds."""
        return max((-(-self._distinct[file] // copies) for file, copies in held), default=0)

    def _look(self, node: Node, copies: int) -> list[tuple[Any, int]]:
        """Note the arrays of an object; return its attributes, to look at next."""
        attributes, name = self._schema.attributes(node), type_name(node)
        known = KNOWN.get(name)
        self.unknown |= known is None
        files = [self._table(attributes.get(key)) for key in (known.rows if known else ())]
        self._held[node["__id__"]] = {(file, copies) for file in files if file}
        times = {}
        for part, each in getattr(STORABLE.get(name), "_copies", {}).items():
            shape = self._schema.shapes.get(attributes.get(each, {}).get("file", ""))
            times[part] = max(1, shape[0]) if shape else 1
        return [(item, copies * times.get(key, 1)) for key, item in attributes.items()]

    def _table(self, node: Node | None) -> str | None:
        """Return the file of a table of numbers, and count its rows; None for all else."""
        file = None if node is None else node.get("file")
        if not isinstance(file, str) or len(self._schema.shapes[file]) != 2:
            return None
        if file not in self._distinct:
            rows = first_rows(file, self._schema.members[file], self._left)
            self._distinct[file] = 0 if rows is None else n_distinct(rows)
            self._left -= 0 if rows is None else rows.shape[0]
        return file


def first_rows(name: str, data: Bytes, n_rows: int) -> Any:
    """Return some rows of a table of numbers in a member of a file; None if it is something else.

    A dense table is not copied: this reads files from elsewhere, within bounds.
    """
    if name.endswith(".npz"):
        rows = read_sparse(name, data, "csr_array")
        few = int(np.searchsorted(rows.indptr, LOOKED_AT, side="right")) - 1
        return rows[: min(n_rows, few)]
    layout = check_array(name, data)
    if layout.dtype.kind not in "iuf" or len(layout.shape) != 2 or 0 in layout.shape:
        return None
    if layout.shape[1] > LOOKED_AT:
        return None
    values = np.frombuffer(data, layout.dtype, offset=layout.start)
    return values.reshape(layout.shape, order="F" if layout.fortran else "C")[:n_rows]


def n_distinct(rows: Any) -> int:
    """Count distinct rows, dense or sparse, by a hash of each, as copies might not fit."""
    if issparse(rows):
        rows.sum_duplicates()
        rows.eliminate_zeros()
        values, columns = rows.data, rows.indices
        spans = (slice(*ends) for ends in pairwise(rows.indptr.tolist()))
        rows_as_bytes = ((columns[at].tobytes(), values[at].tobytes()) for at in spans)
    else:
        rows_as_bytes = ((row + 0).tobytes() for row in rows)  # -0.0 is 0.0
    with np.errstate(invalid="ignore"):
        hashes = np.fromiter(map(hash, rows_as_bytes), np.int64, rows.shape[0])
    return len(np.unique(hashes))
