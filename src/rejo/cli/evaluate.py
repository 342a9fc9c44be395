"""``rejo evaluate``: a model on cases whose classes are known."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo._io import percent, without_password
from rejo.cli import _breakdown as breakdown
from rejo.cli import _options as options
from rejo.cli._cases import count_groups, fingerprint
from rejo.cli._class_names import read_classes, respelled
from rejo.cli._files import CommandError, check_apart, print_json, warn
from rejo.cli._group_columns import texts
from rejo.cli._in_doubt import about_column
from rejo.cli._model_file import needing, open_model, vague
from rejo.cli._reporting import check_report, doubtful, in_prices, promised, write_report

if TYPE_CHECKING:
    from rejo.scoring.opened import Opened

HELP = "test a model on cases whose classes are known"
DESCRIPTION = (
    "Decide cases whose classes are known. Say whether the target that was asked for in training "
    "was met, compare the observed rates with those that were expected, and split them by class "
    "and group."
)
NO_TEST = (
    "these are the cases that the model was trained on, so their rates are no test of it: use "
    "cases that it has not seen, or the rates that rejo train printed"
)
SHARES = [0.01 * i for i in range(51)]  # to review, on the slider of the report
RATES = {
    "rejection_rate": "sent to review",
    "error_rate": "wrong, of all cases",
    "accepted_error_rate": "wrong, of the decided",
}


def add(parser: Any) -> None:
    """Declare the options."""
    same = "(default: the same as in training)"
    options.add(parser, "model", "data")
    options.add(parser, "--target", help=f"column with the classes {same}")
    options.add(parser, "--by", help=f"report on each value of this column separately {same}")
    groups = f"column of the groups that the model promises by {same}; without promises, as --by"
    options.add(parser, "--group", help=groups)
    options.add(parser, "--report", "--overwrite")
    options.add(parser, "--costs", help=f"prices for the report {same}")
    options.add_reading(parser)
    options.add_opening(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, compare."""
    import numpy as np
    import pandas as pd

    from rejo.scoring.doubt_counts import DoubtCounts

    check_apart(arguments.model, arguments.data, arguments.report)
    check_report(arguments)
    opened = open_model(arguments)
    by_group = opened.group_column(arguments.group)
    frame, y, by, path, spellings = _read(arguments, opened, by_group)
    group = None if by_group is None else opened.groups_of(frame[by_group])
    X, doubts = opened.check(frame[list(opened.encoder.kinds_)])
    classes = np.array(opened.classes, dtype=object)
    trained_on = opened.table.get("cases") == fingerprint(X, opened.encoder.kinds_, classes[y])
    if trained_on:
        warn(f"{path}: {NO_TEST}")
    points, chosen = _outcomes(opened, X, doubts, SHARES if arguments.report else (), group)
    in_doubt = DoubtCounts()
    in_doubt.add(doubts)
    if of_column := about_column(in_doubt, len(y)):
        warn(of_column)
    point = points[chosen]
    groups = opened.table.get("groups")
    n = count_groups(frame[groups]) if groups in frame.columns else len(y)
    rates = _rates(point.decision, y, n / len(y))
    expected = opened.expect(n, 0.95)
    surprises = _surprises(rates, expected)
    notes = surprises or _agreement(opened, expected)
    verdicts = _verdicts(opened, point, y, group, by_group, n)
    costs = _costs(point, y, _prices(arguments, opened))
    values = None if by is None else texts(frame[by] if by != by_group else pd.Series(group))
    parts = breakdown.split(point.decision, y, opened.classes, by, values)
    if arguments.json:
        print_json({
            "n_cases": len(y),
            "n_independent": n,
            "trained_on": trained_on,
            "in_doubt": len(doubts),
            "doubts": in_doubt.as_json(),
            "target": [verdict._asdict() for verdict in verdicts],
            "seen": {name: rate._asdict() for name, rate in rates.items()},
            "expected": {name: rate._asdict() for name, rate in expected.items()},
            "costs": costs,
            "surprises": surprises,
            **breakdown.as_json(parts, n / len(y)),
            "report": None if arguments.report is None else str(arguments.report),
        })  # fmt: skip
    else:
        of = "" if n == len(y) else f" of {n:,} different {groups!r}, each of which counts once"
        print(f"{path}: {len(y):,} cases{of}, decided by {arguments.model}.")
        print("\n".join([*spellings, *[in_doubt.summary()] * bool(doubts), ""]))
        told = [verdict.sentence for verdict in verdicts]
        if costs is not None and arguments.costs is not None:
            told.append(
                f"At the prices of --costs, a case cost {costs['decided']:,.4g} on average; if all "
                f"were reviewed it would have cost {costs['review_all']:,.4g}, if all were decided "
                f"{costs['decide_all']:,.4g}."
            )
        if told:
            print("\n".join(told) + "\n")
        print(_compare(rates, expected))
        print("\n".join(notes) + "\n")
        print(breakdown.as_text(parts, n / len(y)))
    if arguments.report is None:
        return
    name = Path(path).name
    write_report(
        arguments,
        in_prices(points, opened.model, known=arguments.costs is None),
        y,
        opened.classes,
        chosen=chosen,
        axis="review_share",
        size=n,
        title=f"{name}: what was decided and what went to review",
        notes=[
            *[f"{NO_TEST[0].upper()}{NO_TEST[1:]}."] * trained_on,
            *(verdict.sentence for verdict in verdicts),
            *[in_doubt.summary()] * bool(doubts),
            " ".join(notes),
        ],
        prices=_prices(arguments, opened),
        ordered=opened.table.get("ordered", True),
        by=None if by is None else {by: values},
        **promised(opened.model),
        doubtful=doubtful(opened.model, X, group),
        provenance={
            "Data": f"{name}, {len(y):,} rows",
            "Model": f"{arguments.model.name}, saved {opened.found.date}",
            "Model hash (SHA-256)": opened.found.payload_hash,
        },
    )
    if not arguments.json:
        print(f"\nReport: {arguments.report}")


def _read(
    arguments: argparse.Namespace, opened: Opened, by_group: str | None
) -> tuple[Any, Any, str | None, str, list[str]]:
    """Table, classes as indices (n,), the column of --by, a name for the file, and spellings."""
    import numpy as np
    import pandas as pd

    from rejo.tables import TableError, read_chunks
    from rejo.tables.errors import shown
    from rejo.tables.places import place_of

    target = arguments.target or opened.table.get("target")
    if target is None:
        raise CommandError(
            f"{arguments.model} does not say which column has the classes: give --target"
        )
    if target in opened.encoder.kinds_:
        raise CommandError(f"--target {target!r} is a feature of {arguments.model}")
    by = arguments.by or by_group or arguments.group or opened.table.get("by")
    kept = [target, by, by_group, opened.table.get("groups")]
    text = list(dict.fromkeys(name for name in kept if name is not None))
    optional = [name for name in text if name not in (target, arguments.by, arguments.group)]
    optional = [name for name in optional if name != by_group]
    reading = options.reading(arguments)
    chunks = read_chunks(arguments.data, opened.encoder, text=text, optional=optional, **reading)
    try:
        with needing(by_group):
            parts = list(chunks)
    except TableError as error:
        if error.problem == f"no column {shown(target)}":
            told = "It has the true classes. To decide cases without them, use rejo predict."
            error.remedy = f"{told} {error.remedy}"
        raise
    frame = pd.concat(parts)
    frame.attrs["ragged"] = {
        i: n for part in parts for i, n in part.attrs.get("ragged", {}).items()
    }
    path = "stdin" if arguments.data == "-" else without_password(arguments.data)
    how: dict[str, Any] = {"missing": arguments.missing, "exact": arguments.exact, "decimal": ","}
    known, labels, spellings = read_classes(frame[target], path, order=opened.classes, **how)
    frame, y = frame[known], pd.Index(opened.classes).get_indexer(labels)
    if (y < 0).any():
        row = int(np.flatnonzero(y < 0)[0])
        value = str(frame[target].iloc[row])[:40]
        place = place_of(arguments.data, int(frame.index[row]), **reading)
        raise TableError(
            f"the model has no class {value!r}; its classes are {', '.join(opened.classes)}",
            where=f"{place}, column {target!r}",
        )
    return frame, y, by if by in frame.columns else None, path, spellings


def _outcomes(
    opened: Opened, X: Any, doubts: dict[int, list[Any]], shares: Sequence[float], group: Any
) -> tuple[list[Any], int]:
    """Judge the cases as ``predict`` does: rows in doubt are reviewed.

    Some models that were fitted in Python refuse gaps: these rows are in doubt, too.
    """
    import numpy as np

    from rejo.selection import ranking_outcomes
    from rejo.tables.doubts import Doubt

    with opened.blamed():
        try:
            return ranking_outcomes(opened.model, X, shares, reviewed=list(doubts), group=group)
        except (ValueError, TypeError):
            gaps = X.isna()
            if hasattr(opened.encoder, "learnt_") or not gaps.any(axis=None):
                raise
        for row in np.flatnonzero(gaps.any(axis=1)).tolist():
            lacks = X.columns[gaps.iloc[row]]
            doubts.setdefault(row, [Doubt("missing", str(name)) for name in lacks])
        filled = X.fillna(X.median()).fillna(0.0)  # for a guess, if there were no reviews
        return ranking_outcomes(opened.model, filled, shares, reviewed=list(doubts), group=group)


def _verdicts(
    opened: Opened, point: Any, y: Any, group: Any, by_group: str | None, n: int
) -> list[Any]:
    """Whether each target was met and each promise kept; ``n`` cases are independent."""
    from rejo.selection.limit_verdicts import asked_of, judge_limits
    from rejo.selection.verdicts import judge_targets

    model = opened.model
    if not hasattr(model, "targets_"):  # fitted in Python, for no target
        return []
    if group is not None:
        group = opened.promised(group)
    found = judge_targets(
        model.targets_, model.guarantees_, model.prices_, point.decision, point.forced, y, size=n
    )
    return found + judge_limits(
        asked_of(model), point.decision, y, classes=opened.classes, group=group,
        column=by_group or "group", prices=model.prices_, size=n,
    )  # fmt: skip


def _prices(arguments: argparse.Namespace, opened: Opened) -> Any:
    """Prices (K, K + 1) of the command, else those of training; ``None`` if there are none."""
    from rejo.prices import price_matrix

    if arguments.costs is None:
        return opened.table.get("prices")
    costs = respelled(arguments.costs, opened.classes, arguments.exact)
    return price_matrix(costs, opened.classes, ordered=opened.table.get("ordered", True))


def _costs(point: Any, y: Any, prices: Any) -> dict[str, float] | None:
    """Mean cost of a case at these prices (K, K + 1), and if all were reviewed or decided."""
    import numpy as np

    if prices is None:
        return None
    paid = np.asarray(prices)
    return {
        "decided": float(paid[y, point.decision].mean()),  # -1: the review, last
        "review_all": float(paid[y, -1].mean()),
        "decide_all": float(paid[y, point.forced].mean()),
    }


def _rates(decision: Any, y: Any, worth: float) -> dict[str, Any]:
    """Observed rates, each with its 95 % interval; a case is ``worth`` so many independent ones."""
    from rejo.metrics import tally, wilson_interval

    found = tally(decision, y)
    rejected, wrong, decided = int(found.rejected), int(found.wrong), int(found.decided)
    parts = ((rejected, len(y)), (wrong, len(y)), (wrong, decided))
    return {
        name: wilson_interval(part, of, n_effective=of * worth or None)
        for name, (part, of) in zip(RATES, parts, strict=True)
    }


def _compare(rates: dict[str, Any], expected: dict[str, Any]) -> str:
    """A table of observed and expected rates."""
    header = f"{'expected':>12}   in 95 % of batches this size" if expected else ""
    lines = [f"{'':<26}{'observed':>8}{header}"]
    for name, title in RATES.items():
        seen = rates[name].estimate
        line = f"{title:<26}{'-' if isnan(seen) else percent(seen):>8}"
        if name in expected:
            rate, low, high = map(percent, expected[name])
            line += f"{rate:>12}   {low} to {high}"
        lines.append(line)
    return "\n".join(lines)


def _surprises(rates: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Which rates lie outside the expected range."""
    found = []
    for name, rate in expected.items():
        seen, title = rates[name].estimate, RATES[name]
        if not rate.low - 1e-9 <= seen <= rate.high + 1e-9 and not isnan(seen):
            side = "more" if seen > rate.high else "less"
            found.append(f"{title[0].upper()}{title[1:]}: significantly {side} than expected.")
    fewer = any(rates[n].estimate < rate.low for n, rate in expected.items() if "error" in n)
    among = ", or be among them" if fewer else ""
    return [*found, f"These cases may differ from the training cases{among}."] if found else []


def _agreement(opened: Opened, expected: dict[str, Any]) -> list[str]:
    if not expected:
        return ["The model file has no expected rates to compare with."]
    matches = "Observed rates match what was expected when the model was trained."
    wide = vague(opened.model.n_effective_)
    return [matches, wide] if wide else [matches]
