"""The files around the code agree with it and with each other: versions and addresses."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

import rejo

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "CITATION.cff").exists(), reason="needs the source tree"
)


def text(name):
    return (ROOT / name).read_text("utf-8")


def project():
    return tomllib.loads(text("pyproject.toml"))["project"]


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load(text("CITATION.cff"))
    assert str(citation["version"]) == rejo.__version__
    assert citation["license"] == project()["license"]
    assert citation["repository-code"] == project()["urls"]["Source"]


def test_there_is_one_address():
    """Everything that names the repository or the site names the same one."""
    urls = project()["urls"]
    paths = [*ROOT.glob("*.md"), ROOT / "CITATION.cff", ROOT / "pyproject.toml"]
    for pattern in (".github/**/*.yml", "docs/**/*.md", "src/**/*.py"):
        paths += ROOT.glob(pattern)
    everything = "\n".join(path.read_text("utf-8") for path in paths)
    owner = "[A-Za-z0-9-]+"
    sources = set(re.findall(rf"https://github\.com/{owner}/rejo\b", everything))
    sites = set(re.findall(rf"https://{owner}\.github\.io/rejo/", everything))
    assert (sources, sites) == ({urls["Source"]}, {urls["Documentation"]})


def test_the_readme_needs_no_files_beside_it():
    """PyPI shows the README alone, so its links and pictures are absolute."""
    links = re.findall(r"^\[\w+\]: (\S+)$|\]\((\S+?)\)", text("README.md"), re.M)
    assert len(links) > 15
    assert all("".join(link).startswith("https://") for link in links)


def test_the_versions_of_python_agree():
    """What the package says it runs on is what it asks for, and what is tested."""
    classifiers = "\n".join(project()["classifiers"])
    versions = re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.M)
    wanted = SpecifierSet(project()["requires-python"])
    assert next(v for v in (f"3.{minor}" for minor in range(60)) if v in wanted) == versions[0]
    assert f"python-{versions[0]}_or_newer" in text("README.md")
    tested = re.findall(r"\b3\.\d{2}\b", text(".github/workflows/tests.yml"))
    assert set(tested) == set(versions)
