"""``rejo compare --demo``: data replication and its rivals where the best risk is known."""

import argparse
from typing import TYPE_CHECKING, Any

from rejo.cli._files import CommandError

if TYPE_CHECKING:
    from rejo.selection import Comparison

PROBLEMS = {"SyntheticI": "synthetic_1", "SyntheticII": "synthetic_2"}
COSTS = (0.04, 0.12, 0.2, 0.28, 0.36)
N_TRAIN, N_TEST = 400, 20_000


def add(commands: Any) -> None:
    """Describe the command."""
    parser = commands.add_parser(
        "compare",
        help="compare data replication with the other ways to reject",
        description=f"Tune and train every method on {N_TRAIN} points of SyntheticI and of "
        "SyntheticII, and print how far its risk lies above the least that is possible.",
    )
    parser.add_argument(
        "--demo", action="store_true", help="use the synthetic problems, of which all is known"
    )
    parser.add_argument(
        "--repetitions", type=_count, default=3, metavar="N", help="training sets (default: 3)"
    )
    parser.add_argument(
        "--jobs", type=_count, default=1, metavar="N", help="processes (default: 1)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Compare on each problem and print its table."""
    if not arguments.demo:
        raise CommandError(
            "there is no data to compare on: give --demo, or call rejo.compare(...) from Python"
        )
    for title, name in PROBLEMS.items():
        result = _compare(name, arguments.repetitions, arguments.jobs)
        print(f"{title}: {N_TRAIN} training points, {arguments.repetitions} training sets")
        print(_table(result, name) + "\n")


def _compare(name: str, repetitions: int, jobs: int) -> "Comparison":
    """All methods on training sets drawn anew, and one large test set."""
    import numpy as np

    from rejo import datasets
    from rejo.selection import compare, standard_methods

    make = getattr(datasets, f"make_{name}")
    draws = [make(N_TRAIN, random_state=seed) for seed in range(1, repetitions + 1)]
    draws.append(make(N_TEST, random_state=0))
    X, y = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    test = np.arange(repetitions * N_TRAIN, len(y))
    splits = [(np.arange(i * N_TRAIN, (i + 1) * N_TRAIN), test) for i in range(repetitions)]
    methods, grids = standard_methods(2, X.shape[1], N_TRAIN)
    return compare(methods, X, y, reject_costs=COSTS, param_grids=grids, cv=splits, n_jobs=jobs)


def _table(result: "Comparison", name: str) -> str:
    """Excess risk of each method, in thousandths, and its ratio to the Bayes risk."""
    from rejo.datasets import bayes_risk

    costs = result.reject_costs
    best = [bayes_risk(name, w) for w in costs]
    lines = [
        f"{'Mean excess risk x 1000 at w_r =':<33}" + "".join(f"{w:>8.2f}" for w in costs)
        + f"{'mean':>8}{'ratio at 0.2':>14}{'fit, ms':>9}",
        f"{'(Bayes risk x 1000)':<33}" + "".join(f"{1000 * risk:>8.1f}" for risk in best),
    ]  # fmt: skip
    rows = []
    times = result.mean("fit_seconds")
    for method, risks in result.mean().items():
        excess = [1000 * (risk - b) for risk, b in zip(risks, best, strict=True)]
        ratio = dict(zip(costs, [r / b for r, b in zip(risks, best, strict=True)], strict=True))
        mean, milliseconds = sum(excess) / len(excess), 1000 * sum(times[method]) / len(costs)
        line = f"{method:<33}" + "".join(f"{value:>8.1f}" for value in excess)
        rows.append((mean, f"{line}{mean:>8.1f}{ratio[0.2]:>14.2f}{milliseconds:>9.1f}"))
    return "\n".join(lines + [line for _, line in sorted(rows)])


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be an integer from 1 on, got {text!r}")
    return int(text)
