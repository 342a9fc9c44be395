"""The folder that decisions are written to: what may be there already, and what is left at the end.

A run works in a hidden folder inside it.  Parts get their names when they are complete, the
manifest ``_rejo.json`` when all parts are there; then the hidden folder goes.  Both the hidden
folder and the manifest have the key of the run, a hash of the model, the files and the options.
A run that finds its own key goes on; one that finds anything else refuses to touch it.  One that
may replace other decisions notes which, and removes them when all of its own cases are decided.
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
WORK, ABOUT = ".rejo-run", "run.json"
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
        self.work = self.path / WORK

    def finished(self) -> Note | None:
        """Return the manifest if the run is complete already."""
        manifest = _read(self.path / MANIFEST)
        whole = all((self.path / name).is_file() for name in self.parts)
        if manifest is None or manifest["key"] != self.key or not whole:
            return None
        shutil.rmtree(self.work, ignore_errors=True)
        return manifest

    def check(self, *, overwrite: bool) -> None:
        """Refuse a folder with decisions of another run, or with files that nobody knows."""
        if self.path.exists() and not self.path.is_dir():
            raise RejoError(
                Text(Setting("out", str(self.path)), " is not a folder"), parameter="out"
            )
        there = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set()
        notes = self._notes()
        if not there or (notes and notes[0]["key"] == self.key):
            return
        ours = {MANIFEST, WORK, *_parts(notes)} if notes else set()
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
        self.begin(overwrite=overwrite)
        try:
            yield
        except BaseException:
            known = (self.path / MANIFEST).exists() or not _parts(self._notes(), "replaces")
            if known and not any(self.work.glob(f"*{DECIDED}")):
                shutil.rmtree(self.work, ignore_errors=True)
                with suppress(OSError):  # somebody else put something there
                    if is_new:
                        self.path.rmdir()
            raise

    def begin(self, *, overwrite: bool) -> None:
        """Make the working folder ready.  Decisions of another run stay as they are."""
        self.check(overwrite=overwrite)
        self.work.mkdir(parents=True, exist_ok=True)
        for left in self.path.glob(f".{MANIFEST}.*.part"):  # a run was killed at its last step
            left.unlink()
        begun = _read(self.work / ABOUT)
        goes_on = begun is not None and begun["key"] == self.key
        for entry in self.work.iterdir():  # of a run that was killed
            kept = goes_on and entry.suffix == DECIDED and not entry.name.startswith(".")
            if entry.name != ABOUT and not kept:
                entry.unlink()
        if not goes_on:
            others = [note for note in self._notes() if note["key"] != self.key]
            self._note(replaces=_parts(others))

    def replace(self) -> None:
        """Remove the decisions of another run, when those of this one are ready to be written."""
        (self.path / MANIFEST).unlink(missing_ok=True)
        for name in _parts(self._notes(), "replaces"):
            (self.path / name).unlink(missing_ok=True)
        self._note()

    def finish(self, manifest: Mapping[str, Any]) -> Note:
        """Write the manifest, when all parts are there; leave nothing else."""
        if lacking := [name for name in self.parts if not (self.path / name).is_file()]:
            raise RejoError(
                f"{self.path} has lost {lacking[0]}",
                parameter="out",
                remedy="Something removed it while others were written: run again.",
            )
        found = {"key": self.key, **manifest}
        _write(self.path / MANIFEST, found)
        shutil.rmtree(self.work)
        return found

    def _notes(self) -> list[Note]:
        """Return the manifest, if it is there, and what a run that began says of itself."""
        notes = (_read(self.path / MANIFEST), _read(self.work / ABOUT))
        return [note for note in notes if note is not None]

    def _note(self, **more: Any) -> None:
        _write(self.work / ABOUT, {"key": self.key, "parts": self.parts, **more})


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


def _parts(notes: Collection[Note], *lists: str) -> list[str]:
    """Return the parts that notes name: none of them may be elsewhere."""
    names = [name for note in notes for one in lists or ("parts", "replaces")
             for name in note.get(one, ()) if isinstance(name, str)]  # fmt: skip
    return [n for n in names if n == os.path.basename(n) and n.endswith(".parquet")]
