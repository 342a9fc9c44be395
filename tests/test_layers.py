"""The rooms of the package have doors: other rooms import from the room, not from its modules."""

import ast
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import benchmarks
import rejo

ROOT = Path(__file__).parents[1]
SOURCE = Path(rejo.__file__).parent
ROOMS = {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def foreign_imports(path):
    """Yield line, module and name of what a file imports from the rooms it does not belong to."""
    own = path.relative_to(SOURCE).parts[0] if path.is_relative_to(SOURCE) else None
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            parts = node.module.split(".")
            if parts[0] == "rejo" and len(parts) > 1 and parts[1] in ROOMS - {own}:
                for alias in node.names:
                    yield node.lineno, node.module, alias.name


def files():
    for folder in (SOURCE, ROOT / "studies", ROOT / "examples"):
        yield from sorted(folder.rglob("*.py"))


def test_rooms_are_entered_by_their_doors():
    past = []
    for path in files():
        for line, module, name in foreign_imports(path):
            listed = module.count(".") == 1 and hasattr(import_module(module), name)
            if not listed or name.startswith("_"):
                past.append(f"{path.relative_to(ROOT)}:{line}: {module}.{name}")
    assert not past


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_door_lists_what_there_is(room):
    door = import_module(f"rejo.{room}")
    assert all(hasattr(door, name) for name in door.__all__)


@pytest.mark.parametrize("name", [module.name for module in iter_modules(benchmarks.__path__)])
def test_benchmarks_can_be_imported(name):
    assert import_module(f"benchmarks.{name}").__doc__
