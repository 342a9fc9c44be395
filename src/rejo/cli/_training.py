"""From labelled cases to a model at its operating point, and what there is to say about it."""

import warnings
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import floor, isnan, log10
from typing import Any, NamedTuple

from rejo._io import percent
from rejo.cli._cases import Cases, case_prices
from rejo.cli._column_lines import suspicion
from rejo.cli._files import warn
from rejo.cli._options import n_jobs

FOLDS = 5
PERFECT = 0.01  # times the errors of always giving the most frequent class
LEARNT = 0.995  # times the log loss of the shares of the classes


class Trained(NamedTuple):
    """A fitted model, and what there is to say about it."""

    model: Any  # RejectClassifierCV
    name: str
    chosen: str  # which model, in a line
    compared: list[str]  # how it compared with others, in lines
    hints: list[str]  # what to think of before it is used
    warned: list[str]  # of what a warning was given
    result: dict[str, Any]  # more of what ``--json`` prints
    n_jobs: int = 1  # that it took


def train(
    cases: Cases, encoder: Any, target: Mapping[str, Any], arguments: Namespace, tell: Any
) -> Trained:
    """Choose the model and the operating point, and fit."""
    from rejo.selection import find_leaks

    suspects = find_leaks(cases.X[list(encoder.features_)], cases.y, groups=cases.groups).suspects
    for suspect in suspects:
        warn(suspicion(suspect))
    jobs = n_jobs(arguments, len(cases.y))
    model = _fitted(cases, encoder, target, arguments, jobs)
    choice, found = model.choice_, hints(cases, model, suspects)
    if model.margin_ is None:  # else the summary says how sure the limit is
        tuned = "Parameters were tuned on the same cases, so these rates are slightly optimistic."
        found = [tuned, *found]
    return Trained(
        model, choice.name, f"Model: {_made_of(choice)}.", describe_choice(choice),
        found, list(map(suspicion, suspects)),
        {
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
        },
        jobs,
    )  # fmt: skip


def _fitted(
    cases: Cases, encoder: Any, target: Mapping[str, Any], arguments: Namespace, jobs: int
) -> Any:
    """Return a fitted ``RejectClassifierCV``.

    With ``--novelty``, a share of ordinary cases may go to review as unlike the training cases.
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline

    from rejo.baselines import NoveltyReject
    from rejo.scoring import review_label
    from rejo.selection import RejectClassifierCV, TargetUnattainable
    from rejo.tables import TableError

    if "confidence" in target:
        _warn_of_repeats(cases)
    if target.get("cost_of") is not None:
        case_prices(cases, target["cost_of"], arguments)
    learner, seed = arguments.model, arguments.seed
    if arguments.novelty is not None:
        learner = NoveltyReject(learner, review_share=arguments.novelty, random_state=seed)
    model = RejectClassifierCV(
        Pipeline([("prepare", clone(encoder)), ("model", learner)]), **target, cv=FOLDS,
        class_order=cases.classes, ordered=cases.ordered, reject_label=review_label(cases.classes),
        random_state=seed, n_jobs=jobs, verbose=True,
    )  # fmt: skip
    time = cases.time if "confidence" in target else None  # the latest cases prove a promise
    with candidates():
        try:
            model.fit(
                cases.X, cases.y, groups=cases.groups, group=cases.group, time=time,
                prices=cases.X if cases.prices else None,
            )  # fmt: skip
        except TargetUnattainable as error:
            if error.parameter == "y":  # too few cases of a class
                where = cases.table.path
                raise TableError(error.problem, where=where, remedy=error.remedy) from None
            raise
    return model.set_params(n_jobs=None, verbose=False)  # not properties of the model


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

    encoder = TableEncoder(
        written=cases.table.written, reading=cases.table.reading, prices=cases.prices or None
    )
    try:
        encoder.fit(cases.X)
    except TableError as error:
        error.where = cases.table.path
        raise
    # A part of the rows might not show which dates order them.
    return encoder.set_params(reading=encoder.reading_)


# ---- what there is to say ---------------------------------------------------------------------


def hints(cases: Cases, model: Any, suspects: list[Any]) -> list[str]:
    """Return what to think of before the model is used, a line each; mostly there is nothing."""
    import numpy as np

    choice = model.choice_
    y, forced, judged = choice.y, None, choice.chosen.cases
    if judged is not None:
        forced = judged.p.argmax(axis=1)
    elif model.outcomes_ is not None:
        y, forced = cases.indices(), np.asarray(model.outcomes_[model.chosen_].forced)
    share = np.bincount(y) / len(y)
    found = []
    if forced is not None:
        wrong, guess = float((forced != y).mean()), float(1 - share.max())
        if wrong <= PERFECT * guess and not suspects:
            amount = f"only {percent(wrong, 2)}" if wrong else "none"
            found.append(
                f"If every case were decided, {amount} would be wrong, which is often too "
                "good to be true. Is each column known before a case is decided? `rejo look` tries "
                "each one alone."
            )
        learnt = wrong < guess
        if model.prices_ is not None:  # errors of some classes may be cheap
            right = np.bincount(y[forced == y], minlength=len(share)) / np.bincount(y)
            chance = np.sqrt((0.25 / np.bincount(y)).sum()) / len(share)
            learnt = right.mean() > 1 / len(share) + 2 * chance
        if judged is not None:
            entropy = -float((share[share > 0] * np.log(share[share > 0])).sum())
            learnt = choice.chosen.log_loss < LEARNT * entropy
        if not learnt:
            found.append(
                "Nothing could be learned: these columns tell the classes apart no better than "
                "always giving the most frequent one."
            )
    return found


def _made_of(choice: Any) -> str:
    """Name the chosen model, and the parts of a blend."""
    weights = choice.chosen.weights
    if not weights:
        return str(choice.name)
    *parts, last = sorted(weights, key=lambda name: -weights[name])
    made_of = f"{', '.join(parts)} and {last}" if parts else last
    return f"{choice.name} of {made_of}"


def describe_choice(choice: Any) -> list[str]:
    """Say which model was chosen, from which others, and how far apart they were."""
    how = f"{choice.n_folds}-fold cross-validation of {len(choice.y):,} cases"
    if len(choice.tried) == 1:
        lines = [f"Model: {choice.name}, tuned by {how}."]
        return [*lines, *(f"  {line}" for line in _compared(choice))]
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
    return [*lines, *(f"  {line}" for line in _compared(choice))]


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
    elif params := shown_params(chosen.params):
        lines.append(f"Parameters of {chosen.name}: {params}.")
    reasons = dict.fromkeys(choice.left_out.values())
    for why in reasons:
        names = [name for name, reason in choice.left_out.items() if reason == why]
        lines.append(f"Left out: {', '.join(names)} ({why}).")
    return lines


def money_places(amount: float) -> int:
    """Return how many decimals to show of an amount, for about four digits."""
    return min(6, max(0, 3 - floor(log10(amount)))) if amount > 0 else 4


def shown_params(params: Mapping[str, Any]) -> str:
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
