"""What the constraints of the classifiers' parameters have in common."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval

MOST_RUNS = 10_000  # from different starts: all of these are held in memory
HIGHEST_DEGREE = 2**31 - 1  # of a polynomial kernel: what the compiled solver can count


class FiniteInterval(Interval):
    """An interval of numbers that have a finite value as a float.

    Python's integers and NumPy's long doubles may be larger than any float, and other kinds of
    numbers, such as fractions, turn arrays that they are multiplied with into arrays of objects.
    """

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, (int, float, np.integer, np.floating)):
            return False
        try:
            return isfinite(float(value)) and bool(super().__contains__(float(value)))
        except OverflowError:
            return False
