"""Attacks on compiled code that were found by hand, each by changes that agree with each other.

A recipe changes a fitted model in memory, before ``save``, or a file.  ``python -m
tests.fuzz.recipes`` tries all of them, and all bombs, in processes of their own and prints what
became of each as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from rejo.persistence import ModelFileError, save
from tests.fuzz.bombs import BOMBS
from tests.fuzz.files import Edit, scalar
from tests.fuzz.limits import Attempt, attempt_all
from tests.fuzz.probe import REFUSED, Cases, Verdict, cases_for, probe
from tests.fuzz.stock import file_of
from tests.fuzz.zoo import fitted

HUGE = 10**9


class Recipe(NamedTuple):
    """A change of one model of the zoo."""

    animal: str
    change: Callable[[Any], Any]
    in_file: bool


RECIPES: dict[str, Recipe] = {}


def in_memory(animal: str) -> Any:
    """Register a change of a fitted model."""

    def register(change: Any) -> Any:
        RECIPES[change.__name__] = Recipe(animal, change, in_file=False)
        return change

    return register


def in_file(animal: str) -> Any:
    """Register a change of a file taken apart."""

    def register(change: Any) -> Any:
        RECIPES[f"{change.__name__}_in_a_file"] = Recipe(animal, change, in_file=True)
        return change

    return register


def try_in_memory(model: Any, change: Any, path: Path, cases: list[Cases]) -> Verdict:
    """Change a model, save it, and use the file."""
    change(model)
    try:
        save(model, path, overwrite=True)
    except ModelFileError as error:
        return Verdict(REFUSED, str(error).partition(": ")[2])
    return probe(path, cases)


# ---- trees -----------------------------------------------------------------------------------


@in_memory("boosting")
def boosted_splits_on_features_that_are_not_there(model: Any) -> None:
    inner = model.estimator_
    inner._n_features = 2**20
    for trees in inner._predictors:
        for tree in trees:
            tree.nodes["feature_idx"] = 2**20 - 1


@in_memory("boosting_three")
def boosted_splits_and_all_numbers_of_features(model: Any) -> None:
    inner = model.estimator_
    inner._n_features = inner.n_features_in_ = 2**20
    inner._bin_mapper.is_categorical_ = np.zeros(2**20, np.uint8)
    for trees in inner._predictors:
        for tree in trees:
            tree.nodes["feature_idx"] = 2**20 - 1


@in_memory("boosting")
def boosted_children_before_their_parents(model: Any) -> None:
    nodes = model.estimator_._predictors[0][0].nodes
    nodes["left"] = nodes["right"] = 0
    nodes["is_leaf"] = 0


@in_memory("boosting")
def boosted_categories_that_do_not_exist(model: Any) -> None:
    nodes = model.estimator_._predictors[0][0].nodes
    nodes["is_categorical"] = 1
    nodes["bitset_idx"] = 2**31 - 1


@in_memory("forest")
def forest_that_takes_more_features_than_its_trees(model: Any) -> None:
    model.estimator_.n_features_in_ = model.n_features_in_ = 2


@in_memory("tree")
def tree_of_other_outputs(model: Any) -> None:
    model.estimator_.n_outputs_ = 1000
    model.estimator_.n_classes_ = np.array([2] * 1000)


# ---- support vector machines -----------------------------------------------------------------


@in_memory("sklearn_svc_sparse")
def probabilities_of_a_sparse_machine_without_their_parameters(model: Any) -> None:
    model.estimator_._effective_probability = True
    model.estimator_._probA = model.estimator_._probB = np.empty(0)


@in_memory("sklearn_svc_three")
def probabilities_of_a_machine_without_their_parameters(model: Any) -> None:
    model.estimator_._effective_probability = model.estimator_.probability = True
    model.estimator_._probA = model.estimator_._probB = np.empty(0)


@in_memory("sklearn_svc_sparse")
def kernel_values_that_become_indices(model: Any) -> None:
    model.estimator_.kernel = "precomputed"


@in_memory("sklearn_svc_rbf")
def sparse_kernel_values_that_become_indices(model: Any) -> None:
    inner = model.estimator_
    inner.kernel, inner._sparse = "precomputed", True
    inner._dual_coef_ = sparse.csr_matrix(inner._dual_coef_)
    inner.dual_coef_ = sparse.csr_matrix(inner.dual_coef_)
    inner.support_vectors_ = sparse.csr_matrix(inner.support_vectors_)


@in_memory("sklearn_svc_sparse")
def support_vectors_by_columns(model: Any) -> None:
    model.estimator_.support_vectors_ = sparse.csc_matrix(model.estimator_.support_vectors_)


@in_memory("sklearn_svc_three")
def numbers_of_support_vectors_with_the_right_sum(model: Any) -> None:
    counts = model.estimator_._n_support
    counts[0] += HUGE
    counts[1] -= HUGE


@in_memory("sklearn_svc_three")
def support_vectors_in_another_order(model: Any) -> None:
    model.estimator_.support_vectors_ = np.asfortranarray(model.estimator_.support_vectors_)


@in_memory("sklearn_svc_three")
def machine_for_regression(model: Any) -> None:
    model.estimator_._impl = "epsilon_svr"


@in_memory("svc_sparse")
def sparse_basis_by_columns(model: Any) -> None:
    model._basis = sparse.csc_matrix(model._basis)


@in_memory("svc_sparse")
def sparse_basis_with_indices_outside(model: Any) -> None:
    model._basis.indices[:] = 2**30


@in_memory("svc_sparse")
def sparse_basis_with_decreasing_pointers(model: Any) -> None:
    model._basis.indptr[1:-1] = model._basis.indptr[1:-1][::-1] * 1000


# ---- what takes memory, time or processes ----------------------------------------------------


@in_memory("forest")
def processes_of_a_forest(model: Any) -> None:
    model.estimator_.n_jobs = 12


@in_file("forest")
def processes_of_a_forest_again(edit: Edit) -> None:
    edit.give("RandomForestClassifier", "n_jobs", scalar("12"))


@in_memory("blend")
def processes_of_a_blend(model: Any) -> None:
    model.n_jobs = model.estimator_.n_jobs = 12
    for member in model.estimator_.estimators_:
        member.n_jobs = 12


@in_memory("svc_cv")
def processes_of_a_search(model: Any) -> None:
    model.n_jobs = 12


@in_memory("step_1_nystroem")
def kernel_of_another_size(model: Any) -> None:
    model.steps[0][1].components_ = np.zeros((10, 0))


# ---- running all of them ---------------------------------------------------------------------


def run_all(names: Collection[str]) -> dict[str, list[str]]:
    """What became of each recipe and each bomb, or of some: its kind, and a detail."""
    attempts: dict[str, Attempt] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, recipe in RECIPES.items():
            if names and name not in names:
                continue
            path = Path(folder) / f"{name}.rejo"
            animal, good = fitted(recipe.animal), file_of(recipe.animal)
            cases = cases_for(animal)
            task = partial(try_in_memory, animal.model, recipe.change, path, cases)
            if recipe.in_file:
                edit = Edit(good)
                recipe.change(edit)
                path.write_bytes(bytes(edit))
                task = partial(probe, path, cases)
            attempts[name] = Attempt(task, len(good))
        for name, make in BOMBS.items():
            if names and name not in names:
                continue
            path = Path(folder) / f"{name}.rejo"
            data = make(file_of("svc_sparse"), Random(0))
            path.write_bytes(data)
            attempts[name] = Attempt(
                partial(probe, path, cases_for(fitted("svc_sparse"))), len(data)
            )
        # Each in a process of its own: most of them change a model that others use too.
        return {name: list(attempt_all([one])[0].verdict) for name, one in attempts.items()}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_all(sys.argv[1:])))
