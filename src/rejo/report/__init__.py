"""One HTML file about the operating points of a classifier, for readers who know no Python.

What matters of a classifier with a reject option are three numbers: of 1,000 cases, how many are
decided, how many of these wrongly, and how many go to review.  They hang together, and prices say
which of the possible triples is best.  The page lets its reader move along the operating points,
enter prices, and see everything follow at once.  It needs no network: data, script and style are
inside, and a Content-Security-Policy allows nothing else.  Only counts are embedded, no cases.

Numbers are shown by two programs: Python writes those of the chosen point into the page, which
so can be read without a script, and the script writes all others.  Both follow the same rules
(``_format`` and ``_numbers`` here, ``numbers.js`` there), and a browser compares them in the
tests.  The modules, in the order to read them:

``_collect``
    the cases of an operating point -> counts: what became of them, and in which order of doubt
``_shared_counts``
    counts that are shared by all points: scores by class, groups, rivals
``_format``
    how a count, a share and an amount are written
``_sentences``
    sentences and counts of each operating point
``_numbers``
    a setting -> every text of the page that depends on it
``_arguments``, ``_report``
    ``make_report`` checks and counts; ``Report`` holds what the page shows
``_render``
    ``render`` puts a report into ``template.html``, with ``numbers.js`` (the texts),
    ``pictures.js``, ``page.js`` (the controls) and ``report.css``
"""

from rejo.report._numbers import Setting
from rejo.report._render import render
from rejo.report._report import Report, make_report

__all__ = ["Report", "Setting", "make_report", "render"]
