"""Tables that are the same at every point: promises, candidates, features that make doubtful."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, isfinite
from typing import Any, NamedTuple

from rejo.report._format import (
    BATCH,
    NONE,
    SPACE,
    amount,
    clean,
    fixed,
    money_places,
    percent,
    ratio,
    to_units,
    whole,
)

MOST = 12  # features in the table
OF = {"class": "true class", "decision": "decided class", "group": "group"}
WHAT = {
    "rejection_rate": "Cases that go to review, of all cases",
    "error_rate": "Wrong decisions, of all cases",
    "accepted_error_rate": "Wrong decisions, of the decided cases",
    "mean_cost": "Mean cost of a case",
}
KEYS = {"promise", "assumption", "rate", "by", "value", "target", "bound", "confidence", "n_cases"}


class Promise(NamedTuple):
    """A promise in a sentence, and its assumption in another."""

    promise: str
    assumption: str


class PromiseRow(NamedTuple):
    """A promise about one class or group."""

    value: str
    target: str  # what was asked for
    bound: str  # what the calibration cases prove
    n_cases: str


class PromiseTable(NamedTuple):
    """Promises of one kind, about several classes or groups."""

    of: str
    caption: str
    rows: list[PromiseRow]
    assumption: str


class Promises(NamedTuple):
    """All promises; groups without one, whose cases all go to review."""

    sentences: list[Promise]
    tables: list[PromiseTable]
    sent_to_review: list[str]
    together: str  # how sure it is that all of them hold; empty if there is one, or nobody knows
    assumption: str  # of all promises, if it is the same


def read_promises(promises: Iterable[Any], sent_to_review: Sequence[Any]) -> Promises | None:
    """Read sentences, dicts or guarantees; several of one kind become a table."""
    if isinstance(promises, str | Mapping):
        raise TypeError(f"promises must be a list of promises; got {promises!r}.")
    found = [_read(promise) for promise in promises]
    groups = [clean(name) for name in sent_to_review]
    if not (found or groups):
        return None
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for promise in found:
        kinds.setdefault(_kind(promise), []).append(promise)
    sentences, tables = [], []
    assumption = _shared(found)
    if assumption:
        for one in found:
            one["assumption"] = ""
    for kind, alike in kinds.items():
        if kind and len(alike) > 1:
            tables.append(_table(alike))
        else:
            sentences += [Promise(one["promise"], one.get("assumption", "")) for one in alike]
    return Promises(sentences, tables, groups, _together(found), assumption)


def _read(promise: Any) -> dict[str, Any]:
    if isinstance(promise, str):
        return {"promise": clean(promise, None)}
    if not isinstance(promise, Mapping):
        return _read(_from_guarantee(promise))
    given = {key: promise[key] for key in KEYS & promise.keys() if promise[key] is not None}
    if "promise" not in given:
        raise ValueError(f"promises must have a sentence under 'promise'; got {dict(promise)!r}.")
    if given.get("by", "class") not in OF or given.get("rate", "error_rate") not in WHAT:
        raise ValueError(
            f"promises must be by {', '.join(OF)} and about {', '.join(WHAT)}; got "
            f"{dict(promise)!r}."
        )
    texts = {key: clean(given[key], None) for key in ("promise", "assumption") if key in given}
    return given | texts


def _from_guarantee(guarantee: Any) -> dict[str, Any]:
    from rejo.selection import promise

    names = KEYS - {"promise"}
    found = {name: getattr(guarantee, name) for name in names if hasattr(guarantee, name)}
    return found | {"promise": promise(guarantee)}


def _kind(promise: dict[str, Any]) -> tuple[Any, ...]:
    """What a promise has in common with those in the same table; empty if it stands alone."""
    if not {"by", "value", "bound"} <= promise.keys():
        return ()
    return tuple(promise.get(key) for key in ("by", "rate", "confidence", "assumption"))


def _shared(promises: list[dict[str, Any]]) -> str:
    said = {promise.get("assumption", "") for promise in promises}
    return str(said.pop()) if len(promises) > 1 and len(said) == 1 else ""


def _together(promises: list[dict[str, Any]]) -> str:
    """Guarantees of one model hold together with the confidence of each."""
    sure: set[Any] = {promise.get("confidence") for promise in promises}
    if len(promises) < 2 or len(sure) > 1 or None in sure:
        return ""
    return f"All promises hold together with a confidence of {ratio(100 * sure.pop())}{SPACE}%."


def _table(promises: list[dict[str, Any]]) -> PromiseTable:
    first = promises[0]
    of = OF[first["by"]]
    caption = f"{WHAT.get(first.get('rate', ''), 'At most')}, by {of}."
    write = amount if first.get("rate") == "mean_cost" else _at_most

    def limit(promise: dict[str, Any], key: str) -> str:
        value = float(promise.get(key, "nan"))
        return write(value) if isfinite(value) else NONE

    rows = [
        PromiseRow(
            clean(promise["value"]),
            limit(promise, "target"),
            limit(promise, "bound"),
            whole(int(promise["n_cases"])) if "n_cases" in promise else NONE,
        )
        for promise in promises
    ]
    return PromiseTable(of, caption, rows, first.get("assumption", ""))


def _at_most(rate: float) -> str:
    """A limit, rounded up: what is shown must hold, too."""
    return f"{fixed(ceil(1000 * rate - 1e-9), 1)}{SPACE}%"


class Candidate(NamedTuple):
    """A row of the table."""

    method: str
    log_loss: str  # empty if it is unknown
    cost: str  # of 1,000 cases
    limits: str  # of its interval; empty if they are unknown
    chosen: bool


def read_tried(rows: Sequence[Mapping[str, Any]], highest_price: float) -> list[Candidate]:
    """Candidates in the order in which they are given, as texts."""
    places = money_places(highest_price)

    def amount(cost: float) -> str:
        return fixed(to_units(BATCH * cost, places), places)

    found = []
    for row in rows:
        cost, loss = float(row["cost"]), float(row.get("log_loss", "nan"))
        if not (isfinite(cost) and cost >= 0):
            raise ValueError(
                f"tried must have costs that are not negative; got {cost!r} for {row['method']!r}."
            )
        limits = " to ".join(amount(float(x)) for x in (row.get("low"), row.get("high")) if x)
        shown = f"{loss:.4f}" if isfinite(loss) else ""
        chosen = bool(row.get("chosen", False))
        found.append(Candidate(clean(row["method"]), shown, amount(cost), limits, chosen))
    return found


class PullRow(NamedTuple):
    """A row of the table."""

    feature: str
    share: str  # of the ambiguous reviews that have it among their strongest pulls
    width: str  # of the bar
    where: str  # where the most reviews are, and how many; empty if unknown
    rate: str  # of reviews there, and of all cases


def read_doubtful(features: Iterable[Any]) -> list[PullRow]:
    """Sort the features by their share; only the first few are shown."""
    rows = [_row_of(feature) for feature in features]
    for row in rows:
        if "feature" not in row or not 0 <= float(row.get("share", -1)) <= 1:
            raise ValueError(
                f"doubtful must have a 'feature' and a 'share' from 0 to 1 in each row; got "
                f"{row!r}."
            )
    rows.sort(key=lambda row: -float(row["share"]))
    return [_row(row) for row in rows[:MOST] if float(row["share"]) > 0]


def _row_of(feature: Any) -> dict[str, Any]:
    if isinstance(feature, Mapping):
        return dict(feature)
    if not hasattr(feature, "_asdict"):
        raise TypeError(f"doubtful must have dicts or named tuples; got {type(feature).__name__}.")
    return dict(feature._asdict())


def _row(row: Mapping[str, Any]) -> PullRow:
    share, where, rate = float(row["share"]), clean(row.get("where") or ""), ""
    if where and row.get("reviewed") is not None and row.get("usual") is not None:
        rate = f"{percent(float(row['reviewed']))} against {percent(float(row['usual']))}"
    if where and row.get("cases") is not None:
        where = f"{where} ({whole(int(row['cases']))} cases)"
    return PullRow(clean(row["feature"]), percent(share), f"{100 * share:.1f}%", where, rate)
