"""``rejo --version``, and with ``--verbose`` what a bug report needs."""

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

IN_FULL = ["--verbose", "--version"]


def add(parser: argparse.ArgumentParser, version: str) -> None:
    """Declare the options."""
    parser.add_argument("--version", action="version", version=version, help="show the version")
    parser.add_argument(
        "--verbose",
        action=_OnlyWithVersion,
        help="with --version: also the engine, the system and all packages, for bug reports",
    )


def asked_in_full(words: Sequence[str]) -> argparse.Namespace | None:
    """Return arguments that print everything if the words ask for it, in any order."""
    return argparse.Namespace(run=_run) if sorted(words) == IN_FULL else None


def _run(arguments: argparse.Namespace) -> None:
    from rejo.versions import show_versions

    show_versions()


class _OnlyWithVersion(argparse.Action):
    """Alone or before a command, the option would do nothing."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        parser.error("argument --verbose: goes with --version, or after a command that has it")
