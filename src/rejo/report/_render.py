"""A report as one self-contained HTML file."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from typing import Any

from rejo.report._counts import BATCH
from rejo.report._report import HIGHEST_PRICE, LEAST_PRICE, Report

SCRIPTS = (
    "format.js", "prices.js", "numbers.js", "groups.js", "options.js", "pictures.js",
    "group_pictures.js", "page.js",
)  # fmt: skip
MAX_PAIRS = 5  # classes with a price field for each pair


def render(report: Report) -> str:
    """Return the page.

    Labels and texts are escaped.  The page allows only its own script and style, by their hashes,
    and may not fetch anything.

    Parameters
    ----------
    report : Report
        From :func:`make_report`.

    Returns
    -------
    html : str
        Write it in UTF-8.
    """
    names = [*SCRIPTS[:2], *["cases.js"] * bool(report.data["formulas"]), *SCRIPTS[2:]]
    script, style = "\n".join(map(_read, names)), _read("report.css")
    template, safe = _template()
    limits = {"batch": BATCH, "leastPrice": LEAST_PRICE, "highestPrice": HIGHEST_PRICE}
    html: str = template.render(
        report=report,
        data=report.data,
        outputs=_outputs(report),
        price_columns=[] if report.data["formulas"] else _price_columns(report),
        batch=f"{BATCH:,}",
        confidence=f"{100 * report.data['confidence']:.4g}\u00a0%",
        policy=_policy(script, style),
        embedded=safe(_embed(report.data | limits)),
        script=safe(script),
        style=safe(style),
    )
    return html


@cache
def _template() -> tuple[Any, Any]:
    """Return the template, and the type of text that it does not escape."""
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError as error:
        raise ImportError('the report needs Jinja2: pip install "rejo[report]"') from error
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["whole"] = "{:,.0f}".format
    return environment.from_string(_read("template.html")), Markup


def _read(name: str) -> str:
    return (files("rejo.report") / name).read_text("utf-8").replace("\r\n", "\n")


def _policy(script: str, style: str) -> str:
    """Content-Security-Policy: this script, this style, and nothing from anywhere."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


def _embed(data: dict[str, Any]) -> str:
    """JSON in which labels cannot form tags, comments or line ends."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def _outputs(report: Report) -> list[tuple[str, str]]:
    """Heads of the table of outcomes."""
    classes, review = report.data["classes"], ("sent to", "review")
    if not report.layout.wide:
        return [("decided", "correctly"), ("decided", "wrongly"), review]
    decided = [("decided", label) for label in classes]
    if not report.layout.between:
        return [*decided, review]
    between = [("review", f"{lower} or {upper}") for lower, upper in pairwise(classes)]
    return [column for two in zip(decided, between, strict=False) for column in two] + decided[-1:]


def _price_columns(report: Report) -> list[tuple[int | str, str, str]]:
    """Column, what it is and class of the fields for prices by class.

    There is one for each decision, or one for all errors of a class if there are many.
    """
    data, layout = report.data, report.layout
    differ = any(
        len({price for c, price in enumerate(row[:-1]) if c != k}) > 1
        for k, row in enumerate(data["prices"])
    )
    review = (layout.n_prices - 1, "review", "")
    if layout.wide and (len(data["classes"]) <= MAX_PAIRS or differ):
        return [*((c, "decided", label) for c, label in enumerate(data["classes"])), review]
    return [("error", "any wrong decision", ""), review]
