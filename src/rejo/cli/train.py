"""``rejo train``: from a labelled table to a model at its operating point."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from math import floor, isnan, log10
from pathlib import Path
from typing import Any

from rejo._io import one_line, percent, stage_lines
from rejo.cli import _options as options
from rejo.cli._cases import Cases, about_order, read_cases
from rejo.cli._class_names import respelled, respelled_limits
from rejo.cli._column_lines import KEY as COLUMNS_READ
from rejo.cli._column_lines import describe_columns, remarks_on, suspicion, to_keep
from rejo.cli._column_lines import say as say_remark
from rejo.cli._files import CommandError, check_apart, check_output, print_json, require, warn
from rejo.cli._hints import hints
from rejo.cli._model_file import TABLES, vague
from rejo.cli._reporting import check_report, judge_training, write_report
from rejo.cli._streamed_training import (
    StreamedCases,
    check_options,
    describe_streamed,
    is_streamed,
    read_streamed,
    train_streamed,
)
from rejo.cli._training import encoder_for, train

MOST_NAMES = 2000  # characters of names of columns in a report
ROLES = ("target", "id", "by", "groups", "group", "time")  # of columns that a model file names
Say = Callable[..., None]
HELP = "train a model that decides clear cases and sends the others to review"
DESCRIPTION = (
    "Train on a table with known classes, for a review budget, a maximum error rate or prices. "
    "Numbers, categories, dates and missing values are encoded as part of the model."
)
EXAMPLE = (
    "rejo train {0} --target COLUMN --review-budget 0.1 -o model.rejo (rejo look {0} shows the "
    "columns)"
)


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "data")
    options.add(parser, "--target", required=True)
    options.add(parser, *options.LABELLED[2:])
    file = "model file to write, such as loans.rejo"
    options.add(parser, "--output", required=True, metavar="MODEL", help=file)
    options.add(parser, "--report", "--overwrite")
    title = "operating point (--review-budget and --max-error may go together, and with --costs)"
    options.add(parser, *options.TARGETS, "--confidence", title=title)
    title = "promises for each class, each group, or in order of time (with --confidence)"
    limits, columns = options.LIMITS, ("--group", "--small-groups", "--time")
    options.add(parser, *limits, *columns, title=title)
    options.add(parser, "--novelty")
    options.add(parser, "--model")
    options.add_reading(parser)
    options.add(parser, "--seed", "--n-jobs", "--dask", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, learn, save, tell."""
    target = options.target(arguments)
    arguments.by = arguments.by or arguments.group  # a promise is worth a look
    check_apart(arguments.data, arguments.output, arguments.report)
    if arguments.output.suffix.lower() in TABLES:
        raise CommandError(f"-o {arguments.output} must be a model file, such as loans.rejo")
    check_output(arguments.output, overwrite=arguments.overwrite)
    require("skops", "files", "a model file")
    say = (lambda *_, **__: None) if arguments.json else print
    (_run_streamed if is_streamed(arguments) else _run_whole)(arguments, target, say)


def _run_whole(arguments: argparse.Namespace, target: dict[str, Any], say: Say) -> None:
    check_report(arguments)
    import rejo.persistence
    from rejo.scoring import fingerprint, row_prints
    from rejo.selection import find_leaks

    cases = read_cases(arguments)
    if arguments.confidence is None:
        cases = cases._replace(time=None)  # there is no promise for the latest cases to prove
    say(f"{cases.table.path}: {len(cases.y):,} rows. Classes: {cases.counts()}.", flush=True)
    groups = [] if cases.group is None else sorted(set(cases.group))
    _respell(arguments, target, cases.classes, groups)
    encoder = encoder_for(cases)
    lines, remarks = _tell_columns(say, cases, cases.X, encoder)
    suspects = find_leaks(cases.X[list(encoder.kinds_)], cases.y, groups=cases.groups).suspects
    for suspect in suspects:
        warn(suspicion(suspect))
    n_jobs = options.n_jobs(arguments, len(cases.y))
    model = train(
        cases, target, arguments.model, novelty=arguments.novelty, seed=arguments.seed,
        n_jobs=n_jobs,
    )  # fmt: skip
    choice = model.choice_
    say(describe_choice(choice), flush=True)
    prints = fingerprint(row_prints(cases.X, encoder.kinds_, cases.y))
    table = _header(arguments, cases, to_keep(lines, remarks)) | {"cases": prints}
    rejo.persistence.save(
        model, arguments.output, X=cases.X, y=cases.y, table=table, overwrite=arguments.overwrite,
        notes=f"rejo train, {choice.name}",
    )  # fmt: skip
    say("\n" + _summary(model))
    if model.margin_ is None:  # else the summary says how sure the limit is
        say("Parameters were tuned on the same cases, so these rates are slightly optimistic.")
    found_out = hints(cases, model, suspects)
    for line in (vague(model.n_effective_), *found_out):
        if line:
            say(line)
    found = rejo.persistence.inspect(arguments.output)
    say(f"\nModel:  {arguments.output} ({_size(arguments.output)}, {found.privacy})", flush=True)
    if arguments.report is not None:
        headline = write_report(
            arguments,
            **judge_training(cases, model, seed=arguments.seed, n_jobs=n_jobs),
            classes=cases.classes,
            title=f"{arguments.target}: what is decided and what goes to review",
            notes=_report_notes(model),
            prices=table.get("prices"),
            by=None if cases.by is None else {arguments.by: cases.by},
            provenance=_provenance(cases, choice, encoder, found, remarks),
        )
        say(f"Report: {arguments.report} ({_size(arguments.report)}) says: {headline}")
    if arguments.json:
        said = [*cases.notes, *map(say_remark, remarks), *map(suspicion, suspects), *found_out]
        print_json(_result(arguments, cases, model, encoder, found) | {
            "n_cases": len(cases.y),
            "family": choice.name,
            "params": choice.chosen.params,
            "tried": [
                {"name": e.name, "log_loss": e.log_loss, "cost": e.cost._asdict()}
                for e in choice.tried
            ],
            "left_out_models": choice.left_out,
            "weights": choice.chosen.weights,
            "baselines": choice.baselines,
            "groups": None if model.policy_ is None else model.policy_._asdict(),
            "novelty": arguments.novelty,
            "n_training_rows": found.n_training_rows,
            "remarks": said,
        })  # fmt: skip


def _run_streamed(arguments: argparse.Namespace, target: dict[str, Any], say: Say) -> None:
    import rejo.persistence
    from rejo.distributed import place_of

    check_options(arguments)
    tell = stage_lines()
    with place_of(arguments.dask) as place:
        cases = read_streamed(arguments, place, tell)
        counts = ", ".join(f"{label} ({cases.counts[label]:,})" for label in cases.classes)
        total = cases.counts.total()
        say(f"{cases.path}: {total:,} rows. Classes: {one_line(counts)}.", flush=True)
        _respell(arguments, target, cases.classes)
        lines, remarks = _tell_columns(say, cases, cases.table.frame, cases.encoder)
        trained = train_streamed(cases, target, arguments, tell)
    model = trained.model
    say(describe_streamed(trained, "cost_of" in target or "reject_cost" in target), flush=True)
    rejo.persistence.save(
        model, arguments.output, table=_header(arguments, cases, to_keep(lines, remarks)),
        overwrite=arguments.overwrite, notes=f"rejo train, {trained.name}",
    )  # fmt: skip
    say("\n" + _summary(model))
    if wide := vague(model.n_effective_):
        say(wide)
    found = rejo.persistence.inspect(arguments.output)
    say("The file has no fingerprint of these rows: rejo evaluate cannot tell them from new ones.")
    say(f"\nModel:  {arguments.output} ({_size(arguments.output)})", flush=True)
    if arguments.json:
        print_json(_result(arguments, cases, model, cases.encoder, found) | {
            "n_cases": total,
            "family": trained.name,
            "tried": [{"name": name, "cost": cost} for name, cost in trained.costs.items()],
            "left_out_models": trained.left_out,
            "remarks": [*cases.notes, *map(say_remark, remarks)],
        })  # fmt: skip


def _tell_columns(
    say: Say, cases: Cases | StreamedCases, frame: Any, encoder: Any
) -> tuple[list[str], list[Any]]:
    """Say how the classes and columns were read; return the lines and remarks on columns."""
    if cases.table.skipped:
        say(one_line(f"{cases.table.skipped[0].upper()}{cases.table.skipped[1:]}."), flush=True)
    for note in [*cases.notes, *([] if cases.ordered else [about_order(cases.classes)])]:
        say(note, flush=True)
    lines = describe_columns(encoder.kinds_, encoder.left_out_, encoder.reading_["time"])
    remarks = remarks_on(frame, cases.table, encoder.left_out_)
    say("\n".join([*lines, *map(say_remark, remarks)]), flush=True)
    return lines, remarks


def _respell(
    arguments: argparse.Namespace,
    target: dict[str, Any],
    classes: Sequence[str],
    groups: Sequence[str] = (),
) -> None:
    """Spell the names in prices and limits as in the table."""
    exact = arguments.exact
    if arguments.costs is not None:
        target["cost_of"] = arguments.costs = respelled(arguments.costs, classes, exact)
    names = {"class": classes, "decision": classes, "group": groups}
    for name, limits in target.items():
        if (by := name.partition("_by_")[2]) in names:
            what = "group" if by == "group" else "class"
            option = "--" + name.replace("_", "-")
            target[name] = respelled_limits(limits, names[by], what, option, exact=exact)


def _header(
    arguments: argparse.Namespace, cases: Cases | StreamedCases, lines: list[str]
) -> dict[str, Any]:
    """What a model file keeps of its table."""
    from rejo.prices import price_matrix

    given = {role: getattr(arguments, role) for role in ROLES}
    table: dict[str, Any] = {role: name for role, name in given.items() if name is not None}
    table |= {"ordered": cases.ordered, COLUMNS_READ: lines}
    if arguments.same:
        table["same"] = arguments.same
    if cases.table.reading:
        table["reading"] = cases.table.reading
    if arguments.costs is not None:
        prices = price_matrix(arguments.costs, cases.classes, ordered=cases.ordered)
        table["prices"] = prices.tolist()
    return table


def _result(
    arguments: argparse.Namespace,
    cases: Cases | StreamedCases,
    model: Any,
    encoder: Any,
    found: Any,
) -> dict[str, Any]:
    """What ``--json`` prints, however the table was read."""
    from rejo.selection import by_class, promise

    return {
        "model": str(arguments.output),
        "report": None if arguments.report is None else str(arguments.report),
        "classes": cases.classes,
        "columns": encoder.kinds_,
        "left_out": encoder.left_out_,
        "ordered": cases.ordered,
        "reject_cost": float(model.reject_cost_),
        "operating_point": found.operating_point,
        "expected": found.expected,
        "by_class": {
            str(label): one._asdict()
            for label, one in zip(cases.classes, by_class(model.shares_), strict=True)
        },
        "costs": None
        if model.costs_ is None
        else {
            "chosen": model.costs_.chosen._asdict(),
            "review_all": model.costs_.review_all,
            "decide_all": model.costs_.decide_all._asdict(),
        },
        "promises": [
            one._asdict() | {"sentence": promise(one), "assumption": one.assumption}
            for one in model.guarantees_
        ],
        "summary": model.summary(),
    }


def describe_choice(choice: Any) -> str:
    """Say which model was chosen, from which others, and how far apart they were."""
    how = f"{choice.n_folds}-fold cross-validation of {len(choice.y):,} cases"
    if len(choice.tried) == 1:
        lines = [f"Model: {choice.name}, tuned by {how}."]
        return "\n".join(lines + [f"  {line}" for line in _compared(choice)])
    lines = [f"Models by {how}; costs are of a case on average{_at(choice.prices)}:"]
    baselines = {f"({what})": cost for what, cost in choice.baselines.items()}
    width = max(map(len, [*baselines, *(entry.name for entry in choice.tried)]))
    places = money_places(choice.chosen.cost.estimate)
    for entry in choice.tried:
        loss = "" if isnan(entry.log_loss) else f"log loss {entry.log_loss:.4f}   "
        mark = "  <- chosen" if entry.name == choice.name else ""
        cost, low, high = (f"{part:.{places}f}" for part in entry.cost)
        lines.append(f"  {entry.name:<{width}}  {loss}cost {cost} ({low} to {high}){mark}")
    for what, amount in baselines.items():
        space = " " * (len("log loss 0.0000   ") if not isnan(choice.chosen.log_loss) else 0)
        lines.append(f"  {what:<{width}}  {space}cost {amount:.{places}f}")
    lines += [f"  {line}" for line in _compared(choice)]
    return "\n".join(lines)


def _compared(choice: Any) -> list[str]:
    chosen = choice.chosen
    best = min(choice.tried, key=lambda entry: entry.log_loss)
    lines = []
    if best.log_loss < chosen.log_loss:
        lines.append(f"The log loss of {best.name} is lower by no more than chance explains.")
    if chosen.weights:
        parts = sorted(chosen.weights.items(), key=lambda item: -item[1])
        shares = ", ".join(f"{name} {percent(weight)}" for name, weight in parts)
        lines.append(f"Weights of the posteriors: {shares}.")
    elif params := _shown(chosen.params):
        lines.append(f"Parameters of {chosen.name}: {params}.")
    reasons = dict.fromkeys(choice.left_out.values())
    for why in reasons:
        names = [name for name, reason in choice.left_out.items() if reason == why]
        lines.append(f"Left out: {', '.join(names)} ({why}).")
    return lines


def _report_notes(model: Any) -> list[str]:
    """Say what was asked for, and how the rates on the page were estimated."""
    notes = [
        model.reason(),
        "All rates are estimated by cross-validation: each case was decided by a "
        "model that had not seen it. The parameters were tuned on the same cases, so the rates are "
        "slightly optimistic. Costs also count errors that may happen though none was seen.",
    ]
    if model.guarantees_:
        notes.append(
            "What is promised holds for the saved model, which was not fitted on the cases that "
            "prove it; the rates on this page come from models fitted on more cases."
        )
    return notes


def _provenance(
    cases: Cases, choice: Any, encoder: Any, found: Any, remarks: Sequence[Any]
) -> dict[str, str]:
    from rejo.tables import describe_kinds

    left = "; ".join(f"{name}: {reason}" for name, reason in encoder.left_out_.items())
    params = _shown(choice.chosen.params)
    return {
        "Data": f"{Path(cases.table.path).name}, {len(cases.y):,} rows",
        "Data hash (SHA-256)": str(found.data_hash),
        "Classes": cases.counts(),
        "Columns used": "; ".join(describe_kinds(encoder.kinds_, longest=MOST_NAMES)),
        **({"Columns left out": left} if left else {}),
        **({"How columns were read": " ".join(to_keep([], remarks))} if remarks else {}),
        "Model": f"{choice.name} ({params})" if params else choice.name,
        "Model hash (SHA-256)": found.payload_hash,
    }


def _summary(model: Any) -> str:
    """What to expect and, on a line of its own, what is promised."""
    from rejo.selection import describe_promises

    text = str(model.summary())
    for said in [*describe_promises(model.guarantees_)[:1], *model.cautions()]:
        text = text.replace(f" {said}", f"\n{said}")
    return text


def money_places(amount: float) -> int:
    """Return how many decimals to show of an amount, for about four digits."""
    return min(6, max(0, 3 - floor(log10(amount)))) if amount > 0 else 4


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} KB"


def _shown(params: Mapping[str, Any]) -> str:
    """Tuned parameters as text, under their short names."""
    short = {name.rpartition("__")[2]: value for name, value in params.items()}
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in short.items()
    )


def _at(prices: Sequence[Any]) -> str:
    """Say at which prices models were compared, if these are not the user's own."""
    if len(prices) == 1:
        return ""
    some = ", ".join(f"{L[0, -1]:g}" for L in prices)
    return f", where an error costs 1 and a review {some} (mean)"
