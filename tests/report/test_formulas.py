"""Prices of each case on the page: fields for the numbers of formulas, and money case by case."""

import numpy as np
import pytest

from rejo.prices import price_columns, price_matrix
from rejo.report import render
from rejo.selection import of_posteriors

CLASSES = ["good", "bad"]
FORM = (
    'error:bad=min({}*amount,{})-{}*-"years left",error:good={}*amount+{},'
    "review={}*pages+{},accuracy=0.97"
)
COSTS = FORM.format("0.6", "9000", "0", "0.02", "50", "15", "10")
OPERATIONS = {"+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum}


@pytest.fixture(scope="module")
def loans(make):
    """A report on loans, their amounts as the page has them, and their points."""
    rng = np.random.default_rng(0)
    n = 400
    columns = {
        "amount": np.exp(rng.normal(7, 1, n)), "pages": rng.integers(1, 9, n).astype(float),
        "years left": rng.uniform(0, 5, n),
    }  # fmt: skip
    columns["amount"][5] = np.nan
    bad = rng.beta(0.5, 2, n)
    y, p = (rng.random(n) < bad).astype(int), np.stack([1 - bad, bad], axis=1)
    L = price_matrix(COSTS, CLASSES, columns=columns)
    L = np.where(np.isnan(L), 0.0, L)
    own = of_posteriors(p, y=y, fold=np.zeros(n, int)).at_prices(L)
    cuts = sorted({0.0, *np.quantile(own.doubt, np.linspace(0, 1, 21))}, reverse=True)
    points = [own.at(cut) for cut in cuts]
    report = make.report(
        points, y, CLASSES, chosen=cuts.index(0.0), axis="review_share", prices=COSTS,
        amounts=columns | {"secret": np.arange(n)}, ordered=False,
    )  # fmt: skip
    shown = {name: np.array([float(f"{v:.3g}") for v in c]) for name, c in columns.items()}
    return report, points, y, shown


def money(point, y, shown, costs=COSTS):
    """Cost of 1,000 cases of wrong decisions, of reviews, and if all were decided or reviewed."""
    L = np.nan_to_num(price_matrix(costs, CLASSES, columns=shown))
    L[np.isnan(shown["amount"])] = 0.0
    rows = L[np.arange(len(y)), y]
    paid = rows[np.arange(len(y)), point.decision]
    out = point.decision < 0
    forced = rows[np.arange(len(y)), point.forced]
    return [1000 * part.sum() / len(y) for part in (paid[~out], paid[out], forced, rows[:, -1])]


def test_steps_and_weights_are_the_prices(loans):
    report, _, y, shown = loans
    found = report.data["formulas"]
    total = np.zeros((len(y), 2, 3))
    for entry, weight in zip(found["entries"], found["weights"], strict=True):
        stack = []
        for step in entry["steps"]:
            if isinstance(step, str):
                last = stack.pop()
                stack.append(OPERATIONS[step](stack.pop(), last))
            elif step < 0:
                stack.append(shown[price_columns(COSTS)[-1 - step]])
            else:
                stack.append(found["numbers"][step - 1] if step else 0.0)
        total += np.broadcast_to(stack[0], len(y))[:, None, None] * np.array(weight)
    expected = price_matrix(COSTS, CLASSES, columns=shown)
    priced = ~np.isnan(shown["amount"])
    np.testing.assert_allclose(total[priced], expected[priced], rtol=1e-12, atol=1e-9)


def test_the_page_has_the_columns_of_the_formulas_and_no_others(loans):
    report, _, y, shown = loans
    found = report.data["formulas"]
    assert found["names"] == ["amount", "years left", "pages"]
    for name, values in zip(found["names"], found["values"], strict=True):
        assert values[5] is None
        assert np.delete(values, 5).astype(float).tolist() == np.delete(shown[name], 5).tolist()
    assert found["y"] == y.tolist()
    html = render(report)
    assert "secret" not in html
    assert "eval(" not in html
    assert "Function(" not in html


def test_money_follows_the_numbers_that_are_typed(loans, visit):
    report, points, y, shown = loans
    page = visit(report)
    texts = "() => Object.fromEntries([...document.querySelectorAll('[data-text]')]" \
            ".map((n) => [n.dataset.text, n.textContent]))"  # fmt: skip
    names = ("cost-wrong", "cost-review", "forced-cost-total", "hand-cost-total")
    for numbers in (None, ("0.3", "700", "0", "0.05", "20", "4", "2")):
        if numbers is not None:
            for i, number in enumerate(numbers):
                page.locator(".formula-number").nth(i).fill(number)
            page.locator(".formula-number").last.press("Enter")
        costs = COSTS if numbers is None else FORM.format(*numbers)
        at = int(page.locator("#slider").input_value())
        found = page.evaluate(texts)
        expected = money(points[at], y, shown, costs)
        for name, value in zip(names, expected, strict=True):
            assert float(found[name].replace(",", "")) == pytest.approx(value, abs=1)
        cheapest = min(sum(money(point, y, shown, costs)[:2]) for point in points)
        if numbers is not None:  # the slider moved there
            assert sum(expected[:2]) == pytest.approx(cheapest)
    assert page.evaluate("location.hash").endswith("numbers=0.3,700,0,0.05,20,4,2")
    page.locator(".formula-number").nth(4).fill("-900")
    page.locator(".formula-number").nth(4).press("Enter")
    assert page.locator("#price-message").inner_text()
    assert page.evaluate(texts)["cost-wrong"] == found["cost-wrong"]


@pytest.mark.parametrize("unit", [0.0, 1e8])
def test_prices_of_cases_are_what_they_are(loans, make, unit):
    """Amounts of a currency with large numbers, and prices of nothing."""
    _, points, y, shown = loans
    prices = f"error={unit:g}*amount,review=40"
    page = make.report(points, y, CLASSES, axis="review_share", prices=prices, amounts=shown)
    assert np.max(np.delete(page.data["prices"], -1, axis=1)) >= unit * np.nanmin(shown["amount"])
    assert render(page)


def test_the_options_are_the_prices(loans, compute):
    report = loans[0]
    page = compute.page(report)
    shown = page.evaluate("document.getElementById('options').textContent")
    assert COSTS in shown
