"""Decisions inside other engines, which hand frames to a function: Spark, or any other."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from rejo._errors import RejoError
from rejo.distributed._sent_model import packed_model
from rejo.scoring import (
    CASE,
    URGENCY,
    Cases,
    Decider,
    Opened,
    ScoringPlan,
    decision_frame,
    ranks_of,
)
from rejo.tables import check_columns, import_pyarrow

NUMBERS = ("chance_wrong", "sureness", "worth", "distance")  # all other columns are strings


class FrameDecider:
    """A function that decides the cases of pandas frames, such as ``mapInPandas`` of Spark calls.

    The decisions are those of ``rejo predict``, and so are the columns, but for ``rank``, which
    depends on all cases.  In its place is ``sureness``: reviews with the lowest come first.  It is
    missing for cases that are decided, -2 for those that cannot be read, and -1 for others that are
    reviewed however sure the model is.

    Parameters
    ----------
    model : str, path-like or fitted model
        A model file, or a model that can be saved as one.
    id : str, default=None
        Column that names the cases; by default that of training.
    group, why, reading, trusted, max_bytes
        As for :func:`rejo.distributed.predict`.

    Attributes
    ----------
    columns : list of str
        Columns that it needs; it ignores others.
    schema : str
        Columns that it returns and their types, as Spark's SQL writes them.

    Examples
    --------
    >>> import pandas as pd
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.distributed import FrameDecider
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> table = pd.DataFrame(X, columns=["age", "income"]).assign(case=range(200))
    >>> model = RejoLinear(reject_cost=0.2).fit(table[["age", "income"]], y)
    >>> decide = FrameDecider(model, id="case")
    >>> decide.columns
    ['age', 'income', 'case']
    >>> [len(decided) for decided in decide([table[:150], table[150:]])]
    [150, 50]
    """

    def __init__(
        self,
        model: Any,
        *,
        id: str | None = None,
        group: str | None = None,
        why: bool = False,
        reading: Mapping[str, Any] | None = None,
        trusted: Collection[str] = (),
        max_bytes: int | None = None,
    ) -> None:
        opened, self._sent = packed_model(model, trusted, max_bytes)
        named = id or opened.table.get("id")
        if named is None:
            raise RejoError(
                "the cases have no names, and frames come in any order",
                parameter="id",
                remedy="Give the column that names them.",
            )
        self._plan = ScoringPlan.of(opened, id=named, group=group, why=why, reading=reading)
        needed = [*opened.encoder.kinds_, named, self._plan.group]
        self.columns = [name for name in dict.fromkeys(needed) if name is not None]
        self.schema = ", ".join(
            f"`{name.replace('`', '``')}` {'double' if name in NUMBERS else 'string'}"
            for name in self._described(Cases(np.zeros(0, CASE)), opened).columns
        )

    def __call__(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Yield the decisions on the cases of each frame, in their order."""
        opened = self._sent.open()
        decide = Decider(opened, self._plan)
        for frame in frames:
            for cases in self._decided(frame, decide):
                yield self._described(cases, opened)

    def _decided(self, frame: Any, decide: Decider) -> Iterator[Cases]:
        """Read a frame as the file that holds it: the same rules turn its cells into ours."""
        pa = import_pyarrow()
        check_columns("the frame", self.columns, frame.columns)
        table = pa.Table.from_pandas(frame[self.columns], preserve_index=False)
        with TemporaryDirectory() as folder:
            path = Path(folder, "frame.parquet")
            pa.parquet.write_table(table, path, compression="none")
            yield from decide.read(path, str)

    def _described(self, cases: Cases, opened: Opened) -> Any:
        candidates = cases.candidates()
        sureness = np.full(len(cases.rows), np.nan)
        sureness[cases.may_review()] = URGENCY[candidates["reason"]] + candidates["sureness"]
        cases.rank(ranks_of([candidates]))
        found = decision_frame(cases, opened, id=self._plan.id, why=self._plan.why)
        return found.assign(rank=sureness).rename(columns={"rank": "sureness"})
