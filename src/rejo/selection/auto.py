"""Which model is best for this table, at these prices? Many are tried, on the same folds.

Posteriors do not depend on prices, so one round of cross-fitting (:mod:`rejo.selection.race`) gives
the cost of each model at any prices, the weights of a blend of them, the operating point and the
curves of a report.  Learners by data replication are trained for one reject cost; they take part
where the prices can be put into their training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from rejo._errors import RejoError
from rejo._html import table_html
from rejo._typing import Floats, Indices
from rejo.baselines import (
    BlendClassifier,
    ThresholdRejectClassifier,
    class_floor,
    learn_temperature,
    learn_weights,
    tempered,
)
from rejo.catalogue import METHODS, TRAINED, Method, ProblemSize, find
from rejo.decisions import decide, uniform_prices
from rejo.estimators import encode_classes
from rejo.metrics import log_loss, tally
from rejo.prices import reject_cost_of
from rejo.selection.crossfit import CrossFit
from rejo.selection.folds import check_cases, described
from rejo.selection.race import Race, Runner, clock, paid, split_stratified

REJECT_COSTS = (0.08, 0.24, 0.4)  # at which models are compared if there are no prices
MANY = 8_000  # cases above which three folds say enough
CLOSE = 1.005  # a simpler model within this factor wins
PRIOR = 50.0  # cases that equal weights in a blend count for
LEAST_WEIGHT = 0.03  # in a blend; others are left out


class NotSuited(RejoError):
    """A model that was asked for cannot be trained on these classes, or for these prices."""


class Finalist(NamedTuple):
    """A model that reached the end of the race."""

    name: str  # in the catalogue
    model: Any  # unfitted, tuned
    params: dict[str, Any]  # tuned parameters
    weights: dict[str, float]  # of the models in a blend, else empty
    crossfit: CrossFit | None  # posteriors of all cases out of fold, if it decides by them
    costs: Floats  # (n,) what each case costs out of fold, mean over the prices
    log_loss: float  # of the posteriors; NaN if there are none
    seconds: float  # that a fit on all cases may take

    @property
    def cost(self) -> float:
        """Mean cost of a case."""
        return float(self.costs.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean cost."""
        return float(self.costs.std() / np.sqrt(len(self.costs)))


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and what it was chosen from.

    Parameters
    ----------
    name : str
        The chosen model, by its name in the catalogue.
    tried : list of Finalist
        Models that reached the end of the race, lowest cost first.
    left_out : dict of {name: reason}
        Models that did not.
    prices : list of ndarray of shape (n_classes, n_classes + 1)
        The cost of a case is the mean over these.
    n_folds : int
        Number of folds.
    prepare : transformer
        The step that prepares the cases, unfitted.
    y : ndarray of int of shape (n_samples,)
        True classes, as indices.

    Attributes
    ----------
    estimator : Pipeline
        The chosen model, unfitted, after the step that prepares the cases.
    chosen : Finalist
        The chosen one of those tried.
    crossfit : CrossFit or None
        Its posteriors out of fold, if it decides by them.
    baselines : dict of {way: cost}
        Mean cost of a case if all are reviewed and, with posteriors, if all are decided.
    n_cases : int
        Number of cases.

    See Also
    --------
    choose_model : Choose.
    """

    name: str
    tried: list[Finalist]
    left_out: dict[str, str]
    prices: list[Floats]
    n_folds: int
    prepare: Any
    y: Indices  # (n,)

    @property
    def chosen(self) -> Finalist:
        """The chosen one of those tried."""
        return next(entry for entry in self.tried if entry.name == self.name)

    @property
    def estimator(self) -> Pipeline:
        """The chosen model, unfitted, at its prices; the steps are "prepare" and "model"."""
        model = clone(self.chosen.model)
        if len(self.prices) == 1 and self.crossfit is not None:
            model.set_params(cost_of=self.prices[0])
        elif len(self.prices) == 1:
            model.set_params(reject_cost=reject_cost_of(self.prices[0]))
        return Pipeline([("prepare", clone(self.prepare)), ("model", clone(model))])

    @property
    def crossfit(self) -> CrossFit | None:
        """Posteriors of the chosen model out of fold, if it decides by them."""
        return self.chosen.crossfit

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return len(self.y)

    @property
    def baselines(self) -> dict[str, float]:
        """Mean cost of a case if all are reviewed and, with posteriors, if all are decided."""
        everyone = np.full((len(self.prices), len(self.y)), -1)
        found = {"reviewing every case": float(paid(everyone, self.y, self.prices).mean())}
        if self.crossfit is not None:
            forced = np.array([decide(self.crossfit.p, L).forced for L in self.prices])
            found["deciding every case"] = float(paid(forced, self.y, self.prices).mean())
        return found

    def _repr_html_(self) -> str:
        columns = {
            "model": [METHODS[entry.name].label for entry in self.tried],
            "chosen": ["yes" if entry.name == self.name else "" for entry in self.tried],
            "mean cost of a case": [entry.cost for entry in self.tried],
            "standard error": [entry.error for entry in self.tried],
        }
        notes = [f"{way}: {cost:.4g}" for way, cost in self.baselines.items()]
        notes += [f"Left out: {name} ({reason})" for name, reason in self.left_out.items()]
        title = f"Choice of a model on {self.n_cases:,} cases, {self.n_folds} folds"
        return table_html(title, columns, notes=notes)

    def at(self, prices: Floats) -> Choice:
        """Choose again at other prices (K, K + 1), among the models that decide by posteriors."""
        prices = np.asarray(prices, dtype=np.float64)
        tried = []
        for entry in self.tried:
            if entry.crossfit is not None:
                decision = decide(entry.crossfit.p, prices).decision
                tried.append(entry._replace(costs=paid(decision[None], self.y, [prices])))
        if not tried:
            raise ValueError(f"{self.name} was trained for its own prices: choose anew for others.")
        tried.sort(key=lambda entry: entry.cost)
        return replace(self, name=simplest(tried), tried=tried, prices=[prices])

    def time_left(self) -> str:
        """Say how long the fit of the chosen model will take."""
        return f"; about {clock(self.chosen.seconds)} left"

    def rival_curves(self, reject_costs: Iterable[float] | None = None) -> list[dict[str, Any]]:
        """Rates of the models that were not chosen, as rows for a report or a picture.

        By default the reject costs are 0.02, 0.06, and so on, as far as a review may pay.
        """
        rows = []
        for entry in self.tried:
            found = entry.crossfit
            if found is None or entry.name == self.name:
                continue
            K, label = len(found.classes), METHODS[entry.name].label
            costs = np.arange(0.02, 1 - 1 / K, 0.04) if reject_costs is None else reject_costs
            for cost in map(float, costs):
                decision = decide(found.p, uniform_prices(K, cost)).decision
                rates = tally(decision, found.y, fold=found.fold)
                rows += [
                    {"method": label, "reject_cost": cost, "fold": f, "R": float(R), "E": float(E)}
                    for f, (R, E) in enumerate(
                        zip(rates.rejection_rate, rates.error_rate, strict=True)
                    )
                ]
        return rows


@described
def choose_model(
    prepare: Any,
    X: Any,
    y: Any,
    *,
    models: Iterable[str] | None = None,
    prices: Sequence[Floats] | None = None,
    class_order: Any = None,
    ordered: bool = True,
    reject_label: Any = None,
    cv: int = 5,
    groups: Any = None,
    random_state: int | None = 0,
    n_jobs: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> Choice:
    """Choose a model by what a case costs out of fold at given prices, and by its log loss.

    It is the one with the lowest log loss, unless another costs less by two standard errors.  A
    simpler one, which stands before it in the catalogue, wins if its cost and its log loss are
    within half a percent.

    Parameters
    ----------
    prepare : transformer
        Turns ``X`` into standardised numbers; fitted once on each training part.
    %X, y
    models : iterable of str, default=None
        Names in the catalogue; by default all that suit the table.  "blend" stands for the blend
        of all posteriors.
    prices : sequence of ndarray of shape (n_classes, n_classes + 1), default=None
        The cost is the mean over these prices; see :mod:`rejo.decisions`.  By default an error
        costs 1 and a review 0.08, 0.24 and 0.4.
    class_order : array-like of shape (n_classes,), default=None
        Parameter of the models: the classes, lowest first.
    ordered : bool, default=True
        Whether three or more classes have an order.  If not, only models that need none are tried.
    reject_label : label, default=None
        Parameter of the models: the label of a rejection.
    cv : int, default=5
        Number of stratified, shuffled folds; at most three for more than 8,000 cases.
    %groups
    random_state : int, default=0
        Shuffles the folds, and seeds the models.
    %n_jobs
    tell : callable, default=None
        Called with a line of text at the start of each leg.

    Returns
    -------
    choice : Choice
        The chosen model, unfitted, and what it was chosen from.

    See Also
    --------
    rejo.compare : Fair comparison of methods: the choice is optimistic about its own cost.
    rejo.RejectClassifierCV : Find the operating point of one model.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from rejo.datasets import make_synthetic_1
    >>> from rejo.selection import choose_model
    >>> X, y = make_synthetic_1(200, random_state=0)
    >>> some = ["logistic-posterior", "kernel-posterior"]
    >>> choose_model(StandardScaler(), X, y, models=some).name  # no line separates these classes
    'kernel-posterior'
    """
    X, y, groups, _ = check_cases(X, y, groups, None, "choose_model")
    classes, k = encode_classes(y, "sorted" if class_order is None else class_order)
    K, n = len(classes), len(k)
    ordered = ordered or K == 2
    given = None if prices is None else [np.asarray(L, dtype=np.float64) for L in prices]
    prices = given or [uniform_prices(K, w) for w in REJECT_COSTS]
    folds = split_stratified(min(cv, 3) if n > MANY else cv, X, k, groups, random_state)
    n_features = clone(prepare).fit_transform(_safe_indexing(X, folds[0][0][:500])).shape[1]
    problem = ProblemSize(K, n_features, n, random_state, ordered)
    asked = None if models is None else list(models)
    methods, left_out = _entries(asked, problem, prices)
    race = Race(
        prepare, X, k, K, folds, prices,
        random_state=random_state, n_jobs=n_jobs, tell=tell or (lambda _: None),
    )  # fmt: skip
    runners, lost = race.run([Runner.of(method, problem) for method in methods])
    fold = np.empty(n, dtype=np.intp)
    for f, (_, test) in enumerate(folds):
        fold[test] = f
    crossfit = CrossFit(np.empty((n, K)), fold, classes, k)
    blends = asked is None or len(asked) > 1 or asked == ["blend"]
    tried = _finalists(race, runners, crossfit, groups, blends)
    for entry in tried:
        names = entry.model.get_params()
        labels = [key for key in names if key.rpartition("__")[2] == "class_order"]
        entry.model.set_params(**dict.fromkeys(labels, classes.tolist()), reject_label=reject_label)
    tried.sort(key=lambda entry: entry.cost)
    names = [entry.name for entry in tried]
    name = "blend" if asked == ["blend"] and "blend" in names else simplest(tried)
    return Choice(name, tried, left_out | lost, list(prices), len(folds), prepare, k)


def _entries(
    asked: list[str] | None, problem: ProblemSize, prices: Sequence[Floats]
) -> tuple[list[Method], dict[str, str]]:
    """Methods that take part, and why others do not."""
    K, n_features, n, _, ordered = problem
    wanted = [m for m in (TRAINED if asked is None else asked) if m != "blend"]
    if asked is not None and "blend" in asked:
        wanted += [m for m in TRAINED if METHODS[m].blended and m not in wanted]
    if asked is not None:
        try:
            find([name for name in asked if name != "blend"], K, ordered)
        except ValueError as error:
            raise NotSuited(str(error)) from None
    # What a review costs where an error costs 1; None if errors or reviews differ in price.
    relative = [reject_cost_of(L) for L in prices]
    trainable = all(cost is not None and cost <= 0.5 for cost in relative)
    methods, left_out = [], dict[str, str]()
    for method in find(wanted):
        if not method.takes(K, ordered):
            if not ordered and method.multiclass:
                left_out[method.name] = "needs classes in an order"
        elif not (method.blended or trainable):
            left_out[method.name] = "cannot be trained for these prices"
        elif asked is None and method.max_samples and n > method.max_samples:
            left_out[method.name] = f"slow on more than {method.max_samples:,} rows"
        elif asked is None and method.max_features and n_features > method.max_features:
            left_out[method.name] = f"slow with more than {method.max_features} features"
        else:
            methods.append(method)
    if not methods:
        name, why = next(iter(left_out.items()))
        raise NotSuited(f"{name!r} {why}.")
    return methods, left_out


def _finalists(
    race: Race, runners: list[Runner], cases: CrossFit, groups: Any, blends: bool
) -> list[Finalist]:
    """Calibrate the posteriors of each model, and blend them."""
    y, n, labels = race.k, len(race.k), np.arange(race.K)
    prior = PRIOR if groups is None else PRIOR * n / len(np.unique(groups))
    tuned = {runner.name: runner.tuned() for runner in runners}
    times = {runner.name: runner.seconds(n) for runner in runners}
    parts = {runner.name: runner.p for runner in runners if runner.by_posteriors}
    found = [
        Finalist(r.name, tuned[r.name], r.best, {}, None, r.cost, np.nan, times[r.name])
        for r in runners
        if not r.by_posteriors
    ]
    groupings = {name: {name: p} for name, p in parts.items()}
    if blends and len(parts) > 1:
        groupings["blend"] = parts
    best = {runner.name: runner.best for runner in runners}
    for name, members in groupings.items():
        p, weights, temperature = blend(members, cases.fold, y, prior)
        loss = log_loss(y, p, classes=labels)
        if name in parts:
            own = log_loss(y, parts[name], classes=labels)
            if own <= CLOSE * loss:  # calibrated as it is
                p, weights, loss = parts[name], {}, own
        inner = tuned.get(name)
        if weights:
            inner = BlendClassifier(
                [(member, tuned[member]) for member in weights],
                weights=list(weights.values()),
                temperature=temperature,
            )
        found.append(
            Finalist(
                name,
                ThresholdRejectClassifier(inner),
                best.get(name, {}),
                weights if name == "blend" else {},
                cases._replace(p=p),
                race.cost(p, y),
                loss,
                sum(times[m] for m in weights or [name]),
            )
        )
    return found


def blend(
    parts: Mapping[str, Floats], fold: Indices, y: Indices, prior: float = PRIOR
) -> tuple[Floats, dict[str, float], float]:
    """Posteriors (n, K) of a blend, each fold by what the others gave; weights, temperature."""
    names, p = list(parts), np.array(list(parts.values()))  # (m, n, K)
    w = learn_weights(p, y, prior=prior)
    some = w >= min(LEAST_WEIGHT, w.max())
    names, p = [name for name, kept in zip(names, some, strict=True) if kept], p[some]
    w = learn_weights(p, y, prior=prior)
    floor = class_floor(y)
    temperature = learn_temperature(np.tensordot(w, p, 1) + floor, y)
    held_out = np.empty(p.shape[1:])
    for f in range(fold.max() + 1):
        mine = fold == f
        others = learn_weights(p[:, ~mine], y[~mine], prior=prior)
        mixed = np.tensordot(others, p, 1) + floor
        held_out[mine] = tempered(mixed[mine], learn_temperature(mixed[~mine], y[~mine]))
    return held_out, dict(zip(names, w.tolist(), strict=True)), temperature


def simplest(tried: Sequence[Finalist]) -> str:
    """Name of the simplest of the models that are as good as the best.

    The best is the model with the lowest log loss, unless another costs clearly less.  A simpler
    one must be within half a percent in its cost and, as a few hundred cases cannot tell costs
    apart so finely, in its log loss too.
    """
    cheapest = min(tried, key=lambda entry: entry.cost)
    decided = [entry for entry in tried if entry.crossfit is not None]
    if not decided:
        return cheapest.name
    best = min(decided, key=lambda entry: entry.log_loss)
    if clearly_less(cheapest.costs, best.costs):
        best = cheapest
    close = [
        entry.name
        for entry in tried
        if entry is best
        or (entry.cost <= CLOSE * best.cost and entry.log_loss <= CLOSE * best.log_loss)
    ]
    return min(close, key=list(METHODS).index)


def clearly_less(cost: Floats, other: Floats) -> bool:
    """Return whether costs (n,) of the same cases are lower by two standard errors."""
    gap = other - cost
    return bool(gap.mean() > 2 * gap.std() / np.sqrt(len(gap)) > 0)
