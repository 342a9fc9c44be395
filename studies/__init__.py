"""Two studies with rejo: the experiments of the paper, and all methods on real tables.

They stand beside the package, use its public names only, and are not installed. In a clone::

    make reproduce             # the paper's figures and claims, quickly
    make reproduce FULL=1      # with 100 repetitions, as in the paper
    make suite                 # all methods of the catalogue on 22 tables
    python -m studies --help

A study is a *plan*: cells to compute, each alone and in any order, because its seed depends only on
its name. ``run`` computes the cells that are missing, here or on a Dask cluster; ``store`` keeps
a small file for each; ``page`` writes what came out. ``tables`` knows the public tables,
``statistics`` the tests, and ``verify`` compares new rows with those that are kept in docs/.

In reading order, the paper: ``paper`` (its data, figures and claims, and the plan), ``tasks``
(draws and splits), ``tuning``, ``kernels``, ``networks`` (the methods), ``verdicts``, ``curves``,
``paper_page``. The suite: ``suite`` (tables and the plan), ``splits``, ``trials``,
``standings``, ``suite_pictures``, ``suite_page``.
"""
