"""The reports of ``train`` and ``evaluate``."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rejo.cli._cases import Cases
from rejo.cli._files import check_output, require, write_file
from rejo.cli._training import Trained, candidates, folds_for, why_chosen


def check_report(arguments: argparse.Namespace) -> None:
    """Check that ``--report`` can be written, before any work is done."""
    if arguments.report is not None:
        endings = (".html", ".htm")
        check_output(arguments.report, endings, overwrite=arguments.overwrite, option="--report")
        require("jinja2", "report", "--report")


def write_report(
    arguments: argparse.Namespace,
    points: Sequence[Any],
    y: Any,
    classes: Sequence[str],
    *,
    prices: Any,
    provenance: Mapping[str, str],
    **options: Any,
) -> str:
    """Write the page and return its first sentence; ``y`` as indices, prices as a matrix."""
    import platform

    import numpy
    import sklearn

    from rejo import __version__
    from rejo.report import make_report, render

    made_by = {
        "Made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "By": f"rejo {__version__}, scikit-learn {sklearn.__version__}, NumPy "
        f"{numpy.__version__}, Python {platform.python_version()}",
    }
    options["prices"] = prices
    options |= {"provenance": {**provenance, **made_by}, "command": arguments.command}
    report = make_report(points, y, classes, **options)
    write_file(arguments.report, render(report), overwrite=arguments.overwrite)
    return report.numbers(report.setting)["headline"]


def judge_training(cases: Cases, trained: Trained, *, seed: int, n_jobs: int) -> dict[str, Any]:
    """Return what a report says of the training cases, by cross-validation."""
    model, choice = trained
    y = cases.indices()
    tried = [
        {
            "method": entry.name,
            "cost": entry.cost,
            "error": entry.error,
            "chosen": entry.name == choice.name,
            "why": why_chosen(choice) if entry.name == choice.name else None,
        }
        for entry in choice.tried
    ]
    points, chosen = model.outcomes_, model.chosen_
    if points is None:  # the cases that prove a guarantee had not been judged
        points, chosen = _judge_all(cases, model, seed=seed, n_jobs=n_jobs)
    return {
        "points": in_prices(points, model),
        "y": y,
        "chosen": chosen,
        "axis": "review_share" if model.decides_by_posteriors else "reject_cost",
        "size": model.n_effective_,
        "rivals": choice.rival_curves(),
        "tried": tried if len(tried) > 1 else [],
        "ordered": cases.ordered,
        **promised(model),
        "doubtful": doubtful(model, cases.X, cases.group),
    }


def promised(model: Any) -> dict[str, Any]:
    """Return what a report says of promises, and of groups that have none."""
    policy = getattr(model, "policy_", None)
    return {
        "promises": getattr(model, "guarantees_", ()),
        "sent_to_review": [] if policy is None else policy.reviewed,
    }


def doubtful(model: Any, X: Any, group: Any) -> list[Any]:
    """Return the features that make cases doubtful; none if the model cannot be explained."""
    from rejo.estimators import WhyError, doubtful_features

    try:
        return list(doubtful_features(model, X, group=group))
    except WhyError:  # as of a model that was fitted in Python and keeps no typical case
        return []


def in_prices(points: Sequence[Any], model: Any, *, known: bool = True) -> list[Any]:
    """Let a review of each case be worth what it is at the prices that a report shows.

    Without prices a report takes those at which the operating point is best.  If the prices are
    not ``known`` to the model, neither is what a review is worth.
    """
    if points[0].worth is None or (known and getattr(model, "prices_", None) is not None):
        return list(points)
    shift = getattr(model, "reject_cost_", 0.0) if hasattr(model, "cut_") else 0.0
    return [replace(point, worth=point.worth - shift if known else None) for point in points]


def _judge_all(cases: Cases, model: Any, *, seed: int, n_jobs: int) -> tuple[Any, int]:
    """Judge all cases out of fold, and find the operating point of the model among the others."""
    import numpy as np

    from rejo.estimators import final_classifier
    from rejo.selection import CANDIDATES, cross_fit, cross_val_outcomes, cut_outcomes, with_cut

    how: dict[str, Any] = {
        "cv": folds_for(cases, seed), "groups": cases.groups, "n_jobs": n_jobs
    }  # fmt: skip
    with candidates():
        if model.decides_by_posteriors:
            found = cross_fit(model.estimator, cases.X, cases.y, **how)
            # As in the outcomes of a search: worth at prices without the cut.
            prices = with_cut(final_classifier(model.best_estimator_).prices_, -model.cut_)
            steps = np.unique(np.append(np.linspace(-0.5, 0.5, 51) * prices.max(), 0.0))
            chosen = int(np.flatnonzero(steps == 0)[0])
            points = cut_outcomes(found, prices, model.cut_ + steps)
        else:
            costs = sorted({*CANDIDATES, model.reject_cost_})
            points = cross_val_outcomes(
                model.estimator, cases.X, cases.y, reject_costs=costs, **how
            )
            chosen = costs.index(model.reject_cost_)
            points[chosen] = _in_its_ranking(points[chosen], model)
    if model.policy_ is not None:
        reviewed = np.isin(cases.group, model.policy_.reviewed)
        points = [_reviewing(point, reviewed) for point in points]
    return points, chosen


def _in_its_ranking(point: Any, model: Any) -> Any:
    """Review as the model does, which cuts its ranking."""
    import numpy as np

    from rejo.selection import CutRanking, cut_decision

    best = model.best_estimator_
    last = best.steps[-1][1] if hasattr(best, "steps") else best
    decision = point.decision
    if isinstance(last, CutRanking):
        decision = cut_decision(decision, point.forced, point.sureness, last.limit, last.widen)
    if point.kind is not None:
        decision = np.where(point.kind != 0, -1, decision)
    return replace(point, decision=decision, bands=None)


def _reviewing(point: Any, reviewed: Any) -> Any:
    """Review these cases (n,) by policy."""
    import numpy as np

    from rejo.estimators import POLICY

    kind = np.zeros(len(reviewed), np.int8) if point.kind is None else point.kind
    kind = np.where(reviewed, np.int8(POLICY), kind)
    return replace(point, decision=np.where(kind != 0, -1, point.decision), kind=kind)
