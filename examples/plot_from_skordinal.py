"""
From skordinal or mord
======================

Your classes have an order, such as grades from "poor" to "excellent", and you use an ordinal
classifier of skordinal or mord. They decide every case. What if the doubtful ones should go to a
person? Here are learned regions, then the same model in skordinal and in rejo, without reviews and
with them.
"""

# %%
# Regions between neighbours
# --------------------------
# Five ordered classes in the plane. Support vector machines for ordered classes, on the left
# skordinal's ``SVOR``, on the right rejo's ``RejoSVC``, which also learns where to review: a
# region between every two neighbours, whose edges never cross.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import mean_absolute_error
from skordinal.classifiers import SVOR, LogisticAT

from rejo import RejectClassifierCV, RejoLinear, RejoSVC
from rejo.datasets import make_synthetic_3
from rejo.displays import RejectRegionDisplay

X, y = make_synthetic_3(400, random_state=0)
models = {
    "skordinal: SVOR": SVOR(C=100, kernel="rbf", gamma=2.0),
    "rejo: RejoSVC": RejoSVC(C=100, gamma=2.0, reject_cost=0.2),
}
fig, axes = plt.subplots(1, 2, figsize=(7.2, 4.2), layout="constrained", sharey=True)
for ax, (name, machine) in zip(axes, models.items(), strict=True):
    RejectRegionDisplay.from_estimator(machine.fit(X, y), X, y, ax=ax)
    ax.set_title(name)
    legend = ax.get_legend()
    legend.remove()
axes[1].set_ylabel("")
words = [text.get_text() for text in legend.get_texts()]
fig.legend(legend.legend_handles, words, loc="outside lower center", ncols=6, frameon=False)
plt.show()

# %%
# The same model without reviews
# ------------------------------
# Now something with known truth: four grades, made from eight measurements and noise. skordinal's
# ``LogisticAT`` (mord has one of the same name) is an ordinal logistic regression.
# ``RejoLinear(reject_cost=None)`` is the same model, up to how it regularises.

GRADES = np.array([1, 2, 3, 4])


def make_grades(n, random_state):
    """Return eight measurements and the grade of n things."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, 8))
    latent = X @ [4, -3, 2, 1, 1, 0, 0, 0] + rng.logistic(size=n)
    return X, GRADES[np.digitize(latent, [-4, 0, 5])]


X, y = make_grades(1_000, random_state=0)
X_new, y_new = make_grades(20_000, random_state=1)
theirs = LogisticAT().fit(X, y)
ours = RejoLinear(reject_cost=None).fit(X, y)
for name, model in {"skordinal": theirs, "rejo": ours}.items():
    grades = model.predict(X_new)
    print(
        f"{name:10} right {(grades == y_new).mean():.1%}, "
        f"off by {mean_absolute_error(y_new, grades):.3f} grades on average"
    )
print(
    f"same grade for {(theirs.predict(X_new) == ours.predict(X_new)).mean():.1%} of the new cases"
)

# %%
# With reviews
# ------------
# skordinal has posteriors but no reviews. You can put a threshold on the largest posterior by
# hand, or let rejo do it: ``RejectClassifierCV`` takes skordinal's classifiers, and finds the
# threshold for a budget.

wrapped = RejectClassifierCV(LogisticAT(), review_budget=0.3).fit(X, y)
print(fill(wrapped.summary(), 90))

# %%
# ``RejoLinear`` learns the boundaries for a price of reviews. It also says between which two
# grades a case lies, which is what the reviewer wants to know.

learned = RejectClassifierCV(RejoLinear(), review_budget=0.3).fit(X, y)
learned.queue(X_new, capacity=3)[["decision", "forced", "lower", "upper", "rank"]]

# %%
# Which one is better?
# --------------------
# The threshold by hand, rejo's wrapper and the learned boundaries, at four budgets.

budgets = [0.1, 0.2, 0.3, 0.5]
results = {"skordinal, threshold by hand": [], "rejo around skordinal": [], "RejoLinear": []}
largest, sureness = theirs.predict_proba(X).max(axis=1), theirs.predict_proba(X_new).max(axis=1)


def rates(decisions, reviewed):
    """Return the share of reviews, and how many grades the others are off by."""
    return reviewed.mean(), mean_absolute_error(y_new[~reviewed], decisions[~reviewed])


for budget in budgets:
    by_hand = sureness < np.quantile(largest, budget)
    results["skordinal, threshold by hand"].append(rates(theirs.predict(X_new), by_hand))
    for name, model in {"rejo around skordinal": wrapped, "RejoLinear": learned}.items():
        decisions = model.set_params(review_budget=budget).fit(X, y).predict(X_new)
        results[name].append(rates(decisions, decisions == model.reject_label_))

fig, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
styles = zip(results.items(), ("s--", "D:", "o-"), ("0.45", "#D55E00", "#0072B2"), strict=True)
for (name, pairs), style, colour in styles:
    ax.plot(*np.transpose(pairs), style, color=colour, markersize=7, mfc="none", label=name)
    print(f"{name:30}", "  ".join(f"{share:.1%} {off:.3f}" for share, off in pairs))
ax.set(xlabel="share of new cases in review", ylabel="grades off, among the decided")
ax.set(title="Four grades, reviews in three ways: no difference", xlim=(0, 0.6), ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# No difference that matters: about 0.16 grades off with 30 % in review, whichever way. With good
# posteriors, which an ordinal logistic regression has when its form is right, a threshold on them
# is all you need, and the one by hand is as good as ours. So what rejo adds here is not accuracy:
# it is the target that you state (a budget, a limit on errors, prices, a promise), what to
# expect of it, and the queue.
#
# It is different for machines without posteriors, such as ``SVOR`` on top of this page: there is
# nothing to put a threshold on, and learned regions are the way.
#
# What is called what
# -------------------
#
# =========================================  ==============================================
# skordinal, mord                            rejo
# =========================================  ==============================================
# ``LogisticAT``                             ``RejoLinear(reject_cost=None)``
# ``SVOR``, ``REDSVM``                       ``RejoSVC(reject_cost=None)``
# ``NNPOM``, ``NNOP``                        ``RejoMLP(reject_cost=None)``
# ``OrdinalDecomposition``                   ``FrankHallReject(reject_cost=None)``
# ``mean_absolute_error`` of the grades      ``rejo.metrics.ordinal_risk``, with reviews
# classes from 0 to K - 1 (mord)             any labels, in the order of ``class_order``
# (none)                                     ``reject_cost``, ``RejectClassifierCV``
# =========================================  ==============================================
#
# Where skordinal is the better choice
# ------------------------------------
# - **More models.** It has a dozen ordinal classifiers, such as proportional odds, kernel
#   discriminant analysis and boosting.
# - **Ordinal measures.** Ranked probability score, weighted kappa, worst mean error of a class,
#   and more.
#
# mord 0.7 fits the same ``LogisticAT``. But its models are not classifiers by scikit-learn's
# checks, so meta-estimators refuse them, and with SciPy 1.17 it warns about an option that SciPy
# 1.18 removes.
#
# For other libraries, see :doc:`the page on other libraries </friends>`.
