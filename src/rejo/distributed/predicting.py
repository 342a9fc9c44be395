"""Decisions on the cases of many Parquet files."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rejo import __version__
from rejo._io import without_password
from rejo.distributed._output_folder import OutputFolder
from rejo.distributed._part_tasks import Job, decide_part, parts_of, rank_part
from rejo.distributed._sent_model import packed_model
from rejo.distributed.here import in_order, place_of
from rejo.scoring import CaseCounts, Opened, ScoringPlan, capacity_of, ranks_of
from rejo.tables import HeldFile, ParquetTable, Paths, absolute, check_columns


class DecidedFolder(NamedTuple):
    """Decisions in a folder; :func:`predict` writes it.

    Parameters
    ----------
    folder : Path
        It has a Parquet file for each part, and ``_rejo.json``.
    manifest : dict
        What ``_rejo.json`` says.
    counts : CaseCounts or None
        The numbers of cases in detail; ``None`` if an earlier run had decided all of them.
    """

    folder: Path
    manifest: dict[str, Any]
    counts: CaseCounts | None


def predict(
    model: Any,
    data: Paths,
    out: str | os.PathLike[str],
    *,
    id: str | None = None,
    group: str | None = None,
    capacity: float | None = None,
    audit: float | None = None,
    why: bool | str = False,
    why_words: Mapping[str, Sequence[str]] | None = None,
    strict: bool = False,
    random_state: int = 0,
    reading: Mapping[str, Any] | None = None,
    accept: Collection[str] = (),
    overwrite: bool = False,
    client: Any = None,
    n_jobs: int = 1,
    trusted: Collection[str] = (),
    max_bytes: int | None = None,
    show_progress: bool | None = False,
) -> DecidedFolder:
    """Decide the cases of Parquet files, and write a folder of Parquet files with the decisions.

    The decisions, row for row, and the columns are those of ``rejo predict`` on a single file.  A
    file appears under its name when it is complete; ``_rejo.json`` is the last.  If this process is
    stopped, the same call goes on with the parts that are there, and ends with the same bytes.

    Parameters
    ----------
    model : str, path-like or fitted model
        A model file, or a model that can be saved as one.  Workers get it from here.
    data : str, path-like, or iterable of these
        Parquet files: a pattern such as ``"new/*.parquet"``, a folder, or URLs that fsspec opens.
        Workers must see them under the same names.
    out : str or path-like
        Folder for the decisions, which workers must share.  It is made if it does not exist.
    id : str, default=None
        Column that names the cases; by default that of training, if the files have it, else cases
        are numbered.
    group : str, default=None
        Column to promise by, if the model has such promises; by default that of training.
    capacity : int or float, default=None
        Send at most this many cases to review, or this share of them if it is a float: those most
        worth it.
    audit : float, default=None
        Also send this share of the cases to review, drawn at random.
    why : bool, "decided" or a class, default=False
        Name the features that pull a case, if it is ambiguous; also if it is decided, or decided
        as this class.
    why_words : dict of str to (str, str), default=None
        Sentences for features, as ``words`` of :func:`rejo.why`.
    strict : bool, default=False
        Stop at a row that is not as in training, instead of sending it to review.
    random_state : int, default=0
        Seed of ``audit``.
    reading : dict, default=None
        How strings in the files are read: ``decimal``, ``thousands``, ``missing`` and ``exact`` of
        :func:`rejo.tables.read_chunks`.
    accept : collection of str, default=()
        Columns that are right though they are not as in training.
    overwrite : bool, default=False
        Replace the decisions of another run in the folder.  They stay until all new ones are ready.
    client : distributed.Client or str, default=None
        A Dask cluster, or the address of its scheduler; ``None``: this machine.
    n_jobs : int, default=1
        Number of processes without a cluster.
    trusted, max_bytes
        As for :func:`rejo.persistence.load`.
    show_progress : bool, default=False
        Write rows per second and the time left on stderr; ``None``: if it is a terminal, or in a
        notebook.

    Returns
    -------
    decided : DecidedFolder
        The folder, what is in it, and the numbers of cases.

    Raises
    ------
    TableError
        If a file cannot be read or lacks a column, or if a column that matters to the model is
        not as in training, by some rows of up to 10 row groups.
    RejoError
        If the folder has other files, or an option does not suit the model.
    ClusterError
        If the cluster cannot do the work.

    Examples
    --------
    >>> import pandas as pd
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo import RejoLinear
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.distributed import predict
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> frame = pd.DataFrame(X, columns=["age", "income"])
    >>> model = RejoLinear(reject_cost=0.2).fit(frame, y)
    >>> with TemporaryDirectory() as folder:
    ...     frame.to_parquet(Path(folder, "new.parquet"), row_group_size=100)
    ...     decided = predict(model, f"{folder}/*.parquet", f"{folder}/decided")
    ...     print(len(pd.read_parquet(sorted(decided.folder.glob("*.parquet")))))
    200
    """
    opened, sent = packed_model(model, trusted, max_bytes)
    plan = ScoringPlan.of(
        opened,
        id=id,
        group=group,
        why=why,
        why_words=why_words,
        audit=audit,
        seed=random_state,
        strict=strict,
        reading=reading,
        accept=accept,
    )
    table = ParquetTable.of(absolute(data))
    has_ids = plan.id in table.columns
    if not has_ids and not plan.must_have_id:
        plan = plan._replace(id=None)
    named = [name for name in (plan.id, plan.group) if name is not None]
    where = without_password(table.files[0].path)
    check_columns(where, [*opened.encoder.kinds_, *named], table.columns)

    parts = parts_of(table.pieces)
    about = _about(opened, plan, table, capacity=capacity)
    key = sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    folder = OutputFolder(out, key, [part.name for part in parts])
    if (done := folder.finished()) is not None:
        return DecidedFolder(folder.path, done, None)
    folder.check(overwrite=overwrite)
    opened.accepted = plan.accept
    strange = opened.watch_files(table.pieces, plan.group, **plan.reading)
    counts = CaseCounts(has_ids=has_ids, strange=strange)
    if counts.held():
        raise HeldFile(strange, "Nothing was decided")

    with (
        place_of(client, n_jobs) as place,
        folder.working(overwrite=overwrite),  # once the cluster has answered
    ):
        job = Job(str(folder.path), str(folder.work), sent, plan)
        deciding = place.each(decide_part, job, ((part,) for part in parts))
        candidates = in_order(deciding, parts, "deciding", show_progress)
        limit = capacity_of(capacity, table.rows)
        ends = np.cumsum(list(map(len, candidates)), dtype=int)
        ranks = np.split(ranks_of(candidates, limit), ends)
        ranking = place.each(rank_part, job, zip(parts, ranks, strict=False))  # the last is empty
        for one in in_order(ranking, parts, "writing", show_progress):
            counts.merge(one)
    manifest = folder.finish(about | {
        "parts": [part.name for part in parts],
        "rows": [part.rows for part in parts],
        "capacity": limit,
        "counts": counts.as_json(),
    })  # fmt: skip
    return DecidedFolder(folder.path, manifest, counts)


def _about(
    opened: Opened, plan: ScoringPlan, table: ParquetTable, **options: Any
) -> dict[str, Any]:
    return {
        "rejo": __version__,
        "model": {"name": opened.found.path.name, "sha256": opened.found.payload_hash},
        "plan": plan._asdict() | options,
        "inputs": [
            {"name": os.path.basename(file.path), "bytes": file.size, "mark": file.mark}
            for file in table.files
        ],
    }
