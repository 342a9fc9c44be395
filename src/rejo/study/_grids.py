"""The grids on which the methods are tuned."""

from __future__ import annotations

from typing import NamedTuple


class TuningGrid(NamedTuple):
    """Values to choose from by cross-validation."""

    Cs: tuple[float, ...]
    gammas: tuple[float, ...]
    hs: tuple[float, ...]
    units: tuple[int, ...]  # of the hidden layer of a network
    n_folds: int = 5


GRIDS = {
    "authors": TuningGrid(
        Cs=tuple(2.0**i for i in (-5, -3, -1, 1, 3)),
        gammas=tuple(2.0**i for i in (-3, -1, 1)),
        hs=(1.0, 2.0, 3.0, 4.0),
        units=(5, 10, 15, 20, 25),
    ),
    "coarse": TuningGrid(Cs=(0.125, 8.0), gammas=(0.5,), hs=(1.0,), units=(5,), n_folds=3),
}
