"""Count and run the programs; print the tables of docs/friends.md."""

import ast
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.same_job import loans, tumours

JOBS = {"first": tumours, "limit": loans, "budget": loans}
LIBRARIES = {"rejo": "rejo", "mapie": "mapie", "scikit_fallback": "skfb"}
UNDECIDED = ("reject", "review", "-1")


def size(job, library):
    """Return the lines and the statements of a program, without its docstring."""
    path = Path(__file__).with_name(f"{job}_{library}.py")
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = [range(node.lineno, node.end_lineno + 1) for node in tree.body[1:]]
    statements = sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    return sum(map(len, taken)), statements - 1


def run(job, library):
    """Run a program without its words."""
    with redirect_stdout(StringIO()):
        return import_module(f"benchmarks.same_job.{job}_{library}")


def rates(decisions, data):
    """Return the share of new cases that are decided, and that of errors in them."""
    decisions = np.asarray(decisions)
    undecided = np.isin(decisions.astype(str), UNDECIDED) | (decisions != decisions)
    return np.mean(~undecided), np.mean((decisions != data.y_new)[~undecided])


def estimates(job):
    """Return the rates of rejo's program, if it gives no promise."""
    data, model = JOBS[job], clone(run(job, "rejo").model)
    decisions = (
        model.set_params(confidence=None).fit(data.X, data.y).predict(data.X_new)
    )
    return rates(decisions, data)


def row(title, cells):
    return f"| {title} | " + " | ".join(cells) + " |"


def main():
    print("| |", " | ".join(LIBRARIES), "|")
    print("|---" * (len(LIBRARIES) + 1) + "|")
    for job, data in JOBS.items():
        sizes = ["{}, {}".format(*size(job, library)) for library in LIBRARIES]
        print(row(f"{job}: lines, statements", sizes))
        found = [
            "{:.1%}, {:.1%}".format(*rates(run(job, library).decisions, data))
            if find_spec(package)
            else ""
            for library, package in LIBRARIES.items()
        ]
        print(row(f"{job}: decided, errors among them", found))
        if job != "first":
            print(
                row(
                    "rejo without a promise", ["{:.1%}, {:.1%}".format(*estimates(job))]
                )
            )


if __name__ == "__main__":
    main()
