"""Tumours: 30 measurements, benign or malignant; 398 to learn from, 171 new ones."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True)
X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0)
