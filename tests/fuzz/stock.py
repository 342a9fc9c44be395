"""The zoo as files."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from rejo.persistence import save
from tests.fuzz.zoo import Animal, zoo


@cache
def stock() -> tuple[dict[str, Animal], dict[str, bytes]]:
    """The models of the zoo, and a good file of each."""
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rejo"
        for name, animal in zoo().items():
            save(animal.model, path, overwrite=True)
            files[name] = path.read_bytes()
    return zoo(), files
