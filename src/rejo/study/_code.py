"""Which code computed a row: version, commit, packages, and a digest of all that decides results.

Two rows come from the same code if their digests are equal.  It is over the modules of rejo that
compute, the C++ sources that the extensions were built from (or that there are none), and the
versions of the packages that compute for it.  The commit and the version are for people: a
commit that only changes the documentation is the same code.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rejo.solvers.extensions import NAMES, compiled

PACKAGE = Path(__file__).parents[1]
KINDS = ("*.py", "*.toml")
SILENT_ROOMS = ("cli", "displays", "report")  # which draw, write or speak, and compute nothing
PACKAGES = ("numpy", "scipy", "scikit-learn", "xgboost", "xgboost-cpu")


@cache
def current_code() -> str:
    """Return for example "rejo 0.1.0, commit 4667076, numpy 2.4.6, ..., digest 1a2b3c4d".

    The commit is that of the checkout that rejo is imported from, "with changes" if its files
    differ from it.
    """
    engines, packages = compiled(), list(_packages())
    missing = [f"without {name}" for name in NAMES if name not in engines]
    digest = sha256(repr((_digest(PACKAGE), sorted(engines.items()), packages)).encode())
    parts = [f"rejo {sys.modules['rejo'].__version__}", *_commit(PACKAGE), *packages, *missing]
    return ", ".join([*parts, f"digest {digest.hexdigest()[:12]}"])


def signed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the code that computed them: this one."""
    return [row | {"code": current_code()} for row in rows]


def digest_of(code: str) -> str:
    """Return the part by which codes are compared."""
    return code.rpartition(" ")[2]


def _packages() -> Iterator[str]:
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def _digest(folder: Path) -> str:
    """Return a digest of the modules in a folder, whatever their line endings."""
    found, paths = sha256(), [path for kind in KINDS for path in folder.rglob(kind)]
    names = {path.relative_to(folder).as_posix(): path for path in paths if path.is_file()}
    if not names:  # in an archive, for example
        raise RuntimeError(f"{folder} has no modules to tell this code from other code by")
    for name in sorted(names):
        if name.partition("/")[0] not in SILENT_ROOMS:
            content = names[name].read_bytes().replace(b"\r\n", b"\n")
            found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _commit(folder: Path) -> list[str]:
    """Return the commit in words; nothing if these files do not belong to a repository."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # and not just inside of a repository
        changed = git("status", "--porcelain", "--", ".")
        return [
            f"commit {git('rev-parse', '--short=12', 'HEAD')}" + " with changes" * bool(changed)
        ]
    except (OSError, subprocess.SubprocessError):
        return []
