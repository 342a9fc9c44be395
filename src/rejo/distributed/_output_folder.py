"""The folder that decisions are written to: what may be there already, and what is left at the end.

A run works in a hidden folder inside it.  Parts get their names when they are complete, the
manifest ``_rejo.json`` when all parts are there; then the hidden folder goes.  Both the hidden
folder and the manifest have the key of the run, a hash of the model, the files and the options.
A run that finds its own key goes on; one that finds anything else refuses to touch it.  One that
may replace other decisions removes them when all of its own cases are decided.
"""

import json
import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rejo._errors import RejoError
from rejo._io import URL, WholeFile, without_password

MANIFEST = "_rejo.json"
WORK, ABOUT, REPLACED = ".rejo-run", "run.json", "replaced.json"
DECIDED = ".decided"  # ending of files with decisions that wait for their ranks
REMEDY = "Name a new or empty folder, or set overwrite to replace the decisions in it."


class OutputFolder:
    """The folder of a run."""

    def __init__(self, path: str | os.PathLike[str], key: str, parts: Collection[str]) -> None:
        if URL.match(os.fspath(path)):
            raise RejoError(
                f"out={without_password(os.fspath(path))!r} must be a folder that is mounted here",
                parameter="out",
                remedy="Files are renamed when they are complete, which object stores cannot do: "
                "write to a folder, and copy it.",
            )
        self.path, self.key, self.parts = Path(os.path.abspath(path)), key, list(parts)
        self.work = self.path / WORK

    def finished(self) -> dict[str, Any] | None:
        """Return the manifest if the run is complete already."""
        manifest = _read(self.path / MANIFEST)
        if _key(manifest) != self.key or not self._is_whole():
            return None
        shutil.rmtree(self.work, ignore_errors=True)
        return manifest

    def check(self, *, overwrite: bool) -> None:
        """Refuse a folder with decisions of another run, or with files that nobody knows."""
        if self.path.exists() and not self.path.is_dir():
            raise RejoError(f"out={str(self.path)!r} is not a folder", parameter="out")
        there = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set()
        notes = [self.path / MANIFEST, self.work / ABOUT, self.work / REPLACED]
        manifest, begun, replaced = map(_read, notes)
        goes_on = self.key == _key(begun) and manifest is None
        if not there or goes_on or self.key == _key(manifest):
            return
        known = [found for found in (manifest, begun, replaced) if found is not None]
        ours = {MANIFEST, WORK} if known else set()
        for found in known:
            ours |= set(_parts(found))
        if not overwrite:
            what = "decisions of another run" if ours & there else f"files, such as {min(there)}"
            raise RejoError(f"{self.path} has {what}", parameter="overwrite", remedy=REMEDY)
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
            left = [path.name for path in self.work.glob("*")]
            if REPLACED not in left and not any(name.endswith(DECIDED) for name in left):
                shutil.rmtree(self.work, ignore_errors=True)
                with suppress(OSError):  # somebody else put something there
                    if is_new:
                        self.path.rmdir()
            raise

    def begin(self, *, overwrite: bool) -> None:
        """Make the working folder ready.  Whole decisions of another run stay as they are."""
        self.check(overwrite=overwrite)
        self.path.mkdir(parents=True, exist_ok=True)
        for left in self.path.glob(f".{MANIFEST}.*.part"):  # a run was killed at its last step
            left.unlink()
        begun = _read(self.work / ABOUT)
        if _key(begun) != self.key:
            if _read(self.path / MANIFEST) is None:  # another run was killed while it wrote
                for found in (begun, _read(self.work / REPLACED)):
                    self._remove(found)
            shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(exist_ok=True)
        if _key(begun) != self.key:
            _write(self.work / ABOUT, {"key": self.key, "parts": self.parts})
        for entry in self.work.iterdir():  # of a run that was killed
            kept = entry.suffix == DECIDED and not entry.name.startswith(".")
            if entry.name not in (ABOUT, REPLACED) and not kept:
                entry.unlink()

    def replace(self) -> None:
        """Remove the decisions of another run, when those of this one are ready to be written."""
        manifest, replaced = self.path / MANIFEST, self.work / REPLACED
        if _key(_read(manifest)) in (None, self.key):  # a part has gone since
            manifest.unlink(missing_ok=True)
        else:  # it goes first, but what it says is kept until its parts are gone
            os.replace(manifest, replaced)
        self._remove(_read(replaced))
        replaced.unlink(missing_ok=True)

    def finish(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
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

    def _is_whole(self) -> bool:
        return all((self.path / name).is_file() for name in self.parts)

    def _remove(self, found: dict[str, Any] | None) -> None:
        for name in [] if found is None else _parts(found):
            (self.path / name).unlink(missing_ok=True)


def _read(path: Path) -> dict[str, Any] | None:
    """Return what a file of ours says; ``None`` if there is none, or it is not ours."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("key"), str) else None


def _key(found: dict[str, Any] | None) -> str | None:
    return None if found is None else found["key"]


def _write(path: Path, found: Mapping[str, Any]) -> None:
    with WholeFile(path, overwrite=True) as file:
        file.write(json.dumps(found, indent=1).encode() + b"\n")


def _parts(found: dict[str, Any]) -> list[str]:
    """Return the parts that a note names: none of them may be elsewhere."""
    names = [name for name in found.get("parts", ()) if isinstance(name, str)]
    return [n for n in names if n == os.path.basename(n) and n.endswith(".parquet")]
