"""The compiled engines; see ``_svm.cpp``."""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

sources: str  # a digest of the C++ files

def architectures() -> list[str]: ...
def in_use() -> str: ...
def use(name: str) -> None: ...
def evaluate_dense(
    X: Floats,
    basis: Floats,
    coef: Floats,
    name: str,
    gamma: float,
    degree: int,
    coef0: float,
    threads: int,
) -> Floats: ...
def evaluate_sparse(
    values: Floats,
    indices: NDArray[Any],
    indptr: NDArray[Any],
    basis_values: Floats,
    basis_indices: NDArray[Any],
    basis_indptr: NDArray[Any],
    n_features: int,
    coef: Floats,
    *kernel: Any,  # name, gamma, degree, coef0; threads
) -> Floats: ...

class Problem:
    @overload
    def __init__(
        self, X: Floats, centre: Floats, name: str, gamma: float, degree: int, coef0: float
    ) -> None: ...
    @overload
    def __init__(
        self,
        values: Floats,
        indices: NDArray[Any],
        indptr: NDArray[Any],
        n_features: int,
        name: str,
        gamma: float,
        degree: int,
        coef0: float,
    ) -> None: ...
    @overload
    def __init__(self, K: Floats) -> None: ...
    def use_threads(self, threads: int) -> None: ...
    # `single` asks for single precision, which points far from their mean do not get.
    # Each answers (u, b, primal, gap, n_iter, converged); solve_factor adds (pivots, coef).
    def solve_gram(
        self,
        single: bool,
        labels: Floats,
        caps: Floats,
        u: Floats | None,
        h: float,
        tol: float,
        max_iter: int,
        margins: Floats | None,
    ) -> tuple[Any, ...]: ...
    def factorise(self, eps: float, max_rank: int) -> bool: ...
    def rank(self) -> int: ...
    def solve_factor(
        self,
        labels: Floats,
        caps: Floats,
        u: Floats | None,
        h: float,
        tol: float,
        max_iter: int,
        margins: Floats | None,
    ) -> tuple[Any, ...]: ...
    def solve_blocks(
        self,
        single: bool,
        labels: Floats,
        caps: Floats,
        u: Floats | None,
        h: float,
        tol: float,
        max_iter: int,
        margins: Floats | None,
    ) -> tuple[Any, ...]: ...
