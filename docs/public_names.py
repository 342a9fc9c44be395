"""The public names of rejo: what ``__all__`` of the package and of its rooms lists, each name once.

A name that several rooms list belongs to ``rejo`` if that has it, else to the first of them.
"""

from importlib import import_module
from importlib.util import find_spec
from inspect import ismodule

import rejo

# Rooms that few people need: they are imported by their full names.
MORE = ["rejo.cluster", "rejo.persistence"]


def public_modules():
    """Return ``rejo`` and its rooms."""
    listed = [name for name in dir(rejo) if name != "torch" or find_spec("torch")]
    rooms = [f"rejo.{name}" for name in listed if ismodule(getattr(rejo, name))]
    return [import_module(name) for name in ("rejo", *rooms, *MORE)]


def public_names():
    """Return ``{module: [name, ...]}``: where each public object is documented."""
    homes = {}
    taken = set()
    for module in public_modules():
        for name in sorted(getattr(module, "__all__", ())):
            thing = getattr(module, name)
            if id(thing) not in taken:
                taken.add(id(thing))
                homes.setdefault(module.__name__, []).append(name)
    return homes


if __name__ == "__main__":
    for module, names in public_names().items():
        print(f"{module} ({len(names)}): {' '.join(names)}")
