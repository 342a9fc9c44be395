"""
What each loan costs
====================

To approve a loan of 90,000 that is not repaid costs more than to approve one of 900. Prices may be
formulas of columns: each loan is decided at its own prices, and the queue is in the order of the
money that a review saves.
"""

# %%
# Loans of very different amounts
# -------------------------------
# The table is generated. Half of the loans are below 2,000, a few above 50,000.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from rejo import RejectClassifierCV
from rejo.metrics import expected_cost
from rejo.tables import TableEncoder

rng = np.random.default_rng(0)
n = 6000
loans = pd.DataFrame(
    {
        "amount": (2000 * np.exp(1.4 * rng.normal(size=n))).round(-1) + 10,
        "income": (rng.gamma(8, 5, n) * 1000).round(-2),
        "late_payments": rng.poisson(0.5, n),
        "years_in_job": rng.exponential(6, n).round(),
    }
)
risk = 1.6 * loans["late_payments"] - loans["income"] / 15000 - 0.15 * loans["years_in_job"]
outcome = np.where(rng.random(n) < expit(risk), "default", "repaid")
X, X_new, y, y_new = train_test_split(loans, outcome, random_state=0, stratify=outcome)
X.describe().round()

# %%
# Prices as formulas
# ------------------
# Of a loan that is not repaid, 60 % are lost. A good customer who is turned away costs 2 % of the
# loan and 50. An officer who looks at the papers costs 40. A search around any classifier finds the
# column in the table.

formulas = "error:default=0.6*amount, error:repaid=0.02*amount+50, review=40"
classifier = make_pipeline(TableEncoder(), LogisticRegression(max_iter=1000))
by_case = RejectClassifierCV(classifier, cost_of=formulas).fit(X, y)
print(by_case.summary())

# %%
# One price for all loans
# -----------------------
# The same classifier with the mean of these prices, which is what most tools can take.

by_mean = RejectClassifierCV(classifier, cost_of=by_case.prices_).fit(X, y)
paid = {"cost_of": formulas, "prices": X_new, "reject_label": "reject"}
costs = {
    "mean prices": expected_cost(y_new, by_mean.predict(X_new), **paid),
    "prices of each loan": expected_cost(y_new, by_case.predict(X_new), **paid),
    "review everything": 40.0,
}
for name, cost in costs.items():
    print(f"{name:20} {cost:6.1f} per loan")

# %%
# Which loans go to review?
# -------------------------
# At mean prices, doubt alone decides. At its own prices, a small loan is decided even in doubt,
# because an error costs less than the officer; a large one is reviewed even if a default is
# unlikely.

BLUE, VERMILION = "#0072B2", "#D55E00"
chance = by_case.predict_proba(X_new)[:, 0]
fig, axes = plt.subplots(1, 2, figsize=(8, 3.6), sharey=True, layout="constrained")
for ax, (title, model) in zip(axes, {"mean": by_mean, "own": by_case}.items(), strict=True):
    reviewed = model.reject_mask(X_new)
    ax.scatter(X_new["amount"][~reviewed], chance[~reviewed], s=4, color=BLUE, label="decided")
    ax.scatter(X_new["amount"][reviewed], chance[reviewed], s=4, color=VERMILION, label="review")
    ax.set(
        xscale="log", xlabel="amount", title=f"At {title} prices: {reviewed.mean():.0%} reviewed"
    )
axes[0].set_ylabel("chance of a default")
axes[0].legend(markerscale=3)

# %%
# The queue is in money
# ---------------------
# ``worth`` is what a review of the loan is expected to save.

queue = by_case.queue(X_new, 5)[["decision", "forced", "chance_wrong", "worth"]]
queue.join(X_new["amount"]).round(2)
