"""``rejo predict``: decisions on new cases, and the order in which to review the others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from time import monotonic
from typing import TYPE_CHECKING, Any

from rejo._io import progress, without_password
from rejo.cli import _options as options
from rejo.cli import _sharing as sharing
from rejo.cli._decision_lines import print_summary, warn_of_decisions
from rejo.cli._files import (
    CommandError,
    check_apart,
    check_folder,
    check_output,
    exists,
    is_many,
    print_json,
)
from rejo.cli._model_file import needing, open_model

if TYPE_CHECKING:
    from rejo.book import Batch
    from rejo.scoring import CaseCounts, Decider, Opened, ScoringPlan

HELP = "decide new cases, and rank the ones to review"
DESCRIPTION = (
    "Decide the cases in a table, which may be larger than memory. For each case the output has "
    "its id, the decision, the class that the model suggests, the chance that this is wrong (if "
    "the model has posteriors), the reason for a review (ambiguous, novel, policy, unreadable or "
    "column) with a detail, its rank (1 comes first), the two classes it lies between, and what a "
    "review is worth (for models by data replication, the distance to the nearest boundary). Rows "
    "that are not as in training go to review; if a column is not, the whole table does."
)


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", "data")
    file = (
        "file whose ending gives the format: .csv, .csv.gz, .tsv, .xlsx, .jsonl or .parquet; a new "
        "table of a database, such as sqlite:///loans.db#decisions; - is CSV on standard output "
        "(default); a folder if DATA is a pattern such as 'new/*.parquet', or a folder"
    )
    options.add(parser, "--output", type=str, default="-", metavar="FILE", help=file)
    options.add(parser, "--overwrite")
    names = "column that names the cases (default: the same as in training)"
    options.add(parser, "--id", help=names)
    options.add(parser, "--capacity", "--audit", "--why", "--why-words", "--strict", "--accept")
    kept = (
        "also add the cases to this case book, which is made if there is none; they need an id. "
        "The audit then draws more of the cases whose chance of an error is high, and the book "
        "keeps the weights"
    )
    parser.add_argument("--book", type=Path, metavar="DB", help=kept)
    blind = (
        "with --book: nothing in the output tells the cases of the audit from other reviews; the "
        "--queue is without what the model suggests"
    )
    parser.add_argument("--blind", action="store_true", help=blind)
    sharing.add(parser)
    groups = "column to promise by, if the model has such promises (default: that of training)"
    options.add(parser, "--group", help=groups)
    options.add_reading(parser)
    options.add_opening(parser)
    options.add(parser, "--seed", help="random seed of --audit (default: 0)")
    options.add(parser, "--n-jobs", help=options.MANY)
    options.add(parser, "--dask", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, rank, write."""
    from rejo.scoring import ScoringPlan
    from rejo.tables import HeldFile

    many = is_many(arguments)
    check_apart(
        arguments.model, arguments.data, arguments.output, arguments.book, arguments.reviewers,
        arguments.queue,
    )  # fmt: skip
    if arguments.json and arguments.output == "-":
        raise CommandError("--json describes the output file: give one with -o FILE")
    _check_book(arguments, many=many)
    sharing.check(arguments, many=many)
    if many:
        check_folder(arguments)
    else:
        check_table_output(arguments.output, overwrite=arguments.overwrite)
    opened = open_model(arguments)
    plan = ScoringPlan.of(
        opened, reading=options.reading(arguments), seed=arguments.seed, **_given(arguments)
    )
    with _explained(), needing(group=plan.group):
        decide = _decide_files if many else _decide_table
        found, counts, capacity = decide(arguments, opened, plan)
    output = without_password(arguments.output)
    said = arguments.output != "-" and not arguments.json
    if counts is not None:
        warn_of_decisions(opened, counts, plan, capacity=capacity, said=said)
    shared = found.pop("told", [])
    if arguments.json:
        print_json({"output": output, **found})
    elif arguments.output != "-":  # or the decisions themselves are printed
        if counts is None:
            print(f"{output} has these decisions already.")
        print_summary(opened, found, counts, capacity, output)
        for line in shared:
            print(line)
        if batch := found.get("book"):
            has = "had this batch already" if batch["known"] else "has them"
            print(f"{arguments.book} {has}: batch {batch['batch']}.")
    if counts is not None and counts.held():
        raise HeldFile(counts.strange, "The whole file goes to review")


def _check_book(arguments: argparse.Namespace, *, many: bool) -> None:
    """Refuse a book that cannot be used, before any work is done."""
    if arguments.blind and not (arguments.queue or (arguments.book and arguments.audit)):
        raise CommandError(
            "--blind hides which cases are audited: add --audit and --book; or what the model "
            "suggests: add --queue"
        )
    if arguments.book is None:
        return
    if many:
        raise CommandError("--book takes one table at a time: run the command for each file")
    if arguments.book.exists():
        from rejo.book import Book

        Book(arguments.book, create=True).close()  # a process that was killed may leave it empty
    else:
        check_output(arguments.book, overwrite=False, option="--book")


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    names = ("id", "group", "why", "why_words", "audit", "strict", "accept")
    found = {name: getattr(arguments, name) for name in names}
    if found["why_words"] is not None and found["why"] is None:
        raise CommandError("--why-words says what --why names in sentences: add --why decided")
    return found


Done = tuple[dict[str, Any], "CaseCounts | None", int | None]  # numbers of cases, and the capacity


def _decide_table(arguments: argparse.Namespace, opened: Opened, plan: ScoringPlan) -> Done:
    """Decide one table, of any size: its decisions wait on disk until all are ranked."""
    from rejo.book import case_rows
    from rejo.scoring import (
        Audit,
        CaseCounts,
        Decider,
        ahead,
        capacity_of,
        decision_frame,
        mix_in,
        ranked,
        ranks_of,
        spool,
    )  # fmt: skip
    from rejo.tables import TableWriter, place_of

    audit, book = None, arguments.book
    if book and plan.audit:  # the book remembers the weights
        audit, plan = Audit(plan.audit, plan.seed), plan._replace(audit=None)
    decide, team = Decider(opened, plan), sharing.Sharing(arguments, opened)
    place = partial(place_of, arguments.data, **plan.reading)
    with TemporaryFile() as file:
        decided = _counted(decide.read(arguments.data, place))
        decided = decided if audit is None else audit.counted(decided)
        candidates, n_cases = spool(decided, file, gettempdir())
        counts = CaseCounts(has_ids=decide.has_ids, strange=decide.strange())
        if book and not counts.has_ids:
            raise CommandError("--book needs a column that names the cases: add --id COL")
        candidates = candidates if audit is None else audit.candidates(file)
        if arguments.blind:
            mix_in(candidates, arguments.seed)
        capacity = capacity_of(arguments.capacity, n_cases)
        id = plan.id if counts.has_ids else None

        ranks = ranks_of(candidates, capacity)

        def parts() -> Iterator[Any]:
            file.seek(0)
            draw = None if audit is None else audit.draw
            return ranked(file, ranks, held=counts.held(), draw=draw)

        team.share(parts())

        def frames() -> Iterator[Any]:
            about = {"id": id, "why": plan.why, "blind": arguments.blind}
            for part in parts():
                counts.add(part)
                weights = None if audit is None else audit.weights(part)
                rows = case_rows(part, opened, weights) if book and len(part.rows) else None
                yield decision_frame(part, opened, more=team.columns(part), **about), rows

        # The book is complete first: if the output then fails, a repetition adds nothing twice.
        with (
            TableWriter(arguments.output, overwrite=arguments.overwrite) as writer,
            _batch(arguments, opened, decide, counts) as batch,
        ):
            for frame, rows in progress(ahead(frames()), max(1, len(candidates)), "writing"):
                writer.write(frame)
                team.keep(frame)
                if batch is not None and rows is not None:
                    batch.add(rows)
            team.write()
    about = {} if batch is None else {"book": {"batch": batch.number, "known": batch.known}}
    if arguments.reviewers:
        about["reviewers"] = dict(team.counts)
    return counts.as_json() | about | {"told": team.told()}, counts, capacity


@contextmanager
def _batch(
    arguments: argparse.Namespace, opened: Opened, decide: Decider, counts: CaseCounts
) -> Iterator[Batch | None]:
    """Yield the batch of the book that takes the cases, if there is one."""
    if arguments.book is None:
        yield None
        return
    from rejo.book import Book, about_model, columns_found

    found, about = opened.found, about_model(opened, decide.plan.id)
    with (
        Book(arguments.book, create=True) as book,
        book.batch(
            found.payload_hash, about, name=found.path.name,
            file=Path(without_password(arguments.data)).name, seed=arguments.seed,
            audit=arguments.audit, columns=columns_found(decide.counts(), counts.strange),
        ) as batch,
    ):  # fmt: skip
        yield batch


def _decide_files(arguments: argparse.Namespace, opened: Opened, plan: ScoringPlan) -> Done:
    from rejo.distributed import predict

    found = predict(
        opened, arguments.data, arguments.output,
        capacity=arguments.capacity, random_state=arguments.seed, overwrite=arguments.overwrite,
        client=arguments.dask, n_jobs=arguments.n_jobs or 1, show_progress=None,
        reading=plan.reading, **_given(arguments), **options.opening(arguments),
    )  # fmt: skip
    return found.manifest["counts"], found.counts, found.manifest["capacity"]


def check_table_output(output: str, *, overwrite: bool) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    from rejo.tables import TableError, check_output_format, is_url

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
    from rejo.explain import WhyError

    try:
        yield
    except WhyError as error:
        raise CommandError(f"--why: {error.problem}. `rejo train` writes such models") from None


def _counted(parts: Any) -> Any:
    """Pass cases on; on a terminal, show how many have been decided."""
    start, done = monotonic(), 0
    show = sys.stderr.isatty()
    try:
        for cases in parts:
            yield cases
            done += len(cases.rows)
            if show:
                pace = done / max(monotonic() - start, 1e-9)
                sys.stderr.write(f"\rdeciding: {done:,} cases, {pace:,.0f} a second \033[K")
                sys.stderr.flush()
    finally:
        if show:
            sys.stderr.write("\r\033[K")
