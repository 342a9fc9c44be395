"""A loaded model decides a few made-up cases before anybody gets it.

What the checks of the parts do not see, such as a step that puts out other columns than the next
one takes, then is an error of the file and not one in the middle of somebody's cases.
"""

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.utils import get_tags

from rejo.persistence._refusals import ModelFileError, ensure, first_line
from rejo.tables import TableEncoder

N_CASES = 5
MOST_DENSE = 100_000  # columns; with more, the cases are sparse
INNER = ("best_estimator_", "estimator_", "estimator")  # which get the same columns


def try_out(model: Any) -> None:
    """Refuse a model that cannot decide cases of its own kind."""
    try:
        cases = made_up_cases(model)
    except ImportError:  # frames need pandas, and so will the cases of others
        return
    if cases is None:
        return
    try:
        with np.errstate(all="ignore"):
            decided = np.asarray(model.predict(cases, **_groups_for(model)))
            posteriors = model.predict_proba(cases) if hasattr(model, "predict_proba") else None
    except Exception as error:
        kind = type(error).__name__
        problem = f"the model cannot decide a made-up case ({kind}: {first_line(error)})"
        raise ModelFileError(problem) from None
    ensure(decided.shape == (N_CASES,), "the model does not decide one class for each case")
    if posteriors is not None:
        fine = posteriors.shape == (N_CASES, len(model.classes_)) and np.isfinite(posteriors).all()
        ensure(fine, "the model does not give finite probabilities")


def _groups_for(model: Any) -> dict[str, Any]:
    """The groups of the cases, if decisions depend on them."""
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    policy = getattr(last, "policy_", None)
    if policy is None or not policy.needed:
        return {}
    return {"group": np.resize(np.array([*policy.names, None], dtype=object), N_CASES)}


def made_up_cases(model: Any) -> Any:
    """Return cases that a model takes; ``None`` if it is not known what it takes."""
    first = _first(model)
    if isinstance(first, TableEncoder):
        return _table(first)
    p = getattr(model, "n_features_in_", getattr(first, "n_features_in_", None))
    if p is None:
        return None
    if p > MOST_DENSE:
        sparse = get_tags(model).input_tags.sparse
        return csr_matrix((N_CASES, p)) if sparse else None
    names = getattr(model, "feature_names_in_", getattr(first, "feature_names_in_", None))
    X = _values(first, p)
    if X is not None and names is not None:
        import pandas as pd

        X = pd.DataFrame({name: X[:, j] for j, name in enumerate(names)}).infer_objects()
    return X


def _first(model: Any) -> Any:
    """The part of a model that gets the cases first."""
    while True:
        if isinstance(model, Pipeline):
            steps = [step for _, step in model.steps if step not in (None, "passthrough")]
            model = steps[0]
            continue
        members = [part for part in getattr(model, "estimators_", None) or () if part is not None]
        inner = [getattr(model, name) for name in INNER if hasattr(model, name)]
        inner += members if hasattr(model, "weights_") else []
        if not inner or isinstance(model, ColumnTransformer):
            return model
        model = inner[0]


def _table(encoder: TableEncoder) -> Any:
    """A frame of numbers, words and dates as in training, with gaps."""
    import pandas as pd

    columns: dict[str, Any] = {}
    for name, kind in encoder.kinds_.items():
        learnt = encoder.learnt_[name]
        if kind == "category":
            columns[name] = np.resize(np.array([*learnt["categories"], None], object), N_CASES)
        elif kind == "date":
            columns[name] = pd.to_datetime(["2020-02-29", None, "1970-01-01", "2000-12-31", None])
        else:
            steps = np.array([0.0, 1.0, -1.0, 0.5, np.nan])
            columns[name] = learnt["center"] + steps * learnt["scale"]
    return pd.DataFrame(columns)


def _values(first: Any, p: int) -> Any:
    """Made-up values (N_CASES, p) for a step."""
    if isinstance(first, (OneHotEncoder, OrdinalEncoder)):
        X = np.empty((N_CASES, p), dtype=object)
        for j, known in enumerate(first.categories_):
            X[:, j] = np.resize(known[:N_CASES].astype(object), N_CASES)
        numbers = all(known.dtype.kind in "biuf" for known in first.categories_)
        return X.astype(np.float64) if numbers else X
    if isinstance(first, SimpleImputer):  # an encoder may follow, which knows these values
        return np.resize(first.statistics_, (N_CASES, p))
    if isinstance(first, ColumnTransformer):
        return _values_of_columns(first, p)
    X = np.random.RandomState(0).normal(size=(N_CASES, p))
    X[:3] = np.array([0.0, 1.0, -1.0])[:, None]
    return X


def _values_of_columns(transformer: ColumnTransformer, p: int) -> Any:
    X = np.random.RandomState(0).normal(size=(N_CASES, p)).astype(object)
    blocks = [(name, _first(step)) for name, step, _ in transformer.transformers_ if step != "drop"]
    # Encoders last: they take only the values that they know, the others take any.
    for name, step in sorted(blocks, key=lambda block: hasattr(block[1], "categories_")):
        places = transformer._transformer_to_input_indices[name]
        if places:
            X[:, places] = _values(step, len(places))
    numbers = all(isinstance(value, (int, float)) for value in X.ravel().tolist())
    return X.astype(np.float64) if numbers else X
