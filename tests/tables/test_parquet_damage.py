"""Parquet files that cannot be read as they are: one error, with the file, whatever is wrong."""

import os
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("resource")
if not os.path.exists("/proc/self/status"):
    pytest.skip("needs the peak of memory from Linux", allow_module_level=True)

from rejo.tables import TableEncoder, TableError, read_chunks, read_table  # noqa: E402
from rejo.tables import errors as limits  # noqa: E402

N = 60
MB = 1 << 20
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

# ---- kinds ----------------------------------------------------------------------------------

VALUES = {
    "numbers": [
        pa.array(np.arange(N) * 1.5),
        pa.array(range(N), pa.int16()),
        pa.array([Decimal(i) for i in range(N)], pa.decimal128(12, 2)),
    ],
    "dates": [
        pa.array([date(2020, 1, 1 + i % 28) for i in range(N)]),
        pa.array([datetime(2020, 1, 1 + i % 28) for i in range(N)], pa.timestamp("ns")),
        pa.array([datetime(2020, 1, 1 + i % 28) for i in range(N)], pa.timestamp("s", "UTC")),
    ],
    "words": [
        pa.array([str(i) for i in range(N)]),
        pa.array(["a", "b", "c"] * (N // 3)).dictionary_encode(),
    ],
    "truth values": [pa.array([True, False] * (N // 2))],
    "durations": [pa.array([timedelta(days=i) for i in range(N)])],
    "times of day": [pa.array([time(i % 24) for i in range(N)])],
}
NOT_SINGLE = [
    pa.array([[i] for i in range(N)]),
    pa.array([{"a": i} for i in range(N)]),
    pa.array([b"x"] * N),
    pa.array([b"xyz"] * N, pa.binary(3)),
]
TRAINED = {
    "number": [1.0, 2.0, 4.0] * 5,
    "date": pd.to_datetime(["2020-01-01", "2020-02-01", "2020-04-01"] * 5),
    "category": ["a", "b", "c"] * 5,
}
TAKEN = {"number": {"numbers"}, "date": {"dates"}, "category": {"words"}}


@pytest.mark.parametrize("kind", TRAINED)
@pytest.mark.parametrize("found", VALUES)
def test_cells_of_another_kind_than_in_training_stay_strings(tmp_path, kind, found):
    encoder = TableEncoder().fit(pd.DataFrame({"v": TRAINED[kind]}))
    path = tmp_path / "new.parquet"
    for array in VALUES[found]:
        pq.write_table(pa.table({"v": array}), path)
        (frame,) = read_chunks(path, encoder)
        assert len(frame) == N
        checked = encoder.check(frame)
        assert len(encoder.transform(checked.frame)) == N
        if kind == "category" or found in TAKEN[kind]:
            assert not any(d.why == "unreadable" for row in checked.doubts.values() for d in row)
        elif (kind, found, array.type) == ("number", "words", pa.string()):
            assert frame["v"].tolist() == list(range(N))  # read as in a CSV file
        else:
            assert all(isinstance(cell, str) for cell in frame["v"])
            assert sorted(checked.doubts) == list(range(N))
            assert checked.doubts[0][0].why == "unreadable"


@pytest.mark.parametrize("kind", TRAINED)
@pytest.mark.parametrize("array", NOT_SINGLE, ids=lambda array: str(array.type))
def test_cells_that_are_not_single_values(tmp_path, kind, array):
    encoder = TableEncoder().fit(pd.DataFrame({"v": TRAINED[kind]}))
    path = tmp_path / "new.parquet"
    pq.write_table(pa.table({"v": array, "w": [1.0] * N}), path)
    for read in (read_table, lambda path: list(read_chunks(path, encoder))):
        with pytest.raises(TableError, match="column 'v': its cells"):
            read(path)


@pytest.mark.parametrize("kind", TRAINED)
def test_a_column_without_values(tmp_path, kind):
    encoder = TableEncoder().fit(pd.DataFrame({"v": TRAINED[kind]}))
    path = tmp_path / "new.parquet"
    pq.write_table(pa.table({"v": pa.nulls(N)}), path)
    (frame,) = read_chunks(path, encoder)
    assert frame["v"].isna().all()
    assert len(encoder.transform(frame)) == N


@pytest.mark.parametrize(
    ("kind", "values", "what"),
    [
        ("number", pd.to_datetime(["2020-01-01"]), "numbers in training, but now holds dates"),
        ("number", [date(2020, 1, 1)], "numbers in training, but now holds dates"),
        ("number", [True, False], "numbers in training, but now holds truth values"),
        ("number", pd.Series([True, None], dtype=object), "numbers .* now holds truth values"),
        ("date", [1577836800000], "dates in training, but now holds '1577836800000'"),
        ("date", [1.5], "dates in training, but now holds '1.5'"),
        ("category", pd.to_datetime(["2020-01-01"]), "words in training, but now holds dates"),
    ],
)
def test_a_frame_with_a_column_of_another_kind(kind, values, what):
    encoder = TableEncoder().fit(pd.DataFrame({"v": TRAINED[kind]}))
    with pytest.raises(TableError, match=f"column 'v': it held {what}"):
        encoder.transform(pd.DataFrame({"v": values}))


# ---- damage ---------------------------------------------------------------------------------

READ = """
import resource, sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet

from rejo.tables import TableEncoder, TableError, read_chunks, read_table

resource.setrlimit(resource.RLIMIT_AS, (6 << 30,) * 2)
good = [Path(name) for name in sys.argv[4:]]
bad, seed, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
random = np.random.RandomState(seed)
tables = [read_table(path, text=["id"]).frame for path in good]
encoders = [TableEncoder().fit(table.drop(columns="id")) for table in tables]
read = refused = 0
for i in range(count):
    data = bytearray(good[i % len(good)].read_bytes())
    encoder = encoders[i % len(good)]
    footer = int.from_bytes(data[-8:-4], "little") + 8
    for _ in range(random.randint(1, 4)):
        place = random.randint(4, len(data) - 4)
        if random.rand() < 0.5 and footer < len(data):  # where every byte means something
            place = len(data) - random.randint(1, footer)
        how = random.randint(5)
        if how == 0:
            data[place] ^= 1 << random.randint(8)
        elif how == 1:
            data[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF])
        elif how == 2:
            data[place : place + 4] = random.bytes(4)
        elif how == 3:
            del data[place : place + random.randint(1, 30)]
        else:
            data[place:place] = data[place : place + random.randint(1, 30)]
    bad.write_bytes(data)
    for reading in (
        lambda: read_table(bad, text=["id"]),
        lambda: [encoder.transform(f) for f in read_chunks(bad, encoder, text=["id"], rows=50)],
    ):
        try:
            reading()
            read += 1
        except TableError as error:
            assert str(bad) in str(error) and str(error).isprintable(), str(error)
            refused += 1
print(read, refused)
# Not ru_maxrss, which counts the process that forked this one, too.
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.fixture
def good(tmp_path):
    """Paths of small files, written in different ways."""
    random = np.random.RandomState(0)
    table = pa.table(
        {
            "id": [f"{i:04d}" for i in range(N)],
            "n": pa.array([None if i % 9 == 0 else i * i for i in range(N)], pa.int64()),
            "price": pa.array([Decimal(i * i) / 100 for i in range(N)], pa.decimal128(12, 2)),
            "time": pa.array([1_600_000_000 + i**2 for i in range(N)], pa.timestamp("s", "UTC")),
            "flag": (random.rand(N) < 0.5).tolist(),
            "job": random.choice(["a", "b", "c"], N).tolist(),
        }
    )
    ways = [
        {"compression": "none", "use_dictionary": False, "write_statistics": False},
        {"compression": "snappy", "row_group_size": 25},
        {"compression": "zstd", "data_page_version": "2.0", "store_schema": False},
        {"compression": "gzip", "write_page_checksum": True},
    ]
    for i, way in enumerate(ways):
        pq.write_table(table, tmp_path / f"good{i}.parquet", **way)
    return sorted(tmp_path.glob("good*"))


def mutated(good, seed, count):
    command = [sys.executable, "-c", READ, good[0].with_name("bad.parquet"), str(seed), str(count)]
    run = subprocess.run(
        [*map(str, command), *map(str, good)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, (run.returncode, run.stderr[-3000:])
    counts, peak = run.stdout.splitlines()
    read, refused = map(int, counts.split())
    assert read + refused == 2 * count
    assert refused > count  # most of them
    assert int(peak) < 700  # MB


def test_mutated_files(good):
    mutated(good, seed=0, count=150)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_mutated_files(good, seed):
    mutated(good, seed, count=1000)


def test_files_cut_short(good, tmp_path):
    bad = tmp_path / "cut.parquet"
    for path in good:
        data = path.read_bytes()
        for end in (0, 3, 4, 8, 11, 12, len(data) // 2, len(data) - 8, len(data) - 1):
            bad.write_bytes(data[:end])
            with pytest.raises(TableError, match=r"cut\.parquet"):
                read_table(bad)


# ---- memory ---------------------------------------------------------------------------------


def repeated(path, word, n, **options):
    """Write one word n times, which the file holds once."""
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([word]))
    table = pa.table({"id": words, "x": np.ones(n)})
    pq.write_table(table, path, store_schema=False, **options)
    return path


@pytest.fixture
def encoder():
    return TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))


def refused(path, encoder, what):
    for read in (
        lambda: read_table(path, text=["id"]),
        lambda: list(read_chunks(path, encoder, text=["id"])),
    ):
        before = pa.total_allocated_bytes()
        with pytest.raises(TableError, match=what) as caught:
            read()
        assert str(path) in str(caught.value)
        assert pa.total_allocated_bytes() - before < 64 * MB


def test_long_words_and_many_rows(tmp_path, encoder):
    path = repeated(tmp_path / "a.parquet", "x" * MB, 2000)
    assert path.stat().st_size < 60_000
    refused(path, encoder, r"row 1, column 'id': a cell is too long; the limit is 128 KB")
    path = repeated(tmp_path / "b.parquet", "a", 5_000_000)
    refused(path, encoder, r"this file of .* unpacks to more than 64 MB, the limit for its size")
    path = repeated(tmp_path / "c.parquet", "x" * 100_000, 2000)  # 200 MB as ids of decisions
    with pytest.raises(TableError, match=r"c\.parquet: .* 64 MB"):
        list(read_chunks(path, encoder, text=["id"]))
    assert len(read_table(path, text=["id"]).frame) == 2000
    words = pa.array(["x" * 100_000] * 1000)
    pq.write_table(
        pa.table({"id": words, "x": np.ones(1000)}),
        path,
        use_dictionary=False,
        compression="zstd",
    )
    refused(path, encoder, r"this file of .* unpacks to more than 64 MB, the limit for its size")


def test_pieces_are_limited_in_bytes(tmp_path, encoder):
    """A word of 100 KB in each of 600 rows: 60 MB if each were written out."""
    path = repeated(tmp_path / "a.parquet", "x" * 100_000, 600)
    frames = list(read_chunks(path, encoder, text=["id"]))
    assert max(sum(map(len, frame["id"])) for frame in frames) <= limits.PIECE
    assert [i for frame in frames for i in frame.index] == list(range(600))
    assert len({id(word) for word in read_table(path, text=["id"]).frame["id"]}) == 1


def test_many_columns(tmp_path, monkeypatch, encoder):
    monkeypatch.setattr(limits, "COLUMNS", 50)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({f"c{i}": [1.0] for i in range(51)}), path)
    refused(path, encoder, "51 columns are more than the limit of 50")


def test_rows_that_are_not_there(tmp_path, encoder):
    """A file that says it has more, or fewer, rows than it has."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["a"] * 77, "x": np.arange(77.0)}), path, store_schema=False)
    data = path.read_bytes()
    footer = data[-8 - int.from_bytes(data[-8:-4], "little") :]
    # In the thrift of the footer, num_rows is field 3 of the file, an i64: 77 as a zigzag varint.
    here = footer.index(b"\x16\x9a\x01")
    for rows in (b"\x16\x98\x01", b"\x16\x9c\x01"):
        path.write_bytes(data[: -len(footer)] + footer[:here] + rows + footer[here + len(rows) :])
        refused(path, encoder, "this is not a Parquet file, or it is damaged")


def test_a_long_word_among_short_ones_is_refused(tmp_path, encoder):
    path = tmp_path / "a.parquet"
    words = [f"{i:020d}" for i in range(3000)]
    words[2500] = "x" * (limits.FIELD + 1)
    pq.write_table(pa.table({"id": words, "x": np.arange(3000.0)}), path, use_dictionary=False)
    refused(path, encoder, "row 2501, column 'id': a cell is too long")


def test_a_footer_of_many_small_parts(tmp_path):
    """Fields that nobody asks for change nothing."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0]}), path)
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    # Field 100, a list of structs with a truth value each.
    more = b"\x09" + varint(200) + b"\xfc" + varint(50_000) + b"\x11\x00" * 50_000
    footer = data[start:-9] + more + b"\x00"
    path.write_bytes(data[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    assert read_table(path).frame["x"].tolist() == [1.0, 2.0]


def varint(value):
    found = []
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])
