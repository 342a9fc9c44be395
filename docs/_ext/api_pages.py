"""Writes the pages of the reference into ``docs/api``: a page for each public name and each room.

A name is in the module that people import it from (:mod:`public_names`). Pages hold the directives;
the words come from the docstrings, when Sphinx reads the pages.
"""

import inspect
import re
import sys
from importlib import import_module
from pathlib import Path

from public_names import public_names
from sphinx.errors import PycodeError
from sphinx.pycode import ModuleAnalyzer

FOLDER = "api"
# The names of ``rejo`` itself, by the module that defines them: the longest beginning counts.
PARTS = {
    "estimators": "Classifiers by data replication",
    "baselines": "Classifiers by posteriors",
    "selection": "Operating points, promises, comparisons",
    "estimators.pipelines": "Reviews, and the reasons for them",
    "explain": "Reviews, and the reasons for them",
    "persistence": "Model files",
}
FOOTNOTES = [".. footbibliography::"]  # for citations that no list of references has yet
FIRST = ("rejo", "rejo.selection", "rejo.metrics", "rejo.prices", "rejo.decisions")


def heading(text, mark):
    return f"{text}\n{mark * len(text)}\n"


def escaped(text):
    return text.replace("\\", "\\\\").replace("*", "\\*").replace("|", "\\|")


def first_sentence(doc):
    """The first paragraph of a docstring, on one line, without citations: they need a footnote."""
    text = " ".join(inspect.cleandoc(doc or "").partition("\n\n")[0].split())
    return re.sub(r" ?:footcite:\w*:?`[^`]*`", "", text)


def words_under(name, thing):
    """The string below the assignment of a constant, in the module that defines it."""
    for module in list(sys.modules.values()):
        ours = getattr(module, "__name__", "").startswith("rejo")
        if ours and getattr(module, name, None) is thing:
            try:
                analyzer = ModuleAnalyzer.for_module(module.__name__)
                analyzer.analyze()
            except PycodeError:
                continue
            if lines := analyzer.attr_docs.get(("", name)):
                return "\n".join(lines).strip()
    return ""


def is_data(thing):
    return not (inspect.isclass(thing) or inspect.isroutine(thing))


def methods_of(owner):
    """The public methods and properties that are defined in rejo, in the order of the code."""
    found = []
    for name, kind, home, _ in inspect.classify_class_attrs(owner):
        wanted = kind in ("method", "class method", "static method", "property")
        ours = home.__module__.startswith("rejo") and not re.fullmatch("set_.*_request", name)
        if wanted and ours and not name.startswith("_"):
            thing = inspect.getattr_static(owner, name)
            code = getattr(thing, "fget", None) or getattr(thing, "__func__", thing)
            code = getattr(inspect.unwrap(code), "__code__", None)
            place = owner.__mro__.index(home), getattr(code, "co_firstlineno", 0)
            found.append((place, name))
    return [name for _, name in sorted(found)]


def constant_page(module, name, thing):
    value = repr(thing)
    lines = [f".. py:data:: {name}", f"   :module: {module}", ""]
    words = words_under(name, thing) or f"{type(thing).__name__}."
    lines += [f"   {line}" for line in words.splitlines()]
    if len(value) < 2000:
        lines += ["", "   .. code-block:: python", "", f"      {value}"]
    return lines


def class_page(name, thing):
    lines = [f".. autoclass:: {name}", ""]
    names = methods_of(thing)
    if names:
        rows = [(f"{name}.{method}", inspect.getdoc(getattr(thing, method))) for method in names]
        lines += ["   .. rubric:: Methods", ""]
        lines += [f"   {line}" for line in table(rows, shown=len(name) + 1)]
        for method in names:
            static = inspect.getattr_static(thing, method)
            kind = "property" if isinstance(static, property) else "method"
            lines += [f"   .. auto{kind}:: {method}"]
    return lines


def page_of(module, name):
    """The page of one public name."""
    thing = getattr(import_module(module), name)
    lines = [heading(name, "="), f".. currentmodule:: {module}", ""]
    if is_data(thing):
        lines += constant_page(module, name, thing)
    elif inspect.isclass(thing):
        lines += class_page(name, thing)
    else:
        lines += [f".. autofunction:: {name}"]
    full = f"{module}.{name}"
    title = f"Examples using ``{name}``"
    lines += ["", *FOOTNOTES]
    lines += ["", f".. minigallery:: {full}", f"   :add-heading: {title}", "   :heading-level: -"]
    return "\n".join(lines) + "\n"


def table(rows, shown):
    """A table of names, without as many letters, and first sentences; with links to the names."""
    lines = [".. list-table::", "   :widths: 35 65", "   :class: api-names", ""]
    for name, doc in rows:
        lines += [f"   * - :py:obj:`{name[shown:]} <{name}>`", f"     - {first_sentence(doc)}"]
    return [*lines, ""]


def names_table(module, names):
    rows = []
    for name in names:
        thing = getattr(import_module(module), name)
        doc = words_under(name, thing) if is_data(thing) else inspect.getdoc(thing)
        rows.append((f"{module}.{name}", doc))
    return table(rows, shown=len(module) + 1)


def parts_of(module, names):
    """Yield groups of names with a title each; one group without a title, but for ``rejo``."""
    if module != "rejo":
        yield None, names
        return
    groups = {title: [] for title in PARTS.values()}
    for name in names:
        home = getattr(import_module(module), name).__module__.removeprefix("rejo.")
        fitting = [part for part in PARTS if f"{home}.".startswith(f"{part}.")]
        title = PARTS[max(fitting, key=len)] if fitting else "More"
        groups.setdefault(title, []).append(name)
    yield from ((title, group) for title, group in groups.items() if group)


def toctree(entries):
    return [".. toctree::", "   :hidden:", "", *(f"   {entry}" for entry in entries), ""]


def room_page(module, names):
    lines = [heading(module, "="), f".. automodule:: {module}", "   :no-members:", ""]
    lines += [f".. currentmodule:: {module}", ""]
    for title, group in parts_of(module, names):
        lines += [heading(title, "-")] if title else [heading("Names", "-")]
        lines += names_table(module, group)
    lines += [*FOOTNOTES, "", *toctree(f"{name} <{module}.{name}>" for name in names)]
    return "\n".join(lines)


def index_page(rooms):
    lines = [heading("API reference", "=")]
    lines += [
        "Every public name, in the module that you import it from. What is not listed here may",
        "change without notice: see :doc:`/versions`.",
        "",
    ]
    for module, names in rooms.items():
        lines += [heading(f":py:mod:`{module}`", "-")]
        lines += [first_sentence(import_module(module).__doc__), ""]
        for title, group in parts_of(module, names):
            lines += [heading(title, "~")] if title else []
            lines += names_table(module, group)
    return "\n".join([*lines, *toctree(f"{module} <{module}>" for module in rooms)])


def write(app):
    folder = Path(app.srcdir, FOLDER)
    rooms = public_names()
    rooms = {name: rooms[name] for name in sorted(rooms, key=lambda name: order(name))}
    pages = {"index": index_page(rooms)}
    for module, names in rooms.items():
        pages[module] = room_page(module, names)
        pages |= {f"{module}.{name}": page_of(module, name) for name in names}
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def escape_shapes(app, what, name, thing, options, lines):
    """In ``array of shape (n_features_in_,)``, the underscore would mean a link."""
    for at, line in enumerate(lines):
        if "`" not in line and ">>>" not in line:
            lines[at] = re.sub(r"(\w)_(?=[,)])", r"\1\\_", line)


def order(room):
    return (FIRST.index(room) if room in FIRST else len(FIRST), room)


def setup(app):
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", escape_shapes, priority=100)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
