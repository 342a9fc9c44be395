"""``rejo book``: what a case book holds, in numbers."""

import argparse
from pathlib import Path
from typing import Any

from rejo._io import one_line
from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, print_json

HELP = "count the cases of a case book: decided, reviewed, answered, overridden"
DESCRIPTION = (
    "Count what a case book holds by model, reviewer, class and month: cases that were decided, "
    "reviewed, drawn for an audit or answered; answers of reviewers that differ from what the "
    "model suggested (overridden); decisions that turned out wrong."
)
MOST = 24  # rows of a part that are printed, the last ones; all are in --json


def add(parser: Any) -> None:
    """Declare the options."""
    parser.add_argument("book", type=Path, metavar="BOOK", help="case book of rejo predict --book")
    cases = "also write a table with a row for each case, such as cases.xlsx"
    options.add(parser, "--output", type=str, metavar="FILE", help=cases)
    options.add(parser, "--overwrite", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Count, write, tell."""
    from rejo.book import COUNTED, Book, count_cases

    if arguments.output == "-":
        raise CommandError("-o must be a file: the counts are printed")
    check_apart(arguments.book, arguments.output)
    with Book(arguments.book) as book:
        cases, answers, models = book.cases(), book.answers(), book.models()
    names = {key: model["name"] for key, model in models.items()}
    found = count_cases(cases, answers, names)
    if arguments.output is not None:
        _write(cases, arguments)
    if arguments.json:
        parts = {name: part.to_dict("records") for name, part in found.items()}
        print_json({"book": str(arguments.book), "cases": len(cases), "answers": len(answers)}
                   | {f"by_{name}": rows for name, rows in parts.items()})  # fmt: skip
        return
    lines: list[tuple[str, ...]] = [("", *COUNTED)]
    for name, part in found.items():
        if len(part):
            lines.append((f"{name} (the last {MOST})" if len(part) > MOST else name, *[""] * 7))
            rows = part[["value", *COUNTED]][-MOST:].itertuples(index=False, name=None)
            lines += [(f"  {one_line(str(value))}", *(f"{n:,}" for n in counts))
                      for value, *counts in rows]  # fmt: skip
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for first, *rest in lines:
        cells = (cell.rjust(width + 2) for cell, width in zip(rest, widths[1:], strict=True))
        print(f"{first.ljust(widths[0])}{''.join(cells)}".rstrip())


def _write(cases: Any, arguments: argparse.Namespace) -> None:
    from rejo.cli.predict import check_table_output
    from rejo.tables import TableWriter

    check_table_output(arguments.output, overwrite=arguments.overwrite)
    with TableWriter(arguments.output, overwrite=arguments.overwrite) as writer:
        writer.write(cases)
