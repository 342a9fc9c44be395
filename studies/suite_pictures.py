"""The pictures of the suite: ranks with critical differences, and numbers as maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rejo.catalogue import METHODS
from rejo.displays import LINE_COLOURS
from studies.run import Floats
from studies.standings import DATA_REPLICATION, Ranking, Standings
from studies.suite import AUTO

WIDTH = 11.0  # inches
LINE = 0.26  # inches for a line of text
# What decides: data replication, posteriors, a choice of rejo train; all others are rivals.
COLOURS = {
    "data replication": LINE_COLOURS[0],
    "posteriors and prices": LINE_COLOURS[2],
    "a choice or blend of several": LINE_COLOURS[3],
    "other rivals": LINE_COLOURS[1],
}


def kind_of(method: str) -> str:
    """Return what kind a method is, a key of ``COLOURS``."""
    if method == AUTO:
        return "a choice or blend of several"
    if method in DATA_REPLICATION:
        return "data replication"
    by_prices = "posteriors and prices" in METHODS[method].label
    return "posteriors and prices" if by_prices else "other rivals"


def draw_ranks(ranking: Ranking) -> Figure:
    """Mean ranks on a line; bars join methods that do not differ significantly (Demsar 2006)."""
    order, k = ranking.order, len(ranking.methods)
    ranks = dict(zip(ranking.methods, ranking.mean_ranks, strict=True))
    half = (k + 1) // 2
    joined = [(min(ranks[m] for m in c), max(ranks[m] for m in c)) for c in ranking.cliques]
    levels = _levels(joined)
    below = 0.3 + 0.32 * (max(levels, default=-1) + 1)  # in lines, under the axis
    canvas = Figure(figsize=(WIDTH, 1.2 + LINE * (half + below + 4.2)))
    ax = canvas.add_axes((0.0, 0.0, 1.0, 1.0))
    low, high = 1.0, float(k)
    margin = 0.42 * (high - low)  # for the names on both sides
    ax.set(xlim=(low - margin, high + margin), ylim=(-(below + half + 1.6), 4.2))
    ax.axis("off")
    ax.plot([low, high], [0, 0], color="black", linewidth=1.2)
    step = 1 if high - low <= 15 else 2
    for tick in range(1, k + 1):
        named = (tick - 1) % step == 0
        ax.plot([tick, tick], [0, 0.35 if named else 0.2], color="black", linewidth=1)
        ax.text(tick, 0.5, f"{tick}" * named, ha="center", va="bottom", fontsize=9)
    for (start, end), level in zip(joined, levels, strict=True):
        y, pad = -0.35 - 0.32 * level, 0.004 * (high - low)
        ax.plot([start - pad, end + pad], [y, y], color="0.25", linewidth=2.6, zorder=2)
    for i, method in enumerate(order):
        left = i < half
        y = -(below + 0.5 + (i if left else k - 1 - i))
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
    ax.text(high + margin, 3.9, title_of(ranking), ha="right", va="top", fontsize=11)
    kinds = {kind_of(method) for method in order}
    handles = [
        Line2D([], [], color=colour, marker="s", linestyle="", label=kind)
        for kind, colour in COLOURS.items()
        if kind in kinds
    ]
    canvas.legend(
        handles=handles, loc="lower center", frameon=False, fontsize=9, ncols=len(handles)
    )
    return canvas


def draw_costs(standings: Standings) -> Figure:
    """Mean cost of every method on every table, in units of reviewing everything."""
    costs = standings.all_costs()
    values = np.array(list(costs.values())) / float(np.mean(standings.plan.reject_costs))
    title = "Cost of a case in units of reviewing everything (1.00); bold: lowest of a table; "
    title += "empty: not for these classes, or failed"
    scale = (0.0, 1.5, 0.9)
    return _map(values, list(costs), standings.tables, title, scale,
                lambda value: f"{value:.2f}".lstrip("0") or "0")  # fmt: skip


def draw_measures(ranking: Ranking, ranks: Mapping[str, Floats]) -> Figure:
    """Mean rank of every method by every measure, for the methods of a ranking."""
    order = ranking.order
    values = np.array([[by[ranking.methods.index(m)] for by in ranks.values()] for m in order])
    title = f"{title_of(ranking)}: mean ranks by each measure; bold: the best"
    scale = (1.0, 1.3 * len(order), 0.8 * len(order))
    return _map(values, order, list(ranks), title, scale, "{:.1f}".format)


def title_of(ranking: Ranking) -> str:
    """Return the title of a ranking, with its size."""
    return f"{ranking.title}: {len(ranking.methods)} methods on {len(ranking.tables)} tables"


def _map(
    values: Floats, rows: Sequence[str], columns: Sequence[str], title: str,
    scale: tuple[float, float, float], words: Callable[[float], str],
) -> Figure:  # fmt: skip
    """Numbers (n_rows, n_columns) on a scale from light to dark; bold: the least of a column."""
    canvas = Figure(figsize=(WIDTH, 2.0 + LINE * len(rows)), layout="constrained")
    ax, (low, high, dark) = canvas.subplots(), scale
    ax.imshow(values, cmap="Blues", vmin=low, vmax=high, aspect="auto")
    least = np.nanmin(values, axis=0)
    for (i, j), value in np.ndenumerate(values):
        if not np.isnan(value):
            ax.text(j, i, words(value), ha="center", va="center", fontsize=8,
                    color="white" if value > dark else "black",
                    fontweight="bold" if value <= least[j] + 1e-9 else "normal")  # fmt: skip
    ax.set_xticks(range(len(columns)), columns, rotation=40, ha="right", rotation_mode="anchor",
                  fontsize=9)  # fmt: skip
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.set_title(title, fontsize=10)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return canvas


def _levels(bars: Sequence[tuple[float, float]]) -> list[int]:
    """Level of each bar, such that bars of one level do not touch."""
    ends: list[float] = []
    levels = []
    for start, end in bars:
        level = next((i for i, last in enumerate(ends) if last < start), len(ends))
        ends[level : level + 1] = [end]
        levels.append(level)
    return levels
