"""Posteriors of a library in an environment of its own; run by that Python, without rejo.

    python foreign.py FOLDER METHOD SECONDS

The folder holds ``train.parquet``, whose last column is the class, and ``test.parquet``; posteriors
are left there as ``p.npy``, a column for each class that the training cases have.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd


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
    from tabpfn import TabPFNClassifier

    X, y = train.drop(columns="class").to_numpy(), train["class"].to_numpy()
    return TabPFNClassifier(device="cpu").fit(X, y).predict_proba(test.to_numpy())


if __name__ == "__main__":
    main()
