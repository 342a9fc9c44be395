"""What the monitor says of a model, in numbers: the page and the command show no others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln

from rejo._errors import RejoError
from rejo._io import percent
from rejo._typing import Floats
from rejo.book.alarms import RECENT, Series, watch
from rejo.book.audit import Audit, audit
from rejo.book.store import Book
from rejo.book.timeline import Timeline, timeline
from rejo.report import fill

TITLES = {
    "error": "Wrong, of the decided", "cost": "Cost of a decided case", "review": "Sent to review",
    "novel": "Unlike the training cases", "column": "Cells of {} that differ from training",
    "promise": "Promise: {}",
}  # fmt: skip
SHORT = {
    "error": "errors", "cost": "costs", "review": "reviews", "novel": "novel cases",
    "column": "column {}", "promise": "a promise ({})",
}  # fmt: skip
ADVICE = {
    "error": "Look at the wrong decisions since then. Review more, with a lower limit or budget, "
    "until a model trained on newer cases is better (rejo update).",
    "cost": "Look at the expensive decisions since then. Decide at the prices of today, or train "
    "again on newer cases (rejo update).",
    "review": "Compare the cases in review with earlier ones, and the columns that moved; make "
    "room for these reviews, or train again on newer cases (rejo update).",
    "novel": "Look at the novel cases: a new kind of case needs answers before a model can learn "
    "it (rejo update).",
    "column": "Ask where the column comes from and what changed: a unit, a form, a filter. If the "
    "cells are right, train again on newer cases (rejo update).",
    "promise": "Do not rely on this promise any more: review more, and train again with the limit "
    "on newer cases (rejo update).",
}
MOST_COLUMNS = 6  # with a picture; the others are in the table
MOST_LISTED, LEAST = 10, 0.005  # of the columns without an alarm, those with some evidence
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 480.0, 180.0, 52.0, 26.0, 12.0  # of a picture
SMOOTH = 4  # weeks of the mean that is drawn as a line


def monitor(
    book: Book, *, level: float = 0.05, since: str | None = None, model: str | None = None
) -> dict[str, Any]:
    """Return what has changed since training, as JSON can hold it.

    Parameters
    ----------
    book : Book
        The case book.
    level : float, default=0.05
        Chance that there is ever a false alarm about the model.
    since : str or None, default=None
        Only cases decided from this day on count, as after an alarm that was dealt with.
    model : str or None, default=None
        Hash of the model; by default that of the latest batch.
    """
    batches = book.batches()
    batches = batches[batches["n"] > 0]
    if not len(batches):
        raise RejoError(
            "the book has no cases", where=str(book.path), parameter="book",
            remedy="`rejo predict --book` adds them.",
        )  # fmt: skip
    hash = model or batches.sort_values("time", kind="stable")["model"].iloc[-1]
    cases = book.cases()
    cases, batches = (part[part["model"] == hash] for part in (cases, batches))
    if since is not None:
        cases, batches = (part[part["time"] >= since] for part in (cases, batches))
        if not len(cases):
            raise RejoError(
                f"the model has decided no case since {since}", where=str(book.path),
                parameter="since", remedy="Name an earlier day.",
            )  # fmt: skip
    cases = cases.drop_duplicates("id", keep="last")  # a case that is decided again counts once
    batches = batches[batches["batch"].isin(cases["batch"])]
    about = book.models()[hash]
    with book.blamed():
        weeks = timeline(cases, batches, about)
        found = describe(weeks, about, level)
        said = {
            one["column"]: str(one["said"])
            for batch in batches["columns"]
            for one in batch
            if one["said"]
        }
    for one in found["series"]:
        one["said"] = said.get(one["name"], "") if one["kind"] == "column" else ""
    return {
        "book": book.path.name, "model": hash, "model_name": about["name"],
        "batches": len(batches), **found,
    }  # fmt: skip


def describe(cases: Timeline, about: Mapping[str, Any], level: float = 0.05) -> dict[str, Any]:
    """Return the alarms, rates by week and audits of one model."""
    watched = watch(cases, about, level)
    top = None if about.get("prices") is None else float(np.max(about["prices"]))
    of = {"error": audit(cases)}
    if top:
        of["cost"] = audit(cases, of="paid", scale=top)
    n_decided, n_drawn = int(cases.decided.sum()), int(cases.drawn.sum())
    counted = np.isfinite(cases.known)
    return {
        "level": level,
        "alarm": any(one.raised is not None for one in watched),
        "days": [cases.day(week) for week in range(cases.n_weeks)],
        "n_cases": len(cases.week),
        "n_decided": n_decided,
        "n_audited": n_drawn,
        "n_audited_known": int((counted & cases.drawn).sum()),
        "n_known": int(counted.sum()),
        "audit": {name: _audited(one) for name, one in of.items()},
        "series": [_series(one, cases, of, level) for one in watched],
    }


def _audited(found: Audit) -> dict[str, Any]:
    last = {name: float(values[-1]) for name, values in found._asdict().items()}
    return last | {"by_week": {name: getattr(found, name).tolist() for name in Audit._fields[:3]}}


def _series(one: Series, cases: Timeline, of: Mapping[str, Audit], level: float) -> dict[str, Any]:
    raised, begun = one.raised, one.begun
    changed = one.log_capital.max(initial=0.0) > 0
    low = high = np.full(cases.n_weeks, np.nan)
    if one.kind in of:
        low, high = of[one.kind].low, of[one.kind].high
        unknown = np.isnan(of[one.kind].rate)
        low, high = (np.where(unknown, np.nan, end) for end in (low, high))
    elif one.kind in ("review", "novel"):
        low, high = share_limits(np.round(one.rate * one.n).cumsum(), one.n.cumsum(), level)
    return {
        "kind": one.kind,
        "name": one.name,
        "title": TITLES[one.kind].format(one.name),
        "expected": one.expected,
        "alarm": raised is not None,
        "raised": None if raised is None else cases.day(raised),
        "since": None if raised is None else cases.day(begun),
        "since_week": None if raised is None else begun,
        "before": one.mean(0, begun) if raised is not None else None,
        "recent": one.mean(begun) if raised is not None else one.mean(-RECENT),
        "n": float(one.n[begun:].sum() if raised is not None else one.n[-RECENT:].sum()),
        "evidence": float(np.clip(one.log_capital.max() / one.needed, 0.0, 1.0))
        if changed
        else 0.0,
        "do": "" if raised is None else ADVICE[one.kind],
        "rate": one.rate.tolist(),
        "n_by_week": one.n.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def share_limits(some: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Limits of a share that hold at every look: ``some`` (T,) of ``n``, both cumulated.

    Shares to which a mixture of all others, with Jeffreys' weights, prefers the counts by less than
    ``1 / level`` (Robbins 1970).
    """
    mixed = betaln(0.5 + some, 0.5 + n - some) - betaln(0.5, 0.5) + np.log(level)
    rate = np.divide(some, n, out=np.full(len(n), 0.5), where=n > 0)

    def outside(share: Floats) -> Any:
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(some > 0, some * np.log(share), 0.0)
            log = log + np.where(n > some, (n - some) * np.log1p(-share), 0.0)
        return log < mixed

    ends = []
    for end in (0.0, 1.0):
        inner, outer = rate.copy(), np.full(len(n), end)
        for _ in range(40):
            middle = (inner + outer) / 2
            out = outside(middle)
            inner, outer = np.where(out, inner, middle), np.where(out, middle, outer)
        ends.append(outer)
    return ends[0], ends[1]


# ---- the page -----------------------------------------------------------------------------------


class Picture(NamedTuple):
    """Points of a picture, in its own units."""

    line: list[str]  # pieces of the mean of some weeks
    dots: list[tuple[float, float, float]]  # weeks, with a radius by the number of cases
    band: list[str]
    expected: float | None
    since: float | None
    ticks: list[tuple[float, str]]  # of the rate
    days: list[tuple[float, str, str]]  # place, text, anchor


def page(found: Mapping[str, Any]) -> str:
    """Return the page of :func:`monitor`."""
    shown = [
        one for one in found["series"] if one["kind"] not in ("column", "promise") and one["n"]
    ]
    moved = [one for one in listed(found)[0] if one["kind"] == "column"]
    moved = [one for one in moved if one["alarm"] or one["evidence"] > 0.2][:MOST_COLUMNS]
    template, style = (
        (files("rejo.book") / f"monitor.{ending}").read_text("utf-8") for ending in ("html", "css")
    )
    rows, more = listed(found)
    return fill(
        template, more_style=style, found=found, rows=rows, more=more, headline=headline(found),
        pictures=[(one, draw(one, found["days"])) for one in [*shown, *moved]], amount=amount,
        percent=percent, alarms=[one for one in found["series"] if one["alarm"]],
    )  # fmt: skip


def listed(found: Mapping[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """Return what a table shows, columns by evidence, and how many columns it leaves out."""
    kept = [one for one in found["series"] if one["kind"] != "column" or one["alarm"]]
    rest = [one for one in found["series"] if one not in kept]
    some = [one for one in rest if one["evidence"] > LEAST]
    some = sorted(some, key=lambda one: -one["evidence"])[:MOST_LISTED]
    return [*kept, *some], len(rest) - len(some)


def headline(found: Mapping[str, Any]) -> str:
    """Say in a sentence or two how things are."""
    base = f"{found['n_cases']:,} cases since {found['days'][0]}"
    alarms = [one for one in found["series"] if one["alarm"]]
    if not alarms:
        nothing = "nothing has changed beyond chance" if found["series"] else "nothing is watched"
        unknown = "" if found["audit"]["error"]["n_cases"] else "; errors are not known yet"
        return f"{base}: {nothing}{unknown}."
    first = min(one["since"] for one in alarms)
    what = [SHORT[one["kind"]].format(one["name"]) for one in alarms]
    more = f" and {len(what) - 4} more" if len(what) > 4 else ""
    return f"{base}. Changed, since about {first}: {', '.join(what[:4])}{more}."


def amount(value: float | None, kind: str) -> str:
    """Write a rate, or a cost."""
    if value is None or not np.isfinite(value):
        return "-"
    return f"{value:,.4g}" if kind == "cost" else percent(value)


def draw(one: Mapping[str, Any], days: list[str]) -> Picture:
    """Return the picture of a series."""
    rate, low, high, n = (
        np.asarray(one[name], np.float64) for name in ("rate", "low", "high", "n_by_week")
    )
    T = len(rate)
    there, banded = np.isfinite(rate), np.isfinite(low) & np.isfinite(high)
    total = np.convolve(np.where(there, n * np.nan_to_num(rate), 0.0), np.ones(SMOOTH))[:T]
    many = np.convolve(np.where(there, n, 0.0), np.ones(SMOOTH))[:T]
    mean = np.divide(total, many, out=np.full(T, np.nan), where=there & (many > 0))
    usual = there & (n >= 0.2 * np.median(n[there])) if there.any() else there
    settled = high[banded][len(high[banded]) // 4 :]
    top = _round_up(1.1 * max([*rate[usual], one["expected"] or 0.0, *settled[:1], 1e-6]))
    size = np.sqrt(n / max(n[there].max(initial=1.0), 1e-9))

    def x(week: Any) -> float:
        return round(LEFT + (WIDTH - LEFT - TOP) * (week + 0.5) / T, 1)

    def y(value: float) -> float:
        share = min(max(value / top, 0.0), 1.0)
        return round(HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share, 1)

    def pieces(mask: Any) -> list[list[int]]:
        weeks = np.flatnonzero(mask)
        return [part.tolist() for part in np.split(weeks, np.flatnonzero(np.diff(weeks) > 1) + 1)]

    line = [" ".join(f"{x(w)},{y(mean[w])}" for w in part) for part in pieces(there) if part]
    band = [
        " ".join([*(f"{x(w)},{y(high[w])}" for w in part),
                  *(f"{x(w)},{y(low[w])}" for w in reversed(part))])
        for part in pieces(banded) if part
    ]  # fmt: skip
    marks = sorted({round(i * (T - 1) / 3) for i in range(4)}) if T > 4 else [0]
    named = [
        (x(w), days[w], "start" if w == 0 else "end" if w == T - 1 else "middle") for w in marks
    ]
    return Picture(
        line=line,
        dots=[(x(w), y(rate[w]), round(0.8 + 1.8 * size[w], 1)) for w in np.flatnonzero(there)],
        band=band,
        expected=None if one["expected"] is None or one["kind"] == "column" else y(one["expected"]),
        since=None if one["since_week"] is None else x(one["since_week"] - 0.5),
        ticks=[(y(top * i / 2), amount(top * i / 2, one["kind"])) for i in range(3)],
        days=named,
    )


def _round_up(value: float) -> float:
    """Return the next number of 1, 2, 4, 5, 6, 8 or 10 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(step * power for step in (1, 2, 4, 5, 6, 8, 10) if step * power >= value))
