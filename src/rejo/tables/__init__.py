"""An analyst's tables: from a CSV or Parquet file to numbers, and decisions back to a file.

``read_table`` reads a whole table for training and finds out how it is written and what its columns
hold.  ``TableEncoder`` learns from it how to write numbers, words and dates as one array; it stands
before a classifier in a pipeline and is saved with it.  ``read_chunks`` then reads the columns that
this encoder needs of files of any size, and ``TableWriter`` writes what was decided.  Whatever is
wrong with a file is a ``TableError``: one line with the file, the place in it, and the remedy.

The modules, in the order to read them: ``_read`` and ``_chunks`` (whole tables, pieces), ``_csv``
with ``_sniff``, ``_bytes`` and ``_rows`` (CSV files), ``_parquet``, ``_words`` and ``_dates`` (what
stands in cells); ``_encoder`` with ``_columns``; ``_writer`` with ``_formulas``
and ``_whole`` (files that appear whole).
"""

from rejo.tables._chunks import read_chunks
from rejo.tables._encoder import TableEncoder
from rejo.tables._read import Table, read_table
from rejo.tables._sniff import MISSING
from rejo.tables._writer import TableWriter
from rejo.tables.errors import TableError

__all__ = [
    "MISSING",
    "Table",
    "TableEncoder",
    "TableError",
    "TableWriter",
    "read_chunks",
    "read_table",
]
