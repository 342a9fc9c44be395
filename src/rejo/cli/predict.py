"""``rejo predict``: decisions on new cases, and the order in which to review the others."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo._io import percent, printable, progress, without_password
from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, exists, print_json, warn
from rejo.cli._in_doubt import about_column
from rejo.cli._model_file import needing, open_model

if TYPE_CHECKING:
    from rejo.scoring.deciding import Scored
    from rejo.scoring.doubt_counts import DoubtCounts
    from rejo.scoring.ids import Ids
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
ENOUGH = 50  # cases needed to judge the share of reviews
MANY = 50_000  # cases whose share is as good as that of more, and computed in no time
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
    import numpy as np

    from rejo.scoring.deciding import Decider
    from rejo.scoring.decision_frame import decision_frame
    from rejo.scoring.doubt_counts import DoubtCounts
    from rejo.scoring.ids import Ids
    from rejo.scoring.ranking import capacity_of
    from rejo.scoring.reasons import WORDS
    from rejo.scoring.spool import Spool
    from rejo.tables import TableWriter, read_chunks

    # A column named here must exist; the one named in training may be absent.
    named = arguments.id or opened.table.get("id")
    by = opened.group_column(arguments.group)
    if by is None and arguments.group is not None:
        raise CommandError(f"{arguments.model} promises nothing by group: leave out --group")
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
    column, tally, ids = None, DoubtCounts(), Ids()
    unknown: Counter[str | None] = Counter()
    with Spool() as spool, _explained():
        for chunk in _counted(needing(chunks, by)):
            column = named if named in chunk.columns else None
            if not len(chunk):
                continue
            scored = decide(chunk)
            unknown.update(scored.unknown)
            if arguments.strict and scored.doubts:
                raise _refusal(arguments, chunk, scored)
            tally.add(scored.doubts)
            ids.add(scored.decided.names)
            spool.add(scored.decided)
        n, capacity = spool.n_cases, capacity_of(arguments.capacity, spool.n_cases)
        counts, n_audited = np.zeros(len(WORDS), dtype=int), 0
        with TableWriter(arguments.output, overwrite=arguments.overwrite) as writer:
            for part in progress(spool.parts(capacity), spool.n_parts, "writing"):
                how = {"id": column, "has_worth": spool.has_worth, "why": arguments.why}
                writer.write(decision_frame(part, opened, **how))
                counts += np.bincount(part.cases["reason"] + 1, minlength=len(WORDS) + 1)[1:]
                n_audited += int(part.audited.sum())
    *reviewed, n_over = counts.tolist()
    _warn_of_rows(tally, n, said=arguments.output != "-" and not arguments.json)
    _warn_of_capacity(spool.n_fixed, n_audited, capacity)
    _warn_of_groups(unknown, by, n)
    odd = tally.n_rows + sum(unknown.values())
    _warn_of_share(opened, n - odd, spool.n_rejected - odd)
    _warn_of_ids(ids, named, column, n)
    found = {"n_cases": n, "decided": n - sum(reviewed), "review": sum(reviewed)}
    found |= {"in_doubt": tally.n_rows, "over_capacity": n_over, "audited": n_audited}
    reasons = dict(zip(WORDS, reviewed, strict=False))
    output = without_password(arguments.output)
    if arguments.json:
        print_json({"output": output, **found, "reasons": reasons, "doubts": tally.as_json()})
    elif arguments.output != "-":  # or the decisions themselves are printed
        _print_summary(opened, found, reasons, tally, capacity, output)


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


def _print_summary(
    opened: Opened, found: dict[str, int], reasons: dict[str, int], tally: DoubtCounts,
    capacity: int | None, output: str,
) -> None:  # fmt: skip
    n, n_reviews = found["n_cases"], found["review"]
    if not n:
        return
    print(
        f"{n:,} case{'s' * (n > 1)}: {n - n_reviews:,} decided, {n_reviews:,} "
        f"({percent(n_reviews / n)}) to {printable(opened.doubt_label)}, ranked"
        f"{': ' * bool(n_reviews)}{_counts(reasons)}. Decisions: {output}"
    )
    if found["audited"]:
        are = "case was" if found["audited"] == 1 else "cases were"
        print(f"{found['audited']:,} {are} drawn at random for the audit.")
    if found["in_doubt"]:
        print(tally.summary())
    if found["over_capacity"]:
        print(
            f"{found['over_capacity']:,} more would go to review, but are over the capacity of "
            f"{capacity:,}: they are decided as suggested."
        )


def _counts(reasons: dict[str, int]) -> str:
    """Say how many cases have each reason."""
    return ", ".join(f"{n:,} {word}" for word, n in reasons.items() if n)


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


def _warn_of_ids(ids: Ids, named: str | None, column: str | None, n: int) -> None:
    if named is not None and column is None:
        warn(
            f"no column {named!r}, which named the cases in training: they are numbered in the "
            "column 'row' instead. --id names another column"
        )
    if ids.n_empty:
        warn(f"no {column!r} in {ids.n_empty:,} of {n:,} rows")
    if n_repeated := ids.n_repeated:
        have, them = ("has", "it") if n_repeated == 1 else ("have", "them")
        warn(
            f"{n_repeated:,} of {n:,} cases {have} the same {column!r} as a case before {them}; "
            "each row is decided on its own"
        )


def _warn_of_rows(tally: DoubtCounts, n: int, said: bool) -> None:
    """Say what is wrong with the file, if its rows are not ``said`` on standard output."""
    if not n:
        warn("the table has no rows: the output has only a header")
    if tally.n_rows and (told := about_column(tally, n)):
        warn(told)
    if tally.n_rows and not said:
        warn(tally.summary())


def _warn_of_capacity(n_fixed: int, n_audited: int, capacity: int | None) -> None:
    """Say if there are more cases to review than the capacity, whatever they are worth."""
    if capacity is not None and n_fixed + n_audited > capacity:
        audit = f", with {n_audited:,} of the audit" if n_audited else ""
        warn(
            f"{n_fixed + n_audited:,} cases must be reviewed{audit}, more than the capacity of "
            f"{capacity:,}; none of them is decided"
        )


def _warn_of_groups(unknown: Counter[str | None], by: str | None, n: int) -> None:
    """Say how many cases are of groups that training did not have."""
    if not unknown:
        return
    names = [name for name, _ in unknown.most_common() if name is not None]
    such = f", such as {names[0]!r}" if names else ""
    some = sum(unknown.values())
    have, they = ("case has", "it goes") if some == 1 else ("cases have", "they go")
    warn(f"{some:,} of {n:,} {have} no {by!r} that training had{such}: {they} to review")


def _warn_of_share(opened: Opened, n: int, n_rejected: int) -> None:
    """Other units or another kind of cases often show in the share that goes to review."""
    if n < ENOUGH:
        return
    rate = opened.expect(min(n, MANY), 0.999).get("rejection_rate")
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
