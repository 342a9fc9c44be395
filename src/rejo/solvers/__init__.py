"""Solvers: arrays of floats in, a named tuple of arrays out.

They know nothing of labels, estimators or validation.  ``svm`` chooses the
engine; ``reference`` is the same algorithm in plain NumPy, to read first.
"""
