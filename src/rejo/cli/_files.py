"""Output files are written whole or not at all, and nothing is replaced unasked."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


class CommandError(Exception):
    """Something the user can put right; the message is one line."""


def free_path(path: Path) -> Path:
    """Return the path, with a number added if it exists."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def check_output(output: Path, endings: tuple[str, ...], *, force: bool) -> Path:
    """Refuse a file that cannot be written, before any work is done."""
    if output.suffix.lower() not in endings:
        raise CommandError(f"--output must end in {', '.join(endings)}: {output}")
    if not output.parent.is_dir():
        raise CommandError(f"the folder of --output does not exist: {output.parent}")
    if output.is_dir():
        raise CommandError(f"--output is a folder: {output}")
    if output.exists() and not force:
        raise CommandError(f"{output} exists; --force replaces it")
    return output


def write_whole(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file beside its place and move it there, so that it is never seen half written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(part, "xb") as file:
            write(file)
        os.replace(part, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
