"""The curves of the paper, and the differences of risk on which the verdicts rest.

Both pictures of a figure have a panel for each training share and the same colours, line styles and
markers. The first shows the accuracy as the paper plots it, ``1 - E``, where rejections count as
right. At the same reject cost two methods have different rejection rates, so that picture can
hardly show which method is better. The second one can: it shows how much higher the risk
``w_r R + E`` of each method is than that of the proposed one, on the same repetitions.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rejo.displays.style import LINE_COLOURS, percent, require_matplotlib, sober
from rejo.study.panels import Panel
from rejo.study.paper import DATA, PaperFigure, label
from rejo.study.verdict import Contrast, contrasts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# By the name without the kernel: colour, line style, marker, line width. Methods that are never in
# the same figure, such as SVM-1C and MLP-1C, look the same.
_DASHED, _DOTTED, _DASH_DOT = (0, (5, 2)), (0, (1, 1.3)), (0, (5, 1.5, 1, 1.5))
_PROPOSED = (LINE_COLOURS[0], "-", "o", 2.2)
_ONE = (LINE_COLOURS[1], _DASHED, "s", 1.4)
_TWO = (LINE_COLOURS[2], _DOTTED, "^", 1.6)
STYLES: dict[str, tuple[str, Any, str, float]] = {
    "rejoSVM": _PROPOSED,
    "rejoNN": _PROPOSED,
    **dict.fromkeys(("SVM-1C", "MLP-1C", "FH-1C"), _ONE),
    **dict.fromkeys(("SVM-2C", "MLP-2C", "FH-2C", "FH-MLP-2C"), _TWO),
    **dict.fromkeys(("Fumera", "FH-MLP-1C"), (LINE_COLOURS[3], _DASH_DOT, "D", 1.4)),
    "rejoLogistic": (LINE_COLOURS[5], (0, (9, 2)), "v", 1.4),
    **dict.fromkeys(("Chow-SVC", "Chow-MLP"), (LINE_COLOURS[4], (0, (3, 1, 1, 1, 1, 1)), "p", 1.4)),
    "Ordinal-SVC": (LINE_COLOURS[6], (0, (2, 2)), "h", 1.4),
}
OTHER = ("0.5", "-", "x", 1.4)

QUARTILES = (0.25, 0.75)
BEST, REJECT_ALL = "best possible (Bayes)", "reject everything"
SIZE = (11.0, 4.3)  # inches


def accuracy_reject_figure(figure: PaperFigure, panels: Sequence[Panel]) -> "Figure":
    """Accuracy ``1 - E`` over rejection rate, a point for each reject cost.

    The curves are means over the repetitions; the bands hold the middle half of them.
    """
    canvas, axes = _canvas(figure, panels)
    for ax, panel in zip(axes, panels, strict=True):
        if panel.bayes is not None:
            R, E, _ = panel.bayes
            ax.plot(R, 1 - E, color="black", linewidth=1, label=BEST, zorder=2.5)
        for method in panel.methods:
            R, accuracy = panel.R[method].mean(axis=0), 1 - panel.E[method]
            colour = _look(method)["color"]
            ax.plot(R, accuracy.mean(axis=0), label=label(method), **_look(method))
            if panel.n_repetitions > 1:
                # A band needs its points in order; equal costs go with equal points of the line.
                order = np.argsort(R, kind="stable")
                low, high = np.quantile(accuracy, QUARTILES, axis=0)[:, order]
                ax.fill_between(R[order], low, high, color=colour, alpha=0.1, linewidth=0, zorder=1)
        percent(ax.xaxis)
        percent(ax.yaxis)
        ax.set_xlim(0, min(1.02, ax.get_xlim()[1]))
        ax.set_xlabel("rejection rate $R$")
    axes[0].set_ylabel("accuracy $1 - E$\n(rejections count as right)")
    costs, many = panels[0].costs, panels[0].n_repetitions > 1
    note = f"each curve from right to left: $w_r$ = {costs[0]:g} to {costs[-1]:g}"
    _legend(canvas, axes, note + "; bands: the middle half of the repetitions" * many)
    return canvas


def risk_difference_figure(figure: PaperFigure, panels: Sequence[Panel]) -> "Figure":
    """Risk of each method minus that of the proposed one, over the reject cost."""
    canvas, axes = _canvas(figure, panels)
    reference = figure.methods[0]
    for ax, panel in zip(axes, panels, strict=True):
        ax.axhline(0, color=_look(reference)["color"], linewidth=2.2, label=label(reference))
        if reference not in panel.methods:
            continue
        if panel.bayes is not None:
            best = panel.bayes[2] - panel.risk[reference].mean(axis=0)
            ax.plot(panel.costs, 1000 * best, color="black", linewidth=1, label=BEST)
        found = contrasts(panel, [(reference, m) for m in panel.methods if m != reference])
        if not found:
            continue
        for i, contrast in enumerate(found):
            _draw_contrast(ax, panel, contrast, shift=i - (len(found) - 1) / 2)
        ax.set_xlabel("reject cost $w_r$")
        _frame(ax, panel, found)
    axes[0].set_ylabel(f"risk above that of {label(reference)}\n(thousandths)")
    note = "is better; bars: 95 % intervals; filled: significant after correction"
    _legend(canvas, axes, f"above 0: {label(reference)} {note}")
    return canvas


def both_risks_figure(
    figure: PaperFigure, panels: Sequence[Panel], ordinal: Sequence[Panel]
) -> "Figure":
    """Two risks as shares of that of rejecting every point: ``w R + E`` above, the ordinal below.

    Above the line at 100 % of the upper row, a method costs more than sending every case to a
    person.  The ordinal loss charges more for that, because a rejection has a place there.
    """
    canvas, axes = _canvas(figure, panels, n_rows=2)
    titles = ("$w_r R + E$, as a share of\nreviewing everything",
              "ordinal loss, as a share of\nrejecting all at the best place")  # fmt: skip
    for row, (measure, chosen) in enumerate(zip(titles, (panels, ordinal), strict=True)):
        for ax, panel in zip(axes[row * len(panels) :], chosen, strict=False):
            ax.axhline(1, color="0.35", linewidth=1.4, linestyle=(0, (6, 3)), label=REJECT_ALL)
            if panel.bayes is not None:
                share = panel.bayes[2] / panel.review_all
                ax.plot(panel.costs, share, color="black", linewidth=1, label=BEST, zorder=2.5)
            for method in panel.methods:
                share = panel.risk[method].mean(axis=0) / panel.review_all
                ax.plot(panel.costs, share, label=label(method), **_look(method))
            percent(ax.yaxis)
            ax.set_ylim(0, None)
        axes[row * len(panels)].set_ylabel(measure)
    for ax in axes[len(panels) :]:
        ax.set_xlabel("reject cost $w_r$")
    _legend(canvas, axes, "top, above 100 %: it would cost less to review everything")
    return canvas


class LeakRow(NamedTuple):
    """Mean risk over the reject costs, split at random and by patient."""

    dataset: str
    share: float
    method: str
    random: float
    group: float


def leak_figure(rows: Sequence[LeakRow]) -> "Figure":
    """Risk with rows of a patient on both sides of the split, and without."""
    require_matplotlib("a figure of the study")
    from matplotlib.figure import Figure

    shares = sorted({row.share for row in rows})
    names = list(dict.fromkeys((row.dataset, row.method) for row in rows))
    places = {name: -float(i) for i, name in enumerate(names)}
    canvas = Figure(figsize=(SIZE[0], 1.6 + 0.3 * len(names)), layout="constrained")
    axes = list(canvas.subplots(1, len(shares), sharex=True, sharey=True, squeeze=False)[0])
    for ax, share in zip(axes, shares, strict=True):
        chosen = [row for row in rows if row.share == share]
        y = [places[row.dataset, row.method] for row in chosen]
        low, high = ([getattr(row, split) for row in chosen] for split in ("random", "group"))
        ax.hlines(y, low, high, color="0.7", linewidth=2, zorder=1)
        look: dict[str, Any] = {"s": 42, "zorder": 2}
        ax.scatter(low, y, facecolors="white", edgecolors=LINE_COLOURS[0], linewidths=1.6,
                   label="rows split at random", **look)  # fmt: skip
        ax.scatter(high, y, color=LINE_COLOURS[1], marker="D", label="split by patient", **look)
        sober(ax)
        ax.set(title=f"{share:.0%} of the data for training", xlabel="mean risk", xlim=(0, None))
        ax.title.set_size(10)
    titles = [f"{DATA[dataset].title}: {label(method)}" for dataset, method in names]
    axes[0].set_yticks(list(places.values()), titles)
    _legend(canvas, axes[:1], "mean over the reject costs")
    return canvas


def render(canvas: "Figure", kind: str, dpi: int = 150) -> bytes:
    """Return the picture as a "png" or "svg" file; drawn twice, it has the same bytes."""
    from matplotlib import rc_context

    metadata = {"svg": {"Date": None, "Creator": None}, "png": {"Software": None}}[kind]
    file = BytesIO()
    with rc_context({"svg.hashsalt": "rejo"}):
        canvas.savefig(file, format=kind, dpi=dpi, metadata=metadata)
    # Keep this layout: computing it again for the next format takes as long as drawing.
    canvas.set_layout_engine("none")
    return file.getvalue()


def _canvas(
    figure: PaperFigure, panels: Sequence[Panel], n_rows: int = 1
) -> tuple["Figure", "list[Axes]"]:
    if not panels:
        raise ValueError(f"panels is empty: there are no rows for the figure {figure.name!r}")
    require_matplotlib("a figure of the study")
    from matplotlib.figure import Figure

    width = SIZE[0] if len(panels) > 1 else 6.0
    height = SIZE[1] if n_rows == 1 else 1.4 + 2.7 * n_rows
    canvas = Figure(figsize=(width, height), layout="constrained")
    axes = list(canvas.subplots(n_rows, len(panels), squeeze=False, sharex="col").flat)
    for ax in axes:
        sober(ax)
    for ax, panel in zip(axes, panels, strict=False):
        ax.set_title(f"{panel.share:.0%} of the data for training ({panel.n_train:.0f})", size=10)
    first = panels[0]
    split = " split by patient," if first.split == "group" else ""
    repetitions = "repetition" if first.n_repetitions == 1 else "repetitions"
    canvas.suptitle(f"{figure.title},{split} {first.n_repetitions} {repetitions}", size=11)
    return canvas, axes


def _frame(ax: "Axes", panel: Panel, found: Sequence[Contrast]) -> None:
    """Show all differences; much longer intervals leave the frame."""
    y = [1000 * test.difference for contrast in found for test in contrast.at_costs]
    if panel.bayes is not None:
        y += list(1000 * (panel.bayes[2] - panel.risk[found[0].method].mean(axis=0)))
    low, high = min([*y, -2.0]), max([*y, 2.0])
    margin = 0.35 * (high - low)
    ax.set_ylim(low - margin, high + margin)


def _draw_contrast(ax: "Axes", panel: Panel, contrast: Contrast, shift: float) -> None:
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


def _look(method: str) -> dict[str, Any]:
    colour, line, marker, width = STYLES.get(label(method), OTHER)
    edge = {"markersize": 5, "markeredgecolor": "white", "markeredgewidth": 0.4}
    look = {"color": colour, "linestyle": line, "marker": marker, "linewidth": width, **edge}
    return look | {"zorder": 3.2 if colour == _PROPOSED[0] else 3}


def _legend(canvas: "Figure", axes: "list[Axes]", note: str) -> None:
    """Draw one legend for all panels, below them."""
    named: dict[str, Any] = {}
    for ax in axes:
        for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(name, handle)
    columns = (len(named) + 1) // 2 if len(named) > 4 else 4
    box = canvas.legend(
        named.values(), named, loc="outside lower center", ncols=columns, frameon=False,
        handlelength=3.2, title=note, title_fontsize=9,
    )  # fmt: skip
    box.get_title().set_color("0.35")
