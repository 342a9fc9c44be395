"""Makes pages of the site from the Markdown that is written for GitHub.

- Links to files that are no pages of the site, such as ``../SECURITY.md``, lead to the repository.
- A list of links to pages is also the table of contents: under a heading of the start page and of
  the guide, its pages come in that order.
- ``<!-- changelog -->`` is replaced by the changelog.
- The list of words in the glossary becomes one that Sphinx knows: the search finds each of them.
- The empty line that ends a doctest is not shown.
"""

import os
import re
from pathlib import Path

from docutils import nodes

LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(^```.*?^```[ ]*$)", re.M | re.S)
ENTRY = re.compile(r"^(?:-|\d+\.) (?:\*\*)?\[([^\]]*)\]\(([\w/.-]+)\.md\)", re.M)
CONTENTS = ("index", "guide")
# Pages that hang below another one, once scripts have made them.
CHILDREN = {"reproducing": "reproduction/index", "tables-benchmark": "table_suite/index"}
# Doors of the start page that Sphinx makes.
MADE = {"index": ("api/index", "gallery/index")}
CHANGELOG = "<!-- changelog -->"
WORD = re.compile(r"^- \*\*(.+)\*\*: (.*)\n?", re.M)


def outside_code(change, text):
    parts = CODE.split(text)
    return "".join(part if at % 2 else change(part) for at, part in enumerate(parts))


def to_repository(link, folder, app):
    """Return the address of a link that is no page and no picture of the site."""
    path, mark, anchor = link.partition("#")
    target = Path(os.path.normpath(folder / path))
    if re.match(r"[a-z]+:", link) or not path or not target.exists():
        return link
    source = Path(app.srcdir)
    inside = target.is_relative_to(source) and target.suffix in {".md", ".png", ".svg"}
    if inside and target.name != "words.md":
        return link
    place = target.relative_to(source.parent).as_posix()
    kind = "tree" if target.is_dir() else "blob"
    return f"{app.config.repository}/{kind}/main/{place}{mark}{anchor}"


def hidden(lines, caption=""):
    return "\n".join(["```{toctree}\n:hidden:", caption, *lines, "```\n"])


def contents(text):
    """Return hidden tables of contents: one for each heading with a list of pages."""
    trees = []
    for part in re.split(r"^(?=## )", text, flags=re.M):
        if pages := ENTRY.findall(part):
            title = re.match(r"## (.*)", part)
            caption = f":caption: {title[1]}\n" if title else ""
            lines = [f"{name} <{page}>" for name, page in pages]
            trees.append(hidden(lines, caption))
    return trees


def read(app, docname, source):
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    text = source[0]
    trees = contents(text) if docname in CONTENTS else []
    if docname in MADE:
        trees.insert(1, hidden(MADE[docname]))
    child = CHILDREN.get(docname)
    if child and Path(app.srcdir, f"{child}.md").exists():
        trees.append(hidden([child]))
    if CHANGELOG in text:
        text = text.replace(CHANGELOG, changelog(Path(app.srcdir)))
    if docname == "glossary":
        text = text.replace("## Words\n", "## Words\n\n```{glossary}", 1)
        text = WORD.sub(entry_of_glossary, text) + "```\n"
    text = outside_code(
        lambda part: LINK.sub(lambda found: to_repository(found[1], path.parent, app), part), text
    )
    source[0] = "\n".join([text, *trees])


def entry_of_glossary(found):
    """Words with a comma between them are one entry, each on a line of its own."""
    words = "\n".join(found[1].split(", "))
    return f"\n{words}\n  {found[2]}\n"


def changelog(docs):
    """The changelog without its head, one heading lower, with links from this folder."""
    text = (docs.parent / "CHANGELOG.md").read_text(encoding="utf-8")
    text = "## " + text.partition("\n## ")[2]
    text = re.sub(r"^(#+ )\[?([^\]\n]*)\]?", r"#\1\2", text, flags=re.M)
    return LINK.sub(lambda found: from_docs(found[1]), text)


def from_docs(link):
    if re.match(r"[a-z]+:|#", link):
        return link
    return link.removeprefix("docs/") if link.startswith("docs/") else f"../{link}"


def trim(app, doctree):
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip("\n")
        block.rawsource = text
        block.children = [nodes.Text(text)] if len(block.children) < 2 else block.children


def setup(app):
    app.add_config_value("repository", "", "env")
    app.connect("source-read", read)
    app.connect("doctree-read", trim)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
