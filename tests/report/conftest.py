"""Made-up outcomes, reports of three kinds, and a browser."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rejo.decisions import uniform_prices
from rejo.explain import DoubtfulFeature
from rejo.metrics import Interval
from rejo.report import make_report, render
from rejo.selection import Choice, Guarantee, OutOfFold, of_posteriors
from rejo.selection.models import Tried
from rejo.selection.out_of_fold import REGION, every_cut
from tests.browser import chromium

COSTS = (0.02, 0.04, 0.08, 0.12, 0.16, 0.2, 0.24, 0.28, 0.32, 0.36, 0.4, 0.44, 0.48, 0.5)


def asymmetric_prices(n_classes, seed=0):
    """Prices that differ for every pair of classes, and reviews for every class."""
    rng = np.random.default_rng(seed)
    prices = rng.integers(20, 900, (n_classes, n_classes + 1)).astype(float)
    np.fill_diagonal(prices, 0.0)
    prices[:, -1] = rng.integers(20, 60, n_classes)
    return prices


def made_up_cases(n=400, n_classes=2, *, costs=COSTS, n_folds=5, seed=0, width=1.0):
    """A noisy score with reject bands around the class limits, narrower for higher costs."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, n_classes, n))
    limits = np.arange(1, n_classes) - 0.5
    outcomes = []
    for cost in costs:
        score = y + rng.normal(scale=0.45, size=n)
        near = np.abs(score[:, None] - limits).argmin(axis=1)
        sureness = np.abs(score - limits[near])
        forced = np.searchsorted(limits, score)
        half = width * (0.5 - cost)
        decision = np.where(sureness < half, -1, forced)
        bands = np.stack([limits - half, limits + half], axis=1)
        fold = rng.permutation(n) % n_folds
        doubt = (decision < 0) + 1 / (1 + sureness)
        outcomes.append(OutOfFold(
            doubt, forced, REGION, trained_for=cost, lower=near, score=score, bands=bands,
            fold=fold,
        ))  # fmt: skip
    return outcomes, y


def share_cases(n=500, n_classes=3, *, n_points=101, seed=0):
    """One model that reviews other shares of its ranking."""
    (own,), y = made_up_cases(n, n_classes, costs=(0.2,), n_folds=1, seed=seed)
    outcomes, sizes = at_sizes(own, np.linspace(0, 1, n_points))
    n_own = int((own.decision < 0).sum())
    if n_own not in sizes:
        at = int(np.searchsorted(sizes, n_own))
        outcomes.insert(at, own)
        sizes.insert(at, n_own)
    outcomes[sizes.index(n_own)] = own
    return outcomes, y, sizes.index(n_own)


def at_sizes(own, shares):
    """The same cases with these shares of reviews, ascending, and the numbers of them."""
    cuts, sizes = every_cut(own)
    wanted = sorted({max(round(len(own.doubt) * share), sizes[0]) for share in shares})
    return [own.at(cuts[sizes.tolist().index(size)]) for size in wanted], wanted


def posterior_cases(n=600, n_classes=4, *, prices=None, n_points=41, seed=0):
    """Cuts in the ranking by what a review is worth at these prices, from true posteriors."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.4), n)
    y = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    prices = uniform_prices(n_classes, 0.3) if prices is None else np.asarray(prices, dtype=float)
    own = of_posteriors(p, y=y, fold=np.arange(n) % 5).at_prices(prices)
    cuts = {0.0, *np.quantile(own.worth, np.linspace(0, 1, n_points)), own.worth.max() + 1}
    cuts = sorted(cuts, reverse=True)
    return [own.at(cut) for cut in cuts], y, cuts.index(0.0)


def made_up_choice(names, y, n_classes, *, prices=None, seed=0):
    """Models that were tried, the second of them chosen, with posteriors of these cases."""
    rng = np.random.default_rng(seed)
    tried = []
    for i, name in enumerate(names):
        p = rng.dirichlet(np.ones(n_classes), len(y)) + np.eye(n_classes)[y] / (i + 1)
        cases = of_posteriors(
            p / p.sum(axis=1, keepdims=True), y=y, fold=np.arange(len(y)) % 5,
            classes=np.arange(n_classes),
        )  # fmt: skip
        cost = Interval(58.25 + i, 57.0, 63.0 + i)
        tried.append(Tried(name, None, {}, {}, cases, np.full(len(y), 0.39), cost, 1.0))
    prices = [uniform_prices(n_classes, 0.2)] if prices is None else prices
    return Choice(names[1], tried, {}, prices, 5, None, y)


OVERALL = Guarantee("accepted_error_rate", 0.021, 0.03, 0.95, 400, 12)
PROMISES = [
    OVERALL,
    OVERALL._replace(rate="rejection_rate", target=0.3, bound=0.298),
    OVERALL._replace(by="group", value="north", target=0.05, bound=0.043, n_cases=1234),
    OVERALL._replace(by="group", value="<i>south</i>", target=0.05, bound=0.0495, n_cases=987),
]
DOUBTFUL = [
    DoubtfulFeature("age", 0.125, 0.1, "", 0, 0.0, 0.0),
    DoubtfulFeature("<b>income</b>", 0.61, 0.4, "36 to 72", 1200, 0.44, 0.21),
]
LEADING = {"<i>no</i>": DOUBTFUL, "yes": DOUBTFUL[:1], "never": []}


def reasoned_cases(n=2500, *, n_points=31, seed=5):
    """One model in regions that differ, with novel cases and a group that a rule sends to review.

    In the south, many sure decisions are wrong.
    """
    rng = np.random.default_rng(seed)
    region = rng.choice(["north", "south", "east", "isle"], n, p=[0.5, 0.3, 0.18, 0.02])
    (own,), y = made_up_cases(n, 3, costs=(0.2,), n_folds=1, seed=seed)
    doubt = own.doubt - (own.decision < 0)  # 1 / (1 + sureness)
    mixed_up = (region == "south") & (doubt < 1 / 1.4) & (rng.random(n) < 0.4)
    forced = np.where(mixed_up, (y + 1) % 3, own.forced)
    kind = np.where(region == "isle", 2, rng.random(n) < 0.03).astype(np.int8)
    doubt = np.where(kind > 0, np.inf, doubt)
    ranked = replace(own, doubt=doubt, forced=forced, kind=kind, trained_for=np.nan)
    return at_sizes(ranked, np.linspace(0, 1, n_points))[0], y, region


def simple_report(outcomes, y, classes=None, **options):
    classes = classes or [f"class {k}" for k in range(int(y.max()) + 1)]
    given = {"chosen": len(outcomes) // 2, "title": "A title", "provenance": {"data": "made up"}}
    return make_report(outcomes, y, classes, **(given | options))


@pytest.fixture(scope="session")
def make():
    """What makes outcomes, models that were tried, and reports."""
    return SimpleNamespace(
        cases=made_up_cases, share_cases=share_cases, posterior_cases=posterior_cases,
        prices=asymmetric_prices, reasoned_cases=reasoned_cases, choice=made_up_choice,
        promises=PROMISES, doubtful=DOUBTFUL, report=simple_report,
    )  # fmt: skip


@pytest.fixture(scope="session")
def reports():
    """Two classes and rivals; four ordered classes and groups; one model and shares.

    And two rankings by what a review is worth: with prices by class, and with twelve classes.
    And one with all reasons for a review, promises by group, and features that make doubtful.
    """
    rng = np.random.default_rng(1)
    outcomes, y = made_up_cases(1234)
    binary = simple_report(
        outcomes, y, ["benign", "malignant"], size=1234 / 2.25, prices=(1000, 120),
        choice=made_up_choice(["Chow", "svm", "two machines"], y, 2), notes=["A note."],
        command="rejo train",
    )  # fmt: skip
    outcomes, y = made_up_cases(2000, 4, seed=2)
    groups = {
        "region": np.where(y == 3, "north", rng.choice(["south", "east", "west"], 2000)),
        "age": rng.choice([f"{i} to {i + 9}" for i in range(20, 90, 10)], 2000),
        "branch": np.array(["main"] * 1980 + ["new"] * 20),
    }
    ordinal = simple_report(outcomes, y, ["low", "mid", "high", "top"], by=groups)
    outcomes, y, chosen = share_cases(n_points=41)
    groups = {"sex": rng.choice(["f", "m"], len(y))}
    share = simple_report(outcomes, y, chosen=chosen, axis="review_share", by=groups)
    prices = asymmetric_prices(4)
    outcomes, y, chosen = posterior_cases(prices=prices)
    options = {"axis": "review_share", "ordered": False}
    by_class = simple_report(
        outcomes, y, ["car", "boat", "train", "bike"], chosen=chosen, prices=prices,
        choice=made_up_choice(["logistic", "blend", "<b>boosting</b>"], y, 4, prices=[prices]),
        **options,
    )  # fmt: skip
    outcomes, y, chosen = posterior_cases(n_classes=12, seed=3)
    dozen = simple_report(outcomes, y, chosen=chosen, prices=(2000, 600), **options)
    outcomes, y, region = reasoned_cases()
    reasons = simple_report(
        outcomes, y, ["low", "mid", "high"], chosen=6, axis="review_share", prices=(100, 12),
        by={"region": region}, promises=PROMISES, sent_to_review=["isle"], doubtful=DOUBTFUL,
        leading=LEADING,
    )  # fmt: skip
    return {
        "binary": binary, "ordinal": ordinal, "share": share, "by class": by_class,
        "dozen": dozen, "reasons": reasons,
    }  # fmt: skip


def pytest_collection_modifyitems(items):
    """Tests in a browser are for `make check`."""
    for item in items:
        here = item.path.is_relative_to(Path(__file__).parent)  # pytest hands over all tests
        if here and "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.check)


@pytest.fixture(scope="session")
def browser():
    """Chromium of the system."""
    with chromium() as running:
        yield running


PLAIN = str.maketrans({"\u2068": "", "\u2069": "", "\u00a0": " "})
COMPUTE = """([point, prices]) => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const given = prices === null ? data.prices
    : Array.isArray(prices[0]) ? prices : uniformPrices(data, ...prices);
  const setting = { point: point ?? data.chosen, prices: given };
  return { texts: numbers(data, setting), best: bestPoint(data, given) };
}"""


@pytest.fixture(scope="session")
def compute(browser, tmp_path_factory):
    """What the page of a report computes for a setting: its texts, and the best point."""
    opened, path = {}, tmp_path_factory.mktemp("pages") / "report.html"

    def page_of(report):
        if id(report) not in opened:
            path.write_text(render(report), encoding="utf-8")
            page = browser.new_page()
            page.goto(path.as_uri())
            opened[id(report)] = report, page
        return opened[id(report)][1]

    def found(report, point=None, prices=None):
        given = None if prices is None else np.asarray(prices, dtype=float).tolist()
        return page_of(report).evaluate(COMPUTE, [point, given])

    found.page = page_of
    yield found
    for _, page in opened.values():
        page.close()


@pytest.fixture(scope="session")
def texts(compute):
    """Every text of a report at a setting, by default that at which its page opens."""

    def found(report, point=None, prices=None):
        shown = compute(report, point, prices)["texts"]
        return {key: text.translate(PLAIN) for key, text in shown.items()}

    return found


class Visit:
    """A page opened from disk, and everything that it should not have done."""

    def __init__(self, browser, **options):
        window = {"viewport": {"width": 1200, "height": 900}}
        self.context = browser.new_context(**(window | options))
        self.page = self.context.new_page()
        self.requests, self.complaints, self.addresses = [], [], []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))

    def open(self, path, fragment):
        self.addresses.append(path.as_uri())
        self.page.goto(path.as_uri() + fragment)

    def close(self):
        self.context.close()
        assert self.complaints == []
        assert {url.partition("#")[0] for url in self.requests} == set(self.addresses)


@pytest.fixture
def visit(browser, tmp_path):
    """Open the page of a report; whatever is done there, it must not fetch or complain."""
    visits = {}

    def open_report(report, *, page=None, fragment="", **options):
        if page is None:
            started = Visit(browser, **options)
            page = started.page
            visits[page] = started
        path = tmp_path / f"report {len(visits)} {len(visits[page].addresses)} ü.html"
        path.write_text(render(report), encoding="utf-8")
        visits[page].open(path, fragment)
        return page

    yield open_report
    for one in visits.values():
        one.close()
