"""``rejo predict``: decisions on new cases, and the order in which to review the others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo._io import progress, without_password
from rejo.cli import _options as options
from rejo.cli._decision_lines import print_summary, warn_of_decisions
from rejo.cli._files import CommandError, check_apart, check_output, exists, print_json
from rejo.cli._model_file import needing, open_model

if TYPE_CHECKING:
    from rejo.scoring.case_counts import CaseCounts
    from rejo.scoring.deciding import Scored
    from rejo.scoring.opened import Opened

HELP = "decide new cases, and rank the ones to review"
DESCRIPTION = (
    "Decide the cases in a table, which may be larger than memory. For each case the output has "
    "its id, the decision, the class that the model suggests, the chance that this is wrong (if "
    "the model has posteriors), the reason for a review (ambiguous, novel, policy or unreadable) "
    "with a detail, its rank (1 comes first), the two classes it lies between, and what a review "
    "is worth (for models by data replication, the distance to the nearest boundary). Rows that "
    "are not as in training go to review."
)
ROWS, NUMBERS = 50_000, 1 << 23  # in memory at a time, at most


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", "data")
    file = (
        "file whose ending gives the format: .csv, .csv.gz, .tsv, .xlsx, .jsonl or .parquet; a new "
        "table of a database, such as sqlite:///loans.db#decisions; - is CSV on standard output "
        "(default)"
    )
    options.add(parser, "--output", type=str, default="-", metavar="FILE", help=file)
    options.add(parser, "--overwrite")
    names = "column that names the cases (default: the same as in training)"
    options.add(parser, "--id", help=names)
    options.add(parser, "--capacity", "--audit", "--why", "--strict")
    groups = "column to promise by, if the model has such promises (default: that of training)"
    options.add(parser, "--group", help=groups)
    options.add_reading(parser)
    options.add_opening(parser)
    options.add(parser, "--seed", help="random seed of --audit (default: 0)")
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, rank, write."""
    check_apart(arguments.model, arguments.data, arguments.output)
    if arguments.json and arguments.output == "-":
        raise CommandError("--json describes the output file: give one with -o FILE")
    _check_output(arguments.output, overwrite=arguments.overwrite)
    opened = open_model(arguments)
    if arguments.id in opened.encoder.kinds_:
        raise CommandError(f"--id {arguments.id!r} is a feature of {arguments.model}")
    # A column named here must exist; the one named in training may be absent.
    named = arguments.id or opened.table.get("id")
    by = opened.group_column(arguments.group)
    if by is None and arguments.group is not None:
        raise CommandError(f"{arguments.model} promises nothing by group: leave out --group")
    with _explained():
        summary, capacity = _decide_table(arguments, opened, named, by)
    output = without_password(arguments.output)
    said = arguments.output != "-" and not arguments.json
    warn_of_decisions(opened, summary, capacity=capacity, id=named, group=by, said=said)
    if arguments.json:
        print_json({"output": output, **summary.as_json()})
    elif arguments.output != "-":  # or the decisions themselves are printed
        print_summary(opened, summary, capacity, output)


def _decide_table(
    arguments: argparse.Namespace, opened: Opened, named: str | None, by: str | None
) -> tuple[CaseCounts, int | None]:
    """Decide one table, of any size: its decisions wait on disk until all are ranked."""
    import numpy as np

    from rejo.scoring.ahead import ahead
    from rejo.scoring.case_counts import CaseCounts
    from rejo.scoring.deciding import Decider
    from rejo.scoring.decision_frame import decision_frame
    from rejo.scoring.ranking import capacity_of
    from rejo.scoring.spool import Spool
    from rejo.tables import TableWriter, read_chunks

    text = list(dict.fromkeys(name for name in (named, by) if name is not None))
    optional = [named] if named is not None and not arguments.id and named != by else []
    chunks = read_chunks(
        arguments.data, opened.encoder, text=text, optional=optional,
        rows=max(1, min(ROWS, NUMBERS // opened.found.most_columns)),
        **options.reading(arguments),
    )  # fmt: skip
    decide = Decider(
        opened, id=named, group=by, why=arguments.why, audit=arguments.audit,
        drawing=np.random.RandomState(arguments.seed),
    )  # fmt: skip
    summary = CaseCounts()
    with Spool() as spool:
        for chunk in _counted(ahead(needing(chunks, by))):
            summary.has_ids = named in chunk.columns
            if not len(chunk):
                continue
            scored = decide(chunk)
            if arguments.strict and scored.doubts:
                raise _refusal(arguments, chunk, scored)
            summary.add(scored)
            spool.add(scored.decided)
        capacity = capacity_of(arguments.capacity, summary.n_cases)
        column = named if summary.has_ids else None

        def frames() -> Iterator[Any]:
            for part in spool.parts(capacity):
                summary.add_ranked(part)
                how = {"id": column, "has_worth": summary.has_worth, "why": arguments.why}
                yield decision_frame(part, opened, **how)

        with TableWriter(arguments.output, overwrite=arguments.overwrite) as writer:
            for frame in progress(ahead(frames()), spool.n_parts, "writing"):
                writer.write(frame)
    return summary, capacity


def _check_output(output: str, *, overwrite: bool) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    from rejo.tables import TableError
    from rejo.tables.sources import check_output_format, is_url

    if output == "-":
        return
    if not is_url(output):
        check_output(Path(output), overwrite=overwrite)
    try:
        check_output_format(output, overwrite=overwrite)
    except FileExistsError:
        raise exists(without_password(output)) from None
    except TableError as error:
        raise CommandError(options.explain(error)) from None


@contextmanager
def _explained() -> Iterator[None]:
    """Let an error of --why name the option."""
    from rejo.estimators.why import WhyError

    try:
        yield
    except WhyError as error:
        raise CommandError(f"--why: {error.problem}. `rejo train` writes such models") from None


def _refusal(arguments: argparse.Namespace, chunk: Any, scored: Scored) -> Exception:
    """Return an error about the first row in doubt."""
    from rejo.tables import TableError
    from rejo.tables.errors import shown
    from rejo.tables.places import place_of

    row, names = min(scored.doubts), scored.decided.names
    name = "" if names is None else f" ({shown(names.iloc[row])})"
    return TableError(
        "; ".join(map(str, scored.doubts[row][:3])),
        where=place_of(arguments.data, int(chunk.index[row]), **options.reading(arguments)) + name,
        remedy="Correct it, or leave out --strict: then such rows go to review.",
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
