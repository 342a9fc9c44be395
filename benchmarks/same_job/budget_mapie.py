"""At most 20 % in review, proved; a table of new cases; a sentence."""

import pandas as pd
from mapie.risk_control import (
    BinaryRisk,
    MultiClassificationLTTController,
    abstention_rate,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from benchmarks.same_job.loans import X, X_new, y

X_train, X_calib, y_train, y_calib = train_test_split(
    X, y, test_size=0.3, random_state=0
)
classifier = LogisticRegression().fit(X_train, y_train)
right_if_decided = BinaryRisk(
    risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
    risk_condition=lambda y_true, y_pred: y_pred == y_pred,  # NaN: not decided
    higher_is_better=True,
)
controller = MultiClassificationLTTController(
    classifier.predict_proba,
    risks=[abstention_rate],
    target_level=[0.2],
    confidence_level=0.95,
    best_predict_param_choice=right_if_decided,
    classes=classifier.classes_,
).calibrate(X_calib, y_calib)
decisions = controller.predict(X_new)
wrong = 1 - classifier.predict_proba(X_new).max(axis=1)
table = pd.DataFrame({"decision": decisions, "chance_wrong": wrong})
table["rank"] = table["chance_wrong"].rank(ascending=False, method="first")
held_out = controller.predict(X_calib)
decided = held_out == held_out
errors = (held_out != y_calib)[decided].mean()
print(f"{decided.mean():.0%} decided, {errors:.1%} of them wrong; 95 % confidence")
