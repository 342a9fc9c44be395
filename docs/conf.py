"""How Sphinx makes the site of this folder: `make site`. Nothing is fetched, now or by a reader."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE)]

import numpydoc.xref  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder  # noqa: E402

import rejo  # noqa: E402

sys.path.insert(0, str(HERE / "inventories"))
from renew import PROJECTS  # noqa: E402

project = "rejo"
author = "rejo developers"
copyright = "rejo developers, BSD-3-Clause"
version = release = rejo.__version__
language = "en"

REPOSITORY = repository = "https://github.com/rejo-project/rejo"
html_baseurl = "https://rejo-project.github.io/rejo/"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.intersphinx",
    "sphinx.ext.linkcode",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "sphinxcontrib.bibtex",
    # In _ext:
    "accessible",
    "api_pages",
    "guide_pages",
    "mathml",
    "stored_classes",
    "our_names",
]

exclude_patterns = [
    "_ext",
    "inventories",
    "*/words.md",  # what people write into pages that scripts make
    "**/sg_execution_times.rst",  # loads jQuery and a table from a CDN
    "sg_execution_times.rst",
]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # "rbf" stays as people type it
toc_object_entries_show_parents = "hide"

# The pages of the guide: GitHub's Markdown and its anchors.
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]

# The reference.
autodoc_typehints = "none"  # the tables of parameters say it in words
autodoc_member_order = "bysource"
autosummary_generate = False  # api_pages writes the pages
numpydoc_show_class_members = False
# Sections in order, a summary, and no parameter that there is not.
numpydoc_validation_checks = {"GL06", "GL07", "SS01", "PR02", "PR10"}
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"
numpydoc.xref.DEFAULT_LINKS.clear()  # links from every "int" are noise
numpydoc_xref_aliases = {
    "ndarray": "numpy.ndarray",
    "DataFrame": "pandas.DataFrame",
    "DataFrames": "pandas.DataFrame",
    "Series": "pandas.Series",
    "RandomState": "numpy.random.RandomState",
    "csr_matrix": "scipy.sparse.csr_matrix",
    "Axes": "matplotlib.axes.Axes",
    "Figure": "matplotlib.figure.Figure",
    "Pipeline": "sklearn.pipeline.Pipeline",
    "Path": "pathlib.Path",
}

# Citations: ``:footcite:t:`chow1970```; a page of the reference lists them at its end. Not in the
# first line of a docstring, which tables show.
bibtex_bibfiles = ["references.bib"]
bibtex_footbibliography_header = ""

# Lists of foreign names, kept here: see inventories/renew.py.
intersphinx_mapping = {
    key: (foreign.address, str(HERE / "inventories" / f"{key}.inv"))
    for key, foreign in PROJECTS.items()
}

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

EXAMPLES = (
    "credit_prices",
    "loan_amounts",
    "screening_promise",
    "ordered_grades",
    "twelve_classes",
    "from_tuned_threshold",
    "groups_disparity",
    "novelty",
    "bags",
    "million_rows",
    "torch_network",
    "regions_side_by_side",
    "comparing_methods",
    "from_mapie",
    "from_scikit_fallback",
    "from_skordinal",
)
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "ignore_pattern": r"^(?!.*plot_)",
    # Without PyTorch, which is large, its example is shown and not run.
    "filename_pattern": "/plot_" if find_spec("torch") else "/plot_(?!torch)",
    "doc_module": ("rejo",),
    "reference_url": {"rejo": None},
    "backreferences_dir": "gallery/backreferences",
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "download_all_examples": False,
    "abort_on_example_error": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "within_subsection_order": ExplicitOrder([f"plot_{name}.py" for name in EXAMPLES]),
}

GALLERY_PAGES = ("gallery/index", *(f"gallery/plot_{name}" for name in EXAMPLES))

html_theme = "pydata_sphinx_theme"
html_title = f"rejo {version}"
html_logo = None
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_ext" / "search_scorer.js")
html_favicon = "_static/rejo.svg"
html_show_sourcelink = False
html_copy_source = False
html_last_updated_fmt = None
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {
        "text": "rejo",
        "image_light": "_static/rejo.svg",
        "image_dark": "_static/rejo.svg",
        "alt_text": "rejo, start page",
    },
    "icon_links": [
        {"name": "Source code", "url": REPOSITORY, "icon": "fa-brands fa-github"},
    ],
    "navbar_center": [],  # all pages are in the sidebar
    "collapse_navigation": True,
    "navigation_depth": 3,
    "show_nav_level": 1,
    "show_toc_level": 2,
    # The code of an example needs the width, and its page has few headings.
    "secondary_sidebar_items": {"**": ["page-toc"]} | {page: [] for page in GALLERY_PAGES},
    "primary_sidebar_end": [],  # advertisements, on Read the Docs
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"**": ["pages"], "index": []}  # in _templates


def linkcode_resolve(domain, info):
    """The lines of the repository that define a name."""
    from our_names import lines_of

    found = lines_of(info["module"], info["fullname"]) if domain == "py" else None
    if not found:
        return None
    path, first, last = found
    return f"{REPOSITORY}/blob/main/{path}#L{first}-L{last}"


def quiet(app, env):
    """Leave out a warning of myst-parser for its own developers; examples reset the filters."""
    warnings.filterwarnings("ignore", r".*MystReferenceResolver\.app")


def setup(app):
    app.connect("env-updated", quiet)
