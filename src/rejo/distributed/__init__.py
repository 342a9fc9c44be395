"""Tables of many files: training and scoring beyond the memory of one machine, or beyond one.

:func:`fit` learns from Parquet files or from a Dask DataFrame, row group by row group: in this
process, or on all workers of a cluster.  What it returns is an ordinary model.

:func:`predict` decides the cases of Parquet files and writes a folder of decisions, part by part:
workers may die, and a run that was stopped goes on where it was.  :class:`FrameDecider` decides
frames that another engine, such as Spark, hands to it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rejo.distributed.fitting import fit
    from rejo.distributed.frames import FrameDecider
    from rejo.distributed.predicting import DecidedFolder, predict

__all__ = ["DecidedFolder", "FrameDecider", "fit", "predict"]

# Imported when asked for: a worker that scores does not wait for what trains. Names that are not in
# ``__all__`` are for the commands, and for the example on Spark.
PLACES = {
    "engines": ("Here", "place_of", "rank_shares"),
    "fitting": ("fit",),
    "frames": ("FrameDecider",),
    "labelled": ("judge_labelled",),
    "learning": ("StreamedTraining", "learn_encoder", "sample_table"),
    "legs": ("FIRST_ROUNDS", "TRIES", "Leg", "joined_scores", "next_rounds", "run_rank", "tracker"),
    "out_of_core": (
        "LEARN",
        "STOP",
        "RowLayout",
        "Survey",
        "settle_layout",
        "shares_of",
        "survey_part",
    ),
    "predicting": ("DecidedFolder", "predict"),
    "row_sources": ("input_of", "of_csv"),
}


def __getattr__(name: str) -> Any:
    for place, names in PLACES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{place}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
