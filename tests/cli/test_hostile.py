"""Model files that no one should open: one line, exit code 4, and nothing of them is run."""

import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest

from rejo.estimators import RejoLinear
from rejo.persistence import save
from rejo.selection import RejectClassifierCV

pd = pytest.importorskip("pandas")

# Those of the tests of model files themselves, by their path: tests are no package.
_SPEC = spec_from_file_location(
    "hostile_files", Path(__file__).parents[1] / "persistence" / "test_hostile.py"
)
hostile = module_from_spec(_SPEC)
_SPEC.loader.exec_module(hostile)

COMMANDS = {
    "predict": ("predict", "model.rejo", "cases.csv", "-o", "out.csv"),
    "evaluate": ("evaluate", "model.rejo", "cases.csv", "--report", "out.html"),
    "inspect": ("inspect", "model.rejo"),
}
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

good = hostile.good  # a fixture: bytes of a good file for each kind of model


@pytest.fixture(scope="module")
def data():
    random = np.random.RandomState(0)
    X = random.uniform(-1, 1, (120, 2))
    return X, (X[:, 0] + X[:, 1] + random.normal(0, 0.4, 120) > 0).astype(int)


@pytest.fixture
def write(folder, trained):
    """Put a model file beside cases that a good one could decide."""
    (folder / "cases.csv").write_bytes(trained[1].read_bytes())

    def content(data):
        (folder / "model.rejo").write_bytes(data)

    return content


@pytest.mark.check
@pytest.mark.parametrize("name", hostile.HOSTILE)
def test_a_hostile_file(refused, write, good, folder, name):
    """Each command refuses it; those that look at its header alone may find nothing wrong."""
    write(hostile.make(good, name))
    for command in ("predict", "evaluate"):
        assert refused(4, *COMMANDS[command]).startswith("model.rejo: ")
    assert sorted(path.name for path in folder.iterdir()) == ["cases.csv", "model.rejo"]


@pytest.mark.check
def test_inspection_refuses_or_only_describes(run, write, good):
    n_refused = 0
    for name in hostile.HOSTILE:
        write(hostile.make(good, name))
        code, out, err = run("inspect", "model.rejo")
        if code == 0:
            assert err == ""
            assert all(line.isprintable() for line in out.splitlines())
            continue
        assert (code, out, err.count("\n")) == (4, "", 1), (name, err)
        assert err.startswith("rejo: error: model.rejo: ")
        n_refused += 1
    assert n_refused > 20


def mangled(data):
    """Files of a model of ``rejo train``, each wrong in its own way."""
    yield "truncated", data[: len(data) // 2]
    yield "cut at its end", data[:-1]
    yield "a byte changed", bytes([*data[:5000], data[5000] ^ 1, *data[5001:]])
    yield "text", b"age,income\n1,2\n"
    yield "empty", b""
    yield "a page", b"<!doctype html><p>Not found"


def test_a_trained_model_that_was_damaged(refused, write, model):
    for what, data in mangled(model.read_bytes()):
        write(data)
        for words in COMMANDS.values():
            assert refused(4, *words).startswith("model.rejo: "), what


def test_what_is_not_a_file(refused, write, folder):
    write(b"")
    (folder / "model.rejo").unlink()
    for words in COMMANDS.values():
        assert "model.rejo" in refused(2, *words)
    (folder / "model.rejo").mkdir()
    for words in COMMANDS.values():
        assert "model.rejo" in refused(4, *words)


AUDIT = """
import contextlib, io, sys
from pathlib import Path
from rejo.cli import main
from rejo.persistence._arrays import HEADER

folder, model, cases = Path(sys.argv[1]), sys.argv[2], sys.argv[3]


def commands(path):
    return (["predict", path, cases], ["evaluate", path, cases], ["inspect", path])


def run(words):
    with contextlib.redirect_stderr(io.StringIO()) as told:
        code = main(words)
    return code, told.getvalue()


for path in [model, *sorted(map(str, folder.glob("good-*")))]:
    for words in commands(path):
        run(words)

FORBIDDEN = (
    "import", "exec", "compile", "socket.", "os.", "subprocess.", "ctypes.", "pickle.", "marshal.",
    "code.", "function.", "urllib.", "http.", "shutil.", "tempfile.", "webbrowser.", "sqlite3.",
)
seen, path = [], None


def hook(event, args):
    if event == "compile" and HEADER.fullmatch(args[0].rstrip() + "\\n"):
        return  # NumPy parses, but does not run, the header of an array that was checked before
    if event == "open" and str(args[0]) == path and args[1] in ("r", "rb"):
        return
    if event == "open" or event.startswith(FORBIDDEN):
        seen.append((path, event, repr(args)[:200]))


before = set(sys.modules)
hostile = sorted(map(str, folder.glob("hostile-*")))
sys.addaudithook(hook)
for path in hostile:
    for words in commands(path)[:2]:
        if run(words)[0] != 4:
            seen.append((path, words[0], "not refused"))
    run(commands(path)[2])
path = None
after = set(sys.modules)
for line in [*seen, *(after - before)]:
    print(line, file=sys.__stderr__)
print(len(hostile), "refused", file=sys.__stderr__)
"""


@pytest.mark.check
def test_an_audit_hook_sees_no_import_exec_or_socket(good, trained, tmp_path):
    for name, data in good.items():
        (tmp_path / f"good-{name}").write_bytes(data)
    for name in hostile.HOSTILE:
        (tmp_path / f"hostile-{name}").write_bytes(hostile.make(good, name))
    done = subprocess.run(
        [sys.executable, "-c", AUDIT, str(tmp_path), *map(str, trained)],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        check=False,
    )
    assert done.stderr == f"{len(hostile.HOSTILE)} refused\n", done.stderr


def test_the_header_cannot_command_a_terminal(run, data, folder):
    X, y = data
    frame = pd.DataFrame(X, columns=["a", "b"])
    groups, name = np.where(X[:, 0] > 0, "x", "y"), "\x1b[2J"
    model = RejectClassifierCV(RejoLinear(), max_error_by_group=0.9, reject_costs=[0.2, 0.4], cv=2)
    model.fit(frame, y, group=groups)
    save(model, folder / "model.rejo", table={"target": "y", "group": name})
    frame.assign(y=y, **{name: groups}).to_csv(folder / "cases.csv", index=False)
    code, out, err = run("evaluate", "model.rejo", "cases.csv")
    assert code == 0
    assert "'x': you asked for at most 90 %" in out
    assert name not in out + err
