"""``rejo evaluate``: a model on cases whose classes are known."""

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from rejo.cli import _options as options
from rejo.cli._cases import count_groups
from rejo.cli._files import CommandError, check_apart, print_json, warn, write_file
from rejo.cli._model_file import Opened, open_model, vague, warn_of_unseen
from rejo.cli._reporting import SHARES, check_report, evaluation_report, made_by

HELP = "test a model on cases whose classes are known"
DESCRIPTION = (
    "Decide cases whose classes are known, and compare the observed rates with the rates that "
    "were expected when the model was trained."
)
RATES = {
    "rejection_rate": "sent to review",
    "error_rate": "wrong, of all cases",
    "accepted_error_rate": "wrong, of the decided",
}


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model", "data")
    options.add(
        parser, "--target", help="column with the classes (default: the same as in training)"
    )
    options.add(
        parser,
        "--by",
        help="report on each value of this column separately (default: the same as in training)",
    )
    options.add(parser, "--report", "--overwrite")
    options.add(parser, "--costs", help="prices for the report (default: the same as in training)")
    options.add_reading(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, compare."""
    check_apart(arguments.model, arguments.data, arguments.report)
    check_report(arguments)
    opened = open_model(arguments.model)
    frame, y, by, path = _read(arguments, opened)
    X = frame[list(opened.encoder.kinds_)]
    unseen: dict[str, Counter[str]] = {}
    opened.note_unseen(X, unseen)
    warn_of_unseen(unseen, len(y))
    from rejo.selection import ranking_outcomes

    points, chosen = ranking_outcomes(opened.model, X, SHARES if arguments.report else ())
    rates = _rates(points[chosen].decision, y)
    groups = opened.table.get("groups")
    n = count_groups(frame[groups]) if groups in frame.columns else len(y)
    if arguments.json:
        print_json(_result(opened, rates, len(y), n, arguments))
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
        points,
        chosen,
        y,
        opened.classes,
        size=n,
        title=f"{Path(path).name}: what was decided and what went to review",
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
    write_file(arguments.report, page, overwrite=arguments.overwrite)
    if not arguments.json:
        print(f"\nReport: {arguments.report}")


def _read(arguments: argparse.Namespace, opened: Opened) -> tuple[Any, Any, str | None, str]:
    """Table, classes as indices (n,), the column of --by, and a name for the file."""
    import numpy as np
    import pandas as pd

    from rejo.tables import TableError, read_chunks

    target = arguments.target or opened.table.get("target")
    if target is None:
        raise CommandError(
            f"{arguments.model} does not say which column has the classes: give --target"
        )
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
        **options.reading(arguments),
    )
    frame = pd.concat(list(chunks))
    frame = _with_class(frame, target)
    path = "stdin" if arguments.data == "-" else arguments.data
    if not len(frame):
        raise TableError(f"no row has a class in column {target!r}", where=path)
    classes = opened.classes
    y = pd.Index(classes).get_indexer(frame[target])
    if (y < 0).any():
        row = int(np.flatnonzero(y < 0)[0])
        value = str(frame[target].iloc[row])[:40]
        raise TableError(
            f"the model has no class {value!r}; its classes are {', '.join(classes)}",
            where=f"{path}, row {frame.index[row] + 1}, column {target!r}",
        )
    return frame, y, by if by in frame.columns else None, path


def _with_class(frame: Any, target: str) -> Any:
    """Rows whose class is known; warn if there are others."""
    from rejo.tables import MISSING

    known = frame[target].notna() & ~frame[target].isin(MISSING)
    if not known.all():
        warn(f"{int((~known).sum()):,} of {len(known):,} rows have no class yet and were ignored")
    return frame[known]


def _texts(column: Any) -> Any:
    """Values of a column (n,) as strings, even if it is a feature."""
    return column.astype(object).where(column.notna(), "(missing)").to_numpy(str)


def _rates(decision: Any, y: Any) -> dict[str, Any]:
    """Observed rates, each with its 95 % interval."""
    from rejo.metrics import tally, wilson_interval

    found = tally(decision, y)
    rejected, wrong, decided = int(found.rejected), int(found.wrong), int(found.decided)
    return {
        "rejection_rate": wilson_interval(rejected, len(y)),
        "error_rate": wilson_interval(wrong, len(y)),
        "accepted_error_rate": wilson_interval(wrong, decided),
    }


def _compare(opened: Opened, rates: dict[str, Any], n: int) -> str:
    """A table of observed and expected rates."""
    expected = _expected(opened, n)
    lines = [
        f"{'':<26}{'observed':>8}"
        + f"{'expected':>12}   in 95 % of batches this size" * bool(expected)
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
    """Expected rates of ``n`` cases, with their 95 % ranges."""
    found = opened.expect(n, 0.95)
    known = [name for name in RATES if name in found]
    return {name: found[name] for name in known if found[name].estimate == found[name].estimate}


def _surprises(opened: Opened, rates: dict[str, Any], n: int) -> list[str]:
    """Which rates lie outside the expected range."""
    found = []
    for name, rate in _expected(opened, n).items():
        seen, title = rates[name].estimate, RATES[name]
        if not rate.low - 1e-9 <= seen <= rate.high + 1e-9 and seen == seen:
            side = "more" if seen > rate.high else "less"
            found.append(f"{title[0].upper()}{title[1:]}: significantly {side} than expected.")
    if found:
        found.append("These cases may differ from the training cases.")
    return found


def _notes(opened: Opened, rates: dict[str, Any], n: int) -> list[str]:
    """Say whether the observed rates match the expected ones."""
    if found := _surprises(opened, rates, n):
        return found
    if _expected(opened, n):
        matches = "Observed rates match what was expected when the model was trained."
        wide = vague(opened.model.n_effective_)
        return [matches, wide] if wide else [matches]
    return ["The model file has no expected rates to compare with."]


def _result(
    opened: Opened, rates: dict[str, Any], n_cases: int, n: int, arguments: argparse.Namespace
) -> dict[str, Any]:
    return {
        "n_cases": n_cases,
        "seen": {name: interval._asdict() for name, interval in rates.items()},
        "expected": {name: rate._asdict() for name, rate in _expected(opened, n).items()},
        "surprises": _surprises(opened, rates, n),
        "report": None if arguments.report is None else str(arguments.report),
    }
