"""What a command says and writes: errors, warnings, JSON, and files that are never half written."""

import json
import os
import sys
from argparse import Namespace
from math import isfinite
from pathlib import Path
from typing import Any

from rejo._errors import RejoError
from rejo._io import WholeFile, one_line, without_password


class CommandError(RejoError):
    """Something the user can put right; the message is one line."""


def warn(text: str) -> None:
    """Print a warning on stderr."""
    print(f"rejo: warning: {one_line(text)}", file=sys.stderr)


def print_json(found: Any) -> None:
    """Print a result as JSON, which has no NaN and no infinity: they become null."""
    json.dump(_finite(found), sys.stdout, indent=1)
    print()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def require(module: str, extra: str, what: str) -> None:
    """Check that an optional package is installed, before the work that needs it."""
    try:
        __import__(module)
    except ImportError:
        raise CommandError(f'{what} needs {module}: pip install "rejo[{extra}]"') from None


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
        raise exists(output)
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
            name = without_password(str(path))
            raise CommandError(f"{name} is named twice: these must be different files")
        seen.add(place)


def make_folder(folder: Path) -> None:
    """Create the folder of ``--output``."""
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"--output must be a folder: {folder}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot write to {folder}: {error.strerror or error}") from error


def write_file(path: Path, content: str | bytes, *, overwrite: bool = True) -> None:
    """Write a whole file; text is encoded in UTF-8."""
    try:
        with WholeFile(path, overwrite=overwrite) as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
    except FileExistsError:
        raise exists(path) from None
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror or error}") from error


def exists(path: Path | str) -> CommandError:
    """Return the error for a file that would be replaced unasked."""
    return CommandError(f"{path} already exists; --overwrite replaces it")


def is_many(arguments: Namespace) -> bool:
    """Return whether DATA is read row group by row group, as several files are."""
    from rejo.tables import pieces

    if arguments.data == "-":
        return False
    if pieces.is_many(arguments.data) or arguments.dask is not None:
        return True
    output = getattr(arguments, "output", "")
    folder = output.endswith(("/", os.sep)) or os.path.isdir(output)
    return folder and arguments.data.lower().endswith(pieces.ENDINGS)


def check_folder(arguments: Namespace) -> None:
    """Refuse an output for several files that is not a folder, or not yet one."""
    output = arguments.output
    _, ending = os.path.splitext(output)
    if output == "-" or os.path.isfile(output) or (ending and not os.path.isdir(output)):
        raise CommandError(
            f"the decisions on {arguments.data} go to a folder: give one with -o, such as -o "
            "decided/"
        )
