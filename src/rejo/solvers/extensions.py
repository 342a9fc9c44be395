"""Which extensions were built, from what, and how to build those that are missing."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAMES = ("_embedded", "_svm", "_trees")
COMPILER = "clang-cl" if sys.platform == "win32" else "a C++17 compiler (GCC or Clang)"


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


def rebuild_command() -> str:
    """Return the command that builds the extensions, from where this rejo came from.

    A build without a compiler succeeds, and installers keep its wheel: without their cache turned
    off, they would install the same wheel again.

    Examples
    --------
    >>> from rejo.solvers.extensions import rebuild_command
    >>> " install " in rebuild_command()
    True
    """
    try:
        installed: Distribution | None = distribution("rejo")
    except PackageNotFoundError:  # a source tree on the path
        installed = None
    if installed is not None and (installed.read_text("INSTALLER") or "").strip() == "uv":
        words = ["uv", "pip", "install", "--python", sys.executable, "--reinstall", "--no-deps"]
        words.append("--no-cache")
    else:
        words = [sys.executable, "-m", "pip", "install", "--force-reinstall", "--no-deps"]
        words.append("--no-cache-dir")
    words += ["rejo"] if installed is None else _source(installed)
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def _source(installed: Distribution) -> list[str]:
    """Words that name what was installed; PEP 610 says what was not from an index."""
    origin: dict[str, Any] = json.loads(installed.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return [f"rejo @ {vcs['vcs']}+{url}@{vcs['commit_id']}"]
    if not url or url.endswith(".whl"):  # a wheel has no sources
        return [f"rejo=={installed.version}"]
    if urlsplit(url).scheme != "file":
        return [f"rejo @ {url}"]
    path = url2pathname(urlsplit(url).path)
    return ["--editable", path] if origin.get("dir_info", {}).get("editable") else [path]
