"""Rows in one file: nothing is lost, nothing twice."""

import lzma

import pytest

from rejo.study import StudyFileError, archive, read_archive


def test_rows_come_back(tmp_path, rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0.0, "SVM-2C/poly": 0.01}, n_repetitions=2)
    rows[0]["params"] = '{"C": 0.5, "gamma": "a,b"}'
    rows[1]["crossing_rate"] = 0.1 + 0.2
    path = tmp_path / "rows.csv.xz"
    path.write_bytes(archive(reversed([*rows, *rows])))
    again = read_archive(path)
    key = ("dataset", "split", "share", "repetition", "method", "reject_cost")
    assert again == sorted(rows, key=lambda row: [row[name] for name in key])
    assert archive(rows) == path.read_bytes()


def test_other_and_damaged_files_are_refused_by_name(tmp_path, rows_of):
    rows = rows_of("syntheticI", {"rejoSVM/poly": 0.0}, n_repetitions=1)
    good = archive(rows)
    head, line, *_ = lzma.decompress(good).splitlines(keepends=True)

    def packed(text):
        return lzma.compress(text)

    for content, problem in {
        b"a,b\n": "is not an archive of study rows",
        b"": "is not an archive",
        packed(b""): r"its columns are \[\]",
        packed(b"a,b\n1,2\n"): r"its columns are \['a', 'b'\]",
        good[:-40]: "end-of-stream",
        good[:99] + b"?" + good[100:]: "is damaged: Corrupt",
        packed(head + line.replace(b"random", b"\xff")): "can't decode",
        packed(head + line.replace(b"0.04", b"much")): "could not convert string to float: 'much'",
        packed(head + line.replace(b"0.04", b"")): "reject_cost is empty in line 2",
        packed(head + line + line.replace(b"0.04", b"nan")): "reject_cost is nan in line 3",
        packed(head + line.partition(b',"rejo')[0]): "argument 2 is shorter",
        packed(head + b'"' + head): "unexpected end of data",
    }.items():
        path = tmp_path / "rows.csv.xz"
        path.write_bytes(content)
        with pytest.raises(StudyFileError, match=rf"rows\.csv\.xz: .*{problem}.*Write it again"):
            read_archive(path)


def test_an_archive_that_grows_too_large_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv.xz"
    path.write_bytes(lzma.compress(b"\n" * 3 * 2**20))
    monkeypatch.setattr("rejo.study._archive.MAX_BYTES", 2**20)
    with pytest.raises(StudyFileError, match="it holds more than 1 MB"):
        read_archive(path)
