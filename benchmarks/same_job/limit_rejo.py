"""At most 5 % errors among the decided, proved; a table of new cases; a sentence."""

from sklearn.linear_model import LogisticRegression

from benchmarks.same_job.loans import X, X_new, y
from rejo import RejectClassifierCV, ThresholdRejectClassifier

model = RejectClassifierCV(
    ThresholdRejectClassifier(LogisticRegression()),
    max_error=0.05,
    confidence=0.95,
    random_state=0,
).fit(X, y)
table = model.review(X_new)
decisions = table["decision"]
print(model.summary())
