"""Counts against brute force; no case is lost."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rejo.metrics import reject_confusion_matrix, wilson_interval
from rejo.report import Setting
from rejo.report._collect import count_point, layout_of, tenth_sizes
from rejo.report._shared_counts import MAX_ROWS, MAX_VALUES
from rejo.selection.expected import expect

CONFIDENCE = 0.95
TWO = layout_of([], 2, ordered=True)


@given(
    st.integers(1, 60), st.integers(2, 5), st.floats(0, 2), st.integers(0, 99), st.integers(1, 4)
)
@settings(max_examples=60, deadline=None)
def test_tally_counts_what_a_loop_counts(make, n, n_classes, width, seed, n_folds):
    outcomes, y = make.cases(n, n_classes, costs=(0.1,), seed=seed, width=width, n_folds=n_folds)
    point = outcomes[0]
    found = count_point(point, y, layout_of([point], n_classes, True), n_classes, 1.0, CONFIDENCE)
    decided = [i for i in range(n) if point.decision[i] >= 0]
    assert found.right == sum(point.decision[i] == y[i] for i in decided)
    assert found.wrong == sum(point.decision[i] != y[i] for i in decided)
    assert found.right + found.wrong + found.reviewed == n
    assert found.forced_wrong == sum(point.forced[i] != y[i] for i in range(n))
    assert found.wrong + found.reviewed_wrong == found.forced_wrong
    # The ranking: reviewed first, then the least sure.
    order = sorted(range(n), key=lambda i: -point.doubt[i])
    errors = [int(point.forced[i] != y[i]) for i in order]
    for i in (0, 1, 37, 50, 99, 100):
        k = int(np.floor(n * i / 100 + 0.5))
        assert found.errors_left[i] == sum(errors[k:])
    start = 0
    for size, cells in zip(tenth_sizes(n), found.queue.wrong, strict=True):
        assert sum(cells[2::3]) == sum(errors[start : start + size])
        for k, c, count in zip(cells[::3], cells[1::3], cells[2::3], strict=True):
            here = order[start : start + size]
            assert count == sum(y[i] == k and point.forced[i] == c != k for i in here)
        start += size
    assert start == n
    expected = reject_confusion_matrix(
        y, point.decision, reject_label=-1, classes=range(n_classes), lower=point.lower
    )
    np.testing.assert_array_equal(found.matrix, expected)


def test_band_is_the_deviation_of_the_folds(make):
    (point,), y = make.cases(300, costs=(0.2,))
    accuracy, low, high = count_point(point, y, TWO, 2, 1.0, CONFIDENCE).accuracy
    rates = [
        (y == point.decision)[(point.fold == fold) & (point.decision >= 0)].mean()
        for fold in range(5)
    ]
    assert accuracy == pytest.approx((y == point.decision)[point.decision >= 0].mean())
    assert high - low == pytest.approx(2 * np.std(rates))


def test_band_of_one_model_is_wilsons(make):
    (point,), y = make.cases(300, costs=(0.2,), n_folds=1)
    found = count_point(point, y, TWO, 2, 1.0, CONFIDENCE)
    np.testing.assert_allclose(found.accuracy, wilson_interval(found.right, found.decided))
    less = count_point(point, y, TWO, 2, 0.4, CONFIDENCE)
    worth = 0.4 * found.decided
    expected = wilson_interval(found.right, found.decided, n_effective=worth)
    np.testing.assert_allclose(less.accuracy, expected)


@pytest.mark.parametrize("kind", ["binary", "ordinal", "share"])
def test_counts_of_a_payload_agree_with_each_other(reports, kind):
    report = reports[kind]
    data = report.payload()
    for i, (wrong, reviewed) in enumerate(zip(data["wrong"], data["reviewed"], strict=True)):
        matrix = np.array(data["matrix"][i])
        assert matrix.sum() == data["n"]
        assert matrix[:, 1::2].sum() == reviewed
        assert matrix[:, ::2].sum() - np.trace(matrix[:, ::2]) == wrong
        total = np.array(data["histogram"]["total"][i if kind != "share" else 0])
        out = np.array(data["histogram"]["reviewed"][i])
        assert total.sum() == data["n"]
        np.testing.assert_array_equal(total.sum(axis=1), matrix.sum(axis=1))
        np.testing.assert_array_equal(out.sum(axis=1), matrix[:, 1::2].sum(axis=1))
        assert (out <= total).all()
        for column in data["groups"]:
            assert sum(group["n"] for group in column["groups"]) == data["n"]
            assert sum(group["reviewed"][i] for group in column["groups"]) == reviewed
            assert sum(group["wrong"][i] for group in column["groups"]) == wrong
    assert json.loads(json.dumps(data, allow_nan=False))["n"] == report.n


def test_one_model_shares_its_ranking_and_scores(reports):
    data = reports["share"].payload()
    assert len(data["budget"]["curves"]) == 1
    assert len(data["histogram"]["total"]) == 1
    for i, (wrong, reviewed) in enumerate(zip(data["wrong"], data["reviewed"], strict=True)):
        if reviewed in data["budget"]["steps"]:
            step = data["budget"]["steps"].index(reviewed)
            assert data["budget"]["curves"][0][step] == wrong, i


def test_ranges_are_predictions(reports):
    report = reports["binary"]
    for tallied, ranges in zip(report.tallies, report.ranges, strict=True):
        expected = expect(
            tallied.reviewed / report.n, tallied.wrong / report.n, report.size, 1000, 0.95
        )
        assert ranges.wrong == tuple(
            np.floor(1000 * np.array(expected.error_rate[1:]) + 0.5).astype(int)
        )
        assert ranges.reviewed[0] <= 1000 * tallied.reviewed / report.n + 0.5
        assert ranges.reviewed[1] >= 1000 * tallied.reviewed / report.n - 0.5


def test_rare_values_are_put_together(make):
    outcomes, y = make.cases(500, costs=(0.1, 0.2))
    values = np.array([f"value {i % 45:02d}" for i in range(500)], dtype=object)
    values[:100] = "common"
    (column,) = make.report(outcomes, y, by={"code": values}).columns
    assert len(column.groups) == MAX_VALUES + 1
    assert column.groups[-1].value == f"all {46 - MAX_VALUES} other values"
    assert sum(group.n for group in column.groups) == 500
    assert "common" in [group.value for group in column.groups]


def test_columns_without_room_are_named(make):
    outcomes, y = make.cases(200, costs=(0.1, 0.2))
    codes = np.arange(200) % 30
    report = make.report(outcomes, y, by={f"column {i}": codes for i in range(6)})
    assert sum(len(column.groups) for column in report.columns) <= MAX_ROWS
    assert report.left_out == ["column 3", "column 4", "column 5"]


def test_rivals_are_means_over_the_folds(make):
    rows = make.rivals(["a", "b"])
    outcomes, y = make.cases(100)
    first, second = make.report(outcomes, y, rivals=rows).rivals
    assert [first.method, second.method] == ["a", "b"]
    of_first = [row for row in rows if row["method"] == "a" and row["reject_cost"] == 0.36]
    R, E = (np.mean([row[key] for row in of_first]) for key in "RE")
    assert first.curve[0] == pytest.approx((R, (1 - R - E) / (1 - R)))


def test_rival_that_decides_nothing_is_left_out(make):
    outcomes, y = make.cases(100)
    row = {"method": "shy", "reject_cost": 0.1, "fold": 0, "R": 1.0, "E": 0.0}
    assert make.report(outcomes, y, rivals=[row]).rivals == []


@pytest.mark.parametrize("kind", ["binary", "ordinal", "by class"])
def test_errors_by_true_and_by_decided_class(reports, kind):
    report = reports[kind]
    prices = report.prices
    for point in (0, report.chosen, len(report.tallies) - 1):
        texts = report.numbers(Setting(point, prices))
        matrix = np.array(report.tallies[point].matrix)
        columns = np.array(report.layout.columns)
        K, review = len(matrix), report.layout.n_prices - 1
        decided = np.stack([matrix[:, columns == k].sum(axis=1) for k in range(K)], axis=1)
        for k in range(K):
            of = decided[k].sum()
            expected = f"{of - decided[k, k]:,} of {of:,}" if of else "\u2013"
            assert texts[f"row-{k}-wrong"] == expected
            of, place = decided[:, k].sum(), int(np.flatnonzero(columns == k)[0])
            expected = f"{of - decided[k, k]:,} of {of:,}" if of else "\u2013"
            assert texts[f"column-{place}-wrong"] == expected
            if (columns == review).sum() > 1:
                n = matrix[k].sum()
                assert texts[f"row-{k}-review"] == f"{n - decided[k].sum():,} of {n:,}"
            else:
                assert f"row-{k}-review" not in texts


def test_the_page_names_the_class_whose_decisions_are_most_often_wrong(make):
    """One wrong decision of two is not worse than forty of a hundred."""
    y = np.repeat([0, 1, 0, 2, 0], [400, 60, 40, 1, 1])
    decision = np.repeat([0, 1, 1, 2, 2], [400, 60, 40, 1, 1])
    (point,), _ = make.cases(len(y), 3, costs=(0.2,))
    point = replace(point, doubt=np.zeros(len(y)), forced=decision)
    report = make.report([point], y, ["good", "suspect", "bad"], chosen=0, ordered=False)
    line = report.numbers(report.setting)["matrix-line"]
    assert line.replace("\u2068", "").replace("\u2069", "") == (
        "Of the decisions for “suspect”, 40.0\u00a0% are wrong (40 of 100); of all decisions, "
        "8.2\u00a0%."
    )
    right = replace(point, forced=y)
    report = make.report([right], y, ["good", "suspect", "bad"], chosen=0, ordered=False)
    assert report.numbers(report.setting)["matrix-line"].startswith("No decision is wrong")
    nothing = point.at(0.0)
    report = make.report([nothing], y, ["good", "suspect", "bad"], chosen=0, ordered=False)
    assert report.numbers(report.setting)["matrix-line"] == "Nothing is decided."
