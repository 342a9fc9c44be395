"""The columns that a fitted model needs from a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rejo._errors import RejoError
from rejo.tables import TableEncoder


def encoder_of(model: Any) -> Any:
    """Return the table encoder of a model; ``None`` if it has none."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    first = model.steps[0][1] if hasattr(model, "steps") else None
    return first if isinstance(first, TableEncoder) else None


def number_columns(model: Any, path: Path) -> list[str]:
    """Return the columns of a model without a table encoder, which must all be numbers."""
    remedy = (
        "fit it in Python as make_pipeline(rejo.tables.TableEncoder(), ...) on a DataFrame and "
        "save it again, or use `rejo train`"
    )
    if (words := word_columns(model)) is not None:
        columns = f" in {', '.join(map(repr, words[:5]))}" if words else ""
        raise RejoError(
            f"{path} was fitted on words{columns} by an encoder that does not say how a table is "
            f"read: {remedy}"
        )
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise RejoError(
            f"{path} does not say which columns it needs, because it was fitted on an array "
            f"without names: {remedy}"
        )
    return list(map(str, names))


def word_columns(model: Any) -> list[str] | None:
    """Return the columns that encoders inside a fitted model take words from; None without any.

    The list is empty if they have no names.
    """
    found: list[str] = []
    any_words = False
    for part in _parts(model):
        names = getattr(part, "feature_names_in_", ())
        for j, values in enumerate(getattr(part, "categories_", ())):
            if any(isinstance(value, str) for value in values.tolist()):
                any_words = True
                found += [str(names[j])] if j < len(names) else []
    return found if any_words else None


def _parts(model: Any) -> Iterator[Any]:
    """The model and all fitted parts of it."""
    yield model
    parts = [step for _, step in getattr(model, "steps", ())]
    parts += [entry[1] for entry in getattr(model, "transformers_", ())]
    names = ("best_estimator_", "estimator_", "transformer_")
    parts += [getattr(model, name) for name in names if hasattr(model, name)]
    for part in parts:
        if not isinstance(part, str):  # "drop" or "passthrough"
            yield from _parts(part)
