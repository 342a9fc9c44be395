"""What the methods are tuned on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Grid(NamedTuple):
    """Values to choose from by cross-validation."""

    Cs: tuple[float, ...]
    gammas: tuple[float, ...]
    hs: tuple[float, ...]
    units: tuple[int, ...]  # of the hidden layer of a network
    n_folds: int = 5


GRIDS = {
    "authors": Grid(
        Cs=tuple(2.0**i for i in (-5, -3, -1, 1, 3)),
        gammas=tuple(2.0**i for i in (-3, -1, 1)),
        hs=(1.0, 2.0, 3.0, 4.0),
        units=(5, 10, 15, 20, 25),
    ),
    "coarse": Grid(Cs=(0.125, 8.0), gammas=(0.5,), hs=(1.0,), units=(5,), n_folds=3),
}


def snake(n_costs: int, n_Cs: int) -> Iterator[tuple[int, int]]:
    """Places of costs and ``C``, the costs up for one ``C`` and down for the next.

    Each is next to the one before, a good start.
    """
    for c in range(n_Cs):
        for i in range(n_costs) if c % 2 == 0 else reversed(range(n_costs)):
            yield i, c
