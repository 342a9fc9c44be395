"""Standard output and standard error that never lose the work of a command.

A reader may leave early, as in ``rejo train ... | head -1``; a disk may be full; a stream may be
closed before the command starts.  A command that writes files goes on: it prints to nobody.
"""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOWrapper
from typing import Any, cast


class Steady:
    """A text stream that swallows what it cannot write, and remembers why.

    If ``stops``, the error is raised as well: there is nothing else to go on for.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.stops = False
        self.lost: OSError | None = None
        if stream is None:  # closed, as by `>&-`
            self.lost = OSError(errno.EBADF, "standard output is closed")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    @property
    def buffer(self) -> Any:
        """For bytes, which are the result itself: errors are raised."""
        if self.lost is not None:
            raise self.lost
        return self.stream.buffer

    def write(self, text: str) -> int:
        self._try(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(lambda: self.stream.flush())

    def isatty(self) -> bool:
        return self.lost is None and bool(self.stream.isatty())

    @property
    def failed(self) -> bool:
        """Whether output was lost that somebody may wait for: the disk is full, for example."""
        left = (errno.EPIPE, errno.EBADF, errno.EINVAL if os.name == "nt" else errno.EPIPE)
        return self.lost is not None and self.lost.errno not in left

    def settle(self) -> None:
        """Leave nothing that Python could fail to flush as it exits."""
        self.stops = False
        self.flush()
        if self.lost is not None and self.stream is not None:
            with suppress(OSError):
                _point_at_nothing(self.stream.fileno())

    def _try(self, write: Any) -> None:
        if self.lost is None:
            try:
                write()
            except OSError as error:
                self.lost = error
        if self.lost is not None and self.stops:
            raise self.lost


@contextmanager
def steady_streams() -> Iterator[Steady]:
    """Make the standard streams steady, and yield standard output."""
    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr)):
        if stream is None:
            _point_at_nothing(number)  # or the next file that is opened gets this number
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # for words that the terminal cannot show
            stream.reconfigure(errors="backslashreplace")
    out, err = Steady(sys.stdout), Steady(sys.stderr)
    with redirect_stdout(cast(Any, out)), redirect_stderr(cast(Any, err)):
        try:
            yield out
        finally:
            out.settle()
            err.settle()


def _point_at_nothing(number: int) -> None:
    """Let a file descriptor, open or not, read and write nothing."""
    nothing = os.open(os.devnull, os.O_RDWR)
    if nothing == number:
        os.set_inheritable(number, True)
    else:
        os.dup2(nothing, number)
        os.close(nothing)
