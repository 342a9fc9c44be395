"""Reviews by pipelines and searches, which have no methods for them."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rejo
from rejo import RejectClassifierCV, RejoLinear, ThresholdRejectClassifier

pd = pytest.importorskip("pandas")
posteriors = ThresholdRejectClassifier(LogisticRegression(), reject_cost=0.3)
budget = RejectClassifierCV(posteriors, review_budget=0.1)
MODELS = [
    posteriors,
    make_pipeline(StandardScaler(), posteriors),
    make_pipeline(StandardScaler(), StandardScaler(), RejoLinear(reject_cost=0.1)),
    make_pipeline(budget),
    make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), budget)),
    GridSearchCV(make_pipeline(StandardScaler(), RejoLinear()), {"rejolinear__C": [1.0]}, cv=2),
    make_pipeline(StandardScaler(), GridSearchCV(RejoLinear(), {"C": [1.0]}, cv=2)),
    RejectClassifierCV(make_pipeline(StandardScaler(), posteriors), review_budget=0.1),
]


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(0)
    X = random.normal(size=(200, 2))
    y = X[:, 0] + random.normal(0, 0.4, 200) > 0
    return pd.DataFrame(X, columns=["a", "b"], index=np.arange(200) + 1000), y.astype(int)


@pytest.mark.parametrize("model", MODELS)
def test_any_model_reviews_and_queues(data, model):
    X, y = data
    model.fit(X, y)
    frame = rejo.review(model, X)
    assert frame.index.equals(X.index)
    assert frame["decision"].tolist() == model.predict(X).tolist()
    found = rejo.judge(model, X)
    assert (found.decision < 0).tolist() == frame["rank"].notna().tolist()
    n = int(frame["rank"].notna().sum())
    assert 0 < n < 100
    ranked = frame.dropna(subset="rank").sort_values("rank")
    assert rejo.queue(model, X).equals(ranked)
    assert rejo.queue(model, X, 3).equals(ranked.iloc[:3])
    assert len(rejo.queue(model, X, 0.5)) == n
    assert len(rejo.queue(model, X, 100, fill=True)) == 100
    assert rejo.queue(model, X, 100, fill=True).iloc[:n].equals(ranked)
    assert len(rejo.queue(model, X, fill=True)) == 200
    if hasattr(model, "review"):
        assert model.review(X).equals(frame)
        assert model.queue(X, 80, fill=True).equals(rejo.queue(model, X, 80, fill=True))
        assert len(model.queue(X, 80)) == n


def test_prices_of_an_operating_point_reach_the_queue(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), budget).fit(X, y)
    seen = pipeline[0].transform(X)
    assert rejo.judge(pipeline, X).worth.tolist() == pipeline[1].judge(seen).worth.tolist()
    assert pipeline[1].cut_ > 0


def test_what_is_added_to_a_queue_is_most_worth_a_review(data):
    X, y = data
    model = RejectClassifierCV(posteriors, review_budget=0.1).fit(X, y)
    queue = model.queue(X, 80, fill=True)
    worth = model.review(X)["worth"].sort_values(ascending=False)
    assert queue["worth"].tolist() == worth.iloc[:80].tolist()


def test_models_without_reviews(data):
    X, y = data
    with pytest.raises(TypeError, match="reject option"):
        rejo.review(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), X)
    for model in (
        make_pipeline(StandardScaler(), RejoLinear()),
        RejoLinear(),
        LogisticRegression(),
    ):
        with pytest.raises(NotFittedError):
            rejo.queue(model, X)
