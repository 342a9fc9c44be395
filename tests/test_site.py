"""The built site: links, requests to the outside, accessibility. `make site` runs this."""

import functools
import http.server
import re
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.browser import chromium

pytestmark = [pytest.mark.site, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parent.parent
SITE = ROOT / "build" / "site"
# Start page, guide, reference: the first example is added below.
LOOKED_AT = ["index.html", "classifiers.html", "operating-points.html", "api/rejo.RejoSVC.html"]


class Page(HTMLParser):
    """What a page links to, what it loads, and the anchors it has."""

    def __init__(self, path):
        super().__init__()
        self.links, self.loads, self.anchors = [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        elif found.get("src"):
            self.loads.append(found["src"])
        elif tag == "link" and found.get("rel") not in ("canonical", "author", "next", "prev"):
            self.loads.append(found["href"])


def is_outside(address):
    return bool(re.match(r"(?:[a-z][a-z0-9+.-]*:)?//", address)) and not address.startswith("data:")


@pytest.fixture(scope="module")
def pages():
    assert SITE.is_dir(), "there is no build/site: run `make site`"
    return {
        path: Page(path) for path in sorted(SITE.rglob("*.html")) if "_static" not in path.parts
    }


def examples():
    """The pages of the gallery, if any."""
    return sorted(path.relative_to(SITE).as_posix() for path in SITE.glob("gallery/**/plot_*.html"))


def test_every_public_name_has_a_page_with_its_description(pages):
    sys.path.insert(0, str(ROOT / "docs"))
    from public_names import public_names

    names = [f"{module}.{name}" for module, names in public_names().items() for name in names]
    assert len(names) > 100
    without = [name for name in names if not describes(pages, name)]
    assert not without


def describes(pages, name):
    page = pages.get(SITE / "api" / f"{name}.html")
    return page is not None and name in page.anchors


def test_links_within_the_site_lead_somewhere(pages):
    lost = []
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchors = pages[target].anchors if target in pages else None
            anchor = unquote(parts.fragment)
            if not target.exists() or (anchor and anchors is not None and anchor not in anchors):
                lost.append(f"{path.relative_to(SITE)}: {link}")
    assert not lost


def test_pages_load_nothing_from_elsewhere(pages):
    loads = {load for page in pages.values() for load in page.loads if is_outside(load)}
    for sheet in SITE.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8", errors="replace")
        loads |= set(re.findall(r"(?:url\(|@import )[\"']?((?:https?:)?//[^\"')]+)", text))
    assert not loads


def test_no_page_names_a_folder_of_the_builder(pages):
    telling = [path.name for path in pages if str(ROOT) in path.read_text(encoding="utf-8")]
    assert not telling


@pytest.fixture(scope="module")
def address():
    """The site, served on loopback."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    """Chromium of the system."""
    with chromium() as running:
        yield running


def opened(browser, address, page, **options):
    """Open a page; return it with the addresses outside the site that it asked for."""
    tab = browser.new_context(**options).new_page()
    tab.set_default_timeout(200_000)  # a busy machine
    outside = []
    tab.on("request", lambda request: note(request.url, address, outside))
    tab.goto(f"{address}/{page}", wait_until="networkidle")
    return tab, outside


def note(url, address, outside):
    if not url.startswith((address, "data:", "blob:")):
        outside.append(url)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_no_serious_accessibility_fault_and_no_request_outside(browser, address, width, scheme):
    axe = pytest.importorskip("axe_playwright_python")
    script = Path(axe.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    faults = []
    for page in [*LOOKED_AT, *examples()[:1]]:
        size = {"width": width, "height": 900}
        tab, outside = opened(browser, address, page, viewport=size, color_scheme=scheme)
        tab.evaluate(script)
        found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
        faults += [
            f"{page}: {fault['id']}: {node['target']}"
            for fault in found
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]
        faults += [f"{page}: asks for {url}" for url in outside]
        wide = tab.evaluate("document.documentElement.scrollWidth")
        faults += [f"{page}: {wide} pixels wide"] if wide > width else []
        tab.context.close()
    assert not faults


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("RejoSVC", "api/rejo.RejoSVC.html"),
        ("novel cases", "reasons.html"),
        ("promise", "promises.html"),
    ],
)
def test_search_has_the_page_to_read_near_the_top(browser, address, words, page):
    tab, outside = opened(browser, address, f"search.html?q={quote(words)}")
    tab.wait_for_selector("#search-results li:nth-child(3) a")
    found = tab.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
    assert f"{address}/{page}" in [link.partition("#")[0] for link in found[:3]]
    assert not outside
    tab.context.close()
