"""Model files that can be opened without running code from them.

A pickle runs whatever its author wrote into it.  A model file of rejo is a zip file, not
compressed, with a header in JSON (``rejo.json``) and a model in the format of skops: a tree of
type names, numbers and arrays.  ``load`` checks all of it before it builds anything: names must
be on our own list of types, and arrays as long as they say.  Then the parts of the model must
agree, so that compiled code is not led astray either.  ``save`` refuses what ``load`` would.

What a class of rejo knows (how its fitted state is checked, which attributes hold training rows
or are not saved, how it becomes ONNX) it says in its own module; see :mod:`rejo._state`.  For
scikit-learn's classes there is one table, ``_sklearn``.

The modules, in the order to read them: ``_persist`` (save, load, inspect), ``_container`` (the zip
file), ``_trusted`` (the list of types), ``_schema`` and ``_arrays`` (checks before building),
``_building``, ``_parts`` (checks after), ``_writing`` (what is saved), ``_sklearn`` with
``_sklearn_steps``, ``_sklearn_models`` and ``_sklearn_trees``, ``_header`` and
``_description`` (what ``inspect`` says); and ``_onnx`` with ``_sklearn_onnx`` and ``_trees_onnx``,
the export to other runtimes.
"""

from rejo.persistence._description import ModelFile
from rejo.persistence._header import data_hash
from rejo.persistence._onnx import to_onnx
from rejo.persistence._persist import inspect, load, open_file, save
from rejo.persistence._refusals import ModelFileError
from rejo.persistence._trusted import TRUSTED_TYPES

__all__ = [
    "TRUSTED_TYPES",
    "ModelFile",
    "ModelFileError",
    "data_hash",
    "inspect",
    "load",
    "open_file",
    "save",
    "to_onnx",
]
