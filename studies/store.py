"""The rows of a study: a small file for each cell, and one archive to share.

A cell's file is written whole or not at all: to a temporary file in the same folder, then renamed.
So a run may be stopped at any moment, and several may work in one folder. The first line of a file
names the cell, the settings and the code, and seals them and the rows with a digest: a file that
was changed, cut or renamed counts as missing. ``study.json`` says the same for the whole folder.
"""

from __future__ import annotations

import csv
import json
import lzma
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from math import isfinite
from pathlib import Path
from time import time
from typing import Any

import rejo
from rejo.solvers import compiled

ABOUT = "study.json"
ENGINE_FILES = ("*.py", "*.toml", "*.css")
SILENT_ROOMS = ("cli", "displays", "report")  # of rejo; they draw, write or speak
# Modules of this package that compute nothing that is kept.
SILENT_MODULES = ("__main__", "curves", "page", "paper_page", "standings",
                  "suite_page", "suite_pictures", "statistics", "verdicts", "verify")  # fmt: skip
PACKAGES = ("numpy", "scipy", "scikit-learn", "xgboost", "xgboost-cpu")
OLD = 3600  # seconds after which a temporary file was left behind by a run that was killed
MAX_BYTES = 2**28  # of text in an archive; the rows of the whole paper take 70 MB

Row = dict[str, Any]


class StudyError(Exception):
    """A study cannot go on: the message says why, and what to do."""


class Store:
    """The cells of one plan in a folder, which several processes may share."""

    def __init__(self, folder: str | os.PathLike[str], plan: Any, again: bool = False) -> None:
        self.folder, self.plan = Path(folder), plan
        self._settings = sha256(json.dumps(plan.settings()).encode()).hexdigest()[:16]
        self._names = [name for name in plan.COLUMNS if name != "code"]
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for left in self.folder.rglob(".*.tmp"):
                with suppress(OSError):
                    if time() - left.stat().st_mtime > OLD:
                        left.unlink()
            self._agree(again)
        except OSError as error:
            raise StudyError(f"{self.folder} cannot be used for rows: {error}") from error

    def path(self, cell: Any) -> Path:
        """Return the file of a cell."""
        dataset, *others = (str(value).replace("/", "-") for value in cell)
        return self.folder / dataset / f"{'_'.join(others)}.csv"

    def read(self, cell: Any) -> list[Row] | None:
        """Return the rows of a cell; None if they are missing, damaged, or of other code."""
        try:
            head, _, body = self.path(cell).read_text("utf-8").partition("\n")
            about = json.loads(head)
            sealed = about == self._sealed(cell, about["code"], body)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if not sealed or digest_of(about["code"]) != digest_of(current_code()):
            return None
        rows = _read_rows(StringIO(body), self._names, self.plan)
        return [row | {"code": about["code"]} for row in rows]

    def write(self, cell: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        """Keep the rows of a cell, in place of those that are there."""
        body = _text(rows, self._names, header=False)
        _read_rows(StringIO(body), self._names, self.plan)  # a number that is none is an error
        head = json.dumps(self._sealed(cell, current_code(), body))
        _write_whole(self.path(cell), f"{head}\n{body}".encode())

    def _sealed(self, cell: Any, code: str, body: str) -> dict[str, Any]:
        about = {"cell": list(cell), "settings": self._settings, "code": code}
        return about | {"sha256": sha256(f"{json.dumps(about)}\n{body}".encode()).hexdigest()}

    def _agree(self, again: bool) -> None:
        """Say in the folder what its rows are, or compare with what another run has said."""
        path = self.folder / ABOUT
        ours = {"study": self.plan.KIND, "settings": self.plan.settings(), "code": current_code()}
        text = json.dumps(ours, indent=1) + "\n"
        try:
            found = json.loads(path.read_text("utf-8"))
            same = {name: found[name] for name in ("study", "settings")}
            code = str(found["code"])
        except FileNotFoundError:
            if not _write_first(path, text.encode()):  # another run was faster
                self._agree(again)
            return
        except (ValueError, KeyError, TypeError):  # damaged; each cell says the same of itself
            _write_whole(path, text.encode())
            return
        if same != {name: json.loads(json.dumps(ours[name])) for name in same}:
            raise StudyError(f"{self.folder} holds another study: choose another folder with -o.")
        if digest_of(code) == digest_of(current_code()):
            return
        if not again:
            raise StudyError(
                f"{self.folder} holds rows of other code ({code}; this is {current_code()}). "
                "Choose another folder with -o, or compute them again with --again."
            )
        _write_whole(path, text.encode())


def archive(rows: Iterable[Mapping[str, Any]], plan: Any) -> bytes:
    """Return rows as a compressed CSV file, in the order of their cells, each once.

    All numbers but ``seconds`` are read back exactly.
    """
    cells = {tuple(row[name] for name in plan.KEY): row for row in rows}
    ordered = [{**cells[key], "seconds": round(cells[key]["seconds"], 3)} for key in sorted(cells)]
    return lzma.compress(_text(ordered, list(plan.COLUMNS), header=True).encode(), preset=9)


def read_archive(path: str | os.PathLike[str], plan: Any) -> list[Row]:
    """Read rows that :func:`archive` packed."""
    try:
        with lzma.open(path) as file:
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it holds more than {MAX_BYTES // 2**20} MB")
        lines = StringIO(content.decode())
        names = next(csv.reader([lines.readline()]), [])
        if names != list(plan.COLUMNS):
            raise ValueError(f"its columns are {names}, not {list(plan.COLUMNS)}")
        return _read_rows(lines, names, plan)
    except (lzma.LZMAError, EOFError, csv.Error, ValueError) as error:
        raise StudyError(f"{path} is not an archive of such rows, or is damaged: {error}") from None


def _text(rows: Iterable[Mapping[str, Any]], names: Sequence[str], header: bool) -> str:
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if header:
        writer.writerow(names)
    for row in rows:
        writer.writerow("" if row[name] is None else row[name] for name in names)
    return text.getvalue()


def _read_rows(lines: Iterable[str], names: Sequence[str], plan: Any) -> list[Row]:
    rows = []
    for values in csv.reader(lines, strict=True):
        row: Row = {}
        for name, text in zip(names, values, strict=True):
            if text == "" and name not in plan.OPTIONAL:
                raise ValueError(f"{name} is empty")
            row[name] = None if text == "" else plan.COLUMNS[name](text)
            if isinstance(row[name], float) and not isfinite(row[name]):
                raise ValueError(f"{name} is {text}")
        rows.append(row)
    return rows


# ---- files that are there whole or not at all -------------------------------------------------


def _write_whole(path: Path, content: bytes) -> None:
    os.replace(_temporary(path, content), path)


def _write_first(path: Path, content: bytes) -> bool:
    """Write a file unless there is one; return whether it was written."""
    temporary = _temporary(path, content)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    return True


def _temporary(path: Path, content: bytes) -> Path:
    """Write a file with a name of its own beside the path, down to the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    with open(temporary, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


# ---- which code computes ----------------------------------------------------------------------


@cache
def current_code() -> str:
    """Return for example "rejo 0.1.0, commit 4667076, numpy 2.4.6, ..., digest 1a2b3c4d5e6f".

    Two codes are the same if their digests are: over the modules of rejo and of this package that
    compute, the C++ sources that the extensions were built from, and the packages that compute for
    them. The version and the commit are for people.
    """
    here = Path(__file__).parent
    own = {path.name: path for kind in ENGINE_FILES[:2] for path in here.glob(kind)}
    names = [name for name in own if name.partition(".")[0] not in SILENT_MODULES]
    digest = sha256(repr((engine_code(), _digest(here, names))).encode()).hexdigest()[:12]
    parts = [f"rejo {rejo.__version__}", *_commit(here.parent), *_packages()]
    return ", ".join([*parts, f"digest {digest}"])


@cache
def engine_code() -> str:
    """Return a digest of the rejo, its extensions and the packages that compute here."""
    package = Path(rejo.__file__).parent
    names = [path.relative_to(package).as_posix() for path in package.rglob("*.py")]
    names = [name for name in names if name.partition("/")[0] not in SILENT_ROOMS]
    found = _digest(package, names), sorted(compiled().items()), list(_packages())
    return sha256(repr(found).encode()).hexdigest()[:12]


def digest_of(code: str) -> str:
    """Return the part by which codes are compared."""
    return code.rpartition(" ")[2]


def _packages() -> Iterator[str]:
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            yield f"{name} {version(name)}"


def _digest(folder: Path, names: Iterable[str]) -> str:
    """Return a digest of files, whatever their line endings."""
    found = sha256()
    for name in sorted(names):
        content = (folder / name).read_bytes().replace(b"\r\n", b"\n")
        found.update(f"{name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _commit(folder: Path) -> list[str]:
    """Return the commit in words; nothing if the files do not belong to a repository."""

    def git(*words: str) -> str:
        command = ["git", "-C", str(folder), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "studies/__init__.py")
        changed = git("status", "--porcelain", "--", "src", "studies")
        commit = git("rev-parse", "--short=12", "HEAD")
        return [f"commit {commit}" + " with changes" * bool(changed)]
    except (OSError, subprocess.SubprocessError):
        return []
