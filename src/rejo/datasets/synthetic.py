"""The four synthetic problems of the paper."""

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rejo._errors import integer
from rejo._typing import Floats

# SyntheticI and III: the limits between the zones of alpha. Zones of one class and zones of
# transition alternate, so K classes have 2 (K - 1) cuts. NOISE is a standard deviation.
CUTS_1 = (-0.5, 0.25)
CUTS_3 = (-1.5, -1.25, -1.0, -0.5, -0.1, 0.1, 0.5, 1.1)
NOISE = 0.125

# SyntheticII and IV: mean and standard deviation of each class, the same in both coordinates, and
# the range of the uniform shift of the first two classes. SyntheticII has only these two classes.
MEANS = (-2.0, 2.0, 7.0)
DEVIATIONS = (3.0, 5.0, 2.0)
SHIFT = (0.025, 0.25)
N_SHIFTED = 2

Seed = int | RandomState | None
Sample = tuple[Floats, NDArray[np.int64]]  # points (n, 2), and their classes (n,)


def make_synthetic_1(n_samples: int = 400, *, random_state: Seed = None) -> Sample:
    """Draw SyntheticI: two plateaus and a zone of doubt between them, with hyperbolic edges.

    This and the next three are the problems of :footcite:t:`sousa2013`. The points are uniform in
    the unit square. With ``alpha = 10 (x1 - 0.5) (x2 - 0.5)`` and ``e ~ N(0, 0.125^2)``, the class
    is -1 where ``alpha + e < -0.5`` and +1 where ``alpha + e > 0.25``; in between it is +1 with
    probability ``(alpha + 0.5) / 0.75``.

    Parameters
    ----------
    n_samples : int, default=400
        Number of points.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible output.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        The points, and their classes, -1 and +1.

    Examples
    --------
    >>> from rejo.datasets import make_synthetic_1
    >>> X, y = make_synthetic_1(400, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((400, 2), [-1, 1])
    """
    X, k = _draw_zones(n_samples, random_state, CUTS_1)
    return X, 2 * k - 1


def make_synthetic_2(n_samples: int = 400, *, random_state: Seed = None) -> Sample:
    """Draw SyntheticII: two Gaussian clouds of different spread, equally likely.

    Class -1 is ``N([-2, -2], 9 I)`` and class +1 is ``N([2, 2], 25 I)``, each coordinate shifted by
    a uniform draw from ``[0.025, 0.25]``. Half of the points are in each class; class -1 gets the
    odd one. The rows are in random order.

    Parameters
    ----------
    n_samples, random_state
        As in :func:`make_synthetic_1`.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        The points, and their classes, -1 and +1.
    """
    X, k = _draw_clouds(n_samples, random_state, n_classes=2)
    return X, 2 * k - 1


def make_synthetic_3(n_samples: int = 400, *, random_state: Seed = None) -> Sample:
    """Draw SyntheticIII: SyntheticI with five ordered classes and four zones of doubt.

    Classes 1 to 5 have ``alpha + e`` below -1.5, in [-1.25, -1], in [-0.5, -0.1], in [0.1, 0.5] and
    above 1.1. In a gap ``[a, b]`` between two classes the upper one has probability
    ``(alpha - a) / (b - a)``, clipped to 0 and 1.

    Parameters
    ----------
    n_samples, random_state
        As in :func:`make_synthetic_1`.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        The points, and their classes, 1 to 5.
    """
    X, k = _draw_zones(n_samples, random_state, CUTS_3)
    return X, k + 1


def make_synthetic_4(n_samples: int = 600, *, random_state: Seed = None) -> Sample:
    """Draw SyntheticIV: SyntheticII with a third, narrower cloud, equally likely.

    Classes 1 and 2 are those of :func:`make_synthetic_2`; class 3 is ``N([7, 7], 4 I)``, not
    shifted. A third of the points is in each class; the remainder goes to the lowest.

    Parameters
    ----------
    n_samples, random_state
        As in :func:`make_synthetic_1`.

    Returns
    -------
    X, y : ndarrays of shape (n_samples, 2) and (n_samples,)
        The points, and their classes, 1 to 3.
    """
    X, k = _draw_clouds(n_samples, random_state, n_classes=3)
    return X, k + 1


def alpha_of(X: Floats) -> Floats:
    """Return the position (n,) of each point on the scale of the zones."""
    return 10 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def _draw_zones(n_samples: int, seed: Seed, cuts: tuple[float, ...]) -> Sample:
    """Draw points (n, 2) of the unit square, and their class indices (n,).

    Zone z lies below ``cuts[z]``. An even zone belongs to class z / 2. An odd zone, from a to b,
    lies between the classes (z - 1) / 2 and (z + 1) / 2: the upper one if uniform(a, b) < alpha.
    """
    n_samples = integer("n_samples", n_samples, 1)
    rng = check_random_state(seed)
    X = rng.uniform(size=(n_samples, 2))
    alpha = alpha_of(X)
    zone = np.searchsorted(cuts, alpha + rng.normal(scale=NOISE, size=n_samples))
    gap = np.minimum(zone // 2, len(cuts) // 2 - 1)
    below = rng.uniform(np.take(cuts, 2 * gap), np.take(cuts, 2 * gap + 1)) < alpha
    return X, (zone // 2 + (zone % 2) * below).astype(np.int64)


def _draw_clouds(n_samples: int, seed: Seed, n_classes: int) -> Sample:
    """Draw points (n, 2) of Gaussian clouds of equal size, and their class indices (n,)."""
    n_samples = integer("n_samples", n_samples, 1)
    rng = check_random_state(seed)
    k = rng.permutation(np.resize(np.arange(n_classes), n_samples))
    column = k[:, None]  # (n_samples, 1)
    X = np.take(MEANS, column) + np.take(DEVIATIONS, column) * rng.normal(size=(n_samples, 2))
    return X + rng.uniform(*SHIFT, size=X.shape) * (column < N_SHIFTED), k.astype(np.int64)
