"""Work on a Dask cluster: every command and every function that uses one comes through here.

:func:`connect` opens a connection and checks it.  :func:`hand_out` gives items to whichever worker
is free, and survives workers that die.  ``together`` runs one task on each of several workers
that talk to each other, and ends all of them if one is lost.  :func:`placed` runs joblib's loops
on the cluster: cross-validation, comparison.  Dask places the work; this room knows no learner.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.cluster._connect import ClusterError, WorkerInfo, connect, placed, workers
from rejo.cluster._lost import WorkerLost
from rejo.cluster._tasks import hand_out, team_of, together

__all__ = ["ClusterError", "WorkerLost", "connect", "hand_out", "placed"]
