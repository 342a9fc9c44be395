"""Model files that can be opened without running code from them.

A pickle runs whatever its author wrote into it.  A model file of rejo is a zip file, not
compressed, with a header in JSON (``rejo.json``) beside a model in the format of skops: a tree of
type names, numbers and arrays.  ``load`` looks at all of it before it builds anything: names must
be on our own list of types, arrays as long as they say, and the parts of the model must agree, so
that not even compiled code is led astray.  ``save`` refuses what ``load`` would.

The modules, in the order to read them: ``_files`` (save, load, inspect), ``_container`` (the zip
file), ``_trusted`` (the list), ``_schema`` and ``_arrays`` (before building), ``_checks`` (after,
with ``_checks_sklearn`` and ``_checks_tables``), ``_header``; and apart from them ``_onnx``, the
export to other runtimes.
"""

from rejo.persistence._errors import ModelFileError
from rejo.persistence._files import inspect, load, open_file, save
from rejo.persistence._header import ModelFile, data_hash
from rejo.persistence._onnx import to_onnx
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
