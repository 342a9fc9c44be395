"""The files around the code agree with it and with each other: versions, addresses, forms."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import rejo

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.skipif(
    not (ROOT / "CITATION.cff").exists(), reason="needs the source tree"
)
FORMS = ["bug", "docs", "feature", "question"]
PARTS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def text(name):
    return (ROOT / name).read_text("utf-8")


def read(name):
    """The content of a YAML or TOML file."""
    return tomllib.loads(text(name)) if name.endswith(".toml") else yaml.safe_load(text(name))


def supported_pythons():
    """Versions of Python that the package says it runs on: "3.11", "3.12", ..."""
    classifiers = "\n".join(read("pyproject.toml")["project"]["classifiers"])
    return re.findall(r"^Programming Language :: Python :: (3\.\d+)$", classifiers, re.M)


def test_the_citation_is_of_this_version():
    citation, project = read("CITATION.cff"), read("pyproject.toml")["project"]
    assert str(citation["version"]) == rejo.__version__
    assert citation["license"] == project["license"]
    assert citation["repository-code"] == project["urls"]["Source"]
    assert citation["url"] == project["urls"]["Documentation"]
    assert [author["name"] for author in citation["authors"]] == [
        author["name"] for author in project["authors"]
    ]


def test_there_is_one_address():
    """Everything that names the repository or the site names the same one."""
    urls = read("pyproject.toml")["project"]["urls"]
    names = ["CITATION.cff", "pyproject.toml", *(p.name for p in ROOT.glob("*.md"))]
    for folder, patterns in {
        ".github": ["*.md", "*.yml"],
        "docs": ["*.md"],
        "src": ["*.py"],
    }.items():
        for pattern in patterns:
            names += [str(p.relative_to(ROOT)) for p in (ROOT / folder).rglob(pattern)]
    everything = "\n".join(text(name) for name in names)
    owner = "[A-Za-z0-9-]+"
    sources = set(re.findall(rf"https://github\.com/{owner}/rejo\b", everything))
    raw = set(re.findall(rf"https://raw\.githubusercontent\.com/({owner}/rejo)\b", everything))
    sites = set(re.findall(rf"https://{owner}\.github\.io/rejo/", everything))
    assert (sources, sites) == ({urls["Source"]}, {urls["Documentation"]})
    assert raw == {urls["Source"].removeprefix("https://github.com/")}
    assert all(url.startswith((urls["Source"], urls["Documentation"])) for url in urls.values())


def test_the_readme_needs_no_files_beside_it():
    """PyPI shows the README alone, so its links and pictures are absolute."""
    without_code = re.sub(r"^```.*?^```", "", text("README.md"), flags=re.M | re.S)
    links = re.findall(r"\]\(([^)\s]+)\)", without_code)
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []
    assert "<img" not in without_code


def test_the_versions_of_python_agree():
    versions = supported_pythons()
    minors = [int(version.partition(".")[2]) for version in versions]
    assert minors == list(range(minors[0], minors[-1] + 1))
    wanted = SpecifierSet(read("pyproject.toml")["project"]["requires-python"])
    assert next(m for m in range(60) if f"3.{m}" in wanted) == minors[0]
    assert f"python-{versions[0]}_or_newer-blue" in text("README.md")
    assert f"| Python | {versions[0]} |" in text("docs/versions.md")
    assert re.search(rf"\| Python \|.*\| {re.escape(versions[-1])} \|", text("docs/versions.md"))


def matrix_values(workflow, key):
    """All values of a key in the matrices of a workflow."""
    found = set()
    for job in workflow["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        found.update(map(str, matrix.get(key, [])))
        found.update(str(row[key]) for row in matrix.get("include", []) if key in row)
    return found


def test_each_version_of_python_is_tested():
    workflow = read(".github/workflows/tests.yml")
    tested = matrix_values(workflow, "python") | matrix_values(workflow, "python-version")
    assert sorted(tested, key=Version) == supported_pythons()


def test_the_guide_says_the_lowest_versions():
    dependencies = map(Requirement, read("pyproject.toml")["project"]["dependencies"])
    lowest = {r.name.lower(): s.version for r in dependencies for s in r.specifier}
    table = re.findall(r"^\| (\S+) \| ([\d.]+) \|", text("docs/versions.md"), re.M)
    told = {name.lower(): version for name, version in table}
    assert told == lowest | {"python": supported_pythons()[0]}


@pytest.mark.parametrize("name", FORMS)
def test_issue_forms_have_what_github_needs(name):
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert set(form) == {"name", "description", "labels", "body"}
    assert all(isinstance(form[key], str) and form[key] for key in ("name", "description"))
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input"}
    assert all(field["attributes"]["label"] for field in fields)
    ids = [field["id"] for field in fields]
    assert len(set(ids)) == len(ids)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_no_two_issue_forms_are_alike():
    folder = ROOT / ".github/ISSUE_TEMPLATE"
    assert sorted(path.stem for path in folder.iterdir()) == sorted([*FORMS, "config"])
    assert len({read(f".github/ISSUE_TEMPLATE/{name}.yml")["name"] for name in FORMS}) == len(FORMS)
    config = read(".github/ISSUE_TEMPLATE/config.yml")
    assert all(set(link) == {"name", "url", "about"} for link in config["contact_links"])


def test_a_bug_report_asks_for_the_versions():
    [field] = [
        f for f in read(".github/ISSUE_TEMPLATE/bug.yml")["body"] if f.get("id") == "versions"
    ]
    assert "rejo --version --verbose" in field["attributes"]["description"]
    assert field["validations"]["required"]


def test_weaknesses_are_reported_in_one_place():
    address = read("pyproject.toml")["project"]["urls"]["Source"] + "/security/advisories/new"
    links = read(".github/ISSUE_TEMPLATE/config.yml")["contact_links"]
    assert address in [link["url"] for link in links]
    assert address in text("SECURITY.md")


def test_hooks_call_targets_that_exist():
    hooks = [hook for repo in read(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    called = {hook["entry"].removeprefix("make ") for hook in hooks if "make " in hook["entry"]}
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.M))
    assert called == {"lint", "types", "imports"}
    assert called <= targets


def test_contributors_read_the_layers_that_are_checked():
    contracts = read("pyproject.toml")["tool"]["importlinter"]["contracts"]
    [layers] = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    assert "```\n" + "\n".join(layers) + "\n```" in text("CONTRIBUTING.md")


def test_releasing_names_the_workflows_that_exist():
    named = set(re.findall(r"`(\w+\.yml)`", text("RELEASING.md")))
    there = {path.name for path in (ROOT / ".github/workflows").glob("*.yml")}
    assert {"tests.yml", "wheels.yml", "release.yml"} <= named <= there


def test_the_changelog_has_its_form():
    """Versions, newest first; parts in a settled order; nothing but entries in them."""
    head, *versions = re.split(r"^## ", text("CHANGELOG.md"), flags=re.M)
    assert head.startswith("# Changelog")
    assert versions[0].startswith("[Unreleased]")
    numbers = [re.match(r"\[(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d$", v, re.M) for v in versions[1:]]
    assert all(numbers)
    released = [Version(number[1]) for number in numbers]
    assert released == sorted(released, reverse=True)
    for version in versions:
        _, *parts = re.split(r"^### ", version, flags=re.M)
        titles = [part.partition("\n")[0] for part in parts]
        assert titles == sorted(set(titles), key=PARTS.index)
        for part in parts:
            lines = part.splitlines()[1:]
            assert [line for line in lines if line and not line.startswith(("- ", "  "))] == []


def released():
    """Versions with a date in the changelog, newest first."""
    return re.findall(r"^## \[(\d+\.\d+\.\d+)\] - ", text("CHANGELOG.md"), re.M)


def test_the_pages_know_whether_there_is_a_release():
    """Before the first one they say what to do until then; with it, this has to go."""
    names = ["README.md", *(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
    pages = [" ".join(text(name).split()) for name in names]
    waiting = [page for page in pages if re.search("there is a release|first release will", page)]
    assert bool(waiting) == (not released())


def test_a_release_has_its_place_in_the_news_and_its_date():
    sections = re.findall(r"^## (\d\S+|Unreleased)", text("docs/whats_new.md"), re.M)
    assert [section for section in sections if section != "Unreleased"] == released()
    is_out = rejo.__version__ in released()
    assert ("date-released" in read("CITATION.cff")) == is_out
    assert not (is_out and "Unreleased" in sections)
