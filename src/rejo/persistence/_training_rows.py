"""The rows of the training table in a file, by what the classes of its parts say."""

from typing import Any

import numpy as np

from rejo._state import STORABLE
from rejo.persistence._rows import first_rows, hashes
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import KNOWN

NONE = np.empty(0, dtype=np.uint64)
MOST_ROWS = 1 << 19  # that are looked at, to bound the memory; there may be more


class TrainingRows:
    """The arrays of training rows in a file, by what the classes of its parts say."""

    def __init__(self, schema: Schema) -> None:
        self.unknown = False  # whether there are parts whose classes say nothing
        self._schema = schema
        self._left = MOST_ROWS
        self._keys: dict[str, Any] = {}  # distinct hashes of the rows of each array
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
        return max((-(-len(self._keys[file]) // copies) for file, copies in held), default=0)

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
        """Return the file of a table of numbers, and hash its rows; None for all else."""
        file = None if node is None else node.get("file")
        if not isinstance(file, str) or len(self._schema.shapes[file]) != 2:
            return None
        if file not in self._keys:
            rows = first_rows(file, self._schema.members[file], self._left)
            self._keys[file] = np.unique(hashes(rows)[-1]) if rows is not None else NONE
            self._left -= 0 if rows is None else rows.shape[0]
        return file
