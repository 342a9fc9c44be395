"""Finds what a reference in a docstring means: names are documented where people import them from.

Docstrings speak of ``rejo.estimators.RejectClassifier.judge`` or of a class of their own module.
Both become links to the page of the public name. What exists and is not public stays text; what
does not exist is a warning, and with it an error.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

from public_names import public_names

import rejo

SOURCE = Path(rejo.__file__).parent


def homes():
    """Return ``{id of an object: its public name}``."""
    found = {}
    for module, names in public_names().items():
        for name in names:
            found[id(getattr(import_module(module), name))] = f"{module}.{name}"
    return found


HOMES = homes()


def our_modules():
    return [module for name, module in sys.modules.items() if name.split(".")[0] == "rejo"]


def walk(start, parts):
    """Return the objects on the way from one to its attribute; nothing if there is no such one."""
    way = [start]
    for part in parts:
        fields = getattr(way[-1], "__dataclass_fields__", {})
        if not hasattr(way[-1], part) and part not in fields:
            return []
        way.append(getattr(way[-1], part, None))
    return way


def meanings(target, context):
    """Yield the ways to every object that a name may stand for, likeliest first."""
    parts = target.split(".")
    starts = [module for module in our_modules() if module.__name__ == context]
    starts += [thing for thing in map(public_thing, HOMES.values()) if inspect.isclass(thing)]
    if parts[0] == "rejo":
        for end in range(len(parts), 0, -1):
            module = sys.modules.get(".".join(parts[:end]))
            if module and (way := walk(module, parts[end:])):
                yield way, parts[end:]
    for start in [*starts[:1], rejo, *our_modules(), *starts[1:]]:
        if way := walk(start, parts):
            yield way, parts


def public_thing(name):
    module, _, last = name.rpartition(".")
    return getattr(sys.modules[module], last)


def public_name(way, parts):
    """Return the public name of the last object on a way, if it or an owner of it has a page."""
    for at in range(len(way) - 1, -1, -1):
        if home := HOMES.get(id(way[at])):
            return ".".join([home, *parts[at:]])
    return None


def is_attribute(node):
    """A fitted attribute: the docstring of its class lists it."""
    owner = getattr(sys.modules.get(node.get("py:module")), node.get("py:class") or "", None)
    listed = re.findall(r"^\s*(\w+) : ", getattr(owner, "__doc__", None) or "", re.M)
    return node["reftarget"] in listed


def resolve(app, env, node, contnode):
    if node.get("refdomain") != "py":
        return None
    exists = is_attribute(node)
    for way, parts in meanings(node["reftarget"].lstrip("~."), node.get("py:module")):
        exists = True
        if name := public_name(way, parts):
            domain, place = env.get_domain("py"), (env, node["refdoc"], app.builder)
            if link := domain.resolve_xref(*place, "obj", name, node, contnode):
                return link
    return contnode if exists else None


def lines_of(module, name):
    """Return the path in the repository and the lines of an object, or None."""
    way = walk(sys.modules[module], name.split(".")) if module in sys.modules else []
    thing = inspect.unwrap(way[-1]) if way and callable(way[-1]) else None
    thing = getattr(thing, "__func__", thing)
    try:
        path = Path(inspect.getsourcefile(thing))
        lines, first = inspect.getsourcelines(thing)
    except (TypeError, OSError):
        return None
    if not path.is_relative_to(SOURCE):
        return None
    path = Path("src", "rejo", path.relative_to(SOURCE)).as_posix()
    return path, first, first + len(lines) - 1


def setup(app):
    app.connect("missing-reference", resolve, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
