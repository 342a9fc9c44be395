"""``rejo evaluate``: a model on cases whose classes are known."""

from __future__ import annotations

import argparse
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rejo._io import one_line, percent, without_password
from rejo.cli import _breakdown as breakdown
from rejo.cli import _options as options
from rejo.cli._class_names import respelled
from rejo.cli._decision_lines import about_column
from rejo.cli._files import CommandError, check_apart, is_many, print_json, warn
from rejo.cli._model_file import open_model, vague
from rejo.cli._reporting import check_report, explained, in_prices, promised, write_report
from rejo.cli._tested_cases import Tested, decided_files, decided_table, label_columns

if TYPE_CHECKING:
    from rejo.scoring import LabelColumns, Opened

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
BLOCK = 8192  # cases whose prices are computed at a time
SHARES = [0.01 * i for i in range(51)]  # to review, on the slider of the report
PRICED = ("cost_of", "reject_cost", "max_cost")  # what may be asked for at prices
RATES = {
    "rejection_rate": "sent to review",
    "error_rate": "wrong, of all cases",
    "accepted_error_rate": "wrong, of the decided",
    "mean_cost": "cost of a case",
}


class Evaluation(NamedTuple):
    """What became of cases whose classes are known, and what was expected."""

    opened: Opened
    columns: LabelColumns
    cases: Tested
    path: str  # of the table, as it is shown
    paid: Any  # (3, n) at the prices of --costs, else those of training, see _paid
    rates: dict[str, Any]
    expected: dict[str, Any]
    surprises: list[str]
    notes: list[str]  # whether the rates match
    verdicts: list[Any]  # on what was asked for in training


def add_cases(parser: Any) -> None:
    """Declare the options for a model and cases whose classes are known."""
    same = "(default: the same as in training)"
    options.add(parser, "model", "data")
    options.add(parser, "--target", help=f"column with the classes {same}")
    options.add(parser, "--by", help=f"report on each value of this column separately {same}")
    groups = f"column of the groups that the model promises by {same}; without promises, as --by"
    options.add(parser, "--group", help=groups)
    options.add(parser, "--overwrite", "--same")
    options.add(parser, "--costs", help=f"prices for the report {same}")
    options.add_reading(parser)
    options.add_opening(parser)


def add(parser: Any) -> None:
    """Declare the options."""
    add_cases(parser)
    options.add(parser, "--report")
    options.add(parser, "--n-jobs", help=options.MANY)
    options.add(parser, "--dask", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, decide, compare."""
    import numpy as np

    check_report(arguments)
    found = evaluate(arguments)
    opened, cases, rates, expected = found.opened, found.cases, found.rates, found.expected
    y, in_doubt, n = cases.y, cases.doubts, cases.n_independent
    costs, paid = None, found.paid
    if paid is not None:
        means = np.nanmean(paid, axis=1).tolist()
        costs = dict(zip(("decided", "review_all", "decide_all"), means, strict=True))
        paid = paid[0]
    parts = breakdown.split(cases.decision, y, opened.classes, cases.by, cases.values, paid)
    if arguments.json:
        print_json({
            "n_cases": len(y),
            "n_independent": n,
            "trained_on": cases.trained_on,
            "in_doubt": in_doubt.n_rows,
            "doubts": in_doubt.as_json(),
            "target": [verdict._asdict() for verdict in found.verdicts],
            "seen": {name: rate._asdict() for name, rate in rates.items()},
            "expected": {name: rate._asdict() for name, rate in expected.items()},
            "costs": costs,
            "surprises": found.surprises,
            **breakdown.as_json(parts, n / len(y)),
            "report": None if arguments.report is None else str(arguments.report),
        })  # fmt: skip
    else:
        each = f" of {n:,} different {found.columns.groups!r}, each of which counts once"
        of = "" if n == len(y) else each
        print(f"{found.path}: {len(y):,} cases{of}, decided by {arguments.model}.")
        print("\n".join([*cases.spellings, *[in_doubt.summary()] * bool(in_doubt.n_rows), ""]))
        told = [one_line(verdict.sentence) for verdict in found.verdicts]
        if costs is not None and arguments.costs is not None:
            told.append(
                f"At the prices of --costs, a case cost {costs['decided']:,.4g} on average; if all "
                f"were reviewed it would have cost {costs['review_all']:,.4g}, if all were decided "
                f"{costs['decide_all']:,.4g}."
            )
        if told:
            print("\n".join(told) + "\n")
        print(_compare(rates, expected))
        print("\n".join(found.notes) + "\n")
        print(breakdown.as_text(parts, n / len(y)))
    if arguments.report is None:
        return
    write_page(arguments, found)
    if not arguments.json:
        print(f"\nReport: {arguments.report}")


def evaluate(arguments: argparse.Namespace) -> Evaluation:
    """Read and decide the cases; warn of what makes them no test."""
    many = is_many(arguments)
    check_apart(arguments.model, arguments.data, arguments.report)
    if many and arguments.report is not None:
        raise CommandError("the page of --report is about one table: name one file, without --dask")
    opened = open_model(arguments)
    columns = label_columns(arguments, opened)
    cases = (decided_files if many else decided_table)(arguments, opened, columns)
    path = "stdin" if arguments.data == "-" else without_password(arguments.data)
    if cases.trained_on:
        warn(f"{path}: {NO_TEST}")
    if of_column := about_column(cases.doubts, len(cases.y)):
        warn(of_column)
    for finding in cases.strange:
        warn(f"column {finding}")
    n = cases.n_independent
    paid = _paid(_prices(arguments, opened), opened, cases)
    rates = _rates(cases.decision, cases.y, n / len(cases.y), None if paid is None else paid[0])
    expected = opened.expect(n, 0.95)
    if arguments.costs is not None:
        expected.pop("mean_cost", None)
    surprises = _surprises(rates, expected)
    notes = surprises or _agreement(opened, expected)
    verdicts = _verdicts(opened, cases, columns.group, paid)
    if arguments.costs is not None:  # what was asked for and expected is at other prices
        verdicts = [one for one in verdicts if one.part not in PRICED]
    return Evaluation(
        opened, columns, cases, path, paid, rates, expected, surprises, notes, verdicts
    )


def write_page(arguments: argparse.Namespace, found: Evaluation) -> None:
    """Write the report."""
    opened, cases, name = found.opened, found.cases, Path(found.path).name
    points, chosen = _outcomes(opened, cases.judged)
    prices = _prices(arguments, opened)
    if found.paid is None:
        prices = None
    write_report(
        arguments,
        in_prices(points, opened.model, known=arguments.costs is None),
        cases.y,
        opened.classes,
        chosen=chosen,
        axis="review_share",
        size=cases.n_independent,
        title=f"{name}: what was decided and what went to review",
        notes=[
            *[f"{NO_TEST[0].upper()}{NO_TEST[1:]}."] * cases.trained_on,
            *(verdict.sentence for verdict in found.verdicts),
            *[cases.doubts.summary()] * bool(cases.doubts.n_rows),
            " ".join(found.notes),
        ],
        prices=prices,
        amounts=cases.amounts if isinstance(prices, dict) else None,
        ordered=opened.table.get("ordered", True),
        by=None if cases.by is None else {cases.by: cases.values},
        **promised(opened.model),
        **explained(opened.model, cases.judged.X, cases.judged.group, opened.classes),
        provenance={
            "Data": f"{name}, {len(cases.y):,} rows",
            "Model": f"{arguments.model.name}, saved {opened.found.date}",
            "Model hash (SHA-256)": opened.found.payload_hash,
        },
    )


def _outcomes(opened: Opened, judged: Any) -> tuple[list[Any], int]:
    """What the report shows: the cases as if other shares of them were reviewed."""
    from rejo.selection import ranking_outcomes

    with opened.blamed():
        return ranking_outcomes(
            opened.model, judged.X, SHARES, reviewed=list(judged.doubts), group=judged.group
        )


def _verdicts(opened: Opened, cases: Tested, by_group: str | None, paid: Any) -> list[Any]:
    from rejo.selection import judge_limits

    if not hasattr(opened.model, "limits_"):  # fitted in Python, for no target
        return []
    return judge_limits(
        opened.model, cases.decision, cases.forced, cases.y, classes=opened.classes,
        group=cases.group, column=by_group or "group", size=cases.n_independent,
        paid=paid,
    )  # fmt: skip


def _prices(arguments: argparse.Namespace, opened: Opened) -> Any:
    """Prices (K, K + 1) of the command, else of the model, or formulas; None without any."""
    from rejo.prices import price_columns, price_matrix

    if arguments.costs is None:
        by = getattr(opened.model, "case_prices_", None)
        return getattr(opened.model, "prices_", None) if by is None else by.formulas
    costs = respelled(arguments.costs, opened.classes, arguments.exact)
    if price_columns(costs):
        return costs
    return price_matrix(costs, opened.classes, ordered=opened.table.get("ordered", True))


def _paid(prices: Any, opened: Opened, cases: Tested) -> Any:
    """What cases cost as decided, if all are reviewed, and if all are decided (3, n).

    At prices (K, K + 1), or formulas; NaN where a case has no price, and None if no case has one.
    """
    import numpy as np

    from rejo.prices import price_matrix, price_of

    if prices is None:
        return None
    decisions = np.stack([cases.decision, np.full(len(cases.y), -1), cases.forced])
    if not isinstance(prices, dict):
        return price_of(np.asarray(prices), cases.y, decisions)
    found = np.empty(decisions.shape)
    for start in range(0, len(cases.y), BLOCK):
        rows = slice(start, start + BLOCK)
        some = {name: values[rows] for name, values in cases.amounts.items()}
        ordered = opened.table.get("ordered", True)
        L = price_matrix(prices, opened.classes, ordered=ordered, columns=some)
        L[np.isnan(L).any(axis=(1, 2))] = np.nan
        found[:, rows] = price_of(L, cases.y[rows], decisions[:, rows])
    return None if np.isnan(found).all() else found


def _rates(decision: Any, y: Any, worth: float, paid: Any) -> dict[str, Any]:
    """Observed rates, and cost, with 95 % intervals; a case is ``worth`` so many cases.

    ``paid`` (n,) is what the cases cost, if that is known.
    """
    import numpy as np

    from rejo.metrics import Interval, tally, wilson_interval

    found = tally(decision, y)
    rejected, wrong, decided = int(found.rejected), int(found.wrong), int(found.decided)
    parts = ((rejected, len(y)), (wrong, len(y)), (wrong, decided))
    rates = {
        name: wilson_interval(part, of, n_effective=of * worth or None)
        for name, (part, of) in zip(RATES, parts, strict=False)
    }
    if paid is not None:
        paid = paid[paid == paid]  # that have a price
        mean, half = float(paid.mean()), 1.96 * float(paid.std()) / np.sqrt(len(y) * worth)
        rates["mean_cost"] = Interval(mean, mean - half, mean + half)
    return rates


def _compare(rates: dict[str, Any], expected: dict[str, Any]) -> str:
    header = f"{'expected':>12}   in 95 % of batches this size" if expected else ""
    lines = [f"{'':<26}{'observed':>8}{header}"]
    for name, title in RATES.items():
        if name not in rates:
            continue
        write = breakdown.amount if name == "mean_cost" else percent
        seen = rates[name].estimate
        line = f"{title:<26}{'-' if isnan(seen) else write(seen):>8}"
        if name in expected:
            rate, low, high = map(write, expected[name])
            line += f"{rate:>12}   {low} to {high}"
        lines.append(line)
    return "\n".join(lines)


def _surprises(rates: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    found = []
    for name, rate in expected.items():
        if name not in rates:  # a cost, and no case has a price
            continue
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
    what = "rates and cost match" if "mean_cost" in expected else "rates match"
    matches = f"Observed {what} what was expected when the model was trained."
    wide = vague(opened.model.n_effective_)
    return [matches, wide] if wide else [matches]
