"""The compiled walk and gradients; see ``_trees.cpp``."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

sources: str  # a digest of the C++ files

class Trees:
    def __init__(
        self,
        feature: NDArray[np.int32],
        threshold: NDArray[np.float32],
        left: NDArray[np.int32],
        missing_left: NDArray[np.bool_],
        value: NDArray[np.float32],
        category: NDArray[np.int32],
        words: NDArray[np.uint32],
        roots: NDArray[np.int64],
        target: NDArray[np.int32],
        n_features: int,
        n_targets: int,
        known: float,
    ) -> None: ...
    def add(self, X: NDArray[Any], out: Floats) -> None: ...

def gradients(
    g: NDArray[np.float32],
    k: NDArray[np.int32],
    v: NDArray[np.float32],
    costs: Floats,
    labels: Floats,
    b: Floats,
) -> tuple[NDArray[np.float32], NDArray[np.float32], Floats]: ...
