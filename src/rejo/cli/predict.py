"""``rejo predict``: decisions on new cases, and the order in which to review the others."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, warn
from rejo.cli._model_file import Opened, open_model, warn_of_surprises

ENOUGH = 50  # cases whose share of reviews says something
ROWS = 50_000  # in memory at a time


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "predict",
        help="decide new cases, and rank those to review",
        description="Decide the cases of a table, which may be larger than memory. For each, the "
        "output has its id, the decision, the two classes it hesitates between (or would first), "
        "the distance to the nearest boundary and, for those to review, the rank: 1 comes first.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file of rejo train")
    parser.add_argument("cases", metavar="CASES", help="CSV or Parquet file; - is standard input")
    options.add_output(
        parser, "-o", "--output", default="-", metavar="FILE",
        help="CSV, or Parquet by its ending; - is standard output (default)",
    )  # fmt: skip
    parser.add_argument(
        "--id", metavar="COL", help="column that names the cases (default: that of the training)"
    )
    options.add_table(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, rank, write."""
    check_apart(arguments.model, arguments.cases, arguments.output)
    output = Path(arguments.output)
    if arguments.output != "-":
        check_output(output, overwrite=arguments.overwrite)
    if arguments.json and arguments.output == "-":
        raise CommandError("--json tells about a file: name one by -o FILE")
    if output.suffix.lower() in (".parquet", ".pq"):
        from rejo.tables.errors import import_pyarrow

        import_pyarrow(f"writing {output}")
    opened = open_model(arguments.model)
    if arguments.id in opened.encoder.kinds_:
        raise CommandError(f"--id {arguments.id!r} is a feature of {arguments.model}")
    from rejo._io import progress
    from rejo.cli._spool import Spool
    from rejo.tables import TableWriter, read_chunks

    # A column named here must be there; that of the training may be absent.
    named = arguments.id or opened.table.get("id")
    text = [] if named is None else [named]
    chunks = read_chunks(
        arguments.cases,
        opened.encoder,
        text=text,
        optional=[] if arguments.id else text,
        rows=ROWS,
        **options.table_options(arguments),
    )
    features = list(opened.encoder.kinds_)
    column = None
    surprises: dict[str, Counter[str]] = {}
    with Spool() as spool:
        for chunk in _counted(chunks):
            column = named if named in chunk.columns else None
            names = None
            if column is not None:
                names = chunk[column].fillna("").astype(str).tolist()
            if len(chunk):
                spool.add(names, opened.judge(chunk[features]))
                opened.note_surprises(chunk[features], surprises)
        with TableWriter(arguments.output, overwrite=arguments.overwrite) as writer:
            empty = True
            for part in progress(spool.parts(), spool.n_parts, "writing"):
                writer.write(_frame(part, column, opened))
                empty = False
            if empty:
                writer.write(_nothing(column))
    warn_of_surprises(surprises, spool.n_cases)
    _warn_of_share(opened, spool.n_cases, spool.n_rejected)
    _tell(arguments, surprises, spool.n_cases, spool.n_rejected, opened)


def _warn_of_share(opened: Opened, n: int, n_rejected: int) -> None:
    """Other units or another kind of case often show in how many go to review."""
    if n < ENOUGH:
        return
    rate = opened.expect(n, 0.999).get("rejection_rate")
    share = n_rejected / n
    if rate is not None and not rate.low - 1e-9 <= share <= rate.high + 1e-9:
        warn(
            f"{share:.1%} go to review, where {rate.low:.1%} to {rate.high:.1%} were to be "
            "expected of cases like those of the training: are the columns in the same units?"
        )


def _counted(chunks: Any) -> Any:
    """Pass the chunks on; on a terminal, say how many cases came."""
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

    # The last of them is where the index -1 of a review finds it.
    labels = np.array([*opened.classes, opened.review_label], dtype=object)
    n = len(part.decision)
    if column is None:
        name, ids = "row", np.arange(part.first + 1, part.first + n + 1)
    else:
        name, ids = column, np.array(part.names, dtype=object)
    rank = pd.arrays.IntegerArray(part.rank, part.rank == 0)
    return pd.DataFrame(
        {
            _free(name): ids,
            "decision": labels[part.decision],
            "lower": labels[part.lower],
            "upper": labels[part.upper],
            "distance": _six_digits(part.distance),
            "rank": rank,
        }
    )


def _six_digits(values: Any) -> Any:
    """Round to six significant digits: more say nothing, and are hard to read."""
    import numpy as np

    size = np.floor(np.log10(np.where(values > 0, values, 1.0)))
    scale = 10.0 ** (5 - size)
    return np.round(values * scale) / scale


def _nothing(column: str | None) -> Any:
    import pandas as pd

    name = _free(column or "row")
    return pd.DataFrame(columns=[name, "decision", "lower", "upper", "distance", "rank"])


def _free(name: str) -> str:
    """Return a name for the first column that is none of the others."""
    taken = {"decision", "lower", "upper", "distance", "rank"}
    return f"id {name}" if name in taken else name


def _tell(
    arguments: argparse.Namespace,
    surprises: dict[str, Counter[str]],
    n: int,
    n_rejected: int,
    opened: Opened,
) -> None:
    if arguments.output == "-":
        return  # the decisions are the output
    if arguments.json:
        found = {
            "output": str(arguments.output),
            "n_cases": n,
            "decided": n - n_rejected,
            "review": n_rejected,
            "surprises": surprises,
        }
        json.dump(found, sys.stdout, indent=1)
        print()
        return
    share = f" ({n_rejected / n:.1%})" if n else ""
    print(
        f"{n:,} cases: {n - n_rejected:,} decided, {n_rejected:,}{share} to "
        f"{opened.review_label or 'review'}, ranked. Decisions: {arguments.output}"
    )
