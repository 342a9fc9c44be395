"""
Reject regions of all methods, side by side
===========================================

There are many ways to build a classifier that may say "review". What do their reject regions look
like on the same data, and how much do they cost?
"""

# %%
# The problem is the paper's SyntheticI: two classes in the unit square, 400 points to learn from. A
# review costs a fifth of an error. The true probabilities are known, and so is the best possible
# region: that of Chow's rule, "review if no class is likelier than 80 %".

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.svm import SVC

from rejo import (
    RejoKernelLogistic,
    RejoMLP,
    RejoSVC,
    ReplicationClassifier,
    ThresholdRejectClassifier,
)
from rejo.baselines import EmbeddedRejectSVC, FrankHallReject, SurrogateRejectSVC
from rejo.datasets import bayes_risk, make_synthetic_1, posterior
from rejo.displays import RejectRegionDisplay
from rejo.metrics import empirical_risk

COST = 0.2
X, y = make_synthetic_1(400, random_state=0)
X_new, y_new = make_synthetic_1(20_000, random_state=1)

trees = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=8, random_state=0)
curves = make_pipeline(PolynomialFeatures(2), LogisticRegression(C=100))
methods = {
    # Learned boundaries: data replication.
    "RejoSVC": RejoSVC(C=10, gamma=4, reject_cost=COST),
    "RejoKernelLogistic": RejoKernelLogistic(C=10, gamma=4, reject_cost=COST),
    "RejoMLP": RejoMLP(reject_cost=COST, random_state=0),
    "replication of trees": ReplicationClassifier(trees, reject_cost=COST),
    # One classifier, and thresholds afterwards.
    "posteriors, quadratic": ThresholdRejectClassifier(curves, reject_cost=COST),
    "posteriors, SVC": ThresholdRejectClassifier(SVC(C=32), reject_cost=COST),
    "posteriors, trees": ThresholdRejectClassifier(trees, reject_cost=COST),
    "two cut-offs, SVC": ThresholdRejectClassifier(SVC(C=32), rule="score", reject_cost=COST),
    # Two classifiers, and machines with a reject option built in.
    "two SVCs": FrankHallReject(SVC(C=256, gamma=0.5), reject_cost=COST),
    "double hinge": SurrogateRejectSVC(C=8, gamma=2, reject_cost=COST),
    "embedded": EmbeddedRejectSVC(second_order=True, C=2, reject_cost=COST),
}


def risk(model):
    """Return what a new case costs on average, if an error costs 1."""
    decided = model.predict(X_new)
    return empirical_risk(y_new, decided, reject_label=model.reject_label_, reject_cost=COST)


# %%
# The first panel is the best possible. The number is what a case costs: nobody can be below the
# first one, and reviewing everything costs 0.200.

fig, axes = plt.subplots(4, 3, figsize=(7.0, 9.4), sharex=True, sharey=True, layout="constrained")
axis = np.linspace(0, 1, 101)
xx0, xx1 = np.meshgrid(axis, axis)
p = posterior("synthetic_1", np.column_stack([xx0.ravel(), xx1.ravel()]))
best = np.where(p.max(axis=1) < 1 - COST, -1, p.argmax(axis=1)).reshape(xx0.shape)
RejectRegionDisplay(xx0=xx0, xx1=xx1, classes=np.unique(y), decisions=best).plot(ax=axes[0, 0])
axes[0, 0].set_title(f"best possible\n{bayes_risk('synthetic_1', COST):.3f}")
fig.legend(handles=axes[0, 0].get_legend().legend_handles, loc="outside lower center", ncols=3)

for ax, (name, model) in zip(axes.flat[1:], methods.items(), strict=True):
    model.fit(X, y)
    RejectRegionDisplay.from_estimator(model, X, grid_resolution=100, points=False, ax=ax)
    ax.set_title(f"{name}\n{risk(model):.3f}")
for ax in axes.flat:
    ax.get_legend().remove()
    ax.set(xlabel="", ylabel="", xlim=(0, 1), ylim=(0, 1), xticks=[0, 1], yticks=[0, 1])
    ax.set_aspect("equal")
plt.show()
crossed = methods["two SVCs"].crossing_mask(X_new).mean()
print(f"contradictions of the two SVCs: {crossed:.2%} of new cases")

# %%
# What to see
# -----------
# - Most methods find the same cross with curved edges, and cost 9 to 17 % more than the best
#   possible, two of them 25 and 29 %. Most are too close to rank them by one training set: see
#   :doc:`the example on comparing methods </gallery/plot_comparing_methods>` for a fair way.
# - A plain logistic regression on the right features, with a threshold on its probability, is as
#   good as nearly anything here. A good probability is all that the best rule needs.
# - Trees paint with rectangles, and their region is ragged, whether it is learned or cut from
#   posteriors. That need not cost more: look at the numbers.
# - The two SVCs are trained apart, so the edges of their region may cross, and beyond that point
#   they contradict each other. Here it happens on the left, where the edges meet, to hardly any
#   case. :doc:`With five grades </gallery/plot_ordered_grades>` you can see it. Data replication
#   rules it out.
