"""JSON files: an object for each row."""

import gzip
import json
import os
import re

import pytest

pd = pytest.importorskip("pandas")

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables.errors import FIELD, ROW  # noqa: E402

ROWS = [
    {"id": "007", "age": 31, "pay": 2.1, "since": "2020-01-31", "job": "clerk", "ok": True},
    {"id": "008", "age": None, "pay": 420, "since": "2020-02-01", "job": " cook ", "ok": False},
    {"id": "009", "pay": 1.234, "since": None, "job": "", "ok": True, "late": 5},
]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("ending", "content"),
    [
        ("jsonl", lines(ROWS)),
        ("ndjson", "\n" + lines(ROWS).replace("\n", "\r\n\r\n")),
        ("json", lines(ROWS).rstrip()),
        ("json", json.dumps(ROWS)),
        ("JSON", "\ufeff" + json.dumps(ROWS, indent=2)),
        ("json", "\n".join(json.dumps(row, indent=1) for row in ROWS)),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_every_way_to_write_rows(tmp_path, ending, content, packed):
    path = tmp_path / f"a.{ending}{'.gz' * packed}"
    data = content.encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    table = read_table(path, text=["id"])
    assert table.frame["id"].tolist() == ["007", "008", "009"]
    assert table.frame["pay"].tolist() == [2.1, 420.0, 1.234]
    assert table.frame["age"].isna().tolist() == [False, True, True]
    assert table.frame["late"].isna().tolist() == [True, True, False]
    assert table.frame["job"].tolist() == ["clerk", "cook", None]
    assert table.frame["ok"].tolist() == ["True", "False", "True"]
    assert {name: r.kind for name, r in table.readings.items()} == {
        "id": "text", "age": "number", "pay": "number", "since": "date", "job": "category",
        "ok": "category", "late": "number",
    }  # fmt: skip
    assert table.path == os.fspath(path)


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_chunks(tmp_path, rows):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(ROWS * 4))
    whole = read_table(path, text=["id"])
    encoder = TableEncoder(written=whole.written).fit(whole.frame.drop(columns="id"))
    new = [
        {"id": 7, "age": "n.k.", "pay": "5", "since": "soon", "job": 3, "ok": 1, "late": True},
        *ROWS,
        {"id": 12345678901234567890, "age": 1e5},
    ]
    path.write_text(lines(new))
    frames = list(read_chunks(path, encoder, text=["id", "x"], optional=["x"], rows=rows))
    assert max(map(len, frames)) <= rows
    frame = pd.concat([frame.astype(object) for frame in frames])
    assert frame["id"].tolist() == ["7", "007", "008", "009", "12345678901234567890"]
    assert frame["age"].tolist()[:2] == ["n.k.", 31.0]
    assert frame["pay"].tolist()[0] == 5.0
    assert frame["late"].tolist()[0] == "True"
    assert frame["since"].tolist()[0] == "soon"
    assert frame["job"].tolist()[:2] == ["3", "clerk"]
    assert frame["age"].tolist()[-1] == 1e5


def refused(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert str(caught.value).isprintable()
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "the file is empty"),
        ("  \n ", "the file is empty"),
        ("a,b\n1,2\n", "give it the ending .csv"),
        ('{"a": 1}\n{"a": 2\n{"a": 3}\n', "line 2: this is not the JSON"),
        ('{"a": 1}\n[2]\n', r"line 2: .*'\[2\]' is not an object"),
        ('[{"a": 1} {"a": 2}]', "commas between"),
        ('[{"a": 1},]', "not the JSON of a table"),
        ('[{"a": 1}', "and an end"),
        ('[{"a": 1}] 5', "something follows the list"),
        ("[[1, 2], [3, 4]]", "is not an object"),
        ('{"a": [1, 2]}', "row 1, column 'a': its cells are lists"),
        ('{"a": 1}\n{"a": {"b": 2}}', "row 2, column 'a': its cells are objects"),
        ('{"a": 1e999, "b": 1}', "infinite or above"),
        ('{"a": ' + "9" * 5000 + "}", "not the JSON"),
        ('{"a": ' + "[" * 100_000 + "}", "nested too deeply"),
        ('{"a": "' + "x" * (FIELD + 1) + '"}', "row 1, column 'a': a cell is too long"),
        ('{"a": "' + "x" * (ROW + 10), "too long"),
        (b"PK\x03\x04 xl/", "an Excel file. Give it the ending .xlsx"),
        (b'{"a": "\xff"}', "not valid utf-8"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, content, problem):
    assert re.search(problem, refused(tmp_path / "a.jsonl", content))


def test_json_under_another_name(tmp_path):
    for content in (lines(ROWS), json.dumps(ROWS), json.dumps(ROWS, indent=1)):
        assert "JSON file. Give it the ending .jsonl" in refused(tmp_path / "a.csv", content)


def test_many_names(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({f"c{i}": 1}) + "\n" for i in range(40_000)))
    with pytest.raises(TableError, match="columns"):
        read_table(path)


def test_a_new_cell_that_is_not_a_single_value_is_in_doubt(tmp_path):
    frame = pd.DataFrame({"age": [31.0, 42, 53, 64] * 5, "job": ["cook", "clerk"] * 10})
    encoder = TableEncoder().fit(frame)
    path = tmp_path / "new.jsonl"
    path.write_text(
        '{"age": {"years": 40}, "job": "cook"}\n{"age": 40, "job": ["cook"]}\n'
        '{"age": 40, "job": "cook"}\n'
    )
    (found,) = read_chunks(path, encoder)
    assert encoder.check(found).reasons() == {
        0: "age: '{...}' is not a number",
        1: "job: '[...]' was not in training",
    }
