"""Numbers, dates and words in any style: read back equal, or the reader asks."""

from datetime import date, datetime

import numpy as np
import pytest
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables.dates import FORMATS, read_date  # noqa: E402
from rejo.tables.numbers import number, read_cell, same_unit  # noqa: E402
from rejo.tables.values import merged  # noqa: E402
from tests.some_and_many import some_and_many  # noqa: E402

STYLES = st.fixed_dictionaries(
    {
        "digits": st.integers(0, 4),
        "decimal": st.sampled_from(".,"),
        "by": st.sampled_from(["", "other", " ", "'", "\u00a0", "\u202f"]),
        "beside": st.sampled_from(
            ["{}", "${}", "€ {}", "CHF {}", "R$ {}", "{}%", "{} %", "{} kg", "{} m²", "{} EUR"]
        ),
        "minus": st.sampled_from(["-{}", "({})", "\u2212{}"]),
        "trim": st.booleans(),
    }
)


def written(value, style):
    text = f"{abs(value):,.{style['digits']}f}"
    if style["trim"] and "." in text:
        text = text.rstrip("0").rstrip(".")
    by = style["by"].replace("other", "," if style["decimal"] == "." else ".")
    text = text.replace(",", "\0").replace(".", style["decimal"]).replace("\0", by)
    text = style["beside"].format(text)
    return style["minus"].format(text) if value < 0 else text


def numbers_read_back_equal_or_the_reader_asks(tmp_path_factory, values, size, style, sep):
    values = [value // size / 10 ** style["digits"] for value in values]
    cells = [written(value, style) for value in values]
    path = tmp_path_factory.mktemp("styles") / "a.csv"
    path.write_text(f"x{sep}w\n" + "".join(f"{cell}{sep}a\n" for cell in cells))
    try:
        table = read_table(path)
    except TableError as error:
        assert (error.parameter, "column 'x'" in error.where) == ("decimal", True)  # noqa: PT017
        table = read_table(path, decimal=style["decimal"])
    assert table.readings["x"].kind == "number"
    assert table.readings["x"].n_odd == 0
    np.testing.assert_allclose(table.frame["x"], values, rtol=1e-12)
    if len(set(values)) < 2 or len(values) > 9:
        return
    # A file in the same style means the same in prediction.
    encoder = TableEncoder().fit(table.frame[["x"]])
    (frame,) = read_chunks(path, encoder, decimal=style["decimal"])
    np.testing.assert_allclose(frame["x"], values, rtol=1e-12)


test_numbers, test_many_numbers = some_and_many(
    numbers_read_back_equal_or_the_reader_asks,
    60,
    300,
    values=st.lists(st.integers(-99_999_999, 99_999_999), min_size=1, max_size=30),
    size=st.sampled_from([1, 10**3, 10**5]),
    style=STYLES,
    sep=st.sampled_from(";\t|"),
)


def dates_read_back_equal_or_the_reader_asks(tmp_path_factory, days, formats):
    cells = [f"{day:{formats[i % len(formats)]}}" for i, day in enumerate(days)]
    path = tmp_path_factory.mktemp("dates") / "a.csv"
    path.write_text("x;w\n" + "".join(f"{cell};a\n" for cell in cells))
    try:
        table = read_table(path)
    except TableError as error:
        assert error.parameter == "words"  # noqa: PT017
        assert read_table(path, words=["x"]).frame["x"].tolist() == cells
        return
    if {format[:2] for format in formats if "/" in format or "%d-" in format} >= {"%d", "%m"}:
        return  # two orders: unclear cells follow the clear ones
    assert table.readings["x"].kind == "date"
    assert [day.date() for day in table.frame["x"]] == days


test_dates, test_many_dates = some_and_many(
    dates_read_back_equal_or_the_reader_asks,
    40,
    200,
    days=st.lists(st.dates(date(1970, 1, 1), date(2060, 1, 1)), min_size=1, max_size=20),
    formats=st.lists(st.sampled_from(FORMATS), min_size=1, max_size=3),
)


@pytest.mark.parametrize(
    ("word", "with_point", "with_comma"),
    [
        ("2.100", 2.1, 2100), ("0.420", 0.42, None), ("1234.567", 1234.567, None),
        ("1.234.567", None, 1234567), ("1.234,50", None, 1234.5), ("1,234.50", 1234.5, None),
        ("1,23,456", 123456, None), ("12,34", None, 12.34), ("1.2e3", 1200, None),
        ("(5)", -5, -5), ("5-", -5, -5), ("-$5", -5, -5), ("$-5", -5, -5), ("1200,-", None, 1200),
        ("5 000 €", 5000, 5000), ("1'234.5", 1234.5, None), ("Rs.1,23,456", 123456, None),
        ("1 2345", None, None), ("1.23.456", None, None), ("A12", None, None), ("Q1", None, None),
        ("1/2", None, None), ("12:30", None, None), ("10-20", None, None), ("<5", None, None),
        ("--5", None, None), ("(-5)", None, None), ("(5", None, None), ("1_000", None, None),
        ("0x1F", None, None), ("5 of 10", None, None), ("\u0663", None, None), ("", None, None),
    ],
)  # fmt: skip
def test_cells(word, with_point, with_comma):
    for decimal, expected in ((".", with_point), (",", with_comma)):
        found = read_cell(word, decimal)
        assert (found and found.value) == expected


@pytest.mark.parametrize(
    ("word", "unit", "expected"),
    [
        ("12 kg", "kg", 12), ("12", "kg", 12), ("12 lb", "kg", None), ("$12", "", 12),
        ("12%", "", None), ("12 months", "month", 12), ("12", "k", None), ("€12", "$", None),
        ("12 USD", "$", 12), ("5 MW", "mW", None),
    ],
)  # fmt: skip
def test_units_in_prediction(word, unit, expected):
    assert number(word, ".", unit) == expected


def test_spellings_of_units():
    assert same_unit("months") == same_unit("Month")
    assert same_unit("$") == same_unit("USD")
    assert same_unit("m") != same_unit("ms")
    assert same_unit("MW") != same_unit("mW")


@pytest.mark.parametrize(
    "part", ["1", "1.", "1,234", "1 ", "(", "$", "9a", "-", "1,23", "0", "1-", "e1"]
)
def test_hostile_cells_take_no_time(part):
    """A pattern that goes back and forth would not end."""
    for size in (50, 390, 100_000):
        word = part * (size // len(part))
        found = [read_cell(word, decimal) for decimal in ".,"]
        assert size < 100_000 or found == [None, None]
        assert not read_date(word)
        assert merged({word: 1}) == {}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("3 Feb 2024", datetime(2024, 2, 3)), ("Feb 3, 2024", datetime(2024, 2, 3)),
        ("03-Feb-24", datetime(2024, 2, 3)), ("3. Februar 2024", datetime(2024, 2, 3)),
        ("2/13/2024 2:30 PM", datetime(2024, 2, 13, 14, 30)), ("3.2.69", datetime(1969, 2, 3)),
        ("2024-02-03T10:20Z", datetime(2024, 2, 3, 10, 20)), ("2024.02.03", datetime(2024, 2, 3)),
        ("March 3rd, 2024", datetime(2024, 3, 3)), ("13/13/2024", None), ("24-02-03", None),
        ("2024-02-30", None), ("3 Foo 2024", None), ("13:00", None), ("1.2", None),
    ],
)  # fmt: skip
def test_days(word, expected):
    assert set(read_date(word).values()) == ({expected} if expected else set())


# ---- prediction --------------------------------------------------------------------------------


def fitted(tmp_path, text):
    path = tmp_path / "training.csv"
    path.write_text(text)
    return TableEncoder(min_count=1).fit(read_table(path).frame)


def chunk(tmp_path, encoder, text, **options):
    path = tmp_path / "new.csv"
    path.write_text(text)
    (frame,) = read_chunks(path, encoder, **options)
    return frame


def test_a_file_is_read_as_its_own_cells_show_and_else_as_in_training(tmp_path):
    encoder = fitted(tmp_path, "x;y\n2.100;1,5\n420;2,5\n1.315;3,7\n")
    assert encoder.written_["x"]["decimal"] == ","
    frame = chunk(tmp_path, encoder, "x;y\n2.315;4\n")
    assert frame["x"].tolist() == [2315]  # as in training
    frame = chunk(tmp_path, encoder, "x;y\n2315.5;4.25\n1.315;1.5\n")
    assert frame["x"].tolist() == [2315.5, 1.315]  # a file with decimal points
    # The other column shows decimal points, but numbers were about 1,000 in training.
    frame = chunk(tmp_path, encoder, "x,y\n2.315,4.25\n3.111,1.5\n")
    assert [str(d) for row in encoder.check(frame).doubts.values() for d in row] == [
        "x: '2.315' may have a decimal mark or one between thousands",
        "x: '3.111' may have a decimal mark or one between thousands",
    ]
    frame = chunk(tmp_path, encoder, "x,y\n2.315,4.25\n3.111,1.5\n", decimal=".")
    assert frame["x"].tolist() == [2.315, 3.111]
    frame = chunk(tmp_path, encoder, "x,y\n2.315,4\n", thousands=".")
    assert frame["x"].tolist() == [2315]


def test_words_for_missing_values_in_prediction(tmp_path):
    encoder = fitted(tmp_path, "x,d,w\n1,2020-01-01,a\n2,2020-01-05,none\n4,,a\n")
    frame = chunk(tmp_path, encoder, "x,d,w\nn/a,-,none\n#N/A,n/a,a\n#DIV/0!,2020-01-02,-\n")
    assert frame["x"].isna().all()
    assert frame["x"].dtype == np.float64
    assert frame["d"].isna().tolist() == [True, True, False]
    assert frame["w"].tolist() == ["none", "a", "-"]


def test_what_is_not_the_number_of_training_stays_a_string(tmp_path):
    encoder = fitted(tmp_path, "x,y\n1 kg,1\n2 kg,2\n4 kg,5\n")
    assert encoder.written_["x"] == {"decimal": ".", "unit": "kg"}
    frame = chunk(tmp_path, encoder, 'x,y\n3 kg,$5\n5,"1,234,567"\n7 lb,12%\nforty,1-2\n')
    assert frame["x"].tolist() == [3, 5, "7 lb", "forty"]
    assert frame["y"].tolist() == [5, 1234567, "12%", "1-2"]


def test_the_order_of_day_and_month_is_that_of_the_file(tmp_path):
    encoder = fitted(tmp_path, "d,y\n02/13/2024,1\n03/04/2024,2\n12/31/2023,5\n")
    frame = chunk(tmp_path, encoder, "d,y\n03/04/2024,1\n")
    assert frame["d"].tolist() == [pd.Timestamp(2024, 3, 4)]
    frame = chunk(tmp_path, encoder, "d,y\n03/04/2024,1\n13/04/2024,1\n25/12/2024,1\n")
    assert frame["d"].tolist()[0] == pd.Timestamp(2024, 4, 3)
    frame = chunk(tmp_path, encoder, "d,y\n03/04/2024,1\n13/04/2024,1\n12/25/2024,1\n")
    assert frame["d"].tolist() == [datetime(2024, 3, 4), "13/04/2024", datetime(2024, 12, 25)]


def test_spellings_of_training(tmp_path):
    encoder = fitted(tmp_path, "w,y\nGood,1\nGood,2\nBad,3\nGOOD,5\n")
    assert encoder.learnt_["w"]["categories"] == ["Good", "Bad"]
    frame = chunk(tmp_path, encoder, "w,y\ngood ,1\nBAD,2\nnew,3\n")
    assert frame["w"].tolist() == ["Good", "Bad", "new"]
    frame = chunk(tmp_path, encoder, "w,y\ngood ,1\n", exact=True)
    assert frame["w"].tolist() == ["good"]


def test_spellings_are_kept_apart_if_asked(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("w,y\nGood,1\nGOOD,2\nGood,3\n")
    assert set(read_table(path).frame["w"]) == {"Good"}
    assert set(read_table(path, exact=True).frame["w"]) == {"Good", "GOOD"}
    assert merged({"0": 5, "0.0": 2, "1": 1, "1.0": 4}) == {"0.0": "0", "1": "1.0"}
    assert merged({"007": 1, "7": 1, "12345678901234567890": 1, "12345678901234567891": 1}) == {}


def test_mostly_numbers_read_as_words_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,y\n" + "".join(f"{'abc' if i % 4 == 0 else i},1\n" for i in range(40)))
    reading = read_table(path).readings["x"]
    assert reading.kind == "category"
    assert reading.remarks == (("read as words: 30 of 40 cells are numbers", ", but not 'abc'"),)
