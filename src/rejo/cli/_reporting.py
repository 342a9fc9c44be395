"""The reports of ``train``, ``evaluate`` and ``report``."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from rejo.cli._cases import Cases
from rejo.cli._files import check_output, require, write_file
from rejo.cli._training import FOLDS, candidates

FEW = 100  # decided cases of a class to explain: shares are known within some 10 points then


def check_report(arguments: argparse.Namespace, option: str = "--report") -> None:
    """Check that the report can be written, before any work is done."""
    if arguments.report is not None:
        endings = (".html", ".htm")
        check_output(arguments.report, endings, overwrite=arguments.overwrite, option=option)
        require("jinja2", "report", "a report")


def write_report(
    arguments: argparse.Namespace,
    points: Sequence[Any],
    y: Any,
    classes: Sequence[str],
    *,
    prices: Any,
    provenance: Mapping[str, str],
    **options: Any,
) -> None:
    """Write the page; ``y`` as indices, prices as a matrix or as formulas of ``amounts``."""
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


def judge_training(cases: Cases, model: Any, *, seed: int, n_jobs: int) -> dict[str, Any]:
    """Return what a report says of the training cases, by cross-validation."""
    points, chosen = model.outcomes_, model.chosen_
    if points is None:  # the cases that prove a guarantee had not been judged
        points, chosen = _judge_all(cases, model, seed=seed, n_jobs=n_jobs)
    return {
        "points": in_prices(points, model),
        "y": cases.indices(),
        "chosen": chosen,
        "axis": "reject_cost" if model.outcomes_ and points[0].prices is None else "review_share",
        "size": model.n_effective_,
        "choice": model.choice_,
        "ordered": cases.ordered,
        **promised(model),
        **explained(model, cases.X, cases.group, cases.classes),
    }


def promised(model: Any) -> dict[str, Any]:
    """Return what a report says of promises, and of groups that have none."""
    policy = getattr(model, "policy_", None)
    return {
        "promises": getattr(model, "guarantees_", ()),
        "sent_to_review": [] if policy is None else policy.reviewed,
    }


def explained(model: Any, X: Any, group: Any, classes: Sequence[str]) -> dict[str, Any]:
    """Return what a report says of features; nothing if the model cannot be explained."""
    from rejo.explain import WhyError, doubtful_features

    found = partial(doubtful_features, model, X, group=group)
    try:
        leading = {label: found(decided=label, most=FEW) for label in classes}
        return {"doubtful": found(), "leading": leading}
    except WhyError:  # as of a model that was fitted in Python and keeps no typical case
        return {}


def in_prices(points: Sequence[Any], model: Any, *, known: bool = True) -> list[Any]:
    """Let a review of each case be worth what it is at the prices that a report shows.

    Without prices a report takes those at which the operating point is best.  If the prices are
    not ``known`` to the model, neither is what a review is worth.
    """
    from rejo.decisions import uniform_prices

    if points[0].prices is None or (known and getattr(model, "prices_", None) is not None):
        return list(points)
    if not known:
        return [replace(point, prices=None) for point in points]
    K, shift = len(points[0].prices), getattr(model, "reject_cost_", 0.0)
    shift = shift if hasattr(model, "cut_") else 0.0
    moved = uniform_prices(K, shift) if shift else points[0].prices
    return [replace(p, prices=moved, doubt=p.doubt - shift, cut=p.cut - shift) for p in points]


def _judge_all(cases: Cases, model: Any, *, seed: int, n_jobs: int) -> tuple[Any, int]:
    """Judge all cases out of fold, and find the operating point of the model among the others."""
    import numpy as np
    from sklearn.base import clone

    from rejo.estimators import POLICY, final_classifier
    from rejo.selection import cross_fit, shuffled_folds

    with candidates():
        found = cross_fit(
            clone(model.best_estimator_), cases.X, cases.y, groups=cases.groups, n_jobs=n_jobs,
            cv=shuffled_folds(FOLDS, cases.groups, seed),
        )  # fmt: skip
    cut = found.cut
    if found.p is not None:  # worth at prices without the cut
        if model.case_prices_ is None:
            prices = final_classifier(model.best_estimator_).prices_.copy()
            prices[:, -1] -= model.cut_
        else:
            prices = model.case_prices_.at(cases.classes, cases.X, None, len(cases.y))[:]
        found, cut = found.at_prices(prices), model.cut_
    if model.policy_ is not None and model.policy_.reviewed:
        reviewed = np.isin(cases.group, model.policy_.reviewed)
        kind = np.zeros(len(reviewed), np.int8) if found.kind is None else found.kind
        doubt = np.where(reviewed, np.inf, found.doubt)
        found = replace(found, doubt=doubt, kind=np.where(reviewed, np.int8(POLICY), kind))
    cuts = np.unique(np.append(found.cuts_at(np.linspace(0.0, 1.0, 101)), cut))
    return [found.at(c) for c in cuts], int(np.searchsorted(cuts, cut))
