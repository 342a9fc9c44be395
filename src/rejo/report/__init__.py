"""One HTML file about the operating points of a classifier, for readers who don't use Python.

Three numbers describe a classifier with a reject option: of 1,000 cases, how many are decided, how
many of those are wrong, and how many go to review.  They depend on each other, and prices say
which combination is best.  On the page, readers move along the operating points, enter prices,
and see every number follow.  The page needs no network: data, script and style are inside, and a
Content-Security-Policy allows nothing else.  It contains only counts, no cases; if prices depend on
the case, also the columns that they need, rounded.

Python counts the outcomes of the cases; the page computes from the counts whatever it shows.  The
modules, in the order to read them: ``_counts`` (the cases of an operating point become counts),
``_groups`` (the same for each group), ``_formulas`` (prices that depend on the case), ``_labels``
(how labels are written), ``_tables`` (promises, candidates, doubtful features: what no setting
changes), ``_report`` (``make_report`` checks and counts) and ``_render`` (a report becomes a page,
by ``template.html`` and ``report.css``).  The scripts: ``format.js`` (how numbers are written),
``prices.js`` (what counts cost), ``cases.js`` (what cases cost, by their formulas), ``numbers.js``
and ``groups.js`` (a setting becomes every text that depends on it), ``options.js`` (the command for
a point), ``pictures.js`` and ``group_pictures.js``, and ``page.js`` (the controls).
"""

from rejo.report._render import fill, render
from rejo.report._report import Report, make_report

__all__ = ["Report", "fill", "make_report", "render"]
