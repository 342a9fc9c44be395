"""Who reviews which case: the lowest expected cost within everybody's time."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._io import one_line
from rejo._typing import Floats, Indices, Mask
from rejo.scoring import UNSEEN, URGENCY

if TYPE_CHECKING:
    from pandas import DataFrame

LEAST = 1e-9  # of the differences in cost: what is less is a tie


class Team(NamedTuple):
    """Who reviews."""

    names: list[str]
    capacity: Indices  # (R,) cases that each can review
    decides: Mask  # (R, K) the classes that each may decide


def read_team(frame: "DataFrame", classes: Sequence[str], where: str) -> Team:
    """Read a table of reviewers: ``name``, ``cases`` or ``hours`` and ``minutes``, ``classes``.

    Examples
    --------
    >>> import pandas as pd
    >>> from rejo.book import read_team
    >>> team = pd.DataFrame({"name": ["Ann", "Bo"], "hours": ["2", "1"], "minutes": ["5", "10"]})
    >>> read_team(team, ["bad", "good"], "team.csv").capacity
    array([24,  6])
    """
    import pandas as pd

    def refuse(problem: str, remedy: str) -> RejoError:
        return RejoError(problem, parameter="reviewers", where=where, remedy=remedy)

    timed = {"hours", "minutes"} <= set(frame)
    if "name" not in frame or not (timed or "cases" in frame):
        raise refuse(
            "a table of reviewers has the columns name and cases, or name, hours and minutes",
            "cases is how many a person can review, minutes how long one takes. classes may name "
            "those that a person decides, separated by commas.",
        )
    names = [one_line(str(name)).strip() for name in frame["name"]]
    if not names or "" in names or len({name.lower() for name in names}) < len(names):
        raise refuse("each reviewer has a row with a name of their own", "Correct the column name.")
    numbers = {
        name: pd.to_numeric(frame[name], errors="coerce").to_numpy(float)
        for name in (("hours", "minutes") if timed else ("cases",))
    }
    for name, values in numbers.items():
        fine = (values >= (LEAST if name == "minutes" else 0)) & (values < 1e6)  # NaN is neither
        if not fine.all():
            text = str(frame[name].iloc[int(fine.argmin())])
            raise refuse(f"{name} of {names[fine.argmin()]} is {text!r:.30}", "Write a number.")
    capacity = numbers["hours"] * 60 / numbers["minutes"] if timed else numbers["cases"]
    own = frame["classes"].fillna("") if "classes" in frame else [""] * len(names)
    decides = np.ones((len(names), len(classes)), dtype=bool)
    for i, text in enumerate(own):
        given = [part.strip() for part in re.split("[,;|]", str(text)) if part.strip()]
        if unknown := [name for name in given if name not in classes]:
            raise refuse(
                f"the model has no class {unknown[0]!r:.40}",
                f"The classes are {', '.join(classes)[:200]}.",
            )
        if given:
            decides[i] = [name in given for name in classes]
    return Team(names, np.floor(capacity + LEAST).astype(np.intp), decides)


def share(
    cases: NDArray[Any], team: Team, accuracy: Floats, errors: Floats | None = None
) -> Indices:
    """Give each case (n,) to a reviewer, as an index, or -1.

    All are given that fit.  Among these ways, the one with the lowest expected cost is taken: a
    case that is not reviewed costs what its review is worth, and a reviewer's mistake what an error
    on its class costs.  What is reviewed whatever it is worth comes first.  A case goes to people
    who may decide both classes that it lies between; if these are not known, all classes.

    Parameters
    ----------
    cases : structured array of shape (n,)
        Of :data:`rejo.scoring.CASE`, in the order of their ranks.
    team : Team
        The reviewers.
    accuracy : ndarray of shape (n_reviewers, n_classes)
        Their shares of right answers, for each true class.
    errors : ndarray of shape (n_classes, n_classes), default=None
        What errors cost; None: 1.
    """
    n, K = len(cases), accuracy.shape[1]
    if not n or not team.capacity.any():
        return np.full(n, -1)
    wrong = np.ones(K) if errors is None else errors.sum(axis=1) / (K - 1)  # (K,) of a mistake
    chances, able = np.full((n, K), 1.0 / K), np.tile(team.decides.all(axis=1), (n, 1))
    unseen = np.isin(cases["reason"], UNSEEN)
    rows = np.flatnonzero(~unseen)
    lower, upper, forced = (cases[name][rows] for name in ("lower", "upper", "forced"))
    able[rows] = team.decides[:, lower].T & team.decides[:, upper].T
    doubt = np.nan_to_num(cases["chance"][rows], nan=0.5)
    chances[rows] = 0.0
    chances[rows, np.where(forced == lower, upper, lower)] = doubt
    chances[rows, forced] = 1.0 - doubt
    cost = chances @ ((1.0 - accuracy) * wrong).T  # (n, R)
    by_rank = np.linspace(wrong.max(), 0.0, n)
    worth = np.where(np.isnan(cases["worth"]), by_rank, cases["worth"])
    must = unseen | cases["drawn"] | (URGENCY[cases["reason"]] < 0)
    worth[must] = worth.max() + 3 * (float(np.ptp(cost)) + LEAST * wrong.max()) + by_rank[must]
    return assign(worth[:, None] - cost, able, team.capacity)


def assign(gain: Floats, able: Mask, capacity: Indices) -> Indices:
    """Return the reviewer of each case (n,), or -1, with the highest total gain of as many as fit.

    It is the transportation problem, a linear program whose corners are whole numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.book import assign
    >>> gain = np.array([[3.0, 2.0], [5.0, 1.0], [0.0, 0.0]])
    >>> assign(gain, np.ones((3, 2), dtype=bool), np.array([1, 1]))
    array([ 1,  0, -1])
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    n, R = gain.shape
    pairs = np.zeros((n, R), dtype=bool)
    # Of cases for the same people, those that fit are among the best ones of each person.
    for kind in np.unique(able, axis=0):
        rows, people = np.flatnonzero((able == kind).all(axis=1)), np.flatnonzero(kind)
        fit = int(capacity[people].sum())
        for r in people:
            pairs[rows[np.argsort(-gain[rows, r], kind="stable")[:fit]], r] = True
    case, who = np.nonzero(pairs)
    found = np.full(n, -1)
    if not len(case):
        return found
    value = gain[case, who]
    # A case more is worth a chain of exchanges, in which each reviewer takes part at most once.
    value = value - value.min() + 2 * (R + 1) * float(np.ptp(value)) + 1.0
    places = np.arange(len(case))
    taken = vstack([csr_array((np.ones(len(case)), (index, places)), shape=(size, len(case)))
                    for index, size in ((case, n), (who, R))])  # fmt: skip
    limits = np.concatenate([np.ones(n), capacity])
    best = linprog(-value / value.max(), A_ub=taken, b_ub=limits, bounds=(0, 1), method="highs-ds")
    assert best.status == 0, best.message  # to give no case is always possible
    chosen = best.x > 0.5
    found[case[chosen]] = who[chosen]
    return found
