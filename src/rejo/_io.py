"""What every room that writes for people needs: whole files, safe text, a line of progress.

Nothing here imports NumPy: ``rejo --help`` must not wait for it.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import BinaryIO, TypeVar

T = TypeVar("T")
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


def printable(text: str) -> str:
    """Replace what a terminal would obey: control and other invisible characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(text: str) -> str:
    """Return :func:`printable` text on a single line."""
    return printable(" ".join(text.split()))


def progress(
    items: Iterable[T], total: int, title: str, *, show: bool | None = None
) -> Iterator[T]:
    """Pass the items on, and write how many came and how long the others will take.

    By default (``show=None``) only if stderr is a terminal.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    start = monotonic()
    try:
        for done, item in enumerate(items, start=1):
            left = (monotonic() - start) / done * (total - done)
            sys.stderr.write(f"\r{title}: {done}/{total}, {_clock(left)} left \033[K")
            sys.stderr.flush()
            yield item
    finally:
        sys.stderr.write("\r\033[K")
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{int(seconds):02}" if hours else f"{minutes}:{int(seconds):02}"


class WholeFile:
    """Write a file beside its place, under a hidden name, and move it there when all is written.

    At any moment the old file or the new one is there, whole; after an error nothing is left of
    the new one.  While it is written, its owner alone may read it; then it gets the permissions
    of the file that it replaces, or those of any new file.  Of a symbolic link, the file that it
    leads to is replaced.  Pipes and devices, which cannot be replaced, are written to directly.

    Parameters
    ----------
    path : str or path-like
    overwrite : bool, default=False
        Replace a file that exists.

    Raises
    ------
    FileExistsError
        If the file exists, or has appeared meanwhile, without ``overwrite``.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rejo._io import WholeFile
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.txt")
    ...     with WholeFile(path) as file:
    ...         _ = file.write(b"all of it")
    ...         print(path.exists())
    ...     print(path.read_text())
    False
    all of it
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = os.fspath(path)
        self.overwrite = overwrite
        self._part: Path | None = None
        self._file: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        if self._is_special():
            self._file = os.fdopen(os.open(self.path, os.O_WRONLY | _BINARY), "wb")
            return self._file
        self._place = Path(os.path.realpath(self.path))
        if self._place.is_dir():
            raise IsADirectoryError(f"{self.path} is a folder; name a file in it")
        if self._place.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self.path)
        if not self.overwrite and self._place.exists():
            raise self._exists()
        part = self._place.with_name(f".{self._place.name[:40]}.{secrets.token_hex(8)}.part")
        # What a plain file may be read by is asked of an empty one: nothing else tells safely.
        self._mode = _create(part, 0o666)
        part.unlink()
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        self._part, self._file = part, os.fdopen(descriptor, "wb")
        return self._file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        file, self._file = self._file, None
        assert file is not None
        try:
            if kind is None:
                self._finish(file)
        finally:
            with suppress(OSError):
                file.close()
            if self._part is not None:
                self._part.unlink(missing_ok=True)

    def _finish(self, file: BinaryIO) -> None:
        file.flush()
        if self._part is not None:
            os.fsync(file.fileno())
        file.close()
        if self._part is not None:
            with suppress(OSError):  # there are file systems without permissions
                os.chmod(self._part, self._mode_of_the_old() or self._mode)
            self._move(self._part)
            _sync_folder(self._place.parent)

    def _move(self, part: Path) -> None:
        if self.overwrite:
            os.replace(part, self._place)
            return
        try:
            os.link(part, self._place)  # fails if the file has appeared meanwhile
        except FileExistsError:
            raise self._exists() from None
        except OSError:  # no links on this file system: reserve the name instead
            try:
                _create(self._place, 0o600)
            except FileExistsError:
                raise self._exists() from None
            try:
                os.replace(part, self._place)
            except BaseException:
                self._place.unlink(missing_ok=True)
                raise

    def _is_special(self) -> bool:
        """Whether there is a pipe or a device."""
        try:
            mode = os.stat(self.path).st_mode
        except OSError:
            return False
        return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)

    def _mode_of_the_old(self) -> int:
        """Permissions of the file that is replaced; 0 if there is none."""
        try:
            return stat.S_IMODE(self._place.stat().st_mode) & 0o777
        except OSError:
            return 0

    def _exists(self) -> FileExistsError:
        return FileExistsError(f"{self.path} exists; overwrite replaces it")


def _create(path: Path, mode: int) -> int:
    """Make an empty file that was not there, and return the permissions that it got."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Let the new name, too, survive a loss of power, where the system offers that."""
    if os.name != "posix":
        return
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
