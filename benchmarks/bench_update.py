"""What later cases cost if a model learns from answered ones, with weights and without.

``python -m benchmarks.bench_update [FOLDER] [--runs N]`` trains a model on old cases, decides four
batches of new ones with it, and learns again from the old cases and those of the new ones that were
answered: all that were sent to review, and an audit of a tenth of the others.  It prints what a
case costs later with each model, on cases that none has seen.  The world has changed before the new
cases, or not.  With a folder of tables, customers are drawn from ``default_credit_card.csv``.

- *old*: the model that is in use;
- *weights*: trained again as ``rejo update`` does, with :func:`rejo.book.answered_cases`;
- *naive*: trained again on the same cases, each of which counts once;
- *all known*: trained again when the outcomes of all new cases are known.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rejo.book import answered_cases, compare_costs, copies, kept_apart

CLASSES = ["repaid", "default"]
PRICES = np.array([[0.0, 4.0, 1.0], [20.0, 0.0, 1.0]])  # decided as repaid, as default; a review
OLD, BATCHES, SIZE, LATER, AUDIT = 2_000, 4, 750, 20_000, 0.1
WAYS = ("old", "weights", "naive", "all known")


def lender(random: Any, n: int, moved: bool) -> tuple[Any, Any]:
    """Features and classes; what the world is like is not linear, and a model of it is."""
    X = random.normal(size=(n, 4))
    risk = 1.5 * X[:, 0] + 1.2 * X[:, 1] ** 2 + X[:, 0] * X[:, 2] - 3.0
    risk += moved * (1.2 * X[:, 3] + 0.5)
    return X, (random.random(n) < expit(risk)).astype(np.intp)


def cards(folder: Path) -> Any:
    """Customers of a public table; after a change, defaults are 2.7 times more likely."""
    frame = pd.read_csv(folder / "default_credit_card.csv")
    y, X = frame.pop("target").to_numpy(), StandardScaler().fit_transform(frame)

    def drawn(random: Any, n: int, moved: bool) -> tuple[Any, Any]:
        odds = y.mean() / (1 - y.mean()) * np.exp(moved)
        of = (random.random(n) < odds / (1 + odds)).astype(np.intp)
        rows = [random.choice(np.flatnonzero(y == k), n) for k in (0, 1)]
        return X[np.where(of == 1, rows[1], rows[0])], of

    return drawn


def learned(X: Any, y: Any) -> Any:
    return LogisticRegression(max_iter=1000).fit(X, y)


def decided(model: Any, X: Any) -> tuple[Any, Any, Any]:
    """Decisions at the lowest expected cost (n,), of which -1 is a review; else; chance wrong."""
    p = model.predict_proba(X)
    cost = p @ PRICES
    forced = cost[:, :2].argmin(axis=1)
    review = cost[:, 2] < cost[:, :2].min(axis=1)
    return np.where(review, -1, forced), forced, 1 - p[np.arange(len(p)), forced]


def book(model: Any, X: Any, y: Any, random: Any) -> Any:
    """The new cases as a case book has them."""
    decision, forced, chance = decided(model, X)
    accepted, spread = decision >= 0, np.sqrt(chance * (1 - chance))
    share = AUDIT * (0.5 + 0.5 * spread / spread[accepted].mean())  # as rejo predict draws
    drawn = accepted & (random.random(len(y)) < share)
    names = np.array(CLASSES, dtype=object)
    return pd.DataFrame({
        "id": [f"case {i}" for i in range(len(y))],
        "batch": 1 + np.arange(len(y)) // SIZE,
        "decision": np.where(accepted & ~drawn, names[forced], None),
        "chance": chance, "drawn": drawn,
        "truth": np.where(accepted & ~drawn, None, names[y]),
    })  # fmt: skip


def costs(world: Any, seed: int, moved: bool) -> tuple[list[float], list[bool]]:
    """What a later case costs with each model, and whether the two of updates are recommended."""
    random = np.random.default_rng(seed)
    X, y = world(random, OLD, False)
    old = learned(X, y)
    new_X, new_y = world(random, BATCHES * SIZE, moved)
    answered, _ = answered_cases(book(old, new_X, new_y, random), CLASSES)
    rows = answered["id"].str.removeprefix("case ").to_numpy(int)
    weight = answered["weight"].to_numpy()
    test = kept_apart(answered["id"], answered["newest"].to_numpy(), seed)
    learn, every = np.flatnonzero(~test), np.arange(len(new_X))
    apart = kept_apart([f"case {i}" for i in every], every >= len(every) / 2, seed)
    parts = {
        "weights": rows[learn[copies(weight[learn], seed, alike=False)]],
        "naive": rows[learn],
        "all known": every[~apart],
    }
    models = {"old": old} | {
        name: learned(np.concatenate([X, new_X[some]]), np.append(y, new_y[some]))
        for name, some in parts.items()
    }
    better = []
    for name, some, counts in (
        ("weights", rows[test], weight[test]), ("all known", every[apart], np.ones(apart.sum())),
    ):  # fmt: skip
        both = (decided(models[one], new_X[some])[0] for one in ("old", name))
        better.append(compare_costs(new_y[some], *both, PRICES, counts).better)
    later_X, later_y = world(random, LATER, moved)
    paid = [PRICES[later_y, decided(models[name], later_X)[0]].mean() for name in WAYS]
    return paid, better


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--runs", type=int, default=200)
    arguments = parser.parse_args()
    world = lender if arguments.folder is None else cards(arguments.folder)
    print("| the world | old | with weights | naive | all known | recommended, all known |")
    print("|---|---|---|---|---|---|")
    for title, moved in (("has changed", True), ("is the same", False)):
        found = [costs(world, seed, moved) for seed in range(arguments.runs)]
        paid = np.array([cost for cost, _ in found])
        cells = [f"{paid[:, 0].mean():.3f}"]
        for column in paid.T[1:]:
            less = 100 * (1 - column / paid[:, 0])
            error = less.std(ddof=1) / len(less) ** 0.5
            cells.append(f"{column.mean():.3f} ({less.mean():+.1f} % ± {error:.1f})")
        first, last = np.mean([better for _, better in found], axis=0)
        print(f"| {title} | {' | '.join(cells)} | {first:.1%}, {last:.1%} |", flush=True)


if __name__ == "__main__":
    main()
