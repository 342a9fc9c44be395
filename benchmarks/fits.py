"""One fit, with a kernel: against SVC on the points and on their replicas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import perf_counter
from typing import NamedTuple

from benchmarks.problems import (
    CS,
    GAMMAS,
    TOL,
    Fit,
    Floats,
    Labels,
    anchors,
    make_interaction,
    make_synthetic_3,
    make_wide,
    naive,
    ours,
    plain,
)
from benchmarks.tables import Report, Target, milliseconds, times, yes
from benchmarks.timing import exponent, geometric_mean, race
from rejo.datasets import make_synthetic_1


class Block(NamedTuple):
    """One data set under a grid of parameters, and what is asked of it."""

    name: str
    make: Callable[[], tuple[Floats, Labels]]
    gammas: tuple[float, ...]
    plain: float
    on_average: bool = False  # the target holds for the geometric mean, not for every row
    naive: float | None = None  # None: not run
    naive_runs: int = 5


def synthetic(quick: bool) -> list[Block]:
    def block(n: int, plain: float, naive: float | None, runs: int = 5) -> Block:
        name = f"SyntheticI, n={n:,}"
        return Block(
            name, lambda: make_synthetic_1(n, random_state=0), GAMMAS, plain, False, naive, runs
        )

    return [
        block(160, 2.5, 5, 20),
        block(400, 2.5, 5, 20),
        block(2000, 2.5, 15),
        block(10000, 10, None if quick else 300, 1),
    ]


def five_classes() -> list[Block]:
    def block(n: int, on_average: bool, naive: float | None) -> Block:
        return Block(
            f"SyntheticIII, n={n:,}", lambda: make_synthetic_3(n), GAMMAS, 1, on_average, naive
        )

    return [block(400, False, 15), block(2000, True, None)]


def wide() -> list[Block]:
    gammas = (1 / 30,)
    return [
        Block("30 features, n=1,000, K=2", lambda: make_wide(1000, 2), gammas, 2.5),
        Block("30 features, n=1,000, K=4", lambda: make_wide(1000, 4), gammas, 1, True),
    ]


TABLE_SIZES = (400, 2000, 10_000, 20_000, 50_000)
LARGEST_RACE = 20_000  # points; above, the others take minutes for each fit


def compare_tables(report: Report, cases: Iterable[tuple[int, int, int]]) -> None:
    """Points, features and classes of tables as they are, whose kernel has no low rank.

    Ours with one and two threads, against plain and whatever else is installed.
    """
    names = ["plain", "Intel", "LIBSVM"]
    report.header(
        "case", "ours s", *(f"{name} s" for name in names), "plain / ours", "target", "met",
        "best other / ours", "target", "met", "gap", "two threads",
    )  # fmt: skip
    curves: dict[str, list[tuple[int, float]]] = {}
    gaps = []
    for n, p, n_classes in cases:
        X, y = make_interaction(n, p, n_classes)
        for C in (1, 10):
            how = {"gamma": 1 / p, "C": C}
            fits = {"ours": ours(X, y, **how)}
            if n <= LARGEST_RACE:
                fits |= {"plain": plain(X, y, **how)} | anchors(X, y, **how)
            best = race(fits, seconds=1.0, least=1)
            alone, both = (_on_the_wall(ours(X, y, n_jobs=k, **how)) for k in (1, 2))
            asked = n_classes == 2 and n <= LARGEST_RACE
            cells = [f"{best[name]:.3g}" if name in best else "" for name in ("ours", *names)]
            others = [best[name] for name in names[1:] if name in best]
            case = f"n={n:,}, {p} features, K={n_classes}, C={C:g}"
            for seconds, bound in (([best[s] for s in ["plain"] if s in best], 3), (others, 1.5)):
                ratio = min(seconds) / best["ours"] if seconds else 0.0
                target = Target(f"{case}, {bound}x", bound, [ratio], unit="x")
                met = report.judge(target) if asked and seconds else ""
                cells += [times(ratio) if seconds else "", f"{bound}x" if asked else "", met]
            gaps.append(fits["ours"]().duality_gap_)
            report.row(case, *cells, f"{gaps[-1]:.0e}", times(alone / both))
            if n >= 2000:
                name = f"{p} features, K={n_classes}, C={C:g}"
                curves.setdefault(name, []).append((n, best["ours"]))
    print()
    for name, curve in curves.items():
        sizes, seconds = zip(*curve, strict=True)
        if len(curve) > 1:
            print(f"Exponent of the growth, {name}: {exponent(sizes, seconds):.2f}")
    report.judge(Target("Duality gap in every fit", TOL, gaps, True))


def _on_the_wall(fit: Fit) -> float:
    start = perf_counter()
    fit()
    return perf_counter() - start


def compare(report: Report, blocks: list[Block], quick: bool) -> None:
    """One table: a row for each data set, gamma and C."""
    report.header(
        "case", "ours ms", "plain ms", "naive ms", "naive F ms",
        "plain / ours", "target", "met", "naive / ours", "naive F / ours", "target", "met",
    )  # fmt: skip
    for block in blocks:
        _compare_block(report, block, quick)


def _compare_block(report: Report, block: Block, quick: bool) -> None:
    X, y = block.make()
    over_plain: list[float] = []
    over_naive: dict[str, list[float]] = {"naive": [], "naive F": []}
    for gamma in block.gammas:
        for C in CS:
            best = _time(block, X, y, gamma, C, quick)
            over_plain.append(best["plain"] / best["ours"])
            cells = [milliseconds(best["ours"]), milliseconds(best["plain"])]
            target = "mean" if block.on_average else f"{block.plain:g}x"
            met = "" if block.on_average else yes(over_plain[-1] >= block.plain)
            right = ["", "", "", ""]
            if block.naive is not None:
                for name, ratios in over_naive.items():
                    ratios.append(best[name] / best["ours"])
                found = [ratios[-1] for ratios in over_naive.values()]
                both = " / ".join(yes(ratio >= block.naive) for ratio in found)
                right = [*map(times, found), f"{block.naive:g}x", both]
            cells += [milliseconds(best[name]) if name in best else "" for name in over_naive]
            case = f"{block.name}, gamma={gamma:.3g}, C={C}"
            report.row(case, *cells, times(over_plain[-1]), target, met, *right)
    _judge(report, block, over_plain, over_naive)


def _judge(
    report: Report, block: Block, over_plain: list[float], over_naive: dict[str, list[float]]
) -> None:
    """Keep the targets; where the mean counts, add its row."""
    name = f"{block.name}, faster than plain"
    if block.on_average:
        mean = geometric_mean(over_plain)
        met = report.judge(Target(f"{name}, geometric mean", block.plain, [mean], unit="x"))
        row = ["", "", "", "", times(mean), f"{block.plain:g}x", met, "", "", "", ""]
        report.row(f"{block.name}, geometric mean", *row)
    else:
        report.judge(Target(name, block.plain, over_plain, unit="x"))
    if block.naive is not None:
        for name, ratios in over_naive.items():
            report.judge(Target(f"{block.name}, faster than {name}", block.naive, ratios, unit="x"))


def _time(
    block: Block, X: Floats, y: Labels, gamma: float, C: float, quick: bool
) -> dict[str, float]:
    fits = {"plain": plain(X, y, gamma=gamma, C=C), "ours": ours(X, y, gamma=gamma, C=C)}
    if block.naive is not None:
        fits |= naive(X, y, gamma, C)
    return race(
        fits,
        seconds=0.3 if quick else 2.0,
        least=2 if quick else 5,
        limits=dict.fromkeys(("naive", "naive F"), 2 if quick else block.naive_runs),
    )


def instruction_sets(report: Report, quick: bool) -> None:
    """The engines of every instruction set that this processor has."""
    from rejo.solvers import _svm

    names: list[str] = _svm.architectures()
    report.header("case", "set", "ours ms", "plain ms", "plain / ours")
    try:
        for n in (400, 2000):
            X, y = make_synthetic_1(n, random_state=0)
            for name in names:
                _svm.use(name)
                cells = _instruction_set(X, y, quick)
                report.row(f"SyntheticI, n={n:,}, six cases", name, *cells)
    finally:
        _svm.use(names[0])


def _instruction_set(X: Floats, y: Labels, quick: bool) -> list[str]:
    """Geometric means over gamma and C: our time, that of plain, their ratio."""
    mine, theirs = [], []
    for gamma in GAMMAS:
        for C in CS:
            fits = {"plain": plain(X, y, gamma=gamma, C=C), "ours": ours(X, y, gamma=gamma, C=C)}
            best = race(fits, seconds=0.3 if quick else 1.0)
            mine.append(best["ours"])
            theirs.append(best["plain"])
    a, b = geometric_mean(mine), geometric_mean(theirs)
    return [milliseconds(a), milliseconds(b), times(b / a)]
