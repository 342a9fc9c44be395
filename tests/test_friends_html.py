"""Results in a notebook: tables in HTML, safe with any names, beside the text as it was."""

import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import rejo
from rejo import RejectClassifierCV, ThresholdRejectClassifier, metrics
from rejo._html import MOST_ROWS, table_html
from rejo.datasets import make_synthetic_2
from rejo.displays import Curve
from rejo.report import make_report

HOSTILE = "<script>alert(1)</script>\"'&\x1b[31m\u202e"
ALLOWED = {"div", "strong", "table", "thead", "tbody", "tr", "th", "td", "p", "pre"}


class Reader(HTMLParser):
    """Collects tags, attributes and cells, and sees that every tag is closed."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.attributes, self.cells = [], set(), [], []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells.append(data)


@pytest.fixture(scope="module")
def problem():
    X, y = make_synthetic_2(150, random_state=0)
    return X, np.array([HOSTILE, "fine", "zero"])[np.searchsorted(np.unique(y), y) % 3]


@pytest.fixture(scope="module")
def results(problem, tmp_path_factory):
    """One of each kind of result, of classes, groups and methods with hostile names."""
    X, y = problem
    model = ThresholdRejectClassifier(LogisticRegression()).fit(X, y)
    ranked = y, model.predict_forced(X), model.sureness(X)
    search = RejectClassifierCV(
        model, max_error_by_class={HOSTILE: 0.9}, confidence=0.9, random_state=0
    ).fit(X, y)
    outcomes = RejectClassifierCV(model, review_budget=0.2, cv=2).fit(X, y)
    path = tmp_path_factory.mktemp("models") / "a.rejo"
    rejo.save(model, path, notes=HOSTILE)
    return {
        "RiskCoverageCurve": metrics.risk_coverage_curve(*ranked),
        "AccuracyRejectCurve": metrics.accuracy_reject_curve(*ranked),
        "DisparityCurve": metrics.disparity_curve(*ranked, np.where(X[:, 0] > 0, HOSTILE, "b")),
        "ReliabilityTable": metrics.reliability_table(y, model.predict_proba(X), label="fine"),
        "RateIntervals": metrics.rate_intervals(y, model.predict(X), reject_label="reject"),
        "RejectCurve": search.curve_,
        "Expected": search.expected_,
        "Guarantee": search.guarantee_,
        "Comparison": rejo.compare(
            {HOSTILE: model, "other": ThresholdRejectClassifier(LogisticRegression(C=0.1))},
            X, y, reject_costs=[0.1, 0.2], cv=2,
        ),
        "Curve": Curve(HOSTILE, x=np.arange(3), y=np.arange(3) / 2),
        "Report": make_report(
            outcomes.outcomes_, np.searchsorted(model.classes_, y), model.classes_.tolist(),
            chosen=outcomes.chosen_, axis="review_share", title=HOSTILE, provenance={},
        ),
        "ModelFile": rejo.persistence.inspect(path),
    }  # fmt: skip


KINDS = (
    "RiskCoverageCurve", "AccuracyRejectCurve", "DisparityCurve", "ReliabilityTable",
    "RateIntervals", "RejectCurve", "Expected", "Guarantee", "Comparison", "Curve", "Report",
    "ModelFile",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_small_safe_table(kind, results):
    result = results[kind]
    assert type(result).__name__ == kind
    html = result._repr_html_()
    read = Reader(html)
    assert read.tags <= ALLOWED
    assert {name for name, _ in read.attributes} <= {"style"}
    assert all(re.fullmatch(r"text-align: (left|right)", value) for _, value in read.attributes)
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert len(html) < 8000


@pytest.mark.parametrize(
    "kind", ["DisparityCurve", "Guarantee", "Comparison", "Curve", "Report", "ModelFile"]
)
def test_hostile_names_are_shown_as_text(kind, results):
    assert "<script>alert(1)</script>" in unescape(results[kind]._repr_html_())


def test_the_text_of_a_comparison_says_the_same_as_its_table(results):
    comparison = results["Comparison"]
    cells = Reader(comparison._repr_html_()).cells
    for method, risks in comparison.mean().items():
        for risk in risks:
            assert f"{risk:.4f}" in {cell.strip(" *") for cell in cells}
            assert f"{risk:.4f}" in str(comparison)
        assert rejo._html.one_line(method) in cells


def test_a_long_table_shows_its_ends():
    html = table_html("t", {"a": range(1000), "b": np.linspace(0, 1, 1000)}, shares=["b"])
    cells = Reader(html).cells[2:]
    assert len(cells) == 2 * MOST_ROWS
    assert cells[:2] == ["0", "0.0 %"]
    assert cells[-2:] == ["999", "100.0 %"]
    assert f"{MOST_ROWS} of 1,000 rows." in html


def test_cells_that_are_missing_and_cells_that_are_long():
    cells = Reader(table_html("t", {"a": [None, np.nan, 1234.5678], "b": ["x" * 500, "", 3]})).cells
    assert cells[2:] == ["-", "x" * 79 + "…", "-", "1235", "3"]
