"""Descriptions of parameters that several docstrings share."""

import re
from collections.abc import Callable
from inspect import cleandoc
from textwrap import indent
from typing import TypeVar

T = TypeVar("T")


def shared_parameters(*docstrings: str | None) -> Callable[[T], T]:
    """Return a decorator that replaces lines such as ``%X, y`` by entries of other docstrings."""
    entries = {
        entry[1]: entry[0].rstrip()
        for docstring in docstrings
        for entry in re.finditer(r"^(\w+) : .*(?:\n .*)*", cleandoc(docstring or ""), re.MULTILINE)
    }

    def fill(line: re.Match[str]) -> str:
        names = line[2].split(", ")
        if not entries.keys() >= set(names):
            return line[0]  # filled by another decorator
        return "\n".join(indent(entries[name], line[1]) for name in names)

    def decorate(target: T) -> T:
        if target.__doc__:
            target.__doc__ = re.sub(
                r"^( *)%(\w+(?:, \w+)*)$", fill, target.__doc__, flags=re.MULTILINE
            )
        return target

    return decorate
