"""What a bug report needs: ``rejo.show_versions()`` and ``rejo --version --verbose``."""

import importlib
import importlib.metadata
import subprocess
import sys
from importlib.metadata import PackageNotFoundError

import pytest

import rejo
from rejo import cli, versions
from rejo.solvers import extensions


def printed(capsys):
    rejo.show_versions()
    return capsys.readouterr().out


def test_it_says_what_runs_and_where(capsys):
    told = printed(capsys)
    assert told.startswith(f"rejo {rejo.__version__}\n")
    for text in (str(sys.executable), str(versions.Path(rejo.__file__).parent), sys.platform):
        assert text.lower() in told.lower()
    for name in ("numpy", "scipy", "scikit-learn"):
        assert f"{name} {importlib.metadata.version(name)}" in " ".join(told.split())
    for name, digest in extensions.compiled().items():
        assert f"{name} sources {digest}" in " ".join(told.split())


def test_it_names_the_instruction_set_in_use(capsys):
    svm = pytest.importorskip("rejo.solvers._svm", reason="built without a compiler")
    best, *_, last = svm.architectures() * 2
    try:
        svm.use(last)
        assert svm.in_use() == last
        assert f"compiled, {last} in use" in printed(capsys)
    finally:
        svm.use(best)
    assert f"compiled, {best} in use" in printed(capsys)


def test_without_the_extension_it_says_why_and_what_to_do(capsys, monkeypatch):
    for name in extensions.NAMES:
        monkeypatch.setitem(sys.modules, f"rejo.solvers.{name}", None)
    told = printed(capsys)
    assert "NumPy reference" in told
    assert " ".join(told.split()).count("_svm was not built") == 1
    assert extensions.remedy() in told


def test_an_extension_that_cannot_be_loaded_says_why(capsys, monkeypatch):
    def broken(name):
        if name == "rejo.solvers._trees":
            raise ImportError("libstdc++.so.6: version `GLIBCXX_3.4.99' not found")
        return importlib.import_module(name)

    monkeypatch.setattr(extensions, "import_module", broken)
    told = printed(capsys)
    assert "could not be loaded: libstdc++.so.6: version `GLIBCXX_3.4.99' not found" in told
    assert extensions.remedy() in told


def test_without_an_installation_it_works_too(capsys, monkeypatch):
    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "distribution", missing)
    monkeypatch.setattr(extensions, "distribution", missing)
    assert "run from its sources" in printed(capsys)
    assert extensions.rebuild().endswith(" rejo")


def test_packages_are_those_of_the_metadata():
    class Installed:
        requires = (
            "numpy>=1.26",
            'xgboost-cpu>=3; platform_system == "Linux" and extra == "boost"',
            'rejo[plot,pandas]; extra == "all"',
            "psycopg[binary]>=3.2; extra == 'sql'",
            'ruff; extra == "dev"',
        )

    assert versions.requirements(Installed()) == (["numpy"], ["psycopg", "xgboost-cpu"])
    required, optional = versions.requirements(None)
    assert (set(required), optional) == ({"numpy", "scipy", "scikit-learn"}, [])


@pytest.mark.parametrize("words", [["--version", "--verbose"], ["--verbose", "--version"]])
def test_the_command_prints_the_same(words, capsys):
    expected = printed(capsys)
    assert cli.main(words) == 0
    assert capsys.readouterr().out == expected


def test_verbose_alone_is_refused(capsys):
    with pytest.raises(SystemExit) as refused:
        cli.main(["--verbose", "look", "x.csv"])
    assert refused.value.code == 2
    assert "--verbose" in capsys.readouterr().err


def test_the_package_runs_as_a_program(capsys):
    def output(*words):
        done = subprocess.run(
            [sys.executable, "-m", "rejo", *words], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    assert output("--version") == (0, f"rejo {rejo.__version__}\n", "")
    code, told, errors = output()
    assert (code, errors) == (0, "")
    assert told.splitlines()[:4] == printed(capsys).splitlines()[:4]
