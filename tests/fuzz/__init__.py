"""An attacker's tools for model files: ``python -m tests.fuzz --files 20000 --seed 0``.

Files of every model in the ``zoo`` are taken apart (``files``), changed in ways that keep their
structure (``mutate``) or break their container (``bombs``), and tried (``probe``), each in a
process with limits on time and memory (``limits``).  A file must be refused with a ModelFileError,
or give answers that are classes or reviews.
"""
