"""Commands on every format: the same table, the same decisions, and no password anywhere."""

import json
import os
import sqlite3
from datetime import datetime

import pytest

pd = pytest.importorskip("pandas")

from rejo.tables import read_table  # noqa: E402

PASSWORD = "s3cr3t"


@pytest.fixture
def write(folder):
    """Write a frame in a format; return what names it."""

    def named(frame, stem, ending):
        path = folder / f"{stem}.{ending}"
        if ending == "xlsx":
            pytest.importorskip("openpyxl")
            dates = [d if pd.isna(d) else datetime.fromisoformat(d) for d in frame["since"]]
            frame.assign(since=pd.Series(dates, dtype=object)).to_excel(path, index=False)
        elif ending == "parquet":
            pytest.importorskip("pyarrow")
            frame.to_parquet(path)
        elif ending == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        elif ending == "db":
            pytest.importorskip("sqlalchemy")
            with sqlite3.connect(path) as connection:
                frame.to_sql("cases", connection, index=False)
            connection.close()
            return f"sqlite:///{path}#cases"
        else:
            frame.to_csv(path, index=False)
        return str(path)

    return named


INPUTS = ["csv.gz", "xlsx", "jsonl", "parquet", "db"]


@pytest.mark.check
@pytest.mark.parametrize("ending", INPUTS)
def test_a_model_is_the_same_from_every_format(run, write, table, ending):
    options = ["--target", "grade", "--id", "case", "--review-budget", "0.2", "--model", "logistic"]
    hashes = []
    for data in (write(table(), "plain", "csv"), write(table(), "cases", ending)):
        code, _, err = run("train", data, *options, "-o", "m.rejo", "--overwrite")
        assert code == 0, err
        hashes.append(json.loads(run("inspect", "m.rejo", "--json")[1])["data_hash"])
    assert hashes[0] == hashes[1]


@pytest.mark.parametrize("ending", INPUTS)
def test_decisions_are_the_same_from_every_format(run, write, table, model, folder, ending):
    frame = table(60, seed=3)
    assert run("predict", model, write(frame, "plain", "csv"), "-o", "a.csv")[0] == 0
    code, _, err = run("predict", model, write(frame, "new", ending), "-o", "b.csv")
    assert code == 0, err
    assert (folder / "b.csv").read_text() == (folder / "a.csv").read_text()


@pytest.mark.parametrize(
    "output", ["b.csv.gz", "b.tsv", "b.xlsx", "b.jsonl", "b.parquet", "sqlite:///b.db#d"]
)
def test_decisions_are_the_same_in_every_format(run, model, cases, folder, output):
    pytest.importorskip("pyarrow" if "parquet" in output else "sqlalchemy")
    code, out, err = run("predict", model, cases, "-o", output)
    assert code == 0, err
    assert output in out
    assert run("predict", model, cases, "-o", "a.csv")[0] == 0
    kept = ["case", "decision", "suggested", "reason", "detail", "lower", "upper"]
    a, b = (read_table(name, text=kept).frame for name in ("a.csv", output))
    assert list(b) == list(a)
    pd.testing.assert_frame_equal(b, a)
    code, _, err = run("predict", model, cases, "-o", output)
    assert (code, "--overwrite" in err) == (2, True)
    assert run("predict", model, cases, "-o", output, "--overwrite")[0] == 0


@pytest.mark.parametrize("output", ["d.xls", "d", "d.txt", "d.csv.xlsx.zip", "https://h/d.csv"])
def test_an_output_that_says_no_format_is_refused_before_any_work(refused, model, folder, output):
    before = os.listdir(folder)
    refused(2, "predict", model, "none.csv", "-o", output)
    assert os.listdir(folder) == before


def test_sheets_and_queries(run, refused, write, table, model, folder):
    openpyxl = pytest.importorskip("openpyxl")
    pytest.importorskip("sqlalchemy")
    path = write(table(20), "new", "xlsx")
    book = openpyxl.load_workbook(path)
    book.create_sheet("Notes").append(["ask Anna"])
    book.save(path)
    assert "--sheet Sheet1" in refused(3, "predict", model, path, "-o", "a.csv")
    assert run("predict", model, path, "--sheet", "Sheet1", "-o", "a.csv")[0] == 0
    data = write(table(20), "new", "db").removesuffix("#cases")
    query = "select * from cases where \"case\" < '0011'"
    assert run("predict", model, data, "--query", query, "-o", "b.csv")[0] == 0
    assert len((folder / "b.csv").read_text().splitlines()) == 11
    assert "'case'" in refused(3, "look", data, "--query", "case")


def test_a_password_is_nowhere(run, write, table, folder, monkeypatch):
    """A database cannot be named without its password, but nothing that is kept has it."""
    pytest.importorskip("sqlalchemy")
    data = write(table(), "cases", "db").removesuffix("#cases")
    from rejo.tables import _sql

    def same_file(self, url):
        original(self, data if PASSWORD in url else url)
        self.name, self.table = _sql.name_of(url), "cases"

    original = _sql.Database.__init__
    monkeypatch.setattr(_sql.Database, "__init__", same_file)
    url = f"postgresql://me:{PASSWORD}@h/d?password={PASSWORD}#cases"
    options = ["--target", "grade", "--id", "case", "--review-budget", "0.2", "--model", "logistic"]
    said = [run("look", url, "--target", "grade")]
    said.append(run("train", url, *options, "-o", "m.rejo", "--report", "r.html"))
    said.append(run("evaluate", "m.rejo", url, "--report", "e.html"))
    said.append(run("predict", "m.rejo", url, "-o", "d.csv", "--json"))
    said.append(run("predict", "m.rejo", url, "-o", url))
    said.append(run("inspect", "m.rejo"))
    assert [code for code, _, _ in said] == [0, 0, 0, 0, 2, 0], said
    assert not any(PASSWORD in out + err for _, out, err in said)
    for name in ("m.rejo", "r.html", "e.html", "d.csv"):
        assert PASSWORD.encode() not in (folder / name).read_bytes()
    assert b"postgresql://me@h/d#cases" in (folder / "r.html").read_bytes()
