"""Pages that hold all they show: templates, one style, pictures inside; no scripts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from importlib.resources import files
from typing import Any


def environment(pictures: Mapping[str, bytes]) -> Any:
    """Return a Jinja environment with ``style`` and ``picture(name)``, of SVG or PNG files."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError('the page needs Jinja2: pip install "rejo[report]"') from error
    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals |= {
        "style": Markup((files("rejo.study") / "page.css").read_text("utf-8")),
        "picture": lambda name: _data_address(pictures[name]),
    }
    return made


def _data_address(file: bytes) -> str:
    kind = "png" if file.startswith(b"\x89PNG") else "svg+xml"
    return f"data:image/{kind};base64,{b64encode(file).decode('ascii')}"
