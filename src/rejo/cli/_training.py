"""From labelled cases to a model at its operating point."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rejo._io import percent
from rejo.cli._cases import Cases
from rejo.cli._files import warn

REVIEW = "review"  # label of the cases that a person should look at
FOLDS = 5


def train(
    cases: Cases,
    target: Mapping[str, Any],
    models: str,
    *,
    seed: int,
    n_jobs: int,
    novelty: float | None = None,
) -> Any:
    """Choose the model and the operating point, and fit; return a ``RejectClassifierCV``.

    With ``novelty``, this share of ordinary cases may go to review as unlike the training cases.
    """
    from sklearn.pipeline import Pipeline

    from rejo.baselines import NoveltyReject
    from rejo.cli._files import CommandError
    from rejo.prices import check_reviews_pay
    from rejo.selection import NotSuited, RejectClassifierCV, TargetUnattainable
    from rejo.tables import TableError

    if "confidence" in target:
        _warn_of_repeats(cases)
    if target.get("cost_of") is not None:
        check_reviews_pay(target["cost_of"], cases.classes, ordered=cases.ordered)
    learner: Any = models
    if novelty is not None:
        learner = NoveltyReject(models, review_share=novelty, random_state=seed)
    model = RejectClassifierCV(
        Pipeline([("prepare", encoder_for(cases)), ("model", learner)]), **target, cv=FOLDS,
        class_order=cases.classes, ordered=cases.ordered, reject_label=review_label(cases.classes),
        random_state=seed, n_jobs=n_jobs, verbose=True,
    )  # fmt: skip
    with candidates():
        try:
            model.fit(cases.X, cases.y, groups=cases.groups, group=cases.group, time=cases.time)
        except NotSuited as error:
            raise CommandError(f"--model: {error}") from None
        except TargetUnattainable as error:
            if error.parameter == "y":  # too few cases of a class
                where = cases.table.path
                raise TableError(error.problem, where=where, remedy=error.remedy) from None
            more = "ask for less --confidence" if "confidence" in target else "add better columns"
            if error.parameter != "small_groups":  # which has a remedy of its own
                first = str(error.remedy).partition(",")[0]  # raise it, or one of several
                error.remedy = f"{first}, try another --model, give more cases, or {more}."
            raise
    return model.set_params(n_jobs=None, verbose=False)  # not properties of the model


def review_label(classes: list[str]) -> str:
    """The label of cases that go to review, which is not a class."""
    label = REVIEW
    while label in classes:
        label += "_"
    return label


@contextmanager
def candidates() -> Iterator[None]:
    """Silence candidates: most are discarded, and their problems show in their rates."""
    from rejo.selection import RepeatedRows, quiet

    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatedRows)  # said in words of the command line
        yield


def _warn_of_repeats(cases: Cases) -> None:
    from rejo.selection import repeated_share

    if share := repeated_share(cases.X, cases.y, cases.groups):
        warn(
            f"{percent(share)} of the rows are identical to another row. If these are copies, or "
            "rows of the same person or thing, what --confidence promises does not hold: remove "
            "the copies, or name the column that says what belongs together with --groups"
        )


def encoder_for(cases: Cases) -> Any:
    """Return a fitted encoder for the table; refuse a table without a useful column."""
    from rejo.tables import TableEncoder, TableError

    encoder = TableEncoder(written=cases.table.written, reading=cases.table.reading)
    try:
        encoder.fit(cases.X)
    except TableError as error:
        error.where = cases.table.path
        raise
    # A part of the rows might not show which dates order them.
    return encoder.set_params(reading=encoder.reading_)
