"""Descriptions of parameters that several functions share: written once, shown by each ``help``."""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc
from textwrap import indent
from typing import TypeVar

T = TypeVar("T")


def shared_parameters(docstring: str | None) -> Callable[[T], T]:
    r"""Return a decorator that replaces lines such as ``%X, y`` by entries of a docstring.

    Examples
    --------
    >>> from rejo._docs import shared_parameters
    >>> described = shared_parameters("X : array-like\n    Points.\ny : array-like\n    Classes.")
    >>> @described
    ... def fit(X, y):
    ...     '''Fit the points.
    ...
    ...     Parameters
    ...     ----------
    ...     %X, y
    ...     '''
    >>> print(fit.__doc__.splitlines()[-2].strip())
    Classes.
    """
    entries = {
        entry[1]: entry[0].rstrip()
        for entry in re.finditer(r"^(\w+) : .*(?:\n .*)*", cleandoc(docstring or ""), re.MULTILINE)
    }

    def fill(line: re.Match[str]) -> str:
        names = line[2].split(", ")
        if not entries.keys() >= set(names):  # not a line for us
            return line[0]
        return "\n".join(indent(entries[name], line[1]) for name in names)

    def decorate(target: T) -> T:
        if target.__doc__:
            pattern = re.compile(r"^( *)%(\w+(?:, \w+)*)$", re.MULTILINE)
            target.__doc__ = pattern.sub(fill, target.__doc__)
        return target

    return decorate
