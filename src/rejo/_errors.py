"""Errors that both programs and people can read, and parameters that have new names."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


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


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Refuse the old names of parameters with an error that gives the new ones.

    Examples
    --------
    >>> from rejo._errors import renamed
    >>> @renamed(jobs="n_jobs")
    ... def work(n_jobs=None):
    ...     return n_jobs
    >>> work(jobs=2)
    Traceback (most recent call last):
    TypeError: work() has no parameter 'jobs': it is now called 'n_jobs'.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for old in names.keys() & kwargs.keys():
                raise TypeError(
                    f"{function.__qualname__}() has no parameter {old!r}: it is now called "
                    f"{names[old]!r}."
                )
            return function(*args, **kwargs)

        return call

    return decorate
