"""One HTML file about the operating points of a classifier, for readers who don't use Python.

Three numbers describe a classifier with a reject option: of 1,000 cases, how many are decided, how
many of those are wrong, and how many go to review.  They depend on each other, and prices say
which combination is best.  On the page, readers move along the operating points, enter prices,
and see every number follow.  The page needs no network: data, script and style are inside, and a
Content-Security-Policy allows nothing else.  It contains only counts, no cases.

Two programs write the numbers: Python writes those of the chosen point into the page, so that it
can be read without JavaScript, and the script writes all others.  Both follow the same rules
(``_format``, ``_prices``, ``_groups`` and ``_numbers`` here, ``numbers.js``, ``prices.js`` and
``groups.js`` there), and a browser compares them in the tests.  The modules, in the order to read
them:

``_checks``
    whether outcomes, classes and columns fit together
``_collect``
    the cases of an operating point -> counts of outcomes, and errors in the order of doubt
``_shared_counts``
    counts for all points at once: scores by class, groups, rivals
``_format``
    how counts, shares and amounts are written
``_sentences``
    sentences and counts for each operating point
``_prices``
    prices by class, and what counts cost
``_tried``, ``_promises``, ``_pulls``
    the candidates that were compared; what is promised; the features that make cases doubtful
``_groups``
    texts about groups, and about the gaps between them
``_numbers``
    a setting -> every text of the page that depends on it
``_report``
    ``make_report`` checks and counts; ``Report`` holds what the page shows
``_render``
    ``render`` puts a report into ``template.html``, with ``numbers.js`` (the texts),
    ``groups.js``, ``prices.js``, ``pictures.js``, ``group_pictures.js``, ``page.js`` (the
    controls) and ``report.css``
"""

from rejo.report._numbers import Setting
from rejo.report._render import render
from rejo.report._report import Report, make_report

__all__ = ["Report", "Setting", "make_report", "render"]
