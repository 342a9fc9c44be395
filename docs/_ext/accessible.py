"""Repairs what the theme and docutils write and axe-core calls a fault, once the pages are written.

A toggle of the contents has a name, and references are no list for screen readers: docutils calls
them one and gives its items other roles. A picture leads to itself: on a phone its words are small.
"""

import re
from pathlib import Path

REPAIRS = {
    '<summary><span class="toctree-toggle"': (
        '<summary aria-label="Pages below"><span class="toctree-toggle"'
    ),
    '<div role="list" class="citation-list">': '<div class="citation-list">',
    ' role="doc-biblioentry"': "",
}


# A link around it, if any; a picture that has words for screen readers; its address.
PICTURE = re.compile(
    r"""(<a\b[^>]*>\s*)?(<img\b(?=[^>]* alt="[^"])[^>]* src="([^"]*_images/[^"]+)"[^>]*>)"""
)


def repaired(text):
    for fault, repair in REPAIRS.items():
        text = text.replace(fault, repair)
    return PICTURE.sub(with_link, text)


def with_link(found):
    before, picture, address = found.groups()
    if before or "_thumb." in address:
        return found[0]
    return f'<a href="{address}">{picture}</a>'


def finish(app, error):
    if error or app.builder.name != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        if (better := repaired(text)) != text:
            path.write_text(better, encoding="utf-8")


def setup(app):
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
