"""Run the commands on the pages about the command line, and put what they print below them.

In a block of console text, lines that begin with ``$`` are commands; the rest is what they printed,
without the lines about stages and times. ``--check`` writes nothing, and fails if words differ:
numbers, dates and hashes may.
"""

import os
import re
import subprocess
import sys
import tempfile
from difflib import unified_diff
from pathlib import Path
from textwrap import fill

import numpy as np
import pandas as pd

import rejo

PAGES = [Path(__file__).with_name(name) for name in ("command-line.md", "amounts.md", "book.md")]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)  # a backslash continues it
WIDTH = 108  # of a page
STAGE = re.compile(r"^\[ *\d+ s\] .*\n", re.MULTILINE)


def main() -> int:
    given = [word for word in sys.argv[1:] if word != "--check"]
    return max(renew(page) for page in PAGES if not given or page.name in given)


def renew(page: Path) -> int:
    """Run a page and write it anew, or return 1 if it says something else."""
    old = page.read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        new = BLOCK.sub(lambda block: run(block[1], Path(folder)), old)
    if "--check" not in sys.argv:
        page.write_text(new, "utf-8")
        return 0
    changes = list(unified_diff(words(old), words(new), page.name, "now", lineterm="", n=4))
    print(*changes, sep="\n")
    return int(bool(changes))


def run(block: str, folder: Path) -> str:
    """The block with the output of its commands as it is now."""
    source = str(Path(rejo.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source, "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
    program = f'rejo() {{ "{sys.executable}" -m rejo.cli "$@"; }}\n'
    program += f'python() {{ "{sys.executable}" "$@"; }}\n'
    printed = []
    for command in COMMAND.findall(block):
        result = subprocess.run(
            ["bash", "-o", "pipefail", "-c", program + command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        expected = (0, 141)  # 141: `head` had enough
        end = "" if result.returncode in expected else f"(exit code {result.returncode})\n"
        lines = STAGE.sub("", result.stdout).splitlines()
        output = "".join(f"{fill(line, WIDTH) if len(line) > WIDTH else line}\n" for line in lines)
        printed.append(f"$ {command}\n{output}{end}")
    return f"```console\n{''.join(printed)}```"


def words(text: str) -> list[str]:
    """The words of a page, without what depends on the machine or the day."""
    text = re.sub(r"\b([0-9a-f]{64}|[0-9a-f]{8})\b", "#", text)
    text = re.sub(r"[-+±]?\d[\d,.]*(e-?\d+)?", "#", text)
    return text.split()


def write_tables(folder: Path) -> None:
    """Loans as a lender has them, old ones and new ones."""
    loans = make_loans(1400, seed=1)
    loans.iloc[:900].to_csv(folder / "loans.csv", index=False)
    loans.iloc[900:].drop(columns="outcome").to_csv(folder / "new_loans.csv", index=False)
    loans.iloc[900:].to_csv(folder / "paid_by_now.csv", index=False)
    for week in (1, 2, 3, 4):  # from the third one on, another world
        loans = make_loans(600, seed=10 + week, first=20_000 + 600 * week, moved=week > 2)
        loans.drop(columns="outcome").to_csv(folder / f"week{week}.csv", index=False)
        loans[["application", "outcome"]].to_csv(folder / f"paid{week}.csv", index=False)
    (folder / "team.py").write_text(TEAM, "utf-8")


# Stands in for reviewers: python team.py DECISIONS TRUTH ANSWERS
TEAM = """
import sys
import numpy as np
import pandas as pd

queue, truth = (pd.read_csv(path, dtype=str) for path in sys.argv[1:3])
queue = queue[queue["decision"] == "review"].merge(truth, on="application")
sure = np.random.default_rng(0).random(len(queue)) < 0.95
other = np.where(queue["outcome"] == "repaid", "default", "repaid")
queue["answer"] = np.where(sure, queue["outcome"], other)
queue["reviewer"] = np.where(queue.index % 2, "Ann", "Bob")
queue[["application", "answer", "reviewer"]].to_excel(sys.argv[3], index=False)
"""


def make_loans(n: int, seed: int, first: int = 4711, *, moved: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.3, 0.45, n).round(-2)
    debt = rng.lognormal(8.8, 0.8, n).round(-1)
    years = rng.gamma(2.0, 3.0, n).round(1)
    purpose = rng.choice(["car", "house", "furniture", "other"], n, p=[0.4, 0.25, 0.25, 0.1])
    region = rng.choice(["north", "south", "west", "islands"], n, p=[0.4, 0.35, 0.23, 0.02])
    since = np.datetime64("2012-01-01") + rng.integers(0, 4000, n).astype("m8[D]")
    score = 2.2 * np.log(debt / income) + 3.2 - 0.22 * years + 0.9 * (purpose == "other")
    score += 3.0 * (purpose == "house") * moved  # prices of houses have fallen
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-1.6 * score)), "default", "repaid")
    return pd.DataFrame(
        {
            "application": [f"{i:06d}" for i in range(first, first + n)],
            "income": income,
            "debt": debt,
            "years employed": np.where(rng.random(n) < 0.06, np.nan, years),
            "purpose": purpose,
            "customer since": since,
            "currency": "EUR",
            "region": region,
            "outcome": outcome,
        }
    )


if __name__ == "__main__":
    sys.exit(main())
