"""The cases of one model by week: arrays that audits and alarms read.

A truth counts for the week of its decision, from the week in which it was learned.  What is learned
first may not be like the rest: a default is known before a loan is repaid.  So an audit, or the
outcomes of one decision, count once most of those of the week are known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rejo._errors import RejoError
from rejo._typing import Floats, Indices

if TYPE_CHECKING:
    from pandas import DataFrame, Timestamp

MOST = 0.8  # of a week's audit, or outcomes, must be known; with less, quick answers weigh more
OVER = "over capacity"  # the reason of a case that is decided because it is too much to review
MOST_WEEKS = 1040  # of a book: looks at 20 years take seconds and little memory


@dataclass(frozen=True, eq=False)
class Timeline:
    """Cases (n,), in any order, and the columns of their files by week.

    ``answered`` is the week in which the truth of a decided case was learned, infinite if it was
    not; ``wrong`` and ``paid`` are 0 then.  Outcomes count for all cases, reviews for drawn ones:
    others were not reviewed at random.
    """

    n_weeks: int
    week: Indices
    decided: NDArray[np.bool_]  # whether drawn for review or not
    own: NDArray[np.bool_]  # of them, as the model would: not because the capacity was too small
    forced: Indices  # decision, by its index
    chance: Floats  # that it is wrong, 0 if the model does not say
    cost: Floats  # that is expected of the decision
    drawn: NDArray[np.bool_]
    probability: Floats  # of being drawn; 0 if nothing was drawn from
    answered: Floats
    wrong: Floats
    paid: Floats  # price of the decision, the truth being known
    novel: NDArray[np.bool_]
    truth: Indices  # class, or -1
    group: NDArray[Any]
    counts: Mapping[str, Floats]  # of cells (n_weeks, n_bins) of each column, by bin
    first: Timestamp | None = None  # day on which the weeks begin

    @property
    def rejected(self) -> NDArray[np.bool_]:
        """Cases (n,) that the model would send to review, whatever the capacity."""
        return np.asarray(~self.own & ~self.drawn)

    @cached_property
    def n_classes(self) -> int:
        """Number of decisions that occur, and of those below them."""
        return int(self.forced.max(initial=0)) + 1

    @cached_property
    def known(self) -> Floats:
        """Week (n,) from which the truth of a decided case counts; infinite if it does not yet."""
        cell = self.week * (self.n_classes + 1) + np.where(self.drawn, 0, self.forced + 1)
        found = np.full(len(cell), np.inf)
        rows = np.flatnonzero(self.decided)
        rows = rows[np.lexsort((self.answered[rows], cell[rows]))]
        _, start, size = np.unique(cell[rows], return_index=True, return_counts=True)
        most = self.answered[rows][start + np.ceil(MOST * size).astype(np.intp) - 1]
        found[rows] = np.maximum(self.answered[rows], np.repeat(most, size))
        return found

    @cached_property
    def reached(self) -> Floats:
        """Probability (n,) of being drawn and of an answer, as far as answers are in."""
        asked = np.bincount(self.week[self.drawn], minlength=self.n_weeks)
        heard = np.bincount(
            self.week[self.drawn & np.isfinite(self.answered)], minlength=self.n_weeks
        )
        return np.asarray(self.probability * (heard / np.maximum(asked, 1))[self.week])

    def day(self, week: float) -> str:
        """Return the date on which a week begins."""
        if self.first is None:
            return f"week {week + 1:.0f}"
        return f"{(self.first + np.timedelta64(7 * int(week), 'D')):%Y-%m-%d}"


def timeline(cases: DataFrame, batches: DataFrame, about: Mapping[str, Any]) -> Timeline:
    """Return the cases of one model by week.

    Parameters
    ----------
    cases, batches : DataFrame
        From :meth:`Book.cases` and :meth:`Book.batches`, of one model.
    about : dict
        What the book knows of it: ``classes``, ``prices`` (K, K + 1), ``columns``.
    """
    import pandas as pd

    if not len(cases):
        raise RejoError("the book has no case of this model", parameter="book")
    time, heard = _dates(cases["time"]), _dates(cases["answered"])
    first = time.min().normalize()
    week = _weeks(time, first)
    drawn = cases["drawn"].to_numpy(bool)
    truth = cases["outcome"].where(~drawn, cases["truth"])
    known = np.array(truth.notna())
    answered = np.where(known, np.fmax(_weeks(heard, first), week), np.inf)
    n_weeks = int(max(week.max(), answered[known].max(initial=0))) + 1
    if n_weeks > MOST_WEEKS:
        raise RejoError(
            f"the book covers {n_weeks:,} weeks, and at most {MOST_WEEKS:,} can be watched at once",
            parameter="since", remedy="Name a later day.",
        )  # fmt: skip
    classes = list(about.get("classes") or pd.unique(cases["forced"].dropna()))
    place = {str(name): k for k, name in enumerate(classes)}
    forced, true = (
        column.map(lambda name: place.get(str(name), -1)).to_numpy(np.intp)
        for column in (cases["forced"], truth)
    )
    weight = cases["weight"].to_numpy(np.float64)
    drawn = drawn & (weight >= 1)  # without a weight nobody knows what it stands for
    held, over = (
        cases["batch"][(cases["reason"] == reason).to_numpy()] for reason in ("column", OVER)
    )
    drawn &= ~cases["batch"].isin(held).to_numpy()  # or the whole file went to review
    decided = (cases["decision"].notna().to_numpy() | drawn) & (forced >= 0)
    # Of drawn cases of a file that was too large nobody knows whether the model rejects them.
    own = decided & np.where(drawn, ~cases["batch"].isin(over), cases["reason"] != OVER)
    known &= (true >= 0) & decided
    paid = np.zeros(len(cases))
    if about.get("prices") is not None:
        prices = np.asarray(about["prices"], dtype=np.float64)
        paid[known] = prices[true[known], forced[known]]
    return Timeline(
        n_weeks=n_weeks,
        week=week.astype(np.intp),
        decided=decided,
        own=own,
        forced=np.maximum(forced, 0),
        chance=np.nan_to_num(cases["chance"].to_numpy(np.float64)),
        cost=np.nan_to_num(cases["cost"].to_numpy(np.float64)),
        drawn=drawn & decided,
        probability=np.where(weight >= 1, 1 / np.where(weight >= 1, weight, 1), 0.0),
        answered=np.where(known, answered, np.inf),
        wrong=np.where(known, true != forced, False).astype(np.float64),
        paid=paid,
        novel=(cases["reason"] == "novel").to_numpy(),
        truth=np.where(known, true, -1),
        group=cases["group"].to_numpy(object),
        counts=_counts(batches, about.get("columns") or {}, first, n_weeks),
        first=first,
    )


def _dates(text: Any) -> Any:
    import pandas as pd

    try:
        return pd.to_datetime(text.where(text != "", "?"), utc=True, format="ISO8601")
    except ValueError:
        raise RejoError("a time in the case book is not one", parameter="book",
                        remedy="The file is damaged: use a copy.") from None  # fmt: skip


def _weeks(time: Any, first: Any) -> Floats:
    return np.asarray(np.floor((time - first).dt.total_seconds() / (7 * 86_400)))


def _counts(
    batches: DataFrame, columns: Mapping[str, Any], first: Any, n_weeks: int
) -> dict[str, Floats]:
    """Numbers of cells by bin, of the columns of which training knows them."""
    found = {name: np.zeros((n_weeks, len(trained_cells(one)))) for name, one in columns.items()}
    week = _weeks(_dates(batches["time"]), first).astype(int)
    for at, seen in zip(week, batches["columns"], strict=True):
        for one in seen if 0 <= at < n_weeks else ():
            cells = found.get(one["column"])
            if cells is not None and len(one.get("counts", ())) == cells.shape[1]:
                cells[at] += one["counts"]
    return {name: cells for name, cells in found.items() if cells.any()}


def trained_cells(learnt: Mapping[str, Any]) -> Floats:
    """Return the training cells of a column by bin; none if they were not counted."""
    bins = learnt.get("bins") or []
    return np.asarray(bins["counts"] if isinstance(bins, Mapping) else bins, np.float64)
