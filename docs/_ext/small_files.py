"""Makes the site smaller: pictures of 256 colours, and no maps for those who debug the theme."""

from pathlib import Path

from PIL import Image

LEAST = 20_000  # bytes that are worth the work


def shrink(path):
    """Write a picture with a palette, if that is smaller: charts have few colours."""
    with Image.open(path) as picture:
        small = picture.convert("RGBA").quantize(256, Image.Quantize.FASTOCTREE, dither=0)
        trial = path.with_suffix(".small")
        small.save(trial, format="PNG", optimize=True)
    if trial.stat().st_size < path.stat().st_size:
        trial.replace(path)
    else:
        trial.unlink()


def finish(app, error):
    if error or app.builder.format != "html":
        return
    site = Path(app.outdir)
    for path in site.glob("_static/**/*.map"):
        path.unlink()
    for path in site.glob("_images/*.png"):
        if path.stat().st_size > LEAST:
            shrink(path)


def setup(app):
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
