"""Examples in the gallery use public names; ``make gallery`` runs them."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import rejo
from tests.gallery_runs import EXAMPLES, Run, find, report, run

PATHS = find()
each_example = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


def test_examples_are_found():
    assert len(PATHS) >= 7
    assert find(["plot_credit_prices.py"]) == [EXAMPLES / "plot_credit_prices.py"]
    with pytest.raises(SystemExit, match="plot_nothing"):
        find(["plot_nothing"])


@each_example
def test_uses_public_names(path):
    for node in _nodes(path, ast.ImportFrom):
        if node.module.partition(".")[0] == "rejo":
            if node.module == "rejo.torch":
                pytest.importorskip("torch")
            public = import_module(node.module).__all__
            assert {alias.name for alias in node.names} <= set(public)
    for node in _nodes(path, ast.Attribute):
        assert not node.attr.startswith("_"), ast.unparse(node)
        if isinstance(node.value, ast.Name) and node.value.id == "rejo":
            assert node.attr in dir(rejo)


def test_a_failure_is_named(capsys):
    good, bad = Run("plot_a", "script", 1.0, ""), Run("plot_b", "notebook", 2.0, "ValueError: no")
    assert report([good]) == 0
    assert report([good, bad]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "Failed: plot_b (notebook)"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("import warnings\nwarnings.warn('soon gone')\nplt.figure()", "UserWarning: soon gone"),
        ("raise ValueError('no such case')", "ValueError: no such case"),
        ("", "No figure was drawn."),
        ("plt.figure()", ""),
    ],
)
def test_problems_of_a_script(tmp_path, code, problem):
    path = tmp_path / "plot_tried.py"
    path.write_text(f"import matplotlib.pyplot as plt\n{code}\n")
    found = run(path, "script")
    assert found[:2] == ("plot_tried", "script")
    assert problem in found.problem
    assert bool(problem) == bool(found.problem)


def _nodes(path: Path, kind: type) -> list:
    return [node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, kind)]
