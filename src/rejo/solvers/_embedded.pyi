"""The compiled descents of the SVM with embedded reject; see ``_embedded.cpp``."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

sources: str  # a digest of the C++ files

class Rows:
    def __init__(self, Z: Floats, y: Floats, c: Floats, engine: str = "") -> None: ...
    def objective(
        self, v: Floats, slope: float, margin: float, reject: float, square: float, /
    ) -> tuple[float, Floats]: ...
    def minimise(
        self,
        starts: Floats,
        scale: Floats,
        slopes: Floats,
        entries: Floats,
        margin: float,
        reject: float,
        square: float,
        same: float,
        finish: float,
        tol: float,
        max_iter: int,
        n_hops: int,
        hop_sizes: Floats,
        n_draws: int,
    ) -> tuple[Floats, float, int, bool, list[tuple[float, float, float]]]: ...

def architectures() -> list[str]: ...
