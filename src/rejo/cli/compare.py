"""``rejo compare``: data replication and its rivals, on a table or on synthetic problems."""

import argparse
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rejo._io import without_password
from rejo.catalogue import METHODS, ProblemSize, find, need_order
from rejo.cli import _options as options
from rejo.cli._cases import about_order, case_prices, counted, read_cases
from rejo.cli._class_names import respelled
from rejo.cli._files import CommandError, print_json

if TYPE_CHECKING:
    from rejo.selection import Comparison

HELP = "compare reject-option methods, ours and others"
DESCRIPTION = (
    "Cross-validate every method on the same folds of a table, with its parameters tuned\n"
    "inside each fold, and print the mean cost of a case, beside that of reviewing and of\n"
    "deciding every case. With --demo, use synthetic problems whose lowest possible cost is\n"
    "known."
)
PROBLEMS = {"SyntheticI": "synthetic_1", "SyntheticII": "synthetic_2"}
COSTS = (0.04, 0.12, 0.2, 0.28, 0.36)  # of a review in the synthetic problems
TABLE_COSTS = (0.1, 0.3)
N_TRAIN, N_TEST = 400, 20_000
INNER_FOLDS = 3  # for tuning; more are not worth the time in a first look


def add(parser: Any) -> None:
    """Declare the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    lines = [("auto", True, "what rejo train would choose")]
    for method in METHODS.values():
        label = method.label + ", two classes only" * (not method.multiclass)
        lines.append((method.name, method.standard, label))
    parser.epilog = "methods:\n" + "\n".join(
        f"  {name + ' *' * standard:<26} {label}" for name, standard, label in lines
    )
    options.add(parser, "data", nargs="?")
    options.add(parser, *(option for option in options.LABELLED[1:] if option != "--by"))
    options.add(parser, "--by", help=argparse.SUPPRESS)  # _check_by says what to do instead
    declare = parser.add_argument
    demo = "use synthetic problems, with a known best risk"
    declare("--demo", action="store_true", help=demo)
    methods = "compare only these, by the names below (default: the standard ones, marked *)"
    declare("--methods", type=options.names, metavar="A,B", help=methods)
    costs = "costs of a review, where an error costs 1 (default: 0.1,0.3)"
    declare("--reject-costs", type=options.reject_costs, metavar="W,W", help=costs)
    prices = "compare at these prices instead, such as error=5000,review=40"
    options.add(parser, "--costs", help=prices)
    folds = "number of folds (default: 5)"
    declare("--folds", type=options.integer(2), default=5, metavar="N", help=folds)
    sample = "use a random sample of this size if there are more rows (default: 500)"
    declare("--max-rows", type=options.integer(50), default=500, metavar="N", help=sample)
    draws = "training sets drawn by --demo (default: 3)"
    options.add(parser, "--repetitions", default=3, help=draws)
    options.add_reading(parser)
    options.add(parser, "--seed", "--n-jobs", "--dask", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Compare on the table, or on each problem, and print."""
    if arguments.dask is not None and arguments.n_jobs is not None:
        raise CommandError("give one of --dask and --n-jobs: a cluster has its own processes")
    if arguments.costs is not None and arguments.reject_costs is not None:
        raise CommandError("give one of --costs and --reject-costs")
    _check_by(arguments.by)
    if arguments.demo:
        _demo(arguments)
        return
    if arguments.data is None or arguments.target is None:
        raise CommandError(
            "there are no data to compare on: give DATA and --target COL, or --demo for synthetic "
            "problems"
        )
    result, note = _compare_table(arguments)
    if arguments.json:
        print_json(_result(result) | {"note": note})
    else:
        print(f"{note}\n\n{result}\n\n{result.verdict()}")


def _check_by(column: str | None) -> None:
    """Refuse groups: in a few hundred rows they are too small to tell methods apart."""
    if column is not None:
        raise CommandError(
            f"compare reports on all cases together: use --drop {shlex.quote(column)} to leave the "
            "column out, and --by with rejo train --report or rejo evaluate for rates of each group"
        )


def _demo(arguments: argparse.Namespace) -> None:
    if arguments.data is not None:
        data = without_password(arguments.data)
        raise CommandError(f"--demo has its own data: remove {data} or --demo")
    if arguments.costs is not None or arguments.reject_costs is not None:
        raise CommandError("--demo has its own prices: remove --costs or --reject-costs, or --demo")
    _check_names(arguments.methods, 2)
    results = {}
    for title, name in PROBLEMS.items():
        result = _compare(name, arguments)
        results[title] = _result(result)
        if not arguments.json:
            print(f"{title}: {N_TRAIN} training points, {arguments.repetitions} training sets")
            print(_table(result, name) + "\n", flush=True)
    if arguments.json:
        print_json(results)


def _check_names(names: list[str] | None, n_classes: int, ordered: bool = True) -> None:
    """Refuse methods that do not exist, or not for these classes."""
    try:
        find([name for name in names or () if name != "auto"], n_classes, ordered)
    except ValueError as error:
        raise CommandError(f"--methods: {error}") from None
    if names is not None and len(names) < 2:
        raise CommandError("--methods must name at least two methods, separated by commas")


def _compare_table(arguments: argparse.Namespace) -> tuple["Comparison", str]:
    """Compare all methods on the user's table, encoded as ``train`` does."""
    import numpy as np
    from sklearn.base import clone

    from rejo.cli._training import candidates, encoder_for
    from rejo.cluster import placed
    from rejo.selection import compare, draw_rows, methods_to_compare

    cases = read_cases(arguments)
    K, ordered, names = len(cases.classes), cases.ordered, arguments.methods
    _check_names(names, K, ordered)
    prices: dict[str, Any] = {"reject_costs": arguments.reject_costs or TABLE_COSTS}
    if arguments.costs is not None:
        costs = respelled(arguments.costs, cases.classes, arguments.exact)
        prices = {"cost_of": case_prices(cases, costs, arguments)}
    elif max(prices["reject_costs"]) > 1 - 1 / K:
        raise CommandError(
            f"--reject-costs must be at most {1 - 1 / K:.3g}: with {K} classes a guess is wrong no "
            "more often, so no case is worth a review that costs more"
        )
    X, y = cases.X, cases.indices()
    note = f"{cases.table.path}: {len(y):,} rows. Classes: {counted(cases)}."
    order = [] if ordered else [about_order(cases.classes)]
    note = " ".join([note, *cases.notes, *order])
    if cases.prices:
        prices = {"prices": prices.pop("cost_of")}
    if len(y) > arguments.max_rows:
        rows = draw_rows(y, arguments.max_rows, arguments.seed)
        X, y = X.iloc[rows], y[rows]
        if cases.prices:
            prices["prices"] = prices["prices"][rows]
        note += f" Compared on a random sample of {len(y):,} rows (--max-rows)."
    if (rarest := int(np.bincount(y).min())) < arguments.folds:
        raise CommandError(
            f"--folds {arguments.folds} is too many: the rarest class has {rarest} rows"
        )
    encoder = encoder_for(cases)
    n_features = clone(encoder).fit_transform(X).shape[1]
    n_train = len(y) * (arguments.folds - 1) // arguments.folds
    problem = ProblemSize(K, n_features, n_train, arguments.seed, ordered)
    methods, grids = methods_to_compare(names, problem, encoder)
    left_out = {}
    if names is None:
        left_out = _slow(methods, n_features, n_train)
        methods = {name: methods[name] for name in methods if name not in left_out}
        if not ordered:
            left_out |= dict.fromkeys(need_order(K), "needs classes in an order")
    with placed(arguments.dask), candidates():
        result = compare(
            methods,
            X,
            y,
            param_grids={name: grids[name] for name in methods},
            cv=arguments.folds,
            inner_cv=INNER_FOLDS,
            groups=None if cases.groups is None else cases.groups[X.index],
            random_state=arguments.seed,
            n_jobs=_n_jobs(arguments),
            **prices,
        )
    result.left_out = left_out | result.left_out
    return result, note


def _slow(names: Iterable[str], n_features: int, n_samples: int) -> dict[str, str]:
    """Methods that would take too long on a table of this size, and why."""
    slow = {}
    for method in find(name for name in names if name != "auto"):
        if method.max_features and n_features > method.max_features:
            slow[method.name] = f"slow with {n_features} features (--methods can add it)"
        elif method.max_samples and n_samples > method.max_samples:
            slow[method.name] = f"slow with {n_samples:,} rows (--methods can add it)"
    return slow


def _result(result: "Comparison") -> dict[str, Any]:
    every = [*result.rows, *result.baselines]
    return {
        "reject_costs": result.reject_costs,
        "risk": result.mean(),
        "verdict": result.verdict(),
        "left_out": result.left_out,
        "rows": [{key: row[key] for key in row if key != "params"} for row in every],
    }


def _compare(name: str, arguments: argparse.Namespace) -> "Comparison":
    import numpy as np

    from rejo import datasets
    from rejo.cluster import placed
    from rejo.selection import compare, methods_to_compare

    make, repetitions = getattr(datasets, f"make_{name}"), arguments.repetitions
    draws = [make(N_TRAIN, random_state=seed) for seed in range(1, repetitions + 1)]
    draws.append(make(N_TEST, random_state=0))
    X, y = (np.concatenate(parts) for parts in zip(*draws, strict=True))
    test = np.arange(repetitions * N_TRAIN, len(y))
    splits = [(np.arange(i * N_TRAIN, (i + 1) * N_TRAIN), test) for i in range(repetitions)]
    problem = ProblemSize(2, X.shape[1], N_TRAIN)
    methods, grids = methods_to_compare(arguments.methods, problem)
    with placed(arguments.dask):
        return compare(
            methods,
            X,
            y,
            reject_costs=COSTS,
            param_grids=grids,
            cv=splits,
            inner_cv=INNER_FOLDS,
            n_jobs=_n_jobs(arguments),
        )


def _n_jobs(arguments: argparse.Namespace) -> int | None:
    return None if arguments.dask else options.n_jobs(arguments, 10**6)


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
        ratio = risks[costs.index(0.2)] / best[costs.index(0.2)]
        mean, milliseconds = sum(excess) / len(excess), 1000 * sum(times[method]) / len(costs)
        line = f"{method:<33}" + "".join(f"{value:>8.1f}" for value in excess)
        rows.append((mean, f"{line}{mean:>8.1f}{ratio:>14.2f}{milliseconds:>9.1f}"))
    return "\n".join(lines + [line for _, line in sorted(rows)])
