"""Tables in Markdown, printed row by row, and the summary of the targets."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """What was asked for, and what came out."""

    name: str
    bound: float
    values: list[float]
    at_most: bool = False
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether every value keeps to the bound."""
        return all(v <= self.bound if self.at_most else v >= self.bound for v in self.values)

    def __str__(self) -> str:
        low, high = number(min(self.values)), number(max(self.values))
        found = low if low == high else f"{low} to {high}"
        sign = "at most" if self.at_most else "at least"
        word = "met" if self.met else "NOT MET"
        return f"{self.name}: {found}{self.unit}, asked {sign} {self.bound:g}{self.unit}: {word}"


class Report:
    """Prints what it is given at once; keeps the targets for the end."""

    def __init__(self) -> None:
        self.targets: list[Target] = []
        self._widths: list[int] = []

    def section(self, title: str, note: str = "") -> None:
        """Print a heading."""
        print(f"\n## {title}\n" + (f"\n{note}\n" if note else ""), flush=True)

    def header(self, *columns: str) -> None:
        """Begin a table; the first column is wide."""
        self._widths = [max(len(c), 46 if i == 0 else 6) for i, c in enumerate(columns)]
        self.row(*columns)
        rules = [
            "-" * (w + 2) if i == 0 else "-" * (w + 1) + ":" for i, w in enumerate(self._widths)
        ]
        print("|" + "|".join(rules) + "|", flush=True)

    def row(self, *cells: str) -> None:
        """Print a row of the table begun last."""
        padded = [
            c.ljust(w) if i == 0 else c.rjust(w)
            for i, (c, w) in enumerate(zip(cells, self._widths, strict=True))
        ]
        print("| " + " | ".join(padded) + " |", flush=True)

    def judge(self, target: Target) -> str:
        """Keep a target for the summary; return "yes" or "NO" for a cell."""
        self.targets.append(target)
        return yes(target.met)

    def summary(self) -> None:
        """Print a line for each target."""
        self.section("Summary")
        for target in self.targets:
            print(f"- {target}")
        met = sum(target.met for target in self.targets)
        print(f"\n{met} of {len(self.targets)} targets met.", flush=True)


def yes(met: bool) -> str:
    return "yes" if met else "NO"


def number(value: float) -> str:
    """Three digits, without an exponent for what is usual here."""
    if value == 0:
        return "0"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def times(value: float) -> str:
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"


def milliseconds(seconds: float) -> str:
    return number(1e3 * seconds)
