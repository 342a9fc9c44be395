"""Bags of points, of a class that depends on how near one of them is to the origin."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rejo._docs import cited
from rejo.datasets.synthetic import Seed, checked_size

KEY = (0.0, 2.0)  # distance of the nearest point of a bag from the origin, from and to
OTHERS = (2.0, 5.0)  # distance of the others
DOUBT = (0.5, 1.5)  # between these distances the class is a matter of chance
SIZES = (3, 10)  # fewest and most points of a bag


@cited
def make_bags(
    n_bags: int = 200, *, random_state: Seed = None
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """Draw bags of points in the plane, some of them ambiguous.

    A bag has 3 to 10 points, one of which decides.  Its distance r from the origin is uniform in
    [0, 2]; the others lie between 2 and 5 away, whatever the class.  The class is 1 if r < 0.5, 0
    if r > 1.5, and in between 1 with probability 1.5 - r.  The classes are equally likely.

    The best that any classifier can do at a reject cost of w is to review the bags with r between
    0.5 + w and 1.5 - w; its risk is (w - w^2) / 2.

    Parameters
    ----------
    n_bags : int, default=200
        Number of bags.
    random_state : int, RandomState instance or None, default=None
        Seed; pass an int for reproducible output.

    Returns
    -------
    bags : ndarray of objects of shape (n_bags,)
        Each an array of shape (n_points, 2), of points in random order.
    y : ndarray of shape (n_bags,)
        Classes, 0 and 1.

    See Also
    --------
    rejo.baselines.BagEmbedding : Turn bags into rows, for any classifier.
    rejo.baselines.bags.bags_of : Make bags of a table.

    References
    ----------
    %dietterich1997

    Examples
    --------
    >>> from rejo.datasets import make_bags
    >>> bags, y = make_bags(100, random_state=0)
    >>> len(bags), bags[0].shape[1], sorted(set(y.tolist()))
    (100, 2, [0, 1])
    """
    n_bags = checked_size(n_bags, "n_bags")
    rng = check_random_state(random_state)
    bags = np.empty(n_bags, dtype=object)
    nearest = rng.uniform(*KEY, size=n_bags)
    for i, r in enumerate(nearest):
        n_others = rng.randint(SIZES[0] - 1, SIZES[1])
        others = np.sqrt(rng.uniform(OTHERS[0] ** 2, OTHERS[1] ** 2, n_others))  # even in area
        distances = rng.permutation(np.append(others, r))
        angles = rng.uniform(0, 2 * np.pi, len(distances))
        bags[i] = distances[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    y = rng.uniform(*DOUBT, size=n_bags) > nearest
    return bags, y.astype(np.int64)
