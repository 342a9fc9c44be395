"""The reports of ``train`` and ``evaluate``."""

import argparse
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rejo.cli._cases import Cases
from rejo.cli._files import check_output, require
from rejo.cli._training import Trained, candidates, folds_for

SHARES = [0.01 * i for i in range(51)]


def check_report(arguments: argparse.Namespace) -> None:
    """Check that ``--report`` can be written, before any work is done."""
    if arguments.report is not None:
        check_output(
            arguments.report, (".html", ".htm"), overwrite=arguments.overwrite, option="--report"
        )
        require("jinja2", "report", "--report")


def training_report(
    cases: Cases,
    trained: Trained,
    *,
    title: str,
    notes: Sequence[str],
    prices: Mapping[str, float] | None,
    by: str | None,
    provenance: Mapping[str, str],
    command: str,
    seed: int,
    n_jobs: int,
) -> tuple[str, str]:
    """Judge the training cases by cross-validation; return the page and its first sentence."""
    from rejo.report import make_report, render
    from rejo.selection import cross_val_outcomes, reject_curve
    from rejo.selection.choice import rivals_of
    from rejo.selection.expected import effective_size
    from rejo.selection.operating import CANDIDATES
    from rejo.selection.path import curve_of

    model = trained.model
    costs = sorted({*CANDIDATES, model.reject_cost_})
    some = CANDIDATES[1::3]  # enough for the curve of a rival, which may take long
    options: dict[str, Any] = {
        "cv": folds_for(cases, seed),
        "groups": cases.groups,
        "n_jobs": n_jobs,
    }
    y = cases.indices()
    with candidates():
        found = {point.reject_cost: point for point in model.outcomes_ or ()}
        if missing := [cost for cost in costs if cost not in found]:
            more = cross_val_outcomes(
                trained.choice.estimator, cases.X, cases.y, reject_costs=missing, **options
            )
            found |= {point.reject_cost: point for point in more}
        points = [found[cost] for cost in costs]
        rows = []
        for name, rival in rivals_of(trained.choice, len(cases.classes), seed).items():
            curve = reject_curve(rival, cases.X, cases.y, reject_costs=some, **options)
            rows += _rows(name, curve)
    chosen = costs.index(model.reject_cost_)
    report = make_report(
        points,
        y,
        cases.classes,
        chosen=chosen,
        size=effective_size(curve_of(points, y), None, len(y), chosen, cases.groups),
        prices=None if prices is None else (prices["error"], prices["review"]),
        by=None if by is None else {by: cases.by},
        rivals=rows,
        title=title,
        notes=notes,
        provenance=provenance,
        command=command,
    )
    return render(report), report.numbers(report.setting)["headline"]


def evaluation_report(
    points: Sequence[Any],
    chosen: int,
    y: Any,
    classes: Sequence[str],
    *,
    size: float,
    title: str,
    notes: Sequence[str],
    prices: tuple[float, float] | None,
    by: Mapping[str, Any] | None,
    provenance: Mapping[str, str],
    command: str,
) -> str:
    """Return a page on the outcomes of cases not used in training; ``y`` as indices."""
    from rejo.report import make_report, render

    report = make_report(
        points,
        y,
        classes,
        chosen=chosen,
        axis="review_share",
        size=size,
        prices=prices,
        by=by,
        title=title,
        notes=notes,
        provenance=provenance,
        command=command,
    )
    return render(report)


def made_by() -> dict[str, str]:
    """Return the date and the versions, for the provenance."""
    import platform

    import numpy
    import sklearn

    from rejo import __version__

    return {
        "Made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "By": f"rejo {__version__}, scikit-learn {sklearn.__version__}, NumPy "
        f"{numpy.__version__}, Python {platform.python_version()}",
    }


def _rows(name: str, curve: Any) -> list[dict[str, Any]]:
    """Rates of a method, one row per reject cost and fold."""
    found = []
    for i, cost in enumerate(curve.reject_costs.tolist()):
        for fold, (R, E) in enumerate(
            zip(curve.rejection_rates[i].tolist(), curve.error_rates[i].tolist(), strict=True)
        ):
            found.append({"method": name, "reject_cost": cost, "fold": fold, "R": R, "E": E})
    return found
