"""The form of the examples in the gallery; ``make gallery`` runs them."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.gallery_runs import EXAMPLES, ROOT, Run, find, report, run

PATHS = find()
each_example = pytest.mark.parametrize("path", PATHS, ids=[path.stem for path in PATHS])


def test_examples_are_found():
    assert len(PATHS) >= 7
    assert find(["plot_credit_prices.py"]) == [EXAMPLES / "plot_credit_prices.py"]
    with pytest.raises(SystemExit, match="plot_nothing"):
        find(["plot_nothing"])


@each_example
def test_form(path):
    source = path.read_text(encoding="utf-8")
    title, line, empty, *rest = ast.get_docstring(ast.parse(source)).splitlines()
    assert line == "=" * len(title), "the title is underlined by as many = as it has letters"
    assert not empty
    assert any(rest), "a question stands below the title"
    assert source.count("\n# %%\n") >= 2
    # The first line of text in a block is never indented: sphinx-gallery would take it for code.
    assert not re.search(r"\n# %%\n#  ", source)


@each_example
def test_no_block_of_code_is_empty(path):
    """A block with only a setting of sphinx-gallery would be an empty box on the page."""
    for block in re.split(r"^# %%\n(?:#.*\n)*", path.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        assert not block.strip() or ast.parse(block).body, block
    opening = path.read_text("utf-8").partition("# %%\n")[0]
    assert len(ast.parse(opening).body) == 1, "only the text stands before the first block"
    assert "sphinx_gallery_" not in opening


@each_example
def test_links_lead_to_pages(path):
    """They name what they link to, so that a notebook, where they stay as they are, reads well."""
    for title, target in re.findall(r":doc:`(?:([^<`]*)<)?([^>`]*)>?`", path.read_text("utf-8")):
        assert title.strip(), target
        page = target.removeprefix("/gallery/")
        source = EXAMPLES / f"{page}.py" if page != target else ROOT / f"docs{target}.md"
        assert source.exists(), target


@each_example
def test_draws_and_shows(path):
    calls = {ast.unparse(call.func) for call in _nodes(path, ast.Call)}
    assert "plt.show" in calls
    assert any(re.search(r"subplots|Display", call) for call in calls)


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
            assert node.attr in import_module("rejo").__all__


@each_example
def test_downloads_nothing(path):
    loaded = {alias.name for node in _nodes(path, ast.ImportFrom) for alias in node.names}
    assert not [name for name in loaded if name.startswith("fetch")]


def test_examples_are_in_the_sdist():
    manifest = (ROOT / "MANIFEST.in").read_text()
    assert re.search(r"^(graft|recursive-include) examples", manifest, re.MULTILINE)


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
