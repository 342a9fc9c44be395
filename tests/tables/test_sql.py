"""Tables of databases: SQLite, and PostgreSQL where a server is installed.

The server of these tests is a cluster of its own in a temporary folder, on a free port of
127.0.0.1; Debian's package ``postgresql`` is enough.
"""

import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
sa = pytest.importorskip("sqlalchemy")

from rejo._io import without_password  # noqa: E402
from rejo.tables import (  # noqa: E402
    TableEncoder,
    TableError,
    TableWriter,
    read_chunks,
    read_table,
)
from rejo.tables.sources import check_output_format  # noqa: E402

PASSWORD = "s3cr3t#:x"


def program(name):
    """Return a program of PostgreSQL; Debian keeps some out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.fixture(scope="session")
def server():
    """Start PostgreSQL; return the URL of its database."""
    pytest.importorskip("psycopg")
    if program("initdb") is None or program("postgres") is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt install postgresql)")
    with TemporaryDirectory(prefix="rejo-postgresql-", ignore_cleanup_errors=True) as folder:
        yield from run_server(Path(folder))


def run_server(folder):
    run_as = []
    if os.getuid() == 0:  # the server refuses to run as root
        user = next((user for user in ("postgres", "nobody") if is_user(user)), None)
        if user is None or shutil.which("setpriv") is None:
            pytest.skip("PostgreSQL does not run as root, and there is no other user")
        run_as = ["setpriv", f"--reuid={user}", "--clear-groups"]
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    password, log = folder / "password", folder / "log"
    password.write_text(PASSWORD)
    password.chmod(0o644)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    make = [program("initdb"), "-D", str(folder / "data"), "-U", "rejo", "-A", "scram-sha-256"]
    make += ["--pwfile", str(password), "--no-sync", "-E", "UTF8", "--locale", "C"]
    start = [program("postgres"), "-D", str(folder / "data"), "-h", "127.0.0.1", "-p", str(port)]
    start += ["-k", str(folder), "-c", "fsync=off"]
    subprocess.run([*run_as, *make], check=True, capture_output=True, cwd="/")
    with log.open("wb") as file:
        process = subprocess.Popen([*run_as, *start], stdout=file, stderr=file, cwd="/")
    url = f"postgresql://rejo:{quote(PASSWORD)}@127.0.0.1:{port}/postgres"
    try:
        while not answers(url):
            process_wait(process, 0.1)
            assert process.poll() is None, log.read_text()
        yield url
    finally:
        process.terminate()
        process.wait(timeout=60)


def answers(url):
    try:
        return bool(execute(url, "SELECT 1"))
    except sa.exc.OperationalError:
        return False


def process_wait(process, seconds):
    """Wait for a while, or until the process ends."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return


def is_user(name):
    try:
        return bool(pwd.getpwnam(name))
    except KeyError:
        return False


def engine_of(url):
    url = url.replace("postgresql://", "postgresql+psycopg://")
    return sa.create_engine(url, poolclass=sa.pool.NullPool)


def execute(url, *statements):
    found = None
    with engine_of(url).begin() as connection:
        for statement in statements:
            result = connection.exec_driver_sql(statement)
            found = result.fetchall() if result.returns_rows else None
    return found


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """Return the URL of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/a.db"
    server = request.getfixturevalue("server")
    execute(server, "DROP SCHEMA IF EXISTS public CASCADE", "CREATE SCHEMA public")
    execute(server, "DROP SCHEMA IF EXISTS other CASCADE", "CREATE SCHEMA other")
    return server


@pytest.fixture
def loans(url):
    kinds = "id text, age integer, pay numeric(10, 3), since date, job varchar(20), ok boolean"
    execute(
        url,
        f'CREATE TABLE "Loans 1" ({kinds})',
        "INSERT INTO \"Loans 1\" VALUES ('007', 31, 2.100, '2020-01-31', 'clerk', true)",
        "INSERT INTO \"Loans 1\" VALUES ('008', NULL, 420, '2020-02-01', ' cook ', false)",
        "INSERT INTO \"Loans 1\" VALUES ('009', 33, 1.234, NULL, '', NULL)",
    )
    return url


@pytest.mark.parametrize(
    ("mark", "query"),
    [
        ("", None),  # the only table
        ("#Loans 1", None),
        ("#Loans%201", None),
        ("", "Loans 1"),
        ("", 'SELECT * FROM "Loans 1" ORDER BY id'),
        ("", "-- all\n select *, '10%:x' AS more FROM \"Loans 1\";"),
    ],
)
def test_a_table_or_a_query(loans, mark, query):
    table = read_table(loans + mark, query=query, text=["id"])
    frame = table.frame
    assert frame["id"].tolist() == ["007", "008", "009"]
    assert frame["age"].isna().tolist() == [False, True, False]
    assert frame["pay"].tolist() == [2.1, 420.0, 1.234]
    assert frame["since"].tolist()[:2] == [datetime(2020, 1, 31), datetime(2020, 2, 1)]
    assert frame["job"].tolist() == ["clerk", "cook", None]
    assert [r.kind for r in table.readings.values()][:5] == [
        "text", "number", "number", "date", "category",
    ]  # fmt: skip
    assert PASSWORD not in table.path
    assert "s3cr3t" not in table.path


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_chunks(loans, rows):
    whole = read_table(loans, text=["id"])
    encoder = TableEncoder(written=whole.written).fit(whole.frame.drop(columns=["id", "ok"]))
    if loans.startswith("sqlite"):
        execute(loans, "INSERT INTO \"Loans 1\" VALUES ('x', 'n.k.', 1, 'soon', 5, 1)")
    else:
        kinds = ", ".join(f"ALTER {name} TYPE text" for name in ("age", "since"))
        new = "INSERT INTO \"Loans 1\" VALUES ('x', 'n.k.', 1, 'soon', '5', true)"
        execute(loans, f'ALTER TABLE "Loans 1" {kinds}', new)
    frames = list(read_chunks(loans, encoder, text=["id", "y"], optional=["y"], rows=rows))
    assert max(map(len, frames)) <= rows
    frame = pd.concat([frame.astype(object) for frame in frames])
    assert frame["id"].tolist() == ["007", "008", "009", "x"]
    assert frame["age"].tolist()[0] == 31.0
    assert frame["age"].tolist()[3] == "n.k."
    assert frame["since"].tolist()[3] == "soon"
    assert frame["job"].tolist()[3] == "5"


def test_no_rows(loans):
    encoder = TableEncoder().fit(pd.DataFrame({"age": [1.0, 2.0, 4.0]}))
    (frame,) = read_chunks(loans, encoder, query='SELECT age FROM "Loans 1" WHERE age < 0')
    assert len(frame) == 0


def test_a_query_changes_nothing(loans):
    for query in (
        'WITH x AS (DELETE FROM "Loans 1" RETURNING *) SELECT * FROM x',
        'DELETE FROM "Loans 1"',
        'DROP TABLE "Loans 1"',
    ):
        with pytest.raises(TableError):
            read_table(loans, query=query)
    assert len(read_table(loans).frame) == 3


def test_tables_that_are_not_there(loans):
    execute(loans, 'CREATE TABLE "other" (a integer)')
    for mark, problem in [
        ("", "no table is named. The tables are: .*'Loans 1'.* Name one after a #"),
        ("#Loans", "no table 'Loans'. Did you mean 'Loans 1'"),
        ('#x"; DROP TABLE other; --', "no table 'x"),
    ]:
        with pytest.raises(TableError, match=problem) as caught:
            read_table(loans + mark)
        assert caught.value.parameter == "query"
        assert "s3cr3t" not in str(caught.value)
    with pytest.raises(TableError, match=r"the database says: .*nothing"):
        read_table(loans, query="SELECT * FROM nothing")
    with pytest.raises(TableError, match="both the table"):
        read_table(loans + "#other", query="SELECT 1")
    with pytest.raises(TableError, match="'a'"):
        read_table(loans, query="SELECT 1 AS a, 2 AS a")


def test_cells_that_are_not_single_values(url):
    kind, value = ("bytea", r"'\x00'") if url.startswith("postgresql") else ("blob", "x'00'")
    execute(url, f"CREATE TABLE t (a integer, b {kind})", f"INSERT INTO t VALUES (1, {value})")
    with pytest.raises(TableError, match="row 1, column 'b'"):
        read_table(url)
    encoder = TableEncoder().fit(pd.DataFrame({"a": [1.0, 2.0, 4.0]}))
    assert sum(map(len, read_chunks(url, encoder))) == 1  # the column is not needed


def test_names_of_every_kind(url):
    name, column = 'a"b;--%s', 'c "d" %s :f'
    if not sa.__version__.startswith("2.0."):  # which takes %(e)s for a parameter
        column += " %(e)s"
    frame = pd.DataFrame({column: [1.0, 2.0]})
    with TableWriter(f"{url}#{name}") as writer:
        writer.write(frame)
    assert read_table(f"{url}#{name}").frame[column].tolist() == [1.0, 2.0]
    assert read_table(url, query=name).frame[column].tolist() == [1.0, 2.0]


def test_types_of_postgresql(server):
    query = (
        "SELECT 12345678901234567890::numeric AS big, 'a'::char(3) AS c, now() AS t, "
        "'12:30'::time AS clock, gen_random_uuid() AS u, 1.5::real AS r, true AS ok, "
        "'2020-01-01 12:00+02'::timestamptz AS z, 'infinity'::float8 AS i, NULL AS n"
    )
    encoder = TableEncoder().fit(pd.DataFrame({"r": [1.0, 2.0, 4.0]}))
    (frame,) = read_chunks(server, encoder, query=query, text=["big", "clock", "u", "z", "ok"])
    found = frame.iloc[0]
    assert found["big"] == "12345678901234567890"
    assert found["clock"] == "12:30:00"
    assert len(found["u"]) == 36
    assert found["z"] == "2020-01-01 10:00:00"
    assert found["r"] == 1.5
    with pytest.raises(TableError, match="infinite"):
        read_table(server, query=query)


# ---- writing ----------------------------------------------------------------------------------

DECISIONS = pd.DataFrame(
    {
        "id": ["a", "=1+2", None],
        "decision": ["good", "review", "bad"],
        "chance_wrong": [0.25, np.nan, 0.5],
        "reason": [None, "x", None],
        "rank": pd.array([None, 1, None], dtype="Int64"),
        "when": pd.to_datetime(["2020-01-01 00:00:00", None, "2020-01-02 03:04:05"]),
        "ok": [True, False, True],
    }
)


def tables(url):
    return sorted(sa.inspect(engine_of(url)).get_table_names())


def test_decisions(url):
    place = f"{url}#decisions"
    check_output_format(place)
    with TableWriter(place) as writer:
        writer.write(DECISIONS[:1])
        writer.write(DECISIONS[1:])
    rows = execute(url, "SELECT * FROM decisions")
    assert [tuple(row)[:5] for row in rows] == [
        ("a", "good", 0.25, None, None),
        ("=1+2", "review", None, "x", 1),
        (None, "bad", 0.5, None, None),
    ]
    for write in (check_output_format, lambda path: TableWriter(path).__enter__()):
        with pytest.raises(FileExistsError, match="#decisions") as caught:
            write(place)
        assert "s3cr3t" not in str(caught.value)
    with TableWriter(place, overwrite=True) as writer:
        writer.write(DECISIONS[["id"]][:2])
    assert [tuple(row) for row in execute(url, "SELECT * FROM decisions")] == [("a",), ("=1+2",)]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_after_an_error_the_database_is_as_before(url, error, overwrite):
    name = "old" if overwrite else "new"
    execute(url, "CREATE TABLE old (a integer)", "INSERT INTO old VALUES (5)")

    def interrupted():
        with TableWriter(f"{url}#{name}", overwrite=overwrite) as writer:
            writer.write(DECISIONS)
            raise error

    with pytest.raises(error):
        interrupted()
    assert tables(url) == ["old"]
    assert [tuple(row) for row in execute(url, "SELECT * FROM old")] == [(5,)]


def test_a_new_database_is_whole_or_absent(tmp_path):
    path = tmp_path / "new.db"

    def interrupted():
        with TableWriter(f"sqlite:///{path}#t") as writer:
            writer.write(DECISIONS)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(tmp_path) == []
    with TableWriter(f"sqlite:///{path}#t") as writer:
        writer.write(DECISIONS)
    assert os.listdir(tmp_path) == ["new.db"]


def test_nobody_sees_a_part_of_a_table(url):
    execute(url, "CREATE TABLE t (a integer)", "INSERT INTO t VALUES (5)")
    with TableWriter(f"{url}#t2") as writer:
        writer.write(DECISIONS)
        assert tables(url) == ["t"]
    assert tables(url) == ["t", "t2"]


def test_schemas(server):
    execute(server, "DROP SCHEMA IF EXISTS other CASCADE", "CREATE SCHEMA other")
    with TableWriter(f"{server}#other.decisions") as writer:
        writer.write(DECISIONS)
    assert len(execute(server, "SELECT * FROM other.decisions")) == 3
    assert len(read_table(f"{server}#other.decisions").frame) == 3
    execute(server, "CREATE VIEW other.v AS SELECT 1 AS a")
    with (
        pytest.raises(TableError, match=r"'other\.v' is a view"),
        TableWriter(f"{server}#other.v", overwrite=True),
    ):
        pass


# ---- URLs -------------------------------------------------------------------------------------


def test_a_missing_database_is_not_made(tmp_path):
    for write in (read_table, lambda url: list(read_chunks(url, TableEncoder()))):
        with pytest.raises((FileNotFoundError, AttributeError)):
            write(f"sqlite:///{tmp_path}/none.db")
    with pytest.raises(FileNotFoundError):
        check_output_format(f"sqlite:///{tmp_path}/none/a.db#t")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("sqlite://", "no file is named"),
        ("sqlite:///:memory:", "no file is named"),
        ("mysql://u:s3cr3t@h/d", "tables are not read from 'mysql://'"),
        ("https://u:s3cr3t@h/d.csv", "tables are not read from 'https://'"),
        ("postgresql://u:s3cr3t@h:port/d", "not the URL of a database"),
        ("postgresql://u:s3cr3t@127.0.0.1:1/d?application_name=s3cr3t#t", "the database says"),
    ],
)
def test_urls_that_cannot_be_used(url, problem):
    pytest.importorskip("psycopg")
    with pytest.raises(TableError, match=problem) as caught:
        read_table(url)
    assert "s3cr3t" not in str(caught.value)


def test_a_wrong_password_is_not_shown(server):
    wrong = server.replace("s3cr3t", "0ther0ne")
    with pytest.raises(TableError, match="password authentication failed") as caught:
        read_table(wrong)
    assert "0ther0ne" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://me:s3@h:5/d?password=s3#t", "postgresql://me@h:5/d#t"),
        ("postgresql://me:a#b@h/d#t", "postgresql://me@h/d#t"),
        ("postgresql://me:a@b@h/d", "postgresql://me@h/d"),
        ("--output=postgresql+psycopg://me:s3@h/d", "--output=postgresql+psycopg://me@h/d"),
        ("-opostgresql://me:s3@h/d", "-opostgresql://me@h/d"),
        ("sqlite:///a/b.db#t", "sqlite:///a/b.db#t"),
        ("a:b@c.csv", "a:b@c.csv"),
        ("SELECT 'x://a:b@c'", "SELECT 'x://a:b@c'"),
    ],
)
def test_names_for_messages(text, shown):
    assert without_password(text) == shown


def test_files_that_are_not_databases(tmp_path):
    path = tmp_path / "a.db"
    path.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(TableError, match="not an SQLite database"):
        read_table(f"sqlite:///{path}")
    with sqlite3.connect(tmp_path / "b.db") as connection:
        connection.execute("CREATE TABLE t (a, b)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * 50) for i in range(1000)])
    connection.close()
    data = bytearray((tmp_path / "b.db").read_bytes())
    random = np.random.RandomState(0)
    for i in random.randint(100, len(data), 400):
        data[i] = random.randint(256)
    path.write_bytes(data)
    with pytest.raises(TableError):
        read_table(f"sqlite:///{path}")


def test_without_sqlalchemy_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(ImportError, match=r"rejo\[tables\]"):
        read_table(f"sqlite:///{tmp_path}/a.db")


def test_dates_are_dates(server):
    table = read_table(
        server, query="SELECT date '2020-01-02' AS d, timestamp '2020-01-02 03:04' AS t"
    )
    assert table.frame["d"].tolist() == [datetime.combine(date(2020, 1, 2), datetime.min.time())]
    assert table.frame["t"].tolist() == [datetime(2020, 1, 2, 3, 4)]


@pytest.mark.parametrize("rows", ["WHERE x < 0", ""])
def test_a_view_that_recurses_for_ever_ends(tmp_path, monkeypatch, rows):
    """One gives no row, the other rows without end."""
    monkeypatch.setattr("rejo.tables._sql.NEXT_ROWS", 1.0)
    monkeypatch.setattr("rejo.tables._sql.ALL_ROWS", 2.0)
    url = f"sqlite:///{tmp_path}/a.db"
    view = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT x FROM r"
    execute(url, f"CREATE VIEW v AS {view} {rows}")
    encoder = TableEncoder().fit(pd.DataFrame({"x": [1.0, 2.0, 4.0]}))
    for read in (read_table, lambda url: sum(map(len, read_chunks(url, encoder)))):
        with pytest.raises(TableError, match="seconds for the next rows"):
            read(f"{url}#v")


@pytest.mark.parametrize("password", ["s3cr?t", "s3/cr", "s3@cr", "s3#cr", "s3:cr", "s3%3Fcr"])
def test_no_part_of_a_password_is_shown(password):
    pytest.importorskip("psycopg")
    url = f"postgresql://u:{password}@127.0.0.1:1/d"
    assert "s3" not in without_password(url)
    assert "cr" not in without_password(url)
    for read in (read_table, lambda url: check_output_format(f"{url}#t")):
        with pytest.raises(TableError) as caught:
            read(url)
        assert "s3" not in str(caught.value)
