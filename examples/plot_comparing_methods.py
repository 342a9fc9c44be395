"""
Comparing methods fairly
========================

Is the method of the new paper better than a threshold on the probability, on *your* data? A fair
answer needs the same splits for all, tuning that never sees the test cases, more than one split,
and a test that knows that splits overlap. ``compare`` does all of this.
"""

# %%
# The comparison
# --------------
# 400 cases of a problem whose best possible risk is known. Data replication is compared with three
# rivals: an SVC with two cut-offs on its score, the posteriors of a kernel logistic regression, and
# those of a plain logistic regression. All but the last have a width ``gamma`` to tune, which
# happens inside of each training part. Five folds are repeated twice, with other shuffles.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.svm import SVC

from rejo import RejoKernelLogistic, RejoSVC, ThresholdRejectClassifier, compare
from rejo.datasets import bayes_rates, make_synthetic_1
from rejo.displays import AccuracyRejectDisplay, RiskCurveDisplay
from rejo.selection import corrected_t_test

X, y = make_synthetic_1(400, random_state=0)
methods = {
    "replication": RejoSVC(C=10),
    "two cut-offs": ThresholdRejectClassifier(SVC(C=10), rule="score", cv=3),
    "kernel posteriors": ThresholdRejectClassifier(RejoKernelLogistic(C=10, reject_cost=None)),
    "linear posteriors": ThresholdRejectClassifier(LogisticRegression()),
}
widths = [1, 4]
grids = {
    "replication": {"gamma": widths},
    "two cut-offs": {"estimator__gamma": widths},
    "kernel posteriors": {"estimator__gamma": widths},
}
COSTS = [0.08, 0.2, 0.32]
folds = RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0)
result = compare(methods, X, y, reject_costs=COSTS, param_grids=grids, cv=folds, inner_cv=3)
print(result)

# %%
# The last two rows need no reject option. A method that costs more than either of them is of no use
# at that price. In words:

print(fill(result.verdict(), 90))

# %%
# Pictures
# --------
# The risk is what a case costs, if an error costs 1 and a review ``reject_cost``. The band is one
# standard deviation over the folds. It shows how much the *test cases* of one fold matter; it is no
# test of the differences, because all methods share the same folds. The linear method is left out:
# it reviews everything, which is the dotted line.

best = np.array([bayes_rates("synthetic_1", cost) for cost in COSTS])  # (n_costs, 3): R, E, risk
rows = [row for row in result.rows if row["method"] != "linear posteriors"]
display = RiskCurveDisplay.from_rows(rows, bayes=(COSTS, best[:, 2]), operating_point=0.2)
display.ax_.set(title="What a case costs", ylim=(0, 0.15))
plt.show()

# %%
# The same comparison as a trade: how many cases go to review, and how accurate are the decisions
# that are left?

R, E = best[:, 0], best[:, 1]
display = AccuracyRejectDisplay.from_rows(rows, band=None, bayes=(R, 1 - E / (1 - R)))
display.ax_.set_title("What reviews buy")
plt.show()

# %%
# The best possible is that of the whole population. On 400 cases, a curve may come out above it by
# luck. The linear method decides nothing, so it has no accuracy.
#
# Which differences are more than chance?
# ---------------------------------------
# Training sets overlap, so the results of ten folds are not ten independent results. A plain t-test
# ignores this, and its intervals are too narrow. ``differences`` uses the corrected test of Nadeau
# and Bengio. Here are both, at a reject cost of 0.2:

fig, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
rivals = [name for name in methods if name != "replication"]
for row, name in enumerate(rivals):
    paired = result.values(name, 0.2) - result.values("replication", 0.2)  # (n_folds,)
    mean, low, high, _ = corrected_t_test(paired, ratio=1 / 4, confidence=0.95)
    _, plain_low, plain_high, _ = corrected_t_test(paired, ratio=0, confidence=0.95)
    ax.plot([low, high], [row, row], color="#0072B2", linewidth=2, label="corrected test")
    ax.plot(
        [plain_low, plain_high],
        [row, row],
        color="#E69F00",
        linewidth=7,
        alpha=0.6,
        label="plain t-test",
    )
    ax.plot(mean, row, "o", color="#0072B2")
ax.axvline(0, color="black", linewidth=1)
ax.set(yticks=range(len(rivals)), yticklabels=rivals, ylim=(-0.6, len(rivals) - 0.4))
ax.set_xlabel("difference in risk to replication (to the left: better)")
ax.set_title("95 % intervals at a reject cost of 0.2")
ax.spines[["top", "right"]].set_visible(False)
handles, labels = ax.get_legend_handles_labels()
ax.legend(handles[:2], labels[:2], frameon=False, loc="lower right")
plt.show()

# %%
# There is one clear result: no line can tell these classes apart, so a method that can only draw
# lines sends everything to review. Between the three methods that can bend, the differences are
# small, and 400 cases cannot tell which is best. A threshold on a good probability is about as good
# here as a learned reject region, and other prices need no new fit.
#
# Two habits keep a comparison honest. Decide on the methods, the grids and the reject costs before
# you look. And if you compare twenty methods, expect one to be marked by chance: there is no
# correction for many comparisons. :doc:`The page on comparing </comparing>` says more.
