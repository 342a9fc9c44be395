"""From columns of all kinds to numbers."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

pd = pytest.importorskip("pandas")

from rejo.estimators import RejoLinear  # noqa: E402
from rejo.tables import TableEncoder, TableError  # noqa: E402


@pytest.fixture
def frame():
    random = np.random.RandomState(0)
    n = 300
    age = random.normal(40, 10, n).round(1)
    age[::9] = np.nan
    job = random.choice(["clerk", "cook", "driver"], n, p=[0.5, 0.3, 0.2]).astype(object)
    job[5], job[6:9] = None, "rare"
    return pd.DataFrame(
        {
            "row": np.arange(n) + 17,
            "age": age,
            "job": job,
            "sex": random.choice(["f", "m"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.randint(0, 700, n), "D"),
            "unit": "kg",
            "none": None,
            "name": [f"customer {i}" for i in range(n)],
            "flag": random.rand(n) < 0.3,
        }
    )


def test_what_each_column_becomes(frame):
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_ == {
        "age": "number",
        "job": "category",
        "sex": "category",
        "since": "date",
        "flag": "category",
    }
    assert encoder.left_out_ == {
        "row": "row numbers",
        "unit": "constant",
        "none": "no values",
        "name": "300 distinct values in 300 rows: names or free text",
    }
    names = encoder.get_feature_names_out().tolist()
    assert names[:6] == ["age", "age missing", "job=clerk", "job=cook", "job=driver", "job=other"]
    assert names[6] == "sex=f"  # a single row without a job is too little to learn from
    assert names[7:] == ["since days", "since month sin", "since month cos", "flag=True"]
    Z = encoder.transform(frame)
    assert Z.shape == (300, len(names))
    assert Z.flags.c_contiguous
    assert Z.dtype == np.float64
    numbers = pd.DataFrame(Z, columns=names)
    there = frame["age"].notna()
    assert numbers["age"][there].mean() == pytest.approx(0, abs=1e-12)
    assert numbers["age"][there].std(ddof=0) == pytest.approx(1)
    assert numbers["age missing"].tolist() == (~there).astype(float).tolist()
    assert (numbers.filter(like="job").sum(axis=1) == 1).all()
    assert (numbers["job=cook"] == (frame["job"] == "cook")).all()
    circle = numbers["since month sin"] ** 2 + numbers["since month cos"] ** 2
    np.testing.assert_allclose(circle, 1)
    assert np.abs(Z).max() < 10


def test_the_frame_is_not_changed(frame):
    before = frame.copy()
    TableEncoder().fit_transform(frame)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("size", [1, 17, 150])
def test_values_do_not_depend_on_the_chunk(frame, size):
    encoder = TableEncoder().fit(frame)
    pieces = [encoder.transform(frame[i : i + size]) for i in range(0, len(frame), size)]
    np.testing.assert_array_equal(np.concatenate(pieces), encoder.transform(frame))


def test_other_columns_and_their_order_do_not_matter(frame):
    encoder = TableEncoder().fit(frame)
    other = frame[frame.columns[::-1]].assign(more=1).drop(columns=["row", "name"])
    np.testing.assert_array_equal(encoder.transform(other), encoder.transform(frame))


def test_new_words_and_missing_values():
    train = pd.DataFrame({"a": list("xyz") * 20, "b": list("uvvu") * 15, "n": np.arange(60.0) ** 2})
    encoder = TableEncoder().fit(train)
    new = pd.DataFrame({"a": ["new", None], "b": ["new", None], "n": [None, 1.0]})
    Z = pd.DataFrame(encoder.transform(new), columns=encoder.get_feature_names_out())
    assert (Z[["a=x", "a=y", "a=z", "b=v"]] == 0).all(axis=None)
    median = encoder.transform(train.assign(n=np.median(train["n"])))[0, -1]
    assert Z["n"][0] == median


def test_rare_words_share_a_column():
    words = ["a"] * 60 + ["b"] * 30 + ["c"] * 6 + ["d"] * 4 + ["other"] * 10
    encoder = TableEncoder(min_count=5).fit(pd.DataFrame({"w": words}))
    assert encoder.get_feature_names_out().tolist() == [
        "w=a",
        "w=b",
        "w=other",
        "w=c",
        "w=other (2)",
    ]
    few = TableEncoder(max_categories=1).fit(pd.DataFrame({"w": words}))
    assert few.get_feature_names_out().tolist() == ["w=other"]
    assert few.transform(pd.DataFrame({"w": ["a", "b", "new", None]})).ravel().tolist() == [
        0,
        1,
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pd.array([1, None, 3], dtype="Int64"), "number"),
        (pd.array([1.5, None, 3], dtype="Float64"), "number"),
        (pd.array([True, None, False], dtype="boolean"), "category"),
        (pd.array(["a", None, "b"], dtype="string"), "category"),
        (pd.Categorical([1, None, 3]), "category"),
        (pd.to_datetime(["2020-01-01", None, "2021-05-05"]), "date"),
        (pd.to_datetime(["2020-01-01", None, "2021-05-05"], utc=True), "date"),
        (pd.to_timedelta([1, None, 3], unit="D"), "number"),
        (np.array([True, False, True]), "category"),
        (np.array([1, None, 3], dtype=object), "number"),
        (np.array(["2020-01-01", "2021-01-01", "2022-02-02"], "M8[s]").astype(object), "date"),
        (np.array([1, 2, 4], dtype=np.int8), "number"),
        (np.array([1, "1", "x"], dtype=object), "category"),
    ],
)
def test_types_of_pandas(column, kind):
    frame = pd.DataFrame({"c": column, "n": [1.0, 2.0, 4.0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.kinds_["c"] == kind
    assert np.isfinite(encoder.transform(frame)).all()


def test_time_zones_do_not_matter():
    dates = pd.date_range("2020-01-01", periods=50, freq="31h")
    plain = pd.DataFrame({"d": dates})
    zoned = pd.DataFrame({"d": dates.tz_localize("UTC").tz_convert("Asia/Tokyo")})
    encoder = TableEncoder().fit(plain)
    np.testing.assert_allclose(encoder.transform(zoned), encoder.transform(plain), atol=1e-12)


def test_numbers_that_count_the_rows_also_in_a_fold():
    frame = pd.DataFrame({"i": np.arange(100) + 5, "n": np.arange(100.0) ** 2})
    keep = np.flatnonzero(np.random.RandomState(0).rand(100) < 0.7)
    for part in (frame, frame.iloc[keep], frame.iloc[keep[::-1]], frame.reset_index(drop=True)):
        assert TableEncoder().fit(part).left_out_ == {"i": "row numbers"}
    steps = frame.assign(i=2 * frame["i"])
    assert "i" in TableEncoder().fit(steps).kinds_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.assign(age=np.inf), "column 'age': inf in row 0 is infinite"),
        (lambda f: f.assign(age=1e200), r"'age': 1e\+200 in row 0 is infinite or above 1e\+100"),
        (lambda f: f.drop(columns="job"), "no column 'job'.*The columns are"),
        (lambda f: f.assign(age="x"), "column 'age': it held numbers in training"),
        (
            lambda f: f.assign(since="x"),
            "column 'since': it held dates in training, but now holds 'x'",
        ),
        (lambda f: pd.concat([f, f], axis=1), "columns have the same name"),
        (lambda f: f.set_axis(range(f.shape[1]), axis=1), "must be strings, got 0"),
    ],
)
def test_frames_that_cannot_be_used(frame, change, message):
    encoder = TableEncoder().fit(frame)
    with pytest.raises(ValueError, match=message):
        encoder.transform(change(frame))


def test_what_cannot_be_learnt_from(frame):
    with pytest.raises(ValueError, match="no rows"):
        TableEncoder().fit(frame[:0])
    with pytest.raises(ValueError, match="'unit': constant"):
        TableEncoder().fit(frame[["unit", "name"]])
    with pytest.raises(TypeError, match="ndarray"):
        TableEncoder().fit(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="'max_categories' parameter"):
        TableEncoder(max_categories=0).fit(frame)
    with pytest.raises(ValueError, match=r"written must .* got .*'%x'.* column 'since'"):
        TableEncoder(written={"since": {"format": "%x"}}).fit(frame)
    with pytest.raises(ValueError, match="column 'l'"):
        TableEncoder().fit(pd.DataFrame({"l": [[1], [2]]}))


def test_it_is_a_scikit_learn_estimator(frame):
    y = (frame["age"].fillna(40) > 40).to_numpy()
    model = make_pipeline(TableEncoder(written={"since": {"format": "%d.%m.%Y"}}), RejoLinear())
    assert cross_val_score(clone(model), frame, y, n_jobs=2, cv=3).min() > 0.8
    model.fit(frame, y)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(frame), model.predict(frame))
    assert model[0].written_["since"] == {"format": "%d.%m.%Y"}
    assert model.feature_names_in_.tolist() == frame.columns.tolist()
    assert model[0].set_output(transform="pandas").transform(frame).shape[0] == len(frame)


def test_dates_as_strings_follow_the_format(frame):
    encoder = TableEncoder(written={"since": {"format": "%d/%m/%Y"}}).fit(frame)
    strings = frame.assign(since=frame["since"].dt.strftime("%d/%m/%Y"))
    np.testing.assert_array_equal(encoder.transform(strings), encoder.transform(frame))


numbers = st.floats(-1e100, 1e100) | st.none()


@given(values=st.lists(numbers, min_size=2, max_size=30))
def test_any_numbers_give_finite_ones(values):
    frame = pd.DataFrame({"v": pd.Series(values, dtype=float), "w": range(0, 2 * len(values), 2)})
    Z = TableEncoder().fit_transform(frame)
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() <= np.sqrt(len(values)) + 1e-6


@given(words=st.lists(st.text(max_size=3) | st.none(), min_size=2, max_size=60))
def test_each_row_is_in_one_level(words):
    frame = pd.DataFrame({"w": pd.Series(words, dtype=object), "n": range(0, 2 * len(words), 2)})
    encoder = TableEncoder(min_count=1).fit(frame)
    names = encoder.get_feature_names_out()
    assert len(set(names)) == len(names)
    Z = encoder.transform(frame)[:, :-1]
    assert set(np.unique(Z)) <= {0.0, 1.0}
    if Z.shape[1] > 1:
        assert (Z.sum(axis=1) == 1).all()


def test_far_values_do_not_overflow(frame):
    encoder = TableEncoder().fit(frame)
    far = frame.assign(age=np.where(np.arange(300) % 2, 1e100, -1e100))
    Z = encoder.transform(far)
    assert set(Z[:, 0]) == {-1e6, 1e6}
    assert np.isfinite(Z @ Z.T).all()
    with pytest.raises(
        ValueError, match=r"column 'age': -1e\+300 in row \d+ is infinite or above 1e\+100"
    ):
        encoder.fit(frame.assign(age=-1e300))


def test_the_smallest_differences_are_not_a_scale():
    frame = pd.DataFrame({"v": [0.0, 1e-200, 5e-324], "n": [1.0, 2.0, 4.0]})
    encoder = TableEncoder().fit(frame)
    assert encoder.learnt_["v"]["scale"] == 1.0
    assert np.abs(encoder.transform(frame.assign(v=3.0))[:, 0]).max() == 3.0


def test_columns_of_prices_are_read_whether_they_are_features_or_not():
    """A constant one, which is no feature, is kept as well; the outputs are those without them."""
    X = pd.DataFrame({
        "age": np.arange(60) % 7, "amount": np.arange(60) ** 2.0, "fee": 5.0, "debt": np.ones(60),
    })  # fmt: skip
    plain = TableEncoder().fit(X[["age"]])
    encoder = TableEncoder(prices={"amount": False, "fee": True}).fit(X)
    assert encoder.features_ == {"age": "number"}
    assert list(encoder.kinds_) == ["age", "amount", "fee"]
    assert "debt" in encoder.left_out_
    assert np.array_equal(encoder.transform(X), plain.transform(X))
    assert encoder.get_feature_names_out().tolist() == ["age"]
    encoder._check_state()
    bad = X[:3].assign(amount=["abc", None, 1e9])
    found = {row: one[0].why for row, one in encoder.check(bad).doubts.items()}
    assert found == {0: "unreadable", 1: "missing", 2: "outside"}
    assert "amount" in encoder.watch().columns
    with pytest.raises(TableError):
        TableEncoder(prices={"job": False}).fit(X.assign(job="clerk"))
    with pytest.raises(TableError):  # nothing is left to learn from
        TableEncoder(prices={"amount": False}).fit(X[["amount"]])
