"""The explanatory figures show what they say."""

import numpy as np
import pytest

from rejo.estimators import RejoSVC
from rejo.study import explain
from rejo.study.paper import FIGURES


def test_every_explanatory_figure_has_a_drawing():
    assert set(explain.DRAWINGS) == {f.name for f in FIGURES.values() if not f.dataset}
    with pytest.raises(ValueError, match="name must be one of SeiLa"):
        explain.explain("sketch")


@pytest.mark.parametrize("name", explain.DRAWINGS)
def test_drawings_have_panels_with_points_and_a_legend(name):
    canvas = explain.explain(name)
    assert canvas.legends
    for ax in canvas.axes:
        assert ax.get_title()
        assert any(len(c.get_offsets()) > 1 for c in ax.collections)


def test_two_classifiers_cross_and_data_replication_does_not():
    X, _, two, replicated = explain.crossing_fits()
    new = explain.draw_funnel(5000, seed=0)[0]
    assert two.crossing_mask(new).mean() > 0.01
    scores = replicated.boundary_scores(np.vstack([X, new]))
    assert (scores[:, 0] > scores[:, 1]).all()


def test_the_page_says_that_the_shown_sample_is_rare():
    crossed, as_much = explain.crossing_frequency(40)
    assert as_much < crossed < 0.5


@pytest.mark.parametrize("toy", [explain.ordinal_toy, explain.reject_toy])
def test_the_plane_is_the_machine_that_never_copies(toy):
    X, k, costs = toy()
    weights, constant = explain.fit_plane(X, k, costs)
    reject_cost = explain.COST if len(costs) == 2 else None
    model = RejoSVC(
        kernel="linear", C=explain.BIG_C, h=explain.H, reject_cost=reject_cost, tol=1e-6
    ).fit(X, k)
    floor = X @ weights[:2] + constant
    both = np.column_stack([floor, floor + weights[2] * explain.H])
    np.testing.assert_allclose(both, model.boundary_scores(X), atol=0.01)
