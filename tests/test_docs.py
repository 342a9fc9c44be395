"""What scripts write into the pages is up to date, and all links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


def check(*options, script="transcripts.py"):
    command = [sys.executable, DOCS / script, "--check", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_transcripts_are_true():
    check("--quick")


def test_the_table_of_classes_is_what_the_classes_say():
    check(script="security.py")


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_slow_transcripts_are_true():
    check()


def text_of(page):
    """A page without its code."""
    return re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page):
    """Anchors of the headings of a page, as GitHub makes them."""
    found = set()
    for title in re.findall(r"^#+ (.*)", text_of(page), re.M):
        title = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", title)
        found.add(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if re.match(r"[a-z]+:", link):
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost
