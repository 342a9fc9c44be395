"""``rejo update``: a model trained again, with the answers of a case book."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo.cli import _options as options
from rejo.cli._files import CommandError, check_apart, check_output, print_json, require, warn

if TYPE_CHECKING:
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
    from rejo.cli._model_file import open_model
    from rejo.cli._tested_cases import label_columns, read_labelled

    arguments.by = arguments.group = None
    check_apart(arguments.model, arguments.book, arguments.data, *arguments.cases, arguments.output)
    check_output(arguments.output, overwrite=arguments.overwrite)
    require("skops", "files", "a model file")
    import numpy as np
    import pandas as pd

    import rejo.persistence
    from rejo.book import MOST, Book, answered_cases, copies, test_cases
    from rejo.scoring import Opened, fingerprint, row_prints

    opened = open_model(arguments)
    columns = label_columns(arguments, opened)._replace(by=None)
    frame, y, _ = read_labelled(arguments, opened, columns)
    with Book(arguments.book) as book:
        answered, n_unlike = answered_cases(book.cases(), opened.classes)
    answered, rows = _with_features(arguments, opened, columns, answered)
    test = test_cases(answered, arguments.seed)
    new_y = pd.Index(opened.classes).get_indexer(answered["truth"])
    weight = answered["weight"].to_numpy()
    if n_unlike:
        warn(f"{n_unlike:,} cases are like none that was answered, and are not learned from")
    learn = np.flatnonzero(~test)
    if not len(learn) or not test.any():
        raise CommandError(f"{arguments.book} has {len(test):,} answered cases, too few to learn "
                           "from some and to test on others")  # fmt: skip
    alike = getattr(opened.model, "confidence", None) is not None
    learn = learn[copies(weight[learn], arguments.seed, alike=alike)]
    X = pd.concat([frame, rows.iloc[learn]], ignore_index=True)
    labels = np.array(opened.classes, dtype=object)[np.append(y, new_y[learn])]
    alone = np.append(np.arange(len(frame)), len(frame) + learn)  # copies are one case
    together = alone if columns.groups not in X else _together(X[columns.groups], alone)
    model = _fitted(arguments, opened, columns, X, labels, together if len(set(alone)) < len(X)
                    or columns.groups in X else None)  # fmt: skip
    kinds = list(opened.encoder.kinds_)
    table = opened.table | {"cases": fingerprint(row_prints(X, opened.encoder.kinds_, labels))}
    rejo.persistence.save(
        model, arguments.output, X=X[kinds], y=labels, table=table, overwrite=arguments.overwrite,
        notes=f"rejo update of {opened.found.payload_hash[:16]} ({opened.found.notes})",
    )  # fmt: skip
    new = Opened(*rejo.persistence.open_file(arguments.output, **options.opening(arguments)))
    part = answered[test].reset_index(drop=True)
    found = _compared(opened, new, columns, rows[test], new_y[test], part)
    newest = found["newest"]
    facts = {
        "model": str(arguments.output),
        "recommended": newest.better,
        "old_rows": len(frame), "answered": len(answered), "tested": int(test.sum()),
        "learned_from": len(np.unique(learn)), "copies": len(learn),
        "largest_weight": float(weight.max()), "most": MOST,
        "capped": int((weight > MOST).sum()), "unlike": n_unlike,
        **{name: one._asdict() | {"saved": one.saved._asdict()} for name, one in found.items()},
    }  # fmt: skip
    if arguments.json:
        print_json(facts)
    else:
        _tell(arguments, facts, found, alike)
    if not newest.better:
        raise NotBetter(
            f"{arguments.output} is not better than {arguments.model} beyond chance: keep the old "
            "one, or try again when there are more answers"
        )


def _with_features(
    arguments: argparse.Namespace, opened: Opened, columns: LabelColumns, answered: Any
) -> tuple[Any, Any]:
    """Return the answered cases that the tables have, and their rows in the same order."""
    import pandas as pd

    from rejo.tables import read_chunks

    id = arguments.id or opened.table.get("id")
    if id is None:
        raise CommandError("the model does not say which column has the ids: give --id")
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


def _together(groups: Any, alone: Any) -> Any:
    """Number (n,) of what belongs together: the rows of a group, and the copies of a case."""
    import numpy as np
    import pandas as pd

    named = np.where(groups.isna(), [f"row {i}" for i in alone.tolist()], groups.astype(object))
    return pd.factorize(named)[0]


def _fitted(
    arguments: argparse.Namespace,
    opened: Opened,
    columns: LabelColumns,
    X: Any,
    y: Any,
    groups: Any,
) -> Any:
    """Return a model as the old one, fitted to these cases."""
    from sklearn.base import clone

    from rejo.cli._training import candidates

    jobs = options.n_jobs(arguments, len(y))
    model = clone(opened.model).set_params(
        n_jobs=jobs, verbose=not arguments.json, random_state=arguments.seed
    )
    group = None if columns.group is None else opened.groups_of(X[columns.group])
    with candidates():
        model.fit(X[list(opened.encoder.kinds_)], y, groups=groups, group=group)
    return model.set_params(n_jobs=None, verbose=False)


def _compared(
    old: Opened, new: Opened, columns: LabelColumns, rows: Any, y: Any, part: Any
) -> dict[str, Any]:
    """Compare the models on the newest cases, and on those of them that an audit drew."""
    import numpy as np

    from rejo.book import MOST, compare_costs
    from rejo.decisions import uniform_prices

    prices = old.model.prices_
    if prices is None:
        prices = uniform_prices(len(old.classes), float(old.model.reject_cost_))
    group = None if columns.group is None else old.groups_of(rows[columns.group])
    rows = rows[list(old.encoder.kinds_)].reset_index(drop=True)
    first, second = (one.judge(rows, group).rows["decision"].astype(np.intp) for one in (old, new))
    weight = np.minimum(part["weight"].to_numpy(), MOST)
    audited = part["drawn"].to_numpy()
    return {
        name: compare_costs(y[of], first[of], second[of], prices, weight[of])
        for name, of in {"newest": np.ones(len(y), dtype=bool), "audits": audited}.items()
    }


def _tell(
    arguments: argparse.Namespace, facts: dict[str, Any], found: dict[str, Any], alike: bool
) -> None:
    used = "counted once, at random by their weights" if alike else f"as {facts['copies']:,} rows"
    print(
        f"Learned from {facts['old_rows']:,} old rows and {facts['learned_from']:,} answered "
        f"cases, {used}. Weights: at most {facts['largest_weight']:.3g}; "
        f"{facts['capped']:,} are capped at {facts['most']:g}."
    )
    for name, one in found.items():
        if one.n:
            print(
                f"On {one.n:,} {'of the newest answers' if name == 'newest' else 'audited cases'} "
                f"that neither model has seen, a case costs {one.old:.4g} with the old model and "
                f"{one.new:.4g} with the new one: {one.saved.estimate:.3g} less "
                f"({one.saved.low:.3g} to {one.saved.high:.3g})."
            )
    if facts["recommended"]:
        print(f"{arguments.output} is better beyond chance: use it.")
