"""Columns of many files that are not as in training."""

import pytest

from rejo import cli
from rejo.distributed import predict
from rejo.tables import TableError

from .conftest import decisions, make_cases, write


@pytest.fixture
def strange(tmp_path):
    """A folder of cases whose ages are in months."""
    folder = tmp_path / "new"
    folder.mkdir()
    frame = make_cases(600, seed=9)
    frame["age"] *= 10
    write(folder / "a.parquet", frame[:400], [200, 200])
    write(folder / "b.parquet", frame[400:], [0, 200])
    return folder


def test_a_fault_stops_unless_it_is_accepted(model, strange, tmp_path):
    with pytest.raises(
        TableError, match=r"age: .*10 times larger.*Nothing was decided.*accept=.*age"
    ):
        predict(model, strange, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    found = predict(model, strange, tmp_path / "out", accept=["age"])
    assert [one["column"] for one in found.manifest["counts"]["columns"]] == ["age"]
    assert "column" not in set(decisions(tmp_path / "out")["reason"])
    assert (decisions(tmp_path / "out")["decision"] != "review").any()  # workers accept it too


def test_commands(model, strange, tmp_path, capsys):
    words = ["predict", str(model), str(strange), "-o", str(tmp_path / "out")]
    assert cli.main(words) == 6
    assert "10 times larger" in (said := capsys.readouterr().err)
    assert "--accept age" in said
    assert cli.main([*words, "--accept", "age"]) == 0
    assert "10 times larger" in capsys.readouterr().err
    assert cli.main(["evaluate", str(model), str(strange)]) == 0
    assert "column age: numbers are about 10 times larger" in capsys.readouterr().err
