"""Errors that both programs and people can read, checks of single values, words that are meant."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any


class RejoError(ValueError):
    """An error that the caller can fix.

    The message is ``where: problem. remedy``. The parts are attributes, so that the command line
    can name its own options where Python names parameters: ``problem`` is what is wrong,
    ``parameter`` the parameter to change, ``where`` the file and the place in it, and ``remedy``
    what to do about it.
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
        place = "" if self.where is None else f"{self.where}: "
        if self.remedy is None:
            return place + self.problem
        return f"{place}{self.problem.rstrip('.')}. {self.remedy}"


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
