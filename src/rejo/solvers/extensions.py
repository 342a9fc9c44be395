"""Which extensions were built, from what, and how to build those that are missing."""

import json
import re
import shlex
import subprocess
import sys
from importlib import import_module
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Any

NAMES = ("_embedded", "_svm", "_trees")


def compiled() -> dict[str, str]:
    """Return the extensions that can be imported, each with a digest of its C++ sources."""
    there = (name for name in NAMES if not why_missing(name))
    return {
        name: getattr(import_module(f"rejo.solvers.{name}"), "sources", "unknown") for name in there
    }


def why_missing(name: str) -> str:
    """Return why an extension cannot be imported, or an empty text if it can."""
    try:
        import_module(f"rejo.solvers.{name}")
    except ModuleNotFoundError:
        return "was not built"
    except ImportError as error:  # the file is there: a library that it needs is not, or is older
        return f"could not be loaded: {error}"
    return ""


def remedy() -> str:
    """Return what to do about a missing extension: what to install, and what to run."""
    windows = sys.platform == "win32"
    compiler = "clang-cl" if windows else "a C++17 compiler (GCC or Clang)"
    run = "run in cmd" if windows else "run"
    return f"Install {compiler}, then {run}, with your --index-url if you gave one: {rebuild()}"


def rebuild() -> str:
    """Return the line for a shell that builds the extensions, from where this rejo came from.

    A build without a compiler succeeds, and installers keep its wheel: they would install it again,
    here and elsewhere. The first command throws it away; the second one looks at no other cache.
    """
    try:
        installed: Distribution | None = distribution("rejo")
    except PackageNotFoundError:  # a source tree on the path
        installed = None
    if installed is not None and (installed.read_text("INSTALLER") or "").strip() == "uv":
        forget = ["uv", "cache", "clean", "rejo"]
        build = ["uv", "pip", "install", "--python", sys.executable]
        build += ["--reinstall", "--no-deps", "--no-cache"]
    else:
        forget = [sys.executable, "-m", "pip", "cache", "remove", "rejo"]
        build = [sys.executable, "-m", "pip", "install"]
        build += ["--force-reinstall", "--no-deps", "--no-cache-dir"]
    build += ["rejo"] if installed is None else _source(installed)
    if sys.platform == "win32":
        return f"{subprocess.list2cmdline(forget)} & {subprocess.list2cmdline(build)}"
    return f"{shlex.join(forget)}; {shlex.join(build)}"


def _source(installed: Distribution) -> list[str]:
    """Words that name what was installed; PEP 610 says what was not from an index."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname  # imports the client of HTTP

    origin: dict[str, Any] = json.loads(installed.read_text("direct_url.json") or "{}")
    url = origin.get("url", "")
    if not url or url.endswith(".whl"):  # a wheel has no sources
        # The index has the same wheel, if it is one for this system.
        tags = re.findall(r"^Tag: (\S+)", installed.read_text("WHEEL") or "", re.MULTILINE)
        same = any(not tag.endswith("-any") for tag in tags)
        return [*(["--no-binary", "rejo"] if same else []), f"rejo=={installed.version}"]
    if vcs := origin.get("vcs_info"):
        url = f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    elif urlsplit(url).scheme == "file":
        path = url2pathname(urlsplit(url).path)
        return ["--editable", path] if origin.get("dir_info", {}).get("editable") else [path]
    return [f"{url}#subdirectory={origin['subdirectory']}" if "subdirectory" in origin else url]
