"""Real tables that come with scikit-learn, as tasks for this package."""

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from rejo._errors import integer


def load_breast_cancer_binary(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load breast cancer (Wisconsin): is a tumour malignant? 569 cases, 30 features.

    scikit-learn's table with the classes swapped, so that 1 is malignant.

    Parameters
    ----------
    return_X_y, as_frame : bool, default=False
        As in :func:`sklearn.datasets.load_breast_cancer`.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (569, 30), ``target`` (569,) with 0 for benign (357) and 1 for malignant (212),
        ``target_names``, ``feature_names``, ``frame``, ``DESCR``.

    Examples
    --------
    >>> from rejo.datasets import load_breast_cancer_binary
    >>> cancer = load_breast_cancer_binary()
    >>> cancer.target_names.tolist(), int(cancer.target.sum())
    (['benign', 'malignant'], 212)
    """
    from sklearn.datasets import load_breast_cancer

    table = load_breast_cancer(as_frame=as_frame)
    return _result(
        table,
        target=1 - table.target,
        target_names=table.target_names[::-1],
        note="Here 0 is benign and 1 is malignant; in scikit-learn it is the other way round.",
        return_X_y=return_X_y,
    )


def load_diabetes_ordinal(
    *, n_classes: int = 3, return_X_y: bool = False, as_frame: bool = False
) -> Any:
    """Load the progression of diabetes after a year, in ordered classes.

    scikit-learn's regression table of 442 patients and 10 features; the target is cut at quantiles
    into classes of nearly equal size.

    Parameters
    ----------
    n_classes : int, default=3
        Number of classes, from 2 to 10.
    return_X_y, as_frame : bool, default=False
        As in :func:`load_breast_cancer_binary`.

    Returns
    -------
    Bunch or (data, target)
        ``data`` (442, 10), ``target`` (442,) from 1 (least) to ``n_classes`` (most),
        ``target_names``, ``feature_names``, ``frame``, ``cuts`` (n_classes - 1,), ``DESCR``.

    Examples
    --------
    >>> import numpy as np
    >>> from rejo.datasets import load_diabetes_ordinal
    >>> X, y = load_diabetes_ordinal(return_X_y=True)
    >>> X.shape, np.bincount(y)[1:].tolist()
    ((442, 10), [148, 147, 147])
    """
    from sklearn.datasets import load_diabetes

    n_classes = integer("n_classes", n_classes, 2, 10)
    table = load_diabetes(as_frame=as_frame)
    cuts = np.quantile(table.target, np.arange(1, n_classes) / n_classes)
    return _result(
        table,
        target=1 + sum(table.target > cut for cut in cuts),  # works for arrays and for Series
        target_names=np.array([str(k) for k in range(1, n_classes + 1)]),
        note=f"Here the target is cut into {n_classes} ordered classes, at {cuts.tolist()}.",
        return_X_y=return_X_y,
        cuts=cuts,
    )


def _result(
    table: Bunch, *, target: Any, target_names: Any, note: str, return_X_y: bool, **more: Any
) -> Any:
    if return_X_y:
        return table.data, target
    frame = None if table.frame is None else table.frame.assign(target=target)
    return Bunch(
        data=table.data,
        target=target,
        frame=frame,
        feature_names=table.feature_names,
        target_names=target_names,
        DESCR=f"{note}\n\n{table.DESCR}",
        **more,
    )
