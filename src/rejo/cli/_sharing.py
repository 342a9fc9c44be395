"""``rejo predict --reviewers`` and ``--queue``: who reviews which case, and the files they get."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo.cli._files import CommandError, check_output, write_file

if TYPE_CHECKING:
    from pandas import DataFrame

    from rejo.scoring import Cases, Opened

ENDINGS = (".xlsx", ".json")


def add(parser: Any) -> None:
    """Declare the options."""
    shared = parser.add_argument_group("sharing the reviews")
    team = (
        "table with the columns name and cases, or name, hours and minutes (a case takes), and "
        "perhaps classes: shares the reviews among these people, in a column 'reviewer'. How often "
        "each is right is known from --book"
    )
    shared.add_argument("--reviewers", metavar="TEAM", help=team)
    queue = (
        "also write the cases to review, to work in: .xlsx with a sheet for each person, or .json "
        "with tasks for Label Studio, and its labelling interface beside it (.xml)"
    )
    shared.add_argument("--queue", type=Path, metavar="FILE", help=queue)


def check(arguments: Namespace, *, many: bool) -> None:
    """Refuse files that cannot be written, before any work is done."""
    if many and (arguments.reviewers or arguments.queue):
        raise CommandError("--reviewers and --queue take one table at a time")
    for path in _files(arguments.queue):
        check_output(path, overwrite=arguments.overwrite, option="--queue", endings=(path.suffix,))
    if arguments.queue and arguments.queue.suffix.lower() not in ENDINGS:
        raise CommandError(f"--queue must end in {' or '.join(ENDINGS)}: {arguments.queue}")


def _files(queue: Path | None) -> list[Path]:
    if queue is None:
        return []
    return [queue, queue.with_suffix(".xml")] if queue.suffix.lower() == ".json" else [queue]


class Sharing:
    """Shares the reviews of a table, and keeps those to put into files."""

    def __init__(self, arguments: Namespace, opened: Opened) -> None:
        self.opened, self.arguments = opened, arguments
        self.counts: Counter[str] = Counter()  # of cases, by reviewer; "" is nobody
        self._names: Any = None  # (n_reviews + 1,) by rank
        self._queue: list[DataFrame] = []
        self._team: Any = None
        self._accuracy: Any = None
        if arguments.reviewers:
            self._team, self._accuracy = _team(arguments, opened.classes)

    def share(self, parts: Iterable[Cases]) -> None:
        """Find who reviews which of the ranked cases."""
        import numpy as np

        from rejo.book import share
        from rejo.scoring import CASE

        if self._team is None:
            return
        rows = [np.empty(0, CASE), *(part.rows[part.rows["rank"] > 0] for part in parts)]
        cases = np.concatenate(rows)
        cases = cases[np.argsort(cases["rank"])]
        cases["worth"] = cases["worth"] if self.opened.knows_worth else np.nan
        # Of prices that depend on the case these are the means.
        prices = getattr(self.opened.model, "prices_", None)
        errors = None if prices is None else prices[:, :-1]
        whom = share(cases, self._team, self._accuracy, errors)
        self._names = np.array([*self._team.names, ""], dtype=object)[np.append(-1, whom)]
        self.counts.update(self._names[1:].tolist())

    def columns(self, part: Cases) -> dict[str, Any]:
        """Return the column of the output that says who reviews each case."""
        if self._names is None:
            return {}
        import numpy as np
        import pandas as pd

        names = self._names[part.rows["rank"]]
        return {"reviewer": pd.Categorical(np.where(names == "", None, names))}

    def keep(self, frame: DataFrame) -> None:
        """Keep what goes into the queue."""
        if self.arguments.queue:
            self._queue.append(frame[frame["rank"].notna()].astype(object))

    def write(self) -> None:
        """Write the queue."""
        if not self.arguments.queue:
            return
        import json

        import pandas as pd

        from rejo.book import labelling_config, queue_of, tasks_of, write_workbook

        queue = queue_of(pd.concat(self._queue), blind=self.arguments.blind)
        classes, replace = self.opened.classes, self.arguments.overwrite
        path, *config = _files(self.arguments.queue)
        if config:
            write_file(config[0], labelling_config(classes), overwrite=replace)
            tasks = tasks_of(queue, self.opened.found.path.name)
            write_file(path, json.dumps(tasks, ensure_ascii=False, indent=1), overwrite=replace)
        else:
            file = BytesIO()
            write_workbook(file, queue, classes)
            write_file(path, file.getvalue(), overwrite=replace)

    def told(self) -> list[str]:
        """Say who got how many cases, and where the queue is."""
        lines = []
        if self._names is not None:
            each = ", ".join(f"{name} {self.counts[name]:,}" for name in self._team.names)
            left = self.counts[""]
            lines.append(f"Reviewers: {each}{f'; {left:,} are left to nobody' * bool(left)}.")
        if self.arguments.queue:
            lines.append(f"Queue: {' and '.join(map(str, _files(self.arguments.queue)))}")
        return lines


def _team(arguments: Namespace, classes: list[str]) -> Any:
    """Return the team, and how often each of it is right (n_reviewers, n_classes)."""
    import numpy as np

    from rejo.book import Book, accuracies, read_team, reviewer_table
    from rejo.tables import read_table

    path = arguments.reviewers
    frame = read_table(path, text=["name"]).frame
    if "classes" in frame:
        frame = read_table(path, text=["name", "classes"]).frame
    team = read_team(frame, classes, path)
    if not (arguments.book and arguments.book.exists()):
        return team, np.ones((len(team.names), len(classes)))
    with Book(arguments.book) as book:
        answers = book.answers()
    return team, accuracies(reviewer_table(answers, team.names, classes), team.names, classes)
