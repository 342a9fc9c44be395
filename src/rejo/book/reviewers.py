"""How often reviewers are right, by class: few answers are shrunk towards the team.

The share ``p`` of right answers of a reviewer is drawn from a Beta(m s, (1 - m) s): ``m`` is the
team's mean and ``s`` how much alike its members are.  Both are learned from all answers to a class,
over a grid, and what is not known of them widens the intervals.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, betaln

from rejo._io import one_line, percent
from rejo._typing import Floats
from rejo.prices import quoted

if TYPE_CHECKING:
    from pandas import DataFrame

LEVEL = 0.95  # of the intervals
# Strengths s, in answers that the team counts as, evenly by 1 / sqrt(s), which is about the spread
# between reviewers.  With a floor of 2, 91 to 99 % of the intervals hold in teams of 2 to 12 with
# 10 to 100 answers each; with 4, 86 % if the best and the worst are far apart.
STRENGTHS = np.linspace(2.0**-0.5, 1000.0**-0.5, 24) ** -2
MEANS = (np.arange(99) + 1) / 100


def shrunk(right: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Estimate each reviewer's share (R,) of right answers, with its interval."""
    a, b = MEANS[:, None] * STRENGTHS, (1 - MEANS)[:, None] * STRENGTHS  # (n_means, n_strengths)
    fit = sum(
        (betaln(a + x, b + m - x) - betaln(a, b) for x, m in zip(right, n, strict=True)), 0.0 * a
    )
    weight = np.exp(fit - fit.max())
    weight /= weight.sum()
    used = weight > 1e-6 * weight.max()
    a, b, weight = a[used], b[used], weight[used] / weight[used].sum()
    own, size = a + right[:, None], a + b + n[:, None]  # (R, n_used)
    share = own / size
    mean = share @ weight
    spread = (share * (1 - share) / (size + 1) + share**2) @ weight - mean**2
    known = mean * (1 - mean) / spread - 1  # a Beta with the same mean and variance
    low, high = (
        betaincinv(known * mean, known * (1 - mean), q) for q in (0.5 - LEVEL / 2, 0.5 + LEVEL / 2)
    )
    return mean, low, high


def reviewer_table(
    answers: "DataFrame", team: Sequence[str] = (), classes: Sequence[str] = ()
) -> "DataFrame":
    """Return a row for each reviewer and class: how often they are right, and agree.

    Where a class has outcomes in the book, right is what agrees with the outcome; where it has
    none, what agrees with another reviewer.  Both may then be the one who is wrong, so accuracy is
    rather too low, unless they make the same mistakes.

    Parameters
    ----------
    answers : DataFrame
        As :meth:`rejo.book.Book.answers` gives them; the newest of a person counts.
    team, classes : sequence of str
        People and classes to list, besides those that occur.

    Returns
    -------
    table : DataFrame
        ``who``, ``class``, ``basis`` ("outcome", "agreement" or ""), ``n`` and ``right`` (by the
        basis), ``accuracy`` with ``low`` and ``high`` (95 %), ``pairs`` and ``agreed``: the answers
        to cases that another reviewer calls this class, and how many are the same.
    """
    import pandas as pd

    newest = answers.sort_values("time", kind="stable")
    reviews = newest[newest["kind"] == "review"].drop_duplicates(
        ["id", "batch", "who"], keep="last"
    )
    outcomes = newest[newest["kind"] == "outcome"].drop_duplicates(["id", "batch"], keep="last")
    counted = {
        "outcome": _compared(reviews, outcomes),
        "agreement": _compared(reviews, reviews, apart=True),
    }
    people = list(dict.fromkeys([*team, *sorted(set(reviews["who"]))]))
    labels = list(dict.fromkeys([*classes, *sorted({*reviews["class"], *outcomes["class"]})]))
    rows = []
    for label in labels:
        found = {
            basis: np.array([counts.get((who, label), (0, 0)) for who in people], dtype=float)
            for basis, counts in counted.items()
        }
        basis = next((basis for basis, some in found.items() if some.any()), "")
        n, right = found[basis or "outcome"].reshape(-1, 2).T
        accuracy = shrunk(right, n) if basis else np.full((3, len(people)), np.nan)
        for i, who in enumerate(people):
            pairs, agreed = found["agreement"][i].astype(int)
            known = (int(n[i]), int(right[i]), *(part[i] for part in accuracy))
            rows.append((who, label, basis, *known, pairs, agreed))
    names = "who class basis n right accuracy low high pairs agreed"
    return pd.DataFrame(rows, columns=names.split())


def _compared(reviews: Any, others: Any, apart: bool = False) -> dict[tuple[str, str], Any]:
    """Count the answers of each person to cases that others call a class, and those alike."""
    both = reviews.merge(others, on="id", suffixes=("", "_other"))
    batch, other = both["batch"], both["batch_other"]
    both = both[batch.isna() | other.isna() | (batch == other)]
    if apart:
        both = both[both["who"] != both["who_other"]]
    same = (both["class"] == both["class_other"]).groupby([both["who"], both["class_other"]])
    return dict(zip(same.sum().index, zip(same.count(), same.sum(), strict=True), strict=True))


def accuracies(table: "DataFrame", team: Sequence[str], classes: Sequence[str]) -> Floats:
    """Return the accuracy (n_reviewers, n_classes) of a team; where nothing is known, 1."""
    found = table.pivot(index="who", columns="class", values="accuracy")
    values = found.reindex(index=list(team), columns=list(classes)).to_numpy(dtype=float)
    return np.nan_to_num(values, nan=1.0)


def review_prices(table: "DataFrame") -> str:
    """Return prices of a review's mistakes, to add to ``--costs``, by the mean of all answers."""
    said = []
    for label, rows in table[table["basis"] != ""].groupby("class", sort=False):
        share = np.average(rows["accuracy"], weights=rows["n"])
        said.append(f"accuracy:{quoted(str(label))}={share:.3f}")
    return ",".join(said)


def reviewer_lines(table: "DataFrame") -> list[str]:
    """Say what a table of reviewers holds, a line for each reviewer and class."""
    lines = []
    for row in table.itertuples(index=False):
        said = f"{one_line(row.who) or '(no name)'}, {one_line(row[1])}: "
        if row.basis:
            count = f"right in {row.right:,} of {row.n:,}, " if row.basis == "outcome" else ""
            said += f"{count}{percent(row.accuracy)} ({percent(row.low)} to {percent(row.high)})"
        else:
            said += "no outcome and no second answer"
        agreed = f"; agrees with others in {row.agreed:,} of {row.pairs:,}" if row.pairs else ""
        lines.append(said + agreed)
    if prices := review_prices(table):
        lines.append(f"In the price of a review: --costs ...,{prices}")
    return lines
