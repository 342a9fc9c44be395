"""Hints after training: results too good to be true, and results that are of no use."""

from typing import Any

from rejo._io import one_line, percent
from rejo.cli._cases import Cases
from rejo.cli._training import Trained

PERFECT = 0.01  # times the errors of always giving the most frequent class
LEARNT = 0.995  # times the log loss of the shares of the classes
SAME = 1.0005  # times a cost that is no higher


def hints(cases: Cases, trained: Trained, suspects: list[Any]) -> list[str]:
    """Return what to think of before the model is used, a line each; mostly there is nothing."""
    import numpy as np

    choice, model = trained.choice, trained.model
    y, forced = choice.y, None
    if choice.crossfit is not None:
        forced = choice.crossfit.p.argmax(axis=1)
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
        if choice.crossfit is not None:
            entropy = -float((share[share > 0] * np.log(share[share > 0])).sum())
            learnt = choice.chosen.log_loss < LEARNT * entropy
        if not learnt:
            found.append(
                "Nothing could be learned: these columns tell the classes apart no better than "
                "always giving the most frequent one."
            )
    return [*found, *map(one_line, _saves_nothing(trained))]


def _saves_nothing(trained: Trained) -> list[str]:
    """Say if the model costs no less than reviewing, or deciding, every case at the prices."""
    choice = trained.choice
    if len(choice.prices) > 1:  # not the user's
        return []
    cost, found = choice.chosen.cost, []
    for what, other in choice.baselines.items():
        if other <= SAME * cost:
            found.append(
                f"At these prices {what} would cost {other:.4g} a case, no more than this model "
                f"({cost:.4g})."
            )
    return found
