"""Tables that no one should send: one line with the file, exit code 3, in bounded memory."""

import gzip
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("resource")
if not os.path.exists("/proc/self/status"):
    pytest.skip("needs the peak of memory from Linux", allow_module_level=True)

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
MB = 1 << 20
COMMAND = """
import resource, sys
from rejo.__main__ import run
resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)
code = run()
# Not ru_maxrss, which counts the process that forked this one, too.
peak = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024
print("peak", peak, file=sys.stderr)
sys.exit(code)
"""


def start(*words, **options):
    command = [sys.executable, "-c", COMMAND, *map(str, words)]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.check
def test_a_bomb_of_quotes(model, folder):
    names = b"case,age,income,job,since,region,unit,grade\n"
    (folder / "new.csv.gz").write_bytes(gzip.compress(names + b'1,"' + b'"' * (200 * MB), 1))
    with start("predict", model, "new.csv.gz", "-o", "out.csv") as process:
        _, err = process.communicate()
    assert process.returncode == 3
    *said, peak = err.splitlines()
    assert "new.csv.gz, line 2" in said[-1]
    assert int(peak.split()[1]) < 800
    assert not (folder / "out.csv").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_endless_pipe_is_interrupted(model, cases, number):
    """Decisions on a pipe that never ends stop at Ctrl-C or a signal, and leave nothing."""
    lines = cases.read_bytes().splitlines(keepends=True)
    with start("predict", model, "-", "-o", "out.csv", stdin=subprocess.PIPE) as process:
        feed = process.stdin.buffer
        feed.write(lines[0])
        for _ in range(3000):  # more than a chunk, so that it has begun to decide
            feed.write(b"".join(lines[1:]))
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == 130
    assert "rejo: interrupted" in err
    assert not [name for name in os.listdir() if name.endswith(".part") or name == "out.csv"]


def test_dates_where_training_had_numbers(run, model, cases):
    pytest.importorskip("pyarrow")
    frame = pd.read_csv(cases, dtype={"case": str}, parse_dates=["since"])
    frame.assign(age=frame["since"]).to_parquet("dates.parquet")
    code, _, err = run("predict", model, "dates.parquet", "-o", "out.csv")
    assert code == 6
    assert "age" in err
    assert set(pd.read_csv("out.csv")["decision"]) == {"review"}


@pytest.mark.check
def test_unreadable_tables(refused, model, cases):
    pytest.importorskip("pyarrow")
    pd.read_csv(cases).to_parquet("good.parquet")
    with open("good.parquet", "rb") as file:
        parquet = file.read()
    footer = len(parquet) - 8 - int.from_bytes(parquet[-8:-4], "little")
    packed = gzip.compress(cases.read_bytes())
    middle = bytes([*packed[:99], *(255 - byte for byte in packed[99:300]), *packed[300:]])
    tables = {
        "pages.parquet": parquet[:4] + bytes(len(parquet) // 2) + parquet[4 + len(parquet) // 2 :],
        "footer.parquet": parquet[:footer] + b"\xff" * 40 + parquet[footer + 40 :],
        "length.parquet": parquet[:-8] + b"\xff\xff\xff\x7fPAR1",
        "short.parquet": parquet[:50],
        "empty.parquet": b"",
        "short.csv.gz": packed[:-20],
        "middle.csv.gz": middle,
        "sum.csv.gz": packed[:-8] + bytes(8),
        "end.csv.gz": packed + b"more",
        "bytes.csv": np.random.RandomState(0).bytes(1000),
    }
    for name, content in tables.items():
        with open(name, "wb") as file:
            file.write(content)
        for words in (("predict", model, name), ("evaluate", model, name)):
            assert name in refused(3, *words)
        assert name in refused(
            3, "train", name, "--target", "grade", "--reject-cost", "0.2", "-o", "m.rejo"
        )


def test_a_class_as_long_as_a_book(refused, table):
    frame = table()
    frame.loc[3, "grade"] = "x" * 100_000
    frame.to_csv("t.csv", index=False)
    words = ("--target", "grade", "--reject-cost", "0.2", "-o", "m.rejo")
    assert len(refused(3, "train", "t.csv", *words)) < 300
