"""Descriptions of parameters that several functions share: written once, shown by each ``help``."""

from __future__ import annotations

import re
from collections.abc import Callable
from textwrap import indent
from typing import TypeVar

T = TypeVar("T")


def shared_parameters(**texts: str) -> Callable[[T], T]:
    r"""Return a decorator that replaces lines such as ``%y_true`` in a docstring.

    Examples
    --------
    >>> from rejo._docs import shared_parameters
    >>> described = shared_parameters(X="X : array-like\n    Points.")
    >>> @described
    ... def norm(X):
    ...     '''Length of each point.
    ...
    ...     Parameters
    ...     ----------
    ...     %X
    ...     '''
    >>> print(norm.__doc__.splitlines()[-2].strip())
    Points.
    """

    def decorate(target: T) -> T:
        if target.__doc__:  # None under `python -OO`
            target.__doc__ = re.sub(
                r"^( *)%(\w+)$",
                lambda line: indent(texts[line[2]], line[1]),
                target.__doc__,
                flags=re.MULTILINE,
            )
        return target

    return decorate
