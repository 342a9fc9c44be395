"""The packages that are named in pyproject.toml: no known weakness, and their notices."""

import subprocess
import sys
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="needs the source tree"
)


def read(name):
    return tomllib.loads((ROOT / name).read_text("utf-8"))


def requirements(pyproject):
    """Everything that a user, a tester, a developer or a build may install."""
    project = pyproject["project"]
    groups = [
        pyproject["build-system"]["requires"],
        project["dependencies"],
        *project["optional-dependencies"].values(),
    ]
    found = [Requirement(text) for group in groups for text in group]
    return [requirement for requirement in found if requirement.name != project["name"]]


def lowest(requirement):
    """The lowest version that satisfies a requirement; None if there is none."""
    bounds = [Version(s.version) for s in requirement.specifier if s.operator in (">=", "==", "~=")]
    return max(bounds, default=None)


def weaknesses(found, advisories):
    """Requirements that allow a version with a known weakness, and advisories for no package."""
    problems = []
    for advisory in advisories:
        package, fixed = canonicalize_name(advisory["package"]), Version(advisory["fixed"])
        named = [r for r in found if canonicalize_name(r.name) == package]
        if not named:
            problems.append(f"{advisory['id']} is about {package}, which is not required")
        problems += [
            f"{requirement} allows {advisory['id']}, fixed in {fixed}"
            for requirement in named
            if lowest(requirement) is None or lowest(requirement) < fixed
        ]
    return problems


def test_no_lowest_version_has_a_known_weakness():
    advisories = read("tests/advisories.toml")["advisory"]
    assert weaknesses(requirements(read("pyproject.toml")), advisories) == []
    keys = [(advisory["package"], advisory["id"]) for advisory in advisories]
    assert len(set(keys)) == len(keys)
    assert all(advisory["what"] for advisory in advisories)


def test_each_package_has_one_lowest_version():
    """The tests and the extras ask for the same version."""
    bounds = {}
    for requirement in requirements(read("pyproject.toml")):
        assert lowest(requirement) is not None, f"{requirement} has no lowest version"
        bounds.setdefault(canonicalize_name(requirement.name), set()).add(lowest(requirement))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}


def test_the_notice_of_pybind11_is_in_source_packages_and_wheels():
    notice = (ROOT / "licenses/pybind11.txt").read_text("utf-8")
    assert "Copyright (c) 2016 Wenzel Jakob" in notice
    assert "Redistributions in binary form must reproduce the above copyright" in notice
    patterns = read("pyproject.toml")["project"]["license-files"]
    names = {path.relative_to(ROOT).as_posix() for p in patterns for path in ROOT.glob(p)}
    assert names == {"LICENSE", "licenses/pybind11.txt"}
    assert "recursive-include licenses *.txt" in (ROOT / "MANIFEST.in").read_text("utf-8")


@pytest.mark.slow
def test_a_wheel_with_the_extension_has_the_notices(tmp_path):
    build = "import sys; from setuptools import build_meta as b; b.build_wheel(sys.argv[1])"
    source = tmp_path / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("needs the repository")
    for name in filter(None, listed.stdout.split("\0")):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    done = subprocess.run(
        [sys.executable, "-c", build, tmp_path], cwd=source, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        told = message_from_bytes(archive.read(metadata)).get_all("License-File")
    assert [name for name in names if "_svm" in name and name.endswith((".so", ".pyd"))]
    assert sorted(told) == ["LICENSE", "licenses/pybind11.txt"]
    folder = metadata.removesuffix("METADATA")
    assert {f"{folder}licenses/{name}" for name in told} <= set(names)
