"""Tables of mixed columns: from a file or a database to numbers, and decisions back.

``read_table`` reads a whole table for training, and finds out how it is written and what its
columns hold.  ``TableEncoder`` learns how to turn numbers, words and dates into one array; it
comes before a classifier in a pipeline and is saved with it.  ``read_chunks`` then reads the
columns that the encoder needs from files of any size, and ``TableWriter`` writes the decisions.
Anything wrong with a file is a ``TableError``, which gives the file, the place in it and a remedy.

The modules, in reading order: ``sources`` (which format), ``_read`` and ``_chunks`` (whole tables,
chunks), ``_csv`` with ``_bytes`` and ``_records`` (CSV files), ``_csv_arrow`` (their clean blocks,
faster), ``_typed`` with ``typed_cells`` (files whose cells have types), ``_parquet`` with
``_pages`` and ``_arrow_words``, ``_excel`` with ``_workbook``, ``_json``, ``_sql``; ``reading``,
``values`` and ``dates`` (contents of cells); ``_encoder`` with ``columns`` and ``strange_cells``;
``_writer`` with ``_sinks``, ``_excel_writer``, ``_csv_texts`` and ``_csv_lines`` (the same,
faster).  ``pieces`` are many Parquet files as one table; ``limits`` has the limits of all.
"""

from rejo.tables._chunks import read_chunks
from rejo.tables._encoder import TableEncoder
from rejo.tables._read import Table, read_table
from rejo.tables._writer import TableWriter
from rejo.tables.errors import TableError
from rejo.tables.values import MISSING

__all__ = [
    "MISSING",
    "Table",
    "TableEncoder",
    "TableError",
    "TableWriter",
    "read_chunks",
    "read_table",
]
