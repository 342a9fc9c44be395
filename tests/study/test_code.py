"""Rows say which code computed them, and rows of other code are never mixed in silently."""

import shutil
import subprocess

import numpy as np
import pytest

from rejo import __version__
from rejo.study import StudyFileError, _code, _run, read_rows, run, run_cell
from rejo.study._code import _commit, _digest, current_code, digest_of
from rejo.study._store import open_store

from .test_store import small

OTHER = "rejo 0.0.9, commit 1234567, digest 0123456789ab"


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A study of two cells, one of which was computed by other code."""
    path = tmp_path / "study.db"
    with monkeypatch.context() as patch:
        patch.setattr(_code, "current_code", lambda: OTHER)
        patch.setattr(_run, "current_code", lambda: OTHER)
        assert run(small(repetitions=1), path) == 1
    assert run(small(), path, other_code="keep") == 1
    return path


def codes(database):
    return [row["code"] for row in read_rows(database)]


def test_rows_of_other_code_are_refused(database):
    before = read_rows(database)
    with pytest.raises(
        StudyFileError, match=rf"1 by {OTHER}; this is .*other_code=replace.*other_code=keep"
    ):
        run(small(repetitions=3), database)
    assert read_rows(database) == before


def test_rows_of_other_code_are_kept_if_asked_for(database):
    assert codes(database) == [OTHER] * 2 + [current_code()] * 2
    assert run(small(repetitions=3), database, other_code="keep") == 1
    assert codes(database) == [OTHER] * 2 + [current_code()] * 4


def test_rows_of_other_code_are_computed_again_if_asked_for(database):
    assert run(small(repetitions=3), database, other_code="replace") == 2
    assert codes(database) == [current_code()] * 6
    assert run(small(repetitions=3), database) == 0


def test_another_answer_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"other_code='mix' must be one of refuse, keep, replace"):
        run(small(), tmp_path / "study.db", other_code="mix")


def test_a_worker_with_other_code_gives_no_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(_run, "signed", lambda rows: [row | {"code": OTHER} for row in rows])
    path = tmp_path / "study.db"
    with pytest.raises(
        RuntimeError, match=f"2 of 2 cells failed.*a worker has other code .{OTHER}"
    ):
        run(small(), path)
    assert read_rows(path) == []
    assert run(small(), path, other_code="keep") == 2
    assert set(codes(path)) == {OTHER}


def test_a_worker_with_a_version_that_recorded_no_code_gives_no_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(_run, "signed", lambda rows: rows)
    with pytest.raises(RuntimeError, match=r"a worker has other code .an older version"):
        run(small(), tmp_path / "study.db")


def test_two_processes_with_different_code_do_not_mix_rows(tmp_path, monkeypatch):
    """Both start on an empty file; the second to write is refused."""
    path, study = tmp_path / "study.db", small()
    one, other = (run_cell(study, cell) for cell in study.cells())
    with open_store(path, study) as store, open_store(path, study) as stranger:
        store.add(one)
        strange = [row | {"code": OTHER} for row in other]
        with pytest.raises(StudyFileError, match="another process writes rows of other code"):
            stranger.add(strange)
        store.add(other)
        stranger.mixed = True
        stranger.add(strange)
    assert codes(path) == [current_code()] * 2 + [OTHER] * 2


def test_code_names_version_packages_and_digest():
    assert current_code().startswith(f"rejo {__version__}, ")
    assert f", numpy {np.__version__}, " in current_code()
    # A commit that changed nothing that computes is the same code.
    assert digest_of("rejo 1.0, commit 1, digest a") == digest_of("rejo 1.0, commit 2, digest a")


@pytest.mark.parametrize(
    ("name", "changed"),
    [("compiled", lambda: {}), ("_packages", lambda: ["numpy 0.1"])],
)
def test_engines_and_packages_are_part_of_the_code(monkeypatch, name, changed):
    monkeypatch.setattr(_code, name, changed)
    other = current_code.__wrapped__()
    assert digest_of(other) != digest_of(current_code())
    if name == "compiled":
        assert "without _svm" in other


def test_a_changed_module_is_other_code(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    first = _digest(tmp_path)
    (tmp_path / "notes.txt").write_text("no code")
    (tmp_path / "a.py").write_bytes(b"x = 1\r\n")
    (tmp_path / "cli").mkdir()
    (tmp_path / "cli" / "words.py").write_text("what a command says")
    (tmp_path / ".#a.py").symlink_to(tmp_path / "nowhere")  # an editor's lock
    assert _digest(tmp_path) == first
    (tmp_path / "a.py").write_text("x = 2\n")
    assert _digest(tmp_path) != first
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    (tmp_path / "b.py").write_text("x = 1\n")
    assert _digest(tmp_path) != first


def test_code_that_cannot_be_told_from_other_code_is_refused(tmp_path):
    with pytest.raises(RuntimeError, match="no modules"):
        _digest(tmp_path)


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_the_commit_is_that_of_the_files_themselves(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True)

    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    assert _commit(package) == []
    git("init")
    (tmp_path / "other.txt").write_text("")
    git("add", "other.txt")
    git("commit", "-m", "without the package")
    assert _commit(package) == []  # installed into somebody else's checkout
    git("add", "package")
    git("commit", "-m", "with it")
    [clean] = _commit(package)
    (package / "__init__.py").write_text("x = 1\n")
    assert _commit(package) == [f"{clean} with changes"]
