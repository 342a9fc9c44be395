"""
Are reviews fair to every group?
================================

Doubtful cases go to a person, so the decisions that remain get better. But for whom? Jones et al.
(2021) found that reviews can *widen* the gap between groups: the majority gains, and the errors
of the minority stay where they are, among the cases of which the model is sure. This page shows
how to see it, and three things to do about it.
"""

# %%
# Two groups, one model
# ---------------------
# Loan applications from a city and, one in five, from the country. How long somebody has lived at
# the same address says much about a loan in the city and nothing in the country, where everybody
# stays. The model has learned from all of them together, and does not know where a customer
# lives.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rejo import RejectClassifierCV, ThresholdRejectClassifier
from rejo.displays import DisparityDisplay
from rejo.metrics import accepted_accuracy, rejection_rate


def make_loans(n, random_state):
    """Return two features, the outcome and the group of n loans."""
    rng = np.random.default_rng(random_state)
    group = np.where(rng.random(n) < 0.2, "country", "city")
    income, years = rng.normal(size=(2, n))
    score = 2.5 * income + np.where(group == "city", 2.0, 0.0) * years
    outcome = np.where(rng.random(n) < expit(score), "repaid", "default")
    return np.column_stack([income, years]), outcome, group


X, y, group = make_loans(9_000, random_state=0)
X_new, y_new, group_new = make_loans(20_000, random_state=1)
logistic = ThresholdRejectClassifier(LogisticRegression())
model = logistic.fit(X, y)

# %%
# The least sure cases of both groups go to review first, with one threshold for everybody.

fig, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
display = DisparityDisplay.from_estimator(model, X_new, y_new, group_new, ax=ax)
ax.set_title("One in five is from the country, and gains less from reviews")
plt.show()

# %%
# Both groups get better, so nobody is worse off than without reviews. But the city gets better
# faster: with 30 % of the cases in review, its errors are more than halved, from 16 % to 7 %, and
# those of the country fall from 25 % to 18 %. Can that be chance?

print(fill(display.curve.words(share=0.3), 90))

# %%
# The usual tables do not show this. The accuracy of all decisions (black) follows the city, and
# both groups are reviewed equally often. In the country the model is just as sure, only wrongly
# so.
#
# A promise for all, or for each
# ------------------------------
# A promise about all decisions is kept by the majority. With ``max_error_by_group``, cases that
# the model has not seen must prove the limit for each group. A third way is to ask why the groups
# differ: a model that knows the region can learn that years at an address mean nothing there.


def knows_region(X, group):
    """Add the features once more for customers from the country."""
    return np.hstack([X, X * (group == "country")[:, None]])


settings = {"confidence": 0.95, "random_state": 0}
for_all = RejectClassifierCV(logistic, max_error=0.1, **settings).fit(X, y)
by_group = RejectClassifierCV(logistic, max_error_by_group=0.1, **settings)
by_group.fit(X, y, group=group)
informed = RejectClassifierCV(logistic, max_error_by_group=0.1, **settings)
informed.fit(knows_region(X, group), y, group=group)

decisions = {
    "at most 10 % errors\namong all decisions": for_all.predict(X_new),
    "at most 10 %\nin each group": by_group.predict(X_new),
    "at most 10 % in each,\nmodel knows the region": informed.predict(
        knows_region(X_new, group_new)
    ),
}

# %%

COLOURS = {"city": "#0072B2", "country": "#D55E00"}
fig, axes = plt.subplots(1, 2, figsize=(7.4, 3.9), layout="constrained", sharey=True)
place = np.arange(len(decisions))
for offset, (name, colour) in zip((-0.19, 0.19), COLOURS.items(), strict=True):
    own = group_new == name
    errors = [
        1 - accepted_accuracy(y_new[own], d[own], reject_label="reject") for d in decisions.values()
    ]
    reviews = [
        rejection_rate(y_new[own], d[own], reject_label="reject") for d in decisions.values()
    ]
    for ax, rates in zip(axes, (errors, reviews), strict=True):
        bars = ax.barh(place + offset, rates, height=0.34, color=colour, label=name)
        ax.bar_label(bars, fmt="{:.0%}", padding=3, fontsize=9)
for ax, title, limit in zip(
    axes, ("errors among the decided", "sent to review"), (0.18, 0.95), strict=True
):
    ax.set(title=title, xlim=(0, limit), ylim=(len(decisions) - 0.5, -0.5))
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_yticks(place, list(decisions))
axes[0].axvline(0.1, color="black", linewidth=1, linestyle=":")
handles, names = axes[0].get_legend_handles_labels()
fig.legend(handles, names, loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# - The promise for all decisions is kept, and customers from the country get more errors than it
#   says.
# - The promise for each group is kept too, but at a price: with one threshold for everybody, the
#   group with the worst errors decides how many cases of the *others* are reviewed.
# - The model that knows the region keeps both limits with less than half of the reviews. It
#   treats two customers who differ only in their region differently, and reviews those from the
#   country more often, because it knows less about them.
#
# Whether a model may know the group is not a question of statistics. For sex, age or origin the
# law of many countries forbids it.
#
# When the model knows its doubts
# -------------------------------
# With the better model, reviews *narrow* the gap. So it is not reviews as such that harm the
# minority, but sure and wrong decisions. Draw this curve for your own groups before you choose a
# threshold.

better = logistic.fit(knows_region(X, group), y)
fig, ax = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
display = DisparityDisplay.from_estimator(
    better, knows_region(X_new, group_new), y_new, group_new, ax=ax
)
ax.set_title("The same customers, a model that knows the region")
plt.show()
print(fill(display.curve.words(share=0.3), 90))

# %%
# **Reference.** E. Jones, S. Sagawa, P. W. Koh, A. Kumar and P. Liang, "Selective classification
# can magnify disparities across groups", ICLR 2021, `doi:10.48550/arXiv.2010.14134
# <https://doi.org/10.48550/arXiv.2010.14134>`_.
