"""Rows that a model should not decide."""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from rejo.tables import TableEncoder, read_chunks  # noqa: E402
from rejo.tables.columns import mark_of, widened  # noqa: E402
from rejo.tables.doubts import Doubt, check_table  # noqa: E402
from rejo.tables.values import Unread  # noqa: E402

N = 120


@pytest.fixture(scope="module")
def train():
    random = np.random.RandomState(0)
    return pd.DataFrame(
        {
            "age": random.randint(18, 88, N),
            "pay": np.where(np.arange(N) % 10 == 0, np.nan, random.lognormal(8, 1, N)),
            "job": random.choice(["clerk", "cook", "driver"], N),
            "city": ["Porto", "Lisboa"] * 57 + ["Braga", "Braga", "Faro", "Faro", "Beja", "Beja"],
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.randint(0, 700, N), "D"),
            "flag": random.rand(N) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def encoder(train):
    return TableEncoder().fit(train)


def with_cell(train, column, value, row=3):
    """A few rows with one other cell."""
    found = train[:10].copy()
    cells = found[column].astype(object)
    cells.array[row] = value
    found[column] = pd.Series(cells.tolist(), dtype=object)
    return found


def only_doubt(encoder, frame, row=3):
    checked = encoder.check(frame)
    assert list(checked.doubts) == [row]
    [doubt] = checked.doubts[row]
    assert np.isfinite(encoder.transform(checked.frame)).all()
    return doubt


def test_rows_of_training_are_not_in_doubt(train, encoder):
    checked = encoder.check(train)
    assert checked.doubts == {}
    assert checked.counts() == {}
    np.testing.assert_array_equal(encoder.transform(checked.frame), encoder.transform(train))


UNREADABLE = {
    "age": [
        "forty", True, np.True_, date(2020, 1, 1), pd.Timestamp("2020"), [1], (1, 2), {"a": 1}, 1j,
        b"5", time(8), "1.2.3", np.inf, -np.inf, 1e200, -10**400, "inf", Unread("41.5"),
        Decimal("Infinity"),
    ],
    "since": [
        "soon", "2021-02-30", 1577836800000, 1.5, True, [1], time(8), "01/02/2020",
        timedelta(days=3), Unread("2021-01-01"),
    ],
    "job": [[1], {"a": 1}, {1}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in UNREADABLE.items() for value in values]
)
def test_a_cell_that_cannot_be_read(train, encoder, column, value):
    frame = with_cell(train, column, value)
    why, name, shown, kind = only_doubt(encoder, frame)
    assert (why, name, shown) == ("unreadable", column, str(value))
    assert encoder.check(frame).frame[column].isna().tolist() == [i == 3 for i in range(10)]
    with pytest.raises(ValueError, match=f"column '{column}'"):
        encoder.transform(frame)
    what = {"age": "a number", "since": "a date", "job": "a word"}[column]
    assert f" is not {what}" in str(Doubt(why, name, shown, kind))


READABLE = {
    "age": [
        "41.5", " 41 ", "4e1", np.float32(41), np.int8(41), Decimal("41.5"), Fraction(83, 2),
        timedelta(days=41), pd.Timedelta(days=41), np.timedelta64(41, "D"),
    ],
    "since": [
        "2020-05-05", "2020-05-05 08:30", "2020-05-05T08:30:00+02:00", date(2020, 5, 5),
        datetime(2020, 5, 5, 8), datetime(2020, 5, 5, 8, tzinfo=UTC), np.datetime64("2020-05-05"),
        pd.Timestamp("2020-05-05", tz="Asia/Tokyo"),
    ],
    "job": ["clerk", "Clerk", " COOK ", "drivER"],
    "city": ["Porto", "porto", "Beja", " BEJA", "faro"],
    "flag": [True, np.True_, "True", "TRUE", "true", "false "],
    "pay": [None, np.nan, pd.NA, pd.NaT, "", "NA", "?", Decimal("NaN"), "1e4"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value"), [(name, value) for name, values in READABLE.items() for value in values]
)
def test_a_cell_that_can_be_read(train, encoder, column, value):
    frame = with_cell(train, column, value)
    checked = encoder.check(frame)
    assert checked.doubts == {}
    np.testing.assert_array_equal(encoder.transform(checked.frame), encoder.transform(frame))


def test_cells_mean_the_same_whatever_else_is_in_the_column(train, encoder):
    """A damaged cell changes the type of the whole column, but no other row."""
    clean = encoder.transform(train[:10])
    for column, values in UNREADABLE.items():
        found = encoder.transform(encoder.check(with_cell(train, column, values[0])).frame)
        rest = np.arange(10) != 3
        np.testing.assert_array_equal(found[rest], clean[rest])


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("age", "forty", "age: 'forty' is not a number"),
        ("age", np.inf, "age: 'inf' is not a number up to 1e100"),
        ("age", None, "age: missing, but hardly ever in training"),
        ("age", "", "age: missing, but hardly ever in training"),
        ("age", -999, "age: '-999' is far outside the range of training"),
        ("age", 410, "age: '410' is far outside the range of training"),
        ("age", 1e9, "age: '1000000000' is far outside the range of training"),
        ("pay", 1e9, "pay: '1000000000' is far outside the range of training"),
        ("since", "204-01-01", "since: '204-01-01' is not a date"),
        ("since", "0204-01-01", "since: '0204-01-01' is far outside the range of training"),
        ("since", datetime(2204, 1, 1), "since: '2204-01-01' is far outside the range of training"),
        ("since", pd.NaT, "since: missing, but hardly ever in training"),
        ("job", "baker", "job: 'baker' was not in training"),
        ("job", 7.0, "job: '7' was not in training"),
        ("job", None, "job: missing, but hardly ever in training"),
        ("city", "Viseu", "city: 'Viseu' was not in training"),
        ("flag", 1, "flag: '1' was not in training"),
        ("flag", "yes", "flag: 'yes' was not in training"),
    ],
)
def test_what_is_said_of_a_row(train, encoder, column, value, sentence):
    frame = with_cell(train, column, value)
    assert str(only_doubt(encoder, frame)) == sentence
    assert encoder.check(frame).reasons() == {3: sentence}


def test_an_empty_row(train, encoder):
    frame = train[:5].astype(object)
    frame.iloc[2] = None
    frame.iloc[4] = ["", "", None, None, "", None]
    checked = encoder.check(frame)
    assert checked.reasons() == {2: "the row is empty", 4: "the row is empty"}
    assert checked.counts() == {"": {"empty": 2}}
    frame.iloc[2, 0] = "x"  # there is something, which cannot be read
    assert encoder.check(frame).doubts[2][0] == Doubt("unreadable", "age", "x", "number")


def test_doubts_of_a_row_come_in_the_order_of_the_columns(train, encoder):
    frame = with_cell(train, "age", "x", row=7)
    frame.loc[[7, 2], ["job", "city"]] = ["new", None]
    checked = encoder.check(frame)
    assert checked.reasons() == {
        2: "job: 'new' was not in training; city: missing, but hardly ever in training",
        7: "age: 'x' is not a number; job: 'new' was not in training; "
        "city: missing, but hardly ever in training",
    }
    assert checked.counts() == {
        "job": {"unseen": 2}, "city": {"missing": 2}, "age": {"unreadable": 1}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "other", "why"),
    [
        ("age", pd.Series([True, False] * 5), "unreadable"),
        ("age", pd.Series(["old", "young"] * 5), "unreadable"),
        ("age", pd.Series(["old", "young"] * 5, dtype="category"), "unreadable"),
        ("age", pd.Series(pd.date_range("2020-01-01", periods=10)), "unreadable"),
        ("age", pd.Series(np.ones(10, dtype=complex)), "unreadable"),
        ("since", pd.Series(range(10)), "unreadable"),
        ("job", pd.Series(pd.date_range("2020-01-01", periods=10)), "unreadable"),
        ("job", pd.Series([[1]] * 10), "unreadable"),
        ("job", pd.Series([1.5, 2] * 5), "unseen"),
    ],
)
def test_a_column_that_changed_its_kind(train, encoder, column, other, why):
    checked = encoder.check(train[:10].assign(**{column: other}))
    assert checked.counts() == {column: {why: 10}}
    assert np.isfinite(encoder.transform(checked.frame)).all()


def test_types_of_columns_do_not_matter(train, encoder):
    frame = train[:10].astype({"age": "Int64", "job": "category", "city": "string"})
    frame["pay"] = frame["pay"].astype("Float64")
    frame["since"] = frame["since"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    checked = encoder.check(frame)
    assert checked.doubts == {}
    expected = encoder.transform(train[:10])
    np.testing.assert_allclose(encoder.transform(checked.frame), expected, atol=1e-12)


def test_a_frame_without_rows_or_without_a_column(train, encoder):
    assert encoder.check(train[:0]).doubts == {}
    with pytest.raises(ValueError, match="no column 'job'"):
        encoder.check(train.drop(columns="job"))


def test_the_frame_that_is_given_stays_as_it_is(train, encoder):
    frame = with_cell(train, "age", "x").rename_axis("number")
    before = frame.copy()
    found = encoder.check(frame).frame
    pd.testing.assert_frame_equal(frame, before)
    assert found.index.equals(frame.index)
    assert found.columns.equals(frame.columns)


def test_rows_count_from_zero_whatever_the_index(train, encoder):
    frame = with_cell(train, "age", "x").set_axis([7] * 10)
    assert list(encoder.check(frame).doubts) == [3]


def test_a_model_of_which_only_the_columns_are_known():
    frame = pd.DataFrame({"a": [1.0, "x", None, np.inf], "b": [None, 2.0, None, 1e99]})
    checked = check_table(frame, dict.fromkeys("ab", "number"), {}, {})
    assert checked.reasons() == {
        1: "a: 'x' is not a number",
        2: "the row is empty",
        3: "a: 'inf' is not a number up to 1e100",
    }
    assert checked.frame["a"].dtype == np.float64


def test_a_cell_that_the_reader_refused_is_not_read_in_another_way(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.0, 2.0, 4.0], "w": list("aab")}))
    path = tmp_path / "new.csv"
    path.write_text("n;w\n1,5;a\n2.1;b\n")
    [frame] = read_chunks(path, encoder, decimal=",")
    assert encoder.check(frame).reasons() == {1: "n: '2.1' is not a number"}


# ---- words ----------------------------------------------------------------------------------


def words_frame(words):
    return pd.DataFrame({"w": pd.Series(words, dtype=object), "n": np.arange(len(words)) % 7.0})


def fitted(words, **options):
    return TableEncoder(**options).fit(words_frame(words))


USUAL = ["red"] * 60 + ["blue"] * 40


def test_a_rare_word_is_other_and_a_new_one_is_in_doubt():
    encoder = fitted([*USUAL, "pink", "pink", "Teal"])
    learnt = encoder.learnt_["w"]
    assert learnt["other"]
    assert learnt["rare"] == "".join(sorted([mark_of("pink"), mark_of("teal")]))
    assert "pink" not in repr(encoder.learnt_)
    frame = words_frame(["pink", "teal", " Pink", "violet"])
    assert encoder.check(frame).reasons() == {3: "w: 'violet' was not in training"}
    names = encoder.get_feature_names_out().tolist()
    assert encoder.transform(frame)[:, names.index("w=other")].tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(("n_once", "open"), [(0, False), (1, False), (2, True), (9, True)])
def test_new_words_are_expected_where_many_came_once(n_once, open):
    encoder = fitted([*USUAL, "pink", "pink", *(f"shade {i}" for i in range(n_once))])
    assert (encoder.learnt_["w"]["rare"] is None) == open
    assert (encoder.check(words_frame(["violet"])).doubts == {}) == open


@pytest.mark.parametrize(("n", "open"), [(200, True), (201, False)])
def test_one_word_in_a_hundred_is_the_limit(n, open):
    words = ["red"] * (n - 2) + ["pink", "teal"]
    assert (fitted(words).learnt_["w"]["rare"] is None) == open


def test_another_spelling_is_the_same_word():
    encoder = fitted(USUAL)
    frame = words_frame(["RED ", "Red", "red", "blue", "\tBlue"])
    assert encoder.check(frame).doubts == {}
    expected = encoder.transform(words_frame(["red"] * 3 + ["blue"] * 2))[:, 0]
    np.testing.assert_array_equal(encoder.transform(frame)[:, 0], expected)


def test_spellings_that_training_keeps_apart_stay_apart():
    encoder = fitted([*USUAL, *["Red"] * 30])
    assert encoder.learnt_["w"]["categories"] == ["red", "blue", "Red"]
    frame = words_frame(["RED", "Red", "red"])
    assert encoder.check(frame).reasons() == {0: "w: 'RED' was not in training"}
    assert encoder.transform(frame)[:, :3].tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 0]]


def test_a_rare_spelling_of_one_frequent_word_is_that_word():
    encoder = fitted([*USUAL, "Red", "BLUE"])
    assert encoder.learnt_["w"] == {
        "categories": ["red", "blue"], "other": False, "missing": False, "rare": "",
        "bins": [61, 41, 0, 0, 0],
    }  # fmt: skip
    assert TableEncoder().fit(words_frame(["red"] * 99 + ["Red"])).left_out_ == {"w": "constant"}


@pytest.mark.parametrize("cells", [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.00"], [1, "2"]])
@pytest.mark.parametrize("new", [[1, 2], [1.0, 2.0], ["1", "2"], ["1.0", "2.0"]])
def test_whole_numbers_are_the_same_words_in_any_form(cells, new):
    frame = pd.DataFrame({"w": pd.Series(cells * 20, dtype=object).astype("category")})
    encoder = TableEncoder().fit(frame)
    checked = encoder.check(pd.DataFrame({"w": pd.Series(new, dtype=object)}))
    assert checked.doubts == {}
    np.testing.assert_array_equal(encoder.transform(checked.frame), encoder.transform(frame[:2]))


@pytest.mark.parametrize("cells", [[True, 1], [1, True], [1.0, True, "True"]])
def test_a_truth_value_is_not_a_number(cells):
    encoder = fitted([True, False] * 20)
    doubts = encoder.check(words_frame(cells)).doubts
    assert list(doubts) == [i for i, cell in enumerate(cells) if str(cell) != "True"]


def test_many_rare_words_are_not_kept():
    words = [f"word {i // 2}" for i in range(9000)] + ["usual"] * 900
    assert fitted(words).learnt_["w"]["rare"] is None


# ---- numbers --------------------------------------------------------------------------------


@given(
    st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=2).map(sorted),
    st.sampled_from([0.0, 3652.5]),
)
@example([-0.0003, 0.0001], 0.0)  # a quarter of the width is a power of ten, but for rounding
def test_limits_are_about_a_width_away(ends, least):
    lowest, highest = ends[0], ends[-1]
    low, high = widened(lowest, highest, least)
    assert -1e100 <= low <= lowest <= highest <= high <= 1e100
    width = max(highest - lowest, least) or abs(highest) or 1.0
    assert lowest - low <= max(1.26 * width, 1e-99)
    if width > 1e-6 * max(-lowest, highest) and width > 1e-99:
        if not 0.01 * width < lowest < highest or least:
            assert lowest - low >= min(0.99 * width, lowest + 1e100)
        else:  # or as many times smaller as the range is wide
            assert low <= max(lowest - 0.99 * width, lowest * (lowest / highest))
        assert high - highest >= min(0.99 * width, 1e100 - highest)


def test_limits_do_not_tell_the_ends():
    assert {widened(low, high) for low in (18, 19, 20) for high in (86, 87, 88)} <= {
        (2.0, 160.0), (2.0, 170.0)
    }  # fmt: skip


def test_a_number_that_is_constant_where_it_is_there():
    frame = pd.DataFrame({"n": [5.0, None] * 20, "w": list("ab") * 20})
    encoder = TableEncoder().fit(frame)
    new = pd.DataFrame({"n": [5.0, 0.0, 10.0, 50.0, -5.0], "w": "a"})
    assert list(encoder.check(new).doubts) == [3, 4]


# ---- any table, any damage ------------------------------------------------------------------

ANY = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.datetimes(),
    st.dates(), st.timedeltas(), st.complex_numbers(), st.binary(max_size=3),
    st.lists(st.integers(), max_size=2), st.decimals(allow_nan=False),
    st.sampled_from(["NA", "inf", "1e400", "RED ", "2020-01-01", "-999", Unread("5")]),
)  # fmt: skip
COLUMNS = ("age", "pay", "job", "city", "since", "flag")
PLACES = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(COLUMNS), ANY), max_size=12)


@given(damage=PLACES)
def test_whatever_is_in_a_frame_it_can_be_transformed(train, encoder, damage):
    cells = {name: train[name][:10].astype(object).tolist() for name in COLUMNS}
    for row, column, value in damage:
        cells[column][row] = value
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in cells.items()})
    checked = encoder.check(frame)
    Z = encoder.transform(checked.frame)
    assert np.isfinite(Z).all()
    damaged = {row for row, _, _ in damage}
    assert set(checked.doubts) <= damaged
    whole = [row for row in range(10) if row not in damaged]
    np.testing.assert_array_equal(Z[whole], encoder.transform(train[:10])[whole])
    places = {(row, column) for row, column, _ in damage} | {(row, "") for row in damaged}
    found = {(row, doubt.column) for row, doubts in checked.doubts.items() for doubt in doubts}
    assert found <= places
    again = encoder.check(checked.frame).doubts  # what could not be read is missing now
    assert all(doubt.why != "unreadable" for doubts in again.values() for doubt in doubts)


DAMAGE = {
    "age": st.sampled_from(["x", "4O", "18-25", None, 1e6, -999, 4100, True, "unclear"]),
    "pay": st.sampled_from(["x", 1e9, -1e9, True, "1 or 2"]),
    "job": st.sampled_from(["clark", "baker", None, "3", 5]),
    "city": st.sampled_from(["Viseu", None, "Port"]),
    "since": st.sampled_from(["x", "2020-13-01", "0204-01-01", "2204-01-01", None, 20200101]),
    "flag": st.sampled_from(["maybe", None, 2]),
}


@given(data=st.data())
def test_damage_is_always_found(train, encoder, data):
    row, column = data.draw(st.integers(0, 9)), data.draw(st.sampled_from(COLUMNS))
    doubt = only_doubt(encoder, with_cell(train, column, data.draw(DAMAGE[column]), row), row)
    assert doubt.column == column


tables = st.lists(
    st.tuples(
        st.none() | st.floats(-1e100, 1e100),
        st.none() | st.text(max_size=2),
        st.none() | st.datetimes(),
        st.none() | st.booleans(),
    ),
    min_size=2,
    max_size=40,
)


@given(rows=tables, min_count=st.integers(1, 5))
def test_no_row_of_training_is_in_doubt(rows, min_count):
    number, word, day, flag = zip(*rows, strict=True)
    frame = pd.DataFrame(
        {
            "fixed": np.arange(len(rows)) % 2,
            "number": pd.Series(number, dtype=float),
            "word": pd.Series(word, dtype=object),
            "day": pd.Series(day, dtype="datetime64[us]"),
            "flag": pd.Series(flag, dtype="boolean"),
        }
    )
    encoder = TableEncoder(min_count=min_count).fit(frame)
    assert encoder.check(frame).doubts == {}


@pytest.mark.parametrize("gaps", [1, 4, 5])
def test_a_few_gaps_in_training_are_too_few_to_learn_from(gaps):
    frame = pd.DataFrame({"age": np.arange(200) % 37.0, "job": ["clerk", "cook"] * 100})
    frame.loc[: gaps - 1, "age"] = np.nan
    frame.loc[50 : 49 + gaps, "job"] = None
    new = pd.DataFrame({"age": [3.0, np.nan, 4.0], "job": ["cook", "clerk", None]})
    encoder = TableEncoder().fit(frame)
    assert list(encoder.check(new).doubts) == ([1, 2] if gaps < 5 else [])
    assert ("age missing" in encoder.get_feature_names_out()) == (gaps >= 5)


def test_strings_in_a_frame_are_read_as_in_a_file():
    frame = pd.DataFrame(
        {"weight": np.arange(50.0) % 17, "since": pd.date_range("2024-01-01", periods=50)}
    )
    written = {"weight": {"decimal": ",", "unit": "kg"}, "since": {"format": "%d.%m.%Y"}}
    encoder = TableEncoder(written=written).fit(frame)
    new = pd.DataFrame({
        "weight": [4.0, "12,5 kg", "n/a", "12 lb"],
        "since": [pd.Timestamp("2024-01-05"), "3.2.2024", "#N/A", "01.02.2024"],
    })  # fmt: skip
    checked = encoder.check(new)
    assert checked.frame["weight"].tolist()[:2] == [4.0, 12.5]
    assert [str(doubt) for doubt in checked.doubts[3]] == ["weight: '12 lb' is not a number in kg"]
    assert list(checked.doubts) == [2, 3]
