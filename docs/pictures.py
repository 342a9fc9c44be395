"""Draws the pictures of the guide, beside this file (`make docs`)."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from rejo import RejectRegionDisplay, RejoSVC, make_synthetic_1, make_synthetic_2
from rejo.datasets import posterior

FOLDER = Path(__file__).parent
COST = 0.2


def save(figure, name):
    # Without the version of matplotlib, which would change the file at every update.
    figure.savefig(FOLDER / name, dpi=110, metadata={"Software": None})


def reject_region():
    """The classifier of the README."""
    X, y = make_synthetic_1(400, random_state=0)
    model = RejoSVC(C=10, gamma=4, reject_cost=COST).fit(X, y)
    figure = Figure(figsize=(6.2, 4.6), layout="constrained")
    RejectRegionDisplay.from_estimator(model, X, y, ax=figure.subplots())
    save(figure, "reject_region.png")


def data():
    """A sample of each problem, and Chow's rule: class 1 above 1 - COST, class -1 below COST."""
    figure = Figure(figsize=(10, 4.3), layout="constrained")
    panels = zip(
        figure.subplots(1, 2),
        ("synthetic_1", "synthetic_2"),
        ("SyntheticI", "SyntheticII"),
        (make_synthetic_1, make_synthetic_2),
        (np.linspace(0, 1, 200), np.linspace(-17, 17, 200)),
        strict=True,
    )
    for ax, name, title, make, axis in panels:
        X, y = make(400, random_state=0)
        xx0, xx1 = np.meshgrid(axis, axis)
        p = posterior(name, np.column_stack([xx0.ravel(), xx1.ravel()]))[:, 1].reshape(xx0.shape)
        RejectRegionDisplay(
            xx0=xx0,
            xx1=xx1,
            scores=np.stack([p - COST, p - (1 - COST)], axis=-1),
            classes=np.array([-1, 1]),
            X=X,
            y=y,
            xlabel="x1",
            ylabel="x2",
        ).plot(ax=ax)
        ax.set_title(title)
        if ax is not figure.axes[-1]:
            ax.get_legend().remove()
    save(figure, "data.png")


if __name__ == "__main__":
    reject_region()
    data()
