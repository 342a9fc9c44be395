"""How often reviewers are right, and who reviews which case."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from rejo._errors import RejoError
from rejo.book import (
    accuracies,
    assign,
    read_team,
    review_prices,
    reviewer_table,
    share,
    shrunk,
)
from rejo.prices import price_matrix
from rejo.scoring import CASE
from rejo.scoring.cases import NOVEL


def test_few_answers_are_shrunk_and_many_are_not():
    right, n = np.array([3.0, 300.0, 50.0, 80.0]), np.array([3.0, 300.0, 60.0, 100.0])
    share, low, high = shrunk(right, n)
    raw = right / n
    assert raw[1:].mean() < share[0] < 1  # between the team and 3 of 3
    assert abs(share[1] - raw[1]) < 0.01
    assert (np.abs(share - raw)[1:] <= np.abs(share - raw)[0]).all()
    assert (low < share).all()
    assert (share < high).all()
    assert high[0] - low[0] > 3 * (high[1] - low[1])
    order = [2, 0, 3, 1]
    np.testing.assert_allclose(shrunk(right[order], n[order])[0], share[order])


def test_intervals_cover_and_shrinkage_helps():
    random, covered, error, plain = np.random.default_rng(0), [], [], []
    for _ in range(60):
        true = random.beta(12.0, 3.0, 6)
        n = random.poisson(15, 6) + 1.0
        right = random.binomial(n.astype(int), true).astype(float)
        share, low, high = shrunk(right, n)
        covered.append((low <= true) & (true <= high))
        error.append((share - true) ** 2)
        plain.append((right / n - true) ** 2)
    assert np.mean(covered) > 0.9
    assert np.mean(error) < 0.9 * np.mean(plain)


def answers_of(*rows):
    frame = pd.DataFrame(rows, columns=["id", "batch", "kind", "who", "class"], dtype=object)
    return frame.assign(time=[f"2026-01-{i + 1:02}" for i in range(len(frame))])


def test_a_table_counts_outcomes_and_pairs():
    answers = answers_of(
        ("a", None, "review", "Ann", "no"),
        ("a", None, "review", "Ann", "yes"),  # she has thought again
        ("a", 2, "review", "Bo", "no"),
        ("b", 1, "review", "Ann", "no"),
        ("b", 2, "review", "Bo", "no"),  # another case of this name
        ("a", None, "outcome", "", "yes"),
        ("c", None, "review", "Bo", "maybe"),
        ("c", None, "review", "Ann", "maybe"),
    )
    table = reviewer_table(answers, team=["Cy"]).set_index(["who", "class"])
    assert table.loc[("Ann", "yes"), ["n", "right"]].tolist() == [1, 1]
    assert table.loc[("Bo", "yes"), ["n", "right", "pairs", "agreed"]].tolist() == [1, 0, 1, 0]
    assert table.loc[("Ann", "no"), ["pairs", "agreed"]].tolist() == [1, 0]  # Bo says so, of a
    assert table["basis"].groupby("class").first().to_dict() == {
        "maybe": "agreement", "no": "agreement", "yes": "outcome"
    }  # fmt: skip
    assert table.loc[("Ann", "maybe"), ["n", "right"]].tolist() == [1, 1]
    cy, ann, bo = (table.loc[(who, "yes"), "accuracy"] for who in ("Cy", "Ann", "Bo"))
    assert bo < cy < ann
    found = accuracies(table.reset_index(), ["Bo", "Ann"], ["yes", "other"])
    np.testing.assert_allclose(found, [[bo, 1.0], [ann, 1.0]])


def test_prices_of_mistakes_are_what_prices_take():
    answers = answers_of(
        *(
            (f"{i}", None, kind, "Ann" * (kind == "review"), label)
            for i in range(10)
            for kind, label in (("review", "a,b" if i else "c"), ("outcome", "a,b"))
        )
    )
    text = review_prices(reviewer_table(answers))
    plain = price_matrix("error=10,review=1", ["a,b", "c"])
    priced = price_matrix(f"error=10,review=1,{text}", ["a,b", "c"])
    assert 1.5 < priced[0, -1] < 5
    assert priced[1, -1] == plain[1, -1]


def best_of_all(gain, able, capacity):
    """The most cases, then the highest gain, of all ways to give cases to people."""
    n, R = gain.shape
    best = (0, 0.0)
    for whom in product(range(-1, R), repeat=n):
        rows = [i for i in range(n) if whom[i] >= 0]
        given = [whom[i] for i in rows]
        if all(able[i, whom[i]] for i in rows) and all(
            given.count(r) <= capacity[r] for r in range(R)
        ):
            best = max(best, (len(rows), sum(gain[i, whom[i]] for i in rows)))
    return best


def test_an_assignment_is_the_best_of_all():
    random = np.random.default_rng(0)
    for _ in range(60):
        n, R = random.integers(1, 6), random.integers(1, 4)
        gain = random.normal(size=(n, R)).round(1)
        able, capacity = random.random((n, R)) < 0.7, random.integers(0, 3, R)
        whom = assign(gain, able, capacity)
        rows = np.flatnonzero(whom >= 0)
        assert able[rows, whom[rows]].all()
        assert (np.bincount(whom[rows], minlength=R) <= capacity).all()
        most, highest = best_of_all(gain, able, capacity)
        assert len(rows) == most
        assert gain[rows, whom[rows]].sum() == pytest.approx(highest)
        assert (assign(gain, able, capacity) == whom).all()


def some_cases(n, K=3):
    cases = np.zeros(n, CASE)
    cases["lower"] = np.arange(n) % (K - 1)
    cases["upper"] = cases["forced"] = cases["lower"] + 1
    cases["chance"] = np.linspace(0.5, 0.1, n)
    cases["worth"] = np.linspace(9.0, 1.0, n)
    return cases


def test_cases_go_to_who_knows_their_classes():
    team = pd.DataFrame({"name": ["Ann", "Bo"], "cases": [3, 3], "classes": ["a,b", "b;c"]})
    team = read_team(team, ["a", "b", "c"], "team.csv")
    whom = share(some_cases(8), team, np.ones((2, 3)))
    assert whom.tolist() == [0, 1, 0, 1, 0, 1, -1, -1]  # the most worthwhile first
    # Who is right more often in a class gets the cases that may be of it.
    team = team._replace(decides=np.ones((2, 3), bool), capacity=np.array([4, 4]))
    accuracy = np.array([[0.9, 0.9, 0.6], [0.6, 0.9, 0.9]])
    whom = share(some_cases(8), team, accuracy)
    assert whom.tolist() == [0, 1] * 4
    # A case of which nothing is known comes first, whatever the others are worth.
    cases = some_cases(8)
    cases["reason"][7] = NOVEL
    team = team._replace(capacity=np.array([1, 0]))
    assert share(cases, team, accuracy).tolist() == [-1] * 7 + [0]
    team = team._replace(decides=np.array([[True, True, False], [True, True, True]]))
    assert share(cases, team, accuracy).tolist() == [0] + [-1] * 7
    # So does a case of an audit, though a review of it is worth nothing.
    cases["worth"][4], cases["drawn"][4] = -100.0, True
    assert share(cases, team, accuracy).tolist() == [-1] * 4 + [0] + [-1] * 3


def test_hours_are_cases():
    frame = pd.DataFrame({"name": ["A", "B"], "hours": [1.5, 2], "minutes": [15, 7]})
    assert read_team(frame, ["x", "y"], "team.csv").capacity.tolist() == [6, 17]


@pytest.mark.parametrize(
    "team",
    [
        {"name": ["A"]},
        {"name": ["A"], "hours": [2]},
        {"name": ["A", "a "], "cases": [1, 2]},
        {"name": ["A"], "cases": ["many"]},
        {"name": ["A"], "cases": [-1]},
        {"name": ["A"], "hours": [2], "minutes": [0]},
        {"name": ["A"], "cases": [1], "classes": ["x,z"]},
        {"name": [], "cases": []},
    ],
)
def test_a_team_that_cannot_be_read(team):
    with pytest.raises(RejoError) as caught:
        read_team(pd.DataFrame(team), ["x", "y"], "team.csv")
    assert (caught.value.parameter, caught.value.where) == ("reviewers", "team.csv")
    assert caught.value.remedy
