"""About 5 % errors among the decided; a table of new cases; a sentence."""

import numpy as np
import pandas as pd
from skfb.estimators import ThresholdFallbackClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from benchmarks.same_job.loans import X, X_new, y

p = cross_val_predict(LogisticRegression(), X, y, method="predict_proba")
right = np.unique(y)[p.argmax(axis=1)] == y
for threshold in np.linspace(0.5, 0.999, 500):
    decided = p.max(axis=1) >= threshold
    if right[decided].mean() >= 0.95:
        break
model = ThresholdFallbackClassifier(
    LogisticRegression(),
    threshold=threshold,
    fallback_label="review",
    fallback_mode="return",
).fit(X, y)
decisions = model.predict(X_new)
wrong = 1 - model.predict_proba(X_new).max(axis=1)
table = pd.DataFrame({"decision": decisions, "chance_wrong": wrong})
table["rank"] = table["chance_wrong"].rank(ascending=False, method="first")
errors = 1 - right[decided].mean()
print(f"{decided.mean():.0%} decided, {errors:.1%} of them wrong; an estimate")
