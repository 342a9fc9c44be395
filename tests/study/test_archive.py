"""Rows in one file: nothing is lost, nothing twice."""

import lzma

import pytest

from rejo.study import archive, read_archive


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


@pytest.mark.parametrize("content", [b"a,b\n", lzma.compress(b"a,b\n1,2\n")])
def test_another_file_is_refused(tmp_path, content):
    path = tmp_path / "rows.csv.xz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"rows\.csv\.xz (is not an archive|has the columns)"):
        read_archive(path)
