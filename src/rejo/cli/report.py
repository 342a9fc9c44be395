"""``rejo report``: one HTML page on a model, and on cases whose classes are known."""

import argparse
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, is_many
from rejo.cli._reporting import check_report
from rejo.cli.evaluate import add_cases, evaluate, write_page

HELP = "write one HTML page about a model, for cases whose classes are known"
DESCRIPTION = (
    "Decide cases whose classes are known, and write a page for everyone who has to agree on the "
    "operating point: a slider over the share of reviews, fields for prices, and the options of "
    "rejo train for each point."
)
PAGE = Path("report.html")


def add(parser: Any) -> None:
    """Declare the options."""
    where = f"page to write (default: {PAGE})"
    options.add(parser, "--output", dest="report", default=PAGE, metavar="HTML", help=where)
    add_cases(parser)


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, write."""
    arguments.dask = None
    check_report(arguments, "--output")
    if is_many(arguments):
        raise CommandError("a report is about one table: name one file")
    found = evaluate(arguments)
    write_page(arguments, found)
    print(f"Report: {arguments.report}")
