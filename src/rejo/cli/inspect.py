"""``rejo inspect``: what a model file contains, without opening the model."""

import argparse
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import print_json
from rejo.cli._model_file import model_errors

HELP = "show what a model file contains"
DESCRIPTION = "Show what a model file contains and where it comes from, without opening the model."


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", help="model file")
    options.add_opening(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read the header of the file."""
    from dataclasses import asdict

    from rejo.persistence import inspect

    with model_errors(arguments):
        found = inspect(arguments.model, **options.opening(arguments))
    if arguments.json:
        print_json(asdict(found) | {"path": str(found.path)})
    else:
        print(found)
