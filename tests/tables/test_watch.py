"""Columns of a new file: quiet on ordinary ones, drift is said, a fault is found."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from rejo.tables import TableEncoder  # noqa: E402
from rejo.tables.watch import Watch, compare_counts  # noqa: E402


def drawn(random, n):
    """Columns of many kinds."""
    return pd.DataFrame(
        {
            "income": np.exp(random.normal(10, 0.6, n)).round(),
            "rate": np.round(random.beta(2, 8, n), 3),
            "score": random.randint(300, 850, n).astype(float),
            "children": random.poisson(1.2, n).astype(float),
            "flag": (random.rand(n) < 0.15).astype(float),
            "balance": np.round(random.normal(0, 500, n), 2),
            "job": random.choice(["clerk", "cook", "driver", "baker"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "gaps": np.where(random.rand(n) < 0.3, np.nan, random.normal(size=n)),
        }
    )


@pytest.fixture(scope="module")
def encoder():
    return TableEncoder().fit(drawn(np.random.RandomState(0), 2000))


def findings(encoder, frame, chunk=10_000):
    watch = encoder.watch()
    for start in range(0, len(frame), chunk):
        encoder.add_rows(watch, frame.iloc[start : start + chunk])
    return {one.column: one for one in watch.findings()}


@pytest.mark.parametrize(("size", "files"), [(50, 300), (500, 100), (5000, 30)])
def test_ordinary_files_are_quiet(encoder, size, files):
    random = np.random.RandomState(size)
    found = [findings(encoder, drawn(random, size)) for _ in range(files)]
    assert not any(one.degree == "fault" for file in found for one in file.values())
    assert sum(map(bool, found)) <= 0.02 * files + 1


FAULTS = {
    "a tenth": ("score", lambda x: x / 10),
    "thousands": ("income", lambda x: x / 1000),
    "cents": ("income", lambda x: x * 100),
    "percent for shares": ("rate", lambda x: x * 100),
    "no values": ("score", lambda x: x * np.nan),
    "no values among gaps": ("gaps", lambda x: x * np.nan),
    "another code": ("flag", lambda x: x * 10),
    "moved": ("balance", lambda x: x + 3000),
    "other words": ("job", lambda x: x.map({"clerk": "1", "cook": "2"}).fillna("3")),
}


@pytest.mark.parametrize("what", FAULTS)
@pytest.mark.parametrize("size", [50, 2000, 50_000])
def test_faults_are_found(encoder, what, size):
    column, change = FAULTS[what]
    if what == "another code" and size == 50:
        return  # seven cells of fifty
    frame = drawn(np.random.RandomState(1), size)
    frame[column] = change(frame[column])
    found = findings(encoder, frame)
    assert list(found) == [column]
    if what == "another code":  # one cell in seven
        assert found[column].degree in ("drift", "fault")
    else:
        assert found[column].degree == "fault"


def test_one_number_is_no_range(encoder):
    frame = drawn(np.random.RandomState(2), 300)
    said = str(findings(encoder, frame.assign(score=-999.0))["score"])
    assert said.count("-999") == 1


def test_what_is_said(encoder):
    frame = drawn(np.random.RandomState(2), 300)
    said = str(findings(encoder, frame.assign(score=frame["score"] / 10))["score"])
    assert said.startswith("score: numbers are about 10 times smaller than in training; most from")
    said = str(findings(encoder, frame.assign(score=np.nan))["score"])
    assert said == "score: 100.0 % of the cells are missing or cannot be read, 0.0 % in training"
    said = str(findings(encoder, frame.assign(job="cook"))["job"])
    assert said.startswith("job: 'cook' in 100.0 % of the cells, 3")


def test_drift_is_not_a_fault(encoder):
    frame = drawn(np.random.RandomState(3), 5000)
    frame["income"] *= 1.2
    (found,) = findings(encoder, frame).values()
    assert (found.column, found.degree) == ("income", "drift")


def test_swapped_columns(encoder):
    frame = drawn(np.random.RandomState(4), 200)
    frame = frame.rename(columns={"income": "score", "score": "income"})
    assert {c: one.degree for c, one in findings(encoder, frame).items()} == {
        "income": "fault", "score": "fault"
    }  # fmt: skip


def test_parts_of_a_file_together(encoder):
    frame = drawn(np.random.RandomState(5), 4000)
    frame["score"] /= 10
    whole = encoder.watch()
    encoder.add_rows(whole, frame[:2000])
    encoder.add_rows(whole, frame[2000:])
    assert [one.column for one in whole.findings()] == ["score"]


def test_a_sample_is_enough_of_a_large_file(encoder):
    watch = Watch({"x": {"edges": [0.0, 1.0], "exact": False, "counts": [10, 1000, 10, 0]}})
    for _ in range(300):
        rows = watch.rows(10_000)
        watch.add({"x": np.full(len(range(*rows.indices(10_000))), 0.5)}, 10_000)
    assert sum(len(part) for part in watch._parts["x"]) <= 50_000


def test_the_chance_is_that_of_a_test_of_two_samples():
    """The same as scipy's, where no bins are joined."""
    from scipy.stats import chi2_contingency

    old, new = np.array([100, 200, 300, 50]), np.array([30, 40, 90, 10])
    chance, differ = compare_counts(old, new, ordered=True)
    assert chance == pytest.approx(chi2_contingency([old, new]).pvalue)
    assert differ == pytest.approx(np.abs(old / 650 - new / 170).sum() / 2)


def test_a_value_too_low_in_a_positive_column_is_in_doubt(encoder):
    frame = drawn(np.random.RandomState(6), 30)
    frame.loc[3, "income"] = 2.0
    frame.loc[4, "score"] = 45.0
    reasons = encoder.check(frame).reasons()
    assert set(reasons) == {3, 4}
    assert "far outside" in reasons[4]


# ---- dates --------------------------------------------------------------------------------------


def dated(n, start):
    random = np.random.RandomState(7)
    days = pd.to_timedelta(np.arange(n) // 3, unit="D")
    age = pd.to_timedelta(random.randint(7000, 20_000, n), unit="D")
    when = pd.Timestamp(start) + days
    return pd.DataFrame({"day of entry": when, "born": when - age, "x": random.normal(size=n)})


def test_dates_that_order_the_rows_are_no_feature():
    train = dated(300, "2024-01-01")
    encoder = TableEncoder().fit(train)
    assert encoder.reading_["time"] == "day of entry"
    assert encoder.get_feature_names_out().tolist() == ["born age", "x"]
    later = dated(300, "2027-06-01")
    np.testing.assert_allclose(encoder.transform(later), encoder.transform(train))
    assert not encoder.check(later).doubts
    alone = TableEncoder().fit(train.drop(columns="born"))
    assert "later dates" in alone.left_out_["day of entry"]
    assert list(alone.kinds_) == ["x"]


@pytest.mark.parametrize("reading", [{"keep": ["day of entry"]}, {"time": None}])
def test_dates_that_are_kept(reading):
    encoder = TableEncoder(reading=reading).fit(dated(300, "2024-01-01"))
    assert "day of entry days" in encoder.get_feature_names_out()
    assert encoder.reading_["time"] is None


def test_the_name_of_dates_of_rows():
    shuffled = dated(300, "2024-01-01").sample(frac=1, random_state=0)
    for name, orders in {"application date": True, "Antragsdatum": True, "date": True,
                         "married": False, "contract start": False}.items():  # fmt: skip
        frame = shuffled.rename(columns={"day of entry": name})
        assert (TableEncoder().fit(frame).reading_["time"] == name) == orders


def test_a_missing_date_of_a_row_is_in_doubt():
    encoder = TableEncoder().fit(dated(300, "2024-01-01"))
    new = dated(30, "2024-05-01")
    new.loc[4, "day of entry"] = pd.NaT
    assert list(encoder.check(new).doubts) == [4]
    assert np.isfinite(encoder.transform(new)).all()
