"""Promises, reasons for reviews, gaps between groups: counted again, and in a real browser."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import NoveltyReject, RejectClassifierCV, RejoLinear, RejoSVC, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.displays import DisparityDisplay
from rejo.estimators import REASONS
from rejo.explain import DoubtfulFeature
from rejo.metrics import accuracy_gap, disparity_curve
from rejo.selection import cross_val_outcomes, promise, ranking_outcomes

NONE = "\u2013"
PLAIN = str.maketrans({"\u2068": "", "\u2069": "", "\u00a0": " "})


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


def test_reviews_by_reason_are_counted_case_by_case(make, reports, texts):
    outcomes, y, _ = make.reasoned_cases()
    report = reports["reasons"]
    for i, point in enumerate(outcomes):
        shown, total = texts(report, i), 0
        for k in range(3):
            cases = [j for j in range(len(y)) if point.decision[j] < 0 and point.kind[j] == k]
            wrong = sum(point.forced[j] != y[j] for j in cases)
            total += len(cases)
            assert shown[f"kind-{k}"] == f"{len(cases):,}"
            share = f"{100 * wrong / len(cases):.1f} %" if cases else NONE
            assert shown[f"kind-{k}-wrong"] == share
        assert shown["kind-all"] == f"{total:,}"


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
        assert sum(shown[:3]) == shown[3] == report.data["reviewed"][point]
        widths = page.evaluate(
            "[...document.querySelectorAll('#kinds rect[class^=kind]')]"
            ".map(bar => bar.width.baseVal.value)"
        )
        drawn = [count for count in shown[:3] if count]
        np.testing.assert_allclose(
            np.array(widths) / sum(widths), np.array(drawn) / shown[3], atol=0.01
        )


def test_reasons_need_more_than_doubt(make, reports):
    assert reports["ordinal"].data["kinds"] is None
    (point,), y = make.cases(100, 3, costs=(0.2,))
    same = make.report([replace(point, kind=np.zeros(100, dtype=np.int8))], y)
    assert same.data["kinds"] is None
    assert same.layout.between
    assert not reports["reasons"].layout.between  # a novel case is not between two classes


def test_a_decided_case_that_must_be_reviewed_is_refused(make):
    (point,), y = make.cases(100, costs=(0.2,))
    novel = np.zeros(100, dtype=np.int8)
    novel[np.flatnonzero(point.decision >= 0)[0]] = 1
    with pytest.raises(ValueError, match=r"outcomes\[0\]"):
        make.report([replace(point, kind=novel)], y)
    for wrong in (np.zeros(99, dtype=np.int8), np.full(100, len(REASONS))):
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
    assert report.data["expected"][report.chosen] == pytest.approx(expected)


# ---- gaps between groups ------------------------------------------------------------------


def test_gaps_are_those_of_the_disparity_curve(make, reports, texts):
    outcomes, y, region = make.reasoned_cases()
    report = reports["reasons"]
    own = outcomes[0]
    always = own.kind > 0
    shares = [float(tally.rejection_rate) for tally in report.tallies]
    curve = disparity_curve(
        y, own.forced, -np.minimum(own.doubt, 3), region, shares=shares, reviewed=always
    )
    np.testing.assert_allclose(curve.share, shares)
    for i, (b, w) in enumerate(zip(curve.best, curve.worst, strict=True)):
        shown = texts(report, i)
        for g in range(len(curve.groups)):
            assert shown[f"gap-0-{g}-decided"] == f"{curve.n_decided[i, g]:,}"
            if curve.n_decided[i, g]:
                now = float(shown[f"gap-0-{g}-now"].removesuffix(" %"))
                assert now == pytest.approx(100 * curve.accuracy[i, g], abs=0.0501)
        line = shown["gap-0-line"]
        if b < 0:
            assert line.startswith("Fewer than two groups")
            continue
        assert f"of the decided cases of “{curve.groups[b]}” are correct" in line
        assert f"“{curve.groups[w]}”: a gap of {100 * curve.gap[i] + 1e-9:.1f} points" in line
        assert ("reviews widen the gap" in line) == (curve.change_low[i] > 0)
        assert ("reviews narrow the gap" in line) == (curve.change_high[i] < 0)
    lines = {texts(report, i)["gap-0-line"].rpartition(": ")[2] for i in range(len(shares))}
    assert "reviews widen the gap." in lines
    assert "what reviews change may be chance." in lines


def test_the_script_finds_the_same_gaps_as_python(reports, visit):
    report = reports["ordinal"]
    rng = np.random.default_rng(0)
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
          const column = ([n, reviewed, wrong, forced]) => ({
            forced: { kept: [forced], of: [0] },
            groups: n.map((_, g) => ({ n: n[g], reviewed: [reviewed[g]], wrong: [wrong[g]] })),
          });
          return cases.map((counts) => accuracyGap({ ...data, worth: 0.7 }, column(counts), 0));
        }""",
        cases,
    )
    widened = 0
    for counts, found in zip(cases, shown, strict=True):
        expected = accuracy_gap(*counts, confidence=0.95, worth=0.7)
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


def test_gaps_follow_the_slider(reports, visit, texts):
    report = reports["reasons"]
    page = visit(report)
    for point in (2, 15, len(report.tallies) - 2):
        slide(page, point)
        shown = texts(report, point)
        _, *rows = rows_of(page, "Correct among the decided cases of each group")
        assert [row[0] for row in rows] == ["east", "isle", "north", "south"]
        for g, row in enumerate(rows):
            assert row[1] == shown[f"gap-0-{g}-decided"]
            assert row[3].split("\n")[0] == shown[f"gap-0-{g}-now"]
            assert row[-1] == shown[f"gap-0-{g}-mark"]
        picture = page.get_by_role("img", name="By region")
        assert shown["gap-0-line"] in picture.evaluate(
            "svg => svg.getAttribute('aria-labelledby').split(' ')"
            ".map(id => document.getElementById(id).textContent).join(' ')"
        ).translate(PLAIN)
        names = page.locator("#gap-0 .line-name").all_text_contents()
        assert sorted(names) == ["east", "north", "south"]  # of the isle nothing is decided


def test_columns_without_two_groups_to_compare_have_no_gap(make, texts):
    outcomes, y = make.cases(200, costs=(0.1, 0.2))
    by = {"same": np.zeros(200), "few": np.arange(200) % 10, "two": np.arange(200) % 2}
    report = make.report(outcomes, y, by=by)
    assert [column["compared"] for column in report.data["groups"]] == [False, False, True]
    keys = {key for key in texts(report) if key.startswith("gap-")}
    assert {key.split("-")[1] for key in keys} == {"2"}


# How far the middle of each name is from its own line and from the next, and which names meet.
NAMES = """(id) => {
  const svg = document.getElementById(id), box = svg.viewBox.baseVal;
  const names = [...svg.querySelectorAll(".line-name")]
    .map((node) => [node.textContent, node.getBBox()]);
  const outside = [...svg.children].filter((node) => {
    const b = node.getBBox();
    return b.x < -0.5 || b.y < -0.5 || b.x + b.width > box.width + 0.5
      || b.y + b.height > box.height + 0.5;
  }).map((node) => node.outerHTML);
  const lines = [...svg.querySelectorAll("path.rival:not(.few)")].map((path) => ({
    look: path.getAttribute("class"),
    ends: path.getAttribute("d").slice(1).split("L").map((at) => at.split(" ").map(Number)),
  }));
  const heightAt = (ends, x) => {
    const i = ends.findIndex(([right]) => right >= x);
    if (i < 1) return null;
    const [[x1, y1], [x2, y2]] = [ends[i - 1], ends[i]];
    return y1 + ((y2 - y1) * (x - x1)) / (x2 - x1);
  };
  return {
    outside,
    met: names.flatMap(([one, a], i) => names.slice(i + 1)
      .filter(([, b]) => a.x < b.x + b.width && b.x < a.x + a.width
        && a.y < b.y + b.height && b.y < a.y + a.height)
      .map(([other]) => [one, other])),
    near: names.map(([name, b]) => [name, lines.map(({ look, ends }) => {
      const y = heightAt(ends, b.x + b.width / 2);
      return [look, y === null ? 1e9 : Math.abs(y - b.y - b.height / 2)];
    }).sort((one, other) => one[1] - other[1])[0]]),
  };
}"""


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("n_groups", [5, 25])
def test_names_stand_at_their_own_lines(make, visit, width, n_groups):
    """The line that is nearest to a name is its own, and no two names meet."""
    rng = np.random.default_rng(0)
    outcomes, y, chosen = make.share_cases(6000, 2, n_points=51)
    names = [f"{i:04d}" if n_groups == 5 else f"a rather long name, number {i}" for i in range(25)]
    code = rng.integers(0, n_groups, 6000)
    # Some regions are harder than others, at every point.
    mixed_up = rng.random(6000) < 0.25 * code / n_groups
    outcomes = [replace(p, forced=np.where(mixed_up, 1 - y, p.forced)) for p in outcomes]
    region = np.array(names)[code]
    report = make.report(outcomes, y, chosen=chosen, axis="review_share", by={"region": region})
    page = visit(report, viewport={"width": width, "height": 800})
    look_of = {}
    groups = sorted(report.data["groups"][0]["groups"], key=lambda g: -g["n"])
    for i, group in enumerate(groups):
        look_of[group["value"]] = f"rival rival-{i}" if i < 6 else "rival other"
    for point in (0, chosen, len(outcomes) // 2):
        slide(page, point)
        found = page.evaluate(NAMES, "gap-0")
        assert (found["outside"], found["met"]) == ([], [])
        assert len(found["near"]) >= (5 if n_groups == 5 else 0)
        for name, (look, away) in found["near"]:
            whole = [value for value in look_of if value.startswith(name.rstrip("…"))]
            assert look in [look_of[value] for value in whole]
            assert away < 30
    swatches = page.locator(".gaps tbody .swatch:has(line)").count()
    assert swatches == n_groups  # whatever has no room in the picture is told by the table


# ---- promises -----------------------------------------------------------------------------


def test_promises_stand_with_their_assumptions(reports, visit, make):
    page = visit(reports["reasons"])
    section = page.get_by_role("region", name="What is promised").first
    items = section.get_by_role("listitem").all_inner_texts()
    assert items == [promise(one) for one in make.promises[:2]]
    assert section.locator(".assumption").all_inner_texts() == [make.promises[0].assumption]
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
    overall = make.promises[0]

    def read(promises):
        return make.report(outcomes, y, promises=promises).promises

    found = read([overall])
    assert (found.sentences, found.together) == ([promise(overall)], "")
    some = [overall._replace(by="group", value=value, bound=0.02001) for value in ("f", "m")]
    found = read([overall, *some, some[0]._replace(by="class")])
    assert len(found.sentences) == 2
    assert found.assumptions == [overall.assumption]  # once for all
    assert "95 %" in found.together.translate(PLAIN)
    (table,) = found.tables
    assert [row[0] for row in table.rows] == ["f", "m"]
    assert [row[2].translate(PLAIN) for row in table.rows] == ["2.1 %"] * 2  # rounded up
    cost = [one._replace(rate="mean_cost", bound=12.5, target=None) for one in some]
    (table,) = read(cost).tables
    assert [row[1:3] for row in table.rows] == [(NONE, "12.5")] * 2


def test_no_promises_no_section(make, reports):
    assert reports["ordinal"].promises is None
    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    assert make.report(outcomes, y, sent_to_review=["isle"]).promises.sent_to_review == ["isle"]


# ---- what makes cases doubtful ------------------------------------------------------------


def test_features_that_make_cases_doubtful(reports, visit):
    _, *rows = rows_of(visit(reports["reasons"]), "Share of the ambiguous reviews")
    assert rows == [
        ["<b>income</b>", "61.0 %", "36 to 72 (1,200 cases)", "44.0 % against 21.0 %"],
        ["age", "12.5 %", "", ""],
    ]


def test_features_that_lead_to_a_decision(reports, visit):
    _, *rows = rows_of(visit(reports["reasons"]), "Share of the decisions for a class")
    assert rows == [
        ["<i>no</i>", "<b>income</b>", "61.0 %", "36 to 72 (1,200 cases)", "44.0 % against 21.0 %"],
        ["<i>no</i>", "age", "12.5 %", "", ""],
        ["yes", "age", "12.5 %", "", ""],
    ]


def test_the_strongest_features_are_shown(make):
    outcomes, y = make.cases(100, costs=(0.1, 0.2))
    features = [DoubtfulFeature(f"x{i}", i / 40, 0.0, "", 0, 0.0, 0.0) for i in range(20)]
    found = make.report(outcomes, y, doubtful=features).doubtful
    assert [row[0] for row in found] == [f"x{i}" for i in range(19, 7, -1)]


# ---- keyboard, screen reader, privacy -----------------------------------------------------


def test_a_key_moves_the_slider_and_is_announced(reports, visit, texts):
    report = reports["reasons"]
    page = visit(report)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "slider"
    page.keyboard.press("ArrowRight")
    expected = texts(report, report.chosen + 1)
    live = page.locator("[data-text]:is([aria-live=polite], [role=status])").all()
    shown = {node.get_attribute("data-text"): node.text_content().translate(PLAIN) for node in live}
    keys = ("headline", "promises-line", "kinds-words")
    assert shown == {key: expected[key] for key in keys}
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
    assert order[7:] == sorted(order[7:])  # below the controls
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

    assert max(lengths(report.data)) < report.data["n"] / 5
    for point in report.data["kinds"]:
        assert all(isinstance(count, int) for kind in point for count in kind)


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
    assert [kinds[1][0] for kinds in report.data["kinds"]] == novel


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
    for point, kinds in zip(points, report.data["kinds"], strict=True):
        assert (point.decision[novel] == -1).all()
        assert kinds[1][0] == novel.sum()
    curve = DisparityDisplay.from_estimator(model, new, y[200:], group).curve
    assert curve.share[0] == novel.mean()
    decided = [(group[~novel] == g).sum() for g in (0, 1)]
    assert curve.n_decided[0].tolist() == decided
    groups = report.data["groups"][0]["groups"]
    assert [group["n"] - group["reviewed"][0] for group in groups] == decided


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
    assert [row[0] for row in table.rows] == ["a", "b"]
    tiny = int((group == "tiny").sum())
    assert tiny > 0
    assert [kinds[2][0] for kinds in report.data["kinds"]] == [tiny] * len(points)
    own = points[chosen].decision < 0
    np.testing.assert_array_equal(own, model.reject_mask(new, group=group))
    curve = DisparityDisplay.from_estimator(model, new, y[2000:], group).curve
    assert curve.n_decided[0, 2] == 0
    with pytest.raises(ValueError, match="group="):
        ranking_outcomes(model, new, [0.2])
