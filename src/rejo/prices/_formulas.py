"""Prices that depend on the case: formulas of numbers and columns, such as ``0.6*amount+50``."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

import numpy as np

from rejo._errors import RejoError
from rejo._typing import Floats

#: Highest price that is taken.
HIGHEST = 1e12
MOST_CHARACTERS = 1_000
DEEPEST = 40  # parentheses inside each other
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?![\w.])"
    r'|(?P<name>[^\W\d]\w*)|"(?P<quoted>(?:[^"]|"")+)"|(?P<sign>[-+*(),])'
)
OPERATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


class Column(NamedTuple):
    """A column of the table, in a formula."""

    name: str


class Formula(NamedTuple):
    """A formula as people write it, and its steps in the order of a stack machine."""

    text: str
    steps: tuple[float | Column | str, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that it names, each once."""
        return list(dict.fromkeys(s.name for s in self.steps if isinstance(s, Column)))

    def values(self, columns: Mapping[str, Floats]) -> Any:
        """Return its value for each case, from the columns (n_samples,) that it names."""
        stack: list[Any] = []
        for step in self.steps:
            if isinstance(step, str):
                last = stack.pop()
                with np.errstate(over="ignore", invalid="ignore"):  # not finite: no price
                    stack.append(OPERATIONS[step](stack.pop(), last))
            else:
                stack.append(columns[step.name] if isinstance(step, Column) else step)
        return stack[0]


@lru_cache(maxsize=256)  # they are read again for each block of cases
def read_formula(text: str) -> Formula:
    """Return a formula from its text: numbers, columns, ``+ - *``, ``min``, ``max``, parentheses.

    A column whose name is not one word of letters, digits and ``_`` is written in double quotes.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.prices._formulas import read_formula
    >>> formula = read_formula('min(0.6*amount + 50, 9000) - "paid back"')
    >>> formula.columns
    ['amount', 'paid back']
    >>> formula.values({"amount": np.array([100.0, 20000.0]), "paid back": np.array([10.0, 0.0])})
    array([ 100., 9000.])
    """
    if len(text) > MOST_CHARACTERS:
        _fail(text, MOST_CHARACTERS, f"is longer than {MOST_CHARACTERS:,} characters")
    reader = _Reader(text)
    steps = tuple(reader.sum(0))
    if reader.kind:
        _fail(text, reader.place, f"{reader.word!r} is not expected here")
    return Formula(text.strip(), steps)


class _Reader:
    """Reads a formula from left to right, one token ahead."""

    def __init__(self, text: str) -> None:
        self.text, self.end = text, 0
        self.take()

    def take(self) -> tuple[str, str]:
        """Return the token at hand, and go to the next; its kind is empty at the end."""
        taken = (getattr(self, "kind", ""), getattr(self, "word", ""))
        rest = self.text[self.end :]
        self.place = self.end + len(rest) - len(rest.lstrip())
        self.kind = self.word = ""
        if rest.strip():
            found = _TOKEN.match(self.text, self.place)
            if found is None:
                _fail(
                    self.text, self.place, f"{self.text[self.place :].split()[0]!r:.40} is {_NOT}"
                )
            self.kind, self.end = str(found.lastgroup), found.end()
            self.word = found[self.kind]
        return taken

    def sum(self, depth: int) -> Iterator[float | Column | str]:
        yield from self.product(depth)
        while self.kind == "sign" and self.word in "+-":
            _, sign = self.take()
            yield from self.product(depth)
            yield sign

    def product(self, depth: int) -> Iterator[float | Column | str]:
        yield from self.term(depth)
        while (self.kind, self.word) == ("sign", "*"):
            self.take()
            yield from self.term(depth)
            yield "*"

    def term(self, depth: int) -> Iterator[float | Column | str]:
        place = self.place
        if depth > DEEPEST:
            _fail(self.text, place, f"there are more than {DEEPEST} parentheses inside each other")
        kind, word = self.take()
        if kind == "number":
            if not float(word) <= HIGHEST:
                _fail(self.text, place, f"{word:.40} is above {HIGHEST:g}")
            yield float(word)
        elif kind == "quoted":
            yield Column(word.replace('""', '"'))
        elif kind == "name" and (self.kind, self.word) == ("sign", "("):
            if word not in ("min", "max"):
                _fail(self.text, place, f"there is no function {word!r}; there are min and max")
            self.take()
            yield from self.sum(depth + 1)
            while (self.kind, self.word) == ("sign", ","):
                self.take()
                yield from self.sum(depth + 1)
                yield word
            self.close(place)
        elif kind == "name":
            yield Column(word)
        elif word == "(":
            yield from self.sum(depth + 1)
            self.close(place)
        elif word == "-":
            yield 0.0
            yield from self.term(depth + 1)
            yield "-"
        else:
            _fail(
                self.text, place, f"{word!r} is not expected here" if word else "it ends too soon"
            )

    def close(self, opened: int) -> None:
        place = self.place
        if self.take() != ("sign", ")"):
            _fail(self.text, place, f"the parenthesis of character {opened + 1} is not closed")


_NOT = "not a number, a column, or one of + - * ( ) , min max"


def _fail(text: str, place: int, problem: str) -> NoReturn:
    raise RejoError(
        f"the formula {text.strip()!r:.80}, character {place + 1}: {problem}",
        parameter="cost_of",
        remedy="Write it like 0.6*amount+50; a column with blanks in double quotes.",
    )
