"""What it saves to share the reviews by who is good at what, if that must be learned.

A simulated lender has a queue every week, more than the team can review: three classes, a known
chance of each, prices of errors by class.  Each reviewer is right with a probability of their own
for each class, and at first nobody knows which.  Outcomes of ``KNOWN`` of the reviewed cases come
``LATE`` weeks later; nothing else is learned.  All ways review as many cases and see the same
weeks:

- *arrival*: first come, first served, by whoever is free;
- *rank*: the most worthwhile first, by whoever is free;
- *learned*: :func:`rejo.book.share` with the accuracies learned so far;
- *told*: the same with the true accuracies.

    python -m benchmarks.bench_assignment [--runs N] [--weeks N]

With ``--intervals`` it draws teams and their answers instead, and counts how many intervals of
:func:`rejo.book.shrunk` hold the true accuracy, and how far estimates and plain shares are off.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from rejo.book import Team, accuracies, reviewer_table, share, shrunk
from rejo.scoring import CASE

CLASSES = ["a", "b", "c"]
ERRORS = np.array([[0.0, 50.0, 100.0], [30.0, 0.0, 40.0], [120.0, 60.0, 0.0]])
REVIEW = 8.0
CAPACITY = np.array([30, 30, 20, 20, 15, 15])
CASES, KNOWN, LATE = 200, 0.3, 8
WAYS = ("arrival", "rank", "learned", "told")
PARTS = ((0, 13), (13, 26), (26, 52))  # weeks that are told apart


def week_of(random):
    """Cases (n,) as the model judges them, and their true classes."""
    cases = np.zeros(CASES, CASE)
    cases["lower"] = random.randint(0, 2, CASES)
    cases["upper"] = cases["lower"] + 1
    upper = random.beta(2, 2, CASES)  # chance of the upper class
    cost = np.column_stack(
        [
            upper * ERRORS[cases["upper"], cases["lower"]],
            (1 - upper) * ERRORS[cases["lower"], cases["upper"]],
        ]
    )
    cases["forced"] = cases["lower"] + cost.argmin(axis=1)
    cases["chance"] = np.where(cost.argmin(axis=1) == 0, upper, 1 - upper)
    cases["worth"] = cost.min(axis=1) - REVIEW
    true = cases["lower"] + (random.uniform(size=CASES) < upper)
    return cases, true


def by_whoever(order, random):
    """Give cases in this order to whoever is free."""
    whom = np.full(CASES, -1)
    places = random.permutation(np.repeat(np.arange(len(CAPACITY)), CAPACITY))
    whom[order[: len(places)]] = places
    return whom


def shared(cases, order, accuracy):
    team = Team([str(r) for r in range(len(CAPACITY))], CAPACITY, np.ones(accuracy.shape, bool))
    whom = np.full(CASES, -1)
    whom[order] = share(cases[order], team, accuracy, ERRORS)
    return whom


def simulate(seed, weeks, spread):
    """Cost of a case (n_ways, weeks)."""
    random = np.random.RandomState(seed)
    R, K = len(CAPACITY), len(CLASSES)
    true_accuracy = random.beta(0.85 * spread, 0.15 * spread, (R, K))
    names = [str(r) for r in range(R)]
    answers = {way: [] for way in WAYS}  # by week
    cost = np.zeros((len(WAYS), weeks))
    for week in range(weeks):
        cases, true = week_of(random)
        order = np.argsort(-cases["worth"], kind="stable")
        luck, slip = random.uniform(size=CASES), random.randint(1, K, CASES)
        outcome = random.uniform(size=CASES) < KNOWN
        chance = random.randint(1 << 30)
        for i, way in enumerate(WAYS):
            if way in ("arrival", "rank"):
                first = np.arange(CASES) if way == "arrival" else order
                whom = by_whoever(first, np.random.RandomState(chance))
            elif way == "told":
                whom = shared(cases, order, true_accuracy)
            else:
                known = pd.concat([*answers[way][: max(week - LATE, 0)], frame_of(0, [], [], [])])
                table = reviewer_table(known, names, CLASSES)
                whom = shared(cases, order, accuracies(table, names, CLASSES))
            right = luck < true_accuracy[whom, true]
            said = np.where(right, true, (true + slip) % K)
            seen = whom >= 0
            final = np.where(seen, said, cases["forced"])
            cost[i, week] = (ERRORS[true, final] + REVIEW * seen).mean()
            if way == "learned":
                rows = np.flatnonzero(seen & outcome)
                answers[way].append(frame_of(week, whom[rows], said[rows], true[rows]))
    return cost


def frame_of(week, whom, said, true):
    """Answers and outcomes, as the case book gives them."""
    ids = [f"{week}-{i}" for i in range(len(whom))]
    about = {"id": ids * 2, "batch": None, "time": f"{week:03}"}
    kind = np.repeat(["review", "outcome"], len(ids))
    who = [str(r) for r in whom] + [""] * len(ids)
    label = [CLASSES[k] for k in [*said, *true]]
    return pd.DataFrame(about | {"kind": kind, "who": who, "class": label}, dtype=object)


# Reviewers of a team, their mean accuracy, how alike they are, and answers of each.
TEAMS = (
    (2, 0.85, 30, 10), (5, 0.85, 15, 20), (5, 0.9, 1000, 20), (12, 0.8, 10, 30),
    (12, 0.9, 40, 100), (6, 0.9, 5, 15),
)  # fmt: skip


def show_intervals(runs):
    for R, mean, alike, answers in TEAMS:
        random = np.random.RandomState(0)
        holds, own, plain = [], [], []
        for _ in range(runs):
            true = random.beta(mean * alike, (1 - mean) * alike, R)
            n = random.poisson(answers, R)
            right = random.binomial(n, true)
            found, low, high = shrunk(right.astype(float), n.astype(float))
            holds.append((low <= true) & (true <= high))
            own.append((found - true) ** 2)
            plain.append((np.where(n > 0, right / np.maximum(n, 1), 0.5) - true) ** 2)
        error, other = np.sqrt(np.mean(own)), np.sqrt(np.mean(plain))
        print(
            f"{R:>2} reviewers, mean {mean}, {alike:>4} alike, {answers:>3} answers: "
            f"{np.mean(holds):.1%} hold; error {error:.3f}, of shares {other:.3f}"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--intervals", action="store_true")
    arguments = parser.parse_args()
    if arguments.intervals:
        return show_intervals(6 * arguments.runs)
    for spread, name in ((8.0, "very different"), (30.0, "rather alike")):
        cost = np.array([simulate(i, arguments.weeks, spread) for i in range(arguments.runs)])
        print(f"\nReviewers: {name} (accuracies from Beta({0.85 * spread:g}, {0.15 * spread:g}))")
        print("weeks   " + "".join(f"{way:>18}" for way in WAYS))
        for first, end in PARTS:
            part = cost[:, :, first:end].mean(axis=2)  # (runs, n_ways)
            saved = 100 * (1 - part / part[:, :1])
            cells = [f"{part[:, 0].mean():.2f}"]
            cells += [
                f"{saved[:, i].mean():.1f} % +- {saved[:, i].std(ddof=1) / len(saved) ** 0.5:.1f}"
                for i in range(1, len(WAYS))
            ]
            print(f"{first + 1:>2}-{end:<4} " + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
