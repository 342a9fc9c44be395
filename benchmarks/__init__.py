"""Benchmarks: how fast, how large, how the cost grows.

``python -m benchmarks.bench_svm`` (or ``make bench``) runs them all and prints its tables in
Markdown.  In reading order: ``problems`` makes the data and the contenders, ``timing`` runs
contenders side by side, ``tables`` prints rows and keeps what became of the targets; then the
sections: ``fits``, ``linear``, ``paths``, ``memory`` and ``growth``.
"""
