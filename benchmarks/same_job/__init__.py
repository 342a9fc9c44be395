"""The same jobs in three libraries: the programs behind ``docs/friends.md``.

``python -m benchmarks.same_job`` runs those whose library is installed, and prints the
tables of the page.  A program is a module that leaves its answer in ``decisions``.
"""
