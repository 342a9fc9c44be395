"""How the cost grows with the number of points and of classes: a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.problems import make_ordered, ours, plain
from benchmarks.tables import Report, milliseconds, times
from benchmarks.timing import exponent, race
from rejo.datasets import make_synthetic_1

SIZES = [250 * 2**i for i in range(7)]
CLASSES = list(range(2, 11))
N_FOR_CLASSES = 1000
GAMMA, C = 1, 10
SLOPE_FROM = 1000  # points; below, what every fit costs hides the growth

Curve = dict[str, list[float]]  # contender -> seconds


def measure(report: Report, quick: bool, picture: Path | None) -> None:
    report.header("points, K=2", "ours ms", "plain ms", "plain / ours")
    by_size = _curve(report, SIZES, lambda n: make_synthetic_1(n, random_state=0), quick)
    _exponents(report, "exponent", SIZES, by_size)
    tail = {name: seconds[SIZES.index(SLOPE_FROM) :] for name, seconds in by_size.items()}
    _exponents(report, f"exponent from n={SLOPE_FROM:,}", SIZES[SIZES.index(SLOPE_FROM) :], tail)
    print()
    report.header(f"classes, n={N_FOR_CLASSES:,}", "ours ms", "plain ms", "plain / ours")
    by_class = _curve(report, CLASSES, lambda k: make_ordered(N_FOR_CLASSES, k), quick)
    _exponents(report, "exponent", CLASSES, by_class)
    if picture is not None:
        picture.parent.mkdir(exist_ok=True)
        draw(by_size, by_class, picture)
        print(f"\nPicture: {picture.parent.name}/{picture.name}")


def _curve(report: Report, sizes: list[int], make: Any, quick: bool) -> Curve:
    curve: Curve = {"ours": [], "plain": []}
    for size in sizes:
        X, y = make(size)
        fits = {"plain": plain(X, y, gamma=GAMMA, C=C), "ours": ours(X, y, gamma=GAMMA, C=C)}
        best = race(fits, seconds=0.3 if quick else 2.0, least=2 if quick else 5)
        for name, seconds in best.items():
            curve[name].append(seconds)
        mine, theirs = best["ours"], best["plain"]
        report.row(f"{size:,}", milliseconds(mine), milliseconds(theirs), times(theirs / mine))
    return curve


def _exponents(report: Report, name: str, sizes: list[int], curve: Curve) -> None:
    slopes = [f"{exponent(sizes, curve[who]):.2f}" for who in ("ours", "plain")]
    report.row(name, *slopes, "")


def draw(by_size: Curve, by_class: Curve, path: Path) -> None:
    """Both curves, told apart by marker and line as well as by shade."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    _panel(left, SIZES, by_size, "n", f"K = 2 classes, gamma = {GAMMA}, C = {C}")
    _panel(right, CLASSES, by_class, "K", f"n = {N_FOR_CLASSES:,} points, gamma = {GAMMA}, C = {C}")
    left.set_xlabel("points, n")
    right.set_xlabel("classes, K")
    left.set_ylabel("one fit, milliseconds")
    right.set_ylim(1, 50)  # room for the legend
    # Without the version of matplotlib, which would change the file at every update.
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _panel(ax: Any, sizes: list[int], curve: Curve, size: str, title: str) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter

    looks = {
        "plain": {"color": "0.55", "marker": "s", "linestyle": "--", "label": "SVC"},
        "ours": {"color": "0.0", "marker": "o", "linestyle": "-", "label": "RejoSVC"},
    }
    for name, look in looks.items():
        slope = exponent(sizes, curve[name])
        look["label"] += f", grows as ${size}^{{{slope:.2f}}}$"
        ax.loglog(sizes, [1e3 * seconds for seconds in curve[name]], **look)
    ax.xaxis.set_major_locator(FixedLocator(sizes))
    if max(curve["plain"]) < 100 * min(curve["ours"]):
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    for side in (ax.xaxis, ax.yaxis):
        side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        side.set_minor_formatter(NullFormatter())
    ax.tick_params(axis="x", which="minor", bottom=False)
    ax.set_title(title)
    ax.grid(color="0.9")
    ax.legend(loc="upper left")
