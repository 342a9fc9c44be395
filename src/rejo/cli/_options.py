"""Options that several commands share, each declared once, and how their values are read.

A command takes what it needs with ``add(parser, "--seed", "--json")``.  Only the command line
speaks of options: an error of another package has settings, which :func:`explain` writes as
options.
"""

import csv
import os
import re
import shlex
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable
from io import StringIO
from pathlib import Path
from typing import Any

from rejo._errors import RejoError, Setting, close_words
from rejo.catalogue import TRAINED
from rejo.cli._files import CommandError

NAMES: dict[str, Any] = {"skipinitialspace": True, "strict": True}  # how lists are written
LEAST_PRICE, HIGHEST_PRICE = 1e-6, 1e9  # those of the report


# ---- values ------------------------------------------------------------------------------


def integer(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a reader of integers in a range."""
    kind = "a positive integer" if least == 1 else f"an integer of at least {least}"
    if most is not None:
        kind = f"an integer from {least} to {most}"

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least or (most is not None and int(text) > most):
            raise ArgumentTypeError(f"must be {kind}, got {text!r}")
        return int(text)

    return read


def share(text: str) -> float:
    """Read a share between 0 and 1, also as a percentage."""
    number = text.strip()
    value = _float(number[:-1]) / 100 if number.endswith("%") else _float(number)
    if not 0 < value < 1:
        hint = f"; for {text} % write {value / 100:g}" if 1 <= value < 100 else ""
        raise ArgumentTypeError(f"must be a share between 0 and 1, such as 0.1, got {text!r}{hint}")
    return value


def capacity(text: str) -> int | float:
    """Read a number of cases, or a share of them."""
    if text.isdecimal():
        return int(text)
    try:
        return share(text)
    except ArgumentTypeError:
        problem = f"must be a number of cases, such as 50, or a share, such as 10%, got {text!r}"
        raise ArgumentTypeError(problem) from None


def reject_cost(text: str) -> float:
    value = _float(text)
    if not 0 < value < 1:
        raise ArgumentTypeError(f"must be a number between 0 and 1, got {text!r}")
    return value


def reject_costs(text: str) -> list[float]:
    return [reject_cost(part) for part in text.split(",")]


def costs(text: str) -> dict[str, float | str]:
    """Read prices, such as ``error=5000,review=40`` or a CSV file, before the classes are known."""
    from rejo.prices import read_prices  # NumPy: the help must not wait for it

    if found := re.search(r"=\s*([1-9]\d{0,2}(?:[.,]\d{3})+)\s*(?:[,;]|$)", text):
        plain = re.sub("[.,]", "", found[1])
        raise ArgumentTypeError(
            f"the mark in {found[1]} may be one between thousands: write {plain}, or another "
            f"number of decimals; got {text!r}"
        )
    try:
        prices = read_prices(text)
    except RejoError as error:
        raise ArgumentTypeError(str(error)) from None
    by_kind: dict[str, list[Any]] = {"error": [], "review": [], "accuracy": []}
    for name, price in prices.items():
        by_kind.get(name.partition(":")[0], by_kind["error"]).append(price)
    errors, reviews = by_kind["error"], by_kind["review"]
    if not (errors and reviews):
        raise ArgumentTypeError(f"must be like error=5000,review=40, got {text!r}")
    if any(isinstance(price, str) for price in prices.values()):  # it depends on the case
        return prices
    if not (min(reviews) and LEAST_PRICE <= max(errors) <= HIGHEST_PRICE):
        raise ArgumentTypeError(
            f"must be prices from {LEAST_PRICE:g} to {HIGHEST_PRICE:g}, got {text!r}"
        )
    if min(reviews) >= max(errors) and "step" not in prices:
        raise ArgumentTypeError(
            f"a review must be cheaper than the error it prevents, got {text!r}; are they swapped?"
        )
    return prices


def limits(text: str) -> float | dict[str, float]:
    """Read one share for all, such as ``0.05``, or one for each name, ``ill=0.01,well=5%``."""
    if "=" not in text:
        return share(text)
    found: dict[str, float] = {}
    for part in names(text):
        name, sign, value = part.rpartition("=")
        if not sign or not name.strip() or name.strip() in found:
            raise ArgumentTypeError(f"must be like 0.05, or ill=0.01,well=0.05, got {text!r}")
        found[name.strip()] = share(value)
    return found


def novelty(text: str) -> float:
    """Read the share of ``--novelty``, which takes the word after it for one."""
    try:
        return share(text)
    except ArgumentTypeError as error:
        hint = "" if any(map(str.isdigit, text[:1])) else "; write DATA before --novelty"
        raise ArgumentTypeError(f"{error}{hint}") from None


def amount(text: str) -> float:
    """Read a mean cost."""
    value = _float(text)
    if not 0 < value <= HIGHEST_PRICE:
        raise ArgumentTypeError(f"must be a positive amount, such as 90, got {text!r}")
    return value


def names(text: str) -> list[str]:
    """Read names between commas; one with a comma in it is quoted, as in CSV: ``"a, b",c``."""
    try:
        found = [part.strip() for row in csv.reader([text], **NAMES) for part in row]
    except csv.Error:
        found = []
    if not found or not all(found) or len(set(found)) < len(found):
        raise ArgumentTypeError(
            f"must be different names, separated by commas, got {text!r}; a name with a comma "
            "stands in double quotes: '\"a, b\",c'"
        )
    return found


def as_names(found: Iterable[str]) -> str:
    """Return names as :func:`names` reads them."""
    text = StringIO()
    csv.writer(text, lineterminator="", **NAMES).writerow(found)
    return text.getvalue()


def models(text: str) -> str:
    """Read "auto", or names of models; they stay one text."""
    for name in names(text):
        if name not in ("auto", "simple", *TRAINED):
            close = close_words(name, TRAINED, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise ArgumentTypeError(f"{name!r} is not a model{hint}; models: {', '.join(TRAINED)}")
    return text


def pairs(text: str) -> dict[str, str]:
    """Read what is meant by other words, such as ``in default=default``."""
    found: dict[str, str] = {}
    for part in names(text):
        other, sign, meant = (word.strip() for word in part.partition("="))
        if not sign or not other or not meant or other == meant:
            raise ArgumentTypeError(f"must be like OTHER=NAME, got {part!r}")
        found[other] = meant
    return found


def sentences(text: str) -> dict[str, tuple[str, str]]:
    """Read a CSV file with a sentence for low values of a feature, and one for high values."""
    try:
        with open(text, encoding="utf-8-sig", newline="") as file:
            sep = max(",;\t", key=file.readline().count)
            file.seek(0)
            rows = list(csv.DictReader(file, restval="", delimiter=sep))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ArgumentTypeError(f"{text} cannot be read as CSV in UTF-8: {error}") from None
    if not rows or not {"feature", "low", "high"} <= set(rows[0]):
        raise ArgumentTypeError(f"{text} must have the columns feature, low and high, and rows")
    return {row["feature"].strip(): (row["low"].strip(), row["high"].strip()) for row in rows}


def separator(text: str) -> str:
    """Read a character between columns, also by name."""
    value = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(value) != 1:
        raise ArgumentTypeError(f"must be one character, or 'tab', got {text!r}")
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


# ---- options -----------------------------------------------------------------------------

COLUMNS: dict[str, Any] = {"type": names, "default": [], "metavar": "COLS"}
COLUMN, FLAG = {"metavar": "COL"}, {"action": "store_true"}
LIMIT: dict[str, Any] = {"type": limits, "metavar": "LIMITS"}
PAIRS: dict[str, Any] = {"type": pairs, "default": {}}

# fmt: off
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {  # how a value is read, and the help
    "model": ({"type": Path, "metavar": "MODEL"}, "model file written by rejo train"),
    "data": ({"metavar": "DATA"}, "CSV, Excel (.xlsx), Parquet or JSON (.jsonl) file; a table of a "
             "database, such as sqlite:///loans.db#loans; - is standard input"),
    "--target": (COLUMN, "column with the classes"),
    "--order": ({"type": names, "metavar": "A,B,C"}, "the classes, lowest first; without it, three "
                "or more classes are taken as unordered"),
    "--id": (COLUMN, "column that names the cases; its values are kept exactly as written"),
    "--by": (COLUMN, "report on each value of this column, such as region; it is not a feature"),
    "--groups": (COLUMN, "rows with the same value belong together, such as all visits of a "
                 "patient, and are never split between training and test; it is not a feature"),
    "--group": (COLUMN, "column to promise by, such as sex; it is not a feature, and rejo predict "
                "needs it (only to report: --by; rows of one person: --groups)"),
    "--time": (COLUMN, "dates or numbers in the order in which cases arrive: the latest cases "
               "prove what --confidence promises; it is not a feature"),
    "--drop": (COLUMNS, "other columns that are not features, separated by commas"),
    "--same": (PAIRS | {"metavar": "OTHER=CLASS"}, "classes that are another one, such as 'in "
               "default=default', separated by commas"),
    "--keep": (COLUMNS, "dates that are features though they order the rows"),
    "--accept": (COLUMNS, "columns that are right though they are not as in training"),
    "--header": ({"type": integer(1), "metavar": "N"}, "line of a CSV file, or row of a sheet, "
                 "that names the columns (default: the first, or the one below a title)"),
    "--rename": (PAIRS | {"metavar": "OTHER=NAME"}, "columns that have another name here, such as "
                 "'Annual income=income', separated by commas"),
    "--sep": ({"type": separator, "metavar": "S"}, "character between columns, or 'tab' (default: "
              "detected)"),
    "--decimal": ({"choices": (".", ","), "metavar": "M"}, "decimal mark (default: detected for "
                  "each column)"),
    "--thousands": ({"choices": (".", ",", "'", " "), "metavar": "M"}, "mark between thousands: "
                    "'.' in 2.100 (default: detected for each column)"),
    "--missing": (COLUMNS | {"metavar": "WORDS"}, "more words that mean a missing value, such as "
                  "unknown,-99"),
    "--words": (COLUMNS, "read these columns as words, even if they look like numbers or dates"),
    "--exact": (FLAG, "keep words apart that differ only in case or blanks, such as Good and GOOD"),
    "--sheet": ({"metavar": "NAME"}, "sheet of an Excel file (default: the only one that is not "
                "empty)"),
    "--query": ({"metavar": "SQL"}, "SELECT that gives the table, or the name of a table, if DATA "
                "is a database"),
    "--encoding": ({"metavar": "NAME"}, "text encoding, such as latin-1 (default: UTF-8, or what "
                   "the file says)"),
    "--review-budget": ({"type": share, "metavar": "B"}, "send at most this share of the cases to "
                        "review, such as 0.1, with as few errors as possible"),
    "--max-error": ({"type": share, "metavar": "E"}, "at most this share of the decided cases is "
                    "wrong, such as 0.02, with as few reviews as possible"),
    "--reject-cost": ({"type": reject_cost, "metavar": "W"}, "lowest total cost, if an error costs "
                      "1 and a review costs W"),
    "--costs": ({"type": costs, "metavar": "PRICES"}, "lowest total cost at these prices, such as "
                "error=5000,review=40; by true class error:ill=5000,error:well=300,review=40, for "
                "a pair 'ill>well=5000', per class off step=100; for each case by its columns "
                "'error:default=0.6*amount+50'; or a CSV file with a row for each true class, and "
                "columns for the decisions and 'review'"),
    "--confidence": ({"type": share, "metavar": "P"}, "promise these limits with this probability, "
                     "such as 0.95; some cases are set aside to prove them. With --costs alone, "
                     "bounds the mean cost of a case"),
    "--max-error-by-class": (LIMIT, "at most this share of the decided cases of each true class is "
                             "wrong: 0.05, or ill=0.01,well=0.05"),
    "--max-error-by-decision": (LIMIT, "at most this share of the decisions for each class is "
                                "wrong"),
    "--max-error-by-group": (LIMIT, "at most this share of the decided cases of each value of "
                             "--group is wrong"),
    "--review-budget-by-group": (LIMIT, "send at most this share of the cases of each value of "
                                 "--group to review"),
    "--max-cost": ({"type": amount, "metavar": "AMOUNT"}, "a case costs at most this much on "
                   "average, at the prices of --costs"),
    "--small-groups": ({"choices": ("error", "review")}, "if a value of --group has too few cases "
                       "for a promise: stop (error, default), or send all its cases to review"),
    "--novelty": ({"type": novelty, "nargs": "?", "const": 0.02, "metavar": "SHARE"}, "also send "
                  "cases unlike all of training to review, at most this share of ordinary cases "
                  "(default: 0.02); they count in the budget"),
    "--model": ({"type": models, "default": "auto", "metavar": "NAMES"}, "auto (default) blends "
                "all models that suit the table, unless a single one is better beyond chance; "
                "simple takes the best single one, blend always the blend; or models to choose "
                "from: " + ", ".join(TRAINED)),
    "--output": ({"type": Path}, ""),
    "--capacity": ({"type": capacity, "metavar": "N"}, "send at most this many cases of the file "
                   "to review, such as 50, or a share, such as 10%%: those most worth it"),
    "--audit": ({"type": share, "metavar": "SHARE"}, "also send this share of the cases that would "
                "be decided to review, drawn at random, such as 1%%: what the reviewers find in "
                "them is the error rate"),
    "--why": ({"nargs": "?", "const": "ambiguous", "metavar": "WHOSE"}, "add a column 'why': for "
              "ambiguous cases, the features that pull to either side; with 'decided' or a class, "
              "also for cases that are decided, or decided as this class"),
    "--why-words": ({"type": sentences, "metavar": "CSV"}, "file with the columns feature, low and "
                    "high: what --why says of a feature whose value is low or high, such as 'Your "
                    "debt of {value} is high.'"),
    "--strict": (FLAG, "stop at a row that is not as in training, instead of sending it to review"),
    "--report": ({"type": Path, "metavar": "HTML"}, "also write a report, one HTML page"),
    "--overwrite": (FLAG, "replace files that already exist"),
    "--seed": ({"type": integer(0, 2**32 - 2), "default": 0, "metavar": "N"},  # NumPy's end there
               "random seed (default: 0)"),
    "--n-jobs": ({"type": integer(1), "metavar": "N"}, "number of processes (default: one per core "
                 "for large tables)"),
    "--dask": ({"metavar": "ADDRESS"}, "work on the workers of this Dask scheduler, such as "
               "tcp://10.0.0.1:8786"),
    "--trusted": (COLUMNS | {"metavar": "TYPES"}, "types that the model file may name besides "
                  "those of rejo's list; they are not checked, so trust them only in files whose "
                  "origin you know"),
    "--max-bytes": ({"type": integer(1), "default": 1 << 28, "metavar": "N"}, "how much memory "
                    "opening the model may take (default: 256 MB)"),
    "--json": (FLAG, "print the result as JSON"),
    "--verbose": (FLAG, "also say how every column was read, and how the models compared"),
}
MANY = "number of processes, if DATA is several files (default: 1)"  # another help of --n-jobs
READING = ("--sep", "--decimal", "--thousands", "--missing", "--words", "--exact", "--encoding",
           "--sheet", "--query", "--header", "--rename")
LABELLED = ("data", "--target", "--order", "--same", "--id", "--by", "--groups", "--drop", "--keep")
LIMITS = ("--max-error-by-class", "--max-error-by-decision", "--max-error-by-group",
          "--review-budget-by-group", "--max-cost")
TARGETS = {"--review-budget": "review_budget", "--max-error": "max_error",
           "--reject-cost": "reject_cost", "--costs": "cost_of"}
# fmt: on
# Parameters in Python, and the options for them.
PARAMETERS = {
    option[2:].replace("-", "_"): option for option in OPTIONS if option.startswith("--")
} | {
    "class_order": "--order",
    "class": "--class",
    "client": "--dask",
    "cost_of": "--costs",
    "estimator": "--model",
    "out": "--output",
    "reviewers": "--reviewers",
    "outcome": "--outcome",
    "when": "--when",
    "who": "--who",
    "review_share": "--novelty",
}  # fmt: skip


def add(parser: Any, *options: str, title: str | None = None, **changes: Any) -> None:
    """Add shared options to a command, under a title of their own if there is one."""
    place = parser if title is None else parser.add_argument_group(title)
    for option in options:
        short = ["-o"] if option == "--output" else []
        how, help = OPTIONS[option]
        place.add_argument(*short, option, **(how | {"help": help} | changes))


def add_reading(parser: Any) -> None:
    """Add the options for reading a table."""
    add(parser, *READING, title="reading the table")


def add_opening(parser: Any) -> None:
    """Add the options for opening a model file."""
    add(parser, "--trusted", "--max-bytes", title="opening the model")


def opening(arguments: Namespace) -> dict[str, Any]:
    """Return these options as keyword arguments of ``load`` and ``inspect``."""
    return {"trusted": arguments.trusted, "max_bytes": arguments.max_bytes}


def reading(arguments: Namespace) -> dict[str, Any]:
    """Return these options as keyword arguments of the readers."""
    found = {option[2:]: getattr(arguments, option[2:]) for option in READING}
    return found | {"header": True if found["header"] is None else found["header"]}


def target(arguments: Namespace) -> dict[str, Any]:
    """Return what is asked for as keyword arguments of ``RejectClassifierCV``."""

    def value(option: str) -> Any:
        return getattr(arguments, option[2:].replace("-", "_"))

    given = [option for option in (*TARGETS, *LIMITS) if value(option) is not None]
    if not given or (len(given) > 1 and "--reject-cost" in given):
        gave = f"you gave {' and '.join(given)}" if given else "you gave none"
        raise CommandError(
            f"give one of {', '.join(TARGETS)}, or limits such as --max-error-by-class; {gave}. "
            "For example, --review-budget 0.1 sends at most one case in ten to review"
        )
    found = {TARGETS.get(option, option[2:].replace("-", "_")): value(option) for option in given}
    if "max_cost" in found and "cost_of" not in found:
        raise CommandError("--max-cost needs the prices: add --costs error=5000,review=40")
    by_group = [option for option in given if option.endswith("-by-group")]
    _check_group(arguments.group, by_group, arguments)
    if by_group and arguments.small_groups:
        found["small_groups"] = arguments.small_groups
    if arguments.confidence is None:
        if "max_cost" in found:
            raise CommandError(
                "--max-cost is a promise: add --confidence 0.95; for the lowest cost, leave it out"
            )
        return found
    if "--reject-cost" in given:
        raise CommandError(
            "--confidence promises a limit: use it with --review-budget, --max-error or --costs"
        )
    return found | {"confidence": arguments.confidence}


def _check_group(column: str | None, by_group: Iterable[str], arguments: Namespace) -> None:
    """Refuse limits by group without the column, and the column without such a limit."""
    if column is None:
        also = ["--small-groups"] * (arguments.small_groups is not None)
        if wanting := [*by_group, *also]:
            raise CommandError(f"{wanting[0]} needs the column to promise by: add --group COL")
    elif not by_group:
        raise CommandError(
            f"--group {column} is a column to promise by: say what, with --max-error-by-group or "
            f"--review-budget-by-group. Only to report by it, use --by {column}"
        )


def n_jobs(arguments: Namespace, n_rows: int) -> int:
    """Return the number of processes: small tables are done before others have started."""
    if arguments.n_jobs is not None:
        return int(arguments.n_jobs)
    return 1 if n_rows < 2_000 else os.cpu_count() or 1


def explain(error: Exception) -> str:
    """Return the message of an error, with options where Python names parameters."""
    if not isinstance(error, RejoError):
        return str(error)
    option, said = PARAMETERS.get(str(error.parameter)), error.message().spelled(_written)
    return said if option is None or option in said else f"{option}: {said}"


def _written(setting: Setting) -> str:
    """Return a setting as it is typed: ``--max-error-by-class ill=0.1``."""
    name, value, key = setting
    if name not in PARAMETERS:
        return str(setting)
    if value is not None:
        number = isinstance(value, int | float)
        value = as_names(value) if isinstance(value, list) else f"{value:g}" if number else value
    given = "=".join(part for part in (key, value) if part is not None)
    return f"{PARAMETERS[name]} {shlex.quote(given)}" if given else PARAMETERS[name]
