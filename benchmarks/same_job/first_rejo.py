"""First decisions: about 5 % in review."""

from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.same_job.tumours import X, X_new, y
from rejo import RejectClassifierCV, ThresholdRejectClassifier

mine = ThresholdRejectClassifier(make_pipeline(StandardScaler(), LogisticRegression()))
model = RejectClassifierCV(mine, review_budget=0.05).fit(X, y)
decisions = model.predict(X_new)
