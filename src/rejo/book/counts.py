"""What the book holds, counted: by model, reviewer, class and month."""

from __future__ import annotations

from typing import Any

COUNTED = ("cases", "decided", "reviewed", "audited", "answered", "overridden", "wrong")


def count_cases(cases: Any, answers: Any, names: dict[str, str]) -> dict[str, Any]:
    """Return frames of counts, by what they are counted by.

    ``cases`` and ``answers`` are those of a book, and ``names`` what models are called.  A case is
    *overridden* if a reviewer gave another class than the model suggests, and *wrong* if it was
    decided and its true class is another.
    """
    model = cases["model"].map(lambda key: f"{names.get(key, '')} {key[:8]}".strip())
    frame = _marks(cases, cases["review"])
    by = {"model": model, "class": cases["forced"], "month": cases["time"].str[:7]}
    found = {name: _counted(frame, key) for name, key in by.items()}
    said = answers[answers["kind"] == "review"].drop_duplicates(["id", "batch", "who"], keep="last")
    each = cases.merge(said[["id", "batch", "who", "class"]], on="id", suffixes=("", "_said"))
    each = each[each["batch_said"].isna() | (each["batch_said"] == each["batch"])]
    marks = _marks(each, each["class"])
    found["reviewer"] = _counted(marks, each["who_said"].replace("", "(not named)"))
    return {name: found[name] for name in ("model", "reviewer", "class", "month")}


def _marks(cases: Any, review: Any) -> Any:
    """Mark each case with what it counts as, besides a case."""
    import pandas as pd

    decided = cases["decision"].notna()
    return pd.DataFrame(
        {
            "cases": True,
            "decided": decided,
            "reviewed": ~decided,
            "audited": cases["drawn"],
            "answered": cases["truth"].notna(),
            "overridden": review.notna() & cases["forced"].notna() & (review != cases["forced"]),
            "wrong": decided & cases["truth"].notna() & (cases["truth"] != cases["decision"]),
        },
        index=cases.index,
    )


def _counted(marks: Any, by: Any) -> Any:
    return marks.astype(int).groupby(by.rename("value")).sum().reset_index()
