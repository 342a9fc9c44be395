"""How likely each decision is wrong: a smooth curve through the errors out of fold.

A cut with an allowed error is the first in a ranking at which the errors among the decided cases
are few enough.  Counted errors go up and down by chance, so the first such cut is mostly one at
which they happen to be few, and new cases see more.  A curve with three parameters leaves little
to chance: the cut at which it meets the limit is exceeded about as often as not.
"""

from typing import Any

import numpy as np
from scipy.special import expit, logit

from rejo._typing import Floats

LEAST = 1e-4  # a doubt below this is as good as none
PRIOR = np.array([0.0, 1.0, 0.0])  # parameters that take the doubt at its word,
STRENGTH = np.array([0.01, 0.01, 1.0])  # and how many cases say so
STEPS = 50
MANY = 3_000.0  # cases from which counted errors say more than the curve


def chance_wrong(doubt: Floats, wrong: Any, weight: Floats | None = None) -> Floats:
    """Chance (n,) that each decision is wrong, given ``doubt`` (n,) in it, between 0 and 1.

    It is logistic in ``a + b logit(doubt) + 4 c doubt``: the posterior of an error, corrected for
    models that are too sure, or not sure enough, all over or in their surest cases.  With many
    cases, ``wrong`` itself counts more and more, as ``n / (n + 3000)``.
    """
    wrong = np.asarray(wrong, dtype=np.float64)
    w = np.ones(len(wrong)) if weight is None else weight / weight.mean()
    doubt = np.clip(doubt, LEAST, 1 - LEAST)
    basis = np.column_stack([np.ones_like(doubt), logit(doubt), 4 * doubt])
    b = PRIOR
    for _ in range(STEPS):  # Newton's method
        p = expit(basis @ b)
        gradient = basis.T @ (w * (wrong - p)) - STRENGTH * (b - PRIOR)
        hessian = (basis * (w * p * (1 - p))[:, None]).T @ basis + np.diag(STRENGTH)
        step = np.linalg.solve(hessian, gradient)
        size = float(np.abs(step).max())
        b = b + step / max(1.0, size / 2)
        if size < 1e-8:
            break
    few = MANY / (MANY + len(wrong))
    return few * expit(basis @ b) + (1 - few) * wrong
