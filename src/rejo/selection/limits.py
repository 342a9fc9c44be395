"""What is asked for: limits of rates, overall, by class, by decision and by group; and prices.

Every target is a :class:`Limit`: a rate, of whom, and at most how much.  A budget limits reviews;
prices alone are no limit, but the cut at zero.  All limits hold at the same operating point.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from rejo._errors import RejoError, Setting, Text, close_words
from rejo._state import check_fields, count, each, maybe, number, one_of, require, storable, text
from rejo._typing import Floats, Indices
from rejo.decisions import uniform_prices
from rejo.estimators import POLICY, Judgement
from rejo.prices import price_matrix, reject_cost_of
from rejo.selection.folds import case_loss, highest_reject_cost, is_missing, price_parameters
from rejo.selection.out_of_fold import OutOfFold

LIMITS = {  # any of them may be asked for together; of whom each is
    "max_error": None,
    "review_budget": None,
    "max_error_by_class": "class",
    "max_error_by_decision": "decision",
    "max_error_by_group": "group",
    "review_budget_by_group": "group",
    "max_cost": None,
}
TARGETS = (*LIMITS, "reject_cost", "cost_of")
RATES = ("rejection_rate", "error_rate", "accepted_error_rate", "mean_cost")
PRIOR = 5.0  # errors that speak for all groups alike, against those of one group


@storable
class Limit(NamedTuple):
    """A rate, of whom, and what it may be at most."""

    parameter: str  # of RejectClassifierCV, that asks for it
    rate: str  # one of RATES
    most: float | None  # None: whatever it is, it is bounded
    by: str | None = None  # "class", "decision" or "group", if it is about some of the cases
    name: str | None = None  # the class or group
    member: int = -1  # its index

    @property
    def limits_errors(self) -> bool:
        """Whether reviews help to keep it."""
        return self.rate != "rejection_rate"

    def __str__(self) -> str:
        return str(self.setting())

    def setting(self) -> Setting:
        """Return what asks for it."""
        return Setting(self.parameter, self.most, self.name)

    def _check_state(self) -> None:
        """The names of a parameter and of a rate, numbers, and what it is about."""
        check_fields(
            self, parameter=one_of(*LIMITS), rate=one_of(*RATES), most=maybe(number()),
            by=one_of(None, "class", "decision", "group"), name=maybe(text()), member=count(-1),
        )  # fmt: skip
        require((self.by is None) == (self.name is None), self, "it does not say what it is about")


def name_limits(limits: Sequence[Limit]) -> Text:
    """Name limits as they were asked for: one share for all groups, or all classes, once."""
    shares: dict[str, list[float | None]] = {}
    for limit in limits:
        shares.setdefault(limit.parameter, []).append(limit.most)
    same = {name for name, all_ in shares.items() if len(all_) > 1 and len(set(all_)) == 1}
    said = ((x._replace(name=None) if x.parameter in same else x).setting() for x in limits)
    first, *others = dict.fromkeys(said)
    return Text(first, *(part for one in others for part in (", ", one)))


# ---- from parameters ----------------------------------------------------------------------


def check_targets(params: Mapping[str, Any], *, priced: bool = False) -> list[str]:
    """Check what can be checked before the classes are known; return what was given.

    Prices of each case may be given to ``fit`` instead of ``cost_of``.
    """
    params = {"reject_cost": "auto", **params}
    if params.get("confidence") is not None:
        check_share("confidence", params["confidence"], example=0.95)
    cost = params["reject_cost"]
    if cost is None:
        raise ValueError(
            'reject_cost=None means "never reject", which needs no target: use the estimator '
            'itself, or leave reject_cost="auto" and give another target.'
        )
    if isinstance(cost, str) and cost == "auto":
        del params["reject_cost"]
    elif not (_is_number(cost) and 0 < cost < 1):
        raise ValueError(
            "reject_cost must be a number in (0, 1), what a review costs divided by what an error "
            f"costs; got {cost!r}. For amounts of money use cost_of."
        )
    given = [name for name in TARGETS if params.get(name) is not None]
    if not (given or priced) or ("reject_cost" in given and len(given) + priced > 1):
        found = "none was given" if not given else f"{' and '.join(given)} were given"
        raise ValueError(
            f"give reject_cost or cost_of, or limits such as review_budget or max_error; {found}. "
            "For example, review_budget=0.1 sends at most one case in ten to review. Only cost_of "
            "goes with limits, not reject_cost."
        )
    for name in given:
        if name == "review_budget":
            _budget(params[name], params.get("per"))
        elif name == "max_cost":
            _cost(params, priced)
        elif name in LIMITS:
            value = params[name]
            several = isinstance(value, Mapping) and LIMITS[name]
            for share in value.values() if several else [value]:
                check_share(name, share)
    return given


def read_limits(
    params: Mapping[str, Any], classes: Any, groups: Sequence[str] | None
) -> list[Limit]:
    """All limits that the parameters set, each class and group by itself; none for prices alone."""
    errors = {"accepted": "accepted_error_rate", "overall": "error_rate"}[params["error"]]
    names = [str(label) for label in classes.tolist()]
    found = []
    for parameter, by in LIMITS.items():
        value = params.get(parameter)
        if value is None:
            continue
        if parameter == "max_cost":
            found.append(Limit(parameter, "mean_cost", float(value)))
            continue
        budget = parameter.startswith("review_budget")
        rate = "rejection_rate" if budget else errors
        rate = "accepted_error_rate" if by == "decision" else rate
        if by is None:
            most = _budget(value, params.get("per")) if budget else float(value)
            found.append(Limit(parameter, rate, most))
            continue
        if by == "group" and groups is None:
            raise RejoError(
                f"{parameter}={value!r} needs the group of each case",
                parameter=parameter,
                remedy="Pass group= to fit; groups= only says which rows belong together.",
            )
        known = list(groups or []) if by == "group" else names
        for name, most in _by_name(parameter, value, known, by).items():
            found.append(Limit(parameter, rate, most, by, name, known.index(name)))
    return found


def _by_name(parameter: str, value: Any, known: Sequence[str], by: str) -> dict[str, float]:
    """A share for each name: the same for all, or those that are given."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(known, check_share(parameter, value))
    what = "group" if by == "group" else "class"
    if not value:
        raise RejoError(
            f"{parameter} is an empty dict", parameter=parameter,
            remedy=f"Give a share for a {what}, or one share for all.",
        )  # fmt: skip
    found = {}
    for key, share in value.items():
        name = group_name(key) if by == "group" else str(key)
        if name not in known:  # 0 is the class 0.0
            name = next((x for x in known if x == f"{group_name(key)}.0"), group_name(key))
        problem = None
        if name in found:
            problem, remedy = f"names the {what} {name!r} twice", "Give one share for each."
        elif name not in known:
            close = close_words(name, known, 1)
            problem = f"names the {what} {key!r}, which no case has"
            remedy = f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known[:10])}."
        if problem:
            raise RejoError(
                Text(Setting(parameter), f" {problem}"), parameter=parameter, remedy=remedy
            )
        found[name] = check_share(f"{parameter}[{key!r}]", share)
    return found


def check_share(name: str, value: Any, example: float = 0.02) -> float:
    """Return a limit that is a share between 0 and 1."""
    if not (_is_number(value) and 0 < value < 1):
        raise ValueError(
            f"{name} must be a share between 0 and 1, such as {example:g}; got {value!r}."
            f"{_as_share(value)}"
        )
    return float(value)


def _as_share(value: Any) -> str:
    """Say how to write a percentage, such as 5 or "5%"; nothing if it is none."""
    least = 1.0  # which may mean 1 % or all
    if isinstance(value, str) and value.rstrip().endswith("%"):
        least = 0.0
        try:
            value = float(value.rstrip()[:-1])
        except ValueError:
            return ""
    is_percent = _is_number(value) and least < value < 100
    return f" For {value:g} % write {value / 100:g}." if is_percent else ""


def _budget(budget: Any, per: int | None) -> float:
    if isinstance(budget, Integral) and not isinstance(budget, bool):
        if per is None:
            raise ValueError(
                f"review_budget={budget} is a number of cases: say out of how many, for instance "
                f"review_budget={budget}, per={20 * max(int(budget), 5)}."
                f"{_as_share(budget) or ' A share is a float, such as review_budget=0.1.'}"
            )
        if 0 <= int(budget) <= per:
            return int(budget) / per
        raise ValueError(f"review_budget={budget} must be from 0 to per={per}.")
    if _is_number(budget) and 0 <= budget < 1:
        return float(budget)
    raise ValueError(
        "review_budget must be a share of the cases below 1, such as 0.1, or a whole number of "
        f"them together with per, such as review_budget=50, per=1000; got {budget!r}."
        f"{_as_share(budget)}"
    )


def _cost(params: Mapping[str, Any], priced: bool) -> None:
    value = params["max_cost"]
    try:
        fine = _is_number(value) and 0 < float(value) < 1e100
    except OverflowError:  # a whole number without end
        fine = False
    if not fine:
        raise RejoError(
            f"max_cost={value!r} must be a positive amount in the unit of the prices",
            parameter="max_cost",
        )
    if params.get("cost_of") is None and not priced:
        raise RejoError(
            f"max_cost={value!r} needs prices", parameter="max_cost",
            remedy='Give cost_of, such as {"error": 5000, "review": 40}.',
        )  # fmt: skip


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_prices(
    params: Mapping[str, Any], classes: Any, *, ordered: bool, posteriors: bool,
    estimator: Any = None, by_case: Floats | None = None, y: Any = None,
) -> Floats | None:  # fmt: skip
    """Prices (K, K + 1) that the parameters give, if any, or those given ``by_case``.

    Without posteriors, there are two of them, or such that an ``estimator`` can be trained for.
    """
    K = len(classes)
    highest = highest_reject_cost(K, posteriors)
    if by_case is not None and by_case.ndim == 3:
        if posteriors or case_loss(estimator, by_case, y) is not None:
            return by_case
        raise RejoError(
            Text(Setting("cost_of"), ": the estimator cannot be trained for such prices of cases"),
            parameter="cost_of",
            remedy="Learners by data replication such as RejoSVC, alone or at the end of a "
            "pipeline, take any prices of two classes, and of more if each case has one price of "
            "an error and one of a review. ThresholdRejectClassifier, around a classifier with "
            "posteriors, takes any prices.",
        )
    if by_case is None and params.get("cost_of") is None:
        cost = params.get("reject_cost", "auto")
        if isinstance(cost, str):  # "auto"
            return None
        if cost > highest:
            raise RejoError(
                Text(
                    Setting("reject_cost"), f" must be a number in (0, {highest:.6g}]; got {cost!r}"
                ),
                parameter="reject_cost",
                remedy=f"Above {highest:.3g} this classifier rejects nothing.",
            )
        return uniform_prices(K, cost)
    prices = by_case
    if prices is None:
        prices = price_matrix(params["cost_of"], classes.tolist(), ordered=ordered)
    cost = reject_cost_of(prices)
    if posteriors or (cost is not None and cost <= highest):
        return prices
    if estimator is not None and price_parameters(estimator, prices, classes) is not None:
        return prices
    problem = "the estimator learns reject regions for one price of an error and one of a review"
    if cost is not None:
        problem = f"a review costs {cost:.3g} of an error; from {highest:g} on no case is worth one"
    raise RejoError(
        Text(Setting("cost_of"), f": {problem}"),
        parameter="cost_of",
        remedy="ThresholdRejectClassifier, around a classifier with posteriors, takes any prices.",
    )


# ---- groups -------------------------------------------------------------------------------


def group_name(value: Any) -> str:
    """A group as text: 1, 1.0 and "1" are the same; a missing value has a name of its own."""
    if is_missing(value):
        return "(missing)"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return str(value)


def check_group(group: Any, n: int) -> list[str]:
    """Return the name of each case's group."""
    # Not as text: that would turn a missing value among words into the word "nan".
    flat = np.asarray(group, dtype=object if isinstance(group, (list, tuple)) else None)
    if flat.shape != (n,):
        got, remedy = f"shape {flat.shape}", ""
        if isinstance(group, str):
            got, remedy = repr(group), f" Give the column itself, such as table[{group!r}]."
        elif flat.ndim == 2 and flat.shape[1] > 1:
            remedy = " To promise by several columns, join them into one."
        raise ValueError(f"group must have one value for each of the {n} cases; got {got}.{remedy}")
    return [group_name(value) for value in flat.tolist()]


def group_names(group: Any, n: int) -> tuple[list[str], Indices]:
    """Names of the groups in their order, and the index of each case's."""
    said = check_group(group, n)
    names, index = np.unique(np.array(said, dtype=object), return_inverse=True)
    return [str(name) for name in names], index


@storable
class GroupPolicy(NamedTuple):
    """The groups that a model knows, and how it treats them.

    Cases of a group that it does not know are reviewed: nothing is promised for them.
    """

    names: list[str]  # all groups in training
    reviewed: list[str]  # those whose every case is reviewed

    @property
    def needed(self) -> bool:
        """Whether decisions depend on the group."""
        return bool(self.reviewed)

    def _check_state(self) -> None:
        """Names that differ, and those reviewed among them."""
        check_fields(self, names=each(text()), reviewed=each(text()))
        require(len(set(self.names)) == len(self.names), self, "its groups repeat")
        require(set(self.reviewed) <= set(self.names), self, "it reviews groups it does not know")

    def apply(self, judgement: Judgement, group: Any) -> Judgement:
        """Review the cases of groups without a promise, and of unknown groups."""
        promised = {*self.names} - {*self.reviewed}
        said = check_group(group, len(judgement.decision))
        known = np.array([name in promised for name in said], dtype=bool)
        kind = np.zeros(len(known), np.int8) if judgement.kind is None else judgement.kind
        return judgement._replace(
            decision=np.where(known, judgement.decision, -1),
            kind=np.where(known, kind, np.int8(POLICY)),
        )


# ---- counts -------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Of the cases that a limit is about, at each cut."""

    bad: Floats  # (m,) errors or reviews, or what cases cost; they may be expected numbers
    total: Floats  # (m,)

    @property
    def rate(self) -> Floats:
        """Share or mean (m,); 0 where there are no cases."""
        return self.bad / np.maximum(self.total, 1e-300)


def count_limit(
    limit: Limit, cases: OutOfFold, cuts: Floats, *, smooth: bool = False,
    prices: Floats | None = None,
) -> Counts:  # fmt: skip
    """Count what a limit is about at cuts (m,).

    If ``smooth``, errors are read from a curve through them, as is right where they choose the cut.
    The curve knows nothing of true classes, so theirs are counted, and nothing of groups, so it is
    raised or lowered to the errors of each.
    """
    of = members(limit, cases)
    wrong: Any = cases.wrong
    if smooth and limit.by != "class":
        counted, wrong = wrong, cases.chance
        if limit.by == "group":
            factor = (counted[of].sum() + PRIOR) / (wrong[of].sum() + PRIOR)
            wrong = np.minimum(factor * wrong, 1.0)
    weight = np.ones(len(of)) if cases.weight is None else cases.weight
    every = np.full(len(cuts), float(weight[of].sum()))
    if limit.rate == "mean_cost":
        assert prices is not None
        review = cases.paid(prices, -1)
        (more,) = decided_sums(cases, of, cuts, [cases.paid(prices, cases.forced) - review])
        return Counts(float((weight * review)[of].sum()) + more, every)
    decided, bad = decided_sums(cases, of, cuts, [np.ones(len(of)), wrong])
    if limit.rate == "rejection_rate":
        return Counts(np.maximum(every - decided, 0.0), every)
    among_decided = limit.rate == "accepted_error_rate" or limit.by == "decision"
    return Counts(bad, decided if among_decided else every)


def members(limit: Limit, cases: OutOfFold) -> Any:
    """Which cases (n,) a limit is about, if they are decided."""
    if limit.by == "class":
        return cases.y == limit.member
    if limit.by == "decision":
        return cases.forced == limit.member
    if limit.by == "group" and cases.group is not None:
        return cases.group == limit.member
    return np.ones(len(cases.forced), dtype=bool)


def decided_sums(cases: OutOfFold, of: Any, cuts: Floats, values: Sequence[Any]) -> list[Floats]:
    """Sums (m,) of each of the values (n,) over the cases ``of`` (n,) that are decided."""
    rows = np.flatnonzero(of)
    rows = rows[np.argsort(cases.doubt[rows], kind="stable")]
    at = np.searchsorted(cases.doubt[rows], cuts - cases.slack)  # those below are decided
    weight = 1.0 if cases.weight is None else cases.weight[rows]
    return [
        np.append(0.0, np.cumsum(weight * np.asarray(value, dtype=np.float64)[rows]))[at]
        for value in values
    ]
