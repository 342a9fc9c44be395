"""
From a tuned threshold to a review region
=========================================

scikit-learn's ``TunedThresholdClassifierCV`` moves the threshold of a classifier to where errors
cost least. Somebody could also look at the doubtful cases. What does a second threshold bring, with
the same model and the same prices?
"""

# %%
# One threshold
# -------------
# A machine part that fails in the field costs 10, a good part that is thrown away costs 2. Of 100
# parts 15 are bad. The classifier predicts class 1, "bad", above a threshold on the probability,
# which is tuned by the cost.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from rejo import ThresholdRejectClassifier
from rejo.metrics import expected_cost

MISS, FALSE_ALARM, REVIEW = 10, 2, 0.6


def gain(y_true, y_pred):
    """Return minus the mean cost of a case, for scikit-learn to maximise."""
    errors = confusion_matrix(y_true, y_pred) * [[0, FALSE_ALARM], [MISS, 0]]
    return -errors.sum() / len(y_true)


X, y = make_classification(
    6000, n_features=12, n_informative=6, weights=[0.85], class_sep=1.2, random_state=1
)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)

tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring=make_scorer(gain))
tuned.fit(X_train, y_train)
print(f"tuned threshold {tuned.best_threshold_:.3f}, cost {-gain(y_new, tuned.predict(X_new)):.3f}")

# %%
# Two thresholds
# --------------
# Now a review, which costs 0.6 and finds the truth, is a third choice.
# ``ThresholdRejectClassifier`` takes the place of ``TunedThresholdClassifierCV``; the prices
# replace the scorer. By default it trusts the probabilities and computes the two thresholds from
# the prices. ``rule="score"`` does what scikit-learn does: it finds those that cost least on
# held-out folds, but two of them.

prices = f"error:1={MISS},error:0={FALSE_ALARM},review={REVIEW}"
by_prices = ThresholdRejectClassifier(LogisticRegression(), cost_of=prices).fit(X_train, y_train)
by_search = ThresholdRejectClassifier(LogisticRegression(), rule="score", cost_of=prices)
by_search.fit(X_train, y_train)


def cost(decisions):
    """Return the mean cost of a new case."""
    return expected_cost(y_new, decisions, reject_label=-1, cost_of=prices)


print("cost of a case")
print(f"  threshold 0.5              {cost(tuned.estimator_.predict(X_new)):.3f}")
print(f"  one threshold, tuned       {cost(tuned.predict(X_new)):.3f}")
print(f"  one threshold, by prices   {cost(by_prices.predict_forced(X_new)):.3f}")
print(f"  two thresholds, tuned      {cost(by_search.predict(X_new)):.3f}")
print(f"  two thresholds, by prices  {cost(by_prices.predict(X_new)):.3f}")
print(f"  review everything          {REVIEW:.3f}")
print(f"reviewed, by prices: {by_prices.reject_mask(X_new).mean():.0%}")

# %%
# Where the thresholds come from hardly matters: with probabilities as good as these, the prices say
# where to put them, and a search finds about the same. That there are two of them does matter: a
# quarter of the parts is reviewed, and nearly a third of the cost is saved.
#
# The map of all thresholds
# -------------------------
# Every pair of a lower and an upper threshold is a point of this map. On the diagonal the two are
# the same: that is one threshold, and nothing is reviewed. Off the diagonal, what lies between the
# two goes to review.

p = by_prices.predict_proba(X_new)[:, 1]
grid = np.linspace(0, 1, 101)
# Mean cost of calling everything up to t good, of calling everything above t bad, of the reviews.
missed = np.array([MISS * np.mean((p <= t) & (y_new == 1)) for t in grid])
discarded = np.array([FALSE_ALARM * np.mean((p > t) & (y_new == 0)) for t in grid])
up_to = np.array([np.mean(p <= t) for t in grid])
costs = missed[None, :] + discarded[:, None] + REVIEW * (up_to[:, None] - up_to[None, :])
costs[grid[:, None] < grid[None, :]] = np.nan  # upper below lower

fig, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
levels = np.arange(0.2, 1.05, 0.05)
shown = ax.contourf(grid, grid, costs, levels=levels, cmap="viridis_r", extend="max")
fig.colorbar(shown, label="cost of a case", format="%.2f")
ax.plot([0, 1], [0, 1], color="black", linewidth=1)
ax.text(0.62, 0.58, "one threshold", rotation=45, rotation_mode="anchor", ha="center", va="top")
ax.plot(
    tuned.best_threshold_, tuned.best_threshold_, "o", color="#D55E00", ms=11, label="one, tuned"
)
low, high = REVIEW / MISS, 1 - REVIEW / FALSE_ALARM
ax.plot(low, high, "*", color="white", mec="black", ms=17, label="two, by prices")
ax.set(xlabel="lower threshold: call it good below", ylabel="upper threshold: call it bad above")
ax.set_title("What each pair of thresholds costs")
ax.legend(loc="lower right", facecolor="0.95")
plt.show()

# %%
# When the second threshold is not worth it
# -----------------------------------------
# The more a review costs, the closer the two thresholds move, until they are one. ``at``
# decides at another price without a new fit. Above the point where nothing is reviewed any more,
# scikit-learn's one threshold is all you need.

review_prices = np.linspace(0.05, 1.65, 33)
paid, shares = [], []
for review in review_prices:
    at = f"error:1={MISS},error:0={FALSE_ALARM},review={review}"
    decided = by_prices.at(cost_of=at).predict(X_new)
    paid.append(expected_cost(y_new, decided, reject_label=-1, cost_of=at))
    shares.append(np.mean(decided == -1))

fig, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 5.0), sharex=True, height_ratios=[3, 2], layout="constrained"
)
top.plot(review_prices, review_prices, color="0.55", linestyle=":", label="review everything")
top.axhline(
    cost(tuned.predict(X_new)), color="#D55E00", linestyle="--", label="one tuned threshold"
)
top.plot(review_prices, paid, color="#0072B2", label="two thresholds")
top.set(ylabel="cost of a case", ylim=(0, 0.6))
top.set_title("What a review may cost")
top.legend(frameon=False, loc="upper right")
bottom.plot(review_prices, shares, color="#0072B2")
bottom.set(xlabel="price of a review", ylabel="share reviewed", ylim=(0, 1))
bottom.yaxis.set_major_formatter("{x:.0%}")
for ax in (top, bottom):
    ax.spines[["top", "right"]].set_visible(False)
    ax.axvline(REVIEW, color="0.8", linewidth=1, zorder=0)
plt.show()
