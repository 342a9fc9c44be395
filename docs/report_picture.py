"""A picture of the report, taken in Chromium: ``python docs/report_picture.py``."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("report.png")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main() -> None:
    from transcripts import write_tables

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_tables(home)
        words = "train loans.csv --target outcome --id application --by region"
        words += " --model logistic-posterior -o loans.rejo --report report.html"
        words += " --costs error:default=5000,error:repaid=1500,review=300"
        command = [sys.executable, "-m", "rejo.cli", *words.split()]
        subprocess.run(command, cwd=home, check=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=FLAGS
            )
            page = browser.new_page(viewport={"width": 1120, "height": 2010})
            page.goto((home / "report.html").as_uri())
            page.screenshot(path=PICTURE)
            browser.close()
    print(PICTURE)


if __name__ == "__main__":
    main()
