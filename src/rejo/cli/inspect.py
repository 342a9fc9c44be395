"""``rejo inspect``: what a model file contains, without opening the model."""

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, print_json, write_file
from rejo.cli._model_file import model_errors

HELP = "show what a model file contains"
DESCRIPTION = (
    "Show what a model file contains and where it comes from, without opening the model. With "
    "--card, also write what people should know of it: a model card."
)


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", help="model file")
    card = "also write a model card in Markdown, such as card.md; this opens the model"
    parser.add_argument("--card", type=Path, metavar="FILE", help=card)
    book = "case book that the model decides into: the card says how it is watched"
    parser.add_argument("--book", type=Path, metavar="DB", help=book)
    options.add(parser, "--overwrite")
    options.add_opening(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read the header of the file."""
    from dataclasses import asdict

    from rejo.persistence import inspect

    check_apart(arguments.model, arguments.card, arguments.book)
    if arguments.book is not None and arguments.card is None:
        raise CommandError("--book is for the card: add --card FILE")
    if arguments.card is not None:
        check_output(arguments.card, (".md",), overwrite=arguments.overwrite, option="--card")
    with model_errors(arguments):
        found = inspect(arguments.model, **options.opening(arguments))
    if arguments.card is not None:
        _write_card(arguments)
    if arguments.json:
        print_json(asdict(found) | {"path": str(found.path)})
    else:
        print(found)


def _write_card(arguments: argparse.Namespace) -> None:
    from rejo.book import Book, model_card
    from rejo.persistence import open_file
    from rejo.scoring import Opened

    with model_errors(arguments):
        opened = Opened(*open_file(arguments.model, **options.opening(arguments)))
    with nullcontext() if arguments.book is None else Book(arguments.book) as book:
        card = model_card(opened, book)
    write_file(arguments.card, card, overwrite=arguments.overwrite)
