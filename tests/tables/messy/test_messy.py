"""Files as they are in offices: read as the same table, clean, or refused with the cell's place."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from rejo.tables import TableError, read_table  # noqa: E402
from tests.tables.messy.make import CLEAN, N, files  # noqa: E402

FILES = files()
KINDS = {"amount": "number", "price": "number", "share": "number", "since": "date"}


def test_there_are_many():
    assert len(FILES) >= 40


@pytest.mark.parametrize("what", FILES)
def test_messy_files(tmp_path, what):
    messy = FILES[what]
    path = tmp_path / messy.name
    path.write_bytes(messy.data)
    if messy.error:
        with pytest.raises(TableError) as caught:
            read_table(path, **messy.options)
        for part in messy.error:
            assert part in str(caught.value)
        return
    table = read_table(path, **messy.options)
    assert list(table.frame.columns) == list(CLEAN)
    assert len(table.frame) == N
    assert table.unnamed == messy.unnamed
    for name, values in CLEAN.items():
        reading, found = table.readings[name], table.frame[name]
        gaps = messy.gaps.get(name, [])
        kind = messy.kinds.get(name)
        if kind == "category":
            assert reading.kind == "category"
        else:
            assert reading.kind == KINDS.get(name, "category")
            expected = np.array(values)
            if kind == "negative":
                expected = -expected
            if kind == "none":
                expected = np.where(expected == "driver", "none", expected)
            missing = np.isin(np.arange(N), gaps)
            assert found.isna().tolist() == missing.tolist()
            if reading.kind == "number":
                assert found[~missing].tolist() == expected[~missing].tolist()
            else:
                same = found[~missing].to_numpy() == expected.astype(found.dtype)[~missing]
                assert same.all()
        n_odd = messy.n_odd.get(name, 0)
        assert reading.n_odd == n_odd
        assert reading.n_missing == len(gaps) - n_odd
        assert reading.unit == messy.units.get(name, "")
        said = " | ".join(map("".join, reading.remarks))
        assert messy.remarks.get(name, "") in said
