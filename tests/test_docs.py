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


def check(*options, script="transcripts.py"):
    command = [sys.executable, DOCS / script, "--check", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.check
def test_transcripts_are_true():
    check()


def test_pictures_of_the_decision_tree_are_up_to_date():
    check(script="which_pictures.py")


def test_the_decision_tree_says_in_words_what_its_pictures_say():
    words = re.findall(r"\w+", (DOCS / "which.md").read_text(encoding="utf-8"))
    pictures = [path.read_text(encoding="utf-8") for path in DOCS.glob("which_*.svg")]
    drawn = re.findall(r"<text [^>]*>([^<]*)</text>", "".join(pictures))
    assert len(drawn) > 30
    assert {word for line in drawn for word in re.findall(r"\w+", line)} <= {"no", *words}


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_what_the_copy_button_takes_is_python(page):
    rule = re.search(r'copybutton_prompt_text = r"(.*)"', (DOCS / "conf.py").read_text("utf-8"))[1]
    for block in re.findall(r"^```python\n(>>> .*?)^```", page.read_text("utf-8"), re.M | re.S):
        compile("\n".join(re.findall(f"^(?:{rule})(.*)", block, re.M)), str(page), "exec")


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
        return (DOCS / path).with_suffix(".md")
    if re.match(r"[a-z]+:", link):
        return None
    return page.parent / link if link else page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, anchor = link.partition("#")
        target = target_of(path, page)
        if target is None:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert not lost
