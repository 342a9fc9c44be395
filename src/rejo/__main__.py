"""The ``rejo`` command, also as ``python -m rejo``: from the first import on, Ctrl-C is one line.

``python -m rejo`` alone shows versions and the engine, for bug reports.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # that of typing takes longer to import than all else here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

INTERRUPTED = 130
SOON = 0.001  # seconds until an interrupt that could do nothing is tried again


def run(words: Sequence[str] | None = None) -> int:
    """Run the command line; SIGTERM ends it as Ctrl-C does, so that no half-written file stays."""
    try:
        import atexit
        import signal

        codes: list[int] = []
        # The first to be registered is the last to run: after an interrupt, compiled modules may
        # abort as Python takes them down.
        atexit.register(lambda: INTERRUPTED in codes and os._exit(INTERRUPTED))
        ends = [
            number
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) != signal.SIG_IGN  # as under nohup
        ]
        for number in ends:
            signal.signal(number, _leave)  # compiled modules make other errors of exceptions
        from rejo.cli import main

        for number in ends:
            signal.signal(number, _interrupt)
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, _interrupt)
            sys.unraisablehook = _swallowed
        codes.append(main(words))
        for number in ends:
            signal.signal(number, signal.SIG_DFL)  # nothing is left to clean up
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
        return codes[0]
    except KeyboardInterrupt:
        _leave()


def _interrupt(number: int, frame: Any) -> None:
    """Raise KeyboardInterrupt; amid an import a little later, or it may keep the lock of imports.

    Threads would then wait for it without end.
    """
    import signal

    inner = frame
    while inner is not None and hasattr(signal, "SIGALRM"):
        if inner.f_code.co_filename.startswith("<frozen importlib"):
            signal.setitimer(signal.ITIMER_REAL, SOON)
            return
        inner = inner.f_back
    raise KeyboardInterrupt


def _swallowed(lost: Any) -> None:
    """Raise an interrupt again that came in a callback, from which nothing is raised."""
    import signal

    if lost.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, SOON)
    else:
        sys.__unraisablehook__(lost)


def _leave(*_: object) -> NoReturn:
    os.write(2, b"rejo: interrupted\n")
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:] or ["--version", "--verbose"]))
