"""One table in every format: the same columns, the same model, the same decisions."""

import json
import sqlite3

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("python_calamine")
xlsxwriter = pytest.importorskip("xlsxwriter")

import pyarrow.parquet as pq  # noqa: E402

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables.sources import open_source  # noqa: E402
from tests.tables.messy.make import files  # noqa: E402

FORMATS = ("xlsx", "jsonl", "parquet", "sql")


def written(folder, columns, ending):
    """Write columns of Python values; return the name of the table."""
    path, names = folder / f"t.{ending}", list(columns)
    rows = list(zip(*columns.values(), strict=True))
    if ending == "csv":
        pd.DataFrame(columns, dtype=object).to_csv(path, index=False)
    elif ending == "xlsx":
        with xlsxwriter.Workbook(path) as book:
            sheet = book.add_worksheet()
            day = book.add_format({"num_format": "yyyy-mm-dd"})
            for i, row in enumerate([names, *rows]):
                for j, cell in enumerate(row):
                    if isinstance(cell, str):
                        sheet.write_string(i, j, cell)
                    elif hasattr(cell, "year"):
                        sheet.write_datetime(i, j, cell, day)
                    elif cell is not None:
                        sheet.write_number(i, j, cell)
    elif ending == "jsonl":
        lines = [dict(zip(names, row, strict=True)) for row in rows]
        path.write_text("".join(json.dumps(line, default=str) + "\n" for line in lines))
    elif ending == "parquet":
        pq.write_table(pa.table({name: pa.array(cells) for name, cells in columns.items()}), path)
    else:
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as base:
            base.execute(f"CREATE TABLE t ({', '.join(map(json.dumps, names))})")
            marks = ", ".join("?" * len(names))
            base.executemany(
                f"INSERT INTO t VALUES ({marks})",
                [[str(c) if hasattr(c, "year") else c for c in row] for row in rows],
            )
        base.close()
        return f"sqlite:///{path}"
    return path


def outcome(path, **options):
    """What is read, or what is wrong."""
    try:
        table = read_table(path, **options)
    except TableError as error:
        return error.parameter, error.problem
    return table


MESSY = {what: messy for what, messy in files().items() if "row numbers" not in what}


@pytest.mark.parametrize("what", MESSY)
def test_messy_cells_mean_the_same_in_every_format(tmp_path, what):
    """The cells of each messy file, as strings in a workbook, JSON, Parquet and a database."""
    messy = MESSY[what]
    path = tmp_path / messy.name
    path.write_bytes(messy.data)
    expected = outcome(path, **messy.options)
    if isinstance(expected, tuple) and expected[0] in (None, "encoding"):
        return  # about the file, not about cells
    columns = {}
    with open_source(path) as source:
        for piece in source.pieces(None, (), 1000):
            for name, array in piece.columns.items():
                if not name.startswith("\0"):
                    columns.setdefault(name, []).extend(c or None for c in array.to_pylist())
    for ending in FORMATS:
        found = outcome(written(tmp_path, columns, ending), **messy.options)
        if isinstance(expected, tuple):
            assert found == expected, ending
            continue
        assert not isinstance(found, tuple), (ending, found)
        pd.testing.assert_frame_equal(found.frame, expected.frame, obj=ending)
        for name, reading in expected.readings.items():
            other = found.readings[name]
            assert (other.kind, other.unit, other.n_missing, other.n_odd) == (
                reading.kind, reading.unit, reading.n_missing, reading.n_odd,
            ), ending  # fmt: skip


def typed_columns(random, n):
    """Numbers, dates and words with their own types, gaps and a code for missing values."""
    pay = np.round(np.exp(random.normal(8, 1, n)), 2).tolist()
    months = random.randint(1, 60, n).tolist()
    for i in random.randint(n, size=n // 10):
        months[i] = -999
    for i in random.randint(n, size=n // 20):
        pay[i] = None
    days = [
        pd.Timestamp(2010, 1, 1) + pd.Timedelta(days=int(d)) for d in random.randint(0, 3000, n)
    ]
    return {
        "pay": pay,
        "months": months,
        "born": [day.to_pydatetime() for day in days],
        "job": random.choice(["clerk", "cook", "driver"], n).tolist(),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_same_columns_models_and_decisions(tmp_path, seed):
    from sklearn.linear_model import LogisticRegression

    random = np.random.RandomState(seed)
    columns, new = typed_columns(random, 200), typed_columns(random, 60)
    y = random.randint(2, size=200)
    encoded, states, decided = [], [], []
    for ending in ("csv", *FORMATS):
        table = read_table(written(tmp_path, columns, ending), missing=["-999"])
        encoder = TableEncoder(written=table.written, reading=table.reading).fit(table.frame)
        states.append((encoder.kinds_, encoder.learnt_, encoder.reading_, encoder.written_))
        encoded.append(encoder.transform(table.frame))
        model = LogisticRegression().fit(encoded[-1], y)
        frames = list(read_chunks(written(tmp_path, new, ending), encoder, rows=25))
        doubts = [encoder.check(frame).reasons() for frame in frames]
        parts = [model.predict_proba(encoder.transform(frame)) for frame in frames]
        decided.append((doubts, np.concatenate(parts).tolist()))
    for other in range(1, len(encoded)):
        assert states[other] == states[0]
        np.testing.assert_array_equal(encoded[other], encoded[0])
        assert decided[other] == decided[0]
    assert not any(decided[0][0])  # -999 is missing in new files too


@pytest.mark.parametrize("ending", ["csv", *FORMATS])
def test_a_number_for_missing_values_is_remembered(tmp_path, ending):
    columns = {"x": [1.5, 2.5, -999.0, 3.5] * 10, "w": ["a", "b", "c", "-999"] * 10}
    table = read_table(written(tmp_path, columns, ending), missing=["-999"])
    assert table.frame["x"].isna().sum() == table.frame["w"].isna().sum() == 10
    encoder = TableEncoder().fit(table.frame)
    assert encoder.reading_["missing"] == ["-999"]
    (frame,) = read_chunks(written(tmp_path, {"x": [-999, 2], "w": ["-999", "a"]}, ending), encoder)
    assert frame["x"].isna().tolist() == frame["w"].isna().tolist() == [True, False]


def test_options_of_training_hold_for_new_files(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Year;GOOD\n" + "1.500;Good\n2.250;GOOD\n900;bad\n1.100;bad\n" * 5)
    options = {"thousands": ".", "exact": True, "rename": {"Year": "pay"}}
    table = read_table(path, **options)
    assert table.reading == options
    encoder = TableEncoder(min_count=1).fit(table.frame)
    path.write_text("Year;GOOD\n1.234;GOOD\n2.000;Good\n")
    (frame,) = read_chunks(path, encoder)
    assert frame["pay"].tolist() == [1234.0, 2000.0]
    assert frame["GOOD"].tolist() == ["GOOD", "Good"]
    assert not encoder.check(frame).doubts


@pytest.mark.parametrize(
    "title", ["Loans of March\n\n", "Loans\nprinted on Monday\n", "# by hand\n"]
)
def test_titles_above_the_header(tmp_path, title):
    path, text = tmp_path / "a.csv", "age,job,pay\n31,cook,5\n42,clerk,6\n"
    path.write_text(title + text)
    line = title.count("\n") + 1
    for header in (True, line):
        table = read_table(path, header=header)
        assert list(table.frame) == ["age", "job", "pay"]
        assert len(table.frame) == 2
    with pytest.raises(TableError, match="row 99") as caught:
        read_table(path, header=99)
    assert caught.value.parameter == "header"


def test_the_header_is_the_row_with_the_names_that_are_needed(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}))
    path = tmp_path / "a.csv"
    path.write_text("from,to\n2024-01-01,2024-01-07\n\nb,a\nx,3\n")
    (frame,) = read_chunks(path, encoder)
    assert frame["a"].tolist() == [3.0]


def test_another_name_of_a_column(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"income": [1.0, 2.0, 4.0], "b": ["x", "y", "x"]}))
    for ending in ("csv", *FORMATS):
        path = written(tmp_path, {"Annual income": [3.0], "b": ["x"]}, ending)
        with pytest.raises(TableError, match="rename='Annual income=income'") as caught:
            list(read_chunks(path, encoder))
        assert caught.value.parameter == "rename"
        (frame,) = read_chunks(path, encoder, rename={"Annual income": "income"})
        assert frame["income"].tolist() == [3.0]
    with pytest.raises(TableError, match="no column 'x'"):
        read_table(path, rename={"x": "y"})
    path = written(tmp_path, {"Income": [3.0], "B": ["x"], "c": [1]}, "csv")
    with pytest.raises(TableError, match="rename='Income=income,B=b'"):
        list(read_chunks(path, encoder))


def test_the_same_key_twice_is_in_doubt(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 4.0]}))
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a": 2, "a": 3}\n')
    (frame,) = read_chunks(path, encoder)
    assert encoder.check(frame).reasons() == {1: "the row has 'a' twice"}
    with pytest.raises(TableError, match="row 2: the row has 'a' twice"):
        read_table(path)
