"""A study of a few seconds, and a driver for it that tests can kill."""

import sys

from rejo.study import Study, read_rows, run

METHODS = ("rejoSVM/rbf", "SVM-1C/rbf", "SVM-2C/poly", "rejoNN", "MLP-2C", "Chow-SVC/rbf")


def tiny_study(**changes):
    parameters = dict(
        datasets=["syntheticI"],
        shares=[0.1, 0.2],
        repetitions=5,
        methods=METHODS,
        reject_costs=[0.1, 0.3],
        grid="coarse",
    )
    return Study(**(parameters | changes))


def rows_of(database):
    """Rows without the time they took."""
    rows = read_rows(database)
    for row in rows:
        del row["seconds"]
    return rows


def n_rows(database):
    """Count the rows of a file that may not have been made yet."""
    try:
        return len(read_rows(database))
    except (FileNotFoundError, ValueError):
        return 0


if __name__ == "__main__":
    database, n_jobs = sys.argv[1:]
    run(tiny_study(), database, n_jobs=int(n_jobs))
