"""The package as it is installed: names, versions, types, light imports, builds."""

import ast
import importlib
import importlib.metadata
import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import rejo

ROOT = Path(__file__).parents[1]
unix = pytest.mark.skipif(os.name != "posix", reason="Visual Studio reads no CC and CXX")
in_checkout = pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="needs the source tree")


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


ROOMS = [*rejo._WHOLE, *rejo._SOME]


def test_public_names_come_from_their_modules():
    assert len(set(rejo.__all__)) == len(rejo.__all__)
    for name in rejo.__all__:
        value = getattr(rejo, name)
        assert value.__module__.startswith(tuple(ROOMS))
        assert value.__doc__
    assert set(rejo.__all__) <= set(dir(rejo))


@pytest.mark.parametrize("room", ROOMS)
def test_the_public_names_of_a_room_can_be_reached(room):
    module = importlib.import_module(room)
    assert sorted(set(module.__all__)) == sorted(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)
    public = set(module.__all__) & set(rejo.__all__)
    assert public == set(module.__all__ if room in rejo._WHOLE else rejo._SOME[room].split())
    assert all(getattr(rejo, name) is getattr(module, name) for name in public)


def test_type_checkers_see_the_public_names():
    """What is imported for type checkers is what can be imported at run time."""
    tree = ast.parse(Path(rejo.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {node.module: " ".join(name.name for name in node.names) for node in block.body}
    assert seen == dict.fromkeys(rejo._WHOLE, "*") | rejo._SOME


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'rejo' has no attribute 'RejoSVD'"):
        _ = rejo.RejoSVD


def test_versions_agree():
    try:
        installed = importlib.metadata.version("rejo")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("rejo is not installed")
    assert rejo.__version__ == installed


def test_types_are_declared():
    assert files("rejo").joinpath("py.typed").is_file()


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import rejo", {"numpy", "sklearn", "pandas", "matplotlib"}),
        ("from rejo import *", {"matplotlib"}),
        ("import rejo.metrics, rejo.replication", {"sklearn", "pandas", "matplotlib"}),
    ],
)
def test_imports_are_light(code, unwanted):
    done = python(f"{code}\nimport sys\nprint(*{unwanted!r} & set(sys.modules))")
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


def test_the_package_works_without_pandas_and_matplotlib():
    done = python(
        "import sys\n"
        "sys.modules['pandas'] = sys.modules['matplotlib'] = None\n"
        "from rejo import *\n"
        "X, y = make_synthetic_1(100, random_state=0)\n"
        "model = RejoSVC(reject_cost=0.2).fit(X, y)\n"
        "print(rejection_rate(y, model.predict(X), reject_label=model.reject_label_))\n"
    )
    assert done.returncode == 0, done.stderr
    assert 0 <= float(done.stdout) <= 1


def build(folder, **variables):
    """Build the extension into a folder; return the finished process and the modules made."""
    command = [sys.executable, "setup.py", "-q", "build_ext"]
    done = subprocess.run(
        [*command, "--build-lib", folder / "lib", "--build-temp", folder / "temp"],
        cwd=ROOT,
        env={k: v for k, v in os.environ.items() if not k.startswith("REJO_")} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done, [path.name for path in folder.rglob("_svm*") if path.suffix in (".so", ".pyd")]


@in_checkout
@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"CC": "/nonexistent", "CXX": "/nonexistent"}, id="no compiler", marks=unix),
        pytest.param({"REJO_NO_EXTENSION": "1"}, id="left out"),
    ],
)
def test_the_build_succeeds_without_the_extension(tmp_path, variables):
    done, modules = build(tmp_path, **variables)
    assert (done.returncode, modules) == (0, []), done.stderr


@in_checkout
@pytest.mark.slow
def test_the_build_makes_the_extension(tmp_path):
    done, modules = build(tmp_path)
    assert (done.returncode, len(modules)) == (0, 1), done.stderr
