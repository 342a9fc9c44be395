"""What the constraints of the classifiers' parameters have in common."""

from math import isfinite
from numbers import Real
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


class ReviewPrice(FiniteInterval):
    """Prices of a review where an error costs 1, up to 1/2 or below 1, with words for both.

    Between two classes, a guess is wrong at most half of the time; among more it may be wrong more
    often, which a classifier by posteriors knows.
    """

    def __init__(self, highest: float) -> None:
        super().__init__(Real, 0.0, highest, closed="right" if highest == 0.5 else "neither")

    def __str__(self) -> str:
        also = "for amounts of money use cost_of"
        if self.right == 0.5:
            also = "above 0.5 a guess between two classes costs less than a review"
        return f"{super().__str__()} (what a review costs, divided by what an error costs; {also})"
