"""The programs behind the page for those who come from another library."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.same_job.__main__ import JOBS, LIBRARIES, estimates, rates, run, size

PAGE = Path(__file__).parent.parent / "docs" / "friends.md"


def rows(title):
    """The cells of the rows of the page whose titles end so, without these titles."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    found = [line.strip("|").split("|") for line in lines if line.startswith("|")]
    return [cells[1:] for cells in found if cells[0].strip().endswith(title)]


def numbers(cell):
    return [float(number) for number in re.findall(r"[\d.]+", cell)]


@pytest.mark.parametrize("job", JOBS)
def test_lines_and_statements_are_those_of_the_programs(job):
    counted = [list(size(job, library)) for library in LIBRARIES]
    shown = rows("lines, statements")[list(JOBS).index(job)]
    assert [numbers(cell) for cell in shown] == counted


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("job", JOBS)
def test_decisions_are_those_of_the_programs(job, library):
    if not find_spec(LIBRARIES[library]):
        pytest.skip(f"{library} is not installed")
    assert percent(rates(run(job, library).decisions, JOBS[job])) == pytest.approx(
        shown(job, library, promised=library != "scikit_fallback"), abs=1
    )


@pytest.mark.parametrize("job", ["limit", "budget"])
def test_estimates_are_those_of_rejo(job):
    assert percent(estimates(job)) == pytest.approx(shown(job, "rejo", promised=False), abs=1)


def percent(shares):
    return [100 * share for share in shares]


def shown(job, library, *, promised):
    """The two percentages of the page."""
    first, *others = rows("decided, errors among them")
    pair = others[:2] if job == "limit" else others[2:]
    cells = first if job == "first" else pair[0 if promised else 1]
    return numbers(cells[list(LIBRARIES).index(library)])
