"""From the rows of a table to decisions: which are made, why others are reviewed, in which order.

``rejo predict``, ``rejo evaluate`` and :mod:`rejo.distributed` decide tables through this room, so
that a row gets the same decision wherever it is read.  It knows no options of commands and prints
nothing.

The modules, in reading order: ``opened`` with ``model_columns`` (a model file, the columns it
needs, its judgement of rows), ``reasons`` (why a case goes to review), ``deciding`` (chunks of a
table become decisions), ``ranking`` and ``spool`` (the order of the reviews, known after the last
row), ``decision_frame`` (columns as people read them), ``case_counts`` with ``doubt_counts``,
``ids`` and ``names`` (what became of all cases), ``tested`` (cases whose classes are known) and
``ahead`` (work in a thread).
"""
