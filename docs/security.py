"""Write the table of classes in SECURITY.md from what the classes themselves say.

``python docs/security.py`` puts it between the two marks in the page; ``--check`` writes nothing
and fails if the table there is another.
"""

import argparse
from pathlib import Path

from rejo._state import STORABLE
from rejo.persistence._sklearn import TREE
from rejo.persistence._trusted import KNOWN, TUPLES

PAGE = Path(__file__).parent.parent / "SECURITY.md"
COMMON = ("n_features_in_", "feature_names_in_", "classes_")  # said above the table
START, END = "<!-- classes -->\n", "<!-- end of classes -->\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args()
    old = PAGE.read_text("utf-8")
    before, _, rest = old.partition(START)
    _, _, after = rest.partition(END)
    new = f"{before}{START}{table()}{END}{after}"
    if not arguments.check:
        PAGE.write_text(new, "utf-8")
    elif old != new:
        print("SECURITY.md is out of date: run python docs/security.py")
    return int(arguments.check and old != new)


def table() -> str:
    """One row for each class that may stand in a model file."""
    rows = [
        "| class | what a file keeps besides parameters | what else is checked |",
        "|---|---|---|",
    ]
    for name in sorted(KNOWN, key=lambda name: (name not in STORABLE, name.rpartition(".")[2])):
        known = KNOWN[name]
        fitted = {key: must for key, must in (known.fitted or {}).items() if key not in COMMON}
        kept = "; ".join(f"`{key}`: {must.words}" for key, must in fitted.items())
        if name in TUPLES:
            kept = ", ".join(f"`{field}`" for field in STORABLE[name]._fields)
        if name == TREE.name:
            kept = "the numbers of features, classes and nodes, its depth, its nodes and values"
        checks = [*_own_checks(name), known.check, known.restore]
        said = dict.fromkeys(text for check in checks if (text := _said(check)))
        cells = [f"`{name.rpartition('.')[2]}`", kept or "nothing", " ".join(said)]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n" + "\n".join(rows) + "\n\n"


def _own_checks(name: str) -> list:
    """The checks of a class of rejo and of its bases, the bases first."""
    bases = reversed(STORABLE[name].__mro__ if name in STORABLE else ())
    return [vars(base).get("_check_state") for base in bases]


def _said(method) -> str:
    """The docstring of a check, on one line."""
    return " ".join((getattr(method, "__doc__", None) or "").split())


if __name__ == "__main__":
    raise SystemExit(main())
