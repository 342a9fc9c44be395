"""First decisions: about 5 % in review."""

from skfb.estimators import RateFallbackClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.same_job.tumours import X, X_new, y

mine = make_pipeline(StandardScaler(), LogisticRegression())
model = RateFallbackClassifierCV(
    mine, fallback_rate=0.05, cv=5, fallback_label=-1, fallback_mode="return"
).fit(X, y)
decisions = model.predict(X_new)
