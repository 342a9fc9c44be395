"""The folder that decisions are written to: what may be there already, and what is left at the end.

A run works in a hidden folder inside it.  Parts get their names when they are complete, the
manifest ``_rejo.json`` when all parts are there; then the hidden folder goes.  Both the hidden
folder and the manifest have the key of the run, a hash of the model, the files and the options.
A run that finds its own key goes on; one that finds anything else refuses to touch it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Collection, Mapping
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

    def begin(self, *, overwrite: bool) -> dict[str, Any] | None:
        """Make the folder ready; return the manifest if the run is complete already."""
        if self.path.exists() and not self.path.is_dir():
            raise RejoError(f"out={str(self.path)!r} is not a folder", parameter="out")
        self.path.mkdir(parents=True, exist_ok=True)
        for left in self.path.glob(f".{MANIFEST}.*.part"):  # a run was killed at its last step
            left.unlink()
        manifest, begun = _read(self.path / MANIFEST), _read(self.work / ABOUT)
        if _key(manifest) == self.key and self._is_whole():
            shutil.rmtree(self.work, ignore_errors=True)
            return manifest
        if self.key not in (_key(manifest), _key(begun)):
            self._clear(overwrite)
        self.work.mkdir(exist_ok=True)
        if _key(begun) != self.key:
            _write(self.work / ABOUT, {"key": self.key, "parts": self.parts})
        (self.path / MANIFEST).unlink(missing_ok=True)  # a part has gone since
        for entry in self.work.iterdir():  # of a run that was killed
            if entry.name != ABOUT and (entry.suffix != DECIDED or entry.name.startswith(".")):
                entry.unlink()
        return None

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

    def _clear(self, overwrite: bool) -> None:
        """Remove what another run wrote; refuse what nobody knows."""
        notes = [self.path / MANIFEST, self.work / ABOUT, self.work / REPLACED]
        known = [found for found in map(_read, notes) if found is not None]
        ours = {MANIFEST, WORK} if known else set()
        for found in known:
            ours |= {name for name in found.get("parts", ()) if _is_plain(name)}
        there = {entry.name for entry in self.path.iterdir()}
        if there and not overwrite:
            what = "decisions of another run" if ours & there else f"files, such as {min(there)}"
            raise RejoError(f"{self.path} has {what}", parameter="overwrite", remedy=REMEDY)
        if foreign := [name for name in there - ours if name.endswith(".parquet")]:
            raise RejoError(
                f"{self.path} has a file that is not of rejo: {min(foreign)}",
                parameter="out",
                remedy="It would be read together with the decisions: name another folder.",
            )
        if MANIFEST in ours & there:  # it goes first, but what it says is kept until the end
            self.work.mkdir(exist_ok=True)
            os.replace(self.path / MANIFEST, self.work / REPLACED)
        for name in ours & there - {MANIFEST, WORK}:
            (self.path / name).unlink()
        if WORK in ours:
            shutil.rmtree(self.work, ignore_errors=True)


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


def _is_plain(name: Any) -> bool:
    """Return whether it is the name of a part: a manifest must not name files elsewhere."""
    return isinstance(name, str) and name == os.path.basename(name) and name.endswith(".parquet")
