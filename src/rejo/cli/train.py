"""``rejo train``: from a labelled table to a model at its operating point."""

import argparse
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rejo._io import one_line, stage_lines
from rejo.cli import _options as options
from rejo.cli._cases import Cases, about_order, counted, read_cases
from rejo.cli._class_names import respelled, respelled_limits
from rejo.cli._column_lines import KEY as COLUMNS_READ
from rejo.cli._column_lines import describe_columns, remarks_on, to_keep
from rejo.cli._column_lines import say as say_remark
from rejo.cli._files import CommandError, check_apart, check_output, print_json, require
from rejo.cli._model_file import TABLES, vague
from rejo.cli._reporting import check_report, judge_training, write_report
from rejo.cli._streamed_training import (
    StreamedCases,
    check_options,
    is_streamed,
    read_streamed,
    train_streamed,
)
from rejo.cli._training import encoder_for, shown_params, train

MOST_NAMES = 2000  # characters of names of columns in a report
ROLES = ("target", "id", "by", "groups", "group", "time")  # of columns that a model file names
Say = Callable[..., None]
HELP = "train a model that decides clear cases and sends the others to review"
DESCRIPTION = (
    "Train on a table with known classes, for a review budget, a maximum error rate or prices. "
    "Numbers, categories, dates and missing values are encoded as part of the model."
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
    options.add(parser, "--seed", "--n-jobs", "--dask", "--json", "--verbose")


def run(arguments: argparse.Namespace) -> None:
    """Read, learn, save, tell."""
    target = options.target(arguments)
    arguments.by = arguments.by or arguments.group  # a promise is worth a look
    check_apart(arguments.data, arguments.output, arguments.report)
    if arguments.output.suffix.lower() in TABLES:
        raise CommandError(f"-o {arguments.output} must be a model file, such as loans.rejo")
    check_output(arguments.output, overwrite=arguments.overwrite)
    require("skops", "files", "a model file")
    streamed = is_streamed(arguments)
    (check_options if streamed else check_report)(arguments)
    import rejo.persistence
    from rejo.distributed import place_of
    from rejo.scoring import fingerprint, row_prints

    tell = stage_lines()
    say: Say = (lambda *_, **__: None) if arguments.json else print
    with place_of(arguments.dask) if streamed else nullcontext() as place:
        cases: Any = read_streamed(arguments, place, tell) if streamed else read_cases(arguments)
        _respell(arguments, target, cases)
        encoder = cases.encoder if streamed else encoder_for(cases)
        lines, remarks = _tell_table(say, cases, encoder, verbose=arguments.verbose)
        import skops.io  # noqa: F401  # takes seconds, which no estimate of the time left knows

        trained = (train_streamed if streamed else train)(cases, encoder, target, arguments, tell)
    model = trained.model
    said = trained.compared if arguments.verbose else [trained.chosen]
    say("\n".join(said), flush=True)
    table = _header(arguments, cases, to_keep(lines, remarks))
    rows: dict[str, Any] = {}
    if not streamed:
        table["cases"] = fingerprint(row_prints(cases.X, encoder.kinds_, cases.y))
        rows = {"X": cases.X, "y": cases.y}
    rejo.persistence.save(
        model, arguments.output, **rows, table=table, overwrite=arguments.overwrite,
        notes=f"rejo train, {trained.name}",
    )  # fmt: skip
    say("\n" + _summary(model))
    for line in (vague(model.n_effective_), *trained.hints):
        if line:
            say(line)
    found = rejo.persistence.inspect(arguments.output)
    say(f"\nModel:  {arguments.output} ({_size(arguments.output)}, {found.privacy})", flush=True)
    if arguments.report is not None:
        write_report(
            arguments,
            **judge_training(cases, model, seed=arguments.seed, n_jobs=trained.n_jobs),
            classes=cases.classes,
            title=f"{arguments.target}: what is decided and what goes to review",
            notes=_report_notes(model),
            prices=table.get("prices"),
            amounts=cases.X[list(cases.prices)] if cases.prices else None,
            by=None if cases.by is None else {arguments.by: cases.by},
            provenance={"Operating point": model.reason()}
            | _provenance(cases, model.choice_, encoder, found, remarks),
        )
        say(f"Report: {arguments.report} ({_size(arguments.report)})")
    if arguments.json:
        print_json(_result(arguments, cases, model, encoder, found) | trained.result | {
            "remarks": [*cases.notes, *map(say_remark, remarks), *trained.warned, *trained.hints],
        })  # fmt: skip


def _tell_table(
    say: Say, cases: Cases | StreamedCases, encoder: Any, *, verbose: bool
) -> tuple[list[str], list[Any]]:
    """Say what was read: all of it, or what is remarkable; return lines and remarks on columns."""
    from rejo.scoring import review_label

    lines = describe_columns(
        encoder.features_, encoder.left_out_, encoder.reading_["time"], encoder.prices
    )
    remarks = remarks_on(cases.frame, cases.table, encoder.left_out_)
    said = [f"{cases.path}: {cases.counts.total():,} rows. Classes: {counted(cases)}."]
    if cases.table.skipped:
        said.append(f"{cases.table.skipped[0].upper()}{cases.table.skipped[1:]}.")
    said += cases.notes
    if not cases.ordered:
        said.append(about_order(cases.classes))
    if (label := review_label(cases.classes)) != "review":
        said.append(f"'review' is a class here: the decision of a case for review is {label!r}.")
    shown = lines if verbose else [line for line in lines if not line.startswith(" ")]
    say("\n".join([*map(one_line, said), *shown, *map(say_remark, remarks)]), flush=True)
    return lines, remarks


def _respell(
    arguments: argparse.Namespace, target: dict[str, Any], cases: Cases | StreamedCases
) -> None:
    """Spell the names in prices and limits as in the table."""
    exact, classes, group = arguments.exact, cases.classes, getattr(cases, "group", None)
    groups = [] if group is None else sorted(set(group))
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
    from rejo.prices import price_columns, price_matrix

    given = {role: getattr(arguments, role) for role in ROLES}
    table: dict[str, Any] = {role: name for role, name in given.items() if name is not None}
    table |= {"ordered": cases.ordered, COLUMNS_READ: lines}
    if arguments.same:
        table["same"] = arguments.same
    if cases.table.reading:
        table["reading"] = cases.table.reading
    if (costs := arguments.costs) is not None:
        fixed = not price_columns(costs)
        table["prices"] = (
            price_matrix(costs, cases.classes, ordered=cases.ordered).tolist() if fixed else costs
        )
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
        "columns": encoder.features_,
        "price_columns": encoder.prices,
        "left_out": encoder.left_out_,
        "ordered": cases.ordered,
        "n_training_rows": found.n_training_rows,
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


def _report_notes(model: Any) -> list[str]:
    """Say how the rates on the page were estimated."""
    notes = [
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
    params = shown_params(choice.chosen.params)
    return {
        "Data": f"{Path(cases.table.path).name}, {len(cases.y):,} rows",
        "Data hash (SHA-256)": str(found.data_hash),
        "Classes": counted(cases),
        "Columns used": "; ".join(describe_kinds(encoder.features_, longest=MOST_NAMES)),
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


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{max(1, round(size / 1e3))} KB"
