"""Answered cases to learn from and to test on: they are no random sample, and weights undo that.

A case is answered because the model sent it to review, because an audit drew it, or because its
outcome is known by now.  Within a stratum (cases of a batch, that the model decides or reviews, of
about the same chance of an error) those answered stand for all.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np

from rejo._typing import Floats, Indices, Mask
from rejo.metrics import Interval
from rejo.prices import price_of
from rejo.scoring import hashes_of
from rejo.tables import uniform

STRATA = 8  # by chance, of the decided and of the reviewed of a batch: more have few answers
LEAST = 5  # answers in a stratum, if it can be joined with the next
ENOUGH_OF_BATCH = 20  # answers, for strata of its own: with fewer, it is joined with the next
# The weight of a case at most.  A higher one makes a few cases decide all; a lower one leaves more
# of the selection in.
MOST = 20.0
TESTED = 0.5  # of the newest half of the answered cases
ENOUGH = 30  # cases that a comparison must be worth
# Cases at the worst, or best, that could be: a rare and expensive error is often not among those
# seen (Agresti and Coull 1998).  Without them, every eighth model that is worse looks better.
UNSEEN = 2


class Comparison(NamedTuple):
    """What two models cost on the same cases."""

    n: int
    n_effective: float
    old: float  # mean cost of a case
    new: float
    saved: Interval  # by the new one

    @property
    def better(self) -> bool:
        """Whether the new one is cheaper beyond chance."""
        return self.n_effective >= ENOUGH and self.saved.low > 0


def answered_cases(cases: Any, classes: Sequence[str]) -> tuple[Any, int]:
    """Return the newest state of the cases whose class is known, with ``y`` and a ``weight``.

    Also returns how many cases are like none that was answered.  ``newest`` marks the later half.
    """
    frame = cases.drop_duplicates("id", keep="last").reset_index(drop=True)
    y = frame["truth"].map({name: i for i, name in enumerate(classes)}).fillna(-1).astype(np.intp)
    known, batch = (y >= 0).to_numpy(), frame["batch"].to_numpy()
    middle = np.median(batch[known]) if known.any() else np.inf
    newest = batch > middle if (batch[known] > middle).any() else batch >= middle
    by_model = (frame["decision"].notna() | frame["drawn"]).to_numpy()
    weight, n_unlike = np.zeros(len(frame)), 0
    for kind in (np.flatnonzero(by_model), np.flatnonzero(~by_model)):
        before = np.cumsum(np.bincount(batch[kind] + 1, known[kind]))[:-1]  # answers, by batch
        part = before[batch[kind]] // ENOUGH_OF_BATCH
        for number in np.unique(part):
            for rows in _strata(frame["chance"].to_numpy(), known, kind[part == number]):
                answered = rows[known[rows]]
                n_unlike += 0 if len(answered) else len(rows)
                weight[answered] = len(rows) / max(len(answered), 1)
    found = frame.assign(y=y, weight=weight, newest=newest)
    return found[known].reset_index(drop=True), n_unlike


def _strata(chance: Floats, known: Mask, rows: Indices) -> list[Any]:
    """Split rows by their chance of an error, so that each part has some answers if possible."""
    if not len(rows):
        return []
    rows = rows[np.argsort(np.nan_to_num(chance[rows], nan=2.0), kind="stable")]
    n_answers = np.cumsum(known[rows])
    n = int(np.clip(n_answers[-1] // LEAST, 1, STRATA))
    ends = np.searchsorted(n_answers, np.arange(1, n) / n * n_answers[-1], side="left") + 1
    return np.split(rows, ends)


def kept_apart(names: Any, newest: Mask, seed: int) -> Mask:
    """Return which of the answered cases (n,) test both models: half of the newest, by name."""
    other = ~hashes_of(names)  # the hash itself says which cases an audit has drawn
    return (uniform(other, seed) < TESTED) & newest


def copies(weight: Floats, seed: int, *, alike: bool) -> Indices:
    """Return which rows (n,) to learn from, some several times, so that they are as all cases are.

    If they must count ``alike``, as for a promise, none comes twice: those of low weight are left
    out at random instead.
    """
    capped, random = np.minimum(weight, MOST), np.random.RandomState(seed)
    share = capped / capped.max() if alike else capped
    times = np.floor(share + random.uniform(size=len(share))).astype(np.intp)
    return np.repeat(np.arange(len(weight)), times)


def compare_costs(
    y: Indices, old: Indices, new: Indices, prices: Floats, weight: Floats
) -> Comparison:
    """Compare decisions (n,), of which -1 is a review, on cases of classes ``y`` (n,).

    Prices (K, K + 1) may also be those of each case.
    """
    if not len(y):
        return Comparison(0, 0.0, nan, nan, Interval(nan, nan, nan))
    capped, n = np.minimum(weight, MOST), len(y)
    of_class = np.broadcast_to(prices, (n, *prices.shape[-2:]))
    could = of_class[np.arange(n), :, old] - of_class[np.arange(n), :, new]  # (n, K)
    could = np.stack([could.min(axis=1), could.max(axis=1)])
    paid = price_of(prices, y, old), price_of(prices, y, new)
    share, ends = capped / capped.sum(), []
    for side, value in zip((-1.0, 1.0), could, strict=True):
        i = int((side * capped * value).argmax())
        part = np.append(capped, np.repeat(capped[i], UNSEEN))
        part /= part.sum()
        less = np.append(paid[0] - paid[1], np.repeat(value[i], UNSEEN))
        mean = float(part @ less)
        ends.append(mean + side * 1.96 * float(np.sqrt((part**2 * (less - mean) ** 2).sum())))
    before, after = (float(share @ cost) for cost in paid)
    saved = Interval(before - after, *ends)
    return Comparison(n, 1.0 / float((share**2).sum()), before, after, saved)
