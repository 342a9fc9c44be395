"""Progress in a notebook: one line below the cell, replaced while the work goes on."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from rejo import _io


class Cell:
    """What stands below the cell of a notebook, and what stood there before."""

    def __init__(self):
        self.shown = []

    def display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        self.update(data, raw=raw)
        return self

    def update(self, data, *, raw):
        assert list(data) == ["text/plain"]
        self.shown.append(data["text/plain"])


@pytest.fixture
def cell(monkeypatch):
    """A kernel of IPython, as far as a progress line needs one."""
    cell = Cell()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())
    display.display = cell.display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return cell


def runs(**options):
    yield list(_io.progress(range(30), 30, "work", **options))
    yield list(_io.progress(range(30), 150, "rows", rows=lambda item: 5, **options))


@pytest.mark.parametrize("show", [None, True])
def test_progress_is_a_line_that_ends_empty(cell, show, capsys):
    for items in runs(show=show):
        assert items == list(range(30))
        assert "left" in cell.shown[0]
        assert cell.shown[-1] == ""
        assert len(cell.shown) < 30  # not for every item, if these are quick
        cell.shown.clear()
    assert capsys.readouterr() == ("", "")


def test_the_line_ends_empty_after_an_error(cell):
    def fails():
        yield 1
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        list(_io.progress(fails(), 2, "work"))
    assert cell.shown == ["work: 1/2, 0:00 left", ""]


def test_progress_that_is_not_wanted(cell, capsys):
    assert [items == list(range(30)) for items in runs(show=False)] == [True, True]
    assert cell.shown == []
    assert capsys.readouterr() == ("", "")


def test_a_kernel_that_fails_does_not_stop_the_work(cell, monkeypatch):
    monkeypatch.setattr(sys.modules["IPython.display"], "display", None)
    assert list(_io.progress(range(3), 3, "work")) == [0, 1, 2]


def test_a_terminal_of_ipython_is_no_notebook(cell, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
    assert list(_io.progress(range(3), 3, "work")) == [0, 1, 2]
    assert cell.shown == []
    assert list(_io.progress(range(3), 3, "work", show=True)) == [0, 1, 2]
    assert "work: 3/3" in capsys.readouterr().err
