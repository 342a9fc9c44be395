"""``rejo evaluate``: a model on cases whose classes are known by now."""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._cases import count_groups
from rejo.cli._files import CommandError, check_apart, check_output, warn, write_text
from rejo.cli._model_file import Opened, open_model, vague, warn_of_surprises
from rejo.cli._reporting import check_report, evaluation_report, made_by

RATES = {
    "rejection_rate": "sent to review",
    "error_rate": "decided wrongly, of all",
    "accepted_error_rate": "wrong, of the decided",
}


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "evaluate",
        help="try a model on cases whose classes are known",
        description="Decide cases whose classes are known, and compare what became of them with "
        "what was expected when the model was trained.",
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="model file of rejo train")
    parser.add_argument("data", metavar="DATA", help="CSV or Parquet file; - is standard input")
    parser.add_argument(
        "--target", metavar="COL", help="column of the classes (default: that of the training)"
    )
    parser.add_argument(
        "--by", metavar="COL", help="column to report on (default: that of the training)"
    )
    options.add_output(parser, "--report", type=Path, metavar="HTML", help="write a page about it")
    parser.add_argument(
        "--costs",
        type=options.costs,
        metavar="error=E,review=R",
        help="prices for the report (default: those of the training)",
    )
    options.add_table(parser)
    options.add_json(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, compare."""
    check_apart(arguments.model, arguments.data, arguments.report)
    if arguments.report is not None:
        check_output(
            arguments.report, (".html", ".htm"), overwrite=arguments.overwrite, option="--report"
        )
        check_report()
    opened = open_model(arguments.model)
    frame, y, by, path = _read(arguments, opened)
    X = frame[list(opened.encoder.kinds_)]
    surprises: dict[str, Counter[str]] = {}
    opened.note_surprises(X, surprises)
    warn_of_surprises(surprises, len(y))
    rates = _rates(opened.judge(X).decision, y)
    groups = opened.table.get("groups")
    n = count_groups(frame[groups]) if groups in frame.columns else len(y)
    if arguments.json:
        json.dump(_result(opened, rates, len(y), n, arguments), sys.stdout, indent=1)
        print()
    else:
        of = "" if n == len(y) else f" of {n:,} different {groups!r}"
        print(f"{path}: {len(y):,} cases{of}, decided by {arguments.model}.\n")
        print(_compare(opened, rates, n) + "\n")
        print("\n".join(_notes(opened, rates, n)))
        if by is not None and arguments.report is None:
            print(f"\nBy {by}: see --report.")
    if arguments.report is None:
        return
    prices = arguments.costs or opened.table.get("prices")
    page = evaluation_report(
        opened.model,
        X,
        y,
        opened.classes,
        size=n,
        title=f"{Path(path).name}: what was decided, and what went to review",
        notes=[" ".join(_notes(opened, rates, n))],
        prices=None if prices is None else (prices["error"], prices["review"]),
        by=None if by is None else {by: _texts(frame[by])},
        provenance={
            "Data": f"{Path(path).name}, {len(y):,} rows",
            "Model": f"{arguments.model.name}, saved {opened.found.date}",
            "Model hash (SHA-256)": opened.found.payload_hash,
            **made_by(),
        },
        command=arguments.command,
    )
    write_text(arguments.report, page, overwrite=arguments.overwrite)
    if not arguments.json:
        print(f"\nReport: {arguments.report}")


def _read(arguments: argparse.Namespace, opened: Opened) -> tuple[Any, Any, str | None, str]:
    """Table, classes as indices (n,), the column of --by, and a name for the file."""
    import numpy as np
    import pandas as pd

    from rejo.tables import TableError, read_chunks

    target = arguments.target or opened.table.get("target")
    if target is None:
        raise CommandError(f"{arguments.model} does not name the column of the classes: --target")
    by = arguments.by or opened.table.get("by")
    kept = [target, by, opened.table.get("groups")]
    text = list(dict.fromkeys(name for name in kept if name is not None))
    if target in opened.encoder.kinds_:
        raise CommandError(f"--target {target!r} is a feature of {arguments.model}")
    optional = [name for name in text if name not in (target, arguments.by)]
    chunks = read_chunks(
        arguments.data,
        opened.encoder,
        text=text,
        optional=optional,
        **options.table_options(arguments),
    )
    frame = pd.concat(list(chunks))
    frame = _with_class(frame, target)
    path = "stdin" if arguments.data == "-" else arguments.data
    if not len(frame):
        raise TableError(f"{path} has no rows with a class in column {target!r}")
    classes = opened.classes
    y = pd.Index(classes).get_indexer(frame[target])
    if (y < 0).any():
        row = int(np.flatnonzero(y < 0)[0])
        value = frame[target].iloc[row]
        what = f"{str(value)[:40]!r} is no class"
        raise TableError(
            f"{path}, row {frame.index[row] + 1}, column {target!r}: {what}; the model knows "
            + ", ".join(classes)
        )
    return frame, y, by if by in frame.columns else None, path


def _with_class(frame: Any, target: str) -> Any:
    """Rows whose class is known; it is said if there are others."""
    from rejo.tables import MISSING

    known = frame[target].notna() & ~frame[target].isin(MISSING)
    if not known.all():
        warn(f"{int((~known).sum()):,} of {len(known):,} rows have no class yet: left out")
    return frame[known]


def _texts(column: Any) -> Any:
    """Values of a column (n,) as strings, also of one that is a feature."""
    return column.astype(object).where(column.notna(), "(missing)").to_numpy(str)


def _rates(decision: Any, y: Any) -> dict[str, Any]:
    """Rates seen, each with its 95 % interval."""
    import numpy as np

    from rejo.metrics import Interval, wilson_interval

    n, rejected = len(y), int((decision < 0).sum())
    wrong = int(((decision >= 0) & (decision != np.asarray(y))).sum())
    decided = n - rejected
    none = Interval(float("nan"), 0.0, 1.0)
    return {
        "rejection_rate": wilson_interval(rejected, n),
        "error_rate": wilson_interval(wrong, n),
        "accepted_error_rate": wilson_interval(wrong, decided) if decided else none,
    }


def _compare(opened: Opened, rates: dict[str, Any], n: int) -> str:
    """A table of what was seen and what was expected."""
    expected = _expected(opened, n)
    lines = [
        f"{'':<26}{'seen':>8}" + f"{'expected':>12}   in 95 % of such batches" * bool(expected)
    ]
    for name, title in RATES.items():
        line = f"{title:<26}{_percent(rates[name].estimate):>8}"
        if name in expected:
            rate = expected[name]
            line += f"{_percent(rate.estimate):>12}   {rate.low:.1%} to {rate.high:.1%}"
        lines.append(line)
    return "\n".join(lines)


def _percent(rate: float) -> str:
    return "-" if rate != rate else f"{rate:.1%}"


def _expected(opened: Opened, n: int) -> dict[str, Any]:
    """Rates, with their ranges of 95 %, that so many cases should show."""
    found = opened.expect(n, 0.95)
    known = [name for name in RATES if name in found]
    return {name: found[name] for name in known if found[name].estimate == found[name].estimate}


def _surprises(opened: Opened, rates: dict[str, Any], n: int) -> list[str]:
    """What lies outside the range that was expected."""
    found = []
    for name, rate in _expected(opened, n).items():
        seen, title = rates[name].estimate, RATES[name]
        if not rate.low - 1e-9 <= seen <= rate.high + 1e-9 and seen == seen:
            side = "more" if seen > rate.high else "less"
            found.append(f"{title[0].upper()}{title[1:]}: {side} than expected, beyond chance.")
    if found:
        found.append("These cases may differ from those of the training.")
    return found


def _notes(opened: Opened, rates: dict[str, Any], n: int) -> list[str]:
    """Say whether what was seen agrees with what was expected."""
    if found := _surprises(opened, rates, n):
        return found
    if _expected(opened, n):
        agrees = "What was seen agrees with what was expected when the model was trained."
        wide = vague(opened.model.n_effective_)
        return [agrees, wide] if wide else [agrees]
    return ["The file of the model tells no rates to compare with."]


def _result(
    opened: Opened, rates: dict[str, Any], n_cases: int, n: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    from math import isfinite

    seen = {
        name: {key: value if isfinite(value) else None for key, value in interval._asdict().items()}
        for name, interval in rates.items()
    }
    return {
        "n_cases": n_cases,
        "seen": seen,
        "expected": {name: rate._asdict() for name, rate in _expected(opened, n).items()},
        "surprises": _surprises(opened, rates, n),
        "report": None if arguments.report is None else str(arguments.report),
    }
