"""The ``rejo`` command: from a table to decisions, and a queue for reviewers.

Each command is a module with ``HELP``, ``DESCRIPTION``, ``add(parser)``, which declares its
options, and ``run(arguments)``, which does the work.

``rejo demo``
    run all the following steps on a data set that comes with scikit-learn
``rejo look``
    show what a table holds, before training
``rejo train``
    train a model on a labelled table, for a review budget, a maximum error rate or prices
``rejo predict``
    decide new cases, and rank the ones to review
``rejo evaluate``
    test a model on cases whose classes are known
``rejo report``
    write a page about a model, for everyone who has to agree on its operating point
``rejo answers``
    add what reviewers said, and what became of cases, to a case book
``rejo book``
    count what a case book holds
``rejo monitor``
    say by the case book what has changed since training, on a page too
``rejo update``
    train a model again with the answers of a case book
``rejo inspect``
    show what a model file contains
``rejo compare``
    compare data replication with its rivals on a table

Exit codes: 0 success, 1 a bug in rejo, 2 wrong usage or a file that cannot be read or written, 3
bad data, 4 a bad model file, 5 a target that cannot be reached, or a new model that is no better, 6
something is not as in training (a column, so that no case is decided, or an alarm of the monitor),
130 interrupted. Errors are one
line on stderr. What a command prints never costs it its work: if the reader of stdout leaves, as in
``rejo train ... | head -1``, or stdout or stderr is closed, all files are written, and the code is
0; if the disk of stdout is full, they are written too, and the code is 2. Libraries are imported
inside the commands, so that ``rejo --help`` is quick.
"""

import argparse
import errno
import os
import shlex
import sys
import warnings
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from rejo import __version__
from rejo._errors import close_words
from rejo._io import one_line, without_password
from rejo.cli._files import CommandError, warn
from rejo.cli._options import explain
from rejo.cli._streams import steady_streams

__all__ = ["COMMANDS", "build_parser", "main"]

COMMANDS = (
    "demo", "look", "train", "predict", "evaluate", "report", "answers", "book", "monitor",
    "update", "inspect", "compare",
)  # fmt: skip
# By name: the modules of these errors are imported only by the commands that raise them.
CODES = {
    "HeldFile": 6, "Alarm": 6, "RejoError": 2, "TableError": 3, "ModelFileError": 4,
    "TargetUnattainable": 5, "NotBetter": 5,
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    with steady_streams() as out:
        words = sys.argv[1:] if argv is None else list(argv)
        if sorted(words) == ["--verbose", "--version"]:
            arguments = argparse.Namespace(run=_show_versions)
        else:
            arguments = build_parser(words[0] if words else "").parse_args(words)
        arguments.command = shlex.join(["rejo", *map(without_password, words)])
        out.stops = not _writes_files(arguments)
        try:
            with warnings.catch_warnings():
                warnings.showwarning = lambda message, *_, **__: warn(str(message))
                out.flush()  # nothing to do if the result would go to a closed stream
                arguments.run(arguments)
                out.flush()
        except KeyboardInterrupt:
            print("rejo: interrupted", file=sys.stderr)
            return 130
        except Exception as error:
            if out.stops and isinstance(error, BrokenPipeError):
                return 0  # the reader has stopped, as in `rejo predict | head`
            if os.environ.get("REJO_TRACEBACK"):
                raise
            printed = error is out.lost or getattr(arguments, "output", "") == "-"
            if printed and isinstance(error, OSError) and error.errno == errno.ENOSPC:
                error.filename = error.filename or "standard output"
            return _print_error(error)
        if out.failed:
            reason = out.lost and out.lost.strerror
            return _print_error(CommandError(f"standard output: {reason}; all files are complete"))
    return 0


def _writes_files(arguments: argparse.Namespace) -> bool:
    """Return whether the command has work to save besides what it prints."""
    given = (getattr(arguments, name, None) for name in ("output", "report", "queue"))
    paths = [Path(path) for path in given if path is not None and str(path) != "-"]
    return any(path.is_file() or path.is_dir() or not path.exists() for path in paths)


def _show_versions(arguments: argparse.Namespace) -> None:
    from rejo.versions import show_versions

    show_versions()


def build_parser(only: str = "") -> argparse.ArgumentParser:
    """Declare the commands and their options; if one is named, ``only`` that one."""
    parser = _Parser(
        prog="rejo", description="Decide the clear cases, and send the doubtful ones to review."
    )
    version = "show the version; with --verbose also the engine, the system and all packages"
    parser.add_argument("--version", action="version", version=f"rejo {__version__}", help=version)
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in [only] if only in COMMANDS else COMMANDS:
        command: Any = import_module(f"rejo.cli.{name}")
        added = commands.add_parser(name, help=command.HELP, description=command.DESCRIPTION)
        command.add(added)
        added.set_defaults(run=command.run)
    return parser


class _Parser(argparse.ArgumentParser):
    """Options in full, errors on one line like all others."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        if self._subparsers and args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = _hint(args[0], COMMANDS) or f"choose from {', '.join(COMMANDS)}"
            self.error(f"argument COMMAND: invalid choice: {args[0]!r} ({hint})")
        found, unknown = super().parse_known_args(args, namespace)
        if unknown and not self._subparsers:
            hint = _hint(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint and f' ({hint})'}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if message.endswith("expected one argument"):
            message += "; a value with a dash before it is written with ="
        self.exit(2, f"rejo: error: {one_line(message)}; see {self.prog} --help\n")


def _hint(word: str, known: Iterable[str]) -> str:
    close = close_words(word, known, 1)
    return f"did you mean {close[0]}?" if close else ""


def _print_error(error: Exception) -> int:
    ours = [kind.__name__ for kind in type(error).__mro__ if kind.__module__.startswith("rejo.")]
    code = next((CODES[name] for name in ours if name in CODES), 1)
    message = explain(error)
    if code == 1 and isinstance(error, OSError):
        code, reason = 2, error.strerror or message
        message = f"{error.filename}: {reason}" if error.filename else reason
    elif code == 1 and isinstance(error, ImportError) and "pip install" in message:
        code = 2
    elif code == 1:
        message = (
            f"this is a bug in rejo: {type(error).__name__}: {message}; please report it "
            "(REJO_TRACEBACK=1 shows where it happened)"
        )
    print(f"rejo: error: {one_line(message)}", file=sys.stderr)
    return code
