"""A frame of polars, or a table of pyarrow, in gives one out; decisions are those with pandas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import rejo
from rejo import RejoBoost, RejoLinear, ReplicationClassifier
from rejo import ThresholdRejectClassifier as Threshold
from rejo._frames import frame_like, take_rows, with_column
from rejo.persistence import data_hash
from rejo.tables import TableEncoder
from rejo.tables.columns import as_pandas
from tests.test_common import ESTIMATORS, ON_ARRAYS, answers, fit_named, fresh
from tests.test_common import problem as named_problem

pl = pytest.importorskip("polars")
pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:solver=:sklearn.exceptions.ConvergenceWarning")
# One of each class: which settings it has does not matter here.
ONE_OF_EACH = {type(estimator).__name__: estimator for estimator in reversed(ESTIMATORS)}
ON_TABLES = {
    name: estimator
    for name, estimator in ONE_OF_EACH.items()
    if estimator in ON_ARRAYS or name == "TableEncoder"
}


def of_polars(frame):
    return pl.DataFrame({name: frame[name].to_numpy() for name in frame.columns})


@pytest.mark.parametrize("estimator", ON_TABLES.values(), ids=ON_TABLES)
def test_every_estimator_takes_frames_of_polars(estimator):
    X, y = named_problem(estimator)
    known, frame = fit_named(estimator), of_polars(X)
    model = fresh(estimator).fit(frame, pl.Series(y))
    assert_array_equal(model.feature_names_in_, X.columns)
    for ours, theirs in zip(answers(model, frame), answers(known, X), strict=True):
        assert_allclose(ours, theirs, rtol=1e-6)
    if not hasattr(model, "review"):
        return
    found, expected = model.review(frame), known.review(X)
    assert isinstance(found, pl.DataFrame)
    assert found.columns == ["index", *expected.columns]
    assert found.schema["index"] == frame.with_row_index().schema["index"]
    assert found["decision"].to_list() == expected["decision"].tolist()
    assert found["rank"].to_list() == [None if pd.isna(r) else r for r in expected["rank"]]
    queue = model.queue(frame, 0.5, fill=True)
    assert isinstance(queue, pl.DataFrame)
    assert queue["index"].to_list() == known.queue(X, 0.5, fill=True).index.tolist()
    joined = frame.with_row_index().join(queue, on="index", how="inner")
    assert len(joined) == len(queue)


@pytest.fixture(scope="module")
def mixed():
    """Numbers with gaps, words, categories and grades."""
    rng = np.random.default_rng(0)
    n = 120
    x = rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "x": pl.Series([None if i == 5 else float(value) for i, value in enumerate(x)]),
            "job": pl.Series(rng.choice(["cook", "clerk"], n).tolist(), dtype=pl.Categorical),
            "grade": pl.Series(
                rng.choice(["low", "high"], n).tolist(), dtype=pl.Enum(["low", "high"])
            ),
        }
    )
    return frame, np.where(x + 0.4 * rng.normal(size=n) > 0, "yes", "no")


BOOSTING = HistGradientBoostingClassifier(
    max_iter=5, min_samples_leaf=5, learning_rate=0.5, categorical_features="from_dtype"
)
ON_MIXED = {
    "threshold": Threshold(BOOSTING),
    "replicas": ReplicationClassifier(BOOSTING, class_order="sorted"),
    "encoder": make_pipeline(TableEncoder(), RejoLinear()),
    "encoder in polars": make_pipeline(
        TableEncoder().set_output(transform="polars"), Threshold(LogisticRegression())
    ),
    "encoder inside": Threshold(make_pipeline(TableEncoder(), LogisticRegression())),
}


@pytest.mark.parametrize("model", ON_MIXED.values(), ids=ON_MIXED)
def test_mixed_columns_are_decided_and_explained_as_with_pandas(model, mixed):
    frame, y = mixed
    table = as_pandas(frame)
    ours, theirs = clone(model).fit(frame, y), clone(model).fit(table, y)
    assert_array_equal(ours.predict(frame), theirs.predict(table))
    found = rejo.review(ours, frame, why=2, background=frame)
    expected = rejo.review(theirs, table, why=2, background=table)
    assert isinstance(found, pl.DataFrame)
    assert found["why"].to_list() == [None if pd.isna(w) else w for w in expected["why"]]
    reasons = rejo.why(ours, frame, background=frame)
    rejected = np.flatnonzero(rejo.judge(ours, frame).decision < 0)
    assert reasons["index"].to_list() == rejected.tolist()


def test_boosted_trees_know_the_categories_of_polars(mixed):
    pytest.importorskip("xgboost")
    frame, y = mixed
    model = RejoBoost(n_estimators=5, random_state=0)
    ours, theirs = clone(model).fit(frame, y), clone(model).fit(as_pandas(frame), y)
    assert_array_equal(ours.predict(frame), theirs.predict(as_pandas(frame)))
    assert isinstance(ours.review(frame), pl.DataFrame)


def test_lightgbm_gets_a_frame_that_it_can_read(mixed):
    """LightGBM ends the process at categories of polars."""
    lightgbm = pytest.importorskip("lightgbm")
    frame, y = mixed
    inner = lightgbm.LGBMClassifier(n_estimators=2, min_child_samples=5, verbose=-1)
    model = Threshold(inner).fit(frame, y)
    assert isinstance(model.review(frame), pl.DataFrame)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_transformers_put_out_the_frames_that_are_asked_for(kind, mixed):
    frame, _ = mixed
    wanted = {"pandas": pd.DataFrame, "polars": pl.DataFrame}[kind]
    encoder = TableEncoder().set_output(transform=kind)
    found = encoder.fit_transform(frame)
    assert isinstance(found, wanted)
    assert list(found.columns) == encoder.get_feature_names_out().tolist()


def test_a_checked_frame_of_polars_is_one(mixed):
    encoder = TableEncoder().fit(mixed[0])
    new = mixed[0].with_columns(pl.Series("x", ["much", *map(str, range(119))]))
    checked = encoder.check(new)
    assert isinstance(checked.frame, pl.DataFrame)
    assert checked.frame["x"].to_list() == [None, *map(float, range(119))]
    assert checked.frame["job"].equals(new["job"])
    assert "much" in checked.reasons()[0]
    assert np.isfinite(encoder.transform(checked.frame)).all()


def test_a_pipeline_with_polars_inside_goes_into_a_file(mixed, tmp_path):
    pytest.importorskip("skops")
    frame, y = mixed
    model = clone(ON_MIXED["encoder in polars"]).fit(frame, y)
    rejo.save(model, tmp_path / "model.rejo")
    assert_array_equal(rejo.load(tmp_path / "model.rejo").predict(frame), model.predict(frame))


def test_the_same_numbers_have_the_same_hash():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    assert data_hash(of_polars(table), [0, 1]) == data_hash(table, [0, 1])


def test_labels_of_different_types_become_texts():
    """A column of polars has one type: numbers as classes, and a text for a rejection."""
    X = pl.DataFrame({"x": [0.0, 1.0, 2.0, 3.0, 2.5, 4.0, 5.0, 6.0]})
    y = np.array([0, 0, 0, 1, 0, 1, 1, 1])
    model = Threshold(LogisticRegression(C=10), reject_label="ask").fit(X, y)
    assert set(model.review(X)["decision"]) == {"0", "1", "ask"}
    assert model.review(X)["forced"].dtype.is_integer()


def test_tables_of_pyarrow(mixed):
    pa = pytest.importorskip("pyarrow")
    frame, y = mixed
    table = frame.to_arrow()
    for model in (ON_MIXED["threshold"], ON_MIXED["encoder inside"]):
        ours, theirs = clone(model).fit(table, y), clone(model).fit(frame, y)
        assert_array_equal(ours.predict(table), theirs.predict(frame))
        found = ours.queue(table, 7, fill=True)
        assert isinstance(found, pa.Table)
        assert found.column_names[0] == "index"
        assert found["index"].to_pylist() == theirs.queue(frame, 7, fill=True)["index"].to_list()


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_frame_like_another(kind):
    X = pl.DataFrame({"a": [1, 2, 3]})
    if kind == "pyarrow":
        pytest.importorskip("pyarrow")
        X = X.to_arrow()
    X = as_pandas(X) if kind == "pandas" else X
    columns = {"rank": np.ma.masked_equal([0, 2], 0), "word": np.array([None, "w"], dtype=object)}
    found = frame_like(X, columns, np.array([2, 0]))
    assert type(found) is type(X)
    plain = as_pandas(take_rows(with_column(found, "more", np.array([0.5, 1.5])), np.array([1])))
    assert plain["rank"].tolist() == [2]
    assert plain["word"].tolist() == ["w"]
    assert plain["more"].tolist() == [1.5]
    assert (plain.index if kind == "pandas" else plain["index"]).tolist() == [0]
