"""The page in a real browser: the controls, the pictures, and that both follow the setting."""

import json
import shlex

import numpy as np
import pytest
from scipy.special import ndtri

from rejo import cli
from rejo.metrics import wilson_interval
from rejo.prices import price_matrix, read_prices

KINDS = ["binary", "ordinal", "share", "by class", "dozen", "reasons"]
SHOWN = "[...document.querySelectorAll('[data-text]')].map(n => [n.dataset.text, n.textContent])"
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
DRAWN = """() => Object.fromEntries(
  [...document.querySelectorAll("svg.picture")].map((svg) => [svg.id, svg.innerHTML]))"""


def slide(page, point):
    page.locator("#slider").fill(str(point))


def give_prices(page, error, review):
    page.locator("#error-price").fill(str(error))
    page.locator("#review-price").fill(str(review))
    page.locator("#review-price").press("Enter")


@pytest.fixture
def check_numbers(compute):
    """Check that the page shows what it computes for a setting, everywhere."""

    def check(page, report, point=None, prices=None):
        expected = compute(report, point, prices)["texts"]
        shown = page.evaluate(SHOWN)
        assert len(shown) >= len(expected) - 1
        for key, text in shown:
            assert text == expected[key], key

    return check


def random_prices(rng):
    """Prices of all magnitudes, some of them round."""
    error = float(f"{10 ** rng.uniform(-4, 8):.{rng.integers(1, 7)}g}")
    return error, float(f"{error * rng.uniform(0, 0.9):.{rng.integers(1, 7)}g}")


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
def test_numbers_follow_what_is_typed(reports, visit, compute, check_numbers, kind):
    report, rng = reports[kind], np.random.default_rng(9)
    page = visit(report)
    check_numbers(page, report)
    page.locator("#by-class").set_checked(False)
    for _ in range(4):
        prices = random_prices(rng)
        give_prices(page, *prices)
        check_numbers(page, report, compute(report, None, prices)["best"], prices)
        point = int(rng.integers(len(report.tallies)))
        slide(page, point)
        check_numbers(page, report, point, prices)


@pytest.mark.parametrize("kind", KINDS)
def test_without_scripts_the_page_says_that_it_needs_them(reports, visit, kind):
    """What no setting changes is there: notes, promises, what was tried, how it was made."""
    report = reports[kind]
    page = visit(report, java_script_enabled=False)
    assert page.locator("noscript p").is_visible()
    for gone in ("#controls", "#curve", ".decisions", ".matrix"):
        assert not page.locator(gone).is_visible()
    assert page.locator(".provenance").is_visible()
    assert page.locator(".tried").count() == (report.tried is not None)
    for table in page.locator("table:visible").all():
        assert "" not in table.locator("tbody th").all_text_contents()


@pytest.mark.parametrize("width", [360, 1200])
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_move_and_stay_inside(reports, visit, kind, width):
    report = reports[kind]
    page = visit(report, viewport={"width": width, "height": 800})
    last = len(report.tallies) - 1
    slide(page, 0)
    before = page.evaluate(DRAWN)
    data = report.data
    pictures = {"cost", "curve", "budget", "tenths", "scores" if data["histogram"] else "classes"}
    pictures |= {f"gap-{c}" for c, column in enumerate(data["groups"]) if column["compared"]}
    pictures |= {"kinds"} if data["kinds"] else set()
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
    assert all(len(text.partition(": ")[2]) > 20 for text in words)


@pytest.mark.parametrize("kind", ["binary", "share"])
def test_keyboard_alone(reports, visit, compute, check_numbers, kind):
    report = reports[kind]
    page = visit(report)
    focused = "document.activeElement.id"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "slider"
    last = len(report.tallies) - 1
    for key, point in [("Home", 0), ("ArrowRight", 1), ("End", last), ("ArrowLeft", last - 1)]:
        page.keyboard.press(key)
        assert page.locator("#slider").input_value() == str(point)
        name = compute(report, point)["texts"]["point-name"]
        assert page.locator("#slider").get_attribute("aria-valuetext") == name
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "error-price"
    page.keyboard.type("900")
    page.keyboard.press("Tab")
    page.keyboard.type("90")
    page.keyboard.press("Enter")
    check_numbers(page, report, compute(report, None, (900, 90))["best"], (900, 90))
    page.locator("#slider").focus()
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate(focused) == "go-cheapest"
    page.keyboard.press("Enter")
    assert page.locator("#go-cheapest").get_attribute("aria-disabled") == "true"
    assert page.evaluate(focused) == "go-cheapest"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate(focused) == "go-start"
    assert page.locator("#slider").input_value() == str(report.chosen)
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "options"  # to be selected where there is no clipboard
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "copy"
    page.keyboard.press("Enter")
    page.locator("#copied:not(:empty)").wait_for()
    assert page.evaluate("String(getSelection())") == page.locator("#options").text_content()


@pytest.mark.parametrize(
    ("error", "review", "message"),
    [
        ("", "1", "as numbers"),
        ("100", "", "as numbers"),
        ("1,5", "0.1", "as numbers"),
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
    assert "still uses 1,000 and 120" in shown or error == "100"
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


def test_prices_by_class_can_be_typed(reports, visit, compute, check_numbers):
    report = reports["binary"]
    page = visit(report)
    assert not page.locator("#class-prices").is_visible()
    page.locator("#by-class").check()
    assert not page.locator("#two-prices").is_visible()
    fields = page.locator(".class-price")
    assert [field.input_value() for field in fields.all()] == ["1,000", "120", "1,000", "120"]
    prices = [[0, 5000, 40], [300, 0, 45]]
    for field, price in zip(fields.all(), (5000, 40, 300, 45), strict=True):
        field.fill(str(price))
    fields.last.press("Enter")
    check_numbers(page, report, compute(report, None, prices)["best"], prices)
    assert fields.first.input_value() == "5,000"
    fields.first.fill("")
    fields.first.press("Enter")
    assert "Enter every price" in page.locator("#price-message").text_content()
    assert fields.first.get_attribute("aria-invalid") == "true"
    assert fields.last.get_attribute("aria-invalid") == "false"
    page.locator("#by-class").uncheck()
    assert page.locator("#price-message").text_content() == ""
    check_numbers(page, report, compute(report, None, (1000, 120))["best"], (1000, 120))


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
    errors = np.array(reports["by class"].data["prices"])[:, :-1]
    mean = float(page.locator("#error-price").input_value())
    assert mean == pytest.approx(errors[~np.eye(4, dtype=bool)].mean(), rel=0.005)
    assert visit(reports["dozen"]).locator(".class-price").count() == 12 * 2


def test_prices_by_class_are_kept_in_the_address(reports, visit, make, check_numbers):
    report = reports["by class"]
    page = visit(report)
    page.locator(".class-price").first.fill("1234.5")
    page.locator(".class-price").first.press("Enter")
    slide(page, 3)
    again = visit(report, fragment=page.evaluate("location.hash"))
    prices = make.prices(4)
    prices[0, 1] = 1234.5
    check_numbers(again, report, 3, prices)
    assert again.locator(".class-price").first.input_value() == "1,234.5"


def test_a_cheaper_baseline_is_named(reports, visit):
    page = visit(reports["binary"])
    assert not page.locator("#baseline").is_visible()
    give_prices(page, 1000, 1)
    assert page.locator("#baseline").is_visible()


def test_setting_is_kept_in_the_address(reports, visit, check_numbers):
    report = reports["binary"]
    page = visit(report)
    give_prices(page, 700, 70)
    slide(page, 9)
    fragment = page.evaluate("location.hash")
    again = visit(report, fragment=fragment)
    check_numbers(again, report, 9, (700, 70))
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
def test_an_impossible_address_is_ignored(reports, visit, check_numbers, fragment):
    report = reports["binary"]
    check_numbers(visit(report, fragment=fragment), report)


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


def test_edges_of_what_there_is(make, visit, check_numbers):
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
            check_numbers(page, report, point)
            assert page.evaluate(OUTSIDE) == []


# ---- the same prices, and the same names, everywhere --------------------------------------


def test_the_first_sentence_follows_the_prices(reports, visit):
    page = visit(reports["binary"])
    first = page.locator("header p.headline").first
    assert "1,000 and a review 120" in first.text_content()
    give_prices(page, 700, 70)
    assert "700 and a review 70" in first.text_content()
    assert not {"1000", "120"} & set(first.text_content().replace(",", "").split()[15:])
    assert page.locator("#error-price").input_value() == "700"
    give_prices(page, "12345.5", 70)
    assert page.locator("#error-price").input_value() == "12,345.5"


LINES = """(id) => [...document.querySelectorAll(`#${id} path.ours, #${id} path.rival`)]
  .map((path) => path.getAttribute("d").slice(1).split("L"))
  .map((line) => line.map((at) => at.split(" ").map(Number)))"""


def test_with_prices_by_class_models_are_compared_by_cost(reports, visit):
    """Ranked for other prices, the errors of one model say nothing beside those of another."""
    page = visit(reports["by class"])
    assert page.locator("#curve path.rival").count() == 0
    assert page.locator("#cost path.rival").count() == 2
    ends = [line[-1] for line in page.evaluate(LINES, "cost")]
    assert len(ends) == 3
    heights = [y for _, y in ends]  # where all is reviewed, all cost the same
    assert max(heights) - min(heights) < 1
    page = visit(reports["binary"])
    assert page.locator("#curve path.rival").count() == 2
    assert page.locator("#cost path.rival").count() == 2


def test_costs_of_rivals_follow_the_prices(reports, visit, make):
    """Drawn where a loop over their cases puts them."""
    report, prices = reports["by class"], make.prices(4)
    page = visit(report)
    found = page.evaluate(
        """(prices) => {
          const data = JSON.parse(document.getElementById("data").textContent);
          return rivalCosts(data, prices);
        }""",
        (2 * prices).tolist(),
    )
    for rival, curve in zip(report.data["rivals"], found, strict=True):
        for (reviewed, _, cells), (share, cost) in zip(rival["points"], curve, strict=True):
            errors = zip(cells[::3], cells[1::3], cells[2::3], strict=True)
            paid = sum(number * prices[k, c] for k, c, number in errors)
            paid += sum(n * prices[k, -1] for k, n in enumerate(reviewed))
            assert share == pytest.approx(sum(reviewed) / rival["n"])
            assert cost == pytest.approx(2 * 1000 * paid / rival["n"])


def test_a_model_has_one_name_on_the_page(reports, visit):
    page = visit(reports["by class"])
    tried = page.locator(".tried tbody th").all_text_contents()
    legend = page.locator("figure:has(#cost) .legend span").all_text_contents()
    assert sorted(tried) == sorted(set(legend) - {"every case decided", "every case reviewed"})
    assert page.locator("figure:has(#curve) .legend span").first.text_content().startswith("blend")


# ---- the command for a point --------------------------------------------------------------


def options_at(texts, report, point=None, prices=None):
    """The options for a point, as the command line reads them."""
    words = iter(shlex.split(texts(report, point, prices)["options"]))
    return {word: next(words) for word in words}


def test_refits_are_made_by_their_price(reports, texts):
    report = reports["binary"]
    assert options_at(texts, report, 2) == {"--reject-cost": "0.08"}
    assert options_at(texts, report, 3, (1000, 120)) == {"--costs": "error=1000,review=120"}


def test_shares_of_a_ranking_are_made_by_a_budget(reports, texts):
    report = reports["share"]
    n = report.data["n"]
    for point, reviewed in enumerate(report.data["reviewed"]):
        found = options_at(texts, report, point)
        if reviewed in (0, n):
            assert found == {}
        else:
            assert float(found["--review-budget"]) == pytest.approx(reviewed / n, abs=1e-4)
            assert float(found["--review-budget"]) >= reviewed / n - 1e-9


def test_options_have_the_prices_by_class(reports, texts, make):
    report, prices = reports["by class"], make.prices(4)
    classes, chosen = report.data["classes"], report.chosen

    def read(found):
        return price_matrix(read_prices(found["--costs"]), classes, ordered=False)

    found = options_at(texts, report, chosen)
    assert set(found) == {"--costs"}
    np.testing.assert_allclose(read(found), prices)
    fewer = options_at(texts, report, chosen - 3)
    np.testing.assert_allclose(read(fewer), prices)
    part = report.data["reviewed"][chosen - 3] / report.data["n"]
    assert float(fewer["--review-budget"]) == pytest.approx(part, abs=1e-4)
    # More reviews than pay: at the prices that make this point the best.
    more = options_at(texts, report, chosen + 2)
    cut = report.data["cuts"][chosen + 2]
    assert cut < 0
    np.testing.assert_allclose(read(more)[:, :-1], prices[:, :-1])
    np.testing.assert_allclose(read(more)[:, -1], prices[:, -1] + cut)
    prices[0, -1] = 0.0  # a price that the command line does not take
    assert set(options_at(texts, report, chosen - 3, prices)) == {"--review-budget"}


def test_options_quote_what_needs_it(make, texts):
    classes = ["it's, a: b", 'x>"y"=']
    prices = np.array([[0, 1.234, 0.5], [7000, 0, 0.5]])
    outcomes, y, chosen = make.posterior_cases(300, 2, prices=prices, n_points=9)
    report = make.report(
        outcomes, y, classes, chosen=chosen, axis="review_share", prices=prices, ordered=False
    )
    found = options_at(texts, report)
    np.testing.assert_allclose(price_matrix(read_prices(found["--costs"]), classes), prices)


def test_options_can_be_copied(reports, visit):
    page = visit(reports["share"])
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy").click()
    page.locator("#copied:not(:empty)").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("#options").text_content() != ""
    slide(page, 3)
    assert page.locator("#copied").text_content() == ""
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page.locator("#copy").click()
    page.locator("#copied:not(:empty)").wait_for()
    assert page.evaluate("String(getSelection())") == page.locator("#options").text_content()
    slide(page, 0)  # nothing is reviewed
    assert not page.locator("#copy").is_visible()
    assert page.locator("#no-options").is_visible()


@pytest.mark.parametrize("costs", ["error=10,review=2", "error:bad=40,error:good=9,review=3"])
def test_options_train_the_point_that_is_shown(browser, tmp_path, monkeypatch, capsys, costs):
    """From the slider to a model that reviews as many cases as the page says."""
    pd, _ = pytest.importorskip("pandas"), pytest.importorskip("skops")
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(500, 3))
    grade = np.where(x @ [1, 1, 0.2] + x[:, 2] ** 2 > 1, "good", "bad")
    grade = np.where(np.arange(500) % 9, grade, "bad")
    pd.DataFrame(x, columns=list("abc")).assign(grade=grade).to_csv("t.csv", index=False)

    def train(*options):
        words = ["train", "t.csv", "--target", "grade", "--model", "logistic-posterior", "--json"]
        capsys.readouterr()
        assert cli.main([*words, "-o", "m.rejo", "--overwrite", *options]) == 0
        return json.loads(capsys.readouterr().out)["expected"]["rejection_rate"]["estimate"]

    own = train("--costs", costs, "--report", "r.html")
    page = browser.new_page()
    page.goto((tmp_path / "r.html").as_uri())
    shares = page.evaluate("JSON.parse(document.getElementById('data').textContent).reviewed")
    chosen = int(page.locator("#slider").input_value())
    assert shares[chosen] / 500 == pytest.approx(own, abs=0.01)
    for point in (chosen // 2, chosen, (chosen + len(shares)) // 2):
        slide(page, point)
        found = train(*shlex.split(page.locator("#options").text_content()))
        assert found == pytest.approx(shares[point] / 500, abs=0.03), point
    page.close()
