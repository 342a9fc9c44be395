"""Run the commands on the pages of the guide, and put what they print below them.

A block of console text in Markdown is a transcript: lines that begin with ``$`` are commands, the
others are what they printed. ``python docs/transcripts.py`` runs all commands of the pages, one
page after the other in a fresh folder with the tables made here, and writes their output into the
pages, without the lines that tell of stages and times. ``--check`` writes nothing and fails if the
words have changed: numbers, dates and hashes may differ from machine to machine. ``--quick`` leaves
out the blocks that are marked as slow.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pandas as pd

import rejo.cli
import rejo.persistence
import rejo.report
import rejo.scoring
import rejo.selection

PAGES = [Path(__file__).with_name("command-line.md")]
STAGE = re.compile(r"^\[ *\d+ s\] .*\n", re.MULTILINE)
SHELL = re.compile(r"[|<>&;$*?]")  # what only a shell understands
BLOCK = re.compile(
    r"^(?P<slow><!-- slow -->\n)?```console\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long")
    arguments = parser.parse_args()
    changed = 0
    for page in PAGES:
        old = page.read_text("utf-8")
        new = renew(old, quick=arguments.quick)
        if not arguments.check:
            page.write_text(new, "utf-8")
        elif words(old) != words(new):
            changed += 1
            print(f"{page} is out of date:\n{difference(old, new)}")
    return int(changed > 0)


def renew(text: str, *, quick: bool = False) -> str:
    """The page with the output of its commands as it is now."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_tables(home)
        program = home / ".bin" / "rejo"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m rejo.cli "$@"\n')
        program.chmod(0o755)
        path = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"PATH": path, "COLUMNS": "100", "OMP_NUM_THREADS": "1"}
        environment["PYTHONPATH"] = str(Path(rejo.__file__).parent.parent)
        environment.pop("REJO_DATA", None)

        def run(block: re.Match[str]) -> str:
            if quick and block["slow"]:
                return block[0]
            printed = (transcript(c, home, environment) for c in commands(block["text"]))
            return f"{block['slow'] or ''}```console\n{''.join(printed)}```"

        return BLOCK.sub(run, text)


def commands(block: str) -> list[str]:
    """Commands of a block; one that ends in a backslash goes on in the next line."""
    found: list[str] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(line[2:])
        elif found and found[-1].endswith("\\") and line.startswith("  "):
            found[-1] += "\n" + line
    return found


def transcript(command: str, folder: Path, environment: dict[str, str]) -> str:
    """The command, what it printed, and its exit code if that is not 0."""
    program, *arguments = shlex.split(command.replace("\\\n", " "))
    if program == "rejo" and not SHELL.search(command) and hasattr(os, "fork"):
        code, printed = in_fork(arguments, folder, environment)
    else:
        code, printed = in_shell(command, folder, environment)
    quiet = (0, 141)  # 141: `head` had enough
    end = "" if code in quiet else f"(exit code {code})\n"
    return f"$ {command}\n{STAGE.sub('', printed)}{end}"


def in_shell(command: str, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Exit code of a command, and what it printed."""
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout


def in_fork(arguments: list[str], folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """The same for ``rejo`` and its arguments, in a fork, which has the libraries already."""
    reader, writer = os.pipe()
    sys.stdout.flush()
    pid = os.fork()
    if not pid:
        code = 1
        try:
            os.dup2(writer, 1)
            os.dup2(writer, 2)
            sys.stdout = os.fdopen(1, "w", encoding="utf-8")
            sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            code = rejo.cli.main(arguments)
        except SystemExit as stop:  # argparse: help, version and wrong usage
            code = stop.code if isinstance(stop.code, int) else 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.close(writer)
    with open(reader, encoding="utf-8") as pipe:
        printed = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), printed


def words(text: str) -> list[str]:
    """Lines without what depends on the machine or the day."""
    text = re.sub(r"\b[0-9a-f]{64}\b", "#", text)
    text = re.sub(r"[-+±]?\d[\d,.]*(e-?\d+)?", "#", text)
    return [" ".join(line.split()) for line in text.splitlines()]


def difference(old: str, new: str) -> str:
    from difflib import unified_diff

    return "\n".join(unified_diff(words(old), words(new), "page", "now", lineterm="", n=1))


def write_tables(folder: Path) -> None:
    """Loans as a lender has them, old ones and new ones, and visits with ordered grades."""
    loans = make_loans(1400, seed=1)
    loans.iloc[:900].to_csv(folder / "loans.csv", index=False)
    loans.iloc[900:].drop(columns="outcome").to_csv(folder / "new_loans.csv", index=False)
    loans.iloc[900:].to_csv(folder / "paid_by_now.csv", index=False)
    make_visits().to_csv(folder / "visits.csv", index=False, sep=";")


def make_loans(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    income = rng.lognormal(10.3, 0.45, n).round(-2)
    debt = rng.lognormal(8.8, 0.8, n).round(-1)
    years = rng.gamma(2.0, 3.0, n).round(1)
    purpose = rng.choice(["car", "house", "furniture", "other"], n, p=[0.4, 0.25, 0.25, 0.1])
    region = rng.choice(["north", "south", "west", "islands"], n, p=[0.4, 0.35, 0.23, 0.02])
    since = np.datetime64("2012-01-01") + rng.integers(0, 4000, n).astype("m8[D]")
    score = 2.2 * np.log(debt / income) + 3.2 - 0.22 * years + 0.9 * (purpose == "other")
    outcome = np.where(rng.random(n) < 1 / (1 + np.exp(-1.6 * score)), "default", "repaid")
    return pd.DataFrame(
        {
            "application": [f"{i:06d}" for i in range(4711, 4711 + n)],
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


def make_visits() -> pd.DataFrame:
    """Patients of scikit-learn's diabetes data, their progression in three grades."""
    from sklearn.datasets import load_diabetes

    data = load_diabetes(as_frame=True, scaled=False)
    visits = data.data.copy()
    visits["grade"] = np.array(["mild", "moderate", "severe"])[np.digitize(data.target, [100, 200])]
    return visits


if __name__ == "__main__":
    sys.exit(main())
