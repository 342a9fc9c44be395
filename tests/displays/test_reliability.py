"""Posteriors against what happened: the display shows the table."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoLinear, RejoSVC
from rejo.datasets import make_synthetic_2, make_synthetic_4
from rejo.displays import ReliabilityDisplay
from rejo.metrics import reliability_table


def test_the_table_is_drawn(legend_texts):
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = np.where(rng.random(300) < p, "sick", "healthy")
    display = ReliabilityDisplay.from_predictions(y, p, label="sick", n_bins=5, name="net")
    table = reliability_table(y, p, label="sick", n_bins=5)
    np.testing.assert_array_equal(display.line_.get_xdata(), table.predicted)
    np.testing.assert_array_equal(display.line_.get_ydata(), table.observed)
    assert display.table.error == table.error
    assert legend_texts(display) == ["net", "reliable", "95 % interval"]
    assert display.ax_.get_xlabel() == "posterior of class sick"


@pytest.mark.parametrize("draw", [make_synthetic_2, make_synthetic_4])
def test_any_classifier_with_posteriors(draw, legend_texts):
    X, y = draw(200, random_state=0)
    ours = make_pipeline(StandardScaler(), RejoLinear(reject_cost=None)).fit(X, y)
    first = ReliabilityDisplay.from_estimator(ours, X, y[:, None], bins="width", n_bins=4)
    expected = reliability_table(
        y, ours.predict_proba(X), classes=ours.classes_, bins="width", n_bins=4
    )
    np.testing.assert_allclose(first.table.observed, expected.observed)
    assert first.ax_.get_xlabel() == "posterior of the likeliest class"
    plain = LogisticRegression().fit(X, y)
    second = ReliabilityDisplay.from_estimator(plain, X, y, ax=first.ax_)
    names = ["RejoLinear", "LogisticRegression", "reliable", "95 % interval"]
    assert legend_texts(second) == names


def test_without_posteriors_there_is_nothing_to_show():
    X, y = make_synthetic_2(50, random_state=0)
    with pytest.raises(TypeError, match="RejoSVC"):
        ReliabilityDisplay.from_estimator(RejoSVC().fit(X, y), X, y)
