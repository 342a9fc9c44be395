"""Curves from rows, from decisions and by hand: the arrays that are drawn are the right ones."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, compare
from rejo.datasets import make_synthetic_2
from rejo.displays import AccuracyRejectDisplay, Curve, RiskCurveDisplay
from rejo.metrics import accuracy_reject_curve

COSTS = (0.1, 0.2, 0.4)
FOLDS = 3


def make_rows(methods=("svm", "net"), folds=FOLDS):
    """Rows as of an experiment; R falls as the cost grows."""
    rng = np.random.RandomState(0)
    rows = []
    for method in methods:
        for cost in COSTS:
            for fold in range(folds):
                R, E = 0.5 - cost + 0.05 * rng.rand(), 0.2 * cost + 0.02 * rng.rand()
                rows.append(
                    {
                        "method": method,
                        "reject_cost": cost,
                        "fold": fold,
                        "R": R,
                        "E": E,
                        "risk": cost * R + E,
                        "accepted_accuracy": 1 - E / (1 - R),
                    }
                )
    return rows


def means(rows, method, column):
    """Mean over the folds at each cost, (n_costs,)."""
    frame = pd.DataFrame(rows)
    return frame[frame["method"] == method].groupby("reject_cost")[column].mean().to_numpy()


def bands(display):
    """Lower and upper edge of each band, from the polygons that are drawn."""
    edges = []
    for polygon in display.ax_.collections:
        x, y = polygon.get_paths()[0].vertices.T
        places = np.unique(x)
        edges.append([(y[x == at].min(), y[x == at].max()) for at in places])
    return np.array(edges)  # (n_curves, n_points, 2)


@pytest.mark.parametrize("table", [list, pd.DataFrame, lambda rows: rows[::-1]])
def test_accuracy_of_the_accepted_from_rows(table):
    rows = make_rows()
    display = AccuracyRejectDisplay.from_rows(table(rows))
    assert {curve.name for curve in display.curves} == {"svm", "net"}
    for curve, line in zip(display.curves, display.lines_, strict=True):
        # R falls with the cost, and the curve runs in the order of R.
        np.testing.assert_allclose(curve.x, means(rows, curve.name, "R")[::-1])
        np.testing.assert_allclose(curve.y, means(rows, curve.name, "accepted_accuracy")[::-1])
        np.testing.assert_array_equal(line.get_xdata(), curve.x)
        np.testing.assert_array_equal(line.get_ydata(), curve.y)
    assert display.ax_.get_ylabel() == "accuracy on the accepted points"
    assert display.figure_ is display.ax_.figure


def test_overall_accuracy_from_rows():
    rows = make_rows()
    display = AccuracyRejectDisplay.from_rows(rows, accuracy="overall")
    for curve in display.curves:
        np.testing.assert_allclose(curve.y, 1 - means(rows, curve.name, "E")[::-1])
    assert display.ax_.get_ylabel().startswith("overall accuracy")


def test_risk_from_rows():
    rows = make_rows()
    display = RiskCurveDisplay.from_rows(rows)
    assert [curve.name for curve in display.curves] == ["svm", "net"]
    for curve, line in zip(display.curves, display.lines_, strict=True):
        np.testing.assert_array_equal(curve.x, COSTS)
        np.testing.assert_allclose(curve.y, means(rows, curve.name, "risk"))
        np.testing.assert_array_equal(line.get_xydata(), np.column_stack([curve.x, curve.y]))


def test_the_bands_are_deviations_or_quantiles(legend_texts):
    rows = make_rows(["svm"])
    groups = pd.DataFrame(rows).groupby("reject_cost")["risk"]
    display = RiskCurveDisplay.from_rows(rows)
    edges = np.column_stack([groups.mean() - groups.std(), groups.mean() + groups.std()])
    np.testing.assert_allclose(bands(display)[0], edges)
    assert legend_texts(display)[-1] == "± 1 standard deviation\nof 3 runs"

    display = RiskCurveDisplay.from_rows(rows, band="quantiles")
    edges = np.column_stack([groups.quantile(0.05), groups.quantile(0.95)])
    np.testing.assert_allclose(bands(display)[0], edges)
    assert legend_texts(display)[-1] == "5% to 95% of 3 runs"

    display = RiskCurveDisplay.from_rows(rows, band=None)
    assert len(display.ax_.collections) == 0
    assert legend_texts(display) == ["svm", "reject everything"]


@pytest.mark.parametrize("accuracy", ["accepted", "overall"])
def test_the_band_compares_runs_at_the_same_rejection_rate(accuracy):
    """Two runs on one straight line, at different places: no spread. A third lies 0.1 below."""
    rows = [
        {"method": "a", "reject_cost": cost, "fold": fold, "R": R, "accepted_accuracy": 0.8 + R / 5}
        for fold, shift in enumerate([0, 0.1])
        for cost, R in ((0.1, 0.6 + shift), (0.2, 0.3 + shift), (0.3, 0.0 + shift))
    ]
    for row in rows:
        row["E"] = 0.2 - row["R"] / 5
    (curve,) = AccuracyRejectDisplay.from_rows(rows, accuracy).curves
    np.testing.assert_allclose(curve.x, [0.05, 0.35, 0.65])
    np.testing.assert_allclose(curve.y, 0.8 + curve.x / 5)
    # Below R = 0.1 there is but one run, and above 0.6 too.
    np.testing.assert_allclose(curve.low, [np.nan, curve.y[1], np.nan])

    third = [{**r, "fold": 2, "E": r["E"] + 0.1} for r in rows if r["fold"] == 1]
    for row in third:
        row["accepted_accuracy"] -= 0.1
    (curve,) = AccuracyRejectDisplay.from_rows(rows + third, accuracy).curves
    middle = np.argmin(np.abs(curve.x - 0.37))
    spread = np.std([0, 0, 0.1], ddof=1)
    assert curve.high[middle] - curve.y[middle] == pytest.approx(spread)
    assert curve.y[middle] - curve.low[middle] == pytest.approx(spread)


def test_a_band_stays_between_0_and_1():
    rows = [{"method": "a", "reject_cost": 0.1, "fold": i, "risk": i / 2} for i in range(3)]
    (curve,) = RiskCurveDisplay.from_rows(rows).curves
    assert (curve.low, curve.high) == (0, 1)


def test_one_run_has_no_band(legend_texts):
    rows = make_rows(folds=1)
    for row in rows:
        del row["fold"]
    display = AccuracyRejectDisplay.from_rows(rows)
    assert all(curve.low is None for curve in display.curves)
    assert legend_texts(display) == ["svm", "net"]


def test_runs_that_accept_nothing_have_no_accuracy():
    rows = make_rows(["svm"])
    for row in rows:
        if row["reject_cost"] == 0.1 or (row["reject_cost"] == 0.2 and row["fold"] == 0):
            row["accepted_accuracy"] = np.nan
    (curve,) = AccuracyRejectDisplay.from_rows(rows).curves
    accuracy = [r["accepted_accuracy"] for r in rows if r["reject_cost"] == 0.2][1:]
    assert len(curve.x) == 2
    assert curve.y[1] == pytest.approx(np.mean(accuracy))


def test_a_method_that_never_accepts_has_a_name_and_no_points(legend_texts):
    rows = [{**row, "R": 1, "E": 0, "accepted_accuracy": None} for row in make_rows(["shy"])]
    display = AccuracyRejectDisplay.from_rows(rows)
    assert len(display.curves[0].x) == 0
    assert legend_texts(display) == ["shy"]


def test_a_curve_by_ranking(legend_texts):
    y_true, y_pred = [0, 1, 1, 0, 1], [0, 1, 0, 1, 1]
    sureness = [0.9, 0.8, 0.7, 0.5, 0.5]
    display = AccuracyRejectDisplay.from_predictions(y_true, y_pred, sureness, name="net")
    (curve,) = display.curves
    np.testing.assert_allclose(curve.x, [0, 0.4, 0.6, 0.8])
    np.testing.assert_allclose(curve.y, [3 / 5, 2 / 3, 1, 1])
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), curve.x)
    assert legend_texts(display) == ["net"]
    assert display.ax_.get_legend().get_title().get_text() == "traced by ranking"

    display = AccuracyRejectDisplay.from_predictions(y_true, y_pred, sureness, "overall")
    np.testing.assert_allclose(display.curves[0].x, [0, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(display.curves[0].y, [3 / 5, 4 / 5, 1, 1, 1])


def test_a_bootstrap_band_holds_the_curve(legend_texts):
    rng = np.random.default_rng(0)
    sureness = rng.uniform(0.5, 1, size=200)
    y_true = rng.integers(2, size=200)
    y_pred = np.where(rng.random(200) < sureness, y_true, 1 - y_true)
    display = AccuracyRejectDisplay.from_predictions(
        y_true[:, None], y_pred, sureness, n_resamples=30, random_state=0
    )
    (curve,) = display.curves
    half = curve.x < 0.5
    assert np.all(curve.low[half] <= curve.y[half])
    assert np.all(curve.y[half] <= curve.high[half])
    assert np.all(curve.high - curve.low < 0.5)
    assert legend_texts(display)[-1] == "5% to 95% of 30\nbootstrap samples"


def test_the_ranking_of_an_estimator():
    X, y = make_synthetic_2(100, random_state=0)
    model = make_pipeline(StandardScaler(), RejoLinear(reject_cost=0.2)).fit(X, y)
    (curve,) = AccuracyRejectDisplay.from_estimator(model, X, y, "overall").curves
    linear, Z = model[-1], model[0].transform(X)
    expected = accuracy_reject_curve(
        y, linear.predict_forced(Z), linear.judge(Z).sureness, accuracy="overall"
    )
    np.testing.assert_array_equal(curve.x, expected.rejection_rate)
    np.testing.assert_array_equal(curve.y, expected.accuracy)
    assert curve.name == "RejoLinear"


def test_two_kinds_in_one_picture_can_be_told_apart(legend_texts):
    display = AccuracyRejectDisplay.from_rows(make_rows(["svm"]), band=None)
    assert display.ax_.get_legend().get_title().get_text() == "traced by refitting"
    ranked = AccuracyRejectDisplay.from_predictions(
        [0, 1, 1], [0, 1, 0], [0.9, 0.8, 0.7], name="net", ax=display.ax_
    )
    assert legend_texts(ranked) == ["svm,\nby refitting", "net,\nby ranking"]
    assert display.lines_[0].get_marker() != "None"
    assert ranked.lines_[0].get_marker() == "None"
    assert display.lines_[0].get_color() != ranked.lines_[0].get_color()


def test_ten_curves_differ_in_more_than_their_colour():
    curves = [Curve(f"method {i}", np.arange(3), np.arange(3) + i) for i in range(10)]
    display = AccuracyRejectDisplay(curves=curves).plot()
    assert len({line.get_marker() for line in display.lines_}) == 10
    assert not display.lines_[0].is_dashed()
    assert all(line.is_dashed() for line in display.lines_[1:5])


def test_a_long_name_is_broken_into_lines(legend_texts):
    name = "a method with a name that would take half of the picture"
    display = RiskCurveDisplay(curves=[Curve(name, np.arange(2), np.arange(2))]).plot()
    assert max(map(len, legend_texts(display)[0].split("\n"))) <= 30
    assert legend_texts(display)[0].replace("\n", " ") == name


def test_the_bayes_curve_is_drawn_as_given(legend_texts):
    R, accuracy = [0.0, 0.2], [0.9, 0.95]
    display = AccuracyRejectDisplay.from_rows(make_rows(), bayes=(R, accuracy))
    line = display.ax_.lines[-1]
    np.testing.assert_array_equal(line.get_xydata(), np.column_stack([R, accuracy]))
    assert "best possible (Bayes)" in legend_texts(display)

    display = RiskCurveDisplay.from_rows(make_rows(), bayes=([0.1, 0.4], [0.02, 0.05]))
    drawn = [line.get_xydata().tolist() for line in display.ax_.lines[:-1]]
    assert [[0.1, 0.02], [0.4, 0.05]] in drawn


def test_the_operating_point_lies_on_the_curves(legend_texts):
    display = RiskCurveDisplay.from_rows(make_rows(), operating_point=0.3)
    rings = display.ax_.lines[-1]
    np.testing.assert_array_equal(rings.get_xdata(), [0.3, 0.3])
    np.testing.assert_allclose(rings.get_ydata(), [c.y[1:].mean() for c in display.curves])
    assert "operating point, $w_r$ = 0.3" in legend_texts(display)


def test_axes_grow_with_a_second_display():
    first = RiskCurveDisplay(curves=[Curve("low", np.array([0.1, 0.2]), np.array([0.1, 0.1]))])
    second = RiskCurveDisplay(curves=[Curve("high", np.array([0.1, 0.4]), np.array([0.3, 0.3]))])
    ax = first.plot().ax_
    second.plot(ax=ax)
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert ax.get_xlim()[1] > 0.4
    assert ax.get_ylim()[1] > 0.3
    # Rejecting everything leaves the limits to the curves.
    assert ax.get_ylim()[1] < 0.35


def test_axes_are_in_percent():
    display = AccuracyRejectDisplay.from_rows(make_rows())
    assert display.ax_.xaxis.get_major_formatter()(0.25, 0) == "25%"
    assert display.ax_.yaxis.get_major_formatter()(0.9975, 0) == "99.75%"


def test_rows_of_a_comparison():
    X, y = make_synthetic_2(80, random_state=0)
    result = compare([RejoLinear()], X, y, reject_costs=[0.1, 0.3], cv=2, verbose=False)
    (curve,) = RiskCurveDisplay.from_rows(result.rows).curves
    np.testing.assert_allclose(curve.y, result.mean()[curve.name])


def without(column):
    return [{k: v for k, v in row.items() if k != column} for row in make_rows()]


def changed(column, value):
    return [{**row, column: value} for row in make_rows()]


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([], ValueError, "rows"),
        ([("svm", 0.1)], TypeError, "rows"),
        (without("R"), ValueError, "rows"),
        (without("fold"), ValueError, "two rows for method='svm', reject_cost=0.1, fold=None"),
        (make_rows() * 2, ValueError, "two rows for .* fold=0; choose the rows of one experiment"),
        (changed("reject_cost", None), ValueError, "reject_cost"),
        (changed("R", np.nan), ValueError, "^R "),
        (changed("R", "a"), TypeError, "^R "),
    ],
)
def test_wrong_rows_are_named(rows, error, message):
    with pytest.raises(error, match=message):
        AccuracyRejectDisplay.from_rows(rows)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"accuracy": "all"}, ValueError, "accuracy"),
        ({"band": "sd"}, ValueError, "band"),
        ({"bayes": 1}, ValueError, "bayes"),
        ({"bayes": ([1], [1, 2])}, ValueError, r"of equal length, got \(1,\) and \(2,\)"),
        ({"ax": "figure"}, TypeError, "ax"),
    ],
)
def test_wrong_options_are_named(options, error, message):
    with pytest.raises(error, match=message):
        AccuracyRejectDisplay.from_rows(make_rows(), **options)


@pytest.mark.parametrize(("cost", "error"), [(0.5, ValueError), ("0.2", TypeError)])
def test_a_wrong_operating_point_is_named(cost, error):
    with pytest.raises(error, match="operating_point"):
        RiskCurveDisplay.from_rows(make_rows(), operating_point=cost)


@pytest.mark.parametrize(
    ("curves", "error", "message"),
    [
        ([], ValueError, "curves"),
        ([("a", [0], [1])], TypeError, "curves"),
        ([Curve("a", [0, 1], [1])], ValueError, "the arrays of curve 'a' must be"),
    ],
)
def test_wrong_curves_are_named(curves, error, message):
    with pytest.raises(error, match=message):
        RiskCurveDisplay(curves=curves).plot()


def test_an_unknown_classifier_is_sent_to_from_predictions():
    scaler = StandardScaler().fit([[0.0], [1.0]])
    with pytest.raises(TypeError, match=r"got StandardScaler; .* use from_predictions"):
        AccuracyRejectDisplay.from_estimator(scaler, [[0.0]], [0])


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in (AccuracyRejectDisplay, RiskCurveDisplay):
        with pytest.raises(ImportError, match=rf'{display.__name__} needs .* "rejo\[plot\]"'):
            display.from_rows(make_rows())
