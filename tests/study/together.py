"""Processes that start on one new study file at the same moment.

``python together.py FOLDER N_PROCESSES N_FILES`` prints a line for each file on which a process
failed, or which cannot be used afterwards.
"""

import os
import sys
from multiprocessing import get_context
from pathlib import Path

from rejo.study import Study, read_rows, run

STUDY = Study(["syntheticI"], [0.1], 1, ["SVM-1C/rbf"], [0.1, 0.3], grid="coarse")


def prepare(folder, setattr=setattr):
    """Compute the rows once, and have them ready: what is tested is the file."""
    file = Path(folder, "alone.sqlite")
    run(STUDY, file)
    rows = read_rows(file)
    setattr(Study, "compute", lambda study, cell, table: rows)
    return rows


def start(files, barrier, failures):
    for file in files:
        barrier.wait(60)
        try:
            run(STUDY, file)
        except Exception as error:
            failures.put((file.name, f"{type(error).__name__}: {error}"))
    failures.put(None)


def main(folder, n_processes, n_files):
    files = [Path(folder, f"{i}.sqlite") for i in range(n_files)]
    fork = get_context("fork")
    barrier, failures = fork.Barrier(n_processes), fork.Queue()
    wanted = prepare(folder)
    processes = [
        fork.Process(target=start, args=(files, barrier, failures)) for _ in range(n_processes)
    ]
    for process in processes:
        process.start()
    for _ in processes:
        while failure := failures.get(timeout=120):
            print(*failure)
    for process in processes:
        process.join()
    for file in files:
        try:
            assert run(STUDY, file) == 0, "its cell is missing"
            assert read_rows(file) == wanted, "its rows are wrong"
        except Exception as error:
            print(file.name, "afterwards:", type(error).__name__, error)


if __name__ == "__main__":
    folder, *numbers = sys.argv[1:]
    main(os.fspath(folder), *map(int, numbers))
