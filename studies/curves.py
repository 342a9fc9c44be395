"""The curves of the paper, and the differences of risk on which the verdicts rest.

A picture has a column for each training share. The first row shows the accuracy as the paper plots
it, ``1 - E``, where rejections count as right. It can hardly show which method is better; the
second row can: how much higher the risk ``w_r R + E`` of each method is than that of the proposed
one, on the same repetitions. With three or more classes a third row shows the risk as a share of
what it costs to review everything: above 100 % it would be better to decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rejo.displays import LINE_COLOURS, percent, sober
from studies.paper import BY_PATIENT, DATA, PaperFigure, label
from studies.verdicts import Contrast, Panel, contrasts

# By the name without the kernel: colour, line style, marker, line width. Methods that are never in
# the same figure, such as SVM-1C and MLP-1C, look the same.
_DASHED, _DOTTED, _DASH_DOT = (0, (5, 2)), (0, (1, 1.3)), (0, (5, 1.5, 1, 1.5))
_PROPOSED = (LINE_COLOURS[0], "-", "o", 2.2)
_ONE = (LINE_COLOURS[1], _DASHED, "s", 1.4)
_TWO = (LINE_COLOURS[2], _DOTTED, "^", 1.6)
_CHOW = (LINE_COLOURS[4], (0, (3, 1, 1, 1, 1, 1)), "p", 1.4)
STYLES: dict[str, tuple[str, Any, str, float]] = {
    **dict.fromkeys(("rejoSVM", "rejoNN"), _PROPOSED),
    **dict.fromkeys(("SVM-1C", "MLP-1C", "FH-1C"), _ONE),
    **dict.fromkeys(("SVM-2C", "MLP-2C", "FH-2C", "FH-MLP-2C"), _TWO),
    **dict.fromkeys(("Fumera", "FH-MLP-1C"), (LINE_COLOURS[3], _DASH_DOT, "D", 1.4)),
    "rejoLogistic": (LINE_COLOURS[5], (0, (9, 2)), "v", 1.4),
    **dict.fromkeys(("Chow-SVC", "Chow-MLP"), _CHOW),
    "Ordinal-SVC": (LINE_COLOURS[6], (0, (2, 2)), "h", 1.4),
}
QUARTILES = (0.25, 0.75)
BEST, REVIEW_ALL = "best possible (Bayes)", "review everything"
WIDTH = 11.0  # inches


def draw_curves(figure: PaperFigure, panels: Sequence[Panel]) -> Figure:
    """Draw a figure of curves, with a column for each panel."""
    first, reference = panels[0], figure.methods[0]
    n_rows = 3 if DATA[figure.dataset].n_classes > 2 else 2
    canvas = Figure(figsize=(WIDTH, 1.4 + 2.7 * n_rows), layout="constrained")
    axes = canvas.subplots(n_rows, len(panels), squeeze=False)
    for column, panel in zip(axes.T, panels, strict=True):
        for ax in column:
            sober(ax)
        title = f"{panel.share:.0%} of the data for training ({panel.n_train:.0f})"
        column[0].set_title(title, size=10)
        _draw_accuracy(column[0], panel)
        if reference in panel.methods:
            _draw_differences(column[1], panel, reference)
        for ax in column[2:]:
            _draw_shares(ax, panel)
    axes[0, 0].set_ylabel("accuracy $1 - E$\n(rejections count as right)")
    axes[1, 0].set_ylabel(f"risk above that of {label(reference)}\n(thousandths)")
    for ax in axes[2:, 0]:
        ax.set_ylabel("risk $w_r R + E$, as a share\nof reviewing everything")
    split = " split by patient," if first.split == BY_PATIENT else ""
    many = f"{first.n_repetitions} repetition{'s' * (first.n_repetitions > 1)}"
    canvas.suptitle(f"{figure.title};{split} {many}", size=11)
    costs = f"$w_r$ = {first.costs[0]:g} to {first.costs[-1]:g}"
    note = f"first row, from right to left: {costs}, bands: the middle half of the repetitions; "
    note += f"second row, above 0: {label(reference)} is better; bars: 95 % intervals; filled: "
    _legend(canvas, list(axes.flat), note + "significant after correction")
    return canvas


def _draw_accuracy(ax: Axes, panel: Panel) -> None:
    """Accuracy over rejection rate, a point for each reject cost."""
    if panel.bayes is not None:
        R, E, _ = panel.bayes
        ax.plot(R, 1 - E, color="black", linewidth=1, label=BEST, zorder=2.5)
    for method in panel.methods:
        R, accuracy, look = panel.R[method].mean(axis=0), 1 - panel.E[method], _look(method)
        ax.plot(R, accuracy.mean(axis=0), label=label(method), **look)
        if panel.n_repetitions > 1:
            # A band needs its points in order; equal costs go with equal points of the line.
            order = np.argsort(R, kind="stable")
            low, high = np.quantile(accuracy, QUARTILES, axis=0)[:, order]
            band: dict[str, Any] = {"color": look["color"], "alpha": 0.1, "linewidth": 0}
            ax.fill_between(R[order], low, high, zorder=1, **band)
    percent(ax.xaxis)
    percent(ax.yaxis)
    ax.set_xlim(0, min(1.02, ax.get_xlim()[1]))
    ax.set_xlabel("rejection rate $R$")


def _draw_differences(ax: Axes, panel: Panel, reference: str) -> None:
    """Risk of each method minus that of the reference, over the reject cost."""
    ax.axhline(0, color=_look(reference)["color"], linewidth=2.2, label=label(reference))
    pairs = [(reference, m) for m in panel.methods if m != reference]
    [found] = contrasts([(panel, pairs)])
    for i, contrast in enumerate(found):
        _draw_contrast(ax, panel, contrast, shift=i - (len(found) - 1) / 2)
    y = [1000 * test.difference for contrast in found for test in contrast.at_costs]
    if panel.bayes is not None:
        best = 1000 * (panel.bayes[2] - panel.risk[reference].mean(axis=0))
        ax.plot(panel.costs, best, color="black", linewidth=1, label=BEST)
        y += best.tolist()
    # Show all differences; much longer intervals leave the frame.
    low, high = min([*y, -2.0]), max([*y, 2.0])
    margin = 0.35 * (high - low)
    ax.set(xlabel="reject cost $w_r$", ylim=(low - margin, high + margin))


def _draw_contrast(ax: Axes, panel: Panel, contrast: Contrast, shift: float) -> None:
    """Draw the difference at each cost, filled if significant, slightly shifted."""
    look = _look(contrast.rival)
    width = np.diff(panel.costs).min() if len(panel.costs) > 1 else 0.04
    x = panel.costs + 0.09 * shift * width
    y, low, high = 1000 * np.array([test[:3] for test in contrast.at_costs]).T
    significant = np.array([test.sign != 0 for test in contrast.at_costs])
    ax.plot(x, y, **{**look, "marker": None})
    ax.plot([], [], label=label(contrast.rival), **look)
    if np.isfinite(low).all():
        ax.vlines(x, low, high, color=look["color"], linewidth=0.8, alpha=0.45)
    for chosen, face in ((significant, look["color"]), (~significant, "white")):
        ax.plot(
            x[chosen], y[chosen], linestyle="", marker=look["marker"], markersize=5.5,
            markerfacecolor=face, markeredgecolor=look["color"], zorder=3.5,
        )  # fmt: skip


def _draw_shares(ax: Axes, panel: Panel) -> None:
    """Risk as a share of what it costs to review everything, over the reject cost."""
    ax.axhline(1, color="0.35", linewidth=1.4, linestyle=(0, (6, 3)), label=REVIEW_ALL)
    if panel.bayes is not None:
        best = panel.bayes[2] / panel.costs
        ax.plot(panel.costs, best, color="black", linewidth=1, label=BEST, zorder=2.5)
    for method in panel.methods:
        share = panel.risk[method].mean(axis=0) / panel.costs
        ax.plot(panel.costs, share, label=label(method), **_look(method))
    percent(ax.yaxis)
    ax.set(xlabel="reject cost $w_r$", ylim=(0, None))


class LeakRow(NamedTuple):
    """Mean risk over the reject costs, split at random and by patient."""

    dataset: str
    share: float
    method: str
    random: float
    group: float


def draw_leak(rows: Sequence[LeakRow]) -> Figure:
    """Risk with rows of a patient on both sides of the split, and without."""
    shares = sorted({row.share for row in rows})
    names = list(dict.fromkeys((row.dataset, row.method) for row in rows))
    places = {name: -float(i) for i, name in enumerate(names)}
    canvas = Figure(figsize=(WIDTH, 1.6 + 0.3 * len(names)), layout="constrained")
    axes = list(canvas.subplots(1, len(shares), sharex=True, sharey=True, squeeze=False)[0])
    for ax, share in zip(axes, shares, strict=True):
        chosen = [row for row in rows if row.share == share]
        y = [places[row.dataset, row.method] for row in chosen]
        low, high = [row.random for row in chosen], [row.group for row in chosen]
        ax.hlines(y, low, high, color="0.7", linewidth=2, zorder=1)
        look: dict[str, Any] = {"s": 42, "zorder": 2}
        ax.scatter(low, y, facecolors="white", edgecolors=LINE_COLOURS[0], linewidths=1.6,
                   label="rows split at random", **look)  # fmt: skip
        ax.scatter(high, y, color=LINE_COLOURS[1], marker="D", label="split by patient", **look)
        sober(ax)
        ax.set_title(f"{share:.0%} of the data for training", size=10)
        ax.set(xlabel="mean risk", xlim=(0, None))
    titles = [f"{DATA[dataset].title}: {label(method)}" for dataset, method in names]
    axes[0].set_yticks(list(places.values()), titles)
    _legend(canvas, axes[:1], "mean over the reject costs")
    return canvas


def _look(method: str) -> dict[str, Any]:
    colour, line, marker, width = STYLES.get(label(method), ("0.5", "-", "x", 1.4))
    edge = {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.4}
    look = {"color": colour, "linestyle": line, "marker": marker, "linewidth": width, **edge}
    return look | {"zorder": 3.2 if colour == _PROPOSED[0] else 3}


def _legend(canvas: Figure, axes: Sequence[Axes], note: str) -> None:
    """Draw one legend for all panels, below them."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    columns = (len(named) + 1) // 2 if len(named) > 4 else 4
    box = canvas.legend(
        named.values(), named, loc="outside lower center", ncols=columns, frameon=False,
        handlelength=3.2, title=note, title_fontsize=8,
    )  # fmt: skip
    box.get_title().set_color("0.35")
