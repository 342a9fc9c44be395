"""The ``rejo`` command.

A module for each command: ``add`` describes it, ``run`` does the work.

``rejo demo``
    trains a classifier with a reject option on a synthetic problem, says in plain words what it
    decides and what it leaves to review, and saves a picture of the reject region
``rejo compare --demo``
    compares data replication with its rivals where the best possible risk is known
``rejo reproduce``
    computes the experiments of the paper, draws its figures and tests its claims

Exit codes: 0 done, 2 wrong usage or a file that cannot be written, 130 interrupted. Errors are one
line on stderr. Libraries are imported inside the commands, so that ``rejo --help`` answers at once.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Sequence

from rejo import __version__
from rejo.cli import compare, demo, reproduce
from rejo.cli._files import CommandError


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _print_warning
            arguments.run(arguments)
            sys.stdout.flush()
    except CommandError as error:
        print(f"rejo: error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rejo: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader had enough, as in `rejo demo | head`.
        _silence_stdout()
    except OSError as error:
        _silence_stdout()
        print(f"rejo: error: {error.strerror or error}", file=sys.stderr)
        return 2
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    parser = argparse.ArgumentParser(
        prog="rejo", description="Decide the clear cases, send the doubtful ones to review."
    )
    parser.add_argument("--version", action="version", version=f"rejo {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    for command in (demo, compare, reproduce):
        command.add(commands)
    return parser


def _silence_stdout() -> None:
    """Leave nothing that Python could fail to flush as it exits."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"rejo: warning: {message}", file=sys.stderr)
