"""Written files are complete or absent, and harmless in a spreadsheet."""

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from rejo.tables import TableError, TableWriter, read_table  # noqa: E402
from rejo.tables.sources import check_output_format  # noqa: E402


def written(path, *frames, **options):
    with TableWriter(path, **options) as writer:
        for frame in frames:
            writer.write(frame)
    return path.read_bytes().decode()


def test_one_frame_after_the_other(tmp_path):
    frame = pd.DataFrame(
        {
            "id": ["a", None, 'say "x"'],
            "n": [1, 2, 3],
            "risk": [0.1, np.nan, 1e-300],
            "when": pd.Series([pd.Timestamp(2020, 1, 1), None, pd.Timestamp(2020, 1, 2, 3, 4, 5)]),
            "kept": pd.array([1, None, 3], dtype="Int64"),
            "flag": [True, False, True],
            "kind": pd.Categorical(["u", "v,w", None]),
        }
    )
    text = written(tmp_path / "out.csv", frame[:2], frame[2:], frame[:0])
    assert text == (
        "id,n,risk,when,kept,flag,kind\n"
        "a,1,0.1,2020-01-01T00:00:00,1,True,u\n"
        ',2,,,,False,"v,w"\n'
        '"say ""x""",3,1e-300,2020-01-02T03:04:05,3,True,\n'
    )


cell = st.text(
    st.characters(blacklist_categories=["Cs"]) | st.sampled_from("=+-@\t\r\n\",'\uff1d\uff0b 019."),
    max_size=6,
)


@given(rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=20))
def test_texts_survive_a_round_trip_and_begin_no_formula(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("w") / "out.csv"
    written(path, pd.DataFrame(rows, columns=["a", "b"], dtype=object))
    with path.open(newline="", encoding="utf-8") as file:
        found = list(csv.reader(file))[1:]
    assert len(found) == len(rows)
    for row, back in zip(rows, found, strict=True):
        for text, seen in zip(row, back, strict=True):
            assert seen in (text, "'" + text) or seen.replace("'", "") == text.replace("'", "")
            if seen[:1] in "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20" and seen:
                float(seen.replace(",", "."))


@pytest.mark.parametrize(
    "text",
    [
        "=1+2",
        "+cmd|' /C calc'!A0",
        "-1+2",
        "@SUM(A1)",
        "\rx",
        "\nx",
        "  =1",
        '"=1"',
        "\u00a0=1",
        "\ufeff=1",
        "\uff1d1+2",
        "\uff0d1x",
        "-",
        "--5",
        "-5 OR 1",
        "+1-1",
        "-1e5e5",
    ],
)
@pytest.mark.parametrize("others", [[], ["x"] * 3000])
def test_formulas_become_texts(tmp_path, text, others):
    path = tmp_path / "out.csv"
    written(path, pd.DataFrame({text: [text, *others], "n": 1}))
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][0] == rows[1][0] == "'" + text


@pytest.mark.parametrize(
    "text", ["-5", "+3.2e-1", "-0,5", "12", "-.5", "a=b", "x-y", "me@home", ""]
)
def test_numbers_and_other_texts_stay(tmp_path, text):
    assert written(tmp_path / "out.csv", pd.DataFrame({"a": [text], "n": [-1.5]})).endswith(
        f'\n"{text}",-1.5\n' if "," in text else f"\n{text},-1.5\n"
    )


@pytest.mark.parametrize("others", [[], ["x"] * 3000])
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a;=1+1", "a;'=1+1"),
        ("a\t=1+1", "a\t'=1+1"),
        ("\t=1", "'\t'=1"),
        ('a; "=1+1', "a;' \"=1+1"),
        ("a;b;@x;y\n+z", "a;b;'@x;y\n'+z"),
        ("=1;=2", "'=1;'=2"),
        ("a;-5", "a;-5"),
        ("-5;+1,5; -2e3", "'-5;+1,5; -2e3"),
        ("a;b", "a;b"),
        ("a;b=c", "a;b=c"),
    ],
)
def test_formulas_after_what_may_separate_cells(tmp_path, text, expected, others):
    path = tmp_path / "out.csv"
    written(path, pd.DataFrame({"n": 1, text: [text, *others]}))
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[0][1] == rows[1][1] == expected


@given(text=cell | st.text("a;=\t\n\"'-5 ,"), sep=st.sampled_from(",;\t"))
def test_no_formula_begins_a_cell_whatever_separates_them(tmp_path_factory, text, sep):
    path = tmp_path_factory.mktemp("w") / "out.csv"
    written(path, pd.DataFrame({"n": [1], "a": [text], "m": ["z"]}))
    with path.open(newline="", encoding="utf-8") as file:
        cells = [cell for row in csv.reader(file, delimiter=sep) for cell in row]
    for found in cells:
        bare = found.lstrip(' "')
        if bare[:1] and bare[0] in "=+-@\uff1d\uff0b\uff0d\uff20":
            assert re.match(r"[+-]? *[.,]?\d", bare), found  # a number, and perhaps its neighbour


def test_many_blanks_take_no_time(tmp_path):
    start = time.perf_counter()
    texts = [*map(str, range(1000)), *[""] * 100_000, "\t" * 100_000, ";" * 100_000, " " * 100_000]
    written(tmp_path / "out.csv", pd.DataFrame({"n": 1, "a": texts}))
    assert time.perf_counter() - start < 5


@given(values=st.lists(st.floats(allow_infinity=True, allow_nan=False), min_size=1))
def test_numbers_survive_a_round_trip_exactly(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("w") / "out.csv"
    text = written(path, pd.DataFrame({"v": values}))
    assert [float(line) for line in text.splitlines()[1:]] == values


@pytest.mark.parametrize(
    ("values", "lines"),
    [
        (pd.Series(["", None, "x"], dtype=object), ['""', '""', "x"]),
        (pd.Series([1, None], dtype="Int64"), ["1", '""']),
        (pd.Series([True, None], dtype="boolean"), ["True", '""']),
        (pd.Series([0.5, None]), ["0.5", '""']),
        (pd.Series(pd.to_datetime(["2020-01-02", None])), ["2020-01-02T00:00:00", '""']),
    ],
    ids=["text", "integer", "boolean", "float", "date"],
)
def test_an_empty_cell_alone_is_a_row(tmp_path, values, lines):
    text = written(tmp_path / "out.csv", pd.DataFrame({"v": values}))
    assert text.splitlines() == ["v", *lines]


def test_nothing_is_left_after_an_error(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(ValueError, match="'a'; got 'b'"):
        written(path, pd.DataFrame({"a": [1]}), pd.DataFrame({"b": [1]}))
    assert os.listdir(tmp_path) == []


def test_a_file_is_replaced_only_if_asked(tmp_path):
    path, frame = tmp_path / "out.csv", pd.DataFrame({"a": [1]})
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"out\.csv"):
        written(path, frame)
    path.chmod(0o640)
    assert written(path, frame, overwrite=True) == "a\n1\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch, links):
    path = tmp_path / "out.csv"
    if not links:

        def refuse(*_):
            raise PermissionError("no links here")

        monkeypatch.setattr(os, "link", refuse)

    def overtaken():
        with TableWriter(path) as writer:
            writer.write(pd.DataFrame({"a": [1]}))
            path.write_text("theirs")

    with pytest.raises(FileExistsError):
        overtaken()
    assert path.read_text() == "theirs"
    path.unlink()
    assert written(path, pd.DataFrame({"a": [1]})) == "a\n1\n"
    assert os.listdir(tmp_path) == ["out.csv"]


@pytest.mark.skipif(os.name != "posix", reason="links and devices of POSIX")
def test_links_and_devices(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    written(link, pd.DataFrame({"a": [1]}), overwrite=True)
    assert link.is_symlink()
    assert real.read_text() == "a\n1\n"
    with TableWriter("/dev/null") as writer:
        writer.write(pd.DataFrame({"a": [1]}))
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(IsADirectoryError), TableWriter(tmp_path):
        pass


def test_standard_output(monkeypatch):
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    with TableWriter("-") as writer:
        writer.write(pd.DataFrame({"a": ["é"]}))
    assert buffer.getvalue() == "a\né\n".encode()


SCRIPT = """
import sys, pandas as pd
from rejo.tables import TableWriter
frame = pd.DataFrame({"a": ["x" * 50] * 10_000})
with TableWriter(sys.argv[1], overwrite=True) as writer:
    for _ in range(100_000):
        writer.write(frame)
        print("written", file=sys.stderr, flush=True)
"""


def child(path, **options):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", SCRIPT, path], env=env, text=True, **options)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="POSIX")
def test_a_kill_leaves_the_old_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with child(str(path), stderr=subprocess.PIPE) as process:
        process.stderr.readline()
        time.sleep(0.05)
        process.kill()
    assert path.read_text() == "old"
    assert all(name == "out.csv" or name.startswith(".") for name in os.listdir(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="POSIX")
def test_a_reader_that_goes_away_is_a_broken_pipe():
    with child("-", stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        errors = process.stderr.read()
    assert "BrokenPipeError" in errors


def test_outside_of_a_with_statement_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="with statement"):
        TableWriter(tmp_path / "out.csv").write(pd.DataFrame({"a": [1]}))


# ---- formats ----------------------------------------------------------------------------------

DECISIONS = pd.DataFrame(
    {
        "id": ["007", '=1+2 <&> "x"\r\n\ty', None],
        "decision": ["good", "review", "bad"],
        "chance_wrong": [0.25, np.nan, 1e-300],
        "reason": [None, " @x _x000D_ \x07", ""],
        "rank": pd.array([None, 1, None], dtype="Int64"),
        "when": pd.Series([pd.Timestamp(2020, 1, 1), None, pd.Timestamp(2020, 1, 2, 3, 4, 5)]),
        "ok": [True, False, True],
    }
)


def unescaped(value):
    """Do what Excel does, and openpyxl leaves."""
    if not isinstance(value, str):
        return value
    return re.sub("_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), value)


def rows_of(path):
    """What another program reads: rows of values, None where there is none."""
    if path.suffix == ".xlsx":
        [sheet] = pytest.importorskip("openpyxl").load_workbook(path)
        names, *rows = sheet.iter_rows()
        assert all(cell.data_type != "f" for row in rows for cell in row)
        assert all(cell.font.bold for cell in names)
        assert sheet.freeze_panes == "A2"
        return [[unescaped(cell.value) for cell in row] for row in rows]
    if path.suffix == ".jsonl":
        return [list(json.loads(line).values()) for line in path.read_text("utf-8").splitlines()]
    pq = pytest.importorskip("pyarrow.parquet")
    return [list(row.values()) for row in pq.read_table(path).to_pylist()]


@pytest.mark.parametrize("ending", ["xlsx", "jsonl", "parquet"])
def test_columns_have_the_same_types_in_every_format(tmp_path, ending):
    path = tmp_path / f"out.{ending}"
    with TableWriter(path) as writer:
        writer.write(DECISIONS[:1])
        writer.write(DECISIONS[1:])
        writer.write(DECISIONS[:0])
    found = rows_of(path)
    assert [row[0] for row in found] == ["007", '=1+2 <&> "x"\r\n\ty', None]
    assert [row[1] for row in found] == ["good", "review", "bad"]
    assert [row[2] for row in found] == [0.25, None, 1e-300]
    assert found[1][3] in (" @x _x000D_ \x07", " @x _x000D_ \ufffd")  # no such character in XML
    assert [row[4] for row in found] == [None, 1, None]
    assert type(found[1][4]) is int
    dates = [row[5] if ending != "jsonl" else row[5] and pd.Timestamp(row[5]) for row in found]
    assert dates == [pd.Timestamp(2020, 1, 1), None, pd.Timestamp(2020, 1, 2, 3, 4, 5)]
    assert [row[6] for row in found] == [True, False, True]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "xlsx", "jsonl", "ndjson", "parquet"])
def test_what_is_written_can_be_read(tmp_path, ending):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    paths = [tmp_path / f"{name}.{ending}" for name in "ab"]
    frame = DECISIONS.drop(columns="ok")[["id", "decision", "chance_wrong", "rank"]]
    frame["id"] = ["007", "x\ty", "z, w"]
    for path in paths:
        with TableWriter(path) as writer:
            writer.write(frame)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = read_table(paths[0], text=["id", "decision"]).frame
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["decision"].tolist() == frame["decision"].tolist()
    assert found["chance_wrong"].fillna(-1).tolist() == [0.25, -1, 1e-300]
    assert found["rank"].fillna(-1).tolist() == [-1, 1, -1]


@pytest.mark.parametrize("name", ["a", "a.xls", "a.txt", "a.json", "a.ods", "a.gz", "a.xlsx.gz"])
def test_a_name_that_says_no_format_is_refused(tmp_path, name):
    for refuse in (check_output_format, lambda path: TableWriter(path).__enter__()):
        with pytest.raises(TableError, match=r"does not end in \.csv, .*\.xlsx") as caught:
            refuse(tmp_path / name)
        assert caught.value.parameter == "output"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "xlsx", "jsonl", "parquet"])
@pytest.mark.parametrize("old", [False, True])
def test_every_format_is_whole_or_absent(tmp_path, ending, old):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"out.{ending}"
    if old:
        path.write_text("old")

    def interrupted():
        with TableWriter(path, overwrite=old) as writer:
            writer.write(DECISIONS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == [path.name] * old
    assert not old or path.read_text() == "old"


def test_more_rows_than_a_sheet_has(tmp_path, monkeypatch):
    monkeypatch.setattr("rejo.tables._writer.ROWS", 3)
    with pytest.raises(TableError, match="2 rows"):
        written(tmp_path / "out.xlsx", DECISIONS)
    assert os.listdir(tmp_path) == []


def test_numbers_and_texts_that_excel_does_not_have(tmp_path):
    path = tmp_path / "out.xlsx"
    texts = ["x" * 40_000, "\x00\ud800\uffff", "_x0041_"]
    frame = pd.DataFrame(
        {"a": pd.Series(texts, dtype=object), "b": [float("inf"), -float("inf"), 1.0]}
    )
    with TableWriter(path) as writer:
        writer.write(frame)
    found = rows_of(path)
    assert found[0] == ["x" * 32_764 + "...", "inf"]
    assert found[1] == ["\ufffd" * 3, "-inf"]
    assert found[2][1] == 1
    assert read_table(path, text=["a", "b"]).frame["a"].tolist()[2] == "_x0041_"
