"""``rejo train`` on tables that are read in pieces: patterns, folders, large files, clusters."""

from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rejo.cli._cases import check_roles
from rejo.cli._class_names import order_classes, sort_words, spelling
from rejo.cli._files import CommandError
from rejo.cli._options import reading
from rejo.cli._training import Trained

LARGE = 1 << 30  # bytes of a file from which it is streamed
FEW, FEW_SHARE, SHARE = 100_000, 0.3, 0.1  # of the rows that are held out
MODELS = ("boosting", "logistic")
DEFAULT_COST = 0.2  # at which models are compared without prices
WHOLE = {  # options that need all rows at once
    "report": "--report", "group": "--group", "time": "--time", "novelty": "--novelty",
    "small_groups": "--small-groups",
}  # fmt: skip
Tell = Callable[[str], None]


def is_streamed(arguments: Namespace) -> bool:
    """Return whether a table is read in pieces: a pattern, a folder, a large file, a cluster."""
    from rejo.tables import is_many

    if arguments.dask is not None or is_many(arguments.data):
        return True
    try:
        path = Path(arguments.data)
        return path.is_file() and path.stat().st_size >= LARGE
    except (OSError, ValueError):
        return False


class StreamedCases(NamedTuple):
    """A table whose classes and columns are known."""

    training: Any  # rejo.distributed.fitting.StreamedTraining
    classes: list[str]
    counts: Counter[str]  # rows of each class
    ordered: bool
    notes: list[str]
    table: Any  # the sample that the columns were learned from, as it was read
    encoder: Any  # fitted on it
    path: str
    n_learning: int  # rows with a class that are not held out

    @property
    def frame(self) -> Any:
        """The sample."""
        return self.table.frame


def check_options(arguments: Namespace) -> None:
    """Refuse options that need all rows at once."""
    from rejo.prices import price_columns

    given = [option for name, option in WHOLE.items() if getattr(arguments, name, None)]
    if arguments.costs is not None and (names := price_columns(arguments.costs)):
        given.append(f"--costs with the column {names[0]!r}")
    if given:
        raise CommandError(
            f"{given[0]} needs all rows in memory, but {arguments.data} is read in pieces: leave "
            "it out, or train on one file that is smaller"
        )
    if arguments.dask is not None and arguments.n_jobs is not None:
        raise CommandError(
            "--n-jobs is for this machine, and with --dask the workers use all their threads: "
            "leave one of them out"
        )
    check_roles(arguments)
    names = [name.strip() for name in arguments.model.split(",")]
    if bad := [name for name in names if name not in ("auto", *MODELS)]:
        raise CommandError(
            f"--model {bad[0]} cannot learn from a table that is read in pieces; these can: "
            f"{', '.join(MODELS)}"
        )


def read_streamed(arguments: Namespace, place: Any, tell: Tell) -> StreamedCases:
    """Make the first pass over a table: classes, and what its columns hold."""
    from rejo.distributed import (
        LEARN,
        RowLayout,
        StreamedTraining,
        input_of,
        of_csv,
        sample_table,
        settle_layout,
        shares_of,
    )
    from rejo.tables import ENDINGS, TableEncoder, is_many

    how = reading(arguments)
    packed = arguments.data.lower().endswith(ENDINGS) or is_many(arguments.data)
    if not packed and arguments.dask is not None:
        raise CommandError(f"--dask reads Parquet files, and {arguments.data} is not one")
    source = input_of(arguments.data) if packed else of_csv(arguments.data, how)
    roles = [arguments.id, arguments.by, *arguments.drop]
    features = source.features(arguments.target, arguments.groups, other=roles)
    share = SHARE if source.n_rows >= FEW else FEW_SHARE
    shares = shares_of(source.n_rows, share, proves=True)
    layout = RowLayout(arguments.target, features, shares, arguments.groups, reading=how)
    found = place.survey(layout, source.pieces, tell)
    where = f"{source.name}, column {arguments.target!r}"
    words = Counter({word: int(n.sum()) for word, n in found.counts.items()})
    words[""] += found.n_missing
    spelled, notes = sort_words(+words, where, **spelling(arguments))
    counts: Counter[str] = Counter()
    for word, label in spelled.items():
        counts[label] += words[word]
    order = order_classes(counts, arguments.order, where)
    layout, classes = settle_layout(layout, found, order, spelled=spelled)
    table = sample_table(found, source.name, **how)
    tell(f"The columns are learned from {len(table.frame):,} rows, drawn at random.")
    encoder = TableEncoder(written=table.written, reading=table.reading).fit(table.frame)
    layout = layout._replace(encoder=encoder)
    ordered = arguments.order is not None or len(classes) == 2
    sample = encoder.transform(table.frame)
    training = StreamedTraining(place, source.pieces, layout, classes, ordered, sample)
    n_learning = sum(int(n[LEARN]) for word, n in found.counts.items() if word in spelled)
    return StreamedCases(
        training, order, counts, ordered, notes, table, encoder, source.name, n_learning
    )


def train_streamed(
    cases: StreamedCases, encoder: Any, target: Mapping[str, Any], arguments: Namespace, tell: Tell
) -> Trained:
    """Fit the models that are asked for, choose one on held-out rows, and settle it."""
    from sklearn.pipeline import Pipeline

    from rejo.distributed import STOP
    from rejo.scoring import review_label
    from rejo.selection import RejectClassifierCV

    label = review_label(cases.classes)
    names = [name.strip() for name in arguments.model.split(",")]
    asked = MODELS if "auto" in names else tuple(dict.fromkeys(names))
    prices = _prices(cases, target)
    learned, left_out = {}, {}
    for name in asked:
        estimator = _estimator(name, cases, prices, label, arguments)
        if isinstance(estimator, str):
            left_out[name] = estimator
            continue
        held_out = cases.counts.total() - cases.n_learning
        tell(f"Fitting {name} on {cases.n_learning:,} rows; {held_out:,} are held out.")
        learned[name] = cases.training.learn(estimator, tell)
        if name == "boosting":
            estimator.set_params(n_jobs=None)  # how many cores there are is not of the model
    if not learned:
        name, why = next(iter(left_out.items()))
        raise CommandError(f"--model {name}: {why}")
    costs = {name: _mean_cost(one, cases, prices) for name, one in learned.items()}
    best = min(costs, key=lambda name: costs[name])
    pipeline = Pipeline([("encode", encoder), ("model", learned[best].classifier)])
    search = RejectClassifierCV(pipeline, **target, random_state=arguments.seed)
    model = cases.training.settle(search, pipeline, learned[best], cases.frame)
    at = "" if {"cost_of", "reject_cost"} & {*target} else f" (a review costs {DEFAULT_COST:g})"
    n = len(learned[best].scored[STOP].k)
    compared = [f"Mean cost of a case, on {n:,} held-out rows{at}:"]
    for name, cost in sorted(costs.items(), key=lambda item: item[1]):
        compared.append(f"  {name:<10}{cost:.4g}{'  <- chosen' if name == best else ''}")
    compared += [f"  Left out: {name} ({why})." for name, why in left_out.items()]
    unknown = "rejo evaluate cannot tell the rows of training from new ones: there are too many."
    return Trained(
        model, best, f"Model: {best}.", compared, [unknown], [],
        {
            "n_cases": cases.counts.total(),
            "family": best,
            "tried": [{"name": name, "cost": cost} for name, cost in costs.items()],
            "left_out_models": left_out,
        },
    )  # fmt: skip


def _prices(cases: StreamedCases, target: Mapping[str, Any]) -> Any:
    """Prices (K, K + 1) at which models are compared."""
    import numpy as np

    from rejo.decisions import uniform_prices
    from rejo.selection import check_prices

    given = {"reject_cost": "auto", **target}
    classes = np.array(cases.classes)
    prices = check_prices(given, classes, ordered=cases.ordered, posteriors=True)
    return uniform_prices(len(classes), DEFAULT_COST) if prices is None else prices


def _estimator(
    name: str, cases: StreamedCases, prices: Any, label: str, arguments: Namespace
) -> Any:
    """An estimator, or why there is none for these classes and prices."""
    from rejo import RejoBoost, RejoLinear
    from rejo.prices import reject_cost_of

    common: dict[str, Any] = {
        "class_order": cases.classes, "reject_label": label, "random_state": arguments.seed,
    }  # fmt: skip
    if name == "boosting":
        return RejoBoost(boundaries="posteriors", n_jobs=arguments.n_jobs, **common)
    cost = reject_cost_of(prices)
    if not cases.ordered:
        return "three or more classes need an order: --order"
    if cost is None or not 0 < cost <= 0.5:
        return "it takes one price of an error and one of a review, of at most half of it"
    return RejoLinear(reject_cost=cost, **common)


def _mean_cost(learned: Any, cases: StreamedCases, prices: Any) -> float:
    from rejo.distributed import STOP
    from rejo.selection import mean_cost

    (found,) = learned.cases(STOP, cases.training.layout, ())
    found = found if found.p is None else found.at_prices(prices)
    return mean_cost(found, prices).estimate
