"""The public names of rejo: what ``__all__`` of its public modules lists, each name once.

A name that several modules list belongs to the package that people import it from: ``rejo`` first,
then the shortest module. The pages of the API reference and the tests of docstrings go by this.
"""

import pkgutil
from importlib import import_module
from importlib.util import find_spec

import rejo

# Optimisation problems on arrays of floats, for those who read the code: not part of the promise.
INTERNAL = ("rejo.solvers",)
NEEDS = {"rejo.torch": "torch"}


def public_modules():
    """Return the modules with ``__all__``, shortest names first, ``rejo`` at the head."""
    names = ["rejo"]
    for found in pkgutil.walk_packages(rejo.__path__, "rejo."):
        private = any(part.startswith("_") for part in found.name.split("."))
        absent = found.name in NEEDS and not find_spec(NEEDS[found.name])
        if not (private or absent or found.name.startswith(INTERNAL)):
            names.append(found.name)
    modules = [import_module(name) for name in names]
    listed = [module for module in modules if hasattr(module, "__all__")]
    return sorted(listed, key=lambda module: (module.__name__.count("."), module.__name__))


def public_names():
    """Return ``{module: [name, ...]}``: where each public object is documented."""
    homes = {}
    taken = set()
    for module in public_modules():
        for name in sorted(module.__all__):
            thing = getattr(module, name)
            if id(thing) not in taken:
                taken.add(id(thing))
                homes.setdefault(module.__name__, []).append(name)
    return homes


if __name__ == "__main__":
    for module, names in public_names().items():
        print(f"{module} ({len(names)}): {' '.join(names)}")
