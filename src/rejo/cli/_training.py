"""From labelled cases to a model at its operating point, and a report about it."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isnan
from typing import Any, NamedTuple

from rejo._io import percent
from rejo.cli._cases import Cases
from rejo.cli._files import warn

REVIEW = "review"  # label of the cases that a person should look at
FOLDS = 5
CALIBRATION = 0.3  # share of the cases that prove a guarantee


class Trained(NamedTuple):
    """A fitted model, and how it was chosen."""

    model: Any  # RejectClassifierCV around a pipeline
    choice: Any  # rejo.selection.auto.Choice


def train(
    cases: Cases,
    target: Mapping[str, Any],
    models: str,
    *,
    seed: int,
    n_jobs: int,
    tell: Callable[[str], None],
    novelty: float | None = None,
) -> Trained:
    """Choose the model and the operating point, and fit.

    With ``novelty``, this share of ordinary cases may go to review as unlike the training cases.
    """
    from rejo.cli._files import CommandError
    from rejo.selection import (
        LIMITS,
        NotSuited,
        RejectClassifierCV,
        TargetUnattainable,
        choose_model,
    )

    if "confidence" in target:
        _warn_of_repeats(cases)
    common: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    rows = _tuning_rows(cases, seed) if "confidence" in target else slice(None)
    label = REVIEW
    while label in cases.classes:
        label += "_"
    names = models.split(",")
    try:
        choice = choose_model(
            encoder_for(cases), cases.X.iloc[rows], cases.y[rows],
            models=None if "auto" in names else [name.strip() for name in names],
            prices=_prices(cases, target), class_order=cases.classes, ordered=cases.ordered,
            reject_label=label, cv=FOLDS, tell=tell, **common,
            groups=None if cases.groups is None else cases.groups[rows],
        )  # fmt: skip
    except NotSuited as error:
        raise CommandError(f"--model: {error}") from None
    options = common | {"cv": folds_for(cases, seed), "calibration_size": CALIBRATION}
    estimator = choice.estimator
    if choice.crossfit is not None:
        estimator.set_params(model__cost_of=None)  # the operating point comes from the target
    if novelty is not None:
        estimator = with_novelty(estimator, novelty, seed)
    model = RejectClassifierCV(estimator, **target, **options)
    # The race judged the cases out of fold, which serves one limit.
    n_limits = sum(name in LIMITS for name in target)
    crossfit = None if "confidence" in target or n_limits > 1 else choice.crossfit
    if crossfit is not None and novelty is not None:
        crossfit = _with_novel(crossfit, estimator, cases)
    on = f"all {len(cases.y):,} cases"
    if "confidence" in target:
        on = f"{len(cases.y[rows]):,} cases; the others prove the promise"
    tell(f"Fitting {choice.name} on {on}{choice.time_left()}.")
    with candidates():
        try:
            model.fit(
                cases.X, cases.y, groups=cases.groups, group=cases.group, time=cases.time,
                crossfit=crossfit,
            )  # fmt: skip
        except TargetUnattainable as error:
            more = "ask for less --confidence" if "confidence" in target else "add better columns"
            it = "it" if "cannot be reached" in error.problem else "a limit"
            if error.parameter != "small_groups":  # which has a remedy of its own
                error.remedy = f"Raise {it}, try another --model, give more cases, or {more}."
            raise
    model.set_params(n_jobs=None)  # not a property of the model
    return Trained(model, choice)


def why_chosen(choice: Any) -> str | None:
    """What speaks for the chosen model where another costs less; ``None`` if it costs least.

    See :func:`rejo.selection.auto.simplest`: log loss decides where costs may differ by chance.
    """
    cheapest, chosen = choice.tried[0], choice.chosen
    if chosen.cost <= 1.0005 * cheapest.cost:
        return None
    if isnan(cheapest.log_loss):
        return "gives probabilities"
    return "is simpler" if chosen.log_loss > cheapest.log_loss else "has the lower log loss"


def with_novelty(estimator: Any, share: float, seed: int) -> Any:
    """Return the pipeline with a detector around its last step."""
    from rejo.baselines import NoveltyReject

    name, model = estimator.steps[-1]
    detecting = NoveltyReject(model, review_share=share, random_state=seed)
    return estimator.set_params(**{name: detecting})


def _with_novel(crossfit: Any, estimator: Any, cases: Cases) -> Any:
    """Find the novel cases out of the same folds, without another fit of the classifier."""
    from sklearn.base import clone
    from sklearn.dummy import DummyClassifier
    from sklearn.model_selection import PredefinedSplit

    from rejo.selection import cross_fit

    detecting = clone(estimator).set_params(model__classifier=DummyClassifier())
    found = cross_fit(detecting, cases.X, crossfit.y, cv=PredefinedSplit(crossfit.fold))
    return crossfit._replace(novel=found.novel)


def _prices(cases: Cases, target: Mapping[str, Any]) -> list[Any] | None:
    """Prices at which to compare the models; ``None`` if there are none."""
    import numpy as np

    from rejo.prices import check_reviews_pay
    from rejo.selection import check_prices

    given = {"reject_cost": "auto", **target}
    prices = check_prices(given, np.array(cases.classes), ordered=cases.ordered, posteriors=True)
    if prices is None:
        return None
    if target.get("cost_of") is not None:
        check_reviews_pay(target["cost_of"], cases.classes, ordered=cases.ordered)
    return [prices]


def folds_for(cases: Cases, seed: int) -> Any:
    """Return the folds by which rates are estimated."""
    from rejo.selection import shuffled_folds

    return shuffled_folds(FOLDS, cases.groups, seed)


@contextmanager
def candidates() -> Iterator[None]:
    """Silence candidates: most are discarded, and their problems show in their rates."""
    from sklearn.exceptions import ConvergenceWarning

    from rejo.selection import RepeatedRows

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RepeatedRows)  # said in words of the command line
        warnings.filterwarnings("ignore", "The model rejects", UserWarning)
        yield


def _warn_of_repeats(cases: Cases) -> None:
    from rejo.selection import repeated_share

    if share := repeated_share(cases.X, cases.y, cases.groups):
        warn(
            f"{percent(share)} of the rows are identical to another row. If these are copies, or "
            "rows of the same person or thing, what --confidence promises does not hold: remove "
            "the copies, or name the column that says what belongs together with --groups"
        )


def _tuning_rows(cases: Cases, seed: int) -> Any:
    """Return the cases that are not set aside for a guarantee, as the model will draw them.

    Tuning must not see the others, or the guarantee would not hold.
    """
    import numpy as np

    from rejo.selection import hold_out
    from rejo.tables import TableError

    order = None if cases.time is None else np.unique(cases.time, return_inverse=True)[1]
    rows, _ = hold_out(len(cases.y), CALIBRATION, seed, cases.groups, order)
    kept = Counter(cases.y[rows].tolist())
    if few := [label for label in cases.classes if kept[label] < 2]:
        raise TableError(
            f"the class {few[0]!r} is so rare that all its rows, or all but one, would be set "
            "aside for --confidence",
            where=cases.table.path,
            remedy="Give more of them, or leave out --confidence.",
        )
    return rows


def encoder_for(cases: Cases) -> Any:
    """Return a fitted encoder for the table; refuse a table without a useful column."""
    from rejo.tables import TableEncoder, TableError

    encoder = TableEncoder(written=cases.table.written)
    try:
        encoder.fit(cases.X)
    except TableError as error:
        error.where = cases.table.path
        raise
    return encoder
