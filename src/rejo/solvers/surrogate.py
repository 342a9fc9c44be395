"""Convex surrogates of the loss with rejection, as sums of hinges.

A convex function of straight pieces that ends in 0 is a sum of hinges, one for each kink:

    loss_y(f) = sum_q weight_yq max(0, margin_yq - y f),      y = +-1,

so training with it, one function and one threshold, is the rejoSVM dual with a replica for
each kink: equal labels, the margins in the linear term, ``h = 0``.  Here are the tables of two
such losses, each of two kinks; ``svm`` solves them.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, logit

from rejo._typing import Floats
from rejo.solvers.svm import Problem
from rejo.solvers.types import KernelSolution


class Hinges(NamedTuple):
    """A loss for each class, and where its minimisers leave the reject region."""

    margins: Floats  # (2, Q) rows: y = -1, y = +1
    weights: Floats  # (2, Q)
    cutoffs: Floats  # (2,) ascending: reject between them


def bartlett_wegkamp(d: float) -> Hinges:
    """Hinges of ``phi_d(z) = max(0, 1 - z, 1 - a z) = [1 - z]_+ + (a - 1) [-z]_+``, ``z = y f``.

    ``a = (1 - d) / d``.  The minimiser of the expected loss is -1, 0 or 1; any cut-off from
    ``d`` to ``1 - d`` keeps the authors' bound on the risk, and 1/2 is one of them for all ``d``.
    """
    table = np.array([1.0, 0.0]), np.array([1.0, (1.0 - d) / d - 1.0])
    margins, weights = (np.tile(row, (2, 1)) for row in table)
    return Hinges(margins, weights, np.array([-0.5, 0.5]))


def double_hinge(lower: float, upper: float) -> Hinges:
    """Hinges of the double hinge for Chow's thresholds ``0 < p- <= p+ < 1`` on P(y = +1 | x).

    The loss of y = +1 is the larger of 0 and the tangents of ``log(1 + exp(-f))`` where f is the
    log-odds of p- and of p+, whose slopes are -(1 - p-) and -(1 - p+); with the entropy H,

        max(0, H(p+) - (1 - p+) f, H(p-) - (1 - p-) f)
            = (1 - p+) [H(p+) / (1 - p+) - f]_+ + (p+ - p-) [m - f]_+,

    where ``m = (H(p-) - H(p+)) / (p+ - p-)``; for y = -1 likewise, with f, p turned about,

        max(0, H(p-) + p- f, H(p+) + p+ f) = p- [H(p-) / p- + f]_+ + (p+ - p-) [f - m]_+.
    """
    entropy = [entr(p) + entr(1.0 - p) for p in (lower, upper)]
    width = upper - lower
    # As p+ approaches p- the kink approaches -H'(p), the log-odds; its weight is then 0.
    kink = (entropy[0] - entropy[1]) / width if width > 0 else logit(lower)
    margins = np.array([[entropy[0] / lower, -kink], [entropy[1] / (1.0 - upper), kink]])
    weights = np.array([[lower, width], [1.0 - upper, width]])
    return Hinges(margins, weights, logit(np.array([lower, upper])))


def chow_thresholds(loss: Floats) -> tuple[float, float]:
    """Posteriors ``p-, p+`` of the upper class between which a rejection is the cheapest.

    ``loss`` (2, 3): cost of deciding for the lower class, rejecting, deciding for the upper
    one, for either true class.  With ``[[0, r-, c-], [c+, r+, 0]]`` the lower class is the best
    below ``p- = r- / (r- + c+ - r+)``, the upper one above ``p+ = (c- - r-) / (c- - r- + r+)``.
    """
    (_, r_lower, c_lower), (c_upper, r_upper, _) = loss.tolist()
    lower = r_lower / (r_lower + c_upper - r_upper)
    upper = (c_lower - r_lower) / (c_lower - r_lower + r_upper)
    return lower, upper


def losses(hinges: Hinges, k: NDArray[np.intp], f: Floats) -> Floats:
    """Loss (n,) of the scores ``f`` for the classes ``k`` of 0 and 1."""
    z = np.where(k, f, -f)[:, None]
    each: Floats = hinges.weights[k] * np.maximum(hinges.margins[k] - z, 0.0)
    return each.sum(axis=1)


def solve(
    problem: Problem,
    k: NDArray[np.intp],  # (n,) classes 0 and 1
    weight: Floats,  # (n,) C * weight of the point
    hinges: Hinges,
    **params: Any,
) -> KernelSolution:
    """Minimise ``1/2 |g|^2 + sum_i weight_i loss_y(g(x_i) + b)``; both entries of ``b`` are it."""
    margins = hinges.margins[k]  # (n, Q)
    labels = np.where(k, 1.0, -1.0)[:, None] + np.zeros_like(margins)
    caps = weight[:, None] * hinges.weights[k]
    return problem.solve(labels, caps, margins=margins, h=0.0, **params)
