"""One HTML file about the operating points of a classifier, for readers who don't use Python.

Three numbers describe a classifier with a reject option: of 1,000 cases, how many are decided, how
many of those are wrong, and how many go to review.  They depend on each other, and prices say
which combination is best.  On the page, readers move along the operating points, enter prices,
and see every number follow.  The page needs no network: data, script and style are inside, and a
Content-Security-Policy allows nothing else.  It contains only counts, no cases.

Two programs write the numbers: Python writes those of the chosen point into the page, so that it
can be read without JavaScript, and the script writes all others.  Both follow the same rules
(``_format``, ``_prices``, ``_groups`` and ``_numbers`` here, ``numbers.js``, ``prices.js`` and
``groups.js`` there), and a browser compares them in the tests.

The modules, in the order to read them: ``_collect`` (the cases of an operating point become
counts), ``_shared_counts`` (counts for all points at once: scores by class, groups, rivals),
``_format`` (how numbers are written), ``_sentences`` (texts of each point), ``_prices`` (what
counts cost), ``_groups`` (groups and the gaps between them), ``_numbers`` (a setting becomes
every text that depends on it), ``_tables`` (promises, candidates, doubtful features), ``_report``
(``make_report`` checks and counts; ``Report`` holds what the page shows) and ``_render`` (a report
becomes a page, by ``template.html``, ``report.css`` and the scripts).
"""

from rejo.report._numbers import Setting
from rejo.report._render import render
from rejo.report._report import Report, make_report

__all__ = ["Report", "Setting", "make_report", "render"]
