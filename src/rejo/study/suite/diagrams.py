"""The pictures of the suite: ranks with critical differences, costs over the best, all costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rejo._typing import Floats
from rejo.catalogue import METHODS
from rejo.displays.style import LINE_COLOURS, percent, require_matplotlib, sober
from rejo.study.suite.rank_list import Ranking
from rejo.study.suite.standings import DATA_REPLICATION, Standings
from rejo.study.suite.trials import AUTO, BLEND

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 11.0  # inches
LINE = 0.26  # inches for a line of text
TICKS = (0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10)  # of a cost over the best
# What decides: data replication, posteriors, a choice of rejo train; all others are rivals.
COLOURS = {
    "data replication": LINE_COLOURS[0],
    "posteriors and prices": LINE_COLOURS[2],
    "a choice or blend of several": LINE_COLOURS[3],
    "other rivals": LINE_COLOURS[1],
}


def kind_of(method: str) -> str:
    """Return what kind a method is, a key of ``COLOURS``."""
    if method in (AUTO, BLEND):
        return "a choice or blend of several"
    if method in DATA_REPLICATION:
        return "data replication"
    by_prices = "posteriors and prices" in METHODS[method].label
    return "posteriors and prices" if by_prices else "other rivals"


def critical_difference_figure(ranking: Ranking) -> Figure:
    """Mean ranks on a line; bars join methods that do not differ significantly (Demsar 2006)."""
    order, k = ranking.order, len(ranking.methods)
    ranks = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    half = (k + 1) // 2
    joined = [(min(ranks[m] for m in c), max(ranks[m] for m in c)) for c in ranking.cliques]
    levels = _levels(joined)
    below = 0.3 + 0.32 * (max(levels, default=-1) + 1)  # in lines, under the axis
    height = 1.2 + LINE * (half + below + 4.2)
    canvas = _canvas((WIDTH, height))
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    low, high = 1.0, float(k)
    margin = 0.42 * (high - low)  # for the names on both sides
    ax.set(xlim=(high + margin, low - margin), ylim=(-(below + half + 1.6), 4.2))
    ax.invert_xaxis()
    ax.axis("off")
    _draw_scale(ax, low, high)
    for (start, end), level in zip(joined, levels, strict=True):
        y = -0.35 - 0.32 * level
        pad = 0.004 * (high - low)
        ax.plot([start - pad, end + pad], [y, y], color="0.25", linewidth=2.6,
                solid_capstyle="butt", zorder=2)  # fmt: skip
    for i, method in enumerate(order):
        left = i < half
        line = i if left else k - 1 - i
        y = -(below + 0.5 + line)
        gap = (low - high if left else high - low) / 100
        side = (low if left else high) + 3 * gap
        colour, rank = COLOURS[kind_of(method)], ranks[method]
        ax.plot([rank, rank, side], [0, y, y], color=colour, linewidth=1.0, zorder=1)
        words = f"{method}  {rank:.1f}" if left else f"{rank:.1f}  {method}"
        ax.text(side + gap / 2, y, words, ha="right" if left else "left", va="center",
                fontsize=9.5, color=colour)  # fmt: skip
    bar = min(ranking.difference, high - low)
    ax.plot([low, low + bar], [2.6, 2.6], color="black", linewidth=2, marker="|", markersize=9)
    ax.text(low + bar / 2, 2.85, f"critical difference {ranking.difference:.2f}",
            ha="center", va="bottom", fontsize=9)  # fmt: skip
    ax.text(high + margin, 3.9, _title(ranking), ha="right", va="top", fontsize=11)
    _kinds(canvas, order, "lower center")
    return canvas


def excess_figure(ranking: Ranking) -> Figure:
    """Cost over that of the best method of each table: a dot for each table, and the mean."""
    order = ranking.order
    canvas = _canvas((WIDTH, 1.5 + LINE * len(order)), layout="constrained")
    ax = canvas.subplots()
    sober(ax)
    ax.set_xscale("symlog", linthresh=0.01, linscale=0.6)
    for i, method in enumerate(order):
        values = ranking.excess[:, ranking.methods.index(method)]
        colour = COLOURS[kind_of(method)]
        spread = np.linspace(-0.22, 0.22, len(values)) if len(values) > 1 else [0.0]
        ax.scatter(values, i + np.asarray(spread), s=15, color=colour, alpha=0.55, linewidths=0)
        ax.plot([values.mean()], [i], marker="D", markersize=6, color=colour,
                markeredgecolor="white", zorder=3)  # fmt: skip
        ax.plot([np.median(values)] * 2, [i - 0.3, i + 0.3], color=colour, linewidth=2, zorder=3)
    ax.set_yticks(range(len(order)), order, fontsize=9.5)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set_xlim(0, 1.2 * max(0.05, float(ranking.excess.max())))
    ax.set_xticks([tick for tick in TICKS if tick <= ax.get_xlim()[1]], minor=False)
    ax.minorticks_off()
    percent(ax.xaxis)
    ax.set_xlabel("cost over the best method of each table, in percent of reviewing everything\n"
                  "dots: tables; diamond: mean; bar: median")  # fmt: skip
    ax.set_title(_title(ranking), fontsize=11)
    _kinds(canvas, order, "outside lower center")
    return canvas


def heat_figure(standings: Standings) -> Figure:
    """Mean cost of every method on every table, in units of reviewing everything."""
    tables, unit = standings.tables, float(np.mean(standings.reject_costs))
    costs = standings.all_costs()
    names, values = list(costs), np.array(list(costs.values())) / unit
    canvas = _canvas((WIDTH, 2.0 + LINE * len(names)), layout="constrained")
    ax = canvas.subplots()
    best = np.nanmin(values, axis=0)
    ax.imshow(values, cmap="Blues", vmin=0, vmax=1.5, aspect="auto")
    for i in range(len(names)):
        for j in range(len(tables)):
            if np.isnan(values[i, j]):
                continue
            ax.text(j, i, f"{values[i, j]:.2f}".lstrip("0") or "0", ha="center", va="center",
                    fontsize=8, color="white" if values[i, j] > 0.9 else "black",
                    fontweight="bold" if values[i, j] <= best[j] + 1e-9 else "normal")  # fmt: skip
    ax.set_xticks(range(len(tables)), tables, rotation=40, ha="right", rotation_mode="anchor",
                  fontsize=9)  # fmt: skip
    ax.set_yticks(range(len(names)), names, fontsize=9)
    ax.set_title("Cost of a case in units of reviewing everything (1.00); bold: lowest of a table; "
                 "empty: not for these classes, or failed", fontsize=10)  # fmt: skip
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return canvas


def measures_figure(ranking: Ranking, ranks: Mapping[str, Floats]) -> Figure:
    """Mean rank of every method by every measure, for the methods of a ranking."""
    order = ranking.order
    values = np.array([[by[ranking.methods.index(m)] for by in ranks.values()] for m in order])
    canvas = _canvas((WIDTH, 1.8 + LINE * len(order)), layout="constrained")
    ax = canvas.subplots()
    ax.imshow(values, cmap="Blues", vmin=1, vmax=1.3 * len(order), aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        best = value <= values[:, j].min() + 1e-9
        ax.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=9,
                color="white" if value > 0.8 * len(order) else "black",
                fontweight="bold" if best else "normal")  # fmt: skip
    ax.set_xticks(range(len(ranks)), list(ranks), fontsize=9, rotation=25, ha="right",
                  rotation_mode="anchor")  # fmt: skip
    ax.set_yticks(range(len(order)), order, fontsize=9.5)
    ax.set_title(f"{_title(ranking)}: mean ranks by each measure; bold: the best", fontsize=11)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return canvas


def _canvas(size: tuple[float, float], layout: Any = None) -> Figure:
    require_matplotlib("a picture of the suite")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout=layout)


def _levels(bars: Sequence[tuple[float, float]]) -> list[int]:
    """Level of each bar, such that bars of one level do not touch."""
    ends: list[float] = []
    levels = []
    for start, end in bars:
        level = next((i for i, last in enumerate(ends) if last < start), len(ends))
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels


def _draw_scale(ax: Axes, low: float, high: float) -> None:
    ax.plot([low, high], [0, 0], color="black", linewidth=1.2)
    step = 1 if high - low <= 15 else 2
    for tick in range(int(low), int(high) + 1):
        named = (tick - int(low)) % step == 0
        ax.plot([tick, tick], [0, 0.35 if named else 0.2], color="black", linewidth=1)
        if named:
            ax.text(tick, 0.5, f"{tick}", ha="center", va="bottom", fontsize=9)


def _kinds(canvas: Figure, methods: Sequence[str], place: str) -> None:
    """Name the colours that are used."""
    from matplotlib.lines import Line2D

    kinds = {kind_of(method) for method in methods}
    handles = [
        Line2D([], [], color=colour, marker="s", linestyle="", label=kind)
        for kind, colour in COLOURS.items()
        if kind in kinds
    ]
    canvas.legend(handles=handles, loc=place, frameon=False, fontsize=9, ncols=len(handles))


def _title(ranking: Ranking) -> str:
    return f"{ranking.title}: {len(ranking.methods)} methods on {len(ranking.tables)} tables"
