"""Cases as numbers on their way to a classifier, and the feature that each number belongs to."""

import re
from collections.abc import Iterable
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from rejo._errors import RejoError
from rejo._frames import take_rows
from rejo._typing import Floats, Indices
from rejo.estimators import is_frame, library_of
from rejo.explain.insides import Insides, insides, through, trees_of
from rejo.tables import as_pandas
from rejo.typical import MOST_ROWS, Typical

MOST_COLUMNS = 10_000  # that reach the classifier
ENDS = (0.01, 0.99)  # quantiles at which numbers to remember are cut off
MARK = re.compile("<#([0-9]+)#>")  # stands for the name of a column
FEW_LEVELS = 20  # distinct values of a column, up to which they are not numbers to hide


class WhyError(RejoError):
    """A model cannot be explained as asked."""


class NumericCases(NamedTuple):
    """Cases where they are numbers for the first time at, or inside, the classifier that rejects.

    A *feature* is a column of the table, if transformers tell which column each number comes from,
    else a column of what they put out.
    """

    parts: Insides  # ``before`` leads here, ``after`` goes on
    Z: Floats  # (n, p)
    header: Any  # an empty frame like these, if they are one, else None
    names: list[str]  # (m,) of the features
    owner: Indices  # (p,) feature of each column
    source: Indices | None  # (m,) position of each feature in the table, if it comes from there

    def rebuilt(self, rows: Floats) -> Any:
        """Other rows (r, p), as a frame if the classifier takes one."""
        if self.header is None:
            return rows
        import pandas as pd

        frame = pd.DataFrame(rows, columns=self.header.columns)
        for i, (name, dtype) in enumerate(self.header.dtypes.items()):
            if isinstance(dtype, pd.CategoricalDtype):
                codes = np.clip(
                    np.nan_to_num(rows[:, i].round(), nan=-1), -1, len(dtype.categories) - 1
                )
                frame[name] = pd.Categorical.from_codes(codes.astype(np.intp), dtype=dtype)
        return frame


def as_table(X: Any) -> Any:
    """Cases as something with rows to take: an array, a sparse matrix or a frame of pandas."""
    if issparse(X):
        return X.tocsr()
    X = as_pandas(X)
    return X if is_frame(X) else np.asarray(X)


def as_numbers(parts: Insides, X: Any) -> NumericCases:
    """Send cases, as the model takes them, through its transformers until they are cases."""
    before, after = list(parts.before), list(parts.after)
    seen = as_pandas(through(before, X))
    while (Z := _dense(seen)) is None:
        if not after:
            raise WhyError(
                f"the cases reach {type(parts.scorer).__name__} as something else than numbers, "
                "so features cannot be replaced"
            )
        before.append(after.pop(0))
        seen = as_pandas(through(before[-1:], seen))
    moved = len(before) > len(parts.before)  # what is typical is known of other numbers
    typical = None if moved or parts.typical is None else parts.typical
    if typical is not None and len(typical.mean) != Z.shape[1]:
        typical = None
    parts = parts._replace(before=before, after=after, typical=typical)
    header = seen.iloc[:0] if is_frame(seen) else None
    names_in = _names_in(parts, X)
    found = None if names_in is None else traced(before, len(names_in))
    if found is None or names_in is None or len(found) != Z.shape[1]:
        names = _names_out(before, seen, Z.shape[1])
        return NumericCases(parts, Z, header, names, np.arange(Z.shape[1]), None)
    source, owner = np.unique(found, return_inverse=True)
    return NumericCases(parts, Z, header, [names_in[i] for i in source], owner, source)


def values_of(cases: NumericCases, X: Any, j: int) -> NDArray[Any]:
    """Values (n,) of a feature of cases ``X``, as they stand in the table."""
    if cases.source is None:
        return cases.Z[:, j]
    if is_frame(X):
        name = cases.names[j]
        column = X[name] if name in X.columns else X.iloc[:, cases.source[j]]
        plain = getattr(column.dtype, "kind", "O") in "biuf" and isinstance(column.dtype, np.dtype)
        return np.asarray(column.to_numpy() if plain else column.to_numpy(dtype=object))
    column = X[:, [cases.source[j]]]
    return np.asarray(column.toarray() if issparse(column) else column)[:, 0]


def typical_of(model: Any, X: Any) -> Typical | None:
    """What to remember of training cases to explain a fitted model by, without any of their rows.

    ``None`` if nothing is needed, as for trees, or known already, or if the cases are not numbers
    where they reach the classifier that rejects.
    """
    parts = insides(model)
    if parts.typical is not None or trees_of(parts) is not None:
        return None
    if (
        library_of(parts.scorer) != "sklearn"
        or getattr(parts.scorer, "kernel", None) == "precomputed"
    ):
        return None
    X = as_table(X)
    if X.shape[0] > MOST_ROWS:
        X = take_rows(X, np.sort(np.random.default_rng(0).choice(X.shape[0], MOST_ROWS, False)))
    try:
        seen = as_numbers(parts, X)
    except WhyError:
        return None
    moved = len(seen.parts.before) > len(parts.before)
    coded = seen.header is not None and any(hasattr(d, "categories") for d in seen.header.dtypes)
    return None if moved or coded else _discreet(filled(seen.Z))


def _discreet(Z: Floats) -> Typical:
    """What is typical, without the lowest and highest numbers: they may tell who was there."""
    low, high = np.quantile(Z, ENDS, axis=0)
    numbers = np.array([len(np.unique(column)) > FEW_LEVELS for column in Z.T])
    found = Typical.learn(np.where(numbers, np.clip(Z, low, high), Z))
    return found._replace(mean=np.clip(Z.mean(axis=0), found.low, found.high))


def filled(Z: Floats) -> Floats:
    """Cases with the median of the column for what is missing; 0 if all is."""
    missing = np.isnan(Z)
    if not missing.any():
        return Z
    there = np.where(missing.all(axis=0), 0.0, Z)
    return np.where(missing, np.nanmedian(there, axis=0), Z)


def _dense(seen: Any) -> Floats | None:
    """Cases as an array of floats (n, p), if they are cases."""
    if getattr(seen, "ndim", 0) != 2:
        return None
    if seen.shape[1] > MOST_COLUMNS:
        raise WhyError(
            f"{seen.shape[1]} features are too many to explain; at most {MOST_COLUMNS:,} are tried"
        )
    if issparse(seen):
        return np.asarray(seen.toarray(), dtype=np.float64)
    if is_frame(seen):
        return _dense_frame(seen)
    return np.asarray(seen, dtype=np.float64) if seen.dtype.kind in "biuf" else None


def _dense_frame(seen: Any) -> Floats | None:
    columns = []
    for i in range(seen.shape[1]):
        column = seen.iloc[:, i]
        if hasattr(column, "cat"):
            codes = column.cat.codes.to_numpy(dtype=np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
        elif getattr(column.dtype, "kind", "O") in "biuf":
            columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
        else:
            return None
    return np.column_stack(columns)


def _names_in(parts: Insides, X: Any) -> list[str] | None:
    """Names of the columns that the model takes, in its order; ``None`` if it takes no table."""
    first = next((step for step in (*parts.before, *parts.after) if step is not None), parts.scorer)
    known = getattr(first, "feature_names_in_", None)
    if known is not None:
        return [str(name) for name in known]
    if is_frame(X):
        return [name if isinstance(name, str) else f"feature {name}" for name in X.columns]
    return [f"feature {i}" for i in range(X.shape[1])] if X.ndim == 2 else None


def _names_out(before: list[Any], seen: Any, p: int) -> list[str]:
    if is_frame(seen):
        return [str(name) for name in seen.columns]
    try:
        return [str(name) for name in before[-1].get_feature_names_out()]
    except (AttributeError, IndexError, ValueError):
        return [f"feature {i}" for i in range(p)]


# ---- which column of a table each feature comes from --------------------------------------------


def origins(transformer: Any, n_in: int) -> Indices | None:
    """Position (n_out,) of the input column that each output of a fitted transformer comes from.

    ``None`` if an output mixes columns, as those of a PCA, or if the transformer does not tell.
    """
    if transformer is None or transformer == "passthrough":
        return np.arange(n_in)
    if hasattr(transformer, "origins"):
        return np.asarray(transformer.origins())
    if isinstance(transformer, Pipeline):
        return traced((step for _, step in transformer.steps), n_in)
    if isinstance(transformer, FeatureUnion):
        steps = (step for _, step in transformer.transformer_list if step != "drop")
        parts = [origins(step, n_in) for step in steps]
        known = [part for part in parts if part is not None]
        return np.concatenate(known) if len(known) == len(parts) else None
    if isinstance(transformer, ColumnTransformer):
        return _of_columns(transformer, n_in)
    if isinstance(transformer, FunctionTransformer) and isinstance(transformer.func, np.ufunc):
        return np.arange(n_in)
    return _by_names(transformer, n_in)


def traced(transformers: Iterable[Any], n_in: int) -> Indices | None:
    found = np.arange(n_in)
    for transformer in transformers:
        step = origins(transformer, len(found))
        if step is None:
            return None
        found = found[step]
    return found


def _of_columns(transformer: ColumnTransformer, n_in: int) -> Indices | None:
    names = list(getattr(transformer, "feature_names_in_", []))
    outputs = transformer.output_indices_
    total = max((part.stop for part in outputs.values()), default=0)
    found = np.full(total, -1)
    for name, step, columns in transformer.transformers_:
        part = outputs[name]
        n_out = part.stop - part.start
        if step == "drop" or n_out <= 0:
            continue
        places = _places(columns, names, n_in)
        # All outputs of one column are its own, also the words of a text, which do not name it.
        inner = np.zeros(n_out, int) if len(places) == 1 else origins(step, len(places))
        if inner is None or len(inner) != n_out:
            return None
        found[part] = places[inner]
    return None if (found < 0).any() else found


def _places(columns: Any, names: list[str], n_in: int) -> Indices:
    if isinstance(columns, slice):
        first, last = (
            names.index(end) + after if isinstance(end, str) else end
            for end, after in ((columns.start, 0), (columns.stop, 1))  # names include the last
        )
        return np.arange(n_in)[first : last : columns.step]
    some = np.atleast_1d(np.asarray(columns))
    if some.dtype == bool:
        return np.flatnonzero(some)
    if some.dtype.kind in "UO":
        return np.array([names.index(name) for name in some.tolist()], dtype=np.intp)
    return np.arange(n_in)[some]


def _by_names(transformer: Any, n_in: int) -> Indices | None:
    """By the names of the outputs, if those of the inputs stand in them."""
    asked = copy(transformer)
    asked.__dict__.pop("feature_names_in_", None)  # other names are refused
    marks = np.array([f"<#{i}#>" for i in range(n_in)], dtype=object)
    try:
        names = asked.get_feature_names_out(marks)
    except (AttributeError, TypeError, ValueError):
        return None
    found = [set(MARK.findall(str(name))) for name in names]
    if any(len(marked) != 1 for marked in found):
        return None
    return np.array([int(marked.pop()) for marked in found], dtype=np.intp)
