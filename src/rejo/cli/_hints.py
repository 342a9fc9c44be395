"""Hints after training: results too good to be true, and results that are of no use."""

from typing import Any

from rejo._io import percent
from rejo.cli._cases import Cases

PERFECT = 0.01  # times the errors of always giving the most frequent class
LEARNT = 0.995  # times the log loss of the shares of the classes


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
        if judged is not None:
            entropy = -float((share[share > 0] * np.log(share[share > 0])).sum())
            learnt = choice.chosen.log_loss < LEARNT * entropy
        if not learnt:
            found.append(
                "Nothing could be learned: these columns tell the classes apart no better than "
                "always giving the most frequent one."
            )
    return found
