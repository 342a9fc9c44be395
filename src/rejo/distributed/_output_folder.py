"""The folder that decisions are written to: what may be there already, and what is left at the end.

A run works in a hidden folder inside it, which has the name of the run: a hash of the model, the
files and the options.  When all parts are ready there, they are moved up, those of another run
are removed, and the manifest ``_rejo.json`` is the last; then the hidden folder goes.  A run that
was killed goes on, also while it moved files; one that finds anything else refuses to touch it.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rejo._errors import RejoError, Setting, Text
from rejo._io import URL, WholeFile, without_password

MANIFEST = "_rejo.json"
WORK, OTHERS = ".rejo-run", "others.json"  # the latter: the parts to remove
DECIDED = ".decided"  # ending of files with decisions that wait for their ranks
Note = dict[str, Any]


class OutputFolder:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str], key: str, parts: Collection[str]) -> None:
        if URL.match(os.fspath(path)):
            raise RejoError(
                Text(
                    Setting("out", without_password(os.fspath(path))),
                    " must be a folder that is mounted here",
                ),
                parameter="out",
                remedy="Files are renamed when they are complete, which object stores cannot do: "
                "write to a folder, and copy it.",
            )
        self.path, self.key, self.parts = Path(os.path.abspath(path)), key, list(parts)
        self.works = self.path / WORK  # of this run and of those that were killed
        self.work = self.works / key[:16]

    def finished(self) -> Note | None:
        """Return the manifest if the run is complete; one that was killed may lack a last step."""
        if (self.work / MANIFEST).exists():
            self._publish()
        manifest = _read(self.path / MANIFEST)
        whole = all((self.path / name).is_file() for name in self.parts)
        if manifest is None or manifest["key"] != self.key or not whole:
            return None
        shutil.rmtree(self.works, ignore_errors=True)
        return manifest

    def check(self, *, overwrite: bool) -> None:
        """Refuse a folder with decisions of another run, or with files that nobody knows."""
        if self.path.exists() and not self.path.is_dir():
            raise RejoError(
                Text(Setting("out", str(self.path)), " is not a folder"), parameter="out"
            )
        there = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set()
        last = _read(self.path / MANIFEST)
        if not there or (self.work.exists() if last is None else last["key"] == self.key):
            return
        ours = {MANIFEST, WORK, *self._known_parts()}
        if not overwrite:
            what = "decisions of another run" if ours & there else f"files, such as {min(there)}"
            raise RejoError(
                f"{self.path} has {what}",
                parameter="overwrite",
                remedy=Text(
                    "Name a new or empty folder, or set ",
                    Setting("overwrite"),
                    " to replace the decisions in it.",
                ),
            )
        if foreign := [name for name in there - ours if name.endswith(".parquet")]:
            raise RejoError(
                f"{self.path} has a file that is not of rejo: {min(foreign)}",
                parameter="out",
                remedy="It would be read together with the decisions: name another folder.",
            )

    @contextmanager
    def working(self, *, overwrite: bool) -> Iterator[None]:
        """Make the folder ready; leave nothing behind if it fails before any part is decided."""
        is_new = not self.path.exists()
        self.check(overwrite=overwrite)
        self.work.mkdir(parents=True, exist_ok=True)
        for other in self.works.iterdir():
            if other != self.work and not (other / MANIFEST).exists():  # none of its parts is known
                shutil.rmtree(other)
        try:
            yield
        except BaseException:
            if not any(self.work.glob(f"*{DECIDED}")):
                shutil.rmtree(self.work, ignore_errors=True)
                with suppress(OSError):  # there is something else
                    self.works.rmdir()
                    if is_new:
                        self.path.rmdir()
            raise

    def finish(self, manifest: Mapping[str, Any]) -> Note:
        """Move all parts to their place, and then the manifest; leave nothing else."""
        if lacking := [name for name in self.parts if not (self.work / name).is_file()]:
            raise RejoError(
                f"{self.work} has lost {lacking[0]}",
                parameter="out",
                remedy="Something removed it while others were written: run again.",
            )
        found = {"key": self.key, **manifest}
        others = sorted({*self._known_parts()} - {*self.parts})
        _write(self.work / OTHERS, {"key": self.key, "parts": others})
        _write(self.work / MANIFEST, found)
        self._publish()
        return found

    def _publish(self) -> None:
        (self.path / MANIFEST).unlink(missing_ok=True)
        for name in _parts(self.work / OTHERS):
            (self.path / name).unlink(missing_ok=True)
        for name in self.parts:
            with suppress(FileNotFoundError):  # it has been moved
                os.replace(self.work / name, self.path / name)
        os.replace(self.work / MANIFEST, self.path / MANIFEST)
        shutil.rmtree(self.works)

    def _known_parts(self) -> list[str]:
        """Parts of the last run, and of those that were killed while they moved theirs."""
        notes = [self.path / MANIFEST, *self.works.glob("*/*.json")]
        return [name for note in notes for name in _parts(note)]


def _read(path: Path) -> Note | None:
    """Return what a file of ours says; ``None`` if there is none, or it is not ours."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("key"), str) else None


def _write(path: Path, found: Mapping[str, Any]) -> None:
    with WholeFile(path, overwrite=True) as file:
        file.write(json.dumps(found, indent=1).encode() + b"\n")


def _parts(path: Path) -> list[str]:
    """Return the parts that a file of ours names: none of them may be elsewhere."""
    names = [name for name in (_read(path) or {}).get("parts", ()) if isinstance(name, str)]
    return [n for n in names if n == os.path.basename(n) and n.endswith(".parquet")]
