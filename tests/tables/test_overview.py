"""What may surprise about the columns of a table."""

import numpy as np
import pandas as pd
import pytest

from rejo.tables.overview import codes_for_missing, describe_kinds, find_remarks, like_ids
from rejo.tables.reading import Reading


def test_examples_are_apart_from_the_rest():
    """What may go into a file has no value of a row."""
    frame = pd.DataFrame({"age": [1.0, 2.0]})
    remarks = ("12 cells have no unit", ""), ("points and commas", ": '2.100' is read as 2100")
    reading = Reading("number", unit="kg", n_odd=3, odd=("tbd", "see file"), remarks=remarks)
    odd, unit, bare, written = find_remarks(frame, {"age": reading}, {1: "row numbers"})[1:]
    assert odd.line() == "age: 3 cells are not numbers, read as missing ('tbd', 'see file')"
    assert odd.line(examples=False) == "age: 3 cells are not numbers, read as missing"
    assert unit.line() == "age: numbers with the unit 'kg'"
    assert bare.line(examples=False) == "age: 12 cells have no unit"
    assert "'2.100' is read as 2100" in written.line()
    assert "2100" not in written.line(examples=False)


def test_a_column_without_a_name():
    (remark,) = find_remarks(pd.DataFrame({"a": [0.5]}), {}, {1: "row numbers"})
    assert remark.line() == "column 1 has no name and is left out (row numbers)"


@pytest.mark.parametrize(
    ("name", "values", "like"),
    [
        ("x", np.arange(50) * 3 + 17, True),
        ("customer_id", np.random.RandomState(0).permutation(50), True),
        ("x", np.random.RandomState(0).permutation(50), False),
        ("x", 100_000 + np.random.RandomState(0).permutation(50), True),
        ("customer_id", np.arange(50) // 2, False),
        ("customer_id", np.arange(50) / 7, False),
    ],
)
def test_identifiers(name, values, like):
    assert bool(like_ids(name, values.astype(float))) == like


@pytest.mark.parametrize(
    ("values", "codes"),
    [
        ([*range(18, 90), -999, -999], [(-999.0, 2)]),
        ([*range(18, 90), 9999, 9999, -99, -99], [(9999.0, 2)]),
        ([*range(18, 90), 99, 99], []),
        ([*range(18, 90), 10_000.0], []),
        ([*range(10), 99, 99, np.nan], [(99.0, 2)]),
        ([0, 1] * 50, []),
        ([-999] * 3 + [*range(0, 200_000, 500)], [(-999.0, 3)]),  # the only ones below 0
        ([-99] * 3 + [*range(-5, 20_000, 50)], []),
    ],
)
def test_codes_for_missing(values, codes):
    assert [code for code in codes_for_missing(np.array(values, float)) if code in codes] == codes
    if not codes:
        assert codes_for_missing(np.array(values, float)) == []


def test_many_columns_are_cut():
    (line,) = describe_kinds({f"column {i}": "number" for i in range(400)})
    assert line.startswith("400 numbers: column 0, column 1, ")
    assert line.endswith(" more")
    assert len(line) < 350


def test_words_for_missing_values():
    gaps = "2 cells read as missing", " ('n/a' or 'tbd')"
    reading = Reading("number", n_odd=1, remarks=(gaps,))
    odd, gaps = find_remarks(pd.DataFrame({"age": [0.5]}), {"age": reading})
    assert odd.line() == "age: 1 cell is not a number, read as missing"
    assert gaps.line() == "age: 2 cells read as missing ('n/a' or 'tbd')"
    assert gaps.line(examples=False) == "age: 2 cells read as missing"
