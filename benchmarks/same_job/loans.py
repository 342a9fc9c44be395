"""Loans: six features and the outcome; 4,000 to learn from, 20,000 new ones."""

import numpy as np
from scipy.special import expit


def make_loans(n, random_state):
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n, 6))
    score = 2.5 * X[:, 0] - 2.0 * X[:, 1] + 1.3 * X[:, 2] * X[:, 3] + 2.4
    return X, np.where(rng.random(n) < expit(score), "repaid", "default")


X, y = make_loans(4_000, random_state=0)
X_new, y_new = make_loans(20_000, random_state=1)
