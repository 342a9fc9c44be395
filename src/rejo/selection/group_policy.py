"""The groups that a model knows, and those whose every case is reviewed."""

from typing import Any, NamedTuple

import numpy as np

from rejo._state import check_fields, each, require, storable, text
from rejo.estimators import POLICY, Judgement
from rejo.selection.rate_limits import check_group


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

    See Also
    --------
    rejo.RejectClassifierCV : Makes one if ``fit`` is given a group; it is ``policy_``.
    """

    names: list[str]
    reviewed: list[str]

    @property
    def needed(self) -> bool:
        """Whether decisions depend on the group."""
        return bool(self.reviewed)

    def _check_state(self) -> None:
        """Names that differ, and those reviewed among them."""
        check_fields(self, names=each(text()), reviewed=each(text()))
        require(len(set(self.names)) == len(self.names), self, "its groups repeat")
        require(set(self.reviewed) <= set(self.names), self, "it reviews groups it does not know")

    def apply(self, judgement: Judgement, group: Any) -> Judgement:
        """Review the cases of groups without a promise, and of unknown groups."""
        promised = {*self.names} - {*self.reviewed}
        said = check_group(group, len(judgement.decision))
        known = np.array([name in promised for name in said], dtype=bool)
        kind = np.zeros(len(known), np.int8) if judgement.kind is None else judgement.kind
        return judgement._replace(
            decision=np.where(known, judgement.decision, -1),
            kind=np.where(known, kind, np.int8(POLICY)),
        )
