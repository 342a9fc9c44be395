"""A model card in Markdown: what a model decides, what was promised, and how it is watched."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rejo._io import one_line, percent
from rejo.book.counts import count_cases
from rejo.book.store import Book
from rejo.prices import describe_prices
from rejo.scoring import Opened
from rejo.selection import describe_promises
from rejo.tables import describe_kinds

MARKS = re.compile(r"([\\`*_{}\[\]<>#|!~])")


def model_card(opened: Opened, book: Book | None = None) -> str:
    """Return the card of a model, with what a book says of its use."""
    found, table = opened.found, opened.table
    target = table.get("target")
    what = f"the column {_plain(target)!r} of a table" if target else "the class of a case"
    classes = ", ".join(map(_plain, opened.classes))
    parts = {
        "What it decides": [
            f"It decides {what}: {classes}. Cases that it is not sure of go to a person "
            f"({_plain(opened.doubt_label)}).",
        ],
        "Data": _data(opened),
        "Prices": _prices(opened),
        "What to expect": [_plain(getattr(opened.model, "summary", lambda: "Not known.")())],
        "Promises": _promises(opened),
        "Groups": _groups(opened),
        "Limits of use": [
            "It was tested on cases like those of training. Rows with words or numbers that were "
            "not in training go to review, and so does a file with a column that is not as in "
            "training; other changes of the world show only in a comparison with true classes.",
            *map(_plain, getattr(opened.model, "cautions", list)()),
        ],
        "How it is watched": _watched(found.payload_hash, book),
        "The file": [
            f"Saved {found.date} by {', '.join(map(' '.join, found.versions.items()))}; "
            f"{found.privacy.lower()}.",
            f"Hash of the model (SHA-256): `{found.payload_hash}`.",
            f"Hash of the data (SHA-256): `{found.data_hash}`." if found.data_hash else "",
            _plain(found.notes),
        ],
    }
    lines = [f"# Model card: {_plain(found.path.name)}"]
    for title, said in parts.items():
        lines += ["", f"## {title}", "", "\n\n".join(filter(None, said))]
    return "\n".join(lines) + "\n"


def _plain(text: Any) -> str:
    """Return text on a line that Markdown shows as it is."""
    return MARKS.sub(r"\\\1", one_line(str(text)))


def _table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = [header, ["---"] * len(header), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _data(opened: Opened) -> list[str]:
    kinds, table = opened.encoder.kinds_, opened.table
    roles = {"id": "names the cases", "groups": "says which rows belong together",
             "time": "orders them"}  # fmt: skip
    said = [f"The column {_plain(table[role])!r} {what}." for role, what in roles.items()
            if table.get(role)]  # fmt: skip
    return [
        f"Columns that it uses: {len(kinds)}. "
        + " ".join(f"{_plain(line)}." for line in describe_kinds(kinds)),
        " ".join(said),
    ]


def _prices(opened: Opened) -> list[str]:
    prices = opened.table.get("prices")
    if prices is None:
        return ["None were given: the operating point follows from the limits that were asked for."]
    if isinstance(prices, dict):
        return [_plain(describe_prices(prices, opened.classes))]
    rows = [[name, *(f"{price:,g}" for price in row)]
            for name, row in zip(opened.classes, prices, strict=True)]  # fmt: skip
    header = ["true class", *(f"decided as {_plain(name)}" for name in opened.classes), "review"]
    return [_table(header, rows)]


def _promises(opened: Opened) -> list[str]:
    promised = list(map(_plain, describe_promises(getattr(opened.model, "guarantees_", ()))))
    if not promised:
        return ["None. The rates above are estimates; `rejo train --confidence` proves limits."]
    return [promised[0], f"They rest on this: {promised[1]}"]


def _groups(opened: Opened) -> list[str]:
    policy, by = getattr(opened.model, "policy_", None), opened.table.get("by")
    if policy is not None:
        return [f"It promises by {_plain(opened.table.get('group', 'group'))!r}: "
                f"{', '.join(map(_plain, policy.names))}. Cases of other groups go to "
                "review."]  # fmt: skip
    if by is not None:
        return [f"Rates were reported by {_plain(by)!r}, which is not a feature. Nothing is "
                "promised by group."]  # fmt: skip
    return ["Rates were not compared between groups of people."]


def _watched(model: str, book: Book | None) -> list[str]:
    columns = ("Each new file is compared with training, column by column, before a case is "
               "decided.")  # fmt: skip
    if book is None:
        return [columns, "No case book was given: decisions and answers are not recorded here."]
    cases, answers = book.cases(), book.answers()
    own = cases[cases["model"] == model]
    if not len(own):
        return [columns, f"The case book {_plain(book.path.name)} has no case of this model."]
    counts = count_cases(own, answers, {})["month"]
    drawn = own[own["drawn"] & own["truth"].notna()]
    wrong = (drawn["truth"] != drawn["forced"]).to_numpy()
    weight = drawn["weight"].to_numpy()
    said = [
        columns,
        f"Its decisions are in the case book {_plain(book.path.name)}: {len(own):,} cases in "
        f"{own['batch'].nunique():,} batches, the last of {own['time'].max()[:10]}.",
        _table(list(counts.columns.str.replace("value", "month")), counts.to_numpy().tolist()),
    ]
    if len(drawn):
        rate = float(np.average(wrong, weights=weight))
        said.append(
            f"Audits of decided cases: {len(drawn):,} answered, {int(wrong.sum()):,} of them "
            f"wrong; weighted as they were drawn, {percent(rate)} of the decided cases."
        )
    else:
        said.append("No audited case has been answered, so nobody has seen how many decisions "
                    "are wrong.")  # fmt: skip
    return said
