"""Tables of many files: training and scoring beyond the memory of one machine, or beyond one.

:func:`fit` learns from Parquet files, row group by row group: in this process, or on all workers of
a cluster.  What it returns is an ordinary model.

:func:`predict` decides the cases of Parquet files and writes a folder of decisions, part by part:
workers may die, and a run that was stopped goes on where it was.  :class:`FrameDecider` decides
frames that another engine, such as Spark, hands to it.
"""

# ruff: noqa: F401 (names for the commands, and for the example on Spark)

from rejo.distributed.fitting import fit
from rejo.distributed.frames import FrameDecider
from rejo.distributed.here import Here, place_of
from rejo.distributed.labelled import judge_files
from rejo.distributed.learning import StreamedTraining, sample_table
from rejo.distributed.legs import TRIES, Leg, grow_in_legs, rank_shares, run_rank, tracker
from rejo.distributed.out_of_core import LEARN, STOP, RowLayout, settle_layout, shares_of
from rejo.distributed.predicting import DecidedFolder, predict
from rejo.distributed.row_sources import input_of, of_csv

__all__ = ["DecidedFolder", "FrameDecider", "fit", "predict"]
