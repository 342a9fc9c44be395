"""How often the watch of columns is wrong on ordinary files, and how often it finds faults.

``python -m benchmarks.bench_watch FOLDER`` reads tables of numbers and words, each with a column
``target``, and prints three tables in Markdown.  Training tables and weekly files are drawn from a
table with replacement, so that both come from the same population whatever their sizes.
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from rejo.tables import TableEncoder, read_table

SIZES = (50, 200, 1000, 10_000, 50_000)
MOST_TRAINING = 3000  # rows
ORDINARY, FAULTY = 250, 12  # files of each table and size; for each kind of fault
MODELS = 3  # of each table
REVIEWED = 0.2  # share of the cases that the model would send to review
NAMES = (
    "default_credit_card", "german_credit", "south_german_credit", "australian_credit",
    "pima_diabetes", "mammographic_mass", "winequality_red", "letter_ah",
)  # fmt: skip


def factor(by):
    """Return a fault that multiplies a column of numbers."""
    return lambda frame, name, others: frame.assign(**{name: frame[name] * by})


def swapped(frame, name, others):
    """Exchange two columns of numbers."""
    return frame.assign(**{name: frame[others[0]], others[0]: frame[name]})


def shifted(frame, name, others):
    """Move the columns of numbers by one place."""
    names = [name, *others]
    return frame.assign(**{one: frame[names[i - 1]] for i, one in enumerate(names)})


def moved(frame, name, others):
    """Add twice the width of the middle half."""
    low, high = frame[name].quantile([0.25, 0.75])
    return frame.assign(**{name: frame[name] + 2 * max(high - low, 1e-9)})


FAULTS = {
    "10 times": factor(10.0), "100 times": factor(100.0), "1,000 times": factor(1000.0),
    "a tenth": factor(0.1), "a hundredth (shares for percent)": factor(0.01),
    "a thousandth": factor(0.001), "empty": factor(np.nan), "two swapped": swapped,
    "all moved by one": shifted, "an offset": moved,
}  # fmt: skip


class Population:
    """A table that training tables and files are drawn from."""

    def __init__(self, path, seed):
        frame = read_table(path, text=["target"]).frame
        self.y, self.X = frame.pop("target").to_numpy(), frame
        self.random = np.random.RandomState(seed)
        self.models = [self._model() for _ in range(MODELS)]

    def draw(self, n):
        """Return n rows and their classes."""
        rows = self.random.randint(len(self.X), size=n)
        return self.X.iloc[rows].reset_index(drop=True), self.y[rows]

    def training(self):
        """Return the rows of a training table, and their classes."""
        return self.draw(min(max(len(self.X), 300), MOST_TRAINING))

    def _model(self):
        """Return a fitted pipeline, and how sure it must be to decide."""
        X, y = self.training()
        model = make_pipeline(TableEncoder(), LogisticRegression(max_iter=300)).fit(X, y)
        return model, np.quantile(model.predict_proba(X).max(axis=1), REVIEWED)

    def numbers(self, encoder):
        """Return the columns of numbers in use, in a random order."""
        names = [name for name, kind in encoder.kinds_.items() if kind == "number"]
        return self.random.permutation(names).tolist()


def findings(encoder, X):
    """Return what the watch finds in a file, read in chunks."""
    watch = encoder.watch()
    for start in range(0, len(X), 25_000):
        encoder.add_rows(watch, X.iloc[start : start + 25_000])
    return {one.column: one.degree for one in watch.findings()}


def wrong(model, least, X, y):
    """Return how many rows are decided, and how many of them wrong; those in doubt are not."""
    doubts = list(model[0].check(X).doubts)
    chances = model.predict_proba(X)
    decided = chances.max(axis=1) >= least
    decided[doubts] = False
    return decided.sum(), (decided & (model.classes_[chances.argmax(axis=1)] != y)).sum()


def quiet(populations):
    """Return rows: alarms on ordinary files, by size."""
    rows = []
    for size in SIZES:
        said = faults = n = 0
        for population in populations:
            for i in range(ORDINARY):
                if i % 10 == 0:
                    encoder = TableEncoder().fit(population.training()[0])
                found = findings(encoder, population.draw(size)[0])
                n, said = n + 1, said + bool(found)
                faults += "fault" in found.values()
        rows.append({"rows in a file": f"{size:,}", "files": f"{n:,}", "drift is said": said,
                     "held by a fault": faults})  # fmt: skip
    return rows


def strong(populations):
    """Return rows: how often a fault is found, by kind and size, and wrong decisions."""
    rows, costs = [], []
    for kind, change in FAULTS.items():
        shown, lost = {"fault": kind}, []
        for size in SIZES[:-1]:
            found = []
            for population in populations:
                for i in range(FAULTY):
                    model, least = population.models[i % MODELS]
                    (X, y), names = population.draw(size), population.numbers(model[0])
                    if len(names) < 2:
                        continue
                    X = X[list(model[0].kinds_)]
                    bad = change(X, names[0], names[1:])
                    degrees = findings(model[0], bad)
                    held = "fault" in degrees.values()
                    found.append(held)
                    after = wrong(model, least, bad, y)
                    kept = (0, 0) if held else after
                    lost.append((size, *wrong(model, least, X, y), *after, *kept))
            shown[f"{size:,} rows"] = f"{100 * np.mean(found):.0f} %"
        rows.append(shown)
        n, decided, bad, decided_so, bad_so, _, bad_still = np.sum(lost, axis=0)
        shares = {
            "wrong of the decided, no fault": bad / decided,
            "wrong of the decided, without the watch": bad_so / decided_so,
            "wrong of all rows, without": bad_so / n,
            "with it": bad_still / n,
        }
        costs.append({"fault": kind} | {k: f"{100 * share:.1f} %" for k, share in shares.items()})
    return rows, costs


def printed(title, rows):
    """Print rows as a table in Markdown."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(row.values() for row in rows)]
    print(f"\n{title}\n")
    print("\n".join(f"| {' | '.join(map(str, line))} |" for line in lines), flush=True)


def main(folder):
    """Run all, and print."""
    populations = [Population(Path(folder, f"{name}.csv"), i) for i, name in enumerate(NAMES)]
    printed("Ordinary files", quiet(populations))
    found, costs = strong(populations)
    printed("Files with a fault that are held", found)
    printed("Wrong decisions", costs)


if __name__ == "__main__":
    main(*sys.argv[1:])
