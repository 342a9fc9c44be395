"""``rejo answers``: what reviewers said, and what became of cases, into a case book."""

import argparse
from pathlib import Path
from typing import Any

from rejo._errors import shown
from rejo._io import one_line
from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, print_json, warn
from rejo.cli._model_file import check_is_table

HELP = "add what reviewers said, and what became of cases, to a case book"
DESCRIPTION = (
    "Add answers to a case book, from a table of any format: the id of a case, the class that a "
    "reviewer gives it, who and when; or its outcome, the class that turned out. Rows without an "
    "answer are passed over. The same answers twice are taken once; a later answer of the same "
    "person counts, and all are kept."
)
SHOWN = 3  # examples in a warning
ROLES = {
    "id": "column with the ids (default: that of training, or 'id')",
    "class": "column with the class that a reviewer gives (default: 'class', 'answer' or 'review')",
    "outcome": "column with the class that turned out (default: 'outcome' or 'truth', or that of "
    "training)",
    "who": "column that names the reviewer (default: 'who' or 'reviewer')",
    "when": "column with the date or time of the answer (default: 'when' or 'time'; without one, "
    "now)",
}


def add(parser: Any) -> None:
    """Declare the options."""
    parser.add_argument("book", type=Path, metavar="BOOK", help="case book of rejo predict --book")
    options.add(parser, "data")
    for role, help in ROLES.items():
        parser.add_argument(f"--{role}", metavar="COL", help=help)
    options.add_reading(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, add, tell."""
    from rejo.book import Book, take_answers

    check_apart(arguments.book, arguments.data)
    if arguments.data == "-":  # a table is read twice
        raise CommandError("answers come from a file, not from standard input")
    check_is_table(arguments)
    columns = {role: getattr(arguments, role) for role in ROLES}
    with Book(arguments.book) as book:
        found = take_answers(book, arguments.data, columns, **options.reading(arguments))
    taken = found.taken
    for sheet, why in found.passed.items():
        warn(one_line(f"the sheet {sheet!r} is passed over: {why}"))
    if taken.unknown:
        warn(
            f"{len(taken.unknown):,} ids are not in {arguments.book} and are left out, such as "
            f"{_some(taken.unknown)}"
        )
    if found.other:
        n = sum(found.other.values())
        warn(f"{n:,} answers are no class of the model and are left out, such as "
             f"{_some(list(found.other))}")  # fmt: skip
    if taken.conflicts:
        warn(
            f"the answers to {len(taken.conflicts):,} cases differ, such as "
            f"{_some(taken.conflicts)}: the newest counts, and all are kept"
        )
    if arguments.json:
        print_json({
            "book": str(arguments.book),
            "rows": found.n_rows,
            "columns": found.columns,
            "passed_over": found.passed,
            "added": taken.added,
            "known": taken.known,
            "pending": found.n_pending,
            "unknown_ids": taken.unknown,
            "unknown_classes": found.other,
            "conflicts": taken.conflicts,
        })  # fmt: skip
        return
    known = f", {taken.known:,} known already" if taken.known else ""
    pending = f", {found.n_pending:,} without an answer yet" if found.n_pending else ""
    print(one_line(f"{arguments.book}: {taken.added:,} answers added{known}{pending}."))


def _some(words: list[str]) -> str:
    return ", ".join(map(shown, words[:SHOWN]))
