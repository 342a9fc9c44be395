"""The reports of ``train`` and ``evaluate``."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rejo.cli._cases import Cases
from rejo.cli._files import check_output, require, write_file
from rejo.cli._training import Trained, candidates, folds_for


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
    prices: Mapping[str, float] | None,
    provenance: Mapping[str, str],
    **options: Any,
) -> str:
    """Write the page and return its first sentence; ``y`` as indices."""
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
    options["prices"] = None if prices is None else (prices["error"], prices["review"])
    options |= {"provenance": {**provenance, **made_by}, "command": arguments.command}
    report = make_report(points, y, classes, **options)
    write_file(arguments.report, render(report), overwrite=arguments.overwrite)
    return report.numbers(report.setting)["headline"]


def judge_training(cases: Cases, trained: Trained, *, seed: int, n_jobs: int) -> dict[str, Any]:
    """Return what a report says of the training cases, by cross-validation."""
    from rejo.selection import cross_val_outcomes, reject_curve
    from rejo.selection.choice import rivals_of
    from rejo.selection.expected import effective_size
    from rejo.selection.operating import CANDIDATES
    from rejo.selection.path import curve_of

    costs = sorted({*CANDIDATES, trained.model.reject_cost_})
    some = CANDIDATES[1::3]  # enough for the curve of a rival, which may take long
    common = {"cv": folds_for(cases, seed), "groups": cases.groups, "n_jobs": n_jobs}
    y, rows = cases.indices(), []
    with candidates():
        found = {point.reject_cost: point for point in trained.model.outcomes_ or ()}
        if missing := [cost for cost in costs if cost not in found]:
            estimator = trained.choice.estimator
            more = cross_val_outcomes(estimator, cases.X, cases.y, reject_costs=missing, **common)
            found |= {point.reject_cost: point for point in more}
        for name, rival in rivals_of(trained.choice, len(cases.classes), seed).items():
            curve = reject_curve(rival, cases.X, cases.y, reject_costs=some, **common)
            rates = zip(curve.reject_costs, curve.rejection_rates, curve.error_rates, strict=True)
            rows += [
                {"method": name, "reject_cost": cost, "fold": fold, "R": R, "E": E}
                for cost, rejected, wrong in rates
                for fold, (R, E) in enumerate(zip(rejected, wrong, strict=True))
            ]
    points, chosen = [found[cost] for cost in costs], costs.index(trained.model.reject_cost_)
    size = effective_size(curve_of(points, y), None, len(y), chosen, cases.groups)
    return {"points": points, "y": y, "chosen": chosen, "size": size, "rivals": rows}
