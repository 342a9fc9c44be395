"""Verdicts on made-up rows, in which it is known what is true."""

import numpy as np
import pytest
from scipy import stats

from studies.paper import CLAIMS, SHARES
from studies.statistics import holm
from studies.verdicts import (
    FAILS,
    HOLDS,
    MIXED,
    OPEN,
    ORDINAL_RISK,
    RISK,
    UNTESTED,
    Trial,
    Verdict,
    contrasts,
    index_rows,
    judge,
    make_panel,
)
from tests.studies.made_up import paper_rows

CLAIM = {claim.name: claim for claim in CLAIMS}
BEST, NETWORK = CLAIM["rejoSVM is best"], CLAIM["rejoNN is often the best network"]
SVMS = ("rejoSVM/poly", "SVM-1C/poly", "SVM-2C/poly", "Fumera/poly")
PAIR = ("rejoSVM/poly", "SVM-1C/poly")


def panels(rows, methods, dataset="syntheticI"):
    index = index_rows(rows)
    found = [make_panel(index, (dataset, "random", share), methods) for share in SHARES]
    return [panel for panel in found if panel is not None]


@pytest.mark.parametrize(
    ("n_for", "n_against", "n_open", "verdict"),
    [
        (5, 5, 8, MIXED), (13, 5, 9, MIXED), (20, 1, 0, MIXED), (2, 4, 3, MIXED),
        (17, 0, 10, HOLDS), (39, 0, 0, HOLDS), (13, 0, 14, OPEN), (3, 0, 9, OPEN), (0, 0, 6, OPEN),
        (0, 1, 17, FAILS), (1, 3, 0, FAILS), (0, 0, 0, UNTESTED),
    ],
)  # fmt: skip
def test_the_words_for_a_claim(n_for, n_against, n_open, verdict):
    kinds = [HOLDS] * n_for + [FAILS] * n_against + [OPEN] * n_open
    found = Verdict(BEST, [Trial("bcct", 0.05, kind) for kind in kinds])
    assert found.verdict == verdict
    assert (found.count(HOLDS), found.count(FAILS), found.count(OPEN)) == (n_for, n_against, n_open)
    assert found.where(HOLDS) == (f"BCCT {n_for}" if n_for else "none")


def test_fresh_draws_are_compared_by_a_paired_t_test():
    panel = panels(paper_rows("syntheticI", {PAIR[0]: 0, PAIR[1]: 0.005}), SVMS)[1]
    [[found]] = contrasts([(panel, [PAIR])])
    a, b = (panel.risk[method].mean(axis=1) for method in PAIR[::-1])
    assert found.mean.p_value == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert found.mean.difference == pytest.approx((a - b).mean())
    each = stats.ttest_rel(panel.risk[PAIR[1]], panel.risk[PAIR[0]]).pvalue
    np.testing.assert_allclose([test.p_value for test in found.at_costs], holm(each))


def test_splits_of_one_table_need_a_larger_difference():
    excess, wide = {"rejoNN": 0, "MLP-1C": 0.01}, {}
    for dataset in ("syntheticI", "letter-ah"):
        panel = panels(paper_rows(dataset, excess), excess, dataset)[1]
        [[found]] = contrasts([(panel, [("rejoNN", "MLP-1C")])])
        wide[dataset] = found.mean.high - found.mean.low
    # Nadeau and Bengio: the variance is (1 / J + n_test / n_train) s^2 and not s^2 / J.
    assert wide["letter-ah"] / wide["syntheticI"] == pytest.approx((1 + 12 * 3) ** 0.5)


@pytest.mark.parametrize(
    ("excess", "verdict"),
    [((0, 0.05, 0.05, 0.05), HOLDS), ((0, 0.05, -0.03, 0.05), FAILS), ((0, 0, 0.05, 0.05), OPEN)],
)
def test_best_of_all(excess, verdict):
    rows = paper_rows("syntheticI", dict(zip(SVMS, excess, strict=True)))
    found = judge(BEST, panels(rows, SVMS))
    assert [trial.verdict for trial in found.trials] == [verdict] * 3
    assert found.verdict == verdict


def test_the_full_range_counts():
    """Better on average, but worse at one cost: not the best over the full range."""
    for claim, methods, verdict in ((BEST, SVMS[:2], FAILS), (NETWORK, NETWORK.methods, HOLDS)):
        rows = paper_rows("syntheticI", {m: 0.05 * (i > 0) for i, m in enumerate(methods)})
        for row in rows:
            if row["method"] == methods[1] and row["reject_cost"] == 0.44:
                row["risk"] -= 0.15
        assert judge(claim, panels(rows, claim.methods)).verdict == verdict


def test_pairs_are_judged_one_by_one():
    claim = CLAIM["SVMs beat neural networks"]
    excess = {"rejoSVM/poly": 0, "rejoNN": 0.05, "SVM-1C/poly": 0.05, "MLP-1C": 0}
    found = judge(claim, panels(paper_rows("syntheticI", excess), claim.methods))
    assert [t.verdict for t in found.trials] == [HOLDS, FAILS] * 3
    assert found.verdict == MIXED


def test_a_claim_is_corrected_for_all_its_tests():
    """Where no method is better, a verdict other than "open" is a rare accident."""
    verdicts = []
    for seed in range(40):
        rows = paper_rows("syntheticI", dict.fromkeys(SVMS, 0), seed=seed, n_repetitions=6)
        verdicts.append(judge(BEST, panels(rows, SVMS)).verdict)
    assert verdicts.count(OPEN) >= 35


@pytest.mark.parametrize(
    ("crossing", "verdict"),
    [
        ({"rejoSVM/poly": 0.0, "SVM-2C/poly": 0.01}, HOLDS),
        ({"SVM-2C/poly": 0.01}, HOLDS),
        ({"rejoSVM/poly": 0.0, "SVM-2C/poly": 0.0}, OPEN),
        ({"rejoSVM/poly": 0.02, "SVM-2C/poly": 0.01}, FAILS),
        ({}, UNTESTED),
    ],
)
def test_crossing(crossing, verdict):
    claim = CLAIM["no ambiguity regions"]
    rows = paper_rows("syntheticI", {"rejoSVM/poly": 0, "SVM-2C/poly": 0}, crossing=crossing)
    assert judge(claim, panels(rows, claim.methods)).verdict == verdict


@pytest.mark.parametrize(
    ("svm", "network", "verdict"),
    [(0.05, 0.05, HOLDS), (-0.05, -0.05, HOLDS), (0.05, -0.05, FAILS), (0.05, 0.0, OPEN)],
)
def test_networks_are_alike_where_the_same_method_is_better(svm, network, verdict):
    claim = CLAIM["networks on ordered classes"]
    excess = {"rejoSVM/poly": 0, "FH-1C/poly": svm, "rejoNN": 0.1, "FH-MLP-1C": 0.1 + network}
    found = judge(claim, panels(paper_rows("syntheticIII", excess), claim.methods, "syntheticIII"))
    assert [trial.verdict for trial in found.trials] == [verdict] * 3  # one pair, three shares


def test_verdicts_by_the_ordinal_loss_use_that_loss():
    rows = paper_rows("syntheticIII", {"rejoSVM/poly": 0, "FH-1C/poly": 0.05, "FH-2C/poly": 0.05})
    for row in rows:
        row["ordinal_risk"] -= 0.1 * (row["method"] != "rejoSVM/poly")
    index, key = index_rows(rows), ("syntheticIII", "random", 0.25)
    for measure, verdict in ((RISK, HOLDS), (ORDINAL_RISK, FAILS)):
        assert judge(BEST, [make_panel(index, key, BEST.methods, measure)]).verdict == verdict


def test_a_panel_keeps_the_repetitions_that_all_methods_have():
    rows = paper_rows("syntheticI", {PAIR[0]: 0, PAIR[1]: 0.01}, n_repetitions=5)
    rows = [r for r in rows if not (r["method"] == PAIR[1] and r["repetition"] == 2)]
    panel = panels(rows[::-1], SVMS)[0]
    assert panel.n_repetitions == 4
    assert panel.methods == list(PAIR)
    first = next(r for r in rows if r["method"] == PAIR[1])
    assert panel.risk[PAIR[1]][0, 0] == first["risk"]
    np.testing.assert_allclose(panel.bayes[2], panel.costs * panel.bayes[0] + panel.bayes[1])
    apart = [r for r in rows if (r["method"] == PAIR[0]) == (r["repetition"] == 0)]
    assert panels(apart, SVMS) == []
    assert judge(BEST, []).verdict == UNTESTED
    alone = panels([r for r in rows if r["repetition"] == 0], SVMS)
    assert judge(BEST, alone).verdict == OPEN  # one repetition decides nothing
