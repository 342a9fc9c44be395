"""Posteriors of a library in an environment of its own; run by that Python, without rejo.

    python foreign.py FOLDER METHOD SECONDS

The folder holds ``train.parquet``, whose last column is the class, and ``test.parquet``; posteriors
are left there as ``p.npy``, a column for each class that the training cases have.
"""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Optional, Union

import numpy as np
import pandas as pd

CONFIGURATIONS = 8  # of TabPFN, which are averaged; 32 take four times as long


def main() -> None:
    folder, method, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
    train, test = (pd.read_parquet(folder / f"{part}.parquet") for part in ("train", "test"))
    library, _, preset = method.partition(" ")
    p = {"autogluon": autogluon, "tabpfn": tabpfn}[library](folder, train, test, preset, seconds)
    np.save(folder / "p.npy", np.asarray(p, dtype=np.float64))


def autogluon(folder: Path, train: Any, test: Any, preset: str, seconds: float) -> Any:
    from autogluon.tabular import TabularPredictor

    predictor = TabularPredictor(
        "class", path=str(folder / "models"), eval_metric="log_loss", verbosity=0
    )
    # Stacking that is tried out first would take most of so little time.
    predictor.fit(
        train,
        presets=f"{preset}_quality",
        time_limit=seconds,
        dynamic_stacking=False,
        num_cpus=1,
        num_gpus=0,
    )
    return predictor.predict_proba(test)[sorted(train["class"].unique())]


def tabpfn(folder: Path, train: Any, test: Any, preset: str, seconds: float) -> Any:
    """Version 1, whose checkpoint is in its sdist; it was written for an older PyTorch."""
    import torch
    from torch.nn.modules import transformer

    del transformer.__all__  # it takes all names of this module, and some that are no longer there
    vars(transformer).update(Optional=Optional, Union=Union, Callable=Callable)
    torch.load = partial(torch.load, weights_only=False)
    from tabpfn.scripts.transformer_prediction_interface import TabPFNClassifier

    X, y = train.drop(columns="class").to_numpy(), train["class"].to_numpy()
    model = TabPFNClassifier(device="cpu", N_ensemble_configurations=CONFIGURATIONS)
    return model.fit(X, y).predict_proba(test.to_numpy())


if __name__ == "__main__":
    main()
