"""The page: whole, safe, and with what the rows say."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from rejo.study import page
from rejo.study.panels import index_rows, make_panel
from rejo.study.paper import DATA, FIGURES, choose_figures

pytest.importorskip("jinja2")

NAMES = ["syntheticI", "syntheticI-svm", "bcct-binary-nn", "syntheticIV-nn"]
PICTURE = b"<svg xmlns='http://www.w3.org/2000/svg'/>"


@pytest.fixture(scope="module")
def report(rows_of):
    rows = []
    for name in NAMES[1:]:
        figure = FIGURES[name]
        for split in DATA[figure.dataset].splits:
            extra = 0.1 if split == "group" else 0.0
            excess = {m: extra + 0.03 * i for i, m in enumerate((*figure.methods, *figure.beside))}
            rows += rows_of(figure.dataset, excess, split=split)
    return page.make_report(rows, choose_figures(NAMES))


@pytest.fixture(scope="module")
def html(report):
    pictures = dict.fromkeys(report.canvases, PICTURE)
    return page.make_page(report, pictures, {"Command": "rejo <b>"}, ["mind & <script>"])


class Reader(HTMLParser):
    """Checks that tags are closed in order; collects ids, links and sources."""

    VOID = frozenset({"meta", "img", "br"})

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.sources = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [attrs["id"]] if "id" in attrs else []
        self.links += [attrs["href"]] if "href" in attrs else []
        self.sources += [attrs["src"]] if "src" in attrs else []
        if tag == "img":
            assert attrs["alt"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_has_what_was_asked_for(report):
    assert [item.figure.name for item in report.explanations] == ["syntheticI"]
    assert [section.figure.name for section in report.sections] == NAMES[1:]
    assert [len(section.blocks) for section in report.sections] == [1, 2, 1]
    assert set(report.canvases) == {
        "syntheticI",
        "syntheticI-svm",
        "syntheticI-svm-risk",
        "bcct-binary-nn",
        "bcct-binary-nn-risk",
        "bcct-binary-nn-by-patient",
        "bcct-binary-nn-by-patient-risk",
        "bcct-leak",
        "syntheticIV-nn",
        "syntheticIV-nn-risk",
        "syntheticIV-nn-both",
    }
    assert all(row.group > row.random for row in report.leak)
    assert {row.dataset for row in report.leak} == {"bcct-binary"}


def test_the_paper_is_judged_by_its_own_protocol(report):
    for judgement in report.judgements:
        assert {trial.split for trial in judgement.trials} <= {"random"}
    for judgement in report.by_patient:
        assert {trial.split for trial in judgement.trials} == {"group"}
    for judgement in report.by_loss:
        assert {trial.dataset for trial in judgement.trials} <= {"syntheticIV"}


def test_ordered_classes_have_two_tables_of_risks(report):
    measures = [[t.measure for b in s.blocks for t in b.tables] for s in report.sections]
    assert measures == [["risk"] * 3, ["risk"] * 6, ["risk"] * 3 + ["ordinal_risk"] * 3]


def test_the_page_is_whole_and_needs_nothing_else(html, report):
    reader = Reader()
    reader.feed(html)
    assert not reader.open
    assert len(reader.ids) == len(set(reader.ids))
    assert {link.removeprefix("#") for link in reader.links} <= set(reader.ids)
    assert len(reader.sources) == len(report.canvases)
    assert all(source.startswith("data:image/svg+xml;base64,") for source in reader.sources)
    assert not re.search(r"https?://|<script|@import|url\(", html.replace("&lt;script", ""))
    assert "prefers-color-scheme: dark" in html
    assert "width=device-width" in html


def test_what_comes_from_outside_is_escaped(html):
    assert "rejo &lt;b&gt;" in html
    assert "mind &amp; &lt;script&gt;" in html


def test_the_page_says_that_the_grids_are_not_even(html):
    assert "four times as many candidates" in html
    assert "have one start, the final ones nine" in html


def test_the_page_shows_verdicts_and_the_leak(html):
    assert "✓ holds" in html
    assert "Why BCCT appears twice" in html
    assert "87 % of the test rows with\n25 % for training" in html
    assert "30 in place of about\n108 with 25 % for training" in html
    assert "· not tested" in html  # networks on ordered classes


def test_png_pictures_are_named_as_such(report):
    pictures = dict.fromkeys(report.canvases, b"\x89PNG...")
    assert 'src="data:image/png;base64,' in page.make_page(report, pictures, {})


def test_the_table_marks_the_least_risk_and_what_differs(rows_of):
    excess = {"rejoNN": 0, "MLP-1C": 0.1, "MLP-2C": -0.01}
    indexed = index_rows(rows_of("syntheticI", excess, noise=1e-4))
    panel = make_panel(indexed, "syntheticI", "random", 0.25, excess)
    table = page.risk_table(panel, "rejoNN")
    rows = dict(table.rows)
    assert len(table.bayes) == len(table.costs) == len(rows["rejoNN"])
    assert [mark for _, mark, _ in rows["rejoNN"]] == [""] * 6
    assert [mark for _, mark, _ in rows["MLP-1C"]] == ["▲"] * 6
    assert [(mark, least) for _, mark, least in rows["MLP-2C"]] == [("▼", True)] * 6


def test_copies_of_a_patient_in_a_random_training_set():
    assert page.copies_in_training(0.0) == 0
    assert page.copies_in_training(0.5) == 1 - 0.5**7
    rng = np.random.default_rng(0)
    patients = np.repeat(np.arange(120), 8)
    draws = [patients[rng.permutation(960)[:48]] for _ in range(300)]
    mean = np.mean([len(set(draw)) for draw in draws])
    assert page.patients_in_training(0.05) == pytest.approx(mean, rel=0.03)


def test_a_report_without_rows_is_a_page_without_results():
    report = page.make_report([], choose_figures(["syntheticI-svm"]))
    html = page.make_page(report, {}, {"Command": "rejo reproduce"})
    assert "The results" not in html
    assert "not tested" in html
