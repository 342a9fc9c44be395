"""The folder that decisions are written to: what may be there already, and what is left at the end.

A run works in a hidden folder inside it, which has the name of the run: a hash of the model, the
files and the options.  When all parts are ready there, those of another run are removed, these are
moved up, and the manifest ``_rejo.json`` is the last; then the hidden folder goes.  A run that was
killed, also while it moved files, goes on; one that finds anything else refuses to touch it.
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
WORK = ".rejo-run-"  # how working folders begin
REPLACED = "replaced.json"  # the manifest of another run whose parts are being removed
DECIDED = ".decided"  # ending of files with decisions that wait for their ranks


class OutputFolder:
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
        self.path, self.key, self.parts = Path(os.path.abspath(path)), key, parts
        self.work = self.path / f"{WORK}{key[:16]}"

    def finished(self) -> dict[str, Any] | None:
        """Return the manifest if the run is complete."""
        manifest = _read(self.path / MANIFEST)
        whole = all((self.path / name).is_file() for name in self.parts)
        if manifest.get("key") != self.key or not whole:
            return None
        shutil.rmtree(self.work, ignore_errors=True)  # if it was killed at the very end
        return manifest

    def check(self, *, overwrite: bool) -> None:
        if self.path.exists() and not self.path.is_dir():
            raise RejoError(
                Text(Setting("out", str(self.path)), " is not a folder"), parameter="out"
            )
        there = {entry.name for entry in self.path.iterdir()} if self.path.exists() else set()
        last = _read(self.path / MANIFEST)
        if not there or (last["key"] == self.key if last else self.work.exists()):
            return
        ours = {name for name in there if name.startswith(WORK)} | {MANIFEST, *_parts(last)}
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
                f"{self.path} has a file that is not of rejo, or of a run that was stopped: "
                f"{min(foreign)}",
                parameter="out",
                remedy="It would be read together with the decisions: name another folder.",
            )

    @contextmanager
    def working(self, *, overwrite: bool) -> Iterator[None]:
        """Make the folder ready; leave nothing behind if it fails before any part is decided."""
        is_new = not self.path.exists()
        self.check(overwrite=overwrite)
        self.work.mkdir(parents=True, exist_ok=True)
        for other in self.path.glob(f"{WORK}*"):
            if other != self.work:
                shutil.rmtree(other)
        try:
            yield
        except BaseException:
            if not any(self.work.glob(f"*{DECIDED}")):
                shutil.rmtree(self.work, ignore_errors=True)
                if is_new:
                    with suppress(OSError):  # there is something else
                        self.path.rmdir()
            raise

    def finish(self, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """Move all parts to their place, and then the manifest; leave nothing else."""
        with suppress(FileNotFoundError):  # there is none
            os.replace(self.path / MANIFEST, self.work / REPLACED)
        for name in _parts(_read(self.work / REPLACED)):
            (self.path / name).unlink(missing_ok=True)
        for name in self.parts:
            os.replace(self.work / name, self.path / name)
        found = {"key": self.key, **manifest}
        with WholeFile(self.path / MANIFEST, overwrite=True) as file:
            file.write(json.dumps(found, indent=1).encode() + b"\n")
        shutil.rmtree(self.work)
        return found


def _read(path: Path) -> dict[str, Any]:
    """Return what a manifest says; nothing if there is none, or it is not ours."""
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("key"), str) else {}


def _parts(manifest: Mapping[str, Any]) -> list[str]:
    """Return the parts that a manifest names: none of them may be elsewhere."""
    names = [name for name in manifest.get("parts", ()) if isinstance(name, str)]
    return [n for n in names if n == os.path.basename(n) and n.endswith(".parquet")]
