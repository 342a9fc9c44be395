"""From labelled cases to a model at its operating point, and a report about it."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from rejo.cli._cases import Cases

REVIEW = "review"  # label of the cases that a person should look at
FOLDS = 5
# Small steps come closer to a budget; a guarantee is better with fewer candidates.
REJECT_COSTS = tuple(round(0.02 * i, 2) for i in range(1, 26))
FINE = 5_000  # rows above which they would take too long
CALIBRATION = 0.3  # share of the cases that prove a guarantee


class Trained(NamedTuple):
    """A fitted model, and how it was chosen."""

    model: Any  # RejectClassifierCV around a pipeline
    choice: Any  # rejo.selection.choice.Choice
    left_out: list[str]  # families that were not tried, with the reason


def train(
    cases: Cases, target: Mapping[str, Any], family: str, *, seed: int, n_jobs: int
) -> Trained:
    """Tune, choose the operating point, fit."""
    from rejo.catalogue import TRAINED, find
    from rejo.cli._files import CommandError
    from rejo.selection import RejectClassifierCV, TargetUnattainable
    from rejo.selection.choice import choose_family
    from rejo.selection.target import check_target

    if cases.groups is not None and "confidence" in target:
        raise CommandError("--confidence needs independent cases: it cannot be used with --groups")
    names, left_out = [family], list[str]()
    if family == "auto":
        slow = [m for m in find(TRAINED) if m.max_samples and len(cases.y) > m.max_samples]
        names = [name for name in TRAINED if name not in {method.name for method in slow}]
        left_out = [
            f"{m.name}: not tried on more than {m.max_samples:,} rows (--model {m.name} does)"
            for m in slow
        ]
    common: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    rows = _tuning_rows(cases, seed) if "confidence" in target else slice(None)
    # Prices say at which reject cost to compare the families.
    priced = {"reject_cost", "cost_of"} & target.keys()
    at: dict[str, Any] = {"reject_costs": [check_target(target).limit]} if priced else {}
    label = REVIEW
    while label in cases.classes:
        label += "_"
    choice = choose_family(
        names, encoder_for(cases), cases.X.iloc[rows], cases.y[rows], class_order=cases.classes,
        reject_label=label, groups=cases.groups, **at, **common,
    )  # fmt: skip
    options = common | {"cv": folds_for(cases, seed), "calibration_size": CALIBRATION}
    if "confidence" not in target and len(cases.y) <= FINE:
        options["reject_costs"] = REJECT_COSTS
    model = RejectClassifierCV(choice.estimator, **target, **options)
    with candidates():
        try:
            model.fit(cases.X, cases.y, groups=cases.groups)
        except TargetUnattainable as error:
            more = "ask for less --confidence" if "confidence" in target else "add better columns"
            error.remedy = f"Raise it, try another --model, give more cases, or {more}."
            raise
    model.set_params(n_jobs=None)  # not a property of the model
    return Trained(model, choice, left_out)


def folds_for(cases: Cases, seed: int) -> Any:
    """Return the folds by which rates are estimated."""
    from rejo.selection.folds import shuffled_folds

    return shuffled_folds(FOLDS, cases.groups, seed)


@contextmanager
def candidates() -> Iterator[None]:
    """Silence candidates: most are discarded, and their problems show in their rates."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        yield


def _tuning_rows(cases: Cases, seed: int) -> Any:
    """Return the cases that are not set aside for a guarantee, as the model will draw them.

    Tuning must not see the others, or the guarantee would not hold.
    """
    import numpy as np
    from sklearn.model_selection import train_test_split

    from rejo.tables import TableError

    rows, _ = train_test_split(np.arange(len(cases.y)), test_size=CALIBRATION, random_state=seed)
    if absent := set(cases.classes) - set(cases.y[rows].tolist()):
        raise TableError(
            f"the class {min(absent)!r} is so rare that all its rows would be set aside for "
            "--confidence",
            where=cases.table.path,
            remedy="Give more of them, or leave out --confidence.",
        )
    return rows


def prepare_of(model: Any) -> Any:
    """Return the table encoder of a model; ``None`` if it has none."""
    from rejo.tables import TableEncoder

    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return first if isinstance(first, TableEncoder) else None


def encoder_for(cases: Cases) -> Any:
    """Return a fitted encoder for the table; refuse a table without a useful column."""
    from rejo.tables import TableEncoder, TableError

    encoder = TableEncoder(date_formats=cases.table.date_formats)
    try:
        encoder.fit(cases.X)
    except TableError as error:
        error.where = cases.table.path
        raise
    return encoder
