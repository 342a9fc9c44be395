"""``rejo predict``: decisions on new cases, and the order in which to review the others."""

import argparse
import sys
from pathlib import Path
from typing import Any

from rejo._io import percent, printable, progress
from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, print_json, warn
from rejo.cli._model_file import Opened, open_model

HELP = "decide new cases, and rank the ones to review"
DESCRIPTION = (
    "Decide the cases in a table, which may be larger than memory. For each case the output has "
    "its id, the decision, the two classes it lies between, what a review of it is worth (for "
    "models by data replication, the distance to the nearest boundary) and, if it goes to review, "
    "its rank: 1 comes first."
)
ENOUGH = 50  # cases needed to judge the share of reviews
ROWS, NUMBERS = 50_000, 1 << 23  # in memory at a time, at most


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", "data")
    file = "CSV file, or Parquet if it ends in .parquet; - is standard output (default)"
    options.add(parser, "--output", type=str, default="-", metavar="FILE", help=file)
    options.add(parser, "--overwrite")
    names = "column that names the cases (default: the same as in training)"
    options.add(parser, "--id", help=names)
    options.add_reading(parser)
    options.add_opening(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, rank, write."""
    check_apart(arguments.model, arguments.data, arguments.output)
    output = Path(arguments.output)
    if arguments.output != "-":
        check_output(output, overwrite=arguments.overwrite)
    if arguments.json and arguments.output == "-":
        raise CommandError("--json describes the output file: give one with -o FILE")
    if output.suffix.lower() in (".parquet", ".pq"):
        from rejo.tables.errors import import_pyarrow

        import_pyarrow(f"writing {output}")
    opened = open_model(arguments)
    if arguments.id in opened.encoder.kinds_:
        raise CommandError(f"--id {arguments.id!r} is a feature of {arguments.model}")
    from rejo.cli._spool import Spool
    from rejo.tables import TableWriter, read_chunks

    # A column named here must exist; the one named in training may be absent.
    named = arguments.id or opened.table.get("id")
    text = [] if named is None else [named]
    optional = [] if arguments.id else text
    chunks = read_chunks(
        arguments.data, opened.encoder, text=text, optional=optional,
        rows=max(1, min(ROWS, NUMBERS // opened.found.most_columns)),
        **options.reading(arguments),
    )  # fmt: skip
    features = list(opened.encoder.kinds_)
    column = None
    with Spool() as spool:
        for chunk in _counted(chunks):
            column = named if named in chunk.columns else None
            names = None if column is None else chunk[column].fillna("").astype(str).tolist()
            if len(chunk):
                spool.add(names, opened.judge(chunk[features]).judgement)
        with TableWriter(arguments.output, overwrite=arguments.overwrite) as writer:
            for part in progress(spool.parts(), spool.n_parts, "writing"):
                writer.write(_frame(part, column, opened))
    n, n_rejected = spool.n_cases, spool.n_rejected
    _warn_of_share(opened, n, n_rejected)
    if arguments.json:
        counts = {"n_cases": n, "decided": n - n_rejected, "review": n_rejected}
        print_json({"output": str(arguments.output), **counts})
    elif arguments.output != "-":  # or the decisions themselves are printed
        share = f" ({percent(n_rejected / n)})" if n else ""
        print(
            f"{n:,} cases: {n - n_rejected:,} decided, {n_rejected:,}{share} to "
            f"{printable(opened.review_label or 'review')}, ranked. Decisions: {arguments.output}"
        )


def _warn_of_share(opened: Opened, n: int, n_rejected: int) -> None:
    """Other units or another kind of cases often show in the share that goes to review."""
    if n < ENOUGH:
        return
    rate = opened.expect(n, 0.999).get("rejection_rate")
    share = n_rejected / n
    if rate is not None and not rate.low - 1e-9 <= share <= rate.high + 1e-9:
        warn(
            f"{percent(share)} of the cases go to review; for cases like those in training, expect "
            f"{percent(rate.low)} to {percent(rate.high)}. Are the columns in the same units as in "
            "training?"
        )


def _counted(chunks: Any) -> Any:
    """Pass the chunks on; on a terminal, show how many cases have been decided."""
    done = 0
    show = sys.stderr.isatty()
    try:
        for chunk in chunks:
            yield chunk
            done += len(chunk)
            if show:
                sys.stderr.write(f"\rdeciding: {done:,} cases \033[K")
                sys.stderr.flush()
    finally:
        if show:
            sys.stderr.write("\r\033[K")


def _frame(part: Any, column: str | None, opened: Opened) -> Any:
    """Rows of the output."""
    import numpy as np
    import pandas as pd

    # The review label comes last, where the index -1 finds it.
    labels = np.array([*opened.classes, opened.review_label], dtype=object)
    cases = part.cases
    found = {name: labels[cases[name]] for name in ("decision", "lower", "upper")}
    if np.isnan(cases["worth"]).all():
        found["distance"] = _six_digits(cases["distance"])
    else:
        found["worth"] = _six_digits(cases["worth"])
    found["rank"] = pd.arrays.IntegerArray(part.rank, part.rank == 0)
    if column is None:
        ids = {"row": np.arange(part.first + 1, part.first + len(cases) + 1)}
    else:
        name = f"id {column}" if column in found else column
        ids = {name: np.array(part.names, dtype=object)}
    return pd.DataFrame(ids | found)


def _six_digits(values: Any) -> Any:
    """Round to six significant digits; more are noise, and hard to read."""
    import numpy as np

    size = np.floor(np.log10(np.where(values != 0, np.abs(values), 1.0)))
    scale = 10.0 ** (5 - size)
    return np.round(values * scale) / scale
