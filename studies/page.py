"""Pages of studies: Markdown for the guide, or one HTML file with its pictures inside."""

from __future__ import annotations

import json
import os
import platform
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

MARK = "<!-- Below this line the page is made by `python -m studies pages`. -->"


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def picture(name: str, alt: str) -> str:
    """Return a picture of a page's folder."""
    return f"![{alt}]({name}.png)"


def provenance(rows: Iterable[Mapping[str, Any]], command: str, dask: str | None) -> dict[str, str]:
    """Say how rows were computed, without names of machines or folders."""
    rows = list(rows)
    codes = Counter(row["code"] for row in rows)
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {
        "Command": f"`{command}`",
        "Computing": f"{time_words(sum(row['seconds'] for row in rows))} for {len(rows):,} rows, "
        "summed over all processes",
        "Code": "; ".join(f"{code} ({n:,} rows)" for code, n in codes.most_common()),
        "Machine": f"{machine}{' and a Dask cluster' * bool(dask)}, Python "
        f"{platform.python_version()}",
    }


def time_words(seconds: float) -> str:
    """Write a time in seconds, minutes or hours."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{seconds / 3600:.1f} h"


def render(canvas: Any, dpi: int) -> bytes:
    """Return a picture as a PNG file; drawn twice, it has the same bytes."""
    file = BytesIO()
    canvas.savefig(file, format="png", dpi=dpi, metadata={"Software": None})
    return file.getvalue()


def write_page(folder: Path, title: str, text: str, canvases: Mapping[str, Any]) -> Path:
    """Write pictures and ``index.html`` with all of them inside; return the page."""
    pictures = {name: render(canvas, 110) for name, canvas in canvases.items()}
    for name, content in pictures.items():
        (folder / f"{name}.png").write_bytes(content)
    page = folder / "index.html"
    page.write_text(to_html(title, text, pictures), encoding="utf-8")
    return page


def write_guide(folder: Path, text: str, canvases: Mapping[str, Any]) -> None:
    """Write the made part of ``index.md`` below what people wrote, and the pictures it shows."""
    page = folder / "index.md"
    words = page.read_text("utf-8").partition(MARK)[0].rstrip()
    facts = json.loads((folder / "provenance.json").read_text("utf-8"))
    made = "\n".join(f"- {name}: {value}" for name, value in facts.items())
    page.write_text(f"{words}\n\n{MARK}\n\n{text}\n\n## How it was made\n\n{made}\n", "utf-8")
    for old in folder.glob("*.png"):
        if old.stem not in canvases:
            old.unlink()
    for name, canvas in canvases.items():
        (folder / f"{name}.png").write_bytes(render(canvas, 80))


def to_html(title: str, text: str, pictures: Mapping[str, bytes]) -> str:
    """Return Markdown as a page that loads nothing from elsewhere and has no script."""
    style = files("studies").joinpath("page.css").read_text("utf-8")
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(f"# {title}\n\n{text}")
    for name, content in pictures.items():
        inside = f"data:image/png;base64,{b64encode(content).decode('ascii')}"
        body = body.replace(f'src="{name}.png"', f'src="{inside}"')
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{body}</body>\n</html>\n"
    )
