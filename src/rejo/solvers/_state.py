"""What a model file may hold of the solvers' results; see :mod:`rejo._state`."""

from typing import Any

import numpy as np

from rejo._state import (
    MOST_FEATURES,
    SHARED,
    check_fields,
    count,
    declare,
    either,
    flags,
    floats,
    indices,
    is_tree,
    number,
    require,
)
from rejo.solvers._linear_streams import Stream
from rejo.solvers.boosted_trees import BoostedTrees
from rejo.solvers.mlp import Moments

LARGEST_VALUE = 3.4e38  # of a number in single precision
MOST_SCORES = 1 << 14  # that trees may add to
STEPS = count(0, 1 << 53)


def _stream(stream: Any) -> None:
    memory = either(floats("n"), floats("n", "n"))
    known = {"memory": memory, "pace": number(0.0), "n_seen": STEPS, "n_steps": STEPS}
    check_fields(stream, x=floats("n"), mean=floats("n"), **known)


def _moments(moments: Any) -> None:
    check_fields(moments, first=floats("n"), second=floats("n", low=0.0), n_steps=STEPS)


def _trees(trees: Any) -> None:
    """Every case comes to a leaf within its tree, and sets of categories within their words."""
    n, roots = len(trees.feature), trees.roots
    fine = len(roots) > 0 and n > 0 and roots[0] == 0 and bool((np.diff(roots) > 0).all())
    require(fine, trees, "its trees do not stand one after the other")
    end = np.append(roots[1:], n)[np.searchsorted(roots, np.arange(n), side="right") - 1]
    place, split = np.arange(n), trees.feature >= 0
    ahead = (trees.left > place) & (trees.left + 1 < end)
    require((ahead | ~split).all(), trees, "a split leads out of its tree")
    left = trees.left[split]
    require(is_tree(left, left + 1, n), trees, SHARED)
    known = trees.feature < trees.n_features
    require(known.all(), trees, "a split is by a feature that there is not")
    at = trees.category[trees.category >= 0].astype(np.int64)
    m = len(trees.words)
    fine = (at < m).all() and (at + trees.words[np.minimum(at, m - 1)] < m).all() if m else True
    require(fine and (m or not len(at)), trees, "a set of categories is cut off")


declare(Stream, {}, _stream, saved=True)
declare(Moments, {}, _moments, saved=True)
declare(
    BoostedTrees,
    {
        "feature": indices("N", low=-1, dtype="int32"),
        "threshold": floats("N", low=-np.inf, high=np.inf, dtype="float32"),
        "left": indices("N", below="N", dtype="int32"),
        "missing_left": flags("N"),
        "value": floats("N", low=-LARGEST_VALUE, high=LARGEST_VALUE, dtype="float32"),
        "cover": floats("N", low=0.0, high=LARGEST_VALUE, dtype="float32"),
        "category": indices("N", low=-1, dtype="int32"),
        "words": indices(None, dtype="uint32"),
        "roots": indices("T", below="N", dtype="int64"),
        "target": indices("T", below=MOST_SCORES, dtype="int32"),
        "n_features": count(1, MOST_FEATURES + 1),
    },
    _trees,
    saved=True,
)
