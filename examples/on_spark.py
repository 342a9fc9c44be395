"""Training inside Spark: copy this into your program, and give ``OnSpark(spark, n)`` to ``fit``.

The tasks of a barrier stage start together, and each is a rank of XGBoost, as Dask's workers are.
They read Parquet files, which all machines must see under the same names. A lost task repeats its
leg, at most three times in a row. The imports from inside rejo are no public interface, and may
change with its version; ``make spark`` tests this file.
"""

import json
from contextlib import ExitStack
from functools import partial, reduce
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark import BarrierTaskContext

from rejo.distributed import (
    FIRST_ROUNDS,
    TRIES,
    Here,
    Leg,
    Survey,
    joined_scores,
    next_rounds,
    rank_shares,
    run_rank,
    survey_part,
    tracker,
)


class OnSpark(Here):
    """Runs the passes of a fit on ``n_ranks`` tasks of Spark."""

    def __init__(self, spark, n_ranks):
        self.spread, self.n_ranks = spark.sparkContext.parallelize, n_ranks

    def survey(self, layout, parts, tell):  # the first pass: classes, and a sample
        found = self.spread(parts, len(parts)).map(partial(survey_part, layout)).collect()
        return reduce(Survey.joined, found, Survey())

    def grow(self, plan, layout, parts, n_threads, tell):
        job, stage, rounds, lost = uuid4().hex, None, FIRST_ROUNDS, 0
        shares = [[part.piece for part in share] for share in rank_shares(parts, self.n_ranks)]
        while stage is None or not stage.finished:
            legs = [Leg(job, {}, plan, layout, share, stage, rounds) for share in shares]
            try:
                found = self.spread(legs, len(legs)).barrier().mapPartitions(run_task).collect()
            except Py4JJavaError:  # Spark does not repeat such a stage
                if (lost := lost + 1) > TRIES:
                    raise
                continue
            stage, lost = found[0].stage, 0
            rounds = rounds if plan.samples else next_rounds(rounds, found[0].seconds)
        return stage, joined_scores(found)


def run_task(legs):
    context, (leg,) = BarrierTaskContext.get(), legs
    tasks, rank = context.getTaskInfos(), context.partitionId()
    with ExitStack() as stack:
        host = tasks[0].address.split(":")[0]
        here = stack.enter_context(tracker(len(tasks), host)) if rank == 0 else None
        args = json.loads(context.allGather(json.dumps(here))[0])
        found = run_rank(rank, leg._replace(tracker=args), n_threads=context.cpus())
        context.barrier()  # the tracker ends last
    return [found]
