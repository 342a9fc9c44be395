"""Which code computed a row: the version, the commit if there is one, and a digest of the files."""

from __future__ import annotations

import subprocess
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[1]
KINDS = ("*.py", "*.cpp", "*.hpp")


@cache
def current_code() -> str:
    """Return for example "rejo 0.1.0, commit 4667076, files 1a2b3c4d".

    The commit is that of the checkout that rejo is imported from, "with changes" if its files
    differ from it.  The digest is over the files of the package, so that code without a commit, or
    after a commit that only changed the documentation, can be compared too.
    """
    parts = [f"rejo {version('rejo')}", *_commit(PACKAGE), f"files {_digest(PACKAGE)}"]
    return ", ".join(parts)


def signed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with the code that computed them: this one."""
    return [row | {"code": current_code()} for row in rows]


def files_of(code: str) -> str:
    """Return the part by which codes are compared: the digest of the files."""
    return code.rpartition(" ")[2]


def _digest(folder: Path) -> str:
    found = sha256()
    for path in sorted(path for kind in KINDS for path in folder.rglob(kind)):
        found.update(f"{path.relative_to(folder).as_posix()}\0".encode())
        found.update(path.read_bytes().replace(b"\r\n", b"\n") + b"\0")
    return found.hexdigest()[:12]


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
