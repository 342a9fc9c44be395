"""``rejo inspect``: what a model file holds, without opening the model."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from rejo.cli import _options as options


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "inspect",
        help="tell what a model file holds",
        description="Tell what a model file holds and where it comes from. The model itself is "
        "not opened.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file")
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Look into the file."""
    from dataclasses import asdict

    from rejo.persistence import inspect

    found = inspect(arguments.model)
    if not arguments.json:
        print(found)
        return
    json.dump(asdict(found) | {"path": str(found.path)}, sys.stdout, indent=1)
    print()
