"""Frames and columns of polars: an Enum keeps its order, as an ordered pandas Categorical does."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import (
    BlendClassifier,
    RejectClassifierCV,
    RejoKernelLogistic,
    RejoLinear,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
    compare,
    reject_curve,
)
from rejo.selection import cost_scorer

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")

ORDER = ["low", "mid", "high"]
posteriors = ThresholdRejectClassifier(LogisticRegression())
MODELS = [
    RejoSVC(),
    RejoLinear(),
    RejoKernelLogistic(),
    RejoMLP(hidden_layer_sizes=(4,), random_state=0),
    ReplicationClassifier(LogisticRegression()),
    posteriors,
    ThresholdRejectClassifier(BlendClassifier([("a", LogisticRegression()), ("b", GaussianNB())])),
    make_pipeline(StandardScaler(), RejoLinear()),
    RejectClassifierCV(posteriors, review_budget=0.3, cv=2),
    RejectClassifierCV(RejoLinear(), review_budget=0.3, reject_costs=[0.1, 0.3], cv=2),
    RejectClassifierCV(RejoSVC(), reject_cost=0.2, param_grid={"C": [1, 10]}, cv=2),
]


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(0)
    X = random.normal(size=(90, 2))
    k = np.digitize(X[:, 0] + random.normal(0, 0.4, 90), [-0.5, 0.5])
    words = np.array(ORDER)[k]
    frame = pl.DataFrame(X, schema=["a", "b"])
    return X, words, frame, pl.Series("y", words.tolist(), dtype=pl.Enum(ORDER))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_enum_counts_as_an_order(data, model):
    X, words, frame, y = data
    of_polars = clone(model).fit(frame, y)
    assert of_polars.classes_.tolist() == ORDER
    ordered = pd.Series(pd.Categorical(words, ORDER, ordered=True))
    table = pd.DataFrame(X, columns=["a", "b"])
    of_pandas = clone(model).fit(table, ordered)
    assert of_polars.predict(frame).tolist() == of_pandas.predict(table).tolist()
    assert of_polars.score(frame, y) == of_pandas.score(table, ordered)


def test_only_an_enum_has_an_order(data):
    _, _, frame, y = data
    for kind in (pl.String, pl.Categorical):
        with pytest.raises(ValueError, match="or a polars Enum"):
            RejoLinear().fit(frame, y.cast(kind))
    assert posteriors.fit(frame, y.cast(pl.Categorical)).classes_.tolist() == sorted(ORDER)
    given = RejoLinear(class_order=pl.Series(ORDER)).fit(frame, y.cast(pl.String))
    assert given.classes_.tolist() == ORDER


def test_unused_and_missing_categories(data):
    _, _, frame, y = data
    wide = y.cast(pl.Enum(["none", *ORDER, "top"]))
    assert RejoLinear().fit(frame, wide).classes_.tolist() == ORDER
    gone = pl.Series([None, *y.to_list()[1:]], dtype=pl.Enum(ORDER))
    for model in (RejoLinear(), posteriors, RejectClassifierCV(posteriors, review_budget=0.2)):
        for labels in (gone, gone.cast(pl.String)):
            with pytest.raises(ValueError, match="missing values"):
                clone(model).fit(frame, labels)


def test_a_frame_of_one_column_is_a_column(data):
    _, words, frame, y = data
    pandas = pd.DataFrame({"y": pd.Categorical(words, ORDER, ordered=True)})
    for labels in (y.to_frame(), pandas):
        for model in (RejoLinear(), RejectClassifierCV(posteriors, review_budget=0.2, cv=2)):
            with pytest.warns(UserWarning, match="column-vector"):
                assert clone(model).fit(frame, labels).classes_.tolist() == ORDER


def test_weights_groups_and_curves(data):
    _, _, frame, y = data
    groups, weight = pl.Series(np.arange(90) // 3), pl.Series(np.ones(90))
    model = RejectClassifierCV(posteriors, review_budget=0.2, cv=2)
    model.fit(frame, y, sample_weight=weight, groups=groups)
    assert model.review(frame)["index"].to_list() == list(range(90))
    assert reject_curve(RejoLinear(), frame, y, reject_costs=[0.2], cv=2).reject_costs == [0.2]
    assert cost_scorer(reject_cost=0.2)(model, frame, y) <= 0
    methods = {"a": RejoLinear(), "b": posteriors}
    assert len(compare(methods, frame, y, cv=2, reject_costs=[0.2]).rows) == 4
