"""The page "The paper and rejo" has all that the study and the catalogue know of the paper."""

import re
from pathlib import Path

import pytest

from rejo.catalogue import METHODS
from rejo.study.paper import CLAIMS, DATA, FIGURES

PAGE = (Path(__file__).parents[2] / "docs" / "paper.md").read_text(encoding="utf-8")


def section(title):
    """The text below a heading, up to the next one."""
    return re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]


def cells(title):
    """All cells of the tables of a section."""
    rows = [line for line in section(title).splitlines() if line.startswith("|")]
    return [cell.strip() for row in rows for cell in row.split("|")]


def codes(title):
    """All names in code type in the tables of a section."""
    return {name for cell in cells(title) for name in re.findall(r"`([^`]+)`", cell)}


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_is_there(name):
    assert name in codes("Figures and tables")


@pytest.mark.parametrize("name", DATA)
def test_every_data_set_is_there(name):
    assert name in codes("Data")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_is_there_in_the_words_of_the_paper(claim):
    found = cells("Claims")
    assert claim.name in found
    said = found[found.index(claim.name) + 1]
    words = re.sub(r"\[.*?\]", "", said).strip(' "')
    assert words in claim.quote
    assert found[found.index(claim.name) + 2]


@pytest.mark.parametrize(
    "method", [m for m in METHODS.values() if any(m.paper)], ids=lambda m: m.name
)
def test_every_method_of_the_study_is_there(method):
    assert method.name in codes("Methods")
    said = " ".join(cells("Methods"))
    assert all(
        re.search(rf"(?<![\w-]){name}(?![\w-])", said) for name in filter(None, method.paper)
    )


def test_every_row_of_a_table_has_all_its_cells():
    width = None
    for line in PAGE.splitlines():
        if not line.startswith("|"):
            width = None
        elif width is None:
            width = line.count("|")
        else:
            assert line.count("|") == width, line
