"""Reports at the edge of what there is, and the page as a file."""

import builtins
import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from rejo.report import _render, make_report, render
from rejo.report._render import _embed


class Reader(HTMLParser):
    """Collects ids, texts, attributes that could run or fetch; checks that tags are closed."""

    VOID = frozenset({"meta", "br", "input"})

    def __init__(self, html):
        super().__init__()
        self.open, self.ids, self.texts, self.risky = [], [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name == "data-text":
                self.texts.add(value)
            if name in ("style", "href", "src", "srcset", "action") or name.startswith("on"):
                self.risky.append((tag, name))

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


KINDS = ["binary", "ordinal", "share", "by class", "dozen", "reasons"]


@pytest.mark.parametrize("kind", KINDS)
def test_page_is_whole(reports, kind):
    html = render(reports[kind])
    found = Reader(html)
    assert not found.open
    assert not found.risky
    assert len(found.ids) == len(set(found.ids))
    assert "unsafe" not in html
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", html)


@pytest.mark.parametrize("kind", KINDS)
def test_every_text_has_its_place(reports, texts, kind):
    """Nothing is computed that is not shown, and nothing stays empty that should be computed."""
    report = reports[kind]
    there = Reader(render(report)).texts
    computed = set(texts(report))
    assert there <= computed
    assert computed - there <= ({"promises-line"} if report.promises is None else set())


@pytest.mark.check
def test_size_of_a_large_report(make):
    n, rng = 100_000, np.random.default_rng(0)
    groups = {
        "region": rng.integers(0, 25, n).astype(str),
        "age": rng.integers(18, 90, n).astype(str),
        "product": rng.choice([f"a product with a long name {i}" for i in range(20)], n),
        "branch": rng.integers(0, 300, n),
        "channel": rng.integers(0, 12, n),
    }
    names = [f"model {i}" for i in range(9)]
    outcomes, y = make.cases(n, 5)
    choice = make.choice(names, y, 5)
    refits = render(make.report(outcomes, y, by=groups, choice=choice))
    outcomes, y, chosen = make.share_cases(n, 5)
    options = {"chosen": chosen, "axis": "review_share", "choice": make.choice(names, y, 5)}
    shares = render(make.report(outcomes, y, by=groups, **options))
    assert len(refits.encode()) < 440_000
    assert len(shares.encode()) < 440_000


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("width", [0.0, 100.0])
def test_nothing_or_everything_reviewed(make, texts, n_classes, width):
    outcomes, y = make.cases(50, n_classes, width=width, costs=(0.1, 0.2))
    report = make.report(outcomes, y, by={"half": np.arange(50) % 2})
    shown = texts(report, 0, (1.0, 0.1))
    assert shown["cases-review"] == ("0" if width == 0 else "1,000")
    assert not re.search("nan|undefined|infinity", " ".join(shown.values()).lower())
    assert "NaN" not in _embed(report.data)


def test_a_single_case_and_point(make):
    outcomes, _ = make.cases(1, costs=(0.1,))
    report = make.report(outcomes, np.array([0]), ["no", "yes"], by={"a": ["x"]})
    assert "disabled" in render(report)


def test_without_scores_the_picture_is_left_out(make):
    outcomes, y = make.cases(50, costs=(0.1, 0.2))
    bare = [replace(point, score=None, bands=None) for point in outcomes]
    report = make.report(bare, y)
    assert report.data["histogram"] is None
    assert 'id="classes"' in render(report)


def test_no_groups_no_table(make):
    outcomes, y = make.cases(50, costs=(0.1, 0.2))
    for groups in (None, {}):
        html = render(make.report(outcomes, y, by=groups))
        assert 'id="groups-title"' not in html


@pytest.mark.parametrize(("cost", "shown"), [(0.12, 0.12), (0.35629122334, 0.3563)])
def test_default_prices(make, cost, shown):
    outcomes, y = make.cases(50, costs=(cost,))
    assert make.report(outcomes, y).data["prices"] == [[0, 1, shown], [1, 0, shown]]


def test_embedded_data_cannot_end_the_script():
    text = _embed({"a": "</script><!-- \u2028 ]]> &"})
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == {"a": "</script><!-- \u2028 ]]> &"}


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"chosen": 9}, "chosen"),
        ({"axis": "cost"}, "axis"),
        ({"size": 0}, "size"),
        ({"prices": (1, -0.7)}, "prices"),
        ({"prices": (float("nan"), 0.7)}, "prices"),
        ({"prices": [1, 2, 3]}, "prices"),
        ({"prices": [[1, 5, 1], [5, 0, 1]]}, "prices"),
        ({"confidence": 95}, "confidence"),
        ({"by": {"a": ["x"]}}, r"by\['a'\]"),
        ({"y": np.array([0.5] * 50)}, "y must"),
        ({"y": np.array([7] * 50)}, "y must"),
        ({"y": np.array([0] * 9)}, "y has 9"),
        ({"outcomes": []}, "outcomes"),
    ],
)
def test_errors_name_what_is_wrong(make, options, name):
    outcomes, y = make.cases(50, costs=(0.1, 0.2))
    given = {"outcomes": outcomes, "y": y, "classes": ["a", "b"], "chosen": 0, "title": "t"}
    with pytest.raises(ValueError, match=name):
        make_report(**(given | {"provenance": {}} | options))


def test_shares_are_not_reject_costs(make):
    outcomes, y, chosen = make.share_cases(50)
    with pytest.raises(ValueError, match='axis="review_share"'):
        make.report(outcomes, y, chosen=chosen)


def test_error_without_jinja_names_the_extra(reports, monkeypatch):
    ordinary = builtins.__import__

    def without_jinja(name, *args, **kwargs):
        if name == "jinja2":
            raise ImportError(name)
        return ordinary(name, *args, **kwargs)

    _render._template.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without_jinja)
    with pytest.raises(ImportError, match=r"rejo\[report\]"):
        render(reports["binary"])
