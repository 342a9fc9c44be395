"""Makes the site smaller, once it is written: a reader loads less, and it stays below 15 MB.

Pictures get a palette of 256 colours, the theme's library of icons keeps those that the pages use,
indentation goes, and so do classes that no style uses and maps for those who debug the theme.
"""

import re
from pathlib import Path

from PIL import Image

LEAST = 20_000  # bytes of a picture that are worth the work
KEPT = re.compile(r"(<(pre|script|textarea)\b.*?</\2>)", re.S)
# Of pages without pages below: the theme has a style for the others.
ENTRY = re.compile(r'(<li class="toctree-l\d">)<a class="reference internal"')
PRE = re.compile(r'<span class="pre">([^<]*)</span>')  # around each word of inline code
# name: [width, height, [other names], code, path]
ICON = re.compile(
    r"""(?:"([a-z0-9-]+)"|([a-z]\w*)):\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\[[^\]]*\])\],?"""
)


def shrink_picture(path):
    """Write a picture with a palette, if that is smaller: charts have few colours."""
    trial = path.with_suffix(".small")
    with Image.open(path) as picture:
        small = picture.convert("RGBA").quantize(256, Image.Quantize.FASTOCTREE, dither=0)
        small.save(trial, format="PNG", optimize=True)
    if trial.stat().st_size < path.stat().st_size:
        trial.replace(path)
    else:
        trial.unlink()


def shrink_page(path):
    """Take the indentation from a page; return the names of its icons."""
    text = path.read_text(encoding="utf-8")
    parts = KEPT.split(text)  # text, kept, its tag, text, ...
    parts[0::3] = [smaller(part) for part in parts[0::3]]
    del parts[2::3]
    path.write_text("".join(parts), encoding="utf-8")
    return icons(text)


def smaller(markup):
    markup = re.sub(r"\s*\n\s*", "\n", markup)
    return ENTRY.sub(r"\1<a", PRE.sub(r"\1", markup))


def icons(text):
    return set(re.findall(r"\bfa-([a-z0-9-]+)", text))


def shrink_icons(path, used):
    """Leave out the icons that no page has; a library of another form stays as it is."""

    def keep(found):
        names = {found[1] or found[2], *re.findall(r'"([a-z0-9-]+)"', found[3])}
        return found[0] if names & used else ""

    path.write_text(ICON.sub(keep, path.read_text(encoding="utf-8")), encoding="utf-8")


def finish(app, error):
    if error or app.builder.name != "html":
        return
    site = Path(app.outdir)
    for path in site.glob("_static/**/*.map"):
        path.unlink()
    for path in site.glob("_images/*.png"):
        if path.stat().st_size > LEAST:
            shrink_picture(path)
    used = set().union(*(shrink_page(path) for path in site.rglob("*.html")))
    for script in site.glob("_static/scripts/pydata*.js"):
        used |= icons(script.read_text(encoding="utf-8"))
    for script in site.glob("_static/scripts/fontawesome.js"):
        shrink_icons(script, used)


def setup(app):
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
