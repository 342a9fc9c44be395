"""From the rows of a table to decisions: which are made, why others are reviewed, in which order.

``rejo predict``, ``rejo evaluate`` and :mod:`rejo.distributed` decide tables through this room, so
that a row gets the same decision wherever it is read.  It knows no options of commands and prints
nothing.

The modules, in reading order: ``cases`` (one record for each row: decision, reason, rank),
``model`` (a model file, the columns it needs, its judgement of rows), ``decider`` (chunks of a
table become cases), ``counts`` (what became of all cases, and which names repeat), ``audit``
(which decided cases are looked at), ``frame`` (columns as people read them), ``labelled`` (cases
whose classes are known) and ``ahead`` (work in a thread).  Cases wait on disk, because only after
the last one is the order of the reviews known.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.scoring.ahead import ahead
from rejo.scoring.audit import Audit, mix_in
from rejo.scoring.cases import (
    CANDIDATE,
    CASE,
    UNSEEN,
    URGENCY,
    WORDS,
    Cases,
    capacity_of,
    ranked,
    ranks_of,
    restored,
)
from rejo.scoring.counts import CaseCounts, DoubtCounts, hashes_of, spool
from rejo.scoring.decider import Decider, ScoringPlan
from rejo.scoring.frame import decision_frame
from rejo.scoring.labelled import (
    LabelColumns,
    LabelledCases,
    fingerprint,
    judge_labelled,
    row_prints,
)
from rejo.scoring.model import Opened, review_label

__all__: list[str] = []  # nothing here is public
