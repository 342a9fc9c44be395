"""
Twelve classes without an order
===============================

A help desk sorts messages into twelve subjects. Most mistakes cost a few minutes, but a report of
fraud that lands in the wrong queue is expensive. Three clerks can look at one message in ten. Which
ones should they get?
"""

# %%
# Messages and prices
# -------------------
# The messages are generated: 20 numbers each, as from an embedding. Prices are written by class, or
# by pair: ``fraud>advertising`` is a message about fraud that is filed as advertising. Whatever is
# not named costs 10.

from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from rejo import RejectClassifierCV, ThresholdRejectClassifier
from rejo.metrics import reject_confusion_matrix
from rejo.prices import price_matrix

subjects = "account advertising billing complaint delivery fraud "
subjects += "legal payment privacy return stock technical"
subjects = np.array(subjects.split())
X, k = make_classification(
    6000,
    n_features=20,
    n_informative=10,
    n_redundant=0,
    n_classes=12,
    n_clusters_per_class=1,
    class_sep=1.6,
    random_state=3,
)
y = subjects[k]
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

same = "error=10,review=4"
by_pair = "error=10,error:fraud=100,fraud>advertising=400,error:legal=60,review=4"
print(price_matrix(by_pair, subjects)[5:7].astype(int))  # rows of fraud and legal; review is last

# %%
# Reviews go where the money is
# -----------------------------
# The same logistic regression decides at both price lists. Classes need no order, and other prices
# need no new fit: ``at`` takes them.

model = ThresholdRejectClassifier(LogisticRegression(max_iter=500), cost_of=same)
model.fit(X_train, y_train)
priced = model.at(cost_of=by_pair)

outcomes = {"every error costs 10": model, "prices by pair": priced}
colours = {"right": "#0072B2", "reviewed": "0.75", "wrong": "#D55E00"}
fig, axes = plt.subplots(1, 2, figsize=(7.0, 4.4), sharey=True, layout="constrained")
for ax, (title, classifier) in zip(axes, outcomes.items(), strict=True):
    counts = reject_confusion_matrix(
        y_new, classifier.predict(X_new), reject_label="reject", classes=subjects
    )
    right, review = np.diag(counts), counts[:, -1]
    parts = np.array([right, review, counts.sum(axis=1) - right - review]) / counts.sum(axis=1)
    start = np.zeros(len(subjects))
    for (label, colour), share in zip(colours.items(), parts, strict=True):
        ax.barh(subjects, share, left=start, color=colour, label=label, height=0.75)
        start += share
    ax.set(title=title, xlabel="share of the true subject", xlim=(0, 1))
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].invert_yaxis()
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# With prices by pair, hardly any fraud is decided wrongly. The clerks see more messages that *may*
# be fraud, also of other subjects.
#
# A budget for reviews
# --------------------
# The clerks have time for one message in ten. ``review_budget`` with prices sends them those that
# are worth most. Usually people take the messages with the lowest probability of the likeliest
# class, but that does not know about prices.

desk = RejectClassifierCV(LogisticRegression(max_iter=500), review_budget=0.1, cost_of=by_pair).fit(
    X_train, y_train
)
print(fill(desk.summary(), 90))

# %%
# On new messages, with all budgets from nothing to everything:

prices = price_matrix(by_pair, subjects)
forced = desk.predict_forced(X_new)
error_price = prices[np.searchsorted(subjects, y_new), np.searchsorted(subjects, forced)]
worth = priced.review(X_new)["worth"].to_numpy()
likeliest = model.predict_proba(X_new).max(axis=1)


def cost_by_share(order):
    """Mean cost if the first 0, 1, 2, ... messages in this order are reviewed."""
    n = np.arange(len(order) + 1)
    left = error_price.sum() - np.r_[0, np.cumsum(error_price[order])]
    return n / len(order), (left + 4 * n) / len(order)


fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.plot(*cost_by_share(np.argsort(-worth)), color="#0072B2", label="worth most first")
ax.plot(
    *cost_by_share(np.argsort(likeliest)),
    color="#D55E00",
    linestyle="--",
    label="lowest probability first",
)
reviewed = desk.reject_mask(X_new)
ax.plot(
    reviewed.mean(),
    (error_price[~reviewed].sum() + 4 * reviewed.sum()) / len(reviewed),
    "o",
    color="#0072B2",
    markersize=9,
    label="the budget of 10 %",
)
ax.set(xlabel="share of messages reviewed", ylabel="cost of a message", xlim=(0, 1))
ax.set_ylim(bottom=0)
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set_title("What a message costs, by the order of reviews")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper center")
plt.show()

# %%
# The curve falls until about a fifth of the messages is reviewed: at these prices, more clerks
# would pay.
#
# If every error cost the same, the two orders would be one: then the plain threshold on the largest
# probability is the best rule there is, and you don't need more than that.

order = np.argsort(-model.review(X_new)["worth"].to_numpy(), kind="stable")
print("the same order:", bool((np.diff(likeliest[order]) >= -1e-12).all()))
