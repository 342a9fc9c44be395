"""From the rows of a table to decisions: which are made, why others are reviewed, in which order.

``rejo predict``, ``rejo evaluate`` and :mod:`rejo.distributed` decide tables through this room, so
that a row gets the same decision wherever it is read.  It knows no options of commands and prints
nothing.

The modules, in reading order: ``cases`` (one record for each row: decision, reason, rank),
``model`` (a model file, the columns it needs, its judgement of rows), ``decider`` (chunks of a
table become cases), ``spool`` (cases on disk until all can be ranked), ``frame`` (columns as people
read them), ``counts`` (what became of all cases, and which names repeat), ``labelled`` (cases whose
classes are known) and ``ahead`` (work in a thread).
"""

from rejo.scoring.ahead import ahead
from rejo.scoring.cases import (
    CANDIDATE,
    CASE,
    URGENCY,
    Cases,
    capacity_of,
    ranked,
    ranks_of,
    restored,
)
from rejo.scoring.counts import CaseCounts, DoubtCounts
from rejo.scoring.decider import Decider, ScoringPlan
from rejo.scoring.frame import decision_frame
from rejo.scoring.labelled import (
    LabelColumns,
    LabelledCases,
    fingerprint,
    judge_labelled,
    row_prints,
)
from rejo.scoring.model import Opened, open_scorer
from rejo.scoring.spool import Spool

__all__ = [
    "CANDIDATE",
    "CASE",
    "URGENCY",
    "CaseCounts",
    "Cases",
    "Decider",
    "DoubtCounts",
    "LabelColumns",
    "LabelledCases",
    "Opened",
    "ScoringPlan",
    "Spool",
    "ahead",
    "capacity_of",
    "decision_frame",
    "fingerprint",
    "judge_labelled",
    "open_scorer",
    "ranked",
    "ranks_of",
    "restored",
    "row_prints",
]
