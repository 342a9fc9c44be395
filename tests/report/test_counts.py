"""Counts against brute force; no case is lost."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from rejo.metrics import reject_confusion_matrix, wilson_interval
from rejo.report._counts import count_points, layout_of, tenth_sizes
from rejo.report._groups import MAX_ROWS, MAX_VALUES
from rejo.selection import RejectClassifierCV, expect

CONFIDENCE = 0.95
TWO = layout_of([], 2, ordered=True)


def count(point, y, layout=TWO, n_classes=2, worth=1.0):
    """The counts of one point."""
    found = count_points([point], y, layout, n_classes, worth * len(y), CONFIDENCE)
    alone = {key: found[key]["kept"][0] for key in ("forced", "left", "queue")}
    return {key: values[0] for key, values in found.items() if key not in alone} | alone


@given(
    st.integers(1, 60), st.integers(2, 5), st.floats(0, 2), st.integers(0, 99), st.integers(1, 4)
)
@settings(max_examples=60, deadline=None)
def test_tally_counts_what_a_loop_counts(make, n, n_classes, width, seed, n_folds):
    outcomes, y = make.cases(n, n_classes, costs=(0.1,), seed=seed, width=width, n_folds=n_folds)
    point = outcomes[0]
    found = count(point, y, layout_of([point], n_classes, True), n_classes)
    decided = [i for i in range(n) if point.decision[i] >= 0]
    wrong = sum(point.decision[i] != y[i] for i in decided)
    assert (found["wrong"], found["reviewed"]) == (wrong, n - len(decided))
    kinds = sum(point.forced[i] != y[i] for i in range(n) if point.decision[i] < 0)
    assert found["kinds"] == [[n - len(decided), kinds], [0, 0], [0, 0]]
    # The ranking: reviewed first, then the least sure.
    order = sorted(range(n), key=lambda i: -point.doubt[i])
    errors = [int(point.forced[i] != y[i]) for i in order]
    for i in (0, 1, 37, 50, 99, 100):
        k = int(np.floor(n * i / 100 + 0.5))
        assert found["left"][i] == sum(errors[k:])
    start = 0
    for size, cells in zip(tenth_sizes(n), found["queue"][0], strict=True):
        assert sum(cells[2::3]) == sum(errors[start : start + size])
        for k, c, number in zip(cells[::3], cells[1::3], cells[2::3], strict=True):
            here = order[start : start + size]
            assert number == sum(y[i] == k and point.forced[i] == c != k for i in here)
        start += size
    assert start == n
    expected = reject_confusion_matrix(
        y, point.decision, reject_label=-1, classes=range(n_classes), lower=point.lower
    )
    np.testing.assert_array_equal(found["matrix"], expected)


def test_a_case_costs_what_the_summary_says():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = (X[:, 0] + 1.5 * np.sin(40 * X[:, 1]) > 0).astype(np.intp)
    model = RejectClassifierCV(LogisticRegression(), cost_of="error:0=9,error:1=3,review=1")
    point = (fitted := model.fit(X, y)).outcomes_[fitted.chosen_]
    found = count_points([point], y, TWO, 2, fitted.n_effective_, CONFIDENCE)
    cells = np.reshape(found["errors"][0], (-1, 3))
    errors = (cells[:, 2] * fitted.prices_[tuple(cells[:, :2].astype(int).T)]).sum()
    cost = (errors + found["reviewed"][0]) / len(y)
    assert cost == pytest.approx(fitted.costs_.chosen.estimate, rel=1e-6)


def test_band_is_the_deviation_of_the_folds(make):
    (point,), y = make.cases(300, costs=(0.2,))
    accuracy, low, high = count(point, y)["accuracy"]
    rates = [
        (y == point.decision)[(point.fold == fold) & (point.decision >= 0)].mean()
        for fold in range(5)
    ]
    assert accuracy == pytest.approx((y == point.decision)[point.decision >= 0].mean(), abs=1e-6)
    assert high - low == pytest.approx(2 * np.std(rates), abs=2e-6)


def test_band_of_one_model_is_wilsons(make):
    (point,), y = make.cases(300, costs=(0.2,), n_folds=1)
    decided = int((point.decision >= 0).sum())
    right = int((point.decision == y).sum())
    for worth in (1.0, 0.4):
        expected = wilson_interval(right, decided, n_effective=worth * decided)
        np.testing.assert_allclose(count(point, y, worth=worth)["accuracy"], expected, atol=1e-6)


@pytest.mark.parametrize("kind", ["binary", "ordinal", "share"])
def test_counts_of_a_payload_agree_with_each_other(reports, kind):
    data = reports[kind].data
    for i, (wrong, reviewed) in enumerate(zip(data["wrong"], data["reviewed"], strict=True)):
        matrix = np.array(data["matrix"][i])
        assert matrix.sum() == data["n"]
        assert matrix[:, 1::2].sum() == reviewed
        assert matrix[:, ::2].sum() - np.trace(matrix[:, ::2]) == wrong
        total = data["histogram"]["total"]
        total = np.array(total["kept"][total["of"][i]])
        out = np.array(data["histogram"]["reviewed"][i])
        assert total.sum() == data["n"]
        np.testing.assert_array_equal(total.sum(axis=1), matrix.sum(axis=1))
        np.testing.assert_array_equal(out.sum(axis=1), matrix[:, 1::2].sum(axis=1))
        assert (out <= total).all()
        for column in data["groups"]:
            assert sum(group["n"] for group in column["groups"]) == data["n"]
            assert sum(group["reviewed"][i] for group in column["groups"]) == reviewed
            assert sum(group["wrong"][i] for group in column["groups"]) == wrong
    assert json.loads(json.dumps(data, allow_nan=False))["n"] == data["n"]


def test_one_model_shares_its_ranking_and_scores(reports):
    data = reports["share"].data
    (left,) = data["left"]["kept"]
    assert len(data["histogram"]["total"]["kept"]) == len(data["queue"]["kept"]) == 1
    for i, (wrong, reviewed) in enumerate(zip(data["wrong"], data["reviewed"], strict=True)):
        if reviewed in data["steps"]:
            assert left[data["steps"].index(reviewed)] == wrong, i


def test_ranges_are_predictions(reports):
    report = reports["binary"]
    for tally, ranges in zip(report.tallies, report.data["ranges"], strict=True):
        found = expect(
            float(tally.rejection_rate), float(tally.error_rate), report.data["size"], 1000, 0.95
        )
        for rate, shown in zip((found.error_rate, found.rejection_rate), ranges[1:3], strict=True):
            assert shown == np.floor(1000 * np.array(rate[1:]) + 0.5).tolist()
            assert shown[0] <= 1000 * rate.estimate + 0.5 <= shown[1] + 1


def test_rare_values_are_put_together(make):
    outcomes, y = make.cases(500, costs=(0.1, 0.2))
    values = np.array([f"value {i % 45:02d}" for i in range(500)], dtype=object)
    values[:100] = "common"
    (column,) = make.report(outcomes, y, by={"code": values}).data["groups"]
    groups = column["groups"]
    assert len(groups) == MAX_VALUES + 1
    assert groups[-1]["value"] == f"all {46 - MAX_VALUES} other values"
    assert sum(group["n"] for group in groups) == 500
    assert "common" in [group["value"] for group in groups]


def test_columns_without_room_are_named(make):
    outcomes, y = make.cases(200, costs=(0.1, 0.2))
    codes = np.arange(200) % 30
    report = make.report(outcomes, y, by={f"column {i}": codes for i in range(6)})
    assert sum(len(column["groups"]) for column in report.data["groups"]) <= MAX_ROWS
    assert report.left_out == ["column 3", "column 4", "column 5"]


def test_labels_with_zeros_before_them_stay_as_they_are(make):
    outcomes, y = make.cases(200, costs=(0.1, 0.2))
    branches = np.resize(["0012", "0100", "12"], 200)
    data = make.report(outcomes, y, ["007", "7"], by={"branch": branches}).data
    assert [group["value"] for group in data["groups"][0]["groups"]] == ["0012", "0100", "12"]
    assert data["classes"] == ["007", "7"]


def test_rivals_are_ranked_for_the_prices_of_the_page(reports, make):
    """Their reviews and errors are those of a loop over their cases."""
    report, prices = reports["by class"], make.prices(4)
    y = make.posterior_cases(prices=prices)[1]
    choice = make.choice(["logistic", "blend", "<b>boosting</b>"], y, 4)
    found = report.data["rivals"]
    assert [rival["name"] for rival in found] == ["logistic", "<b>boosting</b>"]
    for rival, entry in zip(found, choice.tried[::2], strict=True):
        ranked = entry.cases.at_prices(prices)
        for (reviewed, wrong, cells), cut in zip(
            rival["points"], ranked.cuts_at(np.linspace(0, 1, 21)), strict=True
        ):
            out = [i for i in range(len(y)) if ranked.doubt[i] >= cut]
            kept = set(range(len(y))) - set(out)
            assert reviewed == [sum(y[i] == k for i in out) for k in range(4)]
            assert wrong == sum(ranked.forced[i] != y[i] for i in kept)
            if wrong > 50:  # errors to expect are close to those that were counted
                assert sum(cells[2::3]) == pytest.approx(wrong, rel=0.25)


@pytest.mark.parametrize("kind", ["binary", "ordinal", "by class"])
def test_errors_by_true_and_by_decided_class(reports, texts, kind):
    report = reports[kind]
    for point in (0, report.chosen, len(report.tallies) - 1):
        shown = texts(report, point)
        matrix = np.array(report.data["matrix"][point])
        columns = np.array(report.layout.columns)
        K, review = len(matrix), report.layout.n_prices - 1
        decided = np.stack([matrix[:, columns == k].sum(axis=1) for k in range(K)], axis=1)
        for k in range(K):
            of = decided[k].sum()
            expected = f"{of - decided[k, k]:,} of {of:,}" if of else "\u2013"
            assert shown[f"row-{k}-wrong"] == expected
            of, place = decided[:, k].sum(), int(np.flatnonzero(columns == k)[0])
            expected = f"{of - decided[k, k]:,} of {of:,}" if of else "\u2013"
            assert shown[f"column-{place}-wrong"] == expected
            if (columns == review).sum() > 1:
                n = matrix[k].sum()
                assert shown[f"row-{k}-review"] == f"{n - decided[k].sum():,} of {n:,}"
            else:
                assert f"row-{k}-review" not in shown


def test_the_page_names_the_class_whose_decisions_are_most_often_wrong(make, texts):
    """One wrong decision of two is not worse than forty of a hundred."""
    y = np.repeat([0, 1, 0, 2, 0], [400, 60, 40, 1, 1])
    decision = np.repeat([0, 1, 1, 2, 2], [400, 60, 40, 1, 1])
    (point,), _ = make.cases(len(y), 3, costs=(0.2,))
    point = replace(point, doubt=np.zeros(len(y)), forced=decision)
    report = make.report([point], y, ["good", "suspect", "bad"], chosen=0, ordered=False)
    assert texts(report)["matrix-line"] == (
        "Of the decisions for “suspect”, 40.0 % are wrong (40 of 100); of all decisions, 8.2 %."
    )
    for other in (replace(point, forced=y), point.at(0.0)):  # no errors; no decisions
        report = make.report([other], y, ["good", "suspect", "bad"], chosen=0, ordered=False)
        assert "suspect" not in texts(report)["matrix-line"]
