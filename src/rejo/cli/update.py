"""``rejo update``: a model trained again, with the answers of a case book."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, print_json, require, warn

if TYPE_CHECKING:
    from rejo.book import Comparison
    from rejo.scoring import LabelColumns, Opened

HELP = "train a model again with the answers of a case book, and say whether it is better"
DESCRIPTION = (
    "Train again, for the same target, on the old table and on the answered cases of a case book, "
    "whose columns come from the tables that were decided. Answered cases are no random sample: "
    "weights undo the selection. Half of the newest answers are kept apart, and compare the old "
    "model with the new one. The new one is written, and recommended if it costs less beyond "
    "chance; if not, the exit code is 5."
)


class NotBetter(CommandError):
    """The new model is not better beyond chance; it is written."""


def add(parser: Any) -> None:
    """Declare the options."""
    options.add(parser, "model")
    parser.add_argument("book", type=Path, metavar="BOOK", help="case book of rejo predict --book")
    options.add(parser, "data", help="the table that the model was trained on")
    tables = "tables that were decided, with the same ids: the columns of the answered cases"
    parser.add_argument("--cases", nargs="+", required=True, metavar="FILE", help=tables)
    file = "model file to write, such as new.rejo"
    options.add(parser, "--output", required=True, metavar="NEW", help=file)
    same = "(default: the same as in training)"
    options.add(parser, "--target", help=f"column of DATA with the classes {same}")
    options.add(parser, "--id", help=f"column of the tables with the ids {same}")
    options.add(parser, "--same", "--overwrite", "--seed", "--n-jobs")
    options.add_reading(parser)
    options.add_opening(parser)
    options.add(parser, "--json")


def run(arguments: argparse.Namespace) -> None:
    """Read, weigh, learn, compare."""
    arguments.by = arguments.group = None
    check_apart(arguments.model, arguments.book, arguments.data, *arguments.cases, arguments.output)
    check_output(arguments.output, overwrite=arguments.overwrite)
    require("skops", "files", "a model file")
    import numpy as np
    import pandas as pd

    import rejo.persistence
    from rejo.book import MOST, copies, kept_apart
    from rejo.cli._model_file import open_model
    from rejo.cli._tested_cases import label_columns, read_labelled
    from rejo.scoring import Opened, fingerprint, row_prints

    opened = open_model(arguments)
    if not hasattr(opened.model, "limits_"):
        raise CommandError(f"{arguments.model} was not made by rejo train: train again in Python")
    columns = label_columns(arguments, opened)._replace(by=None)
    frame, y, _ = read_labelled(arguments, opened, columns)
    answered, rows = _answered(arguments, opened, columns)
    weight, new_y = answered["weight"].to_numpy(), answered["y"].to_numpy()
    groups = columns.groups if columns.groups in rows else None
    # Rows that belong together test together.
    named = answered["id"] if groups is None else rows[groups].fillna(answered["id"])
    test = kept_apart(named, answered["newest"].to_numpy(), arguments.seed)
    learn = np.flatnonzero(~test)
    if not len(learn) or not test.any():
        raise CommandError(f"{len(test):,} answered cases are too few to learn from some and to "
                           "test on others")  # fmt: skip
    alike = opened.model.confidence is not None
    learn = learn[copies(weight[learn], arguments.seed, alike=alike)]
    X = pd.concat([frame, rows.iloc[learn]], ignore_index=True)
    labels = np.array(opened.classes, dtype=object)[np.append(y, new_y[learn])]
    alone = [*(f"old {i}" for i in range(len(frame))), *(f"new {i}" for i in learn)]
    together = pd.Series(alone) if groups is None else X[groups].fillna(pd.Series(alone))
    is_one = groups is None and len(set(alone)) == len(alone)  # no row comes twice
    model = _fitted(arguments, opened, columns, X, labels, None if is_one else together)
    kinds = opened.encoder.kinds_
    rejo.persistence.save(
        model, arguments.output, X=X[list(kinds)], y=labels, overwrite=arguments.overwrite,
        table=opened.table | {"cases": fingerprint(row_prints(X, kinds, labels))},
        notes=f"rejo update of {opened.found.payload_hash[:16]} ({opened.found.notes})",
    )  # fmt: skip
    new = Opened(*rejo.persistence.open_file(arguments.output, **options.opening(arguments)))
    found = _compared(opened, new, columns, rows[test], answered[test])
    better = found["newest"].better
    facts = {
        "model": str(arguments.output), "recommended": better, "old_rows": len(frame),
        "answered": len(answered), "tested": int(test.sum()),
        "learned_from": len(np.unique(learn)), "rows": len(learn),
        "largest_weight": float(weight.max()), "capped": int((weight > MOST).sum()),
        **{name: one._asdict() | {"saved": one.saved._asdict()} for name, one in found.items()},
    }  # fmt: skip
    if arguments.json:
        print_json(facts)
    else:
        _tell(facts, found, alike=alike)
    if not better:
        raise NotBetter(
            f"{arguments.output} is not better than {arguments.model} beyond chance: keep the old "
            "one, or try again when there are more answers"
        )


def _answered(
    arguments: argparse.Namespace, opened: Opened, columns: LabelColumns
) -> tuple[Any, Any]:
    """Return the answered cases that the tables have, and their rows in the same order."""
    import pandas as pd

    from rejo.book import Book, answered_cases
    from rejo.tables import read_chunks

    id = arguments.id or opened.table.get("id")
    if id is None:
        raise CommandError("the model does not say which column has the ids: give --id")
    with Book(arguments.book) as book:
        answered, n_unlike = answered_cases(book.cases(), opened.classes)
    if n_unlike:
        warn(f"{n_unlike:,} cases are like none that was answered, and are not learned from")
    text = list(dict.fromkeys(name for name in (id, columns.group, columns.groups) if name))
    wanted, reading = set(answered["id"]), options.reading(arguments)
    parts = [
        chunk[chunk[id].isin(wanted)]
        for path in arguments.cases
        for chunk in read_chunks(path, opened.encoder, text=text, **reading)
    ]
    rows = pd.concat(parts, ignore_index=True).drop_duplicates(id, keep="last")
    there = answered["id"].isin(set(rows[id]))
    if lacking := int((~there).sum()):
        warn(f"{lacking:,} of {len(answered):,} answered cases are in no table of --cases")
    answered = answered[there].reset_index(drop=True)
    return answered, rows.set_index(id).loc[answered["id"]].reset_index(drop=True)


def _fitted(
    arguments: argparse.Namespace, opened: Opened, columns: LabelColumns, X: Any, y: Any,
    groups: Any,
) -> Any:  # fmt: skip
    """Return a model as the old one, fitted to these cases."""
    from sklearn.base import clone

    from rejo.cli._training import candidates

    how = {"n_jobs": options.n_jobs(arguments, len(y)), "verbose": not arguments.json}
    model = clone(opened.model).set_params(**how, random_state=arguments.seed)
    group = None if columns.group is None else opened.groups_of(X[columns.group])
    with candidates():
        model.fit(X[list(opened.encoder.kinds_)], y, groups=groups, group=group)
    return model.set_params(n_jobs=None, verbose=False)


def _compared(
    old: Opened, new: Opened, columns: LabelColumns, rows: Any, answered: Any
) -> dict[str, Comparison]:
    """Compare the models on the newest cases, and on those of them that an audit drew."""
    import numpy as np

    from rejo.book import compare_costs
    from rejo.decisions import uniform_prices
    from rejo.prices import of_rows

    prices = old.model.prices_
    if prices is None:
        prices = uniform_prices(len(old.classes), float(old.model.reject_cost_))
    group = None if columns.group is None else old.groups_of(rows[columns.group])
    rows = rows[list(old.encoder.kinds_)].reset_index(drop=True)
    first, second = (one.judge(rows, group).rows["decision"].astype(np.intp) for one in (old, new))
    y, weight, drawn = (answered[name].to_numpy() for name in ("y", "weight", "drawn"))
    priced = np.ones(len(y), dtype=bool)
    if old.model.case_prices_ is not None:
        prices = old.model.case_prices_.at(old.classes, rows, None, len(y))[:]
        priced = ~np.isnan(prices).any(axis=(-2, -1)) if prices.ndim == 3 else priced
    return {
        name: compare_costs(y[of], first[of], second[of], of_rows(prices, of), weight[of])
        for name, of in {"newest": priced, "audits": drawn & priced}.items()
    }


def _tell(facts: dict[str, Any], found: dict[str, Comparison], *, alike: bool) -> None:
    from rejo.book import MOST

    used = "left in at random by their weights" if alike else f"as {facts['rows']:,} rows"
    print(
        f"Learned from {facts['old_rows']:,} old rows and {facts['learned_from']:,} answered "
        f"cases, {used}. The largest weight is {facts['largest_weight']:.3g}; "
        f"{facts['capped']:,} are capped at {MOST:g}."
    )
    for what, one in zip(("of the newest answers", "audited cases"), found.values(), strict=True):
        if one.n:
            print(
                f"On {one.n:,} {what} that neither model has seen, a case costs {one.old:.4g} with "
                f"the old model and {one.new:.4g} with the new one: {one.saved.estimate:.3g} less "
                f"({one.saved.low:.3g} to {one.saved.high:.3g})."
            )
    if facts["recommended"]:
        print(f"{facts['model']} is better beyond chance: use it.")
