"""The picture of the reject region: what it stores, what it draws, what it refuses."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import RejoSVC
from rejo.baselines import ThresholdRejectClassifier
from rejo.datasets import make_synthetic_3
from rejo.displays import RejectRegionDisplay
from rejo.replication import decode

X = np.random.RandomState(0).uniform(size=(60, 2))
GRADES = np.array(["poor", "fair", "good", "excellent"])
GREY = mpl.colors.to_rgba("0.88")


class Strips(ClassifierMixin, BaseEstimator):
    """Scores x0 - threshold: vertical strips from left to right, class and reject in turn."""

    def __init__(self, thresholds=(0.4, 0.6)):
        self.thresholds = thresholds

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.names_ = list(getattr(X, "columns", []))
        return self

    def predict(self, X):
        return self.classes_[np.zeros(len(X), dtype=int)]

    def boundary_scores(self, X):
        assert list(getattr(X, "columns", [])) == self.names_
        return np.asarray(X)[:, :1] - np.array(self.thresholds)


class Ordered(Strips):
    """The same, with the classes in the order of the grades."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_ = GRADES
        return self


class Stripes(Strips):
    """Decides without scores: left, right, and a rejection at the top."""

    boundary_scores = property()  # hasattr is False

    def predict(self, X):
        self.reject_label_ = 99
        sides = self.classes_[(np.asarray(X)[:, 0] > 0.5).astype(int)]
        return np.where(np.asarray(X)[:, 1] > 0.7, self.reject_label_, sides)


def binary_labels(X):
    return np.where(X[:, 0] > 0.5, 1, -1)


def grade_labels(X):
    return GRADES[(4 * X[:, 0]).astype(int)]


def colour_at(display, x0, x1):
    """Colour of the picture at a point of the data, without points and edges."""
    figure = display.figure_
    for artist in (*display.ax_.lines, *display.ax_.collections):
        if artist.get_zorder() >= 1:
            artist.remove()
        else:
            artist.hatches = [None]
    figure.canvas.draw()
    column, row = display.ax_.transData.transform((x0, x1))
    image = np.asarray(figure.canvas.buffer_rgba()) / 255
    return image[len(image) - 1 - round(row), round(column)]


def test_binary_picture():
    y = binary_labels(X)
    display = RejectRegionDisplay.from_estimator(
        Strips().fit(X, y), X, y, grid_resolution=50, eps=0.1
    )
    assert display.xx0.shape == display.xx1.shape == (50, 50)
    assert display.scores.shape == (50, 50, 2)
    span = np.ptp(X, axis=0)
    assert display.xx0.min() == pytest.approx(X[:, 0].min() - 0.1 * span[0])
    assert display.xx1.max() == pytest.approx(X[:, 1].max() + 0.1 * span[1])
    np.testing.assert_array_equal(
        display.regions_, np.digitize(display.xx0, [0.4, 0.6], right=True)
    )
    assert display.figure_ is display.ax_.figure

    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["-1", "1", "review"]
    assert display.ax_.get_xlabel() == "x1"
    assert display.ax_.get_ylabel() == "x2"


def test_regions_are_painted_where_they_are():
    display = RejectRegionDisplay.from_estimator(Strips().fit(X, binary_labels(X)), X)
    left, middle, right = (colour_at(display, x0, 0.5) for x0 in (0.2, 0.5, 0.8))
    assert left[2] > left[0]  # bluish
    np.testing.assert_allclose(middle, GREY, atol=0.02)
    assert right[0] > right[2]  # reddish


def test_all_reject_regions_of_ordered_classes():
    y = grade_labels(X)
    thresholds = (0.2, 0.3, 0.45, 0.55, 0.7, 0.8)
    display = RejectRegionDisplay.from_estimator(Ordered(thresholds).fit(X, y), X, y)
    assert set(np.unique(display.regions_)) == set(range(7))
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == [*GRADES, "review"]
    hatched = [c for c in display.ax_.collections if any(getattr(c, "hatches", None) or [])]
    assert len(hatched) == 3
    strips = [0.1, 0.25, 0.375, 0.5, 0.62, 0.75, 0.9]
    colours = np.array([colour_at(display, x0, 0.5) for x0 in strips])
    for k in (1, 3, 5):
        np.testing.assert_allclose(colours[k], GREY, atol=0.02)
    assert len(np.unique(colours[::2].round(2), axis=0)) == 4


def test_without_rejection_nothing_is_hatched():
    y = grade_labels(X)
    display = RejectRegionDisplay.from_estimator(Ordered((0.25, 0.5, 0.75)).fit(X, y), X, y)
    assert set(np.unique(display.regions_)) == set(range(4))
    assert not any(any(getattr(c, "hatches", None) or []) for c in display.ax_.collections)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == list(GRADES)


def test_the_points_are_drawn_by_class():
    y = binary_labels(X)
    display = RejectRegionDisplay.from_estimator(Strips().fit(X, y), X, y)
    points = [c.get_offsets() for c in display.ax_.collections if c.get_zorder() == 2]
    for label, drawn in zip((-1, 1), points, strict=True):
        np.testing.assert_allclose(drawn, X[y == label])


def test_without_points_the_legend_shows_areas(legend_texts):
    y = grade_labels(X)
    model = Ordered((0.2, 0.3, 0.45, 0.55, 0.7, 0.8)).fit(X, y)
    displays = [
        RejectRegionDisplay.from_estimator(model, X, y, points=False),
        RejectRegionDisplay.from_estimator(model, X),  # points, but not in colours of classes
    ]
    for display, drawn in zip(displays, (0, 1), strict=True):
        assert len([c for c in display.ax_.collections if c.get_zorder() == 2]) == drawn
        assert legend_texts(display) == [*GRADES, "review"]
        handles = display.ax_.get_legend().legend_handles[:4]
        for handle, x0 in zip(handles, (0.1, 0.4, 0.6, 0.9), strict=True):
            shown = colour_at(display, x0, 0.5)
            np.testing.assert_allclose(handle.get_facecolor(), shown, atol=0.01)
    np.testing.assert_array_equal(displays[0].xx0, displays[1].xx0)


def test_neighbouring_classes_have_different_areas():
    """By a fifteenth of a colour channel at least, for as many as five classes."""
    for n_classes in range(2, 6):
        steps = np.arange(n_classes)
        display = RejectRegionDisplay(
            xx0=np.tile(steps, (2, 1)),
            xx1=np.tile(np.arange(2)[:, None], (1, n_classes)),
            classes=steps,
            decisions=np.tile(steps, (2, 1)),
        ).plot()
        tints = [handle.get_facecolor() for handle in display.ax_.get_legend().legend_handles]
        assert np.abs(np.diff(tints, axis=0)).max(axis=1).min() > 1 / 15


def test_a_region_that_the_grid_does_not_reach_is_left_out():
    """All scores of one sign draw no line, and warn of nothing."""
    y = binary_labels(X)
    for thresholds, region in (((5, 6), 0), ((-6, -5), 2), ((-5, 5), 1)):
        display = RejectRegionDisplay.from_estimator(Strips(thresholds).fit(X, y), X, y)
        assert set(np.unique(display.regions_)) == {region}
        edges = [c for c in display.ax_.collections if c.get_zorder() == 1]
        assert not any(len(path.vertices) for edge in edges for path in edge.get_paths())


def test_crossed_scores_count_as_sorted_ones():
    y = binary_labels(X)
    display = RejectRegionDisplay.from_estimator(Strips((0.6, 0.4)).fit(X, y), X, y)
    np.testing.assert_allclose(colour_at(display, 0.5, 0.5), GREY, atol=0.02)
    assert colour_at(display, 0.8, 0.5)[0] > colour_at(display, 0.8, 0.5)[2]


def test_a_data_frame_names_the_axes():
    frame = pd.DataFrame(X, columns=["income", "debt"])
    y = binary_labels(X)
    classifier = Strips().fit(frame, y)
    display = RejectRegionDisplay.from_estimator(classifier, frame, pd.Series(y, dtype="category"))
    assert display.ax_.get_xlabel() == "income"
    assert display.ax_.get_ylabel() == "debt"
    display = RejectRegionDisplay.from_estimator(classifier, frame, xlabel="a", ylabel="")
    assert display.ax_.get_xlabel() == "a"
    assert display.ax_.get_ylabel() == ""


def test_plot_again_in_given_axes():
    y = binary_labels(X)
    display = RejectRegionDisplay.from_estimator(Strips().fit(X, y), X, y)
    _, ax = plt.subplots()
    assert display.plot(ax=ax) is display
    assert display.ax_ is ax
    assert ax.get_legend() is not None


@pytest.mark.parametrize(
    "wrap",
    [
        lambda strips: make_pipeline(StandardScaler(), strips),
        lambda strips: make_pipeline(strips),
        lambda strips: GridSearchCV(
            make_pipeline(StandardScaler(), strips), {"strips__thresholds": [(-0.5, 0.5)]}, cv=2
        ),
    ],
    ids=["scaled", "alone", "searched"],
)
def test_pipelines_and_searches(wrap):
    y = binary_labels(X)
    model = wrap(Strips((-0.5, 0.5))).fit(X, y)
    display = RejectRegionDisplay.from_estimator(model, X, y)
    pipeline = getattr(model, "best_estimator_", model)
    x0 = display.xx0
    if len(pipeline) > 1:
        x0 = (x0 - X[:, 0].mean()) / X[:, 0].std()
    np.testing.assert_array_equal(display.regions_, np.digitize(x0, [-0.5, 0.5], right=True))


def test_a_constant_feature_still_has_an_area():
    flat = np.column_stack([X[:, 0], np.ones(len(X))])
    display = RejectRegionDisplay.from_estimator(Strips().fit(flat, binary_labels(X)), flat)
    assert np.ptp(display.xx1) > 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"X": np.ones((4, 3))}, ValueError, "^X "),
        ({"X": [[0, np.nan]]}, ValueError, "X contains"),
        ({"y": [1, -1]}, ValueError, "^y "),
        ({"y": np.full(60, 7)}, ValueError, "^y "),
        ({"grid_resolution": 1}, ValueError, "grid_resolution"),
        ({"grid_resolution": 10.5}, TypeError, "grid_resolution"),
        ({"ax": plt}, TypeError, "ax"),
        ({"eps": -1}, ValueError, "eps"),
        ({"eps": "1"}, TypeError, "eps"),
        (
            {"estimator": StandardScaler().fit(X)},
            TypeError,
            "must be a classifier, .*Scaler",
        ),
        ({"estimator": Strips()}, NotFittedError, "not fitted"),
    ],
)
def test_wrong_arguments_are_named(change, error, message):
    y = binary_labels(X)
    arguments = {"estimator": Strips().fit(X, y), "X": X, "y": y, **change}
    with pytest.raises(error, match=message):
        RejectRegionDisplay.from_estimator(**arguments)


def test_a_classifier_without_scores_is_drawn_by_its_decisions(legend_texts):
    y = binary_labels(X)
    display = RejectRegionDisplay.from_estimator(Stripes().fit(X, y), X, y)
    assert display.scores is None
    expected = np.where(display.xx1 > 0.7, -1, display.xx0 > 0.5)
    np.testing.assert_array_equal(display.decisions, expected)
    np.testing.assert_array_equal(display.regions_, expected)
    assert legend_texts(display) == ["-1", "1", "review"]
    left, right, top = (colour_at(display, *at) for at in ((0.2, 0.3), (0.8, 0.3), (0.3, 0.9)))
    assert left[2] > left[0]
    assert right[0] > right[2]
    np.testing.assert_allclose(top, GREY, atol=0.02)


def test_a_baseline_of_one_classifier_and_a_threshold():
    y = grade_labels(X)
    base = LogisticRegression()
    model = ThresholdRejectClassifier(base, reject_cost=0.2, class_order=GRADES).fit(X, y)
    display = RejectRegionDisplay.from_estimator(model, X, y, grid_resolution=20)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    outputs = np.append(GRADES, model.reject_label_)
    np.testing.assert_array_equal(outputs[display.decisions.ravel()], model.predict(grid))


def test_a_classifier_that_never_rejects_needs_no_scores(legend_texts):
    y = grade_labels(X)
    display = RejectRegionDisplay.from_estimator(LogisticRegression().fit(X, y), X, y)
    assert legend_texts(display) == sorted(GRADES)


def test_five_ordered_classes_of_a_fitted_machine(legend_texts):
    X, y = make_synthetic_3(300, random_state=0)
    model = RejoSVC(C=100, gamma=2, reject_cost=0.2).fit(X, y)
    display = RejectRegionDisplay.from_estimator(model, X, y, grid_resolution=60)
    grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
    index = decode(display.regions_.ravel())
    np.testing.assert_array_equal(index < 0, model.reject_mask(grid))
    np.testing.assert_array_equal(
        model.classes_[index][index >= 0], model.predict(grid)[index >= 0]
    )
    assert legend_texts(display) == ["1", "2", "3", "4", "5", "review"]


def test_a_display_needs_scores_or_decisions():
    with pytest.raises(ValueError, match="scores and decisions are both None"):
        RejectRegionDisplay(xx0=X[:2], xx1=X[:2], classes=GRADES).plot()
