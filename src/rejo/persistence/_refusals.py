"""The one error of this room, and how other errors become it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rejo._errors import RejoError, Setting, Text
from rejo._io import printable
from rejo._state import StateError

ORIGIN = "Model files come from rejo.save or rejo train"
TRUST = "If you trust who made it"
AGAIN = "Copy the file again from where it was saved, or train the model again"


class ModelFileError(RejoError):
    """A model file cannot be trusted or read, or a model cannot be put into one.

    The message is one line: the file, what is wrong with it, and what to do.
    """


def untrusted(places: Mapping[str, str]) -> ModelFileError:
    found = "; ".join(f"{where} is a {name}" for name, where in list(places.items())[:5])
    return ModelFileError(
        f"{found}: not a trusted type" + ("" if len(places) == 1 else " each"),
        parameter="trusted",
        remedy=Text(
            f"{TRUST}, name in ",
            Setting("trusted"),
            f": {', '.join(sorted(places))}. rejo does "
            "not check these types, so they may run code, crash, or decide nonsense",
        ),
    )


def ensure(
    holds: Any, problem: str, *, remedy: str | None = None, parameter: str | None = None
) -> None:
    if not holds:
        raise ModelFileError(problem, remedy=remedy, parameter=parameter)


@contextmanager
def any_error() -> Iterator[None]:
    """Turn any error into a ModelFileError: hostile attributes can make every step fail."""
    try:
        yield
    except ModelFileError:
        raise
    except StateError as error:
        raise ModelFileError(str(error)) from None
    except Exception as error:
        kind = type(error).__name__
        raise ModelFileError(f"the model is malformed ({kind}: {first_line(error)})") from None


@contextmanager
def about(path: Path, prefix: str = "", remedy: str | None = None) -> Iterator[None]:
    """Let a ModelFileError name the file; ``remedy`` is for errors that have none of their own."""
    try:
        yield
    except ModelFileError as error:
        remedy = error.remedy or remedy
        raise ModelFileError(
            _sentence(Text(prefix, error.problem)),
            parameter=error.parameter,
            where=printable(str(path)),
            remedy=None if remedy is None else _sentence(remedy),
        ) from None


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _sentence(text: str) -> str:
    return Text(Text(text).cleaned(printable), "" if text.endswith(".") else ".")
