"""The files that people install: complete, honest about what is compiled, and easy to repair."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import threading
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import rejo
from rejo.solvers import extensions

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.check,
    pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="needs the source tree"),
]
WITHOUT_COMPILER = {"CC": "/nonexistent", "CXX": "/nonexistent"}


def run(*command, cwd=ROOT, **variables):
    """Run a command in an environment of its own: no settings of pip but those given."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "REJO_", "PYTHON"))}
    return subprocess.run(
        [*map(str, command)],
        cwd=cwd,
        env={**kept, "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INPUT": "1", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def ran(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


# ---- the sdist ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tracked():
    done = run("git", "ls-files", "-z") if shutil.which("git") else None
    if done is None or done.returncode or not done.stdout:
        pytest.skip("needs the repository")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


@pytest.fixture(scope="module")
def sdist(tracked, tmp_path_factory):
    """The sdist of what git knows: files beside them, and lists of earlier builds, do not count."""
    folder = tmp_path_factory.mktemp("sdist")
    for name in tracked:
        (folder / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / "source" / name)
    make = "import sys; from setuptools import build_meta as b; b.build_sdist(sys.argv[1])"
    ran(sys.executable, "-c", make, folder / "files", cwd=folder / "source")
    [path] = (folder / "files").iterdir()
    return path


def test_the_sdist_has_all_that_the_repository_has(sdist, tracked):
    with tarfile.open(sdist) as archive:
        names = {m.name.partition("/")[2] for m in archive.getmembers() if m.isfile()}
    assert set(tracked) - names == set()
    made = {name for name in names - set(tracked) if ".egg-info/" not in name}
    assert made == {"PKG-INFO", "setup.cfg"}


# ---- builds without a compiler ------------------------------------------------------------------


def unpacked(sdist, folder):
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [source] = folder.iterdir()
    return source


def test_a_wheel_without_compiled_code_says_so(sdist, tmp_path):
    source = unpacked(sdist, tmp_path / "source")
    make = "import sys; from setuptools import build_meta as b; b.build_wheel(sys.argv[1])"
    told = ran(sys.executable, "-c", make, tmp_path / "files", cwd=source, **WITHOUT_COMPILER)
    assert "THE COMPILED SOLVER WAS NOT BUILT" in told
    [wheel] = (tmp_path / "files").iterdir()
    assert wheel.name == f"rejo-{rejo.__version__}-py3-none-any.whl"


@pytest.mark.parametrize("variables", [WITHOUT_COMPILER, {"REJO_NO_EXTENSION": "1"}], ids=str)
def test_an_extension_that_is_required_is_built_or_the_build_fails(tmp_path, variables):
    build = (sys.executable, "setup.py", "-q", "build_ext", "--build-lib", tmp_path / "lib")
    done = run(*build, "--build-temp", tmp_path / "t", REJO_REQUIRE_EXTENSION="1", **variables)
    assert done.returncode != 0
    assert "nonexistent" in done.stderr or "contradict" in done.stderr


# ---- macOS and Windows -------------------------------------------------------------------------


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("rejo_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("of_python", "machine", "target"),
    [
        ("10.9", "x86_64", "10.15"),
        ("10.9", "arm64", "11.0"),
        ("10.15", "x86_64", "10.15"),
        ("14.0", "x86_64", "14.0"),
        ("15", "arm64", "15"),
    ],
)
def test_on_macos_the_target_has_aligned_memory(build, of_python, machine, target):
    assert build.macos_target(of_python, machine) == target


class MSVC:
    """As much of setuptools' compiler as the build uses."""

    compiler_type = "msvc"
    initialized = False

    def __init__(self, cc):
        self.cc, self.compile_options = str(cc), ["/nologo", "/O2", "/GL", "/MD"]

    def initialize(self, plat_name):
        self.initialized = plat_name


@pytest.fixture
def windows(build, tmp_path, monkeypatch):
    """The build command as on Windows, with Visual Studio and its cl in a folder."""
    from setuptools import Distribution

    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PROGRAMFILES", str(tmp_path / "programs"))
    monkeypatch.delenv("REJO_REQUIRE_EXTENSION", raising=False)
    command = build.BuildExtension(Distribution())
    tools = tmp_path / "VC/Tools"
    command.compiler = MSVC(tools / "MSVC/14.44.35207/bin/HostX86/x64/cl.exe")
    command.plat_name, command.extensions = "win-amd64", [build.Extension("rejo.x", ["x.cpp"])]
    command.build_lib = str(tmp_path)
    return command


@pytest.mark.parametrize("place", ["VC/Tools/Llvm/x64/bin", "programs/LLVM/bin"])
def test_on_windows_clang_cl_takes_the_place_of_cl(windows, tmp_path, place):
    program = tmp_path / place / "clang-cl.exe"
    program.parent.mkdir(parents=True)
    program.touch()
    compile_args, link_args = windows.clang_cl_flags()
    assert windows.compiler.cc == str(program)
    assert windows.compiler.initialized == "win-amd64"
    assert "/GL" not in windows.compiler.compile_options
    assert {"/std:c++17", "--target=x86_64-pc-windows-msvc"} <= set(compile_args)
    assert link_args == []


def test_on_windows_a_build_without_clang_cl_says_so(windows, monkeypatch, capsys):
    windows.build_extensions()
    assert "clang-cl was not found" in capsys.readouterr().err
    assert windows.extensions == windows.distribution.ext_modules == []

    windows.compiler.initialized = False
    monkeypatch.setenv("REJO_REQUIRE_EXTENSION", "1")
    with pytest.raises(Exception, match="clang-cl was not found"):
        windows.build_extensions()


# ---- the trap of the cached wheel ---------------------------------------------------------------


@contextmanager
def index(folder):
    """Serve a folder as a package index, on loopback; yield its address."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def clean_python(tmp_path):
    """Makes Pythons without rejo, with links to the packages that this one has."""
    borrowed = tmp_path / "borrowed"
    borrowed.mkdir()
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if "rejo" not in path.name and path.suffix != ".pth":
            (borrowed / path.name).symlink_to(path)

    def make(name):
        ran(sys.executable, "-m", "venv", "--without-pip", tmp_path / name)
        python = tmp_path / name / "bin/python"
        where = "import sysconfig; print(sysconfig.get_path('purelib'))"
        Path(ran(python, "-c", where).strip(), "borrowed.pth").write_text(f"{borrowed}\n")
        return python

    return make


def engine(python):
    """Whether the compiled solver runs, and the command that the warning names if not."""
    code = (
        "import rejo, warnings; warnings.simplefilter('always')\n"
        "rejo.RejoSVC().fit(*rejo.datasets.make_synthetic_1(40, random_state=0))\n"
        "rejo.show_versions()"
    )
    told = ran(python, "-c", code, cwd=python.parent)
    command = re.search(r"then run, .*: (.*; .*)", told)
    assert ("engine          compiled" in told) == (command is None)
    return command and command[1]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="links and shell scripts of POSIX")
@pytest.mark.parametrize("origin", ["index", "file"])
def test_the_command_of_the_warning_gets_out_of_the_trap(origin, sdist, clean_python, tmp_path):
    compiler = shutil.which("c++") or pytest.skip("needs a compiler")
    page = tmp_path / "web/simple/rejo/index.html"
    page.parent.mkdir(parents=True)
    shutil.copy(sdist, page.parent)
    page.write_text(f'<!DOCTYPE html><html><a href="{sdist.name}">{sdist.name}</a></html>')
    quick = tmp_path / "c++"  # the code need not be fast here
    quick.write_text(f'#!/bin/sh\nexec {compiler} "$@" -O0\n')
    quick.chmod(0o755)

    with index(tmp_path / "web") as address:
        settings = {"PIP_INDEX_URL": address, "PIP_CACHE_DIR": str(tmp_path / "cache")}
        with_compiler = {**settings, "CC": str(quick), "CXX": str(quick)}
        # No other index here has what builds need: they use what is installed.
        pip = ("-m", "pip", "install", "--no-deps", "--no-build-isolation")
        source = "rejo" if origin == "index" else page.parent / sdist.name
        python = clean_python("env")
        ran(python, *pip, source, **settings, **WITHOUT_COMPILER)
        command = engine(python)
        [cached] = (tmp_path / "cache/wheels").rglob("*.whl")
        assert cached.name.endswith("-py3-none-any.whl")
        if origin == "index":  # versions of pip differ in whether they look for a path in the cache
            ran(python, *pip, "--force-reinstall", source, **with_compiler)
            assert engine(python) == command, "the trap is gone: reinstalling is enough"

        told = ran("sh", "-c", f"{command} --no-build-isolation", **with_compiler)
        assert "Successfully installed" in told
        assert engine(python) is None
        if origin == "index":  # nor is it there for the next environment
            another = clean_python("another")
            ran(another, *pip, source, **with_compiler)
            assert engine(another) is None


# ---- the command for each way to install --------------------------------------------------------


class Installed:
    version = "1.2.3"

    def __init__(self, installer, origin, tag):
        self.files = {
            "INSTALLER": f"{installer}\n",
            "WHEEL": f"Wheel-Version: 1.0\nTag: {tag}\n",
            "direct_url.json": json.dumps(origin),
        }

    def read_text(self, name):
        return self.files[name]


PIP = (
    "{python} -m pip cache remove rejo; "
    "{python} -m pip install --force-reinstall --no-deps --no-cache-dir"
)
AT_0AF = {"vcs_info": {"vcs": "git", "commit_id": "0af"}}
UV = "uv cache clean rejo; uv pip install --python {python} --reinstall --no-deps --no-cache"


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
@pytest.mark.parametrize(
    ("installer", "origin", "expected"),
    [
        ("pip", {}, f"{PIP} rejo==1.2.3"),
        ("uv", {}, f"{UV} rejo==1.2.3"),
        ("pip", {"url": "file:///a%20b/rejo.tar.gz"}, f"{PIP} '/a b/rejo.tar.gz'"),
        ("pip", {"url": "file:///a/rejo-1-py3-none-any.whl"}, f"{PIP} rejo==1.2.3"),
        ("pip", {"url": "https://a.org/r.zip"}, f"{PIP} https://a.org/r.zip"),
        ("pip", {"url": "file:///a", "dir_info": {"editable": True}}, f"{PIP} --editable /a"),
        ("pip", {"url": "https://a.org/r", **AT_0AF}, f"{PIP} git+https://a.org/r@0af"),
        (
            "pip",
            {"url": "https://a.org/r", **AT_0AF, "subdirectory": "b"},
            f"{PIP} 'git+https://a.org/r@0af#subdirectory=b'",
        ),
    ],
)
def test_the_command_builds_what_was_installed(installer, origin, expected, monkeypatch):
    installed = Installed(installer, origin, "py3-none-any")
    monkeypatch.setattr(extensions, "distribution", lambda _: installed)
    assert extensions.rebuild() == expected.format(python=shlex.quote(sys.executable))


@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_a_compiled_wheel_that_cannot_be_loaded_is_not_fetched_again(installer, monkeypatch):
    installed = Installed(installer, {}, "cp311-cp311-manylinux_2_28_x86_64")
    monkeypatch.setattr(extensions, "distribution", lambda _: installed)
    assert extensions.rebuild().endswith(" --no-binary rejo rejo==1.2.3")


def test_on_windows_the_command_is_for_cmd(monkeypatch):
    installed = Installed("pip", {}, "py3-none-any")
    monkeypatch.setattr(extensions, "distribution", lambda _: installed)
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "executable", r"C:\Program Files\Python\python.exe")
    told = extensions.remedy()
    assert told.startswith("Install clang-cl, then run in cmd, ")
    assert told.count(r'"C:\Program Files\Python\python.exe" -m pip ') == 2
    assert " remove rejo & " in told
