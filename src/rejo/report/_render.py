"""A report as one self-contained HTML file."""

import json
from base64 import b64encode
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from rejo.report._collect import OutcomeLayout
from rejo.report._format import BATCH, ratio, share, whole
from rejo.report._report import Report
from rejo.report._shared_counts import Group

SCRIPTS = (
    "numbers.js", "groups.js", "prices.js", "pictures.js", "group_pictures.js", "page.js"
)  # fmt: skip
STOPS = (0.1, 0.25, 0.5)  # shares of reviews in the tables of groups
MAX_PAIRS = 5  # classes with a price field for each pair
DASHES = ("7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4")  # those of pictures.js


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
    script, style = "\n".join(_read(name) for name in SCRIPTS), _read("report.css")
    template, safe = _template()
    html: str = template.render(
        report=report,
        numbers=report.numbers(report.setting),
        outputs=_outputs(report),
        price_fields=_price_fields(report),
        matrix=report.tallies[report.chosen].matrix,
        heat=_heat,
        stops=_stops(report),
        review_share=lambda i: share(report.tallies[i].reviewed, report.n),
        accuracy=_accuracy,
        kind=partial(_kind, report.layout),
        dash=lambda i: DASHES[(i + i // len(DASHES)) % len(DASHES)],
        batch=whole(BATCH),
        confidence=ratio(100 * report.confidence) + "\u00a0%",
        policy=_policy(script, style),
        data=safe(_embed(report.payload())),
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
    environment.filters |= {"whole": whole, "plain": _plain}
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


def _embed(payload: dict[str, Any]) -> str:
    """JSON in which labels cannot form tags, comments or line ends."""
    text = json.dumps(payload, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.translate({ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})


def _outputs(report: Report) -> list[tuple[str, str]]:
    classes, review = report.classes, ("sent to", "review")
    if not report.layout.wide:
        return [("decided", "correctly"), ("decided", "wrongly"), review]
    decided = [("decided", label) for label in classes]
    if not report.layout.between:
        return [*decided, review]
    between = [("review", f"{lower} or {upper}") for lower, upper in pairwise(classes)]
    return [column for two in zip(decided, between, strict=False) for column in two] + decided[-1:]


def _stops(report: Report) -> list[int]:
    """Points closest to some shares of reviews, for a table: each once, none without reviews."""
    reviewed = [tally.reviewed for tally in report.tallies]
    closest = [
        min(range(len(reviewed)), key=lambda i: abs(reviewed[i] - part * report.n))
        for part in STOPS
    ]
    return [i for i in dict.fromkeys(closest) if 0 < reviewed[i] < report.n]


def _accuracy(group: Group, i: int) -> str:
    decided = group.n - group.reviewed[i]
    return share(decided - group.wrong[i], decided)


def _kind(layout: OutcomeLayout, k: int, o: int) -> str:
    column = layout.columns[o]
    if column == layout.n_prices - 1:
        return "review"
    return "right" if column == layout.right(k) else "wrong"


class PriceFields(NamedTuple):
    """Fields for the prices by class; those of a column have its number, or ``error``."""

    heads: list[tuple[int | str, str, str]]  # column, what it is, class
    rows: list[list[tuple[int | str, float | None]]]  # column and price; None: a right decision
    by_pair: bool


def _price_fields(report: Report) -> PriceFields:
    """A field for each pair of classes, or one for all errors of a class if there are many."""
    layout, prices, review = report.layout, report.prices, report.layout.n_prices - 1
    wrong = [
        [price for c, price in enumerate(row[:-1]) if c != layout.right(k)]
        for k, row in enumerate(prices)
    ]
    last = (review, "review", "")
    if layout.wide and (len(prices) <= MAX_PAIRS or any(len(set(row)) > 1 for row in wrong)):
        return PriceFields(
            [*((c, "decided", label) for c, label in enumerate(report.classes)), last],
            [[(c, None if c == k else price) for c, price in enumerate(row)]
             for k, row in enumerate(prices)],
            by_pair=True,
        )  # fmt: skip
    return PriceFields(
        [("error", "any wrong decision", ""), last],
        [
            [("error", errors[0]), (review, row[-1])]
            for errors, row in zip(wrong, prices, strict=True)
        ],
        by_pair=False,
    )


def _heat(count: int, n: int) -> int:
    return (20 * count + n) // (2 * n) if n else 0


def _plain(value: float) -> str:
    """A number as an input field takes it."""
    return repr(value).removesuffix(".0")
