"""The case book: one SQLite file with what was decided, what reviewers said, and what came of it.

``rejo predict --book`` adds a batch of cases, ``rejo answers`` what is learned of them later; all
else is read from the two, joined case by case: see :meth:`Book.cases`.  Features are not stored.

``store`` has the file: :class:`Book`, its tables, and what keeps it whole; ``batches`` makes rows
of it from decisions, ``answers`` from tables of answers, ``counts`` counts them, and
``learning`` turns answered cases into ones to learn from and to test on; ``card`` says all
that is known of a model.  ``timeline`` has the cases of a model by week; ``audit`` estimates how
many decisions are wrong, ``alarms`` bets against "as in training", and ``monitor`` says it in
numbers and on a page.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.book.alarms import Series, watch
from rejo.book.answers import Answers, take_answers
from rejo.book.audit import Audit, audit
from rejo.book.batches import about_model, case_rows, columns_found
from rejo.book.card import model_card
from rejo.book.counts import COUNTED, count_cases
from rejo.book.learning import MOST, Comparison, answered_cases, compare_costs, copies, kept_apart
from rejo.book.monitor import amount, headline, listed, monitor
from rejo.book.monitor import page as monitor_page
from rejo.book.store import Batch, Book, Taken
from rejo.book.timeline import Timeline, timeline

__all__: list[str] = []  # nothing here is public
