"""What scripts write into the pages is up to date, and all links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md"), *DOCS.rglob("*.md")]
REPOSITORY = "https://github.com/rejo-project/rejo/"
SITE = "https://rejo-project.github.io/rejo/"
FILES = (
    f"{REPOSITORY}blob/main/",
    f"{REPOSITORY}tree/main/",
    "https://raw.githubusercontent.com/rejo-project/rejo/main/",
)


@pytest.mark.check
def test_transcripts_are_true():
    command = [sys.executable, DOCS / "transcripts.py", "--check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


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


def target_of(link, page):
    """The file of ours that a link leads to, also on GitHub or on the site; None for others'."""
    for folder in FILES:
        if link.startswith(folder):
            return ROOT / link.removeprefix(folder)
    if link.startswith(SITE):
        path = link.removeprefix(SITE) or "index.html"
        if path.startswith("gallery/"):  # made from the examples
            name = Path(path).with_suffix(".py").name
            return ROOT / "examples" / name.replace("index.py", "GALLERY_HEADER.rst")
        return (DOCS / path).with_suffix(".md") if not path.startswith("api/") else None
    if re.match(r"[a-z]+:", link):
        return None
    return page.parent / link if link else page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    lost = []
    for link in re.findall(r"(?:\]\(|^\[\w+\]: )([^)\s]+)", text_of(page), re.M):
        path, _, anchor = link.partition("#")
        target = target_of(path, page)
        if target is None:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost
