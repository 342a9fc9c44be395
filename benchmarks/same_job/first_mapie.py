"""First decisions: at most 7 % in review, proved."""

from mapie.risk_control import (
    BinaryRisk,
    MultiClassificationLTTController,
    abstention_rate,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.same_job.tumours import X, X_new, y

X_train, X_calib, y_train, y_calib = train_test_split(
    X, y, test_size=0.3, random_state=0
)
mine = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
right_if_decided = BinaryRisk(
    risk_occurrence=lambda y_true, y_pred: y_pred == y_true,
    risk_condition=lambda y_true, y_pred: y_pred == y_pred,  # NaN: not decided
    higher_is_better=True,
)
controller = MultiClassificationLTTController(
    mine.predict_proba,
    risks=[abstention_rate],
    target_level=[0.07],
    confidence_level=0.9,
    best_predict_param_choice=right_if_decided,
    classes=mine.classes_,
).calibrate(X_calib, y_calib)
decisions = controller.predict(X_new)
