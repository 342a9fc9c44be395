"""Makes pages of the site from the Markdown that is written for GitHub.

- Links to files that are no pages of the site, such as ``../SECURITY.md``, lead to the repository.
- The lists of links on the start page are also the table of contents.
- The list of words in the glossary becomes one that Sphinx knows: the search finds each of them.
- The empty line that ends a doctest is not shown.
"""

import os
import re
from pathlib import Path

from docutils import nodes

LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
CODE = re.compile(r"(^```.*?^```[ ]*$)", re.M | re.S)
ENTRY = re.compile(r"^- \[([^\]]*)\]\(([\w/.-]+)\.md\)", re.M)
MADE = ("api/index", "gallery/index")  # by Sphinx
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


def contents(text):
    """Return hidden tables of contents: one for each heading with a list of pages."""
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.M)
    trees = [
        (title, [f"{name} <{page}>" for name, page in ENTRY.findall(part)])
        for title, part in zip(parts[::2], parts[1::2], strict=True)
    ]
    trees.insert(-1, ("Reference", MADE))
    return [
        "\n".join(["```{toctree}", ":hidden:", f":caption: {title}\n", *lines, "```\n"])
        for title, lines in trees
    ]


def read(app, docname, source):
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".md":
        return
    text = source[0]
    trees = contents(text) if docname == "index" else []
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
