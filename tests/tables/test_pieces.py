"""Row groups of many Parquet files: their list, their shares, and a number for each row."""

import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from rejo.tables import TableEncoder, TableError, read_chunks  # noqa: E402
from rejo.tables.pieces import (  # noqa: E402
    ParquetTable,
    RowGroup,
    is_many,
    pieces_of,
    read_piece,
    row_hashes,
    share,
)


@pytest.fixture
def frame():
    random = np.random.default_rng(0)
    words = random.choice(["red", "green", "blue"], 1000)
    return pd.DataFrame({"age": random.normal(size=1000), "colour": words, "id": range(1000)})


@pytest.fixture
def folder(tmp_path, frame):
    """Three files with two row groups each, at most; the rows are those of the frame, in order."""
    folder = tmp_path / "cases"
    folder.mkdir()
    for name, rows in (("b", slice(400, 700)), ("a", slice(0, 400)), ("c", slice(700, 1000))):
        frame[rows].to_parquet(folder / f"{name}.parquet", row_group_size=250, index=False)
    (folder / "_SUCCESS").touch()
    (folder / ".a.parquet.crc").write_text("hidden")
    return folder


def test_pieces_are_those_of_all_files_by_name(folder, frame):
    pieces = pieces_of(folder)
    assert [piece.rows for piece in pieces] == [250, 150, 250, 50, 250, 50]
    assert [piece.start for piece in pieces] == [0, 250, 400, 650, 700, 950]
    read = pd.concat([read_piece(piece, ["id", "colour"]).to_pandas() for piece in pieces])
    assert read["id"].tolist() == frame["id"].tolist()
    assert list(read) == ["id", "colour"]
    names = sorted(folder.glob("*.parquet"))
    same = [f"{folder}/*.parquet", names, [folder / "b.parquet", f"{folder}/[ac].parquet"]]
    assert all(pieces_of(paths) == pieces for paths in same)
    assert [piece.group for piece in pieces_of(names[0])] == [0, 1]
    table = ParquetTable.of(folder)
    assert (table.columns, table.rows, table.pieces) == (["age", "colour", "id"], 1000, pieces)
    before = table.files
    assert [(file.path, file.size) for file in before] == [
        (str(path), path.stat().st_size) for path in names
    ]
    frame[::-1][600:].to_parquet(names[0], row_group_size=250, index=False)
    after = ParquetTable.of(folder).files
    assert after[0].mark != before[0].mark
    assert after[1:] == before[1:]


def test_a_store_that_fsspec_opens(folder):
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    for path in folder.glob("*.parquet"):
        store.pipe_file(f"/cases/{path.name}", path.read_bytes())
    here = pieces_of(folder)
    for url in ("memory://cases/*.parquet", "memory://cases"):
        there = pieces_of(url)
        assert [piece[1:] for piece in there] == [piece[1:] for piece in here]
        assert read_piece(there[3], ["age"]).equals(read_piece(here[3], ["age"]))
    with pytest.raises(TableError, match="nowhere://a"):
        pieces_of("nowhere://a/*.parquet")


def test_a_piece_is_read_in_chunks_as_a_file_is(folder, frame):
    encoder = TableEncoder().fit(frame[["age", "colour"]])
    whole = pd.concat(read_chunks(folder / "b.parquet", encoder, text=["id"]))
    pieces = pieces_of(folder / "b.parquet")
    parts = [pd.concat(read_chunks(piece, encoder, text=["id"], rows=100)) for piece in pieces]
    assert parts[1].index.tolist() == list(range(50))
    joined = pd.concat(parts, ignore_index=True)
    np.testing.assert_array_equal(encoder.transform(joined), encoder.transform(whole))
    assert joined["id"].tolist() == whole["id"].tolist()
    with pytest.raises(TableError, match=r"b.parquet, row group 1: no column 'name'"):
        next(read_chunks(pieces[1], encoder, text=["name"]))


def test_what_cannot_be_read_together(folder, frame):
    with pytest.raises(TableError, match="nothing"):
        pieces_of(folder / "nothing*.parquet")
    (folder / "empty").mkdir()
    with pytest.raises(TableError, match="no Parquet file"):
        pieces_of(folder / "empty")
    frame.to_csv(folder / "d.csv")
    with pytest.raises(TableError, match=r"d\.csv"):
        pieces_of(f"{folder}/*.*")
    frame.rename(columns={"age": "years"}).to_parquet(folder / "d.parquet")
    with pytest.raises(TableError, match=r"d.parquet: no column 'age'"):
        pieces_of(folder)
    frame.assign(more=1).to_parquet(folder / "d.parquet")
    with pytest.raises(TableError, match=r"d.parquet: a column 'more'"):
        pieces_of(folder)
    (folder / "d.parquet").write_bytes((folder / "a.parquet").read_bytes()[:-100])
    with pytest.raises(TableError, match=r"d\.parquet"):
        pieces_of(folder)


def test_a_damaged_piece_and_a_missing_column(folder):
    piece = pieces_of(folder)[1]
    with pytest.raises(TableError, match=r"row group 1: no column 'agee'"):
        read_piece(piece, ["agee"])
    data = bytearray((folder / "a.parquet").read_bytes())
    data[4:60] = b"\xff" * 56
    (folder / "a.parquet").write_bytes(data)
    with pytest.raises(TableError, match="damaged"):
        read_piece(pieces_of(folder)[0], ["age"])


def test_names_of_several_files(folder):
    assert is_many(folder)
    assert is_many(f"{folder}/*.parquet")
    assert is_many("s3://bucket/loans/*.parquet")
    assert not is_many(folder / "a.parquet")
    assert not is_many("sqlite:///loans.db#loans")
    assert not is_many("-")
    (folder / "x[1].parquet").touch()
    assert not is_many(folder / "x[1].parquet")


def test_row_groups_without_rows(tmp_path, frame):
    schema = pa.Schema.from_pandas(frame)
    with pq.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for rows in (frame[:10], frame[:0], frame[10:]):
            writer.write_table(pa.Table.from_pandas(rows, schema))
    pieces = pieces_of(tmp_path)
    assert [(piece.rows, piece.start) for piece in pieces] == [(10, 0), (0, 10), (990, 10)]
    assert read_piece(pieces[1], ["age"]).num_rows == 0
    assert len(row_hashes(pieces[1])) == 0


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_fair_and_complete(seed):
    random = np.random.default_rng(seed)
    pieces = [RowGroup("a", i, int(n), 0) for i, n in enumerate(random.integers(0, 1000, 50))]
    for n in (1, 3, 7, 49, 60):
        shares = share(pieces, n)
        assert len(shares) == min(n, 50)
        assert all(shares)
        assert sorted(piece for one in shares for piece in one) == pieces
        assert all(one == sorted(one) for one in shares)
        assert shares == share(pieces, n)
        rows = [sum(piece.rows for piece in one) for one in shares]
        least = max(sum(rows) / len(shares), max(piece.rows for piece in pieces))
        assert max(rows) <= 4 / 3 * least


def test_numbers_of_rows_are_uniform_and_independent():
    piece = RowGroup("a", 0, 200_000, 5)
    for values in (None, np.arange(200_000)):
        u = row_hashes(piece, values)
        assert ((u >= 0) & (u < 1)).all()
        # The largest difference of the distribution to the uniform one, at a level of 1e-6.
        gap = np.abs(np.sort(u) - (np.arange(len(u)) + 0.5) / len(u)).max()
        assert gap < 2.7 / np.sqrt(len(u))
        assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 5 / np.sqrt(len(u))


def test_a_number_depends_on_the_place_alone():
    whole = row_hashes(RowGroup("a", 0, 1000, 0))
    parts = [row_hashes(RowGroup("b", i, 250, 250 * i)) for i in range(4)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_rows_of_one_value_share_a_number():
    random = np.random.default_rng(0)
    customer = random.integers(0, 300, 2000)
    u = row_hashes(RowGroup("a", 0, 2000, 0), customer)
    assert len(np.unique(u)) == len(np.unique(customer))
    assert pd.Series(u).groupby(customer).nunique().eq(1).all()
    for same in (customer.astype(float), customer.astype(str), pa.array(customer)):
        np.testing.assert_array_equal(row_hashes(RowGroup("b", 4, 2000, 77), same), u)
    gaps = np.where(customer < 50, None, customer.astype(object))
    v = row_hashes(RowGroup("a", 0, 2000, 0), gaps)
    np.testing.assert_array_equal(v[customer >= 50], u[customer >= 50])
    assert len(np.unique(v[customer < 50])) == (customer < 50).sum()


def test_numbers_are_the_same_in_another_process():
    code = (
        "from rejo.tables.pieces import RowGroup, row_hashes;"
        "print(row_hashes(RowGroup('a', 0, 3, 10), ['x', None, 7]).tolist())"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = row_hashes(RowGroup("other", 1, 3, 10), ["x", None, 7.0])
    assert eval(found.stdout) == here.tolist()
    # Rows that were held out must stay so when models are compared over the years.
    first = row_hashes(RowGroup("a", 0, 2, 0)), row_hashes(RowGroup("a", 0, 2, 0), ["x", "y"])
    np.testing.assert_allclose(np.round(first, 6), STABLE)


STABLE = [[0.652448, 0.36819], [0.735828, 0.250666]]
