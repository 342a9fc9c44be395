"""One grammar of prices: all forms mean the same, and an error names the entry."""

import csv
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog

from rejo._errors import RejoError
from rejo.decisions import decide
from rejo.prices import (
    check_reviews_pay,
    describe_prices,
    highest_review_price,
    price_matrix,
    read_prices,
    reject_cost_of,
)
from rejo.prices._formulas import read_formula

LOAN = ["default", "repaid"]
GRADES = ["bad", "fair", "good"]
amounts = st.floats(0, 1e6).map(lambda x: round(x, 3))
names = st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=6)
names = names.map(str.strip).filter(lambda name: name not in ("", "review"))


@st.composite
def matrices(draw):
    """Labels and a price for each outcome."""
    labels = draw(st.lists(names, min_size=2, max_size=4, unique=True))
    K = len(labels)
    prices = np.array(draw(st.lists(amounts, min_size=K * (K + 1), max_size=K * (K + 1))))
    prices = prices.reshape(K, K + 1)
    np.fill_diagonal(prices, 0.0)
    assume(prices[:, :-1].any())
    return labels, prices


def quoted(label):
    return '"' + label.replace('"', '""') + '"'


# ---- forms ----------------------------------------------------------------------------------


@given(matrices(), st.sampled_from(",;\t"))
@settings(max_examples=60)
def test_all_forms_mean_the_same(tmp_path_factory, given_, sep):
    labels, prices = given_
    K = len(labels)
    pairs = {(a, b): prices[i, j] for i, a in enumerate(labels) for j, b in enumerate(labels)}
    reviews = dict(zip(labels, prices[:, -1].tolist(), strict=True))
    nested = {a: {b: pairs[a, b] for b in labels if b != a} for a in labels}
    text = [f"{quoted(a)}>{quoted(b)}={float(price)!r}" for (a, b), price in pairs.items()]
    text += [f"review:{quoted(a)}={price!r}" for a, price in reviews.items()]
    path = tmp_path_factory.mktemp("prices") / "prices.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=sep)
        writer.writerow(["true class", *labels, "review"])
        for i, a in enumerate(labels):
            writer.writerow([a, *("" if i == j else prices[i, j] for j in range(K + 1))])
    frame = pd.DataFrame(prices, labels, [*labels, "review"])
    forms = [
        ",".join(text),
        {**pairs, "review": reviews},
        {"error": nested, "review": reviews},
        path,
        str(path),
        read_prices(str(path)),
        frame,
        frame.mask(np.eye(K, K + 1, dtype=bool)),
        prices,
        prices.tolist(),
    ]
    for form in forms:
        assert_array_equal(price_matrix(form, labels), prices)


@pytest.mark.parametrize(
    ("cost_of", "wanted"),
    [
        ("error=5000,review=40", [[0, 5000, 40], [5000, 0, 40]]),
        (" error = 5000 ; review = 40 ", [[0, 5000, 40], [5000, 0, 40]]),
        ({"error": 5000, "review": 40}, [[0, 5000, 40], [5000, 0, 40]]),
        ("error:default=5000,error:repaid=300,review=40", [[0, 5000, 40], [300, 0, 40]]),
        ({"error:default": 5000, "error:repaid": 300, "review": 40}, [[0, 5000, 40], [300, 0, 40]]),
        ("default>repaid=9,error:default=5,error=3,review=1", [[0, 9, 1], [3, 0, 1]]),
        ("error=3,error:default=5,review=1", [[0, 5, 1], [3, 0, 1]]),
        ("error=3,review:default=2,review=1", [[0, 3, 2], [3, 0, 1]]),
        ("error=10,review=1,accuracy=0.9", [[0, 10, 2], [10, 0, 2]]),
        ("error=10,review=1,accuracy=90%", [[0, 10, 2], [10, 0, 2]]),
        ("error=10,review=1,accuracy:default=0.5", [[0, 10, 6], [10, 0, 1]]),
        ("step=7,review=1", [[0, 7, 1], [7, 0, 1]]),
    ],
)
def test_the_more_special_price_counts(cost_of, wanted):
    assert_allclose(price_matrix(cost_of, LOAN, ordered=False), wanted)


def test_a_price_per_step_grows_with_the_distance():
    found = price_matrix("step=10,bad>good=50,review=3", GRADES)
    assert_array_equal(found, [[0, 10, 50, 3], [10, 0, 10, 3], [20, 10, 0, 3]])


@pytest.mark.parametrize(
    "classes", [[0, 1], [0.0, 1.0], np.array([0, 1]), ["0", "1"], [b"0", b"1"]]
)
@pytest.mark.parametrize("cost_of", ["1>0=5,0>1=2,review=1", {"error": {0: 2, 1: 5}, "review": 1}])
def test_numbers_are_found_by_their_names(classes, cost_of):
    assert_array_equal(price_matrix(cost_of, classes), [[0, 2, 1], [5, 0, 1]])


@given(matrices())
@settings(max_examples=50)
def test_what_was_read_can_be_read_again(given_):
    labels, prices = given_
    text = [
        f"{quoted(a)}>{quoted(b)}={float(prices[i, j])!r}"
        for i, a in enumerate(labels)
        for j, b in enumerate(labels)
    ]
    flat = read_prices(",".join([*text, "review=3", "accuracy=0.5"]))
    again = ",".join(f"{key}={price!r}" for key, price in flat.items())
    assert read_prices(again) == flat
    assert_array_equal(price_matrix(flat, labels), price_matrix(again, labels))


def test_a_table_with_decimal_commas(tmp_path):
    path = tmp_path / "prices.csv"
    path.write_bytes(
        "\ufeffwahr;default;repaid;review\r\ndefault;;0,5;0,1\r\nrepaid;2;0;0,1\r\n".encode()
    )
    assert_array_equal(price_matrix(path, LOAN), [[0, 0.5, 0.1], [2, 0, 0.1]])
    for cell, value in {"1,5*a": 15, "max(1, 2*a)": 20, "max(1,2*a)": None}.items():
        path.write_text(f"class;default;repaid;review\ndefault;;{cell};0,1\nrepaid;2;;0,1\n")
        if value is None:  # 1.2 times a, or 1 and twice a
            with pytest.raises(RejoError, match="decimal mark"):
                read_prices(str(path))
        else:
            assert price_matrix(path, LOAN, columns={"a": [10]})[0, 0, 1] == value


# ---- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost_of", "message"),
    [
        ("", "'' is not a price. Prices are such as error=5000,review=40"),
        ("5000", "'5000' is not a price.*without a separator in thousands"),
        ("error=5,000,review=40", "'000' is not a price.*without a separator in thousands"),
        ("eror=5,review=1", "'eror=5' is not a price. Did you mean 'error'?"),
        ("default=5,review=1", "'default=5' is not a price.*error:NAME=5000.*double quotes"),
        ("error=x,review=1", "'x' is not a number or a column"),
        ("error==5,review=1", "error: the formula '=5', character 1"),
        ("error=2*(amount,review=1", "error: the formula '2.*', character 10"),
        ("default>default=amount,error=3,review=1", "default>default"),
        ("error=5,review=1,accuracy=x", "accuracy"),
        ('error:"default=5,review=1', "a double quote is not closed"),
        ("error=nan,review=1", "error"),
        ("error=-4,review=1", "error"),
        ("error=1e13,review=1", "error"),
        ("error=5", "no price for a review. Add review="),
        ("review=5", "no price for an error. Add error="),
        ("error:default=5,review=1", "no price for an error on 'repaid'. Add error:repaid="),
        ("error=5,review:default=1", "no price for a review of 'repaid'. Add review:repaid="),
        ("error:defalt=5,review=1", "error:defalt"),
        ("x>default=5,review=1", "x>default"),
        ("default>default=5,error=3,review=1", "default>default"),
        ("error=4,error=5,review=1", "error"),
        ("error=4,step=5,review=1", "error and step both price every error"),
        ("step:default=5,review=1", "step"),
        ("error=0,review=1", "no error costs anything"),
        ("error=5,review=1,accuracy=95", "accuracy"),
        ({"error": True, "review": 1}, "error"),
        ({"error": [5], "review": 1}, "error"),
        ({"error": {"default": 5, "paid": 3}, "review": 1}, "error:paid"),
        ({1: 2}, "'1' is not a price"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\), not \(2, 3\). It has a row for each of the 2"),
        ([[0, 1, 2], [3, 1, 2]], "row 'repaid', column 'repaid'"),
        ([[0, 1, 2], [3, 0, -2]], "row 'repaid', column 'review'"),
        ([[0, np.nan, 2], [3, 0, 2]], "row 'default', column 'repaid'"),
        ([["a"]], "is not a matrix of numbers"),
        (None, "None is not prices. Give prices such as error=5000,review=40"),
        (40, "40 is not prices"),
    ],
)
def test_an_error_names_the_entry(cost_of, message):
    with pytest.raises(RejoError, match=message) as caught:
        price_matrix(cost_of, LOAN)
    assert caught.value.parameter == "cost_of"


def test_an_error_names_a_missing_pair_and_a_missing_order():
    with pytest.raises(
        RejoError, match=r"no price for a true 'bad' decided as 'good'. Add bad>good="
    ):
        price_matrix("bad>fair=5,error:fair=4,error:good=4,review=1", GRADES)
    with pytest.raises(
        RejoError, match="step needs ordered classes; bad, fair, good have no order"
    ):
        price_matrix("step=5,review=1", GRADES, ordered=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a row for each true class and a column for each decision"),
        (b"class,default,repaid,review\n", "a row for each true class"),
        (
            b"class,default,repaid,review\ndefault,0,x/2,1\n",
            "row 'default', column 'repaid': .*'x/2'",
        ),
        (
            b"class,default,repaid,review\ndefault,0,-1,1\n",
            "row 'default', column 'repaid'",
        ),
        (b"class,default,repaid,review\ndefault,3,1,1\n", "a right decision costs nothing, got 3"),
        (b"class,default,repaid,review\ndefault,0,1,1,7\n", "more cells than the first line"),
        (b"class,default,repaid,review\nd\xff,0,1,1\n", "not text in UTF-8"),
        (b"class,default,repaid,review\n" * 50_000, "too large for a table of prices"),
        (b'class,default,repaid,review\n"default\n' + b"x" * 200_000, "not a CSV table"),
    ],
)
def test_a_bad_table_is_named_with_its_cell(tmp_path, content, message):
    path = tmp_path / "prices.csv"
    path.write_bytes(content)
    with pytest.raises(RejoError, match=message) as caught:
        read_prices(str(path))
    assert caught.value.where == str(path)


def test_a_table_with_gaps(tmp_path):
    path = tmp_path / "prices.csv"
    with pytest.raises(RejoError, match="cannot be read: No such file"):
        read_prices(str(path))
    path.write_text("class,default,repaid,review\ndefault,0,5,1\n")
    with pytest.raises(RejoError, match="no price for an error on 'repaid'"):
        price_matrix(path, LOAN)
    path.write_text("class,default,repaid\ndefault,0,5\nrepaid,4,0\n")
    with pytest.raises(RejoError, match="no price for a review"):
        price_matrix(path, LOAN)
    path.write_text("class,default,repaid,review\ndefault,0,5,1\nrepaid,4,0,1\nrepaid,4,0,1\n")
    with pytest.raises(RejoError, match="row 'repaid', column 'default'"):
        price_matrix(path, LOAN)


# ---- when a review pays ----------------------------------------------------------------------


@given(st.floats(0.1, 1e4), st.floats(0.1, 1e4))
@settings(max_examples=40)
def test_with_two_classes_the_limit_is_a_known_formula(a, b):
    limit = highest_review_price(np.array([[0, a, 0.01], [b, 0, 0.01]]))
    assert_allclose(limit, a * b / (a + b), rtol=1e-6)


@given(matrices())
@settings(max_examples=60)
def test_the_limit_is_the_value_of_the_game(given_):
    _, prices = given_
    prices = prices / prices.max() + 0.01
    np.fill_diagonal(prices, 0.0)
    K, loss, review = len(prices), prices[:, :-1], prices[:, -1].copy()
    limit = highest_review_price(prices)
    factor = limit / review
    assert_allclose(factor, factor[0])
    # Decisions at random, with shares s, cost at most f times a review whatever the class is: for
    # no posterior can the cheapest decision cost more.  The least f is the dual problem.
    dual = linprog(
        np.append(np.zeros(K), 1.0),
        A_ub=np.column_stack([loss, -review]),
        b_ub=np.zeros(K),
        A_eq=[np.append(np.ones(K), 0.0)],
        b_eq=[1.0],
    )
    shares = dual.x[:-1]
    assert_allclose((loss @ shares / review).max(), factor[0], rtol=1e-6)
    p = -dual.ineqlin.marginals[None] / -dual.ineqlin.marginals.sum()  # where it is attained
    for share, decision in ((0.99, -1), (1.01, 0)):
        prices[:, -1] = share * limit
        assert min(decide(p, prices).decision.tolist()[0], 0) == decision


def test_reviews_that_never_pay_are_refused_with_the_price_at_which_they_would():
    with pytest.raises(
        RejoError, match=r"never pays at these prices.* It would pay at 2.50 or less"
    ):
        check_reviews_pay(price_matrix("error=5,review=3", LOAN))
    check_reviews_pay(price_matrix("error=5,review=3", GRADES))  # a guess among three costs more
    check_reviews_pay(price_matrix("error=5,review=2.5", LOAN))
    with pytest.raises(
        RejoError, match=r"a review costs 40, .* worst error or more \(5\).*swapped"
    ):
        check_reviews_pay(price_matrix("error=5,review=40", LOAN))
    with pytest.raises(RejoError, match=r"It would pay at 58.8 % of its prices or less"):
        check_reviews_pay(price_matrix("error=3,review=2.5,review:default=2.6", LOAN))
    check_reviews_pay(price_matrix("error=3,review:default=0,review:repaid=2", LOAN))
    check_reviews_pay(price_matrix("error=3,review=0", LOAN))


def test_the_price_at_which_a_review_would_pay_is_without_the_reviewers_mistakes():
    with pytest.raises(RejoError, match=r"never pays .* would not pay at any price"):
        check_reviews_pay("error=100,review=10,accuracy=0.4", LOAN)
    with pytest.raises(RejoError, match=r"It would pay at 10 or less"):
        check_reviews_pay("error=100,review=20,accuracy=0.6", LOAN)
    check_reviews_pay("error=100,review=9.9,accuracy=0.6", LOAN)
    with pytest.raises(RejoError, match=r"a review costs 120, .* worst error or more \(100\)"):
        check_reviews_pay("error=100,review=120,accuracy=0.6", LOAN)


def test_reviewers_mistakes_add_to_the_price_of_a_review():
    """A wrong answer is any of the others."""
    errors = np.array([[0.0, 1.0, 3.0], [5.0, 0.0, 8.0], [2.0, 9.0, 0.0]])
    pairs = {(i, j): errors[i, j] for i in range(3) for j in range(3) if i != j}
    accuracy = {0: 0.9, 1: 1.0, 2: 0.25}
    found = price_matrix({**pairs, "review": 0.5, "accuracy": accuracy}, [0, 1, 2])
    np.testing.assert_array_equal(found[:, :-1], errors)
    np.testing.assert_allclose(found[:, -1], [0.5 + 0.1 * 2, 0.5, 0.5 + 0.75 * 5.5])


@given(matrices(), st.floats(0, 1))
@settings(max_examples=60)
def test_with_mistakes_too_a_review_pays_up_to_the_limit(given_, accuracy):
    _, prices = given_
    prices = prices / prices.max() + 0.01
    np.fill_diagonal(prices, 0.0)
    mistakes = (1 - accuracy) * prices[:, :-1].sum(axis=1) / (len(prices) - 1)
    limit = highest_review_price(prices, mistakes)
    if np.isnan(limit).any():
        prices[:, -1] = 1.001 * mistakes  # reviews that cost next to nothing
    else:
        assume(limit.max() > 1e-3)
        prices[:, -1] = mistakes + 0.99 * limit
        check_reviews_pay(prices)
        prices[:, -1] = mistakes + 1.01 * limit
    with pytest.raises(RejoError, match=r"never pays|worst error"):
        check_reviews_pay(prices)


def test_the_reject_cost_of_one_price_for_errors():
    assert reject_cost_of(price_matrix("error=50,review=10", GRADES)) == 0.2
    assert reject_cost_of(price_matrix("error=50,review=10,review:bad=9", GRADES)) is None
    assert reject_cost_of(price_matrix("step=50,review=10", GRADES)) is None


# ---- words ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost_of", "classes", "said"),
    [
        ("error=5000,review=40", LOAN, "An error costs 5,000 and a review 40."),
        ("error=1,review=0.125", GRADES, "An error costs 1 and a review 0.125."),
        (
            "error:default=5000,error:repaid=300,review=40",
            LOAN,
            "A wrong decision on default costs 5,000, on repaid 300; a review costs 40.",
        ),
        (
            "error=500,review:default=40,review:repaid=12.5",
            LOAN,
            "An error costs 500; a review of default costs 40, of repaid 12.50.",
        ),
        (
            "step=10,review=4",
            GRADES,
            "An error costs 10 for each class that it is off; a review costs 4.",
        ),
        (
            "error=5,bad>good=50,review=2",
            GRADES,
            "To decide bad as fair costs 5, bad as good 50, fair as bad 5, fair as good 5, good as "
            "bad 5, good as fair 5; a review costs 2.",
        ),
        (
            "error=5,0>1=50,review=2",
            list(range(7)),
            "An error costs from 5 to 50, by class; a review costs 2.",
        ),
        (
            "error=10,review=1,accuracy=95%",
            LOAN,
            "An error costs 10 and a review 1. Reviewers are right in 95 % of the cases.",
        ),
        (
            "error=10,review=1,accuracy:default=0.905",
            LOAN,
            "An error costs 10 and a review 1. Reviewers are right in 90.5 % for default, 100 % "
            "for repaid.",
        ),
        (
            "error=5,review=3",
            LOAN,
            "An error costs 5 and a review 3. A review never pays. It would pay at 2.50 or less.",
        ),
        (
            "error=100,review=10,accuracy=0.4",
            LOAN,
            "An error costs 100 and a review 10. Reviewers are right in 40 % of the cases. A "
            "review never pays. It would not pay at any price, because reviewers are wrong so "
            "often.",
        ),
    ],
)
def test_prices_in_words(cost_of, classes, said):
    assert describe_prices(cost_of, classes) == said


# ---- formulas -------------------------------------------------------------------------------

LOANS = {"amount": [1000.0, np.nan, 50.0, -5.0], "loan rate": [0.1, 0.2, 0.3, 0.4]}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.6*amount+50", lambda a, r: 0.6 * a + 50),
        ("2 * ( amount - 1 ) * 3", lambda a, r: 6 * (a - 1)),
        ("amount - 2 - 3", lambda a, r: a - 5),
        ('max(10, min(amount, 60, 1e3*"loan rate"))',
         lambda a, r: np.fmax(10, np.minimum(np.minimum(a, 60), 1000 * r))),
        ("-(-amount)", lambda a, r: a),
    ],
)  # fmt: skip
def test_formulas_give_prices_of_each_case(text, value):
    prices = price_matrix(f"error:default={text},error:repaid=7,review=4", LOAN, columns=LOANS)
    a, r = map(np.array, LOANS.values())
    wanted = np.where(value(a, r) >= 0, value(a, r), np.nan)
    if text.startswith("max"):
        wanted[1] = np.nan
    assert prices.shape == (4, 2, 3)
    assert_allclose(prices[:, 0, 1], wanted)
    assert_array_equal(prices[:, 1], np.tile([7, 0, 4], (4, 1)))


def test_formulas_of_reviews_pairs_steps_and_their_mistakes():
    cost_of = {"error": "amount", ("bad", "good"): "2*amount", "review": "0.1*amount"}
    one = price_matrix(cost_of, GRADES, columns={"amount": [10]})
    assert_array_equal(
        one[0], price_matrix({"error": 10, ("bad", "good"): 20, "review": 1}, GRADES)
    )
    less = price_matrix(cost_of | {"accuracy": 0.5}, GRADES, columns={"amount": [10, 20]})
    assert_allclose(less[1], 2 * less[0])
    assert_allclose(less[0, :, -1], 1 + 0.5 * one[0, :, :-1].sum(axis=1) / 2)


def test_a_formula_without_columns_is_a_number():
    assert_array_equal(
        price_matrix("error=2*(3+4),review=max(1,2)", LOAN), [[0, 14, 2], [14, 0, 2]]
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"amuont": [1.0]}, "'amount' is not .*Did you mean 'amuont'"),
        ({"amount": ["much"]}, "'amount' does not hold numbers alone"),
        (None, "'amount' is not a number or a column"),
        ({"amount": [[1.0, 2.0]]}, "'amount' does not hold numbers alone"),
        ({"amount": 3.0}, "'amount' does not hold numbers alone"),
        ({"amount": np.array(["2024-05-01"], dtype="M8[D]")}, "does not hold numbers alone"),
        ({"amount": [1.0, 2.0], "fee": [1.0]}, "'fee' has another length"),
    ],
)
def test_columns_of_formulas_that_are_not_there(columns, message):
    with pytest.raises(RejoError, match=message):
        price_matrix("error=amount+fee,review=1", LOAN, columns=columns)


def test_masked_numbers_are_missing_and_numbers_may_be_names():
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    found = price_matrix('error="7",review=1', LOAN, columns={7: masked})
    assert_array_equal(found[:, 0, 1], [1.0, np.nan])


@given(st.text(alphabet='ab1.5+-*(),"minx _\n\x00é٣^=/e', max_size=40))
def test_any_text_is_a_formula_or_an_error_with_its_place(text):
    problem = ""
    try:
        formula = read_formula(text)
    except RejoError as error:
        problem = error.problem
    if problem:
        assert re.search(r"character \d+: ", problem)
    else:
        values = formula.values({name: np.ones(3) for name in formula.columns})
        assert np.shape(values) in ((), (3,))


@pytest.mark.parametrize(
    "text", ["__import__('os')", "amount.real", "amount[0]", "lambda: 1", "1 if a else 2", "a**2",
             "min(a", "(" * 500 + "a" + ")" * 500, "a" * 2000, "1e999", "f(a)", "min()"],
)  # fmt: skip
def test_what_is_no_formula(text):
    with pytest.raises(RejoError, match=r"character \d+: "):
        read_formula(text)
