"""Docstrings of public names: an example, where to go next, and where a method comes from."""

import inspect
import re
from functools import cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import NamedTuple

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

_SPEC = spec_from_file_location(
    "public_names", Path(__file__).parents[1] / "docs" / "public_names.py"
)
_SCRIPT = module_from_spec(_SPEC)
_SPEC.loader.exec_module(_SCRIPT)

# Sections that are not known or not in order, no docstring, no summary, and parameters: missing,
# unknown, not described.  Names joined by commas, "X, y", count as one each.
FAULTS = {"GL06", "GL07", "GL08", "SS01", "SS02", "PR02", "PR10"}
DOI = re.compile(r"https://doi\.org/10\.\d{4,9}/[-._;()/:A-Za-z0-9]+\Z")
LIKE_A_DOI = re.compile(r"\S*(?:doi\.org|\bdoi:|\b10\.\d{4})\S*", re.IGNORECASE)

# Rooms for files, machines and pages: most of what they have comes from no literature.
ROOMS_WITHOUT_LITERATURE = {
    "rejo.cluster",
    "rejo.distributed",
    "rejo.persistence",
    "rejo.report",
    "rejo.study",
    "rejo.study.suite",
    "rejo.tables",
    "rejo.tables.pieces",
}
NOTHING_TO_CITE = {
    # errors and warnings
    "rejo.ModelFileError",
    "rejo.TargetUnattainable",
    "rejo.estimators.reasons.WhyError",
    "rejo.selection.UnequalTreatment",
    # files of models
    "rejo.load",
    "rejo.save",
    "rejo.to_onnx",
    # methods of a classifier, for pipelines
    "rejo.judge",
    "rejo.queue",
    "rejo.review",
    # records of what was counted or drawn
    "rejo.displays.Curve",
    "rejo.metrics.Interval",
    "rejo.selection.Outcomes",
    # lists and files of data
    "rejo.datasets.Dataset",
    "rejo.datasets.available",
    "rejo.datasets.load_table",
    # rows as bags
    "rejo.baselines.bags.Bags",
    "rejo.baselines.bags.bag_array",
    "rejo.baselines.bags.bags_of",
    "rejo.baselines.bags.is_bags",
    # prices as text
    "rejo.prices.describe_prices",
    "rejo.prices.read_prices",
    "rejo.prices.renamed_classes",
    # what is installed
    "rejo.show_versions",
}


class Public(NamedTuple):
    """A public name, where it is documented, and what it stands for."""

    module: str
    name: str
    thing: object

    @property
    def full(self):
        return f"{self.module}.{self.name}"


@cache
def public():
    """Return all public classes and functions; constants have no docstring of their own."""
    found = [
        Public(module, name, getattr(import_module(module), name))
        for module, names in _SCRIPT.public_names().items()
        for name in names
    ]
    return [one for one in found if inspect.isclass(one.thing) or inspect.isfunction(one.thing)]


@cache
def parsed(thing):
    return (ClassDoc if inspect.isclass(thing) else FunctionDoc)(
        thing, config={"show_class_members": False}
    )


def every_name(check):
    """Call a test with each public name; the failure of one does not hide the others."""
    return pytest.mark.parametrize("one", public(), ids=lambda one: one.full)(check)


@every_name
def test_numpydoc_reads_it(one):
    faults = [f"{code}: {text}" for code, text in validate(one.full)["errors"] if code in FAULTS]
    assert not faults
    assert not re.search(r"^\s*%\w+", one.thing.__doc__, re.MULTILINE), "a line is not filled in"


@every_name
def test_every_parameter_is_described(one):
    """In their order, except those that are given by name.

    Users are given results and errors, and need not make them: their fields are attributes.
    """
    doc = parsed(one.thing)
    described = _names(doc["Parameters"]) + _names(doc["Other Parameters"])
    if not described and inspect.isclass(one.thing):
        assert doc["Attributes"] or issubclass(one.thing, Warning)
        if not hasattr(one.thing, "_fields"):
            return
        described = _names(doc["Attributes"])
    parameters = inspect.signature(one.thing).parameters.values()
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    wanted = [stars.get(p.kind, "") + p.name for p in parameters]
    assert not set(wanted) - set(described)
    by_place = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [name for name in described if name in by_place] == by_place


@every_name
def test_it_has_an_example(one):
    assert ">>> " in "\n".join(parsed(one.thing)["Examples"])


@every_name
def test_it_says_what_to_see_also(one):
    """Each name is public, or one of another library, and says in a few words what it is."""
    entries = parsed(one.thing)["See Also"]
    assert entries
    for names, words in entries:
        assert words, f"{names}: in a few words, what is it?"
        for name, _ in names:
            assert _is_known(name, one.module), f"{name} is not public, or cannot be imported"
            assert not _is_same(name, one), f"{name} is the name itself"


@every_name
def test_it_cites_where_it_comes_from(one):
    references = "\n".join(parsed(one.thing)["References"])
    if one.module not in ROOMS_WITHOUT_LITERATURE:
        assert bool(references) != (one.full in NOTHING_TO_CITE)
    for word in LIKE_A_DOI.findall(references):
        assert DOI.match(word), f"{word} is not like https://doi.org/10.1109/TIT.1970.1054406"


def test_what_has_nothing_to_cite_is_public():
    assert {one.full for one in public()} >= NOTHING_TO_CITE


def _names(section):
    return [name for entry in section for name in entry.name.split(", ")]


def _is_same(name, one):
    return name in (one.name, one.full)


@cache
def _is_known(name, module):
    """Return whether documentation can link to a name, short in the pages of its own module."""
    for full in (f"{module}.{name}", name):
        owner, _, attribute = full.rpartition(".")
        if full in _things() or hasattr(_things().get(owner), attribute):
            return True
    return not name.startswith("rejo") and _imports(name)


@cache
def _things():
    """Return all public names, constants too."""
    homes = _SCRIPT.public_names().items()
    return {f"{m}.{name}": getattr(import_module(m), name) for m, names in homes for name in names}


def _imports(name):
    path, _, attribute = name.rpartition(".")
    while path:
        try:
            thing = import_module(path)
        except ImportError:
            path, _, first = path.rpartition(".")
            attribute = f"{first}.{attribute}"
            continue
        for part in attribute.split("."):
            thing = getattr(thing, part, None)
        return thing is not None
    return False
