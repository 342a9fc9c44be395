"""The rows of the training table in a file, by what the classes of its parts declare."""

from typing import Any

from rejo._state import STORABLE
from rejo.persistence._schema import Node, Schema, type_name
from rejo.persistence._trusted import KNOWN


def training_rows(schema: Schema) -> dict[int, int | None]:
    """Return how many training rows each object holds itself, at least, by the number of its node.

    ``None``: its class says nothing.  A part that is fitted on copies of each row may hold all of
    them, so it holds as many rows as it has, divided by the number of copies.
    """
    held: dict[int, int | None] = {}
    stack: list[tuple[Any, int]] = [(schema.root, 1)]
    while stack:
        node, copies = stack.pop()
        if isinstance(node, list):
            stack += [(item, copies) for item in node]
        # In a dict of the user, this key leads to a node, not to a name.
        elif isinstance(node, dict) and node.get("__loader__") == "ObjectNode":
            if node["__id__"] not in held:
                name, attributes = type_name(node), schema.attributes(node)
                known, times = KNOWN.get(name), getattr(STORABLE.get(name), "_copies", {})
                tables = [attributes.get(key) for key in (known.rows if known else ())]
                most = max((_rows(schema, table) for table in tables), default=0)
                held[node["__id__"]] = -(-most // copies) if known else None
                for key, item in attributes.items():
                    each = _rows(schema, attributes.get(times.get(key, "")))
                    stack.append((item, copies * max(1, each)))
        elif isinstance(node, dict):
            stack += [(item, copies) for item in node.values()]
    return held


def _rows(schema: Schema, node: Node | None) -> int:
    """Return how many rows a table has; 0 for all else."""
    shape = schema.shape(node)
    return shape[0] if len(shape) == 2 else 0
