"""
Credit decisions with prices
============================

A loan that is lost costs 5,000. A good customer who is turned away costs 600. An hour of a loan
officer, who looks at the papers and gets it right, costs 200. Which applications should the model
decide, and which ones should it leave to the officer?
"""

# %%
# A table of applications
# -----------------------
# The table is generated, so that you can run this page anywhere: numbers, categories and missing
# values, and an outcome that is known only with some chance. One loan in seven is lost.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from rejo import ThresholdRejectClassifier
from rejo.metrics import expected_cost
from rejo.tables import TableEncoder


def make_applications(n, rng):
    """Return n loan applications, and whether each loan was repaid."""
    table = pd.DataFrame(
        {
            "income": (rng.gamma(8, 5, n) * 1000).round(-2),
            "amount": (rng.gamma(3, 4, n) * 1000).round(-2),
            "years_in_job": rng.exponential(6, n).round(),
            "late_payments": rng.poisson(0.7, n),
            "home": rng.choice(["own", "mortgage", "rent"], n, p=[0.2, 0.4, 0.4]),
            "purpose": rng.choice(["car", "home", "debt", "business"], n, p=[0.3, 0.3, 0.3, 0.1]),
        }
    )
    risk = (
        -0.1 * table["income"] / 1000
        + 0.2 * table["amount"] / 1000
        - 0.2 * table["years_in_job"]
        + 1.8 * table["late_payments"]
        + table["home"].map({"own": -1.0, "mortgage": 0.0, "rent": 1.0})
        + table["purpose"].map({"car": -0.6, "home": -0.6, "debt": 1.0, "business": 2.0})
        - 2.5
    )
    outcome = np.where(rng.random(n) < expit(risk), "default", "repaid")
    table.loc[rng.random(n) < 0.08, "income"] = np.nan
    table.loc[rng.random(n) < 0.12, "years_in_job"] = np.nan
    return table, outcome


X, y = make_applications(8000, np.random.default_rng(0))
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
X_train.head()

# %%
# Three ways to decide
# --------------------
# All three use the same logistic regression. ``TableEncoder`` turns the table into numbers.
#
# - *Likelier class*: what ``predict`` of a plain classifier does, a threshold of 0.5.
# - *Lowest cost*: decide every application, but at the prices. With two classes this is another
#   threshold on the same probability, 600 / 5,600.
# - *Lowest cost or review*: the review is one more choice, at its own price. That makes two
#   thresholds, and ``ThresholdRejectClassifier`` works them out.

prices = "error:default=5000,error:repaid=600,review=200"
model = ThresholdRejectClassifier(
    make_pipeline(TableEncoder(), LogisticRegression(max_iter=1000)), cost_of=prices
).fit(X_train, y_train)

decisions = {
    "likelier class": model.estimator_.predict(X_new),
    "lowest cost": model.predict_forced(X_new),
    "lowest cost or review": model.predict(X_new),
}
costs = {
    name: expected_cost(y_new, decided, reject_label="reject", cost_of=prices)
    for name, decided in decisions.items()
}
costs["review everything"] = 200.0
for name, cost in costs.items():
    print(f"{name:22} {cost:5.0f} per application")

# %%
# The first step needs no review at all: a threshold at the right place takes off 40 %. Reviews then
# take off two fifths of the rest. To review everything would cost more than to decide everything
# at the right threshold.
#
# How many reviews?
# -----------------
# The officers work through a queue, and its order matters. ``worth`` is what a review of an
# application is expected to save, in money; the largest comes first. Another order would be how
# close the probability is to 0.5. But at these prices that is not where the doubt is, and it takes
# more reviews to save the same.

frame = model.review(X_new)
probability = model.predict_proba(X_new)[:, 0]
error_price = np.where(y_new == "default", 5000, 600) * (frame["forced"] != y_new)


def cost_by_share(order):
    """Mean cost if the first 0, 1, 2, ... cases in this order are reviewed."""
    left = error_price.sum() - np.r_[0, np.cumsum(error_price.to_numpy()[order])]
    reviews = np.arange(len(order) + 1)
    return reviews / len(order), (left + 200 * reviews) / len(order)


BLUE, VERMILION, GREY = "#0072B2", "#D55E00", "0.55"
fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(*cost_by_share(np.argsort(-frame["worth"].to_numpy())), color=BLUE, label="by worth")
ax.plot(
    *cost_by_share(np.argsort(np.abs(probability - 0.5))),
    color=VERMILION,
    linestyle="--",
    label="nearest to 0.5 first",
)
ax.plot([0, 1], [error_price.mean(), 200], color=GREY, linestyle=":", label="at random")
ax.plot(
    model.reject_mask(X_new).mean(),
    costs["lowest cost or review"],
    "o",
    color=BLUE,
    markersize=9,
    label="where the model stops",
)
ax.axhline(costs["likelier class"], color="black", linewidth=1)
ax.text(1, costs["likelier class"], "threshold 0.5, no review ", ha="right", va="bottom")
ax.set(xlabel="share of applications reviewed", ylabel="cost per application", xlim=(0, 1))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set_title("What the reviews save, by their order")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.9))
plt.show()

# %%
# The dot is where the next review is expected to cost more than it saves. It comes from the prices
# alone: no outcome of the new applications was used. On the curve it is near the lowest point,
# because the probabilities of this model can be trusted. Those of forests and boosters often
# cannot: then pass ``calibration="temperature"``.
#
# Which applications are reviewed?
# --------------------------------
# Every choice has an expected cost, which depends on the probability of default. The model takes
# the lowest. Between two thresholds, 4 % and 67 %, that is the review.

p = np.linspace(0, 1, 401)
low = 200 / 5000  # here a review costs as much as granting the loan
high = 1 - 200 / 600  # and here as much as turning it down
fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
ax.axvspan(low, high, color="0.92")
ax.plot(p, 5000 * p, color=BLUE, label="grant the loan")
ax.plot(p, 600 * (1 - p), color=VERMILION, linestyle="--", label="turn it down")
ax.plot(p, np.full_like(p, 200), color="black", linestyle=":", label="review")
ax.axvline(600 / 5600, color=GREY, linewidth=1)
ax.annotate(
    "the one threshold\nwithout reviews",
    (600 / 5600, 640),
    (0.2, 620),
    color="0.35",
    arrowprops={"arrowstyle": "-", "color": GREY},
)
reviewed = model.reject_mask(X_new).mean()
ax.text((low + high) / 2, 60, f"review region\n{reviewed:.0%} of the applications", ha="center")
ax.set(xlabel="probability of default", ylabel="expected cost", xlim=(0, 1), ylim=(0, 700))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.set_title("Two thresholds, from three prices")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper right", bbox_to_anchor=(1, 0.9))
plt.show()

# %%
# The top of the queue, with what pulls each application to either side. ``chance_wrong`` is high
# because the model turns these down although most would be repaid: a loan that is lost costs so
# much more.

queue = model.review(X_new, why=1, background=X_train[:300]).nsmallest(5, "rank")
print(queue[["forced", "chance_wrong", "worth", "why"]].round(2).to_string())

# %%
# Next quarter the officers are busy, and a review costs 300. That needs no training
# (:doc:`more on prices </operating-points>`):

busy = model.at(cost_of="error:default=5000,error:repaid=600,review=300")
for price, classifier in {200: model, 300: busy}.items():
    print(f"reviewed at {price}: {classifier.reject_mask(X_new).mean():.0%}")
