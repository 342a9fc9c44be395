"""Output files are written whole or not at all, and nothing is replaced unasked."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from rejo._io import WholeFile, one_line


class CommandError(Exception):
    """Something the user can put right; the message is one line."""


def warn(text: str) -> None:
    """Say something the user should know, on stderr."""
    print(f"rejo: warning: {one_line(text)}", file=sys.stderr)


def free_path(path: Path) -> Path:
    """Return the path, with a number added if it exists."""
    free, number = path, 1
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def check_output(
    output: Path, endings: tuple[str, ...] = (), *, overwrite: bool, option: str = "--output"
) -> Path:
    """Refuse a file that cannot be written, before any work is done."""
    if endings and output.suffix.lower() not in endings:
        raise CommandError(f"{option} must end in {', '.join(endings)}: {output}")
    if not output.parent.is_dir():
        raise CommandError(f"the folder of {option} does not exist: {output.parent}")
    if output.is_dir():
        raise CommandError(f"{option} is a folder: {output}")
    if output.exists() and not output.is_file():
        return output  # a pipe or a device
    if output.exists() and not overwrite:
        raise CommandError(f"{output} exists; --overwrite replaces it")
    if not os.access(Path(os.path.realpath(output)).parent, os.W_OK):
        raise CommandError(f"cannot write to the folder of {option}: {output.parent}")
    return output


def check_apart(*paths: str | Path | None) -> None:
    """Refuse a file that would be both read and written, or written twice."""
    seen = set()
    for path in paths:
        if path is None or str(path) == "-":
            continue
        place = os.path.realpath(path)
        if place in seen:
            raise CommandError(f"{path} is named twice: these must be different files")
        seen.add(place)


def write_whole(path: Path, write: Callable[[BinaryIO], object], *, overwrite: bool = True) -> None:
    """Write a file beside its place and move it there, so that it is never seen half written."""
    try:
        with WholeFile(path, overwrite=overwrite) as file:
            write(file)
    except FileExistsError:
        raise CommandError(f"{path} exists; --overwrite replaces it") from None
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str, *, overwrite: bool = True) -> None:
    """Write a text file whole."""
    write_whole(path, lambda file: file.write(text.encode("utf-8")), overwrite=overwrite)
