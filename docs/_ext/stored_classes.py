"""Puts the table of classes that a model file may hold into the page about model files.

It replaces ``<!-- classes -->`` when Sphinx reads the page, and says what the classes themselves
say: what a file keeps of them, and what is checked.
"""

from rejo._state import STORABLE
from rejo.persistence._sklearn import TREE
from rejo.persistence._trusted import KNOWN, TUPLES

PAGE, MARK = "model-files", "<!-- classes -->"
COMMON = ("n_features_in_", "feature_names_in_", "classes_")  # said above the table


def table():
    """One row for each class that may stand in a model file; those of rejo first."""
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
        checks = [*own_checks(name), known.check, known.restore]
        said = dict.fromkeys(text for check in checks if (text := words_of(check)))
        cells = [f"`{name.rpartition('.')[2]}`", kept or "nothing", " ".join(said)]
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def own_checks(name):
    """The checks of a class of rejo and of its bases, the bases first."""
    bases = reversed(STORABLE[name].__mro__ if name in STORABLE else ())
    return [vars(base).get("_check_state") for base in bases]


def words_of(method):
    """The docstring of a check, on one line."""
    return " ".join((getattr(method, "__doc__", None) or "").split())


def read(app, docname, source):
    if docname == PAGE:
        source[0] = source[0].replace(MARK, table())


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
