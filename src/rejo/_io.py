"""Output for people: files written whole or not at all, safe text, a progress line.

Nothing here imports NumPy: ``rejo --help`` must not wait for it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

T = TypeVar("T")
URL = re.compile(r"(?:--?[a-z-]+=?)?([A-Za-z][\w.+-]*)://")
_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))
_BINARY = getattr(os, "O_BINARY", 0)  # Windows would translate line ends


def printable(text: str) -> str:
    """Replace control characters, which a terminal would obey, and other invisible ones."""
    return "".join(c if c.isprintable() else "?" for c in text)


def one_line(text: str) -> str:
    """Return :func:`printable` text on a single line."""
    return printable(" ".join(text.split()))


def without_password(text: str) -> str:
    """Return a URL, also after an option, without a password and options; other text as it is."""
    found = URL.match(text)
    if found is None:
        return text
    place, table = split_url(text)
    start, rest = found[0], place[found.end() :]
    named = f"#{table}" if table else ""
    if found[1].partition("+")[0].lower() in ("postgresql", "postgres", "sqlite"):
        with suppress(Exception):  # it is not installed, or this is not a URL that it knows
            from sqlalchemy import make_url

            url = make_url(f"{found[1]}://{rest}")
            if "@" not in (url.host or ""):
                hidden = url.set(password="*" if url.password else None, query={})
                shown = hidden.render_as_string(hide_password=True).replace(":***@", "@")
                return start + shown.partition("://")[2] + named
    # The last @ ends the password, in which anything may stand.
    user, at, host = rest.rpartition("@")
    return start + user.partition(":")[0] + at + host.partition("?")[0] + named


def split_url(url: str) -> tuple[str, str]:
    """Split a URL into the database and the name of a table after a ``#``.

    The mark may stand in a password, too, which ends at the last ``@``.
    """
    user, at, rest = url.rpartition("@")
    rest, _, table = rest.partition("#")
    return user + at + rest, table


def percent(rate: float, places: int = 1) -> str:
    return f"{rate:.{places}%}".replace("%", " %")


def progress(
    items: Iterable[T],
    total: int,
    title: str,
    *,
    rows: Callable[[T], int] | None = None,
    show: bool | None = None,
) -> Iterator[T]:
    """Yield the items, and write on stderr how many are done and how long the rest will take.

    ``rows`` says how many rows an item is, if ``total`` counts rows. By default (``show=None``) it
    writes only if stderr is a terminal, or in a notebook.
    """
    write = _progress_line(show)
    start, due, done = monotonic(), 0.0, 0
    try:
        for item in items:
            done += 1 if rows is None else rows(item)
            seconds = max(monotonic() - start, 1e-9)
            if write is not None and (seconds >= due or done == total):  # ten times a second
                due = seconds + 0.1
                said = f"{done}/{total}"
                if rows is not None:
                    said = f"{done:,} of {total:,} rows, {done / seconds:,.0f} a second"
                left = seconds / max(done, 1) * (total - done)
                write(f"{title}: {said}, {_clock(left)} left")
            yield item
    finally:
        if write is not None and due:
            write("")


def _progress_line(show: bool | None) -> Callable[[str], None] | None:
    """Return what replaces the line of progress; ``None`` if nobody wants it, or would see it."""
    if show is not False and _in_notebook():
        handle: Any = None

        def update(text: str) -> None:  # the line below the cell
            nonlocal handle
            with suppress(Exception):  # whatever the kernel makes of it, the work goes on
                from IPython.display import display

                data = {"text/plain": text}
                if handle is None:
                    handle = display(data, raw=True, display_id=True)
                else:
                    handle.update(data, raw=True)

        return update
    stream = sys.stderr
    if stream is None or not (stream.isatty() if show is None else show):  # None: it is closed
        return None

    def write(text: str) -> None:
        with suppress(OSError):  # a progress line must not stop what it reports on
            sys.stderr.write(f"\r{text}\033[K")
            sys.stderr.flush()

    return write


def _in_notebook() -> bool:
    """Return whether a notebook runs this: the shell of IPython then has a kernel."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02}:{int(seconds):02}" if hours else f"{minutes}:{int(seconds):02}"


class WholeFile:
    """Write a file under a hidden name beside its destination; move it there once it is complete.

    At any moment either the old file or the new one is there, complete; after an error nothing is
    left of the new one. Until it is complete, only its owner can read it; then it gets the
    permissions of the file that it replaces, or those of any new file. Symbolic links are followed.
    Pipes and devices, which cannot be replaced, are written to directly.

    A file that exists, or that appears while this one is written, is a ``FileExistsError``, unless
    ``overwrite``.
    """

    def __init__(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        self.path = os.fspath(path)
        self.overwrite = overwrite
        self._part: Path | None = None
        self._file: BinaryIO | None = None

    def __enter__(self) -> BinaryIO:
        mode = _mode(self.path)
        if mode and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # a pipe or a device
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
        # An empty file shows the permissions of a new file; os.umask is not safe with threads.
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
        except OSError as failure:
            self._name_in(failure)
            raise
        finally:
            self._name_in(error)
            with suppress(OSError):
                file.close()
            if self._part is not None:
                self._part.unlink(missing_ok=True)

    def _name_in(self, error: BaseException | None) -> None:
        """Let the error of a full disk name this file."""
        if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
            error.filename = self.path

    def _finish(self, file: BinaryIO) -> None:
        file.flush()
        if self._part is not None:
            os.fsync(file.fileno())
        file.close()
        if self._part is not None:
            with suppress(OSError):  # there are file systems without permissions
                os.chmod(self._part, _mode(self._place) & 0o777 or self._mode)
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

    def _exists(self) -> FileExistsError:
        return FileExistsError(f"{self.path} exists: give another path, or overwrite=True.")


def _mode(path: str | Path) -> int:
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _create(path: Path, mode: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Let the new name, too, survive a power failure."""
    with suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def stage_lines() -> Callable[[str], None]:
    """Return a function that writes a line for each stage, with the time so far, on stderr."""
    start = monotonic()

    def tell(text: str) -> None:
        print(f"[{monotonic() - start:3.0f} s] {text}", file=sys.stderr, flush=True)

    return tell
