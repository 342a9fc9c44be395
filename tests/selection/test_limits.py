"""Several limits at once, by class, decision and group; costs; the latest cases."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

from rejo import RejectClassifierCV, RejoSVC, ThresholdRejectClassifier, load, save, to_onnx
from rejo.metrics.bounds import binomial_upper_bound, cases_needed
from rejo.selection import Limit, OutOfFold, TargetUnattainable
from rejo.selection.folds import hold_out, order_in_time
from rejo.selection.limits import check_group, group_name, name_limits
from rejo.selection.promises import Tests as Settled
from rejo.selection.promises import prove
from tests.selection.populations import Counting

N = 1500
LEARNERS = {
    "posteriors": ThresholdRejectClassifier(LogisticRegression()),
    "boundaries": RejoSVC(C=1, gamma=0.5),
}


SURE = {"confidence": 0.9, "calibration_size": 0.3, "random_state": 0}


@pytest.fixture(scope="module")
def cases():
    """Two classes; in the region "hills" they are harder to tell apart."""
    rng = np.random.RandomState(0)
    group = rng.choice(["city", "coast", "hills", "isle"], p=[0.5, 0.3, 0.19, 0.01], size=N)
    X = rng.normal(size=(N, 2))
    scale = np.where(group == "hills", 2.0, 4.0)
    y = np.where(rng.uniform(size=N) < expit(scale * X[:, 0]), "good", "bad")
    return X, y, group


def rates(model, X, y, group):
    """Rates that guarantees are about, of these cases."""
    given = {} if model.policy_ is None else {"group": group}
    found = model.predict(X, **given)
    decided, wrong = found != model.reject_label_, (found != model.reject_label_) & (found != y)
    for one in model.guarantees_:
        of = {
            None: np.ones(len(y), dtype=bool),
            "class": y == one.value,
            "decision": found == one.value,
            "group": group == one.value,
        }[one.by]
        bad = ~decided & of if one.rate == "rejection_rate" else wrong & of
        yield one, int(bad.sum()), int((of & (decided | (one.rate != "accepted_error_rate"))).sum())


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(
    "asked",
    [
        {"max_error": 0.12, "review_budget": 0.5},
        {"max_error_by_class": 0.14},
        {"max_error_by_class": {"bad": 0.13}},
        {"max_error_by_decision": {"good": 0.13}, "max_error": 0.13},
        {"max_error_by_group": 0.2, "small_groups": "review"},
        {"review_budget_by_group": {"city": 0.3, "coast": 0.4}, "max_error": 0.13},
    ],
)
def test_each_promise_is_proved_by_the_cases_that_were_held_out(cases, name, asked):
    X, y, group = cases
    model = RejectClassifierCV(LEARNERS[name], **asked, **SURE)
    model.fit(X, y, group=group)
    _, test = hold_out(N, 0.3, 0)
    assert model.guarantees_
    for one, bad, total in rates(model, X[test], y[test], group[test]):
        assert one.n_cases == total
        assert binomial_upper_bound(bad, total, 0.9) <= one.target == one.bound
        assert one.assumption.startswith("This holds if")


@pytest.mark.parametrize("sure", [{}, SURE])
def test_limits_that_cannot_all_be_kept_are_named_with_what_can(cases, sure):
    X, y, _ = cases
    model = RejectClassifierCV(LEARNERS["posteriors"], max_error=0.06, review_budget=0.1, **sure)
    with pytest.raises(TargetUnattainable) as info:
        model.fit(X, y)
    said = info.value.problem
    assert "max_error=0.06, review_budget=0.1 cannot all be" in said
    instead = dict(re.findall(r"(max_error|review_budget)=([\d.]+) would", said))
    assert [*instead] == ["max_error", "review_budget"]
    assert instead[info.value.parameter] == f"{info.value.attainable:g}"
    for name, share in instead.items():  # the user gets it who asks again
        clone(model).set_params(**{name: float(share)}).fit(X, y)


def test_a_limit_for_each_without_a_confidence_is_kept_out_of_fold(cases):
    X, y, _ = cases
    model = RejectClassifierCV(LEARNERS["posteriors"], max_error=0.1, review_budget=0.6).fit(X, y)
    R, E = model.rates_
    assert R <= 0.6
    assert E / (1 - R) <= 0.105
    assert model.guarantees_ == []
    assert [limit.parameter for limit in model.limits_] == ["max_error", "review_budget"]


@pytest.mark.parametrize("name", LEARNERS)
def test_groups_that_are_too_small_are_named_or_reviewed(cases, name):
    X, y, group = cases
    group = np.where(group == "isle", np.where(np.arange(N) % 2, "isle 1", "isle 2"), group)
    group[np.flatnonzero(group == "hills")[:40]] = "isle 2"
    model = RejectClassifierCV(LEARNERS[name], max_error_by_group=0.22, confidence=0.9)
    model.set_params(random_state=0)
    with pytest.raises(TargetUnattainable, match="'isle 1'") as refused:
        model.fit(X, y, group=group)
    assert refused.value.parameter == "small_groups"
    assert cases_needed(0.22, 0.9) == 10
    model.set_params(small_groups="review").fit(X, y, group=group)
    assert "isle 1" in model.policy_.reviewed
    frame = model.review(X, group=group)
    assert (frame["reason"][group == "isle 1"] == "policy").all()
    assert (frame["decision"][group == "isle 1"] == "reject").all()
    assert not (frame["reason"][group == "city"] == "policy").any()
    decided = (model.predict(X, group=group) != "reject").nonzero()
    assert_array_equal(model.predict_forced(X)[decided], model.predict(X, group=group)[decided])
    with pytest.raises(TypeError, match="group"):
        to_onnx(model)
    with pytest.raises(ValueError, match="group"):
        model.predict(X)
    assert model.score(X, y, group=group) < 1


def test_cases_of_unknown_groups_go_to_review(cases):
    X, y, group = cases
    model = RejectClassifierCV(LEARNERS["posteriors"], review_budget=0.3).fit(X, y, group=group)
    same = model.predict(X)  # the group does not matter for the others
    other = np.where(np.arange(N) < 10, "moon", group)
    frame = model.review(X, group=other)
    assert_array_equal(frame["decision"][10:], same[10:])
    assert (frame["reason"][:10] == "policy").all()
    with pytest.raises(ValueError, match="group"):
        model.predict(X, group=group[:3])
    plain = RejectClassifierCV(LEARNERS["posteriors"], review_budget=0.3).fit(X, y)
    with pytest.raises(ValueError, match="group"):
        plain.predict(X, group=group)
    with pytest.raises(TypeError, match="group"):
        LEARNERS["posteriors"].fit(X, y).predict(X, group=group)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_mean_cost_has_a_bound(cases, name):
    X, y, _ = cases
    prices = {"error": 100, "review": 20}
    model = RejectClassifierCV(LEARNERS[name], cost_of=prices, **SURE).fit(X, y)
    (one,) = model.guarantees_
    assert (one.rate, one.target, one.n_cases) == ("mean_cost", None, 450)
    assert 0.8 * model.costs_.chosen.estimate < one.bound < 20
    model.set_params(max_cost=one.bound * 1.01).fit(X, y)
    assert model.guarantee_.target == pytest.approx(one.bound * 1.01)
    with pytest.raises(TargetUnattainable):
        model.set_params(max_cost=5).fit(X, y)


def test_the_latest_cases_prove_it(cases):
    X, y, _ = cases
    day = np.random.RandomState(1).permutation(N) // 10
    late = day >= 105
    worse = y.copy()
    worse[late] = np.where(np.random.RandomState(2).uniform(size=late.sum()) < 0.3, "good", "bad")
    options = {"max_error": 0.2, "confidence": 0.9, "random_state": 0}
    RejectClassifierCV(LEARNERS["posteriors"], **options).fit(X, y, time=day)
    with pytest.raises(TargetUnattainable, match="latest"):
        RejectClassifierCV(LEARNERS["posteriors"], **options).fit(X, worse, time=day)
    dates = np.datetime64("2024-01-01") + day.astype("timedelta64[D]")
    model = RejectClassifierCV(LEARNERS["posteriors"], **options).fit(X, y, time=dates.astype(str))
    assert model.guarantee_.rests_on == "latest"
    train, test = hold_out(N, 0.3, 0, time=day)
    assert day[train].max() < day[test].min()  # no day is in both
    with pytest.raises(ValueError, match="time"):
        model.fit(X, y, time=np.array(["soon"] * N))
    with pytest.raises(ValueError, match="time"):
        model.fit(X, y, time=np.append(np.nan, day[1:]))
    groups = np.arange(N) // 2
    both = RejectClassifierCV(LEARNERS["posteriors"], **options)
    both.fit(X, y, groups=groups, time=day)
    assert both.guarantee_.rests_on == "latest_one_each"


def test_promises_and_policies_are_kept_in_a_file(cases, tmp_path):
    X, y, group = cases
    model = RejectClassifierCV(
        LEARNERS["posteriors"], max_error_by_group=0.2, small_groups="review", confidence=0.9,
        random_state=0,
    ).fit(X, y, group=group)  # fmt: skip
    save(model, tmp_path / "model.rejo", X=X, y=y)
    again = load(tmp_path / "model.rejo")
    assert again.guarantees_ == model.guarantees_
    assert again.policy_.names == model.policy_.names
    assert again.summary() == model.summary()
    assert_array_equal(again.predict(X, group=group), model.predict(X, group=group))


def test_groups_are_named_as_in_a_file():
    said = [group_name(x) for x in (1, 1.0, "1", True, None, np.nan, np.float64(2.5), "a")]
    assert said == ["1", "1", "1", "True", "(missing)", "(missing)", "2.5", "a"]


def test_missing_groups_are_missing_in_any_container():
    pd = pytest.importorskip("pandas")
    words = ["a", np.nan, "b"]
    for given in (words, tuple(words), pd.Series(words), pd.Series(words, dtype="string"),
                  pd.Series(words, dtype="category"), np.array(words, dtype=object)):  # fmt: skip
        assert check_group(given, 3) == ["a", "(missing)", "b"]
    assert check_group(pd.Series([1, None, 2], dtype="Int64"), 3) == ["1", "(missing)", "2"]


@pytest.mark.filterwarnings("error")
def test_dates_are_ordered_in_any_form():
    pd = pytest.importorskip("pandas")
    zone = pd.date_range("2024-03-31", periods=3, freq="h", tz="Europe/Berlin")
    for late in (
        ["19991231", "20240105", "20250101"],  # numbers, and no years of eight digits
        ["5", "40", "300"],
        ["1000-01-01", "2024-01-01", "9999-12-31"],  # nanoseconds end in 2262
        list(zone), pd.Series(zone), np.array([0.5, 1, 2.5], dtype=object),
        ["2024-01-01T02:00:00+02:00", "2024-01-01T01:00:00Z", "2024-01-01T01:30:00Z"],
    ):  # fmt: skip
        assert_array_equal(order_in_time(late, 3), [0, 1, 2])
        assert_array_equal(order_in_time(late[::-1], 3), [2, 1, 0])
    for gap in (pd.NA, pd.NaT, None):
        with pytest.raises(ValueError, match="missing"):
            order_in_time([gap, pd.Timestamp("2024-01-01")], 2)
    with pytest.raises(ValueError, match="31"):
        order_in_time(["2024-12-31", "31.12.2024"], 2)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [3, 100])
def test_a_group_may_be_among_the_calibration_cases_only(cases, n):
    X, y, group = cases
    group = np.where(group == "isle", "city", group).astype(object)
    group[hold_out(N, 0.3, 0)[1][:n]] = "zoo"
    for asked in ({"max_error_by_group": 0.25}, {"review_budget_by_group": 0.5}):
        model = RejectClassifierCV(
            LEARNERS["posteriors"], **asked, small_groups="review", confidence=0.9,
            random_state=0,
        ).fit(X, y, group=group)  # fmt: skip
        assert (model.predict(X, group=group) != model.reject_label_).any()
        assert n > 3 or model.policy_.reviewed == ["zoo"]


def test_what_cannot_all_be_kept_is_not_what_was_asked_for(cases):
    X, y, group = cases
    with pytest.raises(TargetUnattainable) as refused:
        RejectClassifierCV(
            LEARNERS["posteriors"], max_error_by_group=0.03, review_budget=0.05, confidence=0.9,
            small_groups="review", random_state=0,
        ).fit(X, y, group=group)  # fmt: skip
    assert refused.value.attainable > 0.03


def test_classes_of_limits_are_named_once_and_as_numbers(cases):
    X, y, _ = cases
    y = (y == "good").astype(float)
    options = {"confidence": 0.9, "random_state": 0}
    model = RejectClassifierCV(LEARNERS["posteriors"], max_error_by_class={1: 0.2}, **options)
    assert [one.value for one in model.fit(X, y).guarantees_] == ["1.0"]
    with pytest.raises(ValueError, match="twice"):
        model.set_params(max_error_by_class={1: 0.2, "1.0": 0.3}).fit(X, y)
    prices = {"error": 5, "review": 1}
    cost = RejectClassifierCV(
        LEARNERS["posteriors"], max_cost=np.float32(3), cost_of=prices, **options
    )
    assert cost.fit(X, y).guarantee_.target == 3.0


@pytest.mark.parametrize(
    ("asked", "given", "said"),
    [
        ({"max_error": 15}, {}, "0.15"),
        ({"max_error_by_group": 0.2}, {"groups": "rows"}, "group="),
        (
            {"max_error_by_group": 0.2},
            {"group": "sex"},
            "table",
        ),
        ({"max_error_by_group": 0.2}, {"group": "two"}, "group"),
        ({"max_error": 0.2}, {"time": "date"}, "table"),
        (
            {"max_error": 0.2},
            {"groups": "few"},
            "groups",
        ),
    ],
)
def test_what_newcomers_get_wrong_has_a_remedy(cases, asked, given, said):
    X, y, _ = cases
    n = len(y)
    columns = {"rows": np.arange(n), "few": np.arange(n) % 2, "two": np.zeros((n, 2))}
    given = {name: columns.get(value, value) for name, value in given.items()}
    with pytest.raises(ValueError, match=said):
        RejectClassifierCV(LEARNERS["posteriors"], confidence=0.9, **asked).fit(X, y, **given)


def test_one_share_for_all_groups_is_named_once():
    groups = [Limit("max_error_by_group", "error_rate", 0.1, "group", f"g{j}", j) for j in (0, 1)]
    overall = Limit("max_error", "error_rate", 0.05)
    assert name_limits([overall, *groups]) == "max_error=0.05, max_error_by_group=0.1"
    assert name_limits([overall, groups[0]]) == "max_error=0.05, max_error_by_group['g0']=0.1"
    other = groups[1]._replace(most=0.2)
    assert name_limits([groups[0], other]) == (
        "max_error_by_group['g0']=0.1, max_error_by_group['g1']=0.2"
    )


def test_groups_in_another_order_than_the_cases_are_refused(cases):
    X, y, group = cases
    frame, series = pd.DataFrame(X, columns=["a", "b"]), pd.Series(group)
    mixed = series.sample(frac=1, random_state=0)
    model = RejectClassifierCV(LEARNERS["posteriors"], review_budget=0.3)
    with pytest.raises(ValueError, match="group"):
        model.fit(frame, y, group=mixed)
    with pytest.raises(ValueError, match="time"):
        model.fit(frame, y, time=mixed.rank())
    model.fit(frame, y, group=mixed.loc[frame.index])
    with pytest.raises(ValueError, match="group"):
        model.predict(frame, group=mixed)


def test_the_first_candidate_that_fails_is_the_last_that_is_tested():
    doubt = np.repeat([1.0, 2.0, 3.0], 100)  # at the cuts, 100, 200 and 300 cases are decided
    wrong = np.zeros(300, dtype=bool)
    wrong[100:150] = True
    cases = OutOfFold(doubt, np.zeros(300, np.intp), y=wrong.astype(np.intp))
    limit, cuts = Limit("max_error", "accepted_error_rate", 0.2), np.array([1.5, 2.5, 3.5])
    hard = np.arange(300) % 4 == 0  # the more doubt, the less hope
    own = OutOfFold(doubt, np.zeros(300, np.intp), y=(hard & (doubt > 1)).astype(np.intp))
    tests = Settled(own, [limit], None, 0.9, 300, cuts)
    cut, line, _, guarantees = prove(tests, cases, (), False, "random")
    assert line.tolist() == [1.5, 2.5, 3.5]
    assert cut == 1.5  # the third would pass, but comes after one that failed
    assert guarantees[0].n_cases == 100
    assert binomial_upper_bound(50, 300, 0.9) <= 0.2 < binomial_upper_bound(50, 200, 0.9)


@pytest.mark.parametrize("sure", [{}, SURE])
def test_small_groups_are_refused_before_any_fit(cases, monkeypatch, sure):
    X, y, group = cases
    monkeypatch.setattr(Counting, "fits", 0)
    model = RejectClassifierCV(
        ThresholdRejectClassifier(Counting()), max_error_by_group=0.02, **sure
    )
    with pytest.raises(TargetUnattainable, match="'isle'"):
        model.fit(X, y, group=group)
    assert Counting.fits == 0
    model.set_params(max_error_by_group=0.3, small_groups="review").fit(X, y, group=group)
    assert Counting.fits == 6


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_go_with_several_limits(cases, name):
    """A weight of two is the row twice; with a confidence, cases have no weights."""
    X, y, _ = cases
    limits = {"max_error": 0.12, "max_error_by_class": {"bad": 0.16}, "review_budget": 0.6}
    weight = np.where(y == "bad", 2.0, 1.0)
    model = RejectClassifierCV(LEARNERS[name], **limits, reject_costs=[0.2]).fit(
        X, y, sample_weight=weight
    )
    point = model.outcomes_[model.chosen_]
    reviewed, wrong = point.decision < 0, (point.decision >= 0) & (point.decision != point.y)
    of = point.y == 0
    assert np.average(reviewed, weights=weight) <= 0.6
    assert wrong[of].sum() / (of & ~reviewed).sum() <= 0.16
    assert (weight @ wrong) / (weight @ ~reviewed) <= 0.125  # read from a curve
    plain = RejectClassifierCV(LEARNERS[name], **limits, reject_costs=[0.2]).fit(X, y)
    assert plain.rates_ != model.rates_
    with pytest.raises(ValueError, match="sample_weight"):
        model.set_params(confidence=0.9).fit(X, y, sample_weight=weight)
