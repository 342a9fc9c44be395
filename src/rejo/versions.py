"""What a bug report needs: versions, the engine that runs, the system."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution, version
from pathlib import Path

from rejo.solvers import extensions

__all__ = ["show_versions"]

# Extras that bring tools for those who develop rejo, or only other extras.
TOOLS = ("all", "dev", "docs", "examples", "test")


def show_versions() -> None:
    """Print the versions of rejo and its dependencies, its engine, and the system.

    Please paste this into bug reports; ``rejo --version --verbose`` prints the same.

    Examples
    --------
    >>> import rejo
    >>> rejo.show_versions()
    rejo 0...
    engine ...
    """
    print("\n".join(report()))


def report() -> list[str]:
    """Return the lines that :func:`show_versions` prints."""
    try:
        installed: Distribution | None = distribution("rejo")
    except PackageNotFoundError:  # a source tree on the path
        installed = None
    required, optional = requirements(installed)
    rows = [
        ("  folder", str(Path(__file__).parent)),
        ("  installed", _installation(installed)),
        *_engine(),
        ("python", f"{platform.python_version()} ({platform.python_implementation()})"),
        ("  program", sys.executable),
        ("system", platform.platform()),
        ("  processor", f"{platform.machine()}, {os.cpu_count()} logical cores"),
        ("required", ""),
        *((f"  {name}", _version(name)) for name in required),
        ("  threads", ", ".join(_libraries()) or "no libraries found"),
        ("optional", ""),
        *((f"  {name}", _version(name)) for name in optional),
    ]
    width = max(len(name) for name, _ in rows)
    head = f"rejo {import_module('rejo').__version__}"
    return [head, *(f"{name:<{width}}  {value}".rstrip() for name, value in rows)]


def requirements(installed: Distribution | None) -> tuple[list[str], list[str]]:
    """Return the names of the packages that rejo requires, and of those its extras bring."""
    required, optional = set(), set()
    for text in (installed and installed.requires) or ["numpy", "scipy", "scikit-learn"]:
        name = re.split(r"[^\w.-]", text, maxsplit=1)[0]
        extra = re.search(r"extra\s*==\s*['\"]([\w.-]+)", text)
        if extra is None:
            required.add(name)
        elif extra[1] not in TOOLS:
            optional.add(name)
    return sorted(required), sorted(optional - {"rejo"})


def _installation(installed: Distribution | None) -> str:
    if installed is None:
        return "no, run from its sources"
    tags = re.findall(r"^Tag: (\S+)", installed.read_text("WHEEL") or "", flags=re.MULTILINE)
    installer = (installed.read_text("INSTALLER") or "unknown").strip()
    return f"by {installer}, {' '.join(tags) or 'not from a wheel'}"


def _engine() -> Iterator[tuple[str, str]]:
    """What the solvers run on, and why not on compiled code."""
    found = extensions.compiled()
    if "_svm" in found:
        svm = import_module("rejo.solvers._svm")
        has = svm.architectures()
        yield "engine", f"compiled, {svm.in_use()} in use (this processor has {', '.join(has)})"
    else:
        yield "engine", "NumPy reference, many times slower"
    for name in extensions.NAMES:
        yield f"  {name}", extensions.why_missing(name) or f"sources {found[name]}"
    if len(found) < len(extensions.NAMES):
        yield "  remedy", extensions.remedy()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _libraries() -> list[str]:
    import sklearn  # noqa: F401
    from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

    return sorted(
        f"{each['internal_api']} {each['version'] or ''}".strip() + f" ({each['num_threads']})"
        for each in threadpool_info()
    )
