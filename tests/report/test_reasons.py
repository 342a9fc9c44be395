"""Promises, reasons for reviews, gaps between groups: counted again, and in a real browser."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import NoveltyReject, RejectClassifierCV, RejoLinear, RejoSVC, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.displays import DisparityDisplay
from rejo.metrics import accuracy_gap, disparity_curve
from rejo.report import Setting
from rejo.selection import Guarantee, cross_val_outcomes, promise, ranking_outcomes

NONE = "\u2013"
PLAIN = str.maketrans({"\u2068": "", "\u2069": "", "\u00a0": " "})


def texts_at(report, point):
    found = report.numbers(Setting(point, report.prices))
    return {key: text.translate(PLAIN) for key, text in found.items()}


def slide(page, point):
    page.locator("#slider").fill(str(point))


def rows_of(page, name):
    """Texts of a table that a screen reader finds by its name, row by row."""
    rows = page.get_by_role("table", name=name).get_by_role("row").all()
    return [
        [cell.inner_text() for cell in row.get_by_role("rowheader").all()]
        + [cell.inner_text().translate(PLAIN) for cell in row.get_by_role("cell").all()]
        for row in rows
    ]


# ---- why cases go to review ---------------------------------------------------------------


def test_reviews_by_reason_are_counted_case_by_case(make, reports):
    outcomes, y, _ = make.reasoned_cases()
    report = reports["reasons"]
    for i, point in enumerate(outcomes):
        texts, total = texts_at(report, i), 0
        for k in range(3):
            cases = [j for j in range(len(y)) if point.decision[j] < 0 and point.kind[j] == k]
            wrong = sum(point.forced[j] != y[j] for j in cases)
            total += len(cases)
            assert texts[f"kind-{k}"] == f"{len(cases):,}"
            share = f"{100 * wrong / len(cases):.1f} %" if cases else NONE
            assert texts[f"kind-{k}-wrong"] == share
        assert texts["kind-all"] == f"{total:,}"


def test_novel_cases_stay_in_review_at_every_point(make, reports, visit):
    report = reports["reasons"]
    kind = make.reasoned_cases()[0][0].kind
    page = visit(report)
    for point in (0, 3, len(report.tallies) - 1):
        slide(page, point)
        _, *rows = rows_of(page, "Cases in review at this point")
        assert [row[0].split("\n")[0] for row in rows] == [
            "ambiguous", "novel", "policy", "all reviews"
        ]  # fmt: skip
        shown = [int(row[1].replace(",", "")) for row in rows]
        assert shown[1:3] == [(kind == 1).sum(), (kind == 2).sum()]
        assert sum(shown[:3]) == shown[3] == report.tallies[point].reviewed
        widths = page.evaluate(
            "[...document.querySelectorAll('#kinds rect[class^=kind]')]"
            ".map(bar => bar.width.baseVal.value)"
        )
        drawn = [count for count in shown[:3] if count]
        np.testing.assert_allclose(
            np.array(widths) / sum(widths), np.array(drawn) / shown[3], atol=0.01
        )


def test_reasons_need_more_than_doubt(make, reports):
    assert not reports["ordinal"].kinds
    assert "kind-0" not in reports["ordinal"].numbers(reports["ordinal"].setting)
    (point,), y = make.cases(100, 3, costs=(0.2,))
    same = make.report([replace(point, kind=np.zeros(100, dtype=np.int8))], y)
    assert not same.kinds
    assert same.layout.between
    assert not reports["reasons"].layout.between  # a novel case is not between two classes


def test_a_decided_case_that_must_be_reviewed_is_refused(make):
    (point,), y = make.cases(100, costs=(0.2,))
    novel = np.zeros(100, dtype=np.int8)
    novel[np.flatnonzero(point.decision >= 0)[0]] = 1
    with pytest.raises(ValueError, match=r"outcomes\[0\]"):
        make.report([replace(point, kind=novel)], y)
    for wrong in (np.zeros(99, dtype=np.int8), np.full(100, 3)):
        with pytest.raises(ValueError, match=r"outcomes\[0\].kind"):
            make.report([replace(point, kind=wrong)], y)


def test_what_is_expected_of_a_novel_case_is_what_would_have_happened(make):
    prices = make.prices(4)
    outcomes, y, chosen = make.posterior_cases(prices=prices)
    kind = (np.arange(len(y)) % 20 == 0).astype(np.int8)
    points = [replace(p, kind=kind, doubt=np.where(kind, np.inf, p.doubt)) for p in outcomes]
    options = {"chosen": chosen, "axis": "review_share", "ordered": False, "prices": prices}
    report = make.report(points, y, **options)
    own = points[chosen]
    out = own.decision < 0
    expected = sum(
        prices[y[i], own.forced[i]] if kind[i] else own.worth[i] + prices[y[i], -1]
        for i in np.flatnonzero(out)
    )
    assert report.tallies[report.chosen].expected == pytest.approx(expected)


# ---- gaps between groups ------------------------------------------------------------------


def test_gaps_are_those_of_the_disparity_curve(make, reports):
    outcomes, y, region = make.reasoned_cases()
    report = reports["reasons"]
    own = outcomes[0]
    always = own.kind > 0
    shares = [tally.reviewed / report.n for tally in report.tallies]
    curve = disparity_curve(
        y, own.forced, -np.minimum(own.doubt, 3), region, shares=shares, reviewed=always
    )
    np.testing.assert_allclose(curve.share, shares)
    for i, (b, w) in enumerate(zip(curve.best, curve.worst, strict=True)):
        texts = texts_at(report, i)
        for g in range(len(curve.groups)):
            assert texts[f"gap-0-{g}-decided"] == f"{curve.n_decided[i, g]:,}"
            if curve.n_decided[i, g]:
                shown = float(texts[f"gap-0-{g}-now"].removesuffix(" %"))
                assert shown == pytest.approx(100 * curve.accuracy[i, g], abs=0.0501)
        line = texts["gap-0-line"]
        if b < 0:
            assert line.startswith("Fewer than two groups")
            continue
        assert f"of the decided cases of “{curve.groups[b]}” are correct" in line
        assert f"“{curve.groups[w]}”: a gap of {100 * curve.gap[i] + 1e-9:.1f} points" in line
        assert ("reviews widen the gap" in line) == (curve.change_low[i] > 0)
        assert ("reviews narrow the gap" in line) == (curve.change_high[i] < 0)
    lines = {texts_at(report, i)["gap-0-line"].rpartition(": ")[2] for i in range(len(shares))}
    assert "reviews widen the gap." in lines
    assert "what reviews change may be chance." in lines


def test_the_script_finds_the_same_gaps_as_python(reports, visit):
    report = reports["ordinal"]
    data, rng = report.payload(), np.random.default_rng(0)
    cases = []
    for _ in range(300):
        G = int(rng.integers(1, 8))
        n = rng.integers(1, rng.choice([60, 500, 5000]), G)
        reviewed = rng.binomial(n, rng.uniform(0, 0.8)) * rng.integers(0, 2)
        wrong = rng.binomial(n - reviewed, rng.uniform(0, 0.2, G))
        forced = wrong + rng.binomial(reviewed, 0.3)
        cases.append([part.tolist() for part in (n, reviewed, wrong, forced)])
    shown = visit(report).evaluate(
        """(cases) => {
          const data = JSON.parse(document.getElementById("data").textContent);
          const groups = ([n, reviewed, wrong, forced]) => n.map((_, g) => (
            { n: n[g], reviewed: [reviewed[g]], wrong: [wrong[g]], forced: [forced[g]] }));
          return cases.map((counts) => accuracyGap({ ...data, worth: 0.7 }, groups(counts), 0));
        }""",
        cases,
    )
    widened = 0
    for counts, found in zip(cases, shown, strict=True):
        expected = accuracy_gap(*counts, confidence=data["confidence"], worth=0.7)
        if expected.best < 0:
            assert found is None
            continue
        assert (found["best"], found["worst"]) == (expected.best, expected.worst)
        assert (found["size"], found["low"], found["high"]) == expected.gap
        assert found["before"] == expected.before
        assert found["widens"] == (expected.change.low > 0)
        assert found["narrows"] == (expected.change.high < 0)
        widened += found["widens"] or found["narrows"]
    assert widened > 10


def test_gaps_follow_the_slider(reports, visit):
    report = reports["reasons"]
    page = visit(report)
    for point in (2, 15, len(report.tallies) - 2):
        slide(page, point)
        texts = texts_at(report, point)
        _, *rows = rows_of(page, "Correct among the decided cases of each group")
        assert [row[0] for row in rows] == ["east", "isle", "north", "south"]
        for g, row in enumerate(rows):
            assert row[1] == texts[f"gap-0-{g}-decided"]
            assert row[3].split("\n")[0] == texts[f"gap-0-{g}-now"]
            assert row[-1] == texts[f"gap-0-{g}-mark"]
        picture = page.get_by_role("img", name="By region")
        assert texts["gap-0-line"] in picture.evaluate(
            "svg => svg.getAttribute('aria-labelledby').split(' ')"
            ".map(id => document.getElementById(id).textContent).join(' ')"
        ).translate(PLAIN)
        names = page.locator("#gap-0 .line-name").all_text_contents()
        assert sorted(names) == ["east", "north", "south"]  # of the isle nothing is decided


def test_columns_without_two_groups_to_compare_have_no_gap(make):
    outcomes, y = make.cases(200, costs=(0.1, 0.2))
    by = {"same": np.zeros(200), "few": np.arange(200) % 10, "two": np.arange(200) % 2}
    report = make.report(outcomes, y, by=by)
    assert [column.compared for column in report.columns] == [False, False, True]
    keys = {key for key in report.numbers(report.setting) if key.startswith("gap-")}
    assert {key.split("-")[1] for key in keys} == {"2"}


def test_many_groups_and_long_names(make, visit):
    rng = np.random.default_rng(0)
    outcomes, y = make.cases(3000, costs=(0.05, 0.2, 0.4))
    names = np.array([f"a rather long name of a region, number {i}" for i in range(25)])
    page = visit(make.report(outcomes, y, by={"region": rng.choice(names, 3000)}))
    outside = page.evaluate(
        """() => [...document.querySelectorAll("#gap-0 *")].filter((node) => {
          const box = node.getBBox(), all = document.getElementById("gap-0").viewBox.baseVal;
          return box.x < -0.5 || box.y < -0.5 || box.x + box.width > all.width + 0.5
            || box.y + box.height > all.height + 0.5;
        }).map((node) => node.outerHTML)"""
    )
    assert outside == []
    places = page.evaluate(
        "[...document.querySelectorAll('#gap-0 .line-name')].map(t => Number(t.getAttribute('y')))"
    )
    assert 6 <= len(places) <= 8
    assert np.diff(sorted(places)).min() >= 14.9


# ---- promises -----------------------------------------------------------------------------


def test_promises_stand_with_their_assumptions(reports, visit):
    report = reports["reasons"]
    page = visit(report)
    section = page.get_by_role("region", name="What is promised").first
    items = section.get_by_role("listitem").all_inner_texts()
    assert items[0] == "With a confidence of 95 %, at most 2.1 % of the decisions are wrong."
    assert items[1].split("\n") == [
        "At most 30 % of the cases go to review.",
        "New cases are drawn as the calibration cases were.",
    ]
    _, *rows = rows_of(page, "Wrong decisions, of the decided cases, by group")
    assert rows == [
        ["north", "5.0 %", "4.3 %", "1,234"],
        ["<i>south</i>", "5.0 %", "5.0 %", "987"],
    ]
    assert "isle" in page.locator("#sent-to-review").inner_text()


def test_promises_are_for_the_point_that_the_model_decides(reports, visit):
    report = reports["reasons"]
    page = visit(report)
    line = page.locator("#promises-line")
    before = line.text_content()
    slide(page, report.chosen + 1)
    assert line.text_content() != before
    assert line.get_attribute("role") == "status"


def test_guarantees_are_put_in_words(make):
    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    overall = Guarantee("error_rate", 0.0312, 0.05, 0.95, 400, 12)
    (said,) = make.report(outcomes, y, promises=[overall]).promises.sentences
    assert said == (promise(overall), overall.assumption)
    some = [
        overall._replace(by="group", value=value, rate="accepted_error_rate")
        for value in ("f", "m")
    ]
    found = make.report(outcomes, y, promises=[overall, *some]).promises
    assert found.sentences == [(promise(overall), "")]
    assert found.assumption == overall.assumption  # once for all
    assert "95 %" in found.together.translate(PLAIN)
    (table,) = found.tables
    assert [row.value for row in table.rows] == ["f", "m"]
    assert [row.bound.translate(PLAIN) for row in table.rows] == ["3.2 %"] * 2
    cost = [one._replace(rate="mean_cost", bound=12.5, target=None) for one in some]
    (table,) = make.report(outcomes, y, promises=cost).promises.tables
    assert [(row.target, row.bound) for row in table.rows] == [(NONE, "12.5")] * 2


def test_a_bound_is_rounded_up(make):
    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    given = {"promise": "p", "by": "class", "bound": 0.02001}
    promises = [given | {"value": label} for label in ("ill", "well")]
    (table,) = make.report(outcomes, y, promises=promises).promises.tables
    assert [row.bound.translate(PLAIN) for row in table.rows] == ["2.1 %"] * 2
    assert table.rows[0].target == table.rows[0].n_cases == NONE
    assert table.of == "true class"


def test_no_promises_no_section(make, reports):
    assert reports["ordinal"].promises is None
    assert "promises-line" not in reports["ordinal"].numbers(reports["ordinal"].setting)
    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    assert make.report(outcomes, y, sent_to_review=["isle"]).promises.sent_to_review == ["isle"]


# ---- what makes cases doubtful ------------------------------------------------------------


def test_features_that_make_cases_doubtful(reports, visit):
    _, *rows = rows_of(visit(reports["reasons"]), "Share of the ambiguous reviews")
    assert rows == [
        ["<b>income</b>", "61.0 %", "36 to 72 (1,200 cases)", "44.0 % against 21.0 %"],
        ["age", "12.5 %", "", ""],
    ]


def test_features_as_named_tuples(make):
    class Feature(NamedTuple):
        feature: str
        share: float

    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    features = [Feature(f"x{i}", i / 40) for i in range(20)]
    found = make.report(outcomes, y, doubtful=features).doubtful
    assert [row.feature for row in found] == [f"x{i}" for i in range(19, 7, -1)]


# ---- keyboard, screen reader, privacy -----------------------------------------------------


def test_a_key_moves_the_slider_and_is_announced(reports, visit):
    report = reports["reasons"]
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "slider"
    page.keyboard.press("ArrowRight")
    texts = texts_at(report, report.chosen + 1)
    live = "[...document.querySelectorAll('[aria-live=polite], [role=status]')].map(n => n.id)"
    assert {"headline", "kinds-words", "promises-line"} <= set(page.evaluate(live))
    assert page.locator("#kinds-words").text_content().translate(PLAIN) == texts["kinds-words"]
    assert page.locator("#headline").text_content().translate(PLAIN) == texts["headline"]
    assert page.evaluate("document.activeElement.id") == "slider"


def test_focus_goes_down_the_page_and_to_no_table_that_fits(reports, visit):
    page = visit(reports["reasons"], viewport={"width": 380, "height": 800})
    order = []
    for _ in range(60):
        page.keyboard.press("Tab")
        top = page.evaluate(
            "document.activeElement === document.body ? null"
            " : document.activeElement.getBoundingClientRect().top + scrollY"
        )
        if top is None:
            break
        order.append(top)
    assert order[5:] == sorted(order[5:])  # below the controls
    wide = page.evaluate(
        "[...document.querySelectorAll('.scroll')]"
        ".map(node => [node.tabIndex, node.scrollWidth > node.clientWidth])"
    )
    assert all((tab == 0) == scrolls for tab, scrolls in wide)
    assert any(scrolls for _, scrolls in wide)


def test_every_table_and_picture_has_a_name(reports, visit):
    page = visit(reports["reasons"])
    tables = page.get_by_role("table").all()
    assert len(tables) >= 7
    for table in tables:
        assert table.locator("caption").inner_text()
        for cell in table.locator("th").all():
            assert cell.get_attribute("scope") in ("col", "row", "rowgroup")
    pictures = page.get_by_role("img").all()
    assert len(pictures) == page.locator("svg.picture").count()
    for picture in pictures:
        words = picture.evaluate(
            "svg => svg.getAttribute('aria-labelledby').split(' ')"
            ".map(id => document.getElementById(id).textContent)"
        )
        assert len(words) == 2
        assert all(words)


def test_without_scripts_everything_is_there_at_the_chosen_point(reports, visit):
    report = reports["reasons"]
    page = visit(report, java_script_enabled=False)
    texts = texts_at(report, report.chosen)
    for key in ("kinds-words", "promises-line", "gap-0-line", "kind-1", "gap-0-3-now"):
        shown = page.locator(f"#{key}")
        assert shown.text_content().translate(PLAIN) == texts[key]
        assert shown.is_visible()
    assert not page.locator("#gap-0").is_visible()


def test_the_page_has_counts_and_no_cases(reports):
    """No list in the data is as long as the cases, nor has what a case alone would tell."""
    report = reports["reasons"]

    def lengths(value):
        if isinstance(value, dict):
            for part in value.values():
                yield from lengths(part)
        elif isinstance(value, list | tuple):
            yield len(value)
            for part in value:
                yield from lengths(part)

    assert max(lengths(report.payload())) < report.n / 5
    assert all(isinstance(count, int) for row in report.payload()["kinds"] for count in row)


# ---- from models --------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [RejoLinear(), RejoSVC(gamma=4), GaussianNB()])
def test_a_detector_from_folds_to_the_page(make, learner):
    X, y = make_synthetic_1(300, random_state=0)
    model = make_pipeline(StandardScaler(), NoveltyReject(learner, review_share=0.05))
    points = cross_val_outcomes(model, X, y, reject_costs=[0.1, 0.3], cv=3)
    truth = (y > 0).astype(int)
    report = make.report(points, truth, chosen=1)
    novel = [int(((p.kind == 1) & (p.decision < 0)).sum()) for p in points]
    assert min(novel) > 0
    assert [tally.kinds[1].reviewed for tally in report.tallies] == novel


def test_a_detector_from_new_cases_to_the_page_and_the_curve(make):
    X, y = make_synthetic_1(400, random_state=0)
    model = make_pipeline(StandardScaler(), NoveltyReject(RejoLinear())).fit(X[:200], y[:200])
    new, group = X[200:].copy(), np.arange(200) % 2
    new[:20] += 50.0
    points, chosen = ranking_outcomes(model, new, np.linspace(0, 1, 11))
    novel = model[-1].novel_mask(model[0].transform(new))
    assert novel[:20].all()
    truth = (y[200:] > 0).astype(int)
    report = make.report(points, truth, chosen=chosen, axis="review_share", by={"g": group})
    for point, tally in zip(points, report.tallies, strict=True):
        assert (point.decision[novel] == -1).all()
        assert tally.kinds[1].reviewed == novel.sum()
    curve = DisparityDisplay.from_estimator(model, new, y[200:], group).curve
    assert curve.share[0] == novel.mean()
    decided = [(group[~novel] == g).sum() for g in (0, 1)]
    assert curve.n_decided[0].tolist() == decided
    texts = texts_at(report, 0)
    assert [texts[f"gap-0-{g}-decided"] for g in (0, 1)] == [str(n) for n in decided]


@pytest.mark.parametrize("learner", [RejoLinear(), ThresholdRejectClassifier(GaussianNB())])
def test_promises_by_group_from_a_model_to_the_page(make, learner):
    """A group that is too small for a promise goes to review as a policy, at every point."""
    rng = np.random.default_rng(0)
    X, y = make_synthetic_1(2400, random_state=0)
    group = rng.choice(["a", "b", "tiny"], 2400, p=[0.6, 0.39, 0.01])
    model = RejectClassifierCV(
        learner, max_error_by_group=0.6, confidence=0.9, small_groups="review", random_state=0
    )
    model.fit(X[:2000], y[:2000], group=group[:2000])
    new, truth, group = X[2000:], (y[2000:] > 0).astype(int), group[2000:]
    points, chosen = ranking_outcomes(model, new, [0, 0.2, 0.5], group=group)
    report = make.report(
        points, truth, chosen=chosen, axis="review_share", by={"group": group},
        promises=model.guarantees_, sent_to_review=model.policy_.reviewed,
    )  # fmt: skip
    assert report.promises.sent_to_review == ["tiny"]
    (table,) = report.promises.tables
    assert [row.value for row in table.rows] == ["a", "b"]
    tiny = int((group == "tiny").sum())
    assert tiny > 0
    assert [tally.kinds[2].reviewed for tally in report.tallies] == [tiny] * len(points)
    own = points[chosen].decision < 0
    np.testing.assert_array_equal(own, model.reject_mask(new, group=group))
    curve = DisparityDisplay.from_estimator(model, new, y[2000:], group).curve
    assert curve.n_decided[0, 2] == 0
    with pytest.raises(ValueError, match="group="):
        ranking_outcomes(model, new, [0.2])
