"""From decisions to rows of the book, and what the book keeps of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rejo._errors import RejoError
from rejo._typing import Floats
from rejo.scoring import UNSEEN, WORDS, Cases, Opened
from rejo.tables import Finding

SIZE = 100_000  # cases whose expected rates are kept: their ranges are those of the estimates


def case_rows(cases: Cases, opened: Opened, weights: Floats | None) -> Any:
    """Return ranked cases as the columns of :meth:`rejo.book.store.Batch.add`.

    ``weights`` (n,) are how many decided cases each one stands for, if some were drawn.
    """
    import pandas as pd

    rows = cases.rows
    ids = cases.names.to_pylist()
    if "" in ids:
        raise RejoError(
            f"row {cases.first + ids.index('') + 1} has no id, so no answer could be for it",
            parameter="id",
            remedy="Fill the column, or name another one.",
        )
    labels = np.array([*opened.classes, None], dtype=object)
    guess = np.isin(rows["reason"], UNSEEN)  # from a bad cell: it would mislead
    worth = np.where(guess, np.nan, rows["worth"])
    return pd.DataFrame(
        {
            "id": pd.Series(ids, dtype=object),
            "decision": labels[rows["decision"]],
            "forced": np.where(guess, None, labels[rows["forced"]]),
            "reason": np.array([*WORDS, None], dtype=object)[rows["reason"]],
            "rank": rows["rank"],
            "chance": np.where(guess, np.nan, rows["chance"]),
            "worth": worth,
            "cost": worth + _review_price(opened),
            "drawn": rows["drawn"],
            "weight": np.nan if weights is None else weights,
            "group": cases.group,
        }
    )


def _review_price(opened: Opened) -> float:
    """Price of a review: what a decision costs beyond what a review of it is worth."""
    prices = getattr(opened.model, "prices_", None)
    if prices is None:
        return 0.0
    alike = getattr(opened.model, "case_prices_", None) is None and np.ptp(prices[:, -1]) == 0
    return float(prices[0, -1]) if alike else float("nan")


def about_model(opened: Opened, id: str | None = None) -> dict[str, Any]:
    """Return what is needed later, when the model file may be gone."""
    found, model, prices = opened.found, opened.model, opened.table.get("prices")
    return {
        "classes": opened.classes,
        "prices": None if isinstance(prices, dict) else prices,
        "case_prices": prices if isinstance(prices, dict) else None,
        "id": opened.table.get("id") or id,
        "target": opened.table.get("target"),
        "operating_point": found.operating_point,
        "rates": {name: one._asdict() for name, one in opened.expect(SIZE, 0.95).items()},
        "promises": [one._asdict() for one in getattr(model, "guarantees_", ())],
        "columns": opened.encoder.learnt_,
        "date": found.date,
    }


def columns_found(counts: dict[str, list[int]], strange: Sequence[Finding]) -> list[dict[str, Any]]:
    """Return of each column its cells by the bins of training, and what was said of it."""
    said = {one.column: one._asdict() for one in strange}
    return [
        {"column": name, "degree": "", "said": "", "counts": cells} | said.get(name, {})
        for name, cells in counts.items()
    ]
