"""``rejo demo``: a synthetic problem, what is decided and what goes to review, a picture."""

import argparse
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rejo.cli._files import check_output, free_path, write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PICTURE = Path("reject_region.png")
FORMATS = (".pdf", ".png", ".svg")

# The size of the paper's SyntheticI, and a test sample large enough to leave chance out.
N_TRAIN, N_TEST, N_QUEUE = 400, 50_000, 5


def add(commands: Any) -> None:
    """Describe the command."""
    demo = commands.add_parser(
        "demo",
        help="train on a synthetic problem, print what is decided and what goes to review",
        description="Train a support vector machine with a reject option on SyntheticI "
        f"({N_TRAIN} points), try it on new points, and save a picture of the reject region.",
    )
    demo.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"the picture: PNG, SVG or PDF by its ending (default: {PICTURE}, "
        "with a number added if it exists)",
    )
    demo.add_argument("--seed", type=_seed, default=0, metavar="N", help="default: 0")
    demo.add_argument(
        "--reject-cost",
        type=_reject_cost,
        default=0.2,
        metavar="W",
        help="cost of sending a case to review, where a wrong decision costs 1; "
        "above 0, at most 0.5 (default: 0.2)",
    )
    demo.add_argument("--force", action="store_true", help="replace the picture if it exists")
    demo.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Train, report, draw."""
    force = arguments.force
    if arguments.output is None:
        path = PICTURE if force else free_path(PICTURE)
    else:
        path = check_output(arguments.output, FORMATS, force=force)

    from rejo import RejoSVC, make_synthetic_1

    cost, seed = arguments.reject_cost, arguments.seed
    X, y = make_synthetic_1(N_TRAIN, random_state=seed)
    X_test, y_test = make_synthetic_1(N_TEST, random_state=seed + 1)
    classifier = RejoSVC(C=10, gamma=4, reject_cost=cost).fit(X, y)

    print(f"SyntheticI: a machine trained on {N_TRAIN} points, tried on {N_TEST:,} new ones.")
    print(f"A wrong decision costs 1, a review costs {cost:g}.\n")
    _print_rates(classifier, X_test, y_test, cost)
    _print_queue(classifier, X_test)
    _draw(classifier, X, y, path)


def _print_rates(
    classifier: Any, X: "NDArray[np.float64]", y: "NDArray[np.int64]", cost: float
) -> None:
    """Print what 1,000 cases come to, with the reject option and without it."""
    from rejo.datasets import bayes_risk
    from rejo.metrics import accepted_accuracy, empirical_risk, error_rate, rejection_rate

    def column(title: str, decisions: Any) -> list[str]:
        label = classifier.reject_label_
        reviewed = rejection_rate(y, decisions, reject_label=label)
        wrong = error_rate(y, decisions, reject_label=label)
        accuracy = accepted_accuracy(y, decisions, reject_label=label)
        risk = empirical_risk(y, decisions, reject_label=label, reject_cost=cost)
        return [
            title,
            f"{1000 * (1 - reviewed):.0f}",
            f"{1000 * wrong:.0f}",
            f"{1000 * reviewed:.0f}",
            "-" if isnan(accuracy) else f"{accuracy:.1%}",
            f"{risk:.4f}",
        ]

    rows = zip(
        [
            "Of 1,000 cases",
            "  decided at once",
            "    of these, wrong",
            "  sent to review",
            "Right among the decided",
            "Mean cost of a case (risk)",
        ],
        column("may reject", classifier.predict(X)),
        column("must decide", classifier.predict_forced(X)),
        strict=True,
    )
    print("\n".join(f"{name:<30}{free:>12}{forced:>14}" for name, free, forced in rows))
    print(f"\nNo classifier can reach a risk below {bayes_risk('synthetic_1', cost):.4f} here.\n")


def _print_queue(classifier: Any, X: "NDArray[np.float64]") -> None:
    try:
        review = classifier.review(X[:1000])
    except ImportError as error:
        print(f"The review queue is left out: {error}\n")
        return
    label = classifier.reject_label_
    queue = review[review["decision"] == label].sort_values("rank")
    if queue.empty:
        print("At this cost no case goes to review.\n")
        return
    print(
        f"Of the first 1,000 new cases {len(queue)} go to review (decision {label}). First in line,"
    )
    print("as they lie nearest to the middle between the classes `lower` and `upper`:\n")
    print(queue.head(N_QUEUE).to_string(float_format="{:.3f}".format) + "\n")


def _draw(classifier: Any, X: "NDArray[np.float64]", y: "NDArray[np.int64]", path: Path) -> None:
    from rejo.displays import RejectRegionDisplay

    try:
        from matplotlib.figure import Figure
    except ImportError:
        print('There is no picture without matplotlib: pip install "rejo[plot]"')
        return
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    RejectRegionDisplay.from_estimator(classifier, X, y, ax=figure.subplots())
    suffix = path.suffix.lower()[1:]
    write_whole(path, lambda file: figure.savefig(file, format=suffix, dpi=150))
    print(f"The regions, and the points it learned from: {path}")


def _reject_cost(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value <= 0.5:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 0.5, got {text!r}")
    return value


def _seed(text: str) -> int:
    # The test sample takes the next seed, and 2**32 - 1 is the last one.
    if not text.isdecimal() or int(text) > 2**32 - 2:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 2**32 - 2, got {text!r}")
    return int(text)
