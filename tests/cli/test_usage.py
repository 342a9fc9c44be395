"""Help, exit codes and errors: one line each, whatever goes wrong."""

import os
import pickle
import signal
import subprocess
import sys
import time
import warnings

import pytest
from joblib.externals.loky import get_reusable_executor
from sklearn.utils.parallel import delayed

import rejo
from rejo import cli
from rejo._errors import RejoError, Setting, Text, close_words
from rejo._jobs import each_done
from rejo.cli import demo
from rejo.tables import TableError

COMMAND = [sys.executable, "-m", "rejo.cli"]
COMMANDS = [*cli.COMMANDS]
TRAIN = ("train", "t.csv", "--target", "y", "-o", "m")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and pipes of POSIX")
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def test_help_needs_no_heavy_import():
    code = (
        "import sys\n"
        "from rejo.cli import main\n"
        f"for words in [['--help']] + [[name, '--help'] for name in {COMMANDS}]:\n"
        "    try:\n        main(words)\n"
        "    except SystemExit as stop:\n        assert stop.code == 0\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'skops', 'jinja2'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert (done.returncode, done.stderr) == (0, "")
    for name in COMMANDS:
        assert f"usage: rejo {name}" in done.stdout


def test_version(run):
    assert run("--version") == (0, f"rejo {rejo.__version__}\n", "")


@pytest.mark.parametrize(
    "words",
    [
        "demo --seed 4294967295",
        "demo --see 1",
        "compare t.csv --target y --n-jobs 0",
        "inspect m.rejo --force",
        *(
            f"train t.csv --target y -o m {wrong}"
            for wrong in (
                "--reject-cost 0",
                "--reject-cost nan",
                "--order a,a",
                "--missing -,x",
                *(f"--max-error-by-class {text}" for text in ("2", "ill=", "=0.1", "a=.1,a=.1")),
            )
        ),
        *(f"predict m n --capacity={text}" for text in ("-1", "1.5", "150%", "nan", "")),
        *(f"predict m n --audit={text}" for text in ("0", "x", "-1")),
    ],
)
def test_wrong_usage(refused, words):
    """Another transcript has what is said of such words; here are more of them."""
    line = refused(2, *words.split(" "))
    assert words.split("--")[-1].split("=")[0].split()[0] in line
    assert line.endswith("--help")


@pytest.mark.parametrize(
    ("error", "python", "typed"),
    [
        (RejoError(Text(Setting("max_error", 0.02), " fails"), parameter="max_error", remedy="Do."),
         "max_error=0.02 fails. Do.", "--max-error 0.02 fails. Do."),
        (RejoError(Text(Setting("class_order"), " lacks 'class_order'"), parameter="class_order"),
         "class_order lacks 'class_order'", "--order lacks 'class_order'"),
        (RejoError("'utf-9' is not an encoding", parameter="encoding", where="t.csv"),
         "t.csv: 'utf-9' is not an encoding", "--encoding: t.csv: 'utf-9' is not an encoding"),
        (RejoError(Text(Setting("top", 0), " is odd"), parameter="top"), "top=0 is odd",
         "top=0 is odd"),
        (RejoError("7 fields.", parameter="sep", remedy=Text("Pass ", Setting("sep", ";"))),
         "7 fields. Pass sep=';'", "7 fields. Pass --sep ';'"),
        (ValueError("sep=1"), "sep=1", "sep=1"),
        (TableError(Text("a\n", Text(Setting("max_error_by_group", 0.3, "old men")))),
         "a?max_error_by_group['old men']=0.3", "a?--max-error-by-group 'old men=0.3'"),
        (RejoError(Text(Setting("accept", ["a", "b, c"]))), "accept=['a', 'b, c']",
         "--accept 'a,\"b, c\"'"),
    ],
)  # fmt: skip
def test_errors_name_options_where_python_names_parameters(error, python, typed):
    error = pickle.loads(pickle.dumps(error))  # as from another process
    assert str(error) == python
    assert cli._options.explain(error) == typed


def test_a_percentage_is_a_share():
    assert cli._options.share("10%") == cli._options.share("0.1") == 0.1


# ---- failures of every kind ---------------------------------------------------------------


def raising(error):
    def run(arguments):
        raise error

    return run


def test_interruption(run, monkeypatch):
    monkeypatch.setattr(demo, "run", raising(KeyboardInterrupt()))
    assert run("demo") == (130, "", "rejo: interrupted\n")


def test_a_bug_is_one_line_and_shows_where_on_request(run, refused, monkeypatch):
    monkeypatch.setattr(demo, "run", raising(RuntimeError("the flux\n is lost")))
    assert "RuntimeError: the flux is lost" in refused(1, "demo")
    monkeypatch.setenv("REJO_TRACEBACK", "1")
    with pytest.raises(RuntimeError, match="flux"):
        run("demo")


def test_warnings_are_one_line(run, monkeypatch):
    def warn(arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("something\nis odd", stacklevel=1)

    monkeypatch.setattr(demo, "run", warn)
    assert run("demo") == (0, "", "rejo: warning: something is odd\n")


@pytest.mark.parametrize(
    ("package", "words", "extra"),
    [
        ("pandas", ("t.csv", "-o", "m"), "tables"),
        ("jinja2", ("t.csv", "-o", "m", "--report", "r.html"), "report"),
        ("pyarrow", ("t.parquet", "-o", "m"), "tables"),
        ("skops", ("t.csv", "-o", "m"), "files"),
    ],
)
def test_a_missing_extra_is_named(refused, folder, monkeypatch, package, words, extra):
    (folder / "t.csv").write_text("x,y\n1,a\n")
    (folder / "t.parquet").write_bytes(b"PAR1")
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    assert f'pip install "rejo[{extra}]"' in refused(
        2, "train", *words, "--target", "y", "--reject-cost", "0.2"
    )
    assert not (folder / "m").exists()


# ---- a process of its own -----------------------------------------------------------------


@posix
def test_ctrl_c_is_one_line_from_the_first_import_on(folder):
    """Wherever the imports have come to when it is pressed."""
    code = """
import rejo.__main__, sys
class Tell:  # that the first import has begun
    find_spec = staticmethod(lambda name, *_: print(flush=True) if name == "rejo.cli" else None)
sys.meta_path.insert(0, Tell)
sys.exit(rejo.__main__.run(["demo"]))
"""
    for i in range(8):
        with subprocess.Popen(
            [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=ENVIRONMENT, cwd=folder,
        ) as starting:  # fmt: skip
            starting.stdout.readline()
            time.sleep(0.02 * i)
            starting.send_signal(signal.SIGINT)
            assert starting.communicate(timeout=60)[1] == "rejo: interrupted\n"
            assert starting.returncode == 130


AMID = """
import os, signal, sys, time, rejo.__main__, rejo.cli
class Slow:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
def main(words):
    try:
        WORK
        time.sleep(30)
    except KeyboardInterrupt:
        return "slow" in sys.modules
rejo.cli.main = main
sys.exit(100 + rejo.__main__.run([]))
"""


@posix
@pytest.mark.parametrize(("work", "code"), [("import slow", 101), ("Slow()", 100)])
def test_an_interrupt_waits_for_an_import_and_is_not_lost_in_a_callback(folder, work, code):
    (folder / "slow.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    words = [sys.executable, "-c", AMID.replace("WORK", work)]
    found = subprocess.run(words, env=ENVIRONMENT, check=False, capture_output=True)
    assert (found.returncode, found.stderr) == (code, b"")


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_training_leaves_nothing(folder, table, number):
    table(1500).to_csv("big.csv", index=False)
    training = subprocess.Popen(
        [*COMMAND, "train", "big.csv", "--target", "grade", "--reject-cost", "0.2", "-o", "m.rejo"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT,
    )  # fmt: skip
    assert "1,500 rows" in training.stdout.readline()
    time.sleep(0.5)
    training.send_signal(number)
    _, err = training.communicate(timeout=60)
    assert training.returncode == 130
    assert err.splitlines()[-1] == "rejo: interrupted"
    assert [path.name for path in folder.iterdir()] == ["big.csv"]


def blocked(_):
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@posix
def test_ctrl_c_reaches_only_the_process_that_waits():
    get_reusable_executor().shutdown()  # of another test
    assert list(each_done(map(delayed(blocked), range(2)), 2)) == [True, True]
    assert not blocked(0)


def test_a_slip_in_an_option_or_a_command_is_named(refused):
    assert "(did you mean --json?)" in refused(2, "predict", "m.rejo", "new.csv", "--jsn")
    assert "(did you mean --review-budget?)" in refused(2, *TRAIN, "--review_budget=0.1")
    assert "(did you mean evaluate?)" in refused(2, "evalute", "m.rejo")
    assert "did you mean" not in refused(2, "predict", "m.rejo", "new.csv", "--colour")


def parsers():
    (commands,) = (a for a in cli.build_parser()._actions if a.choices)
    return commands.choices


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a,b", ["a", "b"]),
        (" a , b c ", ["a", "b c"]),
        ('"a,b",c', ["a,b", "c"]),
        ('c, "a, b"', ["c", "a, b"]),
        ('5" pipe,x', ['5" pipe', "x"]),
        ('"say ""a""",b', ['say "a"', "b"]),
    ],
)
def test_names_may_have_commas(text, found):
    assert cli._options.names(text) == found
    assert cli._options.names(cli._options.as_names(found)) == found


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("outcom", ["income", "outcome"], ["outcome"]),
        ("Customer_Since", ["customer since", "customer"], ["customer since"]),
        ("grade", ["credit grade", "age"], ["credit grade"]),
        ("hihg", ["high", "low"], ["high"]),
        ("bda", ["bad", "good"], ["bad"]),
        ("age", ["income", "region", "grade"], []),
        ("x", ["y", "x1"], []),
        ("X", ["y", "x"], ["x"]),
        ("y", [], []),
    ],
)
def test_only_close_words_are_suggested(word, known, meant):
    assert close_words(word, known) == meant
