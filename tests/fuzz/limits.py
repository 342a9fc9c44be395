"""Attempts in a process of their own, with limits on time and memory.

A fork takes longer than most attempts, so one process makes several.  If one of them fails, or the
memory is more than one alone may take, it is tried again in a process for itself.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tests.fuzz.probe import GUARD, PREDICTED, REFUSED, Verdict, said

MB = 1 << 20
SECONDS = 5  # of the processor
PATIENCE = 40  # seconds of the clock
CEILING = 4096 * MB  # a process may reserve; what it does reserve is measured
LEAST, TIMES, MOST = 48 * MB, 16, 256 * MB  # the bound: LEAST + TIMES x the file, MOST at most


class Attempt(NamedTuple):
    """Something to be tried: what it does, and the size of the file."""

    task: Callable[[], Verdict]
    size: int


class Result(NamedTuple):
    """What became of it, and the bytes that it reserved."""

    verdict: Verdict
    used: int

    @property
    def is_failure(self) -> bool:
        return self.verdict.kind not in (REFUSED, PREDICTED)


def bound(size: int) -> int:
    """Bytes that opening and using a file of this size may reserve."""
    return min(MOST, LEAST + TIMES * size)


def attempt_all(attempts: Sequence[Attempt]) -> list[Result]:
    """Try all of them; the ones that fail, each in a process of its own."""
    done: list[Result] = []
    while len(done) < len(attempts):
        found = _in_fork(attempts[len(done) :])
        good = [result for result in found if not result.is_failure]
        done += good
        if len(good) == len(found):
            continue
        failure, first = found[-1], attempts[len(done) : len(done) + 1]
        alone = _in_fork(first)[0] if good else failure
        if not alone.is_failure and failure.verdict.kind in ("signal", "exit"):
            text = f"only after the {len(good)} files before it: {failure.verdict.detail}"
            alone = Result(Verdict("signal", text), 0)
        done.append(alone)
    return done


def _in_fork(attempts: Sequence[Attempt]) -> list[Result]:
    """Results up to the first failure, in one process; there is at least one."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        os.close(reader)
        _child(attempts, writer)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        lines = file.read().splitlines()
    status = os.waitpid(pid, 0)[1]
    found = []
    for line, attempt in zip(lines, attempts, strict=False):
        kind, detail, used = json.loads(line)
        if kind in (REFUSED, PREDICTED) and used > bound(attempt.size):
            text = f"{used / MB:.0f} MB reserved for a file of {attempt.size} bytes ({kind})"
            kind, detail = "memory", text
        found.append(Result(Verdict(kind, detail), used))
        if found[-1].is_failure:
            return found
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        verdict = Verdict("signal", signal.Signals(number).name)
        if number in (signal.SIGPROF, signal.SIGALRM):
            verdict = Verdict("hang", f"more than {SECONDS} s of the processor")
        found.append(Result(verdict, 0))
    elif len(found) < len(attempts):
        text = f"the process ended with code {os.WEXITSTATUS(status)}"
        found.append(Result(Verdict("exit", text), 0))
    return found


def _child(attempts: Sequence[Attempt], writer: int) -> None:
    """Never return."""
    try:
        before = _reserved("VmSize")
        resource.setrlimit(resource.RLIMIT_AS, (before + CEILING, before + CEILING))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for number in (signal.SIGPROF, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        for attempt in attempts:
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(PATIENCE)
            try:
                verdict = attempt.task()
            except BaseException as error:
                verdict = Verdict(type(error).__name__, said(error))
            if GUARD.seen:
                verdict = Verdict("action", GUARD.seen[0])
            line = json.dumps([*verdict, _reserved("VmPeak") - before])
            os.write(writer, line.encode() + b"\n")
            if verdict.kind not in (REFUSED, PREDICTED):
                break
    finally:
        os._exit(0)


def _reserved(name: str) -> int:
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith(name + ":"))
    return int(line.split()[1]) * 1024
