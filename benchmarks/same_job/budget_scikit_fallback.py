"""About 20 % in review; a table of new cases; a sentence."""

import pandas as pd
from skfb.estimators import RateFallbackClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from benchmarks.same_job.loans import X, X_new, y

model = RateFallbackClassifierCV(
    LogisticRegression(),
    fallback_rate=0.2,
    cv=5,
    fallback_label="review",
    fallback_mode="return",
).fit(X, y)
decisions = model.predict(X_new)
wrong = 1 - model.predict_proba(X_new).max(axis=1)
table = pd.DataFrame({"decision": decisions, "chance_wrong": wrong})
table["rank"] = table["chance_wrong"].rank(ascending=False, method="first")
held_out = cross_val_predict(model, X, y)
decided = held_out != "review"
errors = (held_out != y)[decided].mean()
print(f"{decided.mean():.0%} decided, {errors:.1%} of them wrong; an estimate")
