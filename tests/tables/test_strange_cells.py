"""Words for what is strange about a row, from what the detector says of its encoding."""

import numpy as np
import pytest

from rejo.tables import TableEncoder
from rejo.tables.doubts import Origin, describe_strange, origins
from rejo.typical import Strange, Typical

pd = pytest.importorskip("pandas")


def table(n=300):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 76, n),
            "income": rng.lognormal(10, 1, n).round(2),
            "job": rng.choice(["clerk", "cook", "driver"], n),
            "sex": rng.choice(["f", "m"], n),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "visits": np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n)),
        },
        index=rng.permutation(n),
    )


def found(**changes):
    X = table()
    encoder = TableEncoder().fit(X)
    known = Typical.learn(encoder.transform(X))
    new = X.iloc[:1].assign(**changes)
    features = known.strangest(encoder.transform(new))[0]
    return encoder.describe(features, new.iloc[0].to_dict())


def test_origins_are_in_the_order_of_the_output():
    encoder = TableEncoder().fit(table())
    names = encoder.get_feature_names_out().tolist()
    where = [o for n, k in encoder.kinds_.items() for o in origins(n, k, encoder.learnt_[n])]
    assert [origin.name + origin.label for origin in where] == names
    for origin in where:
        assert ("missing" in origin.label) == (origin.what == "missing")
        assert origin.word is None or origin.label == f"={origin.word}"


def test_numbers_outside_the_range_of_training():
    X = table()
    low, high = X["age"].min(), X["age"].max()
    assert found(age=97) == [f"age 97: training had {low} to {high}"]
    words = found(age=97, income=1e9)
    assert len(words) == 2
    assert words[0].startswith("income 1000000000: training had ")


def test_dates_outside_the_range_of_training():
    X = table()
    first, last = X["since"].min().date(), X["since"].max().date()
    (text,) = found(since=pd.Timestamp("2031-05-06"))
    assert text == f"since 2031-05-06: training had {first} to {last}"


def test_each_column_is_named_once():
    encoder = TableEncoder().fit(table())
    names = encoder.get_feature_names_out().tolist()
    several = [
        Strange(j, "unusual", 1.0, 0.0, 1.0, 0.0, 9.0)
        for j, name in enumerate(names)
        if name.startswith(("job", "since", "visits"))
    ]
    words = encoder.describe(several, {"job": "cook", "since": "2020-02-02", "visits": None})
    assert len(words) == 3
    assert words[0] == "job 'cook': unusual with the other values"
    assert "the other values suggest about" in words[1]


def test_missing_values():
    encoder = TableEncoder().fit(table())
    j = encoder.get_feature_names_out().tolist().index("visits missing")
    words = [
        encoder.describe([Strange(j, "unusual", value, 0.0, 1.0, 1 - value, 9.0)])
        for value in (0.0, 1.0)
    ]
    assert words == [["visits: unusual to have a value here"], ["visits: unusual to be missing"]]


def test_a_word_without_its_row_is_that_of_the_column():
    encoder = TableEncoder().fit(table())
    j = encoder.get_feature_names_out().tolist().index("job=cook")
    (text,) = encoder.describe([Strange(j, "unusual", 1.0, 0.0, 1.0, 0.0, 9.0)])
    assert text == "job 'cook': unusual with the other values"


def test_what_the_others_suggest_is_rounded_and_never_the_value_itself():
    where = [Origin("income", "number", None)]

    def said(value, expected):
        return describe_strange(where, [Strange(0, "unusual", value, 0.0, 1.0, expected, 9.0)])

    assert said(13100.0, 28486.2) == ["income 13100: the other values suggest about 28500"]
    assert said(0.0, 0.0) == ["income 0: unusual with the other values"]
    assert said(2851.0, 2849.0) == ["income 2851: unusual with the other values"]
