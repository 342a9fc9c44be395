"""Labels are text, whatever they contain."""

import re
import unicodedata
from html.parser import HTMLParser

import numpy as np
import pytest

from rejo.explain import DoubtfulFeature
from rejo.report import render
from rejo.selection import Guarantee

HOSTILE = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "</title><h1>x</h1>",
    "</style><style>*{display:none}</style>", "<!--", "-->", "<!-- <script>", "]]>",
    "<![CDATA[x]]>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>", "<iframe srcdoc='<script>alert(1)</script>'>",
    "<base href='https://example.com/'>",
    "<meta http-equiv=refresh content='0;url=https://example.com'>",
    "<a href=javascript:alert(1)>x</a>", "javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>", "${alert(1)}", "`${alert(1)}`", "{{7*7}}",
    "{% raw %}", "{# x #}", "{{ report.__class__ }}", "%(title)s", "%s%n", "{0.__class__}", "'",
    '"', "`", "\\", "\\u003cscript>", "&lt;b&gt;", "&amp;", "&#60;script&#62;", "&notit;",
    '" onmouseover="alert(1)', "' autofocus onfocus='alert(1)", "x' y=\"z", "a\u2028b",
    "a\u2029b", "\u202eright to left", "\u200f\u05d0\u05d1\u05d2", "\u2066isolate",
    "\u200b\u200dzero", "\ufeffmark", "👩‍👩‍👧‍👦 🏳️‍🌈", "Z̸͑a͖l͝g̀o", "a\x00b", "a\x1b[31mb",
    "a\x7fb", "tab\there", "new\nline", "car\rriage", "\ud800 half a pair", "\uffff none",
    "x" * 5000, "<b>" * 200, "long " * 100, "../../etc/passwd", "=cmd|' /C calc'!A0", "__proto__",
    "constructor", "toString", "hasOwnProperty", "NaN", "null", "undefined", "-0", "1e999",
    "https://example.com/x.js", "url(https://example.com)", "@import 'x'",
    "<math><mtext></mtext><mglyph><style><img src=x onerror=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>", "<template>", "<plaintext>",
    "<textarea>", "<select><option>", "<table><tr><td>", "ﷺ ǆ ß İ", "日本語", "ß<wbr>",
]  # fmt: skip


def as_shown(text, longest=None):
    """What may become of a text: blanks are one, control characters a sign, the end cut."""
    text = "".join(
        " " if char in "\t\n\r"
        else "\ufffd" if unicodedata.category(char) in ("Cc", "Cs") else char
        for char in text
    )  # fmt: skip
    if longest and len(text) > longest:
        text = text[: longest - 1] + "…"
    return blanks(text)


def blanks(text):
    return re.sub(r"\s+", " ", text).strip()


def texts(page, selector):
    return [blanks(text) for text in page.locator(selector).all_text_contents()]


def elements(page):
    return page.evaluate("[...document.querySelectorAll('*')].map((node) => node.localName).sort()")


def full_report(make, strings):
    outcomes, y = make.cases(200, costs=(0.1, 0.3))
    half = len(strings) // 2
    columns = strings[:half]
    values = strings[half : half + 2 * 24 + 1]
    groups = {name: np.where(np.arange(200) % 2, "odd", "even") for name in columns[:20]}
    groups |= {
        f"values {i}": np.array([values[24 * i + j % 24] for j in range(200)], dtype=object)
        for i in range(len(values) // 24)
    }
    return make.report(
        outcomes, y, by=groups, choice=make.choice(strings, y, 2), notes=strings,
        provenance={name: name for name in strings}, command="\n".join(strings),
        promises=[Guarantee("error_rate", 0.1, None, 0.9, 99, 1, "group", name)
                  for name in strings],
        sent_to_review=strings,
        doubtful=[DoubtfulFeature(name, 0.5, 0.5, name, 9, 0.5, 0.1) for name in strings],
    )  # fmt: skip


def test_enough_strings():
    assert len(set(HOSTILE)) == len(HOSTILE) >= 50


@pytest.mark.parametrize("part", [0, 1])
def test_labels_are_text(make, visit, part):
    strings = HOSTILE[::-1] if part else HOSTILE
    report = full_report(make, strings)
    page = visit(report)
    harmless = visit(full_report(make, [f"text {i:03d}" for i in range(len(strings))]))
    assert elements(page) == elements(harmless)
    expected = [as_shown(text) for text in strings]
    assert texts(page, ".notes li") == expected
    assert texts(page, ".provenance th") == expected
    assert texts(page, ".provenance td") == expected
    names = [as_shown(text, 120) for text in strings]
    assert texts(page, ".tried tbody th") == names
    assert texts(page, "figure:has(#cost) .rival-name") == [names[0], *names[2:]]
    shown = texts(page, ".groups .part th")
    assert shown[:20] == [as_shown(text, 120) for text in strings[: len(strings) // 2][:20]]
    assert {
        as_shown(value, 120) for value in strings[len(strings) // 2 :][: 24 * (len(shown) - 20)]
    } <= set(texts(page, ".groups th"))
    assert texts(page, ".promise-table tbody th") == names
    assert texts(page, ".doubtful tbody th") == names[:12]
    assert blanks(", ".join(names)) in texts(page, "#sent-to-review")[0]
    assert texts(page, ".gap-block h3")[0] == f"By {names[0]}"
    assert blanks(page.locator("#command").text_content()) == blanks(" ".join(expected))
    page.locator("#slider").fill("0")
    page.locator("#slider").fill("1")
    assert elements(page) == elements(harmless)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    page.set_viewport_size({"width": 360, "height": 700})
    assert page.evaluate(overflow) == 0


def test_classes_and_titles_are_text(make, visit):
    outcomes, y = make.cases(60, 6, costs=(0.1, 0.3))
    page = visit(make.report(outcomes, y, command="x", choice=make.choice(list("abcdef"), y, 6)))
    harmless = elements(page)
    for i in range(0, len(HOSTILE), 6):
        title, classes = HOSTILE[i], [HOSTILE[i - k] for k in range(6)]
        choice = make.choice(classes, y, 6)
        report = make.report(outcomes, y, classes, title=title, command=title, choice=choice)
        visit(report, page=page)
        assert blanks(page.title()) == as_shown(title)
        assert texts(page, "h1") == [as_shown(title)]
        assert texts(page, ".matrix tbody th") == [as_shown(label, 120) for label in classes]
        for table in (".price-table", ".tried"):
            shown = texts(page, f"{table} tbody th")
            assert shown == [as_shown(label, 120) for label in classes]
        assert elements(page) == harmless, title
        words = page.evaluate(
            """() => {
              const slider = document.getElementById("slider");
              slider.value = 1;
              slider.dispatchEvent(new Event("input"));
              return document.querySelector("[data-text=classes-words]").textContent;
            }"""
        )
        for label in classes:
            assert as_shown(label, 120) in blanks(words)


class Title(HTMLParser):
    """What stands in the title and the headline, as any parser reads it."""

    def __init__(self, html):
        super().__init__()
        self.inside, self.found = None, {"title": "", "h1": ""}
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.inside = tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside in self.found:
            self.found[self.inside] += data


def test_titles_are_escaped(make):
    outcomes, y = make.cases(60, costs=(0.1, 0.3))
    for title in HOSTILE:
        found = Title(render(make.report(outcomes, y, title=title))).found
        assert {blanks(text) for text in found.values()} == {as_shown(title)}
