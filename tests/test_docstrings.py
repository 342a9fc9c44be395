"""What people call has an example; building the site checks the form of all docstrings."""

from importlib import import_module
from inspect import getdoc, isclass

import pytest

import rejo

ROOMS = ("baselines", "displays", "estimators")
CLASSES = [
    getattr(module, name)
    for module in (import_module(f"rejo.{room}") for room in ROOMS)
    for name in module.__all__
    if isclass(getattr(module, name))
]
MAIN = {getattr(rejo, name) for name in rejo.__all__} | set(CLASSES)


@pytest.mark.parametrize(
    "thing",
    sorted((one for one in MAIN if not (isclass(one) and issubclass(one, Exception))), key=repr),
    ids=lambda thing: thing.__name__,
)
def test_it_has_an_example(thing):
    assert "\n>>> " in getdoc(thing)
    assert "\n%" not in getdoc(thing), "a line is not filled in"
