"""The files around the code agree with it where no linter looks: versions and addresses."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import rejo

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "CITATION.cff").exists(), reason="needs the source tree"
)


def read(name):
    """The content of a YAML or TOML file."""
    text = (ROOT / name).read_text("utf-8")
    return tomllib.loads(text) if name.endswith(".toml") else yaml.safe_load(text)


def supported_pythons():
    """Versions of Python that the package says it runs on: "3.11", "3.12", ..."""
    classifiers = "\n".join(read("pyproject.toml")["project"]["classifiers"])
    return re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.M)


def test_the_citation_is_of_this_version():
    citation, project = read("CITATION.cff"), read("pyproject.toml")["project"]
    assert str(citation["version"]) == rejo.__version__
    assert citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Source"]


def test_there_is_one_address():
    """Everything that names the repository or the site names the same one."""
    urls = read("pyproject.toml")["project"]["urls"]
    files = [*ROOT.glob("*.md"), ROOT / "CITATION.cff", ROOT / "pyproject.toml"]
    for folder in (".github", "docs", "src", "studies"):
        files += [p for p in (ROOT / folder).rglob("*") if p.suffix in {".md", ".py", ".yml"}]
    everything = "\n".join(path.read_text("utf-8") for path in files)
    owner = "[A-Za-z0-9-]+"
    sources = set(re.findall(rf"https://github\.com/{owner}/rejo\b", everything))
    sites = set(re.findall(rf"https://{owner}\.github\.io/rejo/", everything))
    assert (sources, sites) == ({urls["Source"]}, {urls["Documentation"]})


def test_the_readme_needs_no_files_beside_it():
    """PyPI shows the README alone, so its links and pictures are absolute."""
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S))
    assert links
    assert all(link.startswith("https://") for link in links)


def test_each_version_of_python_is_tested():
    found = set()
    for job in read(".github/workflows/tests.yml")["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for key in ("python", "python-version"):
            found.update(map(str, matrix.get(key, [])))
            found.update(str(row[key]) for row in matrix.get("include", []) if key in row)
    assert found == set(supported_pythons())
