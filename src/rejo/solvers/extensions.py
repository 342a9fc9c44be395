"""Which extensions were built, and from what."""

from __future__ import annotations

from importlib import import_module

NAMES = ("_embedded", "_svm", "_trees")


def compiled() -> dict[str, str]:
    """Return the extensions that can be imported, each with a digest of its C++ sources.

    Examples
    --------
    >>> from rejo.solvers.extensions import NAMES, compiled
    >>> set(compiled()) <= set(NAMES)
    True
    """
    found = {}
    for name in NAMES:
        try:
            module = import_module(f"rejo.solvers.{name}")
        except ImportError:  # built without a compiler
            continue
        found[name] = getattr(module, "sources", "unknown")
    return found
