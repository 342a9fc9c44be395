"""The zoo as files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from rejo.persistence import save
from tests.fuzz.zoo import ANIMALS, Animal, fitted


@cache
def file_of(name: str) -> bytes:
    """A good file of one model."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.rejo"
        save(fitted(name).model, path)
        return path.read_bytes()


def stock(names: Iterable[str] = ANIMALS) -> tuple[dict[str, Animal], dict[str, bytes]]:
    """Models of the zoo, and a good file of each."""
    names = list(names)
    return {name: fitted(name) for name in names}, {name: file_of(name) for name in names}
