"""The rooms of the package: none uses what another keeps private, and no two share a name."""

import ast
import re
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

import benchmarks
import rejo

ROOT = Path(__file__).parents[1]
SOURCE = Path(rejo.__file__).parent
# scikit-learn's own protocol, between any two classes.
PROTOCOL = {"_parameter_constraints", "_n_features_out"}


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def module_name(path, root):
    parts = path.relative_to(root.parent).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def room_of(parts):
    """Room of a dotted name: the package or module right below ``rejo``."""
    return parts[1] if len(parts) > 1 else ""


def trees(root):
    for path in sorted(root.rglob("*.py")):
        yield path, module_name(path, root), ast.parse(path.read_text(), str(path))


def common_names(modules):
    """Return the private modules of the package itself, which are for all, and their hooks.

    Hooks are private names that such a module's docstring gives: what a class may say about itself.
    """
    common = {module[1]: tree for _, module, tree in modules if len(module) == 2}
    common = {name: tree for name, tree in common.items() if is_private(name)}
    text = "\n".join(ast.get_docstring(tree) or "" for tree in common.values())
    return set(common), {name for name in re.findall(r"``(_\w+)", text) if is_private(name)}


def imports(tree, path, module):
    """Yield the line, the full dotted name and the local name of everything imported."""
    package = module if path.name == "__init__.py" else module[:-1]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split(".")), alias.asname
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) - node.level + 1] if node.level else ()
            base = (*start, *node.module.split(".")) if node.module else start
            for alias in node.names:
                yield node.lineno, (*base, alias.name), alias.asname or alias.name


def own_names(tree):
    """Private names that a module defines: functions, classes, variables and attributes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def attributes(tree):
    """Yield each use of an attribute, with its object and its name; ``getattr`` is a use too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node, node.value, node.attr
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in {"getattr", "hasattr"}:
            owner, name = node.args[:2]
            if isinstance(name, ast.Constant):
                yield node, owner, name.value


def private_uses(root):
    """List where a room uses a private module, name or attribute of another room."""
    root = Path(root)
    modules = list(trees(root))
    common, hooks = common_names(modules)
    defined = defaultdict(set)  # private name -> rooms that define it
    for _, module, tree in modules:
        for name in filter(is_private, own_names(tree)):
            defined[name].add(room_of(module))

    found = []
    for path, module, tree in modules:
        room, place = room_of(module), path.relative_to(root)
        foreign = set()  # local names that stand for something of another room
        for line, name, local in imports(tree, path, module):
            if name[0] != root.name or room_of(name) in {room, ""}:
                continue
            inside = name[2:] if name[1] in common else name[1:]
            if any(map(is_private, inside)):
                found.append(f"{place}:{line}: {'.'.join(name)}")
            if local:
                foreign.add(local)
        for node, owner, attribute in attributes(tree):
            if not is_private(attribute) or attribute in PROTOCOL | hooks:
                continue
            direct = isinstance(owner, ast.Name) and owner.id in foreign
            itself = isinstance(owner, ast.Name) and owner.id in {"self", "cls"}
            inherited = isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"
            elsewhere = bool(defined[attribute]) and room not in defined[attribute]
            if direct or (elsewhere and not itself and not inherited):
                found.append(f"{place}:{node.lineno}: {ast.unparse(node)}")
    return found


def is_pair(places):
    """Return whether modules share a name on purpose.

    A solver is named after the estimator that it serves, and a display after the measure it draws.
    """
    rooms = {place.split(".")[1] for place in places}
    return len(places) == 2 and (
        rooms in ({"solvers", "estimators"}, {"solvers", "baselines"}, {"displays", "metrics"})
    )


def shared_names(root):
    """List the names that two modules, or the classes of two modules, share."""
    root = Path(root)
    modules, classes = defaultdict(set), defaultdict(set)
    for path, module, tree in trees(root):
        place = ".".join(module)
        if path.stem not in {"__init__", "__main__"} and len(module) > 2:
            modules[module[-1].lstrip("_")].add(place)
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                classes[node.name].add(place)
    return [
        *(f"module {name}: {', '.join(sorted(w))}" for name, w in sorted(modules.items())
          if len(w) > 1 and not is_pair(w)),
        *(f"class {name}: {', '.join(sorted(w))}" for name, w in sorted(classes.items())
          if len(w) > 1),
    ]  # fmt: skip


def test_no_room_uses_what_another_keeps_private():
    assert not private_uses(SOURCE)


def test_names_of_modules_and_classes_are_unique():
    assert not shared_names(SOURCE)


@pytest.fixture
def house(tmp_path):
    """Make a package of rooms from a dictionary of files; return its folder."""

    def make(**files):
        root = tmp_path / "rejo"
        for name, text in files.items():
            path = root / f"{name.replace('__', '/', 1)}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return root

    return make


@pytest.mark.parametrize(
    "line",
    [
        "from rejo.attic._chest import gold",
        "from rejo.attic.chest import _gold",
        "from rejo.attic import _chest",
        "from ..attic._chest import gold",
        "from ..attic import _chest",
        "from .. import attic; attic._gold",
        "import rejo.attic._chest",
        "import rejo.attic._chest as chest",
        "from rejo.attic import chest\nchest._gold",
        "from rejo.attic import Chest\nChest._open",
        "def look():\n    from rejo.attic._chest import gold",
        "def look(chest):\n    return chest._weight",
        "def look(chest):\n    return chest._open()",
        "def look(chest):\n    return getattr(chest, '_weight', 0)",
    ],
)
def test_a_planted_private_use_is_found(house, line):
    chest = "class Chest:\n    def _open(self):\n        self._weight = 1\n"
    root = house(kitchen__table=line, attic__chest=chest)
    (found,) = private_uses(root)
    assert found.startswith("kitchen/table.py:")


def test_what_a_room_may_use_is_not_reported(house):
    root = house(
        _io="def progress(): ...\n_hidden = 1\n",
        attic___chest="class Chest:\n    _parameter_constraints = {}\n    def _open(self): ...\n",
        attic__rope="from rejo.attic._chest import Chest\nfrom ._chest import Chest\n"
        "Chest()._open()\n",
        kitchen__table="from rejo import _io\nfrom rejo._io import progress\n"
        "from rejo.attic.rope import Chest\nimport numpy._core\n"
        "class Box(Chest):\n"
        "    _parameter_constraints = Chest._parameter_constraints\n"
        "    def open(self):\n        return self._open(), super()._open()\n",
    )
    assert private_uses(root) == []


def test_a_hook_must_be_documented(house):
    chest = "class Chest:\n    def _open(self): ...\n    def _close(self): ...\n"
    look = "def look(chest):\n    chest._open()\n    chest._close()\n"
    hooks = "'A class may have ``_open(self)``.'"
    root = house(_state=hooks, attic__chest=chest, kitchen__table=look)
    assert private_uses(root) == ["kitchen/table.py:3: chest._close"]


def test_a_private_name_of_the_common_modules_is_private(house):
    root = house(_io="_hidden = 1\n", kitchen__table="from rejo._io import _hidden\n")
    assert private_uses(root) == ["kitchen/table.py:1: rejo._io._hidden"]


def test_planted_shared_names_are_found(house):
    root = house(
        attic__chest="class Rope: ...\n",
        kitchen___chest="class Rope: ...\n",
        solvers__svm="class Problem: ...\n",
        estimators__svm="class Learner: ...\n",
    )
    assert shared_names(root) == [
        "module chest: rejo.attic.chest, rejo.kitchen._chest",
        "class Rope: rejo.attic.chest, rejo.kitchen._chest",
    ]


@pytest.mark.parametrize("name", [module.name for module in iter_modules(benchmarks.__path__)])
def test_benchmarks_can_be_imported(name):
    assert import_module(f"benchmarks.{name}").__doc__


SCRIPTS = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("docs/*.py")]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_scripts_import_names_that_exist(path):
    for _, name, _ in imports(ast.parse(path.read_text()), path, ("benchmarks", path.stem)):
        if name[0] != "rejo":
            continue
        module = import_module(".".join(name[:-1])) if len(name) > 1 else rejo
        assert hasattr(module, name[-1]) or import_module(".".join(name))
