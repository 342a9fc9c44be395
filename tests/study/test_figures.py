"""The curves show the rows."""

import numpy as np
import pytest

from rejo.datasets import bayes_rates, make_synthetic_3
from rejo.replication import loss_from_costs, replica_costs
from rejo.study.figures import (
    LeakRow,
    accuracy_reject_figure,
    both_risks_figure,
    leak_figure,
    render,
    risk_difference_figure,
)
from rejo.study.panels import ORDINAL_RISK, RISK, index_rows, make_panel
from rejo.study.paper import FIGURES

FIGURE = FIGURES["syntheticI-svm"]
METHODS = (*FIGURE.methods, *FIGURE.beside)


@pytest.fixture
def panels(rows_of):
    def make(figure=FIGURE, split="random", measure=RISK, **options):
        methods = (*figure.methods, *figure.beside)
        excess = {method: 0.005 * i for i, method in enumerate(methods)}
        indexed = index_rows(rows_of(figure.dataset, excess, split=split, **options))
        key = figure.dataset, split
        return [make_panel(indexed, *key, s, methods, measure) for s in figure.shares]

    return make


def lines(ax):
    return {line.get_label(): line for line in ax.lines}


def test_curves_are_means_and_rejections_count_as_right(panels):
    made = panels()
    canvas = accuracy_reject_figure(FIGURE, made)
    assert len(canvas.axes) == 3
    assert "rejections count as right" in canvas.axes[0].get_ylabel()
    for ax, panel in zip(canvas.axes, made, strict=True):
        line = lines(ax)["SVM-2C"]
        np.testing.assert_allclose(line.get_xdata(), panel.R["SVM-2C/poly"].mean(axis=0))
        np.testing.assert_allclose(line.get_ydata(), 1 - panel.E["SVM-2C/poly"].mean(axis=0))
        best = lines(ax)["best possible (Bayes)"]
        expected = [1 - bayes_rates("synthetic_1", w).error_rate for w in panel.costs]
        np.testing.assert_allclose(best.get_ydata(), expected)
        assert len(ax.collections) == len(METHODS)  # bands


def test_every_method_can_be_told_from_the_others(panels):
    drawn = lines(accuracy_reject_figure(FIGURE, panels()).axes[0])
    for look in ("get_color", "get_linestyle", "get_marker"):
        values = [str(getattr(line, look)()) for name, line in drawn.items() if "Bayes" not in name]
        if look != "get_linestyle":  # which calls all dashes the same
            assert len(set(values)) == len(METHODS)


def test_real_data_have_no_bayes_curve(panels):
    figure = FIGURES["letter-ah-nn"]
    canvas = accuracy_reject_figure(figure, panels(figure))
    assert set(lines(canvas.axes[0])) == {"rejoNN", "MLP-1C", "MLP-2C"}


def test_the_split_by_patient_is_named(panels):
    figure = FIGURES["bcct-svm"]
    title = accuracy_reject_figure(figure, panels(figure, "group")).get_suptitle()
    assert "by patient" in title
    assert "12 repetitions" in title


def test_a_single_repetition_has_no_band(panels):
    canvas = accuracy_reject_figure(FIGURE, panels(n_repetitions=1))
    assert not canvas.axes[0].collections
    assert "1 repetition" in canvas.get_suptitle()
    risk_difference_figure(FIGURE, panels(n_repetitions=1))


def test_differences_are_those_of_the_risk(panels):
    made = panels()
    canvas = risk_difference_figure(FIGURE, made)
    panel, ax = made[2], canvas.axes[2]
    wanted = (panel.risk["Fumera/poly"] - panel.risk["rejoSVM/poly"]).mean(axis=0)
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == len(wanted)]
    assert any(np.allclose(y, 1000 * wanted) for y in drawn)
    low, high = ax.get_ylim()
    assert low < 1000 * wanted.min() < 1000 * wanted.max() < high


@pytest.mark.parametrize("name", ["syntheticIII-svm", "bcct-nn"])
def test_both_risks_are_shares_of_reviewing_everything(panels, name):
    figure = FIGURES[name]
    made, ordinal = panels(figure), panels(figure, measure=ORDINAL_RISK)
    axes = both_risks_figure(figure, made, ordinal).axes
    assert len(axes) == 6
    method = figure.methods[1]
    for ax, panel in zip(axes, made + ordinal, strict=True):
        assert lines(ax)["reject everything"].get_ydata() == [1, 1]
        expected = panel.risk[method].mean(axis=0) / panel.review_all
        np.testing.assert_allclose(lines(ax)[method.partition("/")[0]].get_ydata(), expected)
    for panel in made:
        np.testing.assert_array_equal(panel.review_all, panel.costs)


def test_reviewing_everything_by_the_ordinal_loss(panels):
    """The best of the four places between five classes, by brute force over a sample of them."""
    [panel, *_] = panels(FIGURES["syntheticIII-svm"], measure=ORDINAL_RISK)
    y = make_synthetic_3(20_000, random_state=1)[1] - 1
    for w, found in zip(panel.costs, panel.review_all, strict=True):
        loss = loss_from_costs(replica_costs(5, w))
        assert found == pytest.approx(min(loss[y, o].mean() for o in (1, 3, 5, 7)), rel=0.03)
        assert found > w  # which is what a person would cost
    assert panel.bayes is None  # the best possible is known for the other risk only


def test_no_panels_is_an_error():
    with pytest.raises(ValueError, match="no rows for the figure 'syntheticI-svm'"):
        accuracy_reject_figure(FIGURE, [])


def test_files_are_the_same_whenever_they_are_drawn(panels):
    made = panels(shares=(0.25,))[1:2]
    files = {
        kind: [render(accuracy_reject_figure(FIGURE, made), kind) for _ in range(2)]
        for kind in ("svg", "png")
    }
    for first, second in files.values():
        assert first == second
    assert files["png"][0].startswith(b"\x89PNG")
    assert b"<svg" in files["svg"][0]


def test_the_leak_has_a_pair_of_marks_for_each_method():
    rows = [
        LeakRow("bcct", share, method, 0.1, 0.2)
        for share in (0.05, 0.4)
        for method in ("rejoSVM/poly", "FH-2C/poly")
    ]
    canvas = leak_figure(rows)
    assert len(canvas.axes) == 2
    names = [label.get_text() for label in canvas.axes[0].get_yticklabels()]
    assert names == ["BCCT: rejoSVM", "BCCT: FH-2C"]
    marks = [len(c.get_offsets()) for c in canvas.axes[0].collections if len(c.get_offsets()) > 1]
    assert marks == [2, 2]
