"""Verdicts on made-up rows, in which it is known what is true."""

import numpy as np
import pytest
from scipy import stats

from rejo.study.panels import ORDINAL_RISK, RISK, index_rows, make_panel
from rejo.study.paper import CLAIMS
from rejo.study.verdict import FAILS, HOLDS, OPEN, UNTESTED, contrasts, holm, judge

CLAIM = {claim.name: claim for claim in CLAIMS}
BEST, NETWORK = CLAIM["rejoSVM is best"], CLAIM["rejoNN is often the best network"]
SVMS = ("rejoSVM/poly", "SVM-1C/poly", "SVM-2C/poly", "Fumera/poly")


def panels(rows, methods, dataset="syntheticI", split="random", shares=(0.05, 0.25, 0.4)):
    indexed = index_rows(rows)
    return [make_panel(indexed, dataset, split, share, methods) for share in shares]


def test_holm_is_the_step_down_correction():
    p = np.array([0.001, 0.2, 0.012, 0.04])
    # By hand: 4 x 0.001, 3 x 0.012, 2 x 0.04, 1 x 0.2, made monotone.
    np.testing.assert_allclose(holm(p), [0.004, 0.2, 0.036, 0.08])
    assert holm([0.7, 0.9]).max() <= 1


def test_holm_keeps_false_alarms_rare():
    rng = np.random.default_rng(0)
    alarms = [(holm(rng.uniform(size=20)) < 0.05).any() for _ in range(2000)]
    assert np.mean(alarms) < 0.065


def test_fresh_draws_are_compared_by_a_paired_t_test(rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0.005})
    panel = panels(rows, SVMS)[1]
    [found] = contrasts(panel, [("rejoSVM/poly", "SVM-1C/poly")])
    a, b = panel.risk["SVM-1C/poly"].mean(axis=1), panel.risk["rejoSVM/poly"].mean(axis=1)
    assert found.mean.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert found.mean.difference == pytest.approx((a - b).mean())
    each = stats.ttest_rel(panel.risk["SVM-1C/poly"], panel.risk["rejoSVM/poly"]).pvalue
    np.testing.assert_allclose([test.p_value for test in found.at_costs], holm(each))


def test_splits_of_one_table_need_a_larger_difference(rows_of):
    excess = {"rejoNN": 0, "MLP-1C": 0.01}
    wide = {}
    for dataset in ("syntheticI", "letter-ah"):
        panel = panels(rows_of(dataset, excess), excess, dataset)[1]
        [found] = contrasts(panel, [("rejoNN", "MLP-1C")])
        wide[dataset] = found.mean.high - found.mean.low
    # Nadeau and Bengio: the variance is (1 / J + n_test / n_train) s^2 and not s^2 / J.
    assert wide["letter-ah"] / wide["syntheticI"] == pytest.approx((1 + 12 * 3) ** 0.5)


def test_differences_without_spread_prove_nothing(rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0.01}, n_repetitions=2)
    for row in rows:
        row["risk"] = 0.1 if row["method"] == "rejoSVM/poly" else 0.2
    [found] = contrasts(panels(rows, SVMS)[0], [("rejoSVM/poly", "SVM-1C/poly")])
    assert found.mean.difference == pytest.approx(0.1)
    assert found.mean.p_value == 1


@pytest.mark.parametrize(
    ("excess", "verdict"),
    [((0, 0.05, 0.05, 0.05), HOLDS), ((0, 0.05, -0.03, 0.05), FAILS), ((0, 0, 0.05, 0.05), OPEN)],
)
def test_best_of_all(rows_of, excess, verdict):
    rows = rows_of("syntheticI", dict(zip(SVMS, excess, strict=True)))
    result = judge(BEST, panels(rows, SVMS))
    assert [trial.verdict for trial in result.trials] == [verdict] * 3
    assert result.verdict == verdict
    assert result.count(verdict) == 3
    assert "thousandths of risk" in result.trials[0].numbers


def test_the_full_range_counts(rows_of):
    """Better on average, but worse at one cost: not the best over the full range."""
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0.05})
    for row in rows:
        if row["method"] == "SVM-1C/poly" and row["reject_cost"] == 0.44:
            row["risk"] -= 0.15
    result = judge(BEST, panels(rows, SVMS))
    assert result.verdict == FAILS
    assert "better at 5 and worse at 1 of 6 costs" in result.trials[0].numbers


def test_a_claim_on_average_may_be_wrong_at_a_cost(rows_of):
    rows = rows_of("syntheticI", {"rejoNN": 0, "MLP-1C": 0.05, "MLP-2C": 0.05})
    for row in rows:
        if row["method"] == "MLP-1C" and row["reject_cost"] == 0.44:
            row["risk"] -= 0.15
    assert judge(NETWORK, panels(rows, NETWORK.methods)).verdict == HOLDS


def test_pairs_are_judged_one_by_one(rows_of):
    claim = CLAIM["SVMs beat neural networks"]
    excess = {"rejoSVM/poly": 0, "rejoNN": 0.05, "SVM-1C/poly": 0.05, "MLP-1C": 0}
    result = judge(claim, panels(rows_of("syntheticI", excess), claim.methods))
    assert [t.verdict for t in result.trials] == [HOLDS, FAILS] * 3
    assert result.verdict == OPEN  # as many for as against


def test_a_claim_is_corrected_for_all_its_tests(rows_of):
    """Where no method is better, a verdict other than "not significant" is a rare accident."""
    verdicts = []
    for seed in range(40):
        rows = rows_of("syntheticI", dict.fromkeys(SVMS, 0), seed=seed, n_repetitions=6)
        verdicts.append(judge(BEST, panels(rows, SVMS)).verdict)
    assert verdicts.count(OPEN) >= 35


def test_crossing(rows_of):
    claim = CLAIM["no ambiguity regions"]
    excess = {"rejoSVM/poly": 0, "SVM-2C/poly": 0}
    for crossing, verdict in (
        ({"rejoSVM/poly": 0.0, "SVM-2C/poly": 0.01}, HOLDS),
        ({"SVM-2C/poly": 0.01}, HOLDS),
        ({"rejoSVM/poly": 0.0, "SVM-2C/poly": 0.0}, OPEN),
        ({"rejoSVM/poly": 0.02, "SVM-2C/poly": 0.01}, FAILS),
        ({}, UNTESTED),
    ):
        rows = rows_of("syntheticI", excess, crossing=crossing)
        assert judge(claim, panels(rows, claim.methods)).verdict == verdict


def test_without_rows_nothing_is_tested(rows_of):
    assert judge(BEST, []).verdict == UNTESTED
    rows = rows_of("syntheticI", {"SVM-1C/poly": 0})
    assert judge(BEST, panels(rows, SVMS)).verdict == UNTESTED
    assert judge(CLAIM["networks on ordered classes"], panels(rows, SVMS)).verdict == UNTESTED


@pytest.mark.parametrize(
    ("svm", "network", "verdict"),
    [
        (0.05, 0.05, HOLDS),
        (-0.05, -0.05, HOLDS),
        (0.05, -0.05, FAILS),
        (0.05, 0.0, OPEN),
        (0.0, 0.0, OPEN),
    ],
)
def test_networks_are_alike_where_the_same_method_is_better(rows_of, svm, network, verdict):
    claim = CLAIM["networks on ordered classes"]
    excess = {"rejoSVM/poly": 0, "FH-1C/poly": svm, "rejoNN": 0.1, "FH-MLP-1C": 0.1 + network}
    rows = rows_of("syntheticIII", excess)
    result = judge(claim, panels(rows, claim.methods, "syntheticIII"))
    assert [trial.verdict for trial in result.trials] == [verdict] * 3  # one pair, three shares
    assert result.verdict == verdict
    methods = {"rejoSVM/poly", "FH-1C/poly", "rejoNN", "FH-MLP-1C"}
    assert set(result.trials[0].methods) == methods
    assert result.trials[0].numbers.count("thousandths") == 2


def test_verdicts_by_the_ordinal_loss_use_that_loss(rows_of):
    rows = rows_of("syntheticIII", {"rejoSVM/poly": 0, "FH-1C/poly": 0.05, "FH-2C/poly": 0.05})
    for row in rows:
        if row["method"] != "rejoSVM/poly":
            row["ordinal_risk"] -= 0.1
    indexed = index_rows(rows)
    for measure, verdict in ((RISK, HOLDS), (ORDINAL_RISK, FAILS)):
        panel = make_panel(indexed, "syntheticIII", "random", 0.25, BEST.methods, measure)
        assert judge(BEST, [panel]).verdict == verdict


def test_one_repetition_decides_nothing(rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0.2}, n_repetitions=1)
    assert judge(BEST, panels(rows, SVMS)).verdict == OPEN


def test_a_panel_keeps_the_repetitions_that_all_methods_have(rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0.01}, n_repetitions=5)
    rows = [r for r in rows if not (r["method"] == "SVM-1C/poly" and r["repetition"] == 2)]
    panel = panels(rows[::-1], SVMS)[0]
    assert panel.n_repetitions == 4
    assert panel.methods == ["rejoSVM/poly", "SVM-1C/poly"]
    first = next(r for r in rows if r["method"] == "SVM-1C/poly")
    assert panel.risk["SVM-1C/poly"][0, 0] == first["risk"]
    assert panel.ratio == 0
    np.testing.assert_allclose(panel.bayes[2], panel.costs * panel.bayes[0] + panel.bayes[1])


def test_no_common_repetition_gives_no_panel(rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0, "SVM-1C/poly": 0}, n_repetitions=2)
    rows = [r for r in rows if (r["method"] == "rejoSVM/poly") == (r["repetition"] == 0)]
    assert panels(rows, SVMS) == [None] * 3
    assert panels([], SVMS) == [None] * 3
