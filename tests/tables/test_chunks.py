"""Files in chunks, with the columns that a fitted encoder needs."""

import io
import os
import sys
import threading
from weakref import ref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")

from rejo.tables import TableEncoder, TableError, _csv, read_chunks, read_table  # noqa: E402

HEAD = "id,age,job,since,note"


def rows(n, start=0):
    jobs = ["clerk", "cook", "", "driver", "?"]
    return [
        f"{i:05d},{'' if i % 7 == 3 else i % 50 + 0.25},{jobs[i % 5]},2020-0{i % 9 + 1}-15,n{i}"
        for i in range(start, start + n)
    ]


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "training.csv"
    path.write_text("\n".join([HEAD, *rows(400)]) + "\n")
    table = read_table(path, text=["id"])
    return path, table, TableEncoder().fit(table.frame.drop(columns="id"))


def refused(path, encoder, **options):
    with pytest.raises(TableError) as caught:
        list(read_chunks(path, encoder, **options))
    message = str(caught.value)
    assert message.isprintable()
    return message


def unread(path, encoder, **options):
    """Return the doubts about cells, by row."""
    found = {}
    for frame in read_chunks(path, encoder, **options):
        for row, doubts in encoder.check(frame).doubts.items():
            found[int(frame.index[row])] = [str(d) for d in doubts if d.why == "unreadable"]
    return {row: doubts for row, doubts in found.items() if doubts}


@pytest.mark.parametrize("size", [1, 7, 64, 399, 400, 10_000])
def test_chunks_agree_with_the_whole_table(training, size):
    path, table, encoder = training
    frames = list(read_chunks(path, encoder, text=["id"], rows=size))
    assert max(map(len, frames)) <= size
    assert np.concatenate([f.index for f in frames]).tolist() == list(range(400))
    assert [v for f in frames for v in f["id"]] == table.frame["id"].tolist()
    pieces = np.concatenate([encoder.transform(f) for f in frames])
    np.testing.assert_array_equal(pieces, encoder.transform(table.frame))


def test_only_what_is_needed_is_read(training, tmp_path):
    _, _, encoder = training
    assert set(encoder.kinds_) == {"age", "job", "since"}  # ids and notes are names
    path = tmp_path / "new.csv"
    path.write_text("since;extra;job;age\n2020-01-01;a b;cook;1,5\n31.12.2020;;cook;\n")
    (frame,) = read_chunks(path, encoder, text=["extra", "id"], optional=["id"])
    assert frame.columns.tolist() == ["age", "job", "since", "extra"]
    assert frame["extra"].tolist() == ["a b", None]
    assert frame["age"].tolist()[0] == 1.5
    assert frame["since"].tolist() == [pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 12, 31)]


def test_a_column_that_is_missing(training, tmp_path):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    path.write_text("Age,job,since\n1,2,2020-01-01\n")
    message = refused(path, encoder)
    assert f"{path}: no column 'age'" in message
    assert "rename='Age=age'" in message
    assert "'job', 'since'" in message
    path.write_text("age,job,since\n1,2,2020-01-01\n")
    assert "no column 'id'" in refused(path, encoder, text=["id"])


def test_a_cell_that_is_not_a_number(training, tmp_path):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    lines = [HEAD, *rows(300)]
    lines[201] = '7,12 years,"a\nb",2020-01-01,x'
    path.write_text("\n".join(lines))
    assert unread(path, encoder, rows=64) == {200: ["age: '12 years' is not a number"]}
    lines[201] = "7, ? , cook ,2020-01-01 ,x"  # blanks around a mark for missing values
    path.write_text("\n".join(lines))
    frames = list(read_chunks(path, encoder, rows=64))
    row = pd.concat([f.astype({"job": object}) for f in frames]).loc[200]
    assert np.isnan(row["age"])
    assert row["job"] == "cook"


@pytest.mark.parametrize("content", [HEAD, HEAD + "\n", HEAD + "\n\n\n"])
def test_a_file_without_rows(training, tmp_path, content):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    path.write_text(content)
    (frame,) = read_chunks(path, encoder, text=["id"])
    assert frame.shape == (0, 4)
    assert encoder.transform(frame).shape == (0, len(encoder.get_feature_names_out()))


def test_ragged_rows_far_down(training, tmp_path):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    lines = [HEAD, *rows(5000)]
    lines[4001] = "1,2,3"
    path.write_text("\n".join(lines))
    found = {}
    for frame in read_chunks(path, encoder, rows=100):
        found |= frame.attrs.get("doubts", {})
    assert found == {4000: ("ragged", "3")}


def test_a_pipe_is_read_as_it_comes(training, monkeypatch):
    path, table, encoder = training
    data = path.read_bytes()
    out, into = os.pipe()

    def feed():
        with open(into, "wb", buffering=0) as file:
            for start in range(0, len(data), 999):
                file.write(data[start : start + 999])

    feeder = threading.Thread(target=feed)
    feeder.start()
    with open(out, "rb") as stream:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
        frames = list(read_chunks("-", encoder, rows=50))
        feeder.join()
    pieces = np.concatenate([encoder.transform(f) for f in frames])
    np.testing.assert_array_equal(pieces, encoder.transform(table.frame))


def test_nothing_that_was_read_is_left_to_the_thread_of_pyarrow(training, monkeypatch):
    """Or Python aborts if it ends before that thread frees it."""
    parts = []

    def read(self, size=-1, own=_csv._Stream.read):
        part = own(self, size)
        parts.append(ref(part))
        return part

    monkeypatch.setattr(_csv._Stream, "read", read)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # the thread waits, as it does for a processor that is busy
    try:
        for _ in range(200):
            read_table(training[0])
            assert [part() for part in parts] == [None] * len(parts)
            parts.clear()
    finally:
        sys.setswitchinterval(interval)


def test_memory_does_not_grow_with_the_file(training, monkeypatch):
    _, _, encoder = training

    class Endless(io.RawIOBase):
        """Half a gigabyte, generated on the fly."""

        def __init__(self):
            self.part = ("\n".join(rows(20_000)) + "\n").encode()
            self.left, self.buffer = 1 << 29, io.BytesIO((HEAD + "\n").encode())

        def read(self, size=-1):
            data = self.buffer.read(size)
            if not data and self.left > 0:
                self.left -= len(self.part)
                self.buffer = io.BytesIO(self.part)
                data = self.buffer.read(size)
            return data

    class Stdin:
        buffer = Endless()

    monkeypatch.setattr(sys, "stdin", Stdin())
    resource = pytest.importorskip("resource")
    frames = read_chunks("-", encoder, rows=20_000)
    for _ in range(40):  # what is read ahead
        next(frames)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _, frame in zip(range(40), frames, strict=False):
        assert len(frame)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 60_000  # kilobytes; forty chunks are about 30 megabytes


@given(
    words=st.lists(
        st.sampled_from(['a"b', "x\ny", "u,v", "", "w", 'q""', "é", "\r\n"]), min_size=1
    ),
    size=st.integers(1, 5),
)
def test_rows_are_cut_where_they_end(tmp_path_factory, words, size):
    encoder = TableEncoder().fit(pd.DataFrame({"n": [1.0, 2.0, 4.0]}))
    lines = ["n,w"]
    for i, word in enumerate(words):
        quoted = '"' + word.replace('"', '""') + '"' if set(word) & set(",\n\r") else word
        lines.append(f"{i},{quoted}")
    path = tmp_path_factory.mktemp("cut") / "a.csv"
    path.write_bytes("\n".join(lines).encode())
    frames = list(read_chunks(path, encoder, text=["w"], rows=size))
    found = pd.concat(frames)
    assert found["n"].tolist() == list(range(len(words)))
    assert found["w"].tolist() == [w.strip() or None for w in words]


def test_rows_must_be_positive(training):
    path, _, encoder = training
    with pytest.raises(ValueError, match="rows"):
        next(read_chunks(path, encoder, rows=0))


ODD = ["TRUE", "FALSE", "true", "false", "007", "010", "1.50", "1.5", "1", "1e3", "inf", "-0", "x"]
ODD_SETS = [ODD[:2], ODD[2:4], ODD[4:6], ODD[6:8], ["TRUE", "false", "x"], ["1", "007"], ODD]


@pytest.mark.parametrize("size", [1, 1000])
@given(words=st.sampled_from(ODD_SETS), data=st.data())
def test_words_that_look_like_other_things(tmp_path_factory, size, words, data):
    drawn = st.lists(st.sampled_from([*words, "", "NA"]), min_size=1, max_size=30)
    known, new = ([*words, *words, *data.draw(drawn)], data.draw(drawn))
    encoder = TableEncoder(min_count=1).fit(frame_of(known))
    path = tmp_path_factory.mktemp("odd") / "new.csv"
    path.write_text("w,n\n" + "".join(f"{cell},{i * i}\n" for i, cell in enumerate(new)))
    frames = list(read_chunks(path, encoder, rows=size))
    found = np.concatenate([encoder.transform(frame) for frame in frames])
    np.testing.assert_array_equal(found, encoder.transform(frame_of(new)))
    doubts = [
        doubt for frame in frames for row in encoder.check(frame).doubts.values() for doubt in row
    ]
    assert not any(doubt.why == "unseen" for doubt in doubts)


def frame_of(cells):
    words = [None if cell in ("", "NA") else cell for cell in cells]
    return pd.DataFrame({"w": pd.Series(words, dtype=object), "n": np.arange(len(cells)) ** 2})


@pytest.mark.parametrize("words", [["TRUE", "FALSE"], ["true", "false"], ["007", "010"]])
@pytest.mark.parametrize("size", [1, 1000])
def test_chunks_of_such_words_agree_with_the_whole_table(tmp_path, words, size):
    path = tmp_path / "a.csv"
    path.write_text("w\n" + "\n".join(words * 20) + "\n")
    whole = read_table(path).frame
    encoder = TableEncoder().fit(whole)
    assert encoder.learnt_["w"]["categories"] == sorted(words)
    pieces = [encoder.transform(frame) for frame in read_chunks(path, encoder, rows=size)]
    np.testing.assert_array_equal(np.concatenate(pieces), encoder.transform(whole))


def test_names_are_kept_as_they_are_written(training, tmp_path):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    names = ["NA", "NULL", "?", "nan", "", " 07 ", "1.50", "TRUE"]
    path.write_text("id,age,job,since\n" + "".join(f"{n},1,NA,2020-01-01\n" for n in names))
    for size in (1, 100):
        frame = pd.concat(
            f.astype({"job": object}) for f in read_chunks(path, encoder, text=["id"], rows=size)
        )
        assert frame["id"].tolist() == [*names[:4], None, "07", "1.50", "TRUE"]
        assert frame["job"].isna().all()
    path.write_text("id,age,job,since\nNA,x,NA,2020-01-01\n")
    assert unread(path, encoder, text=["id"]) == {0: ["age: 'x' is not a number"]}


@pytest.mark.parametrize("value", ["1e200", "-1e300", "1e400"])
def test_a_number_that_would_overflow(training, tmp_path, value):
    _, _, encoder = training
    path = tmp_path / "new.csv"
    path.write_text(f"age,job,since\n1e100,a,2020-01-01\n{value},a,2020-01-01\n")
    (frame,) = read_chunks(path, encoder)
    assert frame["age"].tolist() == [1e100, float(value)]
    with pytest.raises(TableError, match="infinite"):
        encoder.transform(frame)
    path.write_text("age,job,since\n1e100,a,2020-01-01\n")
    (frame,) = read_chunks(path, encoder)
    assert encoder.transform(frame)[0, 0] == 1e6


LARGE = [1200, 950, 2100, 14908, 640, 3300, 12000, 800, 5010, 1999]


def doubts_in(path, encoder, **options):
    (frame,) = read_chunks(path, encoder, **options)
    return frame, encoder.check(frame).doubts


@pytest.mark.parametrize("sep", [",", ";"])
@pytest.mark.parametrize("suffix", ["", " €"])
def test_thousands_that_look_like_decimals_are_in_doubt(tmp_path, sep, suffix):
    encoder = TableEncoder().fit(pd.DataFrame({"amount": LARGE, "rate": np.arange(10) + 0.5}))
    path = tmp_path / "new.csv"
    cells = ["14.908", "420", "2.100", "3.300"]
    lines = [f"{cell}{suffix}{sep}{i}.5" for i, cell in enumerate(cells)]
    path.write_text("\n".join([f"amount{sep}rate", *lines]) + "\n")
    frame, doubts = doubts_in(path, encoder)
    assert {row: [d.why for d in found] for row, found in doubts.items()} == {
        0: ["unclear"], 2: ["unclear"], 3: ["unclear"]
    }  # fmt: skip
    assert str(doubts[0][0]) == (
        f"amount: '14.908{suffix}' may have a decimal mark or one between thousands"
    )
    frame, doubts = doubts_in(path, encoder, thousands=".")
    assert not doubts
    assert frame["amount"].tolist() == [14908, 420, 2100, 3300]
    assert frame["rate"].tolist() == [0.5, 1.5, 2.5, 3.5]


def test_thousands_in_every_cell_are_in_doubt(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"amount": LARGE}))
    path = tmp_path / "new.csv"
    path.write_text("amount\n14.908\n2.101\n3.303\n")
    assert list(doubts_in(path, encoder)[1]) == [0, 1, 2]
    path = tmp_path / "new.jsonl"
    path.write_text('{"amount": 1500}\n{"amount": "2.101"}\n')
    assert list(doubts_in(path, encoder)[1]) == [1]


def test_three_decimals_are_not_in_doubt(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"weight": np.arange(60, 100) + 0.125}))
    path = tmp_path / "new.csv"
    path.write_text("weight\n75.125\n80.500\n91.000\n")
    frame, doubts = doubts_in(path, encoder)
    assert not doubts
    assert frame["weight"].tolist() == [75.125, 80.5, 91.0]


def test_a_date_whose_order_no_cell_shows_is_in_doubt(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"since": pd.date_range("2024-01-01", periods=90)}))
    path = tmp_path / "new.csv"
    path.write_text("since\n2024-02-03\n03/02/2024\nsoon\n")
    assert [str(d) for found in doubts_in(path, encoder)[1].values() for d in found] == [
        "since: '03/02/2024' may have the day or the month first",
        "since: 'soon' is not a date",
    ]


@pytest.mark.parametrize("rows", [3, 1000])
def test_a_few_rows_that_do_not_fit_the_header_are_in_doubt(tmp_path, rows):
    frame = pd.DataFrame({"age": np.arange(40.0), "job": ["cook", "clerk"] * 20})
    encoder = TableEncoder().fit(frame.assign(age=frame["age"] % 17))
    lines = [f"c{i},{i % 17},cook" for i in range(40)]
    lines[7], lines[20] = "c7,5", 'c20,5,"cook, or\nclerk",3'
    path = tmp_path / "new.csv"
    path.write_text("\n".join(["id,age,job", *lines]))
    found, reasons = [], {}
    for chunk in read_chunks(path, encoder, text=["id"], rows=rows):
        found += chunk["id"].tolist()
        checked = encoder.check(chunk[["age", "job"]])
        encoder.transform(checked.frame)
        reasons |= {chunk.index[row]: why for row, why in checked.reasons().items()}
    assert found == [f"c{i}" for i in range(40)]
    assert reasons == {
        7: "the row has 2 fields, unlike the header",
        20: "the row has 4 fields, unlike the header",
    }


def test_many_rows_that_do_not_fit_the_header_are_an_error(tmp_path):
    encoder = TableEncoder().fit(
        pd.DataFrame({"age": np.arange(9.0) % 5, "job": ["a", "b", "c"] * 3})
    )
    path = tmp_path / "new.csv"
    path.write_text("age,job\n" + "1,a\n2,b,3\n" * 20)
    with pytest.raises(TableError, match="line 3: the row has 3 fields"):
        list(read_chunks(path, encoder))


def test_shares_among_percentages_are_in_doubt(tmp_path):
    rates = pd.DataFrame({"rate": np.arange(40) / 4 + 1})
    encoder = TableEncoder(written={"rate": {"decimal": ".", "unit": "%"}}).fit(rates)
    path = tmp_path / "new.jsonl"
    path.write_text('{"rate": 0.05}\n{"rate": null}\n{"rate": 0.07}\n')
    _, doubts = doubts_in(path, encoder)
    said = "rate: '0.05' may have to be multiplied by 100: training had percentages"
    assert str(doubts[0][0]) == said
    assert doubts[2][0].why == "unclear"
    path.write_text('{"rate": 5}\n{"rate": 7.5}\n')
    assert not doubts_in(path, encoder)[1]


def test_no_row_of_a_single_column_is_lost(tmp_path):
    encoder = TableEncoder().fit(pd.DataFrame({"age": np.arange(40.0) % 17}))
    path = tmp_path / "new.csv"
    path.write_text("age\n" + '5\n""\n' * 10 + "5,6\n")
    with pytest.raises(TableError, match="line 22: the row has 2 fields"):
        list(read_chunks(path, encoder))
