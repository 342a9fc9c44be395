"""``rejo compare``: data replication and its rivals, on a table."""

import argparse
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

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
    "deciding every case."
)
COSTS = (0.1, 0.3)  # of a review, where an error costs 1
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
    options.add(parser, "data")
    options.add(parser, "--target", required=True)
    options.add(parser, *(option for option in options.LABELLED[2:] if option != "--by"))
    declare = parser.add_argument
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
    options.add_reading(parser)
    options.add(parser, "--seed", "--n-jobs", "--dask", "--json")


def run(arguments: argparse.Namespace) -> None:
    """Compare on the table, and print."""
    if arguments.dask is not None and arguments.n_jobs is not None:
        raise CommandError("give one of --dask and --n-jobs: a cluster has its own processes")
    if arguments.costs is not None and arguments.reject_costs is not None:
        raise CommandError("give one of --costs and --reject-costs")
    result, note = _compare_table(arguments)
    if arguments.json:
        print_json(_result(result) | {"note": note})
    else:
        print(f"{note}\n\n{result}\n\n{result.verdict()}")


def _compare_table(arguments: argparse.Namespace) -> tuple["Comparison", str]:
    """Compare all methods on the user's table, encoded as ``train`` does."""
    import numpy as np
    from sklearn.base import clone

    from rejo.cli._training import candidates, encoder_for
    from rejo.cluster import placed
    from rejo.selection import compare, draw_rows, methods_to_compare

    cases = read_cases(arguments)
    K, ordered, names = len(cases.classes), cases.ordered, arguments.methods
    try:
        find([name for name in names or () if name != "auto"], K, ordered)
    except ValueError as error:
        raise CommandError(f"--methods: {error}") from None
    if names is not None and len(names) < 2:
        raise CommandError("--methods must name at least two methods, separated by commas")
    prices: dict[str, Any] = {"reject_costs": arguments.reject_costs or COSTS}
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
            n_jobs=None if arguments.dask else options.n_jobs(arguments, 10**6),
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
