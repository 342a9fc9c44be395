"""A plan whose cells take no time, and a run of it that tests can kill or start twice.

``python -m tests.studies.tiny FOLDER [N_CELLS]`` runs it.
"""

import sys
from typing import ClassVar, NamedTuple

from studies.run import run, seed_of


class TinyCell(NamedTuple):
    dataset: str
    repetition: int


class TinyPlan:
    KIND = "tiny"
    KEY = ("dataset", "repetition", "reject_cost")
    OPTIONAL = ("empty",)
    COLUMNS: ClassVar = {
        "dataset": str, "repetition": int, "reject_cost": float, "risk": float, "empty": float,
        "params": str, "seconds": float, "code": str,
    }  # fmt: skip

    def __init__(self, n_cells=4, seed=0, fails=()):
        self.n_cells, self.seed, self.fails = n_cells, seed, fails

    def settings(self):
        return {"seed": self.seed}

    def cells(self):
        return [TinyCell(f"data{i % 2}", i) for i in range(self.n_cells)]

    def load(self, dataset, data_home):
        if data_home == dataset:
            raise FileNotFoundError("no table")
        return 1.0

    def compute(self, cell, table):
        if cell.repetition in self.fails:
            raise ValueError("no luck")
        risk = table / (1 + seed_of(self.seed, *cell))
        row = {"risk": risk, "empty": None, "params": '{"a": "b, \n"}', "seconds": 0.5}
        return [{**cell._asdict(), "reject_cost": w, **row} for w in (0.1, 0.2)]


def rows_of(plan):
    """What a plan gives, without times and code."""
    return [row for cell in plan.cells() for row in plan.compute(cell, 1.0)]


def bare(rows):
    return [{name: row[name] for name in row if name != "code"} for row in rows]


if __name__ == "__main__":
    folder, *n_cells = sys.argv[1:]
    run(TinyPlan(*map(int, n_cells)), folder)
