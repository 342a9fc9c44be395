"""What may surprise about the columns of a table: how they were read, and what they hold.

A remark has two wordings: with examples from the rows, for the screen, and without, for files that
others may read.  The second part finds columns that say the same, that name the cases or say what
belongs together, and identical rows.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rejo._io import percent
from rejo._typing import Floats, Indices
from rejo.tables.errors import import_pandas, shown
from rejo.tables.reading import Reading

MANY_GAPS = 0.5  # share of the cells
FEWEST = 20  # rows: in fewer, numbers are often all different
LONG = 6  # digits of a number that may be an identifier
PLURAL = {"number": "numbers", "category": "categories", "date": "dates"}
LONGEST_NAME, LONGEST_LIST = 60, 300  # characters
# The last word of a name, as in "customer_id", "Kundennr" or "patientId".
ID_NAME = re.compile(
    r"(?i:(?:^|[\W_])(?:id|ids|nr|no|key|code|uuid|guid|index|idx|number|case|customer|client|"
    r"patient|person|user|member|subject|applicant|application|household|student|account|policy|"
    r"contract|ticket|invoice))$|(?<=[a-z])(?:ID|Id|Nr|No)$|(?i:nummer|kennung|_?pid|_?ssn)$"
)


class Remark(NamedTuple):
    """Something that may surprise."""

    about: str  # odd, unit, written, unnamed, id, gaps or code
    column: str
    text: str  # a clause without values of rows
    example: str = ""  # what to say after it, with values of rows
    value: str = ""  # for a code: the number

    def line(self, *, examples: bool = True) -> str:
        start = f"{self.column}: " if self.column else ""
        return start + self.text + (self.example if examples else "")


def describe_kinds(kinds: Mapping[str, str], *, longest: int = LONGEST_LIST) -> list[str]:
    """Return a line for each kind of column, with names, cut if there are many.

    >>> describe_kinds({"age": "number", "income": "number", "job": "category"})
    ['2 numbers: age, income', '1 category: job']
    """
    lines = []
    for kind, plural in PLURAL.items():
        if names := [name for name, found in kinds.items() if found == kind]:
            lines.append(
                f"{len(names):,} {plural if len(names) > 1 else kind}: {cut(names, longest)}"
            )
    return lines


def cut(names: Iterable[str], longest: int = LONGEST_LIST) -> str:
    found = [name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "..." for name in names]
    kept = found[:1]
    for name in found[1:]:
        if sum(map(len, kept)) + 2 * len(kept) + len(name) > longest:
            break
        kept.append(name)
    more = len(found) - len(kept)
    return ", ".join(kept) + (f" and {more:,} more" if more else "")


def find_remarks(
    frame: Any, readings: Mapping[str, Reading], unnamed: Mapping[int, str] | None = None
) -> list[Remark]:
    """Return what may surprise about the columns of ``frame``, which may be some of the table."""
    found = [
        Remark("unnamed", "", f"column {place} has no name and is left out ({what})")
        for place, what in (unnamed or {}).items()
    ]
    for name in frame.columns:
        reading = readings.get(name, Reading("text"))
        if n := reading.n_odd:
            kind = "date" if reading.kind == "date" else "number"
            text = f"{n:,} cells are not {kind}s" if n > 1 else f"1 cell is not a {kind}"
            example = f" ({', '.join(map(shown, reading.odd[:2]))})" if reading.odd else ""
            found.append(Remark("odd", name, f"{text}, read as missing", example))
        if reading.unit:
            found.append(Remark("unit", name, f"numbers with the unit {shown(reading.unit)}"))
        found += [Remark("written", name, *remark) for remark in reading.remarks]
        column = frame[name]
        gaps = float(column.isna().mean()) if len(column) else 0.0
        if MANY_GAPS <= gaps < 1:
            found.append(Remark("gaps", name, f"{percent(gaps, 0)} of the cells are missing"))
        if column.dtype.kind == "f":
            values = column.to_numpy(np.float64)
            if why := like_ids(name, values):
                found.append(Remark("id", name, why))
            for code, n in codes_for_missing(values):
                text = f"{n:,} cells hold the same number far from all others"
                value = f"{code:.15g}"
                found.append(Remark("code", name, text, f", {value}", value))
    return found


def like_ids(name: str, values: Floats) -> str:
    n = len(values)
    if n < FEWEST or not np.isfinite(values).all() or (values % 1 != 0).any():
        return ""
    if len(np.unique(values)) < n:
        return ""
    steps = np.diff(values)
    if (steps > 0).all() or (steps < 0).all():
        return "a different whole number in each row, in order, like an identifier"
    shortest, longest = (len(f"{value:.0f}") for value in (values.min(), values.max()))
    if ID_NAME.search(name) or shortest == longest >= LONG:
        return "a different whole number in each row, like an identifier"
    return ""


def codes_for_missing(values: Floats) -> list[tuple[float, int]]:
    """Return numbers such as -999 that lie far from all others and repeat, and how often.

    Numbers of nines must lie as far from the others as these spread, or be the only ones below 0;
    others, ten times as far.
    """
    there, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    found = []
    for end in (0, -1):
        while len(there) > 2:
            rest = np.delete(there, end)
            spread, gap = np.ptp(rest), abs(there[end] - rest[end])
            nines = re.fullmatch(r"-?9{2,}(\.9*)?", f"{there[end]:.10g}") is not None
            least, far = (2, 1.0) if nines else (max(3, 0.002 * counts.sum()), 10.0)
            alone = nines and there[end] < 0 <= rest[end]
            if counts[end] < least or (gap < far * spread and not alone):
                break
            found.append((float(there[end]), int(counts[end])))
            there, counts = rest, np.delete(counts, end)
    return found


# ---- relations --------------------------------------------------------------------------------

LARGEST_GROUP = 50  # rows in a group, on average
FEWEST_GROUPS = 10
PERSON = re.compile(
    r"(?i:(?:^|[\W_])(?:patient|customer|client|person|user|member|subject|applicant|household|"
    r"student|family|kunde|kunden|patienten)(?:[\W_]?(?:id|nr|no|number|key|code))?|^groups?)$|"
    r"(?i:^(?:patient|customer|client|person|user|member|subject|student|kunden?)(?:id|nr|nummer))$"
)
ID = re.compile(r"(?i:(?:^|[\W_])ids?)$|(?<=[a-z])(?:ID|Id)$")
SMALL_GROUP = 10  # rows on average, if the column is not called after persons
CODE_WORD = re.compile(r"(?=.*\d)[A-Za-z]{0,4}[-_./ ]?[0-9A-Fa-f][0-9A-Fa-f-]{2,35}")
LOOK = 200  # words


def level_codes(frame: Any) -> dict[str, Indices]:
    pd = import_pandas("an overview of a table")
    return {name: pd.factorize(frame[name])[0] for name in frame.columns}


def twins(codes: Mapping[str, Indices], frame: Any) -> list[tuple[list[str], bool]]:
    """Return sets of columns of which each tells the others, and whether they are equal.

    Values that are all different say nothing: such columns must be equal.
    """
    pd = import_pandas("an overview of a table")
    found: dict[bytes, list[str]] = {}
    for name, column in codes.items():
        n_levels = int(column.max(initial=-1)) + 1
        if n_levels > 1 and len(column) >= FEWEST:
            different = n_levels > 0.5 * len(column)
            cells = pd.util.hash_array(frame[name].to_numpy()) if different else column
            found.setdefault(cells.tobytes(), []).append(name)
    return [
        (names, all(frame[names[0]].equals(frame[name]) for name in names[1:]))
        for names in found.values()
        if len(names) > 1
    ]


def names_the_cases(name: str, column: Any, codes: Indices) -> bool:
    n_levels = int(codes.max(initial=-1)) + 1
    if n_levels < max(FEWEST, len(codes)) or column.dtype != object:
        return False
    return bool(ID_NAME.search(name)) or _are_codes(column, codes)


def groups_rows(name: str, column: Any, codes: Indices) -> bool:
    n_levels, n = int(codes.max(initial=-1)) + 1, int((codes >= 0).sum())
    if n < FEWEST or not FEWEST_GROUPS <= n_levels <= 0.95 * n or n > LARGEST_GROUP * n_levels:
        return False
    if column.dtype.kind == "f":
        values = column.to_numpy(np.float64)
        if (values[np.isfinite(values)] % 1 != 0).any():
            return False
    elif column.dtype != object:
        return False
    if PERSON.search(name):
        return True
    named = ID.search(name) or (column.dtype == object and _are_codes(column, codes))
    return bool(named) and n <= SMALL_GROUP * n_levels


def _are_codes(column: Any, codes: Indices) -> bool:
    """Return whether words are like P-0012 or 00417, all of about one length."""
    first = np.unique(codes[codes >= 0], return_index=True)[1][:LOOK]
    words = column[codes >= 0].iloc[first].map(str).tolist()
    lengths = {len(word) for word in words}
    alike = max(lengths) - min(lengths) <= 2 and min(lengths) >= 4
    return alike and all(CODE_WORD.fullmatch(word) for word in words)


class Repeats(NamedTuple):
    """Rows that are identical to another."""

    n_rows: int  # in all columns
    n_other_class: int  # of these, with another class than such a row


def count_repeats(codes: Mapping[str, Indices], y: Indices | None = None) -> Repeats:
    """Count the rows whose columns equal those of another row, and those that differ in class."""
    pd = import_pandas("an overview of a table")
    if not codes:
        return Repeats(0, 0)
    frame = pd.DataFrame({str(i): column for i, column in enumerate(codes.values())})
    rows = pd.util.hash_pandas_object(frame, index=False)
    again = rows.duplicated(keep=False).to_numpy()
    classes = pd.Series(np.zeros(len(rows)) if y is None else y)
    mixed = (classes.groupby(rows.to_numpy()).transform("nunique") > 1).to_numpy()
    return Repeats(int(again.sum()), int((again & mixed).sum()))
