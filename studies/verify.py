"""Recompute cells at random, and compare their rows with those that are kept in docs/.

    python -m studies.verify --paper 1000 --suite 50 --data DIR

All columns but the times and the code must be equal.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from studies.paper import PaperCell, PaperStudy
from studies.run import Plan, Row
from studies.store import read_archive
from studies.suite import SuiteCell, TableSuite

DOCS = Path(__file__).parents[1] / "docs"
NOT_COMPARED = ("seconds", "code")


def kept_plans() -> dict[str, tuple[Any, Any, Path]]:
    """Return for each study its plan, the type of its cells, and the folder of its page."""
    suite = json.loads((DOCS / "table_suite" / "plan.json").read_text("utf-8"))
    suite = {name: tuple(v) if isinstance(v, list) else v for name, v in suite.items()}
    return {
        "paper": (PaperStudy(), PaperCell, DOCS / "reproduction"),
        "suite": (TableSuite(**suite), SuiteCell, DOCS / "table_suite"),
    }


def main(words: Sequence[str] | None = None) -> int:
    """Return 0 if all rows are equal."""
    parser = argparse.ArgumentParser(prog="python -m studies.verify", description=__doc__)
    parser.add_argument("--paper", type=int, default=0, metavar="N", help="cells of the paper")
    parser.add_argument("--suite", type=int, default=0, metavar="N", help="cells of the suite")
    parser.add_argument("--data", metavar="DIR", help="folder with the tables (default: REJO_DATA)")
    parser.add_argument("--n-jobs", type=int, default=-1, metavar="N", help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of the choice of cells")
    options = parser.parse_args(words)
    n_wrong = 0
    for name, (plan, kind, folder) in kept_plans().items():
        if n := getattr(options, name):
            rows = read_archive(folder / "rows.csv.xz", plan)
            wrong, n_checked = compare(plan, kind, rows, n, options)
            print(f"{name}: {n_checked - len(wrong)} of {n_checked} cells equal")
            for text in wrong[:20]:
                print(f"  {text}")
            n_wrong += len(wrong)
    return int(n_wrong > 0)


def compare(
    plan: Plan, kind: Any, rows: Iterable[Row], n: int, options: argparse.Namespace
) -> tuple[list[str], int]:
    """Recompute ``n`` of the cells; return what differs, and how many were compared."""
    kept: dict[Any, list[Row]] = {}
    for row in rows:
        kept.setdefault(kind(*(row[name] for name in kind._fields)), []).append(row)
    chosen = random.Random(options.seed).sample(sorted(kept), min(n, len(kept)))
    tables: dict[str, Any] = {}
    for cell in chosen:
        if cell.dataset not in tables:
            tables[cell.dataset] = plan.load(cell.dataset, options.data)
    tasks = (delayed(_differences)(plan, c, tables[c.dataset], kept[c]) for c in chosen)
    found = Parallel(n_jobs=options.n_jobs, batch_size=1)(tasks)
    return [f"{c}: {text}" for c, text in zip(chosen, found, strict=True) if text], len(chosen)


def _differences(plan: Plan, cell: Any, table: Any, kept: Sequence[Row]) -> str:
    """Compute a cell and return what differs, in words; nothing if all rows are equal."""
    place = {tuple(row[name] for name in plan.KEY): row for row in kept}
    rows = plan.compute(cell, table)
    if len(rows) != len(kept):
        return f"{len(rows)} rows, {len(kept)} kept"
    for row in rows:
        old = place.get(tuple(row[name] for name in plan.KEY), {})
        for name in plan.COLUMNS:
            if name not in NOT_COMPARED and row[name] != old.get(name):
                return f"{name} is {row[name]!r}, kept is {old.get(name)!r}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
