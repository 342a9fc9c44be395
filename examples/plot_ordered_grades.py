"""
Ordered grades, and the doubt between neighbours
================================================

Mild, moderate or severe? Grades have an order, and most doubt is between two neighbours. How does a
classifier look that leaves exactly these cases open, and says between which two grades they lie?
"""

# %%
# Three grades
# ------------
# The data replication method of Sousa and Cardoso learns all boundaries in one fit: two between any
# two neighbours, with a review region between them. The problem is the paper's SyntheticIV, three
# clouds of points. ``class_order`` gives the order of the grades.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from sklearn.svm import SVC

from rejo import RejoKernelLogistic, RejoSVC, ThresholdRejectClassifier
from rejo.baselines import FrankHallReject
from rejo.datasets import bayes_risk, make_synthetic_3, make_synthetic_4
from rejo.displays import RejectConfusionDisplay, RejectRegionDisplay
from rejo.metrics import empirical_risk

grades = np.array(["mild", "moderate", "severe"])
X, k = make_synthetic_4(300, random_state=0)  # k is 1, 2 or 3
y = grades[k - 1]
model = RejoSVC(C=10, gamma=0.01, s=1, reject_cost=0.28, class_order=grades.tolist()).fit(X, y)

display = RejectRegionDisplay.from_estimator(model, X, y)
display.ax_.set_title("Three grades, two review regions")
plt.show()

# %%
# ``queue`` tells the reviewer which two grades a case lies between:

model.queue(X, capacity=5)[["decision", "lower", "upper", "rank"]]

# %%
# Does it help?
# -------------
# In the table of outcomes for new cases there is a column for each review region. No error is more
# than one grade off, and nearly all doubtful cases are in a column next to their own grade.

X_new, k_new = make_synthetic_4(3000, random_state=1)
display = RejectConfusionDisplay.from_estimator(model, X_new, grades[k_new - 1], ordinal=True)
display.ax_.set_title("3,000 new cases")
plt.show()

# %%
# Five grades, and edges that cross
# ---------------------------------
# SyntheticIII has five grades, so there are four review regions with eight edges. Data replication
# trains one function with eight thresholds: no two edges can cross. Frank and Hall's way trains
# eight machines, each on its own. Where their edges cross, the answers contradict each other: below
# a lower edge, and above a higher one. With 200 points to learn from, this happens in a few places:

X, y = make_synthetic_3(200, random_state=0)
X_new, y_new = make_synthetic_3(5000, random_state=1)
one_fit = RejoSVC(C=100, gamma=2, reject_cost=0.2).fit(X, y)
eight_fits = FrankHallReject(SVC(C=100, gamma=2), reject_cost=0.2).fit(X, y)

fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), sharey=True, layout="constrained")
RejectRegionDisplay.from_estimator(one_fit, X, points=False, ax=left)
display = RejectRegionDisplay.from_estimator(eight_fits, X, points=False, ax=right)
grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
crossed = eight_fits.crossing_mask(grid).reshape(display.xx0.shape)
right.contourf(display.xx0, display.xx1, crossed, levels=[0.5, 1], colors="#D55E00", zorder=3)
handles = [*right.get_legend().legend_handles, Patch(color="#D55E00", label="contradiction")]
right.legend(handles=handles, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
left.get_legend().remove()
left.set_title("RejoSVC, one fit")
right.set(title="eight machines", ylabel="")
plt.show()

share = eight_fits.crossing_mask(X_new).mean()
print(f"contradictions: {share:.2%} of new cases with eight machines, none with one fit")

# %%
# Is it the cheapest way?
# -----------------------
# If every error costs 1 and every review 0.2, this is what a new case costs, and the least that any
# classifier could reach. The third row decides by the posteriors of an ordinal kernel logistic
# regression:

posteriors = ThresholdRejectClassifier(
    RejoKernelLogistic(C=100, gamma=2, reject_cost=None), reject_cost=0.2
).fit(X, y)
for name, classifier in {
    "RejoSVC, one fit": one_fit,
    "eight machines": eight_fits,
    "posteriors": posteriors,
}.items():
    decided = classifier.predict(X_new)
    label = classifier.reject_label_
    risk = empirical_risk(y_new, decided, reject_label=label, reject_cost=0.2)
    print(f"{name:16} {risk:.3f}")
print(f"best possible    {bayes_risk('synthetic_3', 0.2):.3f}")

# %%
# Here one fit is ahead, and well ahead of the eight machines: one scale orders all grades, and
# every point helps to learn it. The posteriors have one scale too, and are close behind. It is not
# always so. With three grades or more, training minimises an *ordinal* loss: an error that is
# further off costs more, and so does a review between two wrong grades. If you pay the same for
# every review, posteriors say more directly what to do, and on four real tables with four to nine
# grades they cost less: see :doc:`the page on the method </method>`.
