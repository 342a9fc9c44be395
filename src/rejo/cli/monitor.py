"""``rejo monitor``: what has changed since training, for a page, a person and cron."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path
from typing import Any

from rejo._errors import RejoError
from rejo._io import one_line
from rejo.cli import _options as options
from rejo.cli._files import check_apart, check_output, print_json, require, write_file

HELP = "watch a model by its case book, and raise an alarm if something has changed"
DESCRIPTION = (
    "Compare the cases of a book with training: errors and costs of the decided cases, by audits "
    "and outcomes; the shares of reviews and of novel cases; every column; and what the model "
    "promises. Look as often as you like: without a change, the chance of ever seeing an alarm is "
    "at most 5 %. The exit code is 6 if there is one."
)


class Alarm(RejoError):
    """Something is no longer as it was in training."""


def add(parser: Any) -> None:
    """Declare the options."""
    parser.add_argument("book", type=Path, metavar="BOOK", help="case book of rejo predict --book")
    options.add(parser, "--output", metavar="HTML", help="also write a page")
    since = "count only cases decided from this day on, such as 2026-03-01, as after an alarm"
    parser.add_argument("--since", type=_day, metavar="DAY", help=since)
    level = "chance that there is ever a false alarm (default: 0.05)"
    parser.add_argument("--level", type=options.share, default=0.05, metavar="A", help=level)
    options.add(parser, "--overwrite", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, bet, tell."""
    from rejo.book import Book, headline, monitor, monitor_page

    check_apart(arguments.book, arguments.output)
    if arguments.output is not None:
        require("jinja2", "report", "the page")
        endings = (".html", ".htm")
        check_output(arguments.output, endings, overwrite=arguments.overwrite)
    with Book(arguments.book) as book:
        found = monitor(book, level=arguments.level, since=arguments.since)
    if arguments.output is not None:
        write_file(arguments.output, monitor_page(found), overwrite=arguments.overwrite)
    if arguments.json:
        print_json(found)
    else:
        print("\n".join(_lines(found)))
        if arguments.output is not None:
            print(f"\nPage: {arguments.output}")
    if found["alarm"]:
        raise Alarm(headline(found), where=str(arguments.book))


def _lines(found: dict[str, Any]) -> list[str]:
    from rejo.book import amount, headline, listed

    lines = [f"{found['model_name']}: {headline(found)}", ""]
    for name, what in (("error", "Wrong, of the decided"), ("cost", "Cost of a decided case")):
        if name in found["audit"] and (a := found["audit"][name])["n_cases"]:
            rate, low, high, said = (
                amount(a[x], name) for x in ("rate", "low", "high", "forecast")
            )
            ends = "by outcomes" if low == high else f"{low} to {high}"
            lines.append(f"{what}: {rate} ({ends}); the model alone expects {said}.")
    width = max((len(one_line(one["title"])) for one in found["series"]), default=0)
    lines += [""] * bool(lines[-1])
    lines += [f"{'':<{width}}{'expected':>10}{'recent':>10}{'cases':>10}  evidence"]
    rows, more = listed(found)
    for one in rows:
        expected = "" if one["kind"] == "column" else amount(one["expected"], one["kind"])
        recent, verdict = amount(one["recent"], one["kind"]), f"{one['evidence']:.0%}"
        if one["alarm"]:
            verdict = f"ALARM, changed since about {one['since']}"
        elif not one["n"]:
            verdict = "not known yet"
        rates = f"{expected:>10}{recent:>10}{one['n']:>10,.0f}"
        lines.append(f"{one_line(one['title']):<{width}}{rates}  {verdict}")
    lines += [f"{more} other columns: as in training."] * bool(more)
    advice = {one["kind"]: one["do"] for one in found["series"] if one["alarm"]}
    return [*lines, *([""] * bool(advice)), *advice.values()]


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a day such as 2026-03-01") from None
