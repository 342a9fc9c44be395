"""Errors that both programs and people can read, checks of single values, words that are meant."""

import re
import sys
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, NamedTuple

LONGEST_VALUE = 60  # characters of a value that a message quotes


class Setting(NamedTuple):
    """A parameter in a message: ``sep=';'`` in Python, and on a command line ``--sep ';'``."""

    name: str
    value: Any = None  # text, a number or a list; None: it is only named
    key: str | None = None  # of a dict, as in max_error_by_class['ill']=0.01

    def __str__(self) -> str:
        name = self.name if self.key is None else f"{self.name}[{self.key!r}]"
        if self.value is None:
            return name
        if isinstance(self.value, int | float):
            return f"{name}={self.value:g}"
        listed = isinstance(self.value, list)
        return f"{name}={list(map(str, self.value)) if listed else shown(self.value)}"


class Text(str):
    """A text in Python's words, made of ``parts``, some of which are settings."""

    parts: tuple[str | Setting, ...]

    def __new__(cls, *parts: str | Setting) -> "Text":
        text = super().__new__(cls, "".join(map(str, parts)))
        nested = (part.parts if isinstance(part, Text) else (part,) for part in parts)
        text.parts = tuple(part for some in nested for part in some)
        return text

    def cleaned(self, clean: Callable[[str], str]) -> "Text":
        """Return the text with what is not a setting in another form."""
        return Text(*(clean(part) if isinstance(part, str) else part for part in self.parts))

    def spelled(self, spell: Callable[[Setting], str]) -> str:
        """Return the text with its settings in other words."""
        return "".join(spell(part) if isinstance(part, Setting) else part for part in self.parts)


class RejoError(ValueError):
    """An error that the caller can fix.

    The message is ``where: problem. remedy``, which are attributes: ``where`` is the file and the
    place in it, ``problem`` what is wrong, and ``remedy`` what to do about it.  ``parameter`` is
    the parameter to change.  A :class:`Text` has settings that the command line spells as options.
    """

    def __init__(
        self,
        problem: str,
        *,
        parameter: str | None = None,
        where: str | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem, self.parameter, self.where, self.remedy = problem, parameter, where, remedy

    def __str__(self) -> str:
        return str(self.message())

    def message(self) -> Text:
        """Return the whole message."""
        place = "" if self.where is None else f"{self.where}: "
        if self.remedy is None:
            return Text(place, self.problem)
        end = "" if self.problem.endswith(".") else "."
        return Text(place, self.problem, f"{end} ", self.remedy)


def shown(value: object) -> str:
    """Quote a value in a message, cut if it is long."""
    text = str(value)
    return repr(text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}...")


def number(name: str, value: Any, low: float, high: float = inf) -> float:
    """Return a finite number between two limits, inclusive."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number, got {value!r}")
    _check_limits(name, value, low, high)
    return float(value)


def integer(name: str, value: Any, low: int, high: float = inf) -> int:
    """Return an integer between two limits, inclusive."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    _check_limits(name, value, low, high)
    return int(value)


def _check_limits(name: str, value: Any, low: float, high: float) -> None:
    if not (low <= value <= high and value != inf):
        limits = f"between {low:g} and {high:g}" if isfinite(high) else f"at least {low:g}"
        raise ValueError(f"{name} must be {limits}, got {value!r:.40}")


def choice(name: str, value: Any, options: Iterable[Any]) -> Any:
    """Return one of the options."""
    listed = list(options)
    if value not in listed:
        raise ValueError(f"{name} must be {' or '.join(map(repr, listed))}, got {value!r}")
    return value


def optional(module: str, who: str, package: str, extra: str) -> Any:
    """Import a module of an optional package; the error names the extra that brings it."""
    try:
        __import__(module)
    except ImportError:
        raise ImportError(f'{who} needs {package}: pip install "rejo[{extra}]"') from None
    return sys.modules[module]


def close_words(word: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Return up to ``n`` known words that may be meant, the closest first; often none.

    Other cases, blanks and signs, a slip, swapped letters, and one word of several are close.

    Examples
    --------
    >>> from rejo._errors import close_words
    >>> known = ["outcome", "income", "customer since"]
    >>> close_words("outcom", known), close_words("CustomerSince", known), close_words("age", known)
    (['outcome'], ['customer since'], [])
    """
    short, parts = _letters(word), _parts(word)
    found = []
    for i, name in enumerate(known):
        other = _letters(name)
        score = SequenceMatcher(None, short, other).ratio() if len(short) > 2 else 0.0
        if short == other:
            score = 2.0
        elif len(short) > 2 and (
            sorted(short) == sorted(other) or parts <= _parts(name) or _parts(name) <= parts
        ):
            score = max(score, 0.8)
        found.append((-score, i, name))
    best = min(found, default=(0.0, 0, ""))[0]
    return [name for score, _, name in sorted(found)[:n] if score <= min(-0.75, best + 0.1)]


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _parts(text: str) -> set[str]:
    return {part for part in re.split(r"[\W_]+", text.casefold()) if part}
