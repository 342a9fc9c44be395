"""Pictures of the report, taken in Chromium: ``python docs/report_picture.py``."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
LOANS = "--target outcome --id application --model logistic-posterior --novelty"
PRICED = f"train loans.csv {LOANS} --by region -o loans.rejo --report report.html"
PRICED += " --costs error:default=5000,error:repaid=1500,review=300"
PROMISED = f"train many.csv {LOANS} --group region --max-error-by-group 0.15 --confidence 0.9"
PROMISED += " --small-groups review -o many.rejo"
TESTED = "evaluate many.rejo more.csv --report groups.html"


def main() -> None:
    from transcripts import make_loans, write_tables  # beside this script

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_tables(home)
        loans = make_loans(9000, seed=3)
        loans = loans[(loans["region"] != "islands") | (loans.index % 8 == 0)]  # few of them
        loans.iloc[:6000].to_csv(home / "many.csv", index=False)
        loans.iloc[6000:].to_csv(home / "more.csv", index=False)
        for words in (PRICED, PROMISED, TESTED):
            command = [sys.executable, "-m", "rejo.cli", *words.split()]
            subprocess.run(command, cwd=home, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=FLAGS
            )
            page = browser.new_page(viewport={"width": 1120, "height": 2080})
            page.goto((home / "report.html").as_uri())
            page.screenshot(path=FOLDER / "report.png")
            page.goto((home / "groups.html").as_uri())
            parts = []
            for name in ("promises", "kinds", "gaps"):
                parts.append(home / f"{name}.png")
                page.locator(f"section[aria-labelledby={name}-title]").screenshot(path=parts[-1])
            browser.close()
        picture = stack([Image.open(part) for part in parts]).quantize(256, kmeans=3)
        picture.save(FOLDER / "report_groups.png", optimize=True)


def stack(images: list[Image.Image], gap: int = 40) -> Image.Image:
    """Put pictures below each other."""
    height = sum(image.height + gap for image in images)
    whole = Image.new(
        "RGB", (max(image.width for image in images) + 2 * gap, height + gap), "white"
    )
    top = gap
    for image in images:
        whole.paste(image, (gap, top))
        top += image.height + gap
    return whole


if __name__ == "__main__":
    main()
