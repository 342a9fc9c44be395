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


def test_the_top_has_what_most_users_need():
    shown = dir(rejo)
    assert len(shown) == len(set(shown)) <= 36
    assert not any(name.startswith("_") for name in shown)
    assert {*rejo.__all__, "metrics", "datasets"} < set(shown)
    assert all(getattr(rejo, name).__doc__ for name in rejo.__all__)


def test_rooms_are_there_after_import():
    rooms = sorted({*dir(rejo)} - {*rejo.__all__, "torch"})
    done = python(f"import rejo\nprint(*(getattr(rejo, name).__name__ for name in {rooms}))")
    assert done.stdout.split() == [f"rejo.{room}" for room in rooms]


def test_type_checkers_see_the_public_names():
    """What is imported for type checkers is what can be imported at run time."""
    tree = ast.parse(Path(rejo.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    doors = [node for node in block.body if node.module.startswith("rejo.")]
    seen = {name.name: node.module for node in doors for name in node.names}
    assert sorted(seen) == sorted(rejo.__all__)
    for name, home in seen.items():
        assert getattr(importlib.import_module(home), name) is getattr(rejo, name)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="RejoSVD"):
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
        "from rejo.datasets import make_synthetic_1\n"
        "from rejo.metrics import rejection_rate\n"
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
