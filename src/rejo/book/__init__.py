"""The case book: one SQLite file with what was decided, what reviewers said, and what came of it.

``rejo predict --book`` adds a batch of cases, ``rejo answers`` what is learned of them later; all
else is read from the two, joined case by case: see :meth:`Book.cases`.  Features are not stored.

``store`` has the file: :class:`Book`, its tables, and what keeps it whole; ``batches`` makes rows
of it from decisions, ``answers`` from tables of answers, ``counts`` counts them, and
``learning`` turns answered cases into ones to learn from and to test on; ``card`` says all
that is known of a model.  ``reviewers`` finds how often people are right, and ``assignment`` shares
the cases among them; ``queues`` writes these to work in, and reads what comes back of them.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.book.answers import Answers, take_answers
from rejo.book.assignment import Team, assign, read_team, share
from rejo.book.batches import about_model, case_rows, columns_found
from rejo.book.card import model_card
from rejo.book.counts import COUNTED, count_cases
from rejo.book.learning import MOST, Comparison, answered_cases, compare_costs, copies, tested_cases
from rejo.book.queues import labelling_config, labelstudio, queue_of, tasks_of, write_workbook
from rejo.book.reviewers import (
    accuracies,
    review_prices,
    reviewer_lines,
    reviewer_table,
    shrunk,
)
from rejo.book.store import Batch, Book, Taken

__all__: list[str] = []  # nothing here is public
