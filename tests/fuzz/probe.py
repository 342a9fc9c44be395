"""What is done with a model file, and what may come of it.

``probe`` opens a file, inspects it, and lets the model decide ordinary and extreme cases.  It
returns a verdict.  A file is harmless if it is refused with a ModelFileError, or if every answer is
a class or a review.  An error about the cases is nobody's fault if the good model raises it too.
"""

from __future__ import annotations

import _posixsubprocess
import contextlib
import io
import os
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from rejo.cli import main
from rejo.estimators import UnknownScoreError
from rejo.persistence import ModelFileError, load
from tests.fuzz.zoo import Animal

MOST_FEATURES = 10_000
REFUSED, PREDICTED = "refused", "predicted"  # the good ones
METHODS = ("judge", "predict", "predict_proba")
# Cases of which a model may complain: one with large weights, or around another classifier.
STRANGE = ("1e+300", "-1e+300", "nan")
# What no file may cause: other code, files, processes or threads.
FORBIDDEN = (
    *("subprocess.", "os.fork", "os.exec", "os.posix_spawn", "os.system", "os.remove", "os.rename"),
    *("socket.", "shutil.", "tempfile.", "ctypes.dlopen", "pickle.find_class"),
    *("_thread.start_new_thread", "sqlite3.", "urllib.", "http."),
)


class Verdict(NamedTuple):
    """What became of a file."""

    kind: str  # "refused", "predicted", or the kind of failure
    detail: str = ""


class Cases(NamedTuple):
    """Cases that a model is asked about, and which methods the good model answers for them."""

    name: str
    X: Any
    fails: frozenset[str]  # methods with which the good model raises an error


def cases_for(animal: Animal) -> list[Cases]:
    """Ordinary cases and extreme ones, with what the good model makes of them."""
    found = []
    for name, X in _variants(animal.X):
        fails = set()
        for method in METHODS:
            call = getattr(animal.model, method, None)
            if call is None:
                continue
            with _quiet():
                try:
                    call(X)
                except Exception:
                    fails.add(method)
        found.append(Cases(name, X, frozenset(fails)))
    return found


def _variants(X: Any) -> list[tuple[str, Any]]:
    if isinstance(X, pd.DataFrame):
        numbers = X.select_dtypes("number").columns
        others = X.columns.difference(numbers)
        found = [("usual", X)]
        found += [
            (f"{value:g}", X.head(3).assign(**dict.fromkeys(numbers, value)))
            for value in (0.0, 1e300, np.nan)
        ]
        words = X.head(3).assign(**dict.fromkeys([c for c in others if c != "when"], "mauve"))
        return [*found, ("new words", words)]
    found = [("usual", X)]
    for value in (0.0, 1e6, 1e300, -1e300, np.nan):
        filled = np.full((2, X.shape[1]), value)
        found.append((f"{value:g}", csr_matrix(filled) if issparse(X) else filled))
    return found


def probe(path: Path, cases: list[Cases]) -> Verdict:
    """Try a file; to be called in a process of its own, where nothing else happens after it."""
    GUARD.turn_on()
    for form in ((), ("--json",)):
        failure = _inspect(path, *form)
        if failure is not None:
            return failure
    with _quiet():
        try:
            model = load(path)
        except ModelFileError as error:
            return _refused(error)
        except Exception as error:
            return Verdict(f"{type(error).__name__} in load", said(error))
        for entry in cases:
            failure = _ask(model, entry)
            if failure is not None:
                return failure
    return Verdict(PREDICTED)


def _refused(error: Exception) -> Verdict:
    """A refusal, unless it only hides that memory ran out."""
    link: Any = error
    while link is not None:
        if isinstance(link, MemoryError):
            return Verdict("memory", f"MemoryError behind a refusal: {error}")
        link = link.__context__
    return Verdict(REFUSED, str(error).partition(": ")[2])


def _inspect(path: Path, *form: str) -> Verdict | None:
    """``rejo inspect``, as text or JSON: success, or exit code 4 and one line; all printable."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), _quiet():
        try:
            code = main(["inspect", str(path), *form])
        except Exception as error:
            return Verdict(f"{type(error).__name__} in inspect", said(error))
    lines = err.getvalue().splitlines()
    if code not in (0, 4) or (code == 4 and len(lines) != 1):
        text = f"exit {code} with {len(lines)} lines: {' '.join(lines)[:300]}"
        return Verdict(f"inspect {' '.join(form)}".strip(), text)
    for line in [*out.getvalue().split("\n"), *lines]:
        if not line.isprintable():
            return Verdict("steers the terminal", ascii(line)[:300])
    return None


def _ask(model: Any, entry: Cases) -> Verdict | None:
    X, excused = fitting(model, entry.X)
    excused |= entry.name in STRANGE
    for method in METHODS:
        call = getattr(model, method, None)
        if call is None or method in entry.fails:
            continue
        try:
            answer = call(X)
            problem = _problem(model, method, answer, X.shape[0])
        except Exception as error:
            unknown = isinstance(error, UnknownScoreError) and entry.name != "usual"
            if unknown or (excused and isinstance(error, ValueError)):
                return None
            return Verdict(f"{type(error).__name__} in {method}", f"{entry.name}: {said(error)}")
        if problem:
            return Verdict("answer", f"{method}, {entry.name}: {problem}")
    return None


def fitting(model: Any, X: Any) -> tuple[Any, bool]:
    """Cases with as many features as the model says it takes.

    The columns of a table, or millions of them, are not made up; the second value says whether the
    model wants others than these, so that a complaint about them is to be expected.
    """
    p = getattr(model, "n_features_in_", X.shape[1])
    if isinstance(X, pd.DataFrame):
        names = getattr(model, "feature_names_in_", None)
        return X, p != X.shape[1] or (names is not None and list(names) != list(X.columns))
    if p == X.shape[1] or type(p) is not int or p < 1:
        return X, False
    if p > MOST_FEATURES:
        return X, True
    if issparse(X):
        wide = X.copy()
        wide.resize((X.shape[0], p))
        return wide, False
    return np.resize(X, (len(X), p)), False


def _problem(model: Any, method: str, answer: Any, n: int) -> str | None:
    """Say what is wrong with an answer."""
    K = len(model.classes_)
    if method == "judge":
        found, forced = np.asarray(answer.decision), np.asarray(answer.forced)
        if found.shape != (n,) or forced.shape != (n,):
            return f"shape {found.shape}"
        if not ((found >= -1) & (found < K) & (forced >= 0) & (forced < K)).all():
            return "a decision that is not a class"
    elif method == "predict":
        if np.shape(answer) != (n,):
            return f"shape {np.shape(answer)}"
        labels = set(map(repr, model.outputs().tolist())) if hasattr(model, "outputs") else None
        if labels is not None and not set(map(repr, np.asarray(answer).tolist())) <= labels:
            return "a label that is not a class"
    else:
        if np.shape(answer) != (n, K):
            return f"shape {np.shape(answer)}"
        if not np.isfinite(answer).all():
            return "posteriors that are not finite"
    return None


@contextlib.contextmanager
def _quiet() -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def said(error: BaseException) -> str:
    """Where it was raised, and what it says."""
    place: Any = error.__traceback__
    while place.tb_next is not None:
        place = place.tb_next
    file = os.path.basename(place.tb_frame.f_code.co_filename)
    return f"{file}:{place.tb_lineno} {str(error)[:200]}"


class Guard:
    """Records and forbids what no model file may cause; once on, it stays on in the process."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self._on = False

    def turn_on(self) -> None:
        if self._on:
            return
        self._on = True
        sys.addaudithook(self._hook)
        # It has no event of its own.
        _posixsubprocess.fork_exec = lambda *args: self._forbid("fork_exec", args)

    def _hook(self, event: str, args: Any) -> None:
        writes = event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+")
        if writes or event.startswith(FORBIDDEN):
            self._forbid(event, args)

    def _forbid(self, event: str, args: Any) -> None:
        self.seen.append(f"{event} {str(args)[:80]}")
        raise PermissionError(event)


GUARD = Guard()
