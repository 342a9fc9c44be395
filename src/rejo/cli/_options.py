"""Options that several commands have, and how their values are read."""

import argparse
import os
from typing import Any

from rejo.catalogue import TRAINED
from rejo.cli._files import CommandError

LEAST_PRICE, HIGHEST_PRICE = 1e-6, 1e9  # those of the report
MODELS = ("auto", *TRAINED)


def add_table(parser: Any) -> None:
    """Options for reading a table."""
    group = parser.add_argument_group("reading the table")
    group.add_argument(
        "--sep", type=_separator, metavar="S", help="what separates the columns (default: found)"
    )
    group.add_argument(
        "--decimal", choices=(".", ","), metavar="M", help="decimal mark (default: found)"
    )
    group.add_argument(
        "--encoding", metavar="NAME", help="such as latin-1 (default: UTF-8, or by its mark)"
    )


def table_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return these as keyword arguments of the readers."""
    return {name: getattr(arguments, name) for name in ("sep", "decimal", "encoding")}


def add_target(parser: Any) -> None:
    """Describe what is asked of the model: one of four."""
    group = parser.add_argument_group("the operating point (one of these)")
    group.add_argument(
        "--review-budget",
        type=share,
        metavar="B",
        help="at most this share of the cases goes to review, such as 0.1, with few errors",
    )
    group.add_argument(
        "--max-error",
        type=share,
        metavar="E",
        help="at most this share of the decided cases is wrong, such as 0.02, with few reviews",
    )
    group.add_argument(
        "--reject-cost",
        type=reject_cost,
        metavar="W",
        help="least cost, where a wrong decision costs 1 and a review W, at most 0.5",
    )
    group.add_argument(
        "--costs",
        type=costs,
        metavar="error=E,review=R",
        help="the same by prices, such as error=5000,review=40",
    )
    group.add_argument(
        "--confidence",
        type=confidence,
        metavar="P",
        help="guarantee the budget or the error rate with this probability, such as 0.95; a share "
        "of the cases is kept aside to prove it",
    )


def target_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the target as keyword arguments of ``RejectClassifierCV``."""
    options = {
        "--review-budget": ("review_budget", arguments.review_budget),
        "--max-error": ("max_error", arguments.max_error),
        "--reject-cost": ("reject_cost", arguments.reject_cost),
        "--costs": ("cost_of", arguments.costs),
    }
    given = {option: pair for option, pair in options.items() if pair[1] is not None}
    if len(given) != 1:
        found = f"{' and '.join(given)} were given" if given else "none was given"
        raise CommandError(
            f"give one of {', '.join(options)}; {found}. --review-budget 0.1 sends at most one "
            "case in ten to review"
        )
    target = dict(given.values())
    if arguments.confidence is not None:
        if not {"review_budget", "max_error"} & target.keys():
            raise CommandError(
                "--confidence guarantees a rate: give it with --review-budget or --max-error"
            )
        target["confidence"] = arguments.confidence
    return target


def add_n_jobs(parser: Any) -> None:
    """Describe the number of processes."""
    parser.add_argument(
        "--n-jobs", type=count, metavar="N", help="processes (default: one a core for large tables)"
    )


def n_jobs(arguments: argparse.Namespace, n_rows: int) -> int:
    """Return the number of processes: small tables are done before others have started."""
    if arguments.n_jobs is not None:
        return int(arguments.n_jobs)
    return 1 if n_rows < 2_000 else os.cpu_count() or 1


def add_output(parser: Any, *names: str, metavar: str, help: str, **options: Any) -> None:
    """Describe an output file, and ``--overwrite`` once."""
    parser.add_argument(*names, metavar=metavar, help=help, **options)
    if not any("--overwrite" in action.option_strings for action in parser._actions):
        parser.add_argument("--overwrite", action="store_true", help="replace files that exist")


def add_json(parser: Any) -> None:
    """Describe the output for machines."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


# ---- values ------------------------------------------------------------------------------


def count(text: str) -> int:
    """Read a number from 1 on."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer from 1 on, got {text!r}")
    return int(text)


def seed(text: str) -> int:
    """Read a seed: a number from 0 on."""
    # NumPy's seeds end at 2**32 - 1.
    if not text.isdecimal() or int(text) >= 2**32 - 1:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 4294967294, got {text!r}")
    return int(text)


def share(text: str) -> float:
    """Read a share between 0 and 1, also as a percentage."""
    number = text.strip()
    try:
        value = float(number[:-1]) / 100 if number.endswith("%") else float(number)
    except ValueError:
        value = float("nan")
    if not 0 < value < 1:
        hint = f"; for {text} % write {float(text) / 100:g}" if 1 <= value < 100 else ""
        raise argparse.ArgumentTypeError(
            f"must be a share between 0 and 1, such as 0.1, got {text!r}{hint}"
        )
    return value


def confidence(text: str) -> float:
    """Read a probability."""
    return share(text)


def reject_cost(text: str) -> float:
    """Read a reject cost."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value <= 0.5:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 0.5, got {text!r}")
    return value


def reject_costs(text: str) -> list[float]:
    """Read reject costs with commas between them."""
    return [reject_cost(part) for part in text.split(",")]


def folds(text: str) -> int:
    """Read a number of folds, from 2 on."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"must be an integer from 2 on, got {text!r}")
    return int(text)


def rows(text: str) -> int:
    """Read a number of rows that is enough to compare on."""
    if not text.isdecimal() or int(text) < 50:
        raise argparse.ArgumentTypeError(f"must be an integer from 50 on, got {text!r}")
    return int(text)


def costs(text: str) -> dict[str, float]:
    """Read two prices: ``error=5000,review=40``."""
    pairs = [part.partition("=") for part in text.split(",")]
    try:
        prices = {name.strip(): float(value) for name, _, value in pairs}
    except ValueError:
        prices = {}
    if set(prices) != {"error", "review"} or len(pairs) != 2:
        raise argparse.ArgumentTypeError(f"must be like error=5000,review=40, got {text!r}")
    error, review = prices["error"], prices["review"]
    if not all(LEAST_PRICE <= price <= HIGHEST_PRICE for price in (error, review)):
        raise argparse.ArgumentTypeError(
            f"must be prices from {LEAST_PRICE:g} to {HIGHEST_PRICE:g}, got {text!r}"
        )
    if review >= error:
        raise argparse.ArgumentTypeError(
            f"a review must be cheaper than the error that it prevents, got {text!r}; are they "
            "swapped?"
        )
    if review > error / 2:
        raise argparse.ArgumentTypeError(
            f"a review at {review:g} costs more than tossing a coin, {error / 2:g} on average: no "
            "case is worth one"
        )
    return prices


def names(text: str) -> list[str]:
    """Read names with commas between them."""
    found = [part.strip() for part in text.split(",")]
    if not all(found) or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(
            f"must be different names with commas between them, got {text!r}"
        )
    return found


def _separator(text: str) -> str:
    value = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(text, text)
    if len(value) != 1:
        raise argparse.ArgumentTypeError(f"must be one character, or 'tab', got {text!r}")
    return value
