"""
From scikit-fallback
====================

You use scikit-fallback (``skfb``), where a case without a decision is a *fallback*. Its
classifiers wrap a scikit-learn classifier, as rejo's do. Here are three jobs in both, and what
comes out: a review budget, where both are equally good; prices, where rejo is cheaper; and a
limit on errors.
"""

# %%
# The applications
# ----------------
# Loan applications, generated; one in four is lost. The reviewers have time for one in five.

# sphinx_gallery_thumbnail_number = 2
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from skfb.estimators import RateFallbackClassifierCV, ThresholdFallbackClassifierCV
from sklearn.linear_model import LogisticRegression

from rejo import RejectClassifierCV, ThresholdRejectClassifier


def make_loans(n, random_state):
    """Return six features and the outcome of n loans."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, 6))
    score = 2.5 * X[:, 0] - 2.0 * X[:, 1] + 1.3 * X[:, 2] * X[:, 3] + 2.4
    return X, np.where(rng.random(n) < expit(score), "repaid", "default")


X, y = make_loans(4_000, random_state=0)
X_new, y_new = make_loans(20_000, random_state=1)


def rates(decisions, label):
    """Return the share of reviews, and that of errors among the decided."""
    reviewed = decisions == label
    return reviewed.mean(), (decisions != y_new)[~reviewed].mean()


def show(name, decisions, label):
    """Print both shares."""
    reviewed, wrong = rates(decisions, label)
    print(f"{name}: {reviewed:.1%} in review, {wrong:.1%} errors among the decided")


# %%
# A review budget
# ---------------
# In scikit-fallback the parameter is ``fallback_rate``. ``fallback_mode="return"`` makes
# ``predict`` return the label; by default it returns an array that stores the mask.

fallback = RateFallbackClassifierCV(
    LogisticRegression(), fallback_rate=0.2, cv=5, fallback_label="review", fallback_mode="return"
).fit(X, y)
show("scikit-fallback", fallback.predict(X_new), "review")

# %%
# In rejo it is ``review_budget``:

model = RejectClassifierCV(LogisticRegression(), review_budget=0.2).fit(X, y)
show("rejo", model.predict(X_new), "reject")

# %%
# Both do the same thing, a threshold on the largest probability, found on cases that were held
# out. So the results are nearly the same, at every budget. In rejo, ``at`` moves to another one
# without a new fit:

budgets = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4])
by_fallback, by_rejo = [], []
for budget in budgets:
    fallback.set_params(fallback_rate=budget).fit(X, y)
    by_fallback.append(rates(fallback.predict(X_new), "review"))
    by_rejo.append(rates(model.at(review_budget=budget).predict(X_new), "reject"))

GREY, BLUE = "0.45", "#0072B2"
fig, ax = plt.subplots(figsize=(6.6, 4.0), layout="constrained")
ax.plot(
    *np.transpose(by_fallback), "s--", color=GREY, markersize=9, mfc="none", label="scikit-fallback"
)
ax.plot(*np.transpose(by_rejo), "o-", color=BLUE, markersize=5, label="rejo")
for budget in budgets:
    ax.axvline(budget, color="0.85", linewidth=0.8, zorder=0)
ax.set(xlabel="share of new cases in review (lines: the budget)", ylabel="errors among the decided")
ax.set(title="A review budget: no difference", xlim=(0, 0.42), ylim=(0, None))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.yaxis.set_major_formatter("{x:.0%}")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# What rejo adds is what to expect, and the queue:

print(fill(model.summary(), 90))
model.queue(X_new, capacity=3)

# %%
# Prices
# ------
# A lost loan costs 5,000, a good customer who is turned away 600, a review 200.
# ``ThresholdFallbackClassifierCV`` takes the threshold with the best cross-validated score. Its
# default score has no prices: with ``fallback_mode="return"`` it is the accuracy of the decided
# cases, which grows with every review. So you write a score, and a grid of thresholds.


def cost(y_true, decisions, review, label):
    """Return the mean cost of a case."""
    error = np.where(y_true == "default", 5000, 600) * (decisions != y_true)
    return np.where(decisions == label, review, error).mean()


def by_score(review):
    """Return scikit-fallback's classifier for this price of a review."""
    return ThresholdFallbackClassifierCV(
        LogisticRegression(),
        thresholds=np.linspace(0.5, 0.99, 25),
        scoring=lambda y_true, decisions: -cost(y_true, decisions, review, "review"),
        cv=5,
        fallback_label="review",
        fallback_mode="return",
    )


# %%
# In rejo you state the prices. ``at`` changes them without a new fit.

priced = ThresholdRejectClassifier(
    LogisticRegression(), cost_of="error:default=5000,error:repaid=600,review=200"
).fit(X, y)

reviews = np.array([25, 100, 200, 300, 400])
costs = {"scikit-fallback, threshold by cost": [], "rejo, prices": []}
for review in reviews:
    fitted = by_score(review).fit(X, y)
    other = priced.at(cost_of=f"error:default=5000,error:repaid=600,review={review}")
    for name, decisions, label in zip(
        costs, (fitted.predict(X_new), other.predict(X_new)), ("review", "reject"), strict=True
    ):
        costs[name].append(cost(y_new, decisions, review, label))

fig, ax = plt.subplots(figsize=(6.6, 4.0), layout="constrained")
for (name, values), style, colour in zip(costs.items(), ("s--", "o-"), (GREY, BLUE), strict=True):
    ax.plot(reviews, values, style, color=colour, markersize=6, label=name)
ax.plot(reviews, reviews, ":", color="black", linewidth=1, label="review everything")
ax.set(xlabel="price of a review", ylabel="cost per application")
ax.set(title="Prices by class: one threshold is not enough", xlim=(0, None), ylim=(0, None))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
for name, values in costs.items():
    print(f"{name:35}", " ".join(f"{value:4.0f}" for value in values))

# %%
# With one threshold on the largest probability, "surely repaid" and "surely lost" are treated
# alike. But to grant a loan that is lost costs eight times as much as to turn down a good one, so
# the two sides need different thresholds. If both errors cost the same, this advantage is gone:
# then one threshold is enough. And where a review is very cheap, nearly everything is reviewed,
# and both cost the same.
#
# A limit on errors
# -----------------
# At most 5 % errors among the decided cases: scikit-fallback has no such target. You would try
# values of ``fallback_rate`` and count. In rejo it is ``max_error=0.05``, an estimate, or a
# promise with ``confidence=0.95``.

limited = RejectClassifierCV(LogisticRegression(), max_error=0.05, random_state=0).fit(X, y)
show("estimated", limited.predict(X_new), "reject")
limited.set_params(confidence=0.95).fit(X, y)
show("promised", limited.predict(X_new), "reject")

# %%
# What is called what
# -------------------
#
# =========================================  ======================================================
# scikit-fallback                            rejo
# =========================================  ======================================================
# fallback, ``fallback_label``               review, ``reject_label``
# ``ThresholdFallbackClassifier``            ``ThresholdRejectClassifier``, by ``reject_cost``
# ``RateFallbackClassifierCV``               ``RejectClassifierCV(..., review_budget=...)``
# ``ThresholdFallbackClassifierCV``          ``RejectClassifierCV(..., cost_of=...)``
# ``MultiThresholdFallbackClassifier``       ``ThresholdRejectClassifier(..., rule="class")``
# ``AnomalyFallbackClassifier``              ``NoveltyReject``, in the same budget
# ``predict_accept_confusion_matrix``        ``RejectConfusionDisplay``, ``reject_confusion_matrix``
# ``fallback_quality_curve``                 ``accuracy_reject_curve``
# cascades, routing                          (none)
# =========================================  ======================================================
#
# Where scikit-fallback is the better choice
# ------------------------------------------
# - **The fallback is another model.** A small model answers, and a larger one takes over where it
#   is unsure: scikit-fallback has cascades and routing for that, rejo has neither.
# - **Rules.** It has classifiers that are rules written by hand.
# - **Less to learn.** It is small, and if all you need is a fallback rate, it does that as well.
#
# For other libraries, see :doc:`the page on other libraries </friends>`.
