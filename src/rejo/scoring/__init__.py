"""From the rows of a table to decisions: which are made, why others are reviewed, in which order.

``rejo predict``, ``rejo evaluate`` and :mod:`rejo.distributed` decide tables through this room, so
that a row gets the same decision wherever it is read.  It knows no options of commands and prints
nothing.

The modules, in reading order: ``opened`` (a model file, the columns it needs, its judgement of
rows), ``reasons`` (why a case goes to review), ``deciding`` (chunks of a table become decisions),
``ranking`` and ``spool`` (the order of the reviews, known after the last row), ``decision_frame``
(columns as people read them), ``case_counts`` and ``names`` (what became of all cases, and which
names repeat), ``tested`` (cases whose classes are known) and ``ahead`` (work in a thread).
"""

from rejo.scoring.ahead import ahead
from rejo.scoring.case_counts import CaseCounts, DoubtCounts
from rejo.scoring.deciding import DecidedRows, Decider, ScoredRows, ScoringPlan
from rejo.scoring.decision_frame import decision_frame
from rejo.scoring.names import Ids, hashes_of
from rejo.scoring.opened import Opened, open_scorer
from rejo.scoring.ranking import URGENCY, Candidates, capacity_of, ranks_of
from rejo.scoring.spool import NOTHING_DECIDED, Spool, restore, store
from rejo.scoring.tested import LabelColumns, TestedRows, fingerprint, judge_tested, row_prints

__all__ = [
    "NOTHING_DECIDED",
    "URGENCY",
    "Candidates",
    "CaseCounts",
    "DecidedRows",
    "Decider",
    "DoubtCounts",
    "Ids",
    "LabelColumns",
    "Opened",
    "ScoredRows",
    "ScoringPlan",
    "Spool",
    "TestedRows",
    "ahead",
    "capacity_of",
    "decision_frame",
    "fingerprint",
    "hashes_of",
    "judge_tested",
    "open_scorer",
    "ranks_of",
    "restore",
    "row_prints",
    "store",
]
