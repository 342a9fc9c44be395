"""Writes the lists of foreign names that our pages link to, in Sphinx' first, plain text format.

Sphinx reads them instead of fetching the inventories of the other projects: the site is built
without a network. Names come from the installed packages, addresses from the pattern that each
project has kept for years. With inventories at hand, compare:

    python docs/inventories/renew.py --against sklearn=objects.inv pandas=other/objects.inv

Real ones are at ``<address>/objects.inv``, for the addresses in ``PROJECTS``.
"""

import argparse
import inspect
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Project(NamedTuple):
    """Where a project documents the names of which modules."""

    title: str
    address: str
    page: str
    modules: tuple[str, ...]


PROJECTS = {
    "sklearn": Project(
        "scikit-learn",
        "https://scikit-learn.org/stable/",
        "modules/generated/{}.html",
        tuple(
            f"sklearn.{module}"
            for module in (
                *("base", "calibration", "compose", "covariance", "datasets", "dummy", "ensemble"),
                *(
                    "exceptions",
                    "feature_selection",
                    "frozen",
                    "inspection",
                    "kernel_approximation",
                ),
                *("linear_model", "metrics", "mixture", "model_selection", "multiclass"),
                *("naive_bayes", "neighbors", "neural_network", "pipeline", "preprocessing"),
                *("svm", "tree"),
            )
        ),
    ),
    "numpy": Project(
        "NumPy",
        "https://numpy.org/doc/stable/",
        "reference/generated/{}.html",
        ("numpy",),
    ),
    "scipy": Project(
        "SciPy",
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{}.html",
        ("scipy.sparse", "scipy.special", "scipy.stats", "scipy.optimize"),
    ),
    "pandas": Project(
        "pandas", "https://pandas.pydata.org/docs/", "reference/api/{}.html", ("pandas",)
    ),
    "matplotlib": Project("Matplotlib", "https://matplotlib.org/stable/", "", ()),
    "python": Project("Python", "https://docs.python.org/3/", "", ()),
    "distributed": Project("Dask.distributed", "https://distributed.dask.org/en/stable/", "", ()),
    "joblib": Project("joblib", "https://joblib.readthedocs.io/en/stable/", "", ()),
    "torch": Project("PyTorch", "https://docs.pytorch.org/docs/stable/", "", ()),
}

# Names whose page does not follow from the name: role, page.
SINGLE = {
    "numpy": {
        "numpy.random.Generator": ("class", "reference/random/generator.html"),
        "numpy.random.RandomState": ("class", "reference/random/legacy.html"),
        "numpy.random.default_rng": ("function", "reference/random/generator.html"),
    },
    "matplotlib": {
        "matplotlib.axes.Axes": ("class", "api/_as_gen/matplotlib.axes.Axes.html"),
        "matplotlib.figure.Figure": ("class", "api/_as_gen/matplotlib.figure.Figure.html"),
        "matplotlib.axes.Axes.plot": ("method", "api/_as_gen/matplotlib.axes.Axes.plot.html"),
    },
    "distributed": {
        "distributed.Client": ("class", "api.html"),
        "distributed.Client.map": ("method", "api.html"),
    },
    "joblib": {
        "joblib.parallel_config": ("class", "generated/joblib.parallel_config.html"),
    },
    "torch": {
        "torch.nn.CrossEntropyLoss": ("class", "generated/torch.nn.CrossEntropyLoss.html"),
    },
    "python": {
        **dict.fromkeys(
            ("bool", "float", "int", "object", "slice"), ("class", "library/functions.html")
        ),
        **dict.fromkeys(
            ("bytes", "dict", "frozenset", "list", "range", "set", "str", "tuple"),
            ("class", "library/stdtypes.html"),
        ),
        **dict.fromkeys(
            (
                *("BaseException", "Exception", "ImportError", "KeyError", "MemoryError"),
                *("OSError", "RuntimeError", "RuntimeWarning", "TypeError", "UserWarning"),
                *("ValueError", "Warning"),
            ),
            ("exception", "library/exceptions.html"),
        ),
        "None": ("data", "library/constants.html"),
        "True": ("data", "library/constants.html"),
        "False": ("data", "library/constants.html"),
        "datetime.timedelta": ("class", "library/datetime.html"),
        "collections.abc.Callable": ("class", "library/collections.abc.html"),
        "collections.abc.Iterable": ("class", "library/collections.abc.html"),
        "collections.abc.Iterator": ("class", "library/collections.abc.html"),
        "collections.abc.Mapping": ("class", "library/collections.abc.html"),
        "collections.abc.Sequence": ("class", "library/collections.abc.html"),
        "pathlib.Path": ("class", "library/pathlib.html"),
        "os.PathLike": ("class", "library/os.html"),
        "typing.NamedTuple": ("class", "library/typing.html"),
    },
}


def role_of(thing):
    if inspect.isclass(thing):
        return "exception" if issubclass(thing, BaseException) else "class"
    return "function" if callable(thing) else None


def module_names(modules):
    for module in modules:
        home = import_module(module)
        for name in set(getattr(home, "__all__", vars(home))) & set(vars(home)):
            thing = vars(home)[name]
            ours = getattr(thing, "__module__", None) or module
            if not name.startswith("_") and ours.startswith(module) and (role := role_of(thing)):
                yield f"{module}.{name}", role


def entries(key):
    """The lines ``name role page`` of one project."""
    project = PROJECTS[key]
    names = module_names(project.modules)
    found = {name: (role, project.page.format(name)) for name, role in names}
    found |= SINGLE.get(key, {})
    return [f"{name} {role} {page}" for name, (role, page) in sorted(found.items())]


def compare(key, path):
    """Print which of our names another version of the project has not, or elsewhere."""
    from sphinx.util.inventory import InventoryFile

    theirs = {}
    for role, names in InventoryFile.loads(path.read_bytes(), uri="").data.items():
        theirs |= {name: item.uri for name, item in names.items() if role.startswith("py:")}
    for line in entries(key):
        name, _, page = line.split()
        if theirs.get(name) != f"{page}#{name}":
            print(f"{key}: {name}: ours {page}#{name}, theirs {theirs.get(name)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--against", nargs="+", default=[], metavar="PROJECT=FILE")
    for pair in (arguments := parser.parse_args()).against:
        key, _, path = pair.partition("=")
        compare(key, Path(path))
    if arguments.against:
        return
    for key, project in PROJECTS.items():
        head = ["# Sphinx inventory version 1", f"# Project: {project.title}", "# Version: stable"]
        text = "\n".join([*head, *entries(key)]) + "\n"
        (HERE / f"{key}.inv").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
