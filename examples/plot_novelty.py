"""
A case unlike any in training
=============================

A model is asked about a case of a kind that it has never seen: a new product, a column in other
units, a row from the wrong table. Does it notice? Most classifiers do not, and many are *more*
sure of such a case than of an ordinary one. ``NoveltyReject`` sends it to review. This page shows
what it finds, what it costs, and what it does not find.
"""

# %%
# Far away, a classifier is sure
# ------------------------------
# The training data fill a square of side 1. A polynomial machine, which reviews the doubtful
# cases between its two classes, has learned nothing about the rest of the plane. But it decides
# nearly all of it. The dashed square is where the data are.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rejo import NoveltyReject, RejectClassifierCV, RejoSVC, ThresholdRejectClassifier
from rejo.datasets import make_synthetic_1
from rejo.displays import RejectRegionDisplay

X, y = make_synthetic_1(400, random_state=0)
machine = RejoSVC(kernel="poly", gamma=1, coef0=1, C=10, reject_cost=0.2)
models = {"the classifier alone": machine, "with NoveltyReject": NoveltyReject(machine)}

fig, axes = plt.subplots(1, 2, figsize=(7.2, 4.2), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    RejectRegionDisplay.from_estimator(model.fit(X, y), X, eps=1.0, points=False, ax=ax)
    ax.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], color="black", linewidth=2, linestyle="--")
    ax.set_title(name)
    ax.set_aspect("equal")
    legend = ax.get_legend()
    legend.remove()
axes[1].set_ylabel("")
words = [text.get_text() for text in legend.get_texts()]
fig.legend(legend.legend_handles, words, loc="outside lower center", ncols=4, frameon=False)
plt.show()

# %%
# A table, and what can go wrong with it
# --------------------------------------
# Thirty measurements of cell nuclei, benign or malignant. Logistic regression may leave 10 % of
# the cases to a doctor. With ``NoveltyReject`` the budget stays the same: ``RejectClassifierCV``
# counts what is novel and what is ambiguous together.

cells = load_breast_cancer()
X, y = cells.data, cells.target_names[cells.target]
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.4, random_state=0)
logistic = ThresholdRejectClassifier(LogisticRegression())


def within_budget(classifier):
    """Return the classifier that sends at most 10 % of ordinary cases to review."""
    pipeline = make_pipeline(StandardScaler(), classifier)
    return RejectClassifierCV(pipeline, review_budget=0.1, random_state=0).fit(X_train, y_train)


plain = within_budget(logistic)
careful = within_budget(NoveltyReject(logistic, random_state=0))

# %%
# The new cases come as they should, and with six faults. Each fault is made from the same
# ordinary cases.

rng = np.random.default_rng(0)
deviation = X_train.std(axis=0)
first, texture = X_new.copy(), X_new.copy()
first[:, 0] *= 10
texture[:, 1] = 0
moved = np.r_[1, 2, 3, 0, 4:30]
cases = {
    "ordinary cases": X_new,
    "one column in other units (10 times)": first,
    "four columns in the wrong order": X_new[:, moved],
    "values of different patients mixed": np.column_stack([rng.permutation(x) for x in X_new.T]),
    "one column empty, read as 0": texture,
    "all columns 3 deviations higher": X_new + 3 * deviation,
    "all columns 0.3 deviations higher": X_new + 0.3 * deviation,
}
shares = {
    "the classifier alone": [plain.reject_mask(rows).mean() for rows in cases.values()],
    "with NoveltyReject": [careful.reject_mask(rows).mean() for rows in cases.values()],
}
for name, rows in zip(cases, np.transpose(list(shares.values())), strict=True):
    print(f"{name:36} alone {rows[0]:4.0%}   with NoveltyReject {rows[1]:4.0%}")

# %%

GREY, BLUE = "0.65", "#0072B2"
fig, ax = plt.subplots(figsize=(7.0, 4.4), layout="constrained")
place = np.arange(len(cases))
for offset, (name, share), colour in zip((-0.2, 0.2), shares.items(), (GREY, BLUE), strict=True):
    bars = ax.barh(place + offset, share, height=0.36, color=colour, label=name)
    white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
    ax.bar_label(bars, fmt="{:.0%}", padding=3, fontsize=9, bbox=white)
ax.axvline(0.1, color="black", linewidth=1, linestyle=":")
ax.text(0.11, -0.72, "budget for ordinary cases", fontsize=9, va="center")
ax.set_yticks(place, list(cases))
ax.set(xlabel="share of the cases that go to review", xlim=(0, 1.12), ylim=(len(cases) - 0.5, -1))
ax.xaxis.set_major_formatter("{x:.0%}")
ax.xaxis.set_ticks(np.arange(0, 1.01, 0.25))
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.3, -0.14), ncols=2)
ax.set_title("What happens to faulty cases", loc="left")
plt.show()

# %%
# Read it from the top. Ordinary cases are reviewed about as often as before: 12 % instead of 11 %.
# Both are a little above the budget. It is an average, and with 228 cases that is within chance.
# Columns in other units or in the wrong order were mostly decided, as if nothing were wrong. Now
# all of them are found, and nearly everything that was mixed up.
#
# The last two rows are what it does **not** find. All columns are higher by *three* standard
# deviations, and yet less than a third of these cases go to review: large nuclei have large values
# everywhere, and so they look like a very large nucleus, which is not unheard of.
# All columns higher by 0.3 is drift, and each case alone is ordinary. To find that, look at many
# cases together: compare the rates of new cases with those expected, as ``rejo evaluate`` does.
#
# What is strange about a case
# ----------------------------
# The detector names the features, the strangest first. Next to the range in training, the value
# tells the reviewer that something is wrong with the units.

scaler, detector = careful.best_estimator_
strangest = detector.novel_features(scaler.transform(first[:1]))[0][0].feature
seen = X_train[:, strangest]
print(f"{cells.feature_names[strangest]}: {first[0, strangest]:.1f}", end=" ")
print(f"(in training {seen.min():.1f} to {seen.max():.1f})")
careful.review(first[:3])[["decision", "reason", "forced"]]

# %%
# A class that was never there
# ----------------------------
# Three cultivars of wine, of which we leave one out of training. When it comes, every decision
# about it is wrong. But a new class is novel only if it lies *elsewhere*; if it lies between the
# others, no detector can see it.

X, y = load_wine(return_X_y=True)
for left_out in range(3):
    known = y != left_out
    model = make_pipeline(StandardScaler(), NoveltyReject(logistic, random_state=0))
    model.fit(X[known], y[known])
    novel = model[-1].novel_mask(model[0].transform(X[~known])).mean()
    reviewed = (model.predict(X[~known]) == model[-1].reject_label_).mean()
    print(f"cultivar {left_out} left out: {novel:4.0%} called novel, {reviewed:4.0%} go to review")

# %%
# So it is a guard against rows that do not belong there, not a detector of new classes: five in
# six bottles of the first cultivar are decided, all of them wrongly. If new classes are to be
# expected, let some random cases be reviewed, whatever the model says. :doc:`The page on
# NoveltyReject </reasons>` has more on where it fails.
