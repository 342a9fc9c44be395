"""The page in a real browser: every number, the controls, the pictures."""

import numpy as np
import pytest
from scipy.special import ndtri

from rejo.metrics import wilson_interval
from rejo.report import Setting

KINDS = ["binary", "ordinal", "share", "by class", "dozen", "reasons"]
READ = "ids => ids.map(id => document.getElementById(id).textContent)"
# Whatever is drawn must lie within the viewBox of its picture.
OUTSIDE = """() => [...document.querySelectorAll("svg.picture")].flatMap((svg) => {
  const box = svg.viewBox.baseVal;
  return [...svg.querySelectorAll("line, rect, path, circle, text")]
    .filter((node) => !node.closest("defs"))
    .map((node) => [svg.id, node.outerHTML, node.getBBox()])
    .filter(([, , b]) => b.x < -0.5 || b.y < -0.5 || b.x + b.width > box.width + 0.5
      || b.y + b.height > box.height + 0.5)
    .map(([id, html]) => `${id}: ${html}`);
})"""
# Many settings in one call: prices as they come from the fields, then the slider.
TRY_ALL = """([settings, keys]) => settings.map(([point, prices]) => {
  const give = (input, value, kinds) => {
    input.value = value;
    for (const kind of kinds) input.dispatchEvent(new Event(kind, { bubbles: true }));
  };
  const byClass = document.getElementById("by-class"), two = !Array.isArray(prices[0]);
  if (byClass.checked === two) byClass.click();
  if (two) {
    give(document.getElementById("error-price"), prices[0], ["input"]);
    give(document.getElementById("review-price"), prices[1], ["input", "change"]);
  } else {
    const fields = [...document.querySelectorAll(".class-price")];
    for (const field of fields) {
      const row = prices[field.dataset.row], k = Number(field.dataset.row);
      const column = field.dataset.column === "error" ? (k ? 0 : 1) : field.dataset.column;
      const last = field === fields[fields.length - 1];
      give(field, row[column], last ? ["input", "change"] : ["input"]);
    }
  }
  const message = document.getElementById("price-message").textContent;
  const moved = document.getElementById("slider").value;
  give(document.getElementById("slider"), point, ["input", "change"]);
  return { message, moved, texts: keys.map((id) => document.getElementById(id).textContent) };
})"""
DRAWN = """() => Object.fromEntries(
  [...document.querySelectorAll("svg.picture")].map((svg) => [svg.id, svg.innerHTML]))"""


def slide(page, point):
    page.locator("#slider").fill(str(point))


def give_prices(page, error, review):
    page.locator("#error-price").fill(str(error))
    page.locator("#review-price").fill(str(review))
    page.locator("#review-price").press("Enter")


def check_numbers(page, report, setting):
    expected = report.numbers(setting)
    shown = dict(zip(expected, page.evaluate(READ, list(expected)), strict=True))
    assert shown == expected, setting
    copies = (
        "[...document.querySelectorAll('[data-copy]')].map(n => [n.dataset.copy, n.textContent])"
    )
    for key, text in page.evaluate(copies):
        assert text == expected[key]


# Where the number of decimals changes, halves have to be rounded, and at the limits.
EDGES = [
    (10, 5), (0.1, 0.05), (0.001, 0.0005), (1, 0.5), (1, 0), (1e9, 5e8), (1e-6, 0), (0.5, 0.125),
    (1, 1), (10, 1e9),
]  # fmt: skip


def random_prices(rng):
    """Prices of all magnitudes, some of them round."""
    error = float(f"{10 ** rng.uniform(-4, 8):.{rng.integers(1, 7)}g}")
    return error, float(f"{error * rng.uniform(0, 0.9):.{rng.integers(1, 7)}g}")


def random_matrix(rng, report):
    """Prices by class; where each class has one field for all errors, one price for all."""
    K, (error, review) = len(report.classes), random_prices(rng)
    of_errors = rng.uniform(0, 2, (K, K if K <= 5 else 1)) * rng.integers(0, 2, (K, 1))
    of_errors[0] = 1.0
    prices = np.empty((K, K + 1))
    prices[:, :-1] = error * of_errors * (1 - np.eye(K))
    prices[:, -1] = review * rng.integers(0, 3, K)
    return [[float(f"{price:.4g}") for price in row] for row in prices]


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_is_that_of_python(reports, visit, kind):
    report, rng = reports[kind], np.random.default_rng(KINDS.index(kind))
    page = visit(report)
    check_numbers(page, report, report.setting)
    prices = EDGES + [random_prices(rng) for _ in range(92)]
    prices += [random_matrix(rng, report) for _ in range(30)]
    settings = [Setting(int(rng.integers(len(report.tallies))), given) for given in prices]
    keys = list(report.numbers(report.setting))
    for setting, shown in zip(settings, page.evaluate(TRY_ALL, [settings, keys]), strict=True):
        expected = report.numbers(setting)
        assert shown["message"] == ""
        assert int(shown["moved"]) == report.best_point(setting.prices)
        assert dict(zip(keys, shown["texts"], strict=True)) == expected, setting


def test_wilsons_interval_is_that_of_the_metrics(reports, visit):
    rng = np.random.default_rng(0)
    confidence = 0.95
    cases = [(0, 0), (0, 1), (1, 1), (0, 500), (500, 500)]
    cases += [(int(rng.integers(n + 1)), int(n)) for n in rng.integers(1, 10_000, 500)]
    z = float(ndtri((1 + confidence) / 2))
    given = [(part, n, worth, z) for part, n in cases for worth in (1.0, 0.4, 0.123)]
    shown = visit(reports["binary"]).evaluate("cases => cases.map((c) => wilson(...c))", given)
    for (part, n, worth, _), limits in zip(given, shown, strict=True):
        assert tuple(limits) == wilson_interval(part, n, confidence, n_effective=n * worth)[1:]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_follow_what_is_typed(reports, visit, kind):
    report, rng = reports[kind], np.random.default_rng(9)
    page = visit(report)
    page.locator("#by-class").set_checked(False)
    for _ in range(4):
        prices = random_prices(rng)
        give_prices(page, *prices)
        check_numbers(page, report, Setting(report.best_point(prices), prices))
        point = int(rng.integers(len(report.tallies)))
        slide(page, point)
        check_numbers(page, report, Setting(point, prices))


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_without_scripts(reports, visit, kind):
    report = reports[kind]
    page = visit(report, java_script_enabled=False)
    for key in ("headline", "cases-wrong", "cost-total", "curve-words", "cell-0-0"):
        assert page.locator(f"#{key}").text_content() == report.numbers(report.setting)[key]
    assert not page.locator("#controls").is_visible()
    assert page.locator("noscript p").first.is_visible()
    assert not page.locator("#curve").is_visible()


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_move_and_stay_inside(reports, visit, kind, width):
    report = reports[kind]
    page = visit(report, viewport={"width": width, "height": 800})
    last = len(report.tallies) - 1
    slide(page, 0)
    before = page.evaluate(DRAWN)
    pictures = {"cost", "curve", "budget", "tenths", "scores" if report.histogram else "classes"}
    pictures |= {f"gap-{c}" for c, column in enumerate(report.columns) if column.compared}
    pictures |= {"kinds"} if report.kinds else set()
    assert set(before) == pictures
    for point in (last, last // 2, last // 3):
        slide(page, point)
        after = page.evaluate(DRAWN)
        changed = {name for name in before if before[name] != after[name]}
        assert changed >= pictures - ({"curve"} if point == last else set())
        assert page.evaluate(OUTSIDE) == []
        before = after
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(overflow) == 0


def test_pictures_follow_the_width(reports, visit):
    page = visit(reports["binary"])
    page.set_viewport_size({"width": 400, "height": 800})
    page.wait_for_timeout(200)
    assert page.evaluate("document.getElementById('curve').viewBox.baseVal.width") < 400
    assert page.evaluate(OUTSIDE) == []


def test_pictures_have_words(reports, visit):
    page = visit(reports["binary"])
    page.locator("#slider").fill("2")
    words = page.evaluate(
        """() => [...document.querySelectorAll("svg.picture")].map((svg) =>
          svg.getAttribute("aria-labelledby").split(" ").map((id) =>
            document.getElementById(id).textContent).join(": "))"""
    )
    assert len(words) == 5
    assert "Cheapest point" in words[0]
    assert "of the decided are correct" in words[1]


@pytest.mark.parametrize("kind", ["binary", "share"])
def test_keyboard_alone(reports, visit, kind):
    report = reports[kind]
    page = visit(report)
    focused = "document.activeElement.id"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "slider"
    last = len(report.tallies) - 1
    for key, point in [("Home", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1)]:
        page.keyboard.press(key)
        assert page.locator("#slider").input_value() == str(point)
        assert (
            page.locator("#slider").get_attribute("aria-valuetext")
            == (report.payload()["texts"]["point-name"][point])
        )
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "error-price"
    page.keyboard.type("900")
    page.keyboard.press("Tab")
    page.keyboard.type("90")
    page.keyboard.press("Enter")
    check_numbers(page, report, Setting(report.best_point((900, 90)), (900, 90)))
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate(focused) == "go-cheapest"
    page.keyboard.press("Enter")
    assert "shown here" in page.locator("#cheapest").text_content()
    assert page.evaluate(focused) == "go-cheapest"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "go-start"
    assert page.locator("#slider").input_value() == str(report.chosen)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize(
    ("error", "review", "message"),
    [
        ("", "1", "as numbers"),
        ("100", "", "as numbers"),
        ("-5", "1", "must be positive"),
        ("0", "0", "must be positive"),
        ("100", "-1", "must not be negative"),
        ("100", "1e10", "no other price higher"),
        ("1e300", "1", "between 0.000001 and"),
        ("1e-9", "0", "between 0.000001 and"),
    ],
)
def test_prices_that_make_no_sense(reports, visit, error, review, message):
    report = reports["binary"]
    page = visit(report)
    give_prices(page, error, review)
    shown = page.locator("#price-message").text_content()
    assert message in shown
    assert "still uses 1000 and 120" in shown or error == "100"
    assert page.locator("#error-price").get_attribute("aria-invalid") == "true"
    text = page.locator("body").inner_text()
    assert "NaN" not in text
    assert "undefined" not in text
    assert "Infinity" not in text
    give_prices(page, 500, 50)
    assert page.locator("#price-message").text_content() == ""


def test_prices_count_after_a_pause_in_typing(reports, visit):
    page = visit(reports["binary"])
    page.locator("#error-price").fill("2000")
    page.wait_for_timeout(1000)
    assert "costs 0.06 of an error" in page.locator("#price-ratio").text_content()


@pytest.mark.parametrize(("kind", "where"), [("binary", "closest"), ("share", "cheapest")])
def test_page_says_that_prices_moved_the_slider(reports, visit, kind, where):
    page = visit(reports[kind])
    slide(page, 0)
    give_prices(page, 100, 49)
    assert where in page.locator("#moved").text_content()
    slide(page, 1)
    assert page.locator("#moved").text_content() == ""


def test_prices_by_class_can_be_typed(reports, visit):
    report = reports["binary"]
    page = visit(report)
    assert not page.locator("#class-prices").is_visible()
    page.locator("#by-class").check()
    assert not page.locator("#two-prices").is_visible()
    fields = page.locator(".class-price")
    assert [field.input_value() for field in fields.all()] == ["1000", "120", "1000", "120"]
    prices = [[0, 5000, 40], [300, 0, 45]]
    for field, price in zip(fields.all(), (5000, 40, 300, 45), strict=True):
        field.fill(str(price))
    fields.last.press("Enter")
    check_numbers(page, report, Setting(report.best_point(prices), prices))
    fields.first.fill("")
    fields.first.press("Enter")
    assert "Enter every price" in page.locator("#price-message").text_content()
    assert fields.first.get_attribute("aria-invalid") == "true"
    assert fields.last.get_attribute("aria-invalid") == "false"
    page.locator("#by-class").uncheck()
    check_numbers(page, report, Setting(report.best_point((1000, 120)), (1000, 120)))
    assert page.locator("#price-message").text_content() == ""


def test_prices_that_differ_by_class_are_shown_at_once(reports, visit):
    page = visit(reports["by class"])
    assert page.locator("#by-class").is_checked()
    assert page.locator(".class-price").count() == 4 * 4
    names = page.evaluate(
        """() => [...document.querySelectorAll(".class-price")].map((field) =>
          field.getAttribute("aria-labelledby").split(" ").map((id) =>
            document.getElementById(id).textContent).join(": "))"""
    )
    assert len(set(names)) == 16
    page.locator("#by-class").uncheck()
    two = reports["by class"].two_prices
    check_numbers(page, reports["by class"], Setting(reports["by class"].best_point(two), two))
    assert visit(reports["dozen"]).locator(".class-price").count() == 12 * 2


def test_prices_by_class_are_kept_in_the_address(reports, visit, make):
    report = reports["by class"]
    page = visit(report)
    page.locator(".class-price").first.fill("1234.5")
    page.locator(".class-price").first.press("Enter")
    slide(page, 3)
    again = visit(report, fragment=page.evaluate("location.hash"))
    prices = make.prices(4)
    prices[0, 1] = 1234.5
    check_numbers(again, report, Setting(3, prices))
    assert again.locator(".class-price").first.input_value() == "1234.5"


def test_a_cheaper_baseline_is_named(reports, visit):
    page = visit(reports["binary"])
    assert not page.locator("#baseline").is_visible()
    give_prices(page, 1000, 1)
    assert "reviewing every case costs" in page.locator("#baseline").text_content()
    assert page.locator("#baseline").is_visible()


def test_setting_is_kept_in_the_address(reports, visit):
    report = reports["binary"]
    page = visit(report)
    give_prices(page, 700, 70)
    slide(page, 9)
    fragment = page.evaluate("location.hash")
    again = visit(report, fragment=fragment)
    check_numbers(again, report, Setting(9, (700, 70)))
    assert again.locator("#error-price").input_value() == "700"


@pytest.mark.parametrize(
    "fragment",
    [
        "#point=99&error=1&review=0.1",
        "#point=1&error=x&review=<b>",
        "#point=",
        "#x",
        "#point=1&prices=0,1,2",
        "#point=1&prices=1,1,1;1,0,1",
        "#point=1&prices=0,-1,1;1,0,1",
    ],
)
def test_an_impossible_address_is_ignored(reports, visit, fragment):
    report = reports["binary"]
    check_numbers(visit(report, fragment=fragment), report, report.setting)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(reports, visit, scheme):
    """Text on its background: at least 4.5 to 1; parts of pictures: 3 to 1."""
    page = visit(reports["binary"], color_scheme=scheme)
    colours = page.evaluate(
        """() => {
          const style = getComputedStyle(document.documentElement);
          const names = ["paper", "card", "ink", "soft", "accent", "bad", "right", "wrong",
            "rival-0", "rival-1", "rival-2", "rival-3", "rival-4", "rival-5"];
          return Object.fromEntries(names.map((n) => [n, style.getPropertyValue("--" + n).trim()]));
        }"""
    )

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        channels = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
        linear = np.where(
            channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
        )
        return linear @ [0.2126, 0.7152, 0.0722]

    def contrast(one, other):
        dark, light = sorted([luminance(colours[one]), luminance(colours[other])])
        return (light + 0.05) / (dark + 0.05)

    assert (luminance(colours["paper"]) > 0.5) == (scheme == "light")
    for name in ("ink", "soft", "accent", "bad"):
        assert min(contrast(name, "paper"), contrast(name, "card")) >= 4.5, name
    for name in ("right", "wrong", *(f"rival-{i}" for i in range(6))):
        assert contrast(name, "paper") >= 3, name


def test_edges_of_what_there_is(make, visit):
    """One point, one case, no score; everything reviewed: the script copes with all of them."""
    outcomes, y = make.cases(1, costs=(0.1,))
    one = make.report(outcomes, np.array([0]), ["no", "yes"])
    outcomes, y = make.cases(40, 4, costs=(0.1, 0.4), width=100.0)
    outcomes = [type(p)(*(getattr(p, key) if key not in ("score", "bands") else None
                          for key in p.__dataclass_fields__)) for p in outcomes]  # fmt: skip
    groups = {"same": np.zeros(40), "each": np.arange(40)}
    for report in (one, make.report(outcomes, y, by=groups)):
        page = visit(report, viewport={"width": 360, "height": 700})
        for point in range(len(report.tallies)):
            if len(report.tallies) > 1:
                slide(page, point)
            check_numbers(page, report, Setting(point, report.prices))
            assert page.evaluate(OUTSIDE) == []
