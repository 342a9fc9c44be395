"""Training inside Spark: copy this into your program, and give ``OnSpark(spark, n)`` to ``fit``.

The tasks of a barrier stage start together, and each is a rank of XGBoost, as Dask's workers are.
They read Parquet files, which all machines must see under the same names. A lost task repeats its
leg, at most three times in a row. The imports from inside rejo are no public interface, and may
change with its version; ``make spark`` tests this file.
"""

import json
from contextlib import ExitStack
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark import BarrierTaskContext

from rejo.distributed import (
    TRIES,
    Here,
    Leg,
    grow_in_legs,
    rank_shares,
    run_rank,
    tracker,
)


class OnSpark(Here):
    """Runs the passes of a fit on ``n_ranks`` tasks of Spark."""

    def __init__(self, spark, n_ranks):
        self.spread, self.n_ranks = spark.sparkContext.parallelize, n_ranks

    def each(self, function, common, items):  # such as the first pass: classes, and a sample
        items = list(items)
        done = self.spread(items, len(items)).map(lambda item: (item, function(common, item)))
        return done.collect()

    def grow(self, plan, layout, pieces, n_threads, tell):
        shares = rank_shares(pieces, self.n_ranks)

        def run(leg, tries=TRIES):
            each = [(leg, share) for share in shares]
            try:
                return self.spread(each, len(each)).barrier().mapPartitions(run_task).collect()
            except Py4JJavaError:  # Spark does not repeat such a stage
                if not tries:
                    raise
                return run(leg, tries - 1)

        return grow_in_legs(Leg(uuid4().hex, plan, layout), run, tell)


def run_task(tasks):
    context, ((leg, share),) = BarrierTaskContext.get(), tasks
    others, rank = context.getTaskInfos(), context.partitionId()
    with ExitStack() as stack:
        host = others[0].address.split(":")[0]
        here = stack.enter_context(tracker(len(others), host)) if rank == 0 else None
        args = json.loads(context.allGather(json.dumps(here))[0])
        found = run_rank(rank, leg._replace(tracker=args), share, context.cpus())
        context.barrier()  # the tracker ends last
    return [found]
