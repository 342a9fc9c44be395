"""What is done with each group: its cut, or a review of every case."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rejo._state import check_fields, each, maybe, require, storable, text
from rejo._state import floats as floats_like
from rejo._typing import Floats
from rejo.estimators import POLICY, Judgement, must_review
from rejo.selection.ranked import Ranked
from rejo.selection.rate_limits import check_group

DIFFERENT = (
    "group_thresholds=True treats groups differently: of two cases that are alike, one may be "
    "decided and the other reviewed because of its group. In many countries the law forbids this "
    "for groups such as sex, age or origin. Ask before you use it."
)


class UnequalTreatment(UserWarning):
    """Groups have thresholds of their own.

    :class:`~rejo.RejectClassifierCV` warns of it with ``group_thresholds=True``: to treat groups
    differently may be against the law, even if it makes their error rates equal.
    """


@storable
class GroupPolicy(NamedTuple):
    """The groups that a model knows, and how it treats them.

    Cases of a group that it does not know are reviewed: nothing is promised for them.

    Parameters
    ----------
    names : list of str
        All groups in training.
    reviewed : list of str
        Groups whose every case is reviewed: nothing can be promised for them.
    merged : list of str
        Groups that were too small, and count as one.
    cuts : ndarray of shape (n_groups,) or None
        Cut of each group in the ranking; None: the same for all.

    See Also
    --------
    rejo.RejectClassifierCV : Makes one if a limit is by group; it is ``policy_``.
    """

    names: list[str]
    reviewed: list[str]
    merged: list[str]
    cuts: Floats | None

    @property
    def needed(self) -> bool:
        """Whether decisions depend on the group."""
        return bool(self.reviewed) or self.cuts is not None

    def _check_state(self) -> None:
        """Names that differ, those reviewed and merged among them, and a cut for each."""
        texts = each(text())
        check_fields(self, names=texts, reviewed=texts, merged=texts)
        check_fields(self, cuts=maybe(floats_like(len(self.names))))
        require(len(set(self.names)) == len(self.names), self, "its groups repeat")
        some = {*self.reviewed, *self.merged}
        require(some <= set(self.names), self, "it names groups that it does not know")

    def apply(self, judgement: Judgement, ranked: Ranked, group: Any) -> Judgement:
        """Judge cases of known groups by the cut of each, and review all others."""
        said = check_group(group, len(judgement.decision))
        place = {name: i for i, name in enumerate(self.names)}
        index = np.array([place.get(name, -1) for name in said], dtype=np.intp)
        known = np.append([name not in self.reviewed for name in self.names], False)[index]
        decision = judgement.decision
        if self.cuts is not None:
            cut = np.append(self.cuts, 0.0)[index]
            decision = (
                ranked._replace(forced=judgement.forced).decisions(cut[None])[0].astype(np.intp)
            )
        kind = np.zeros(len(said), np.int8) if judgement.kind is None else judgement.kind
        return judgement._replace(
            decision=np.where(known & ~(must_review(judgement)), decision, -1),
            kind=np.where(known, kind, np.int8(POLICY)),
        )
