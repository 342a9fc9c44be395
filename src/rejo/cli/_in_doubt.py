"""What is said about a column that puts many rows in doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rejo.scoring.doubt_counts import DoubtCounts

MANY, SHARE = 10, 0.2  # rows, and share of them, that are in doubt for something wrong in the file
# What may be wrong with a whole column.
CAUSES = {
    "unreadable": "Does the column hold something else than in training, or another unit?",
    "unclear": "Write the column as in training.",
    "outside": "Is the column in another unit than in training?",
    "unseen": "Is the column coded or spelled otherwise than in training?",
    "missing": "Was the column left out of this file?",
}
UNCLEAR = {"number": "Add --decimal or --thousands.", "date": "Write dates as 2024-12-31."}


def about_column(counts: DoubtCounts, n_cases: int) -> str | None:
    """Name a column that puts a good part of all rows in doubt, if there is one."""
    for one in counts.most_first():
        if one.n_rows < max(MANY, SHARE * n_cases) or one.first.why not in CAUSES:
            continue
        cause = CAUSES[one.first.why]
        if one.first.why == "unclear":
            cause = UNCLEAR.get(one.first.kind, cause)
        return f"{one}: so in {one.n_rows:,} of {n_cases:,} rows. {cause}"
    return None
