"""Tables of mixed columns: from a file or a database to numbers, and decisions back.

``read_table`` reads a whole table for training, and finds out how it is written and what its
columns hold.  ``TableEncoder`` learns how to turn numbers, words and dates into one array; it
comes before a classifier in a pipeline and is saved with it.  ``read_chunks`` then reads the
columns that the encoder needs from files of any size, and ``TableWriter`` writes the decisions.
Anything wrong with a file is a ``TableError``, which gives the file, the place in it and a remedy.

Libraries read the files: ``sources`` says which format a name has, and ``_csv``, ``_excel`` (with
``_excel_process``), ``_json``, ``pieces`` (Parquet) and ``_sql`` give Arrow columns in pieces of
bounded size.  What they hold is found here: ``values`` (strings, numbers and dates of a column,
missing values, spellings), ``numbers`` and ``dates`` as people write them, ``reading`` (a whole
table) and ``_chunks`` (a table in chunks).  Then ``columns`` and ``_encoder`` make numbers of it,
``doubts`` finds rows and ``watch`` columns that a model should not decide on, and ``overview`` says
what may surprise.  ``_writer`` writes tables; ``errors`` has the one error, and the limits of all.

Names that are not in ``__all__`` are for other rooms of the package.
"""

# ruff: noqa: F401 (names for other rooms)

from rejo.tables._chunks import AS_WRITTEN, csv_stream, read_chunks, watch_files
from rejo.tables._encoder import TableEncoder, is_reading
from rejo.tables._writer import TableWriter
from rejo.tables.columns import as_days, as_pandas, as_words, kind_of, without_number
from rejo.tables.doubts import Checked, Doubt, check_table
from rejo.tables.errors import (
    TableError,
    check_columns,
    did_you_mean,
    import_pandas,
    import_pyarrow,
    shown,
)
from rejo.tables.overview import describe_kinds, find_remarks
from rejo.tables.pieces import (
    ENDINGS,
    ParquetTable,
    Paths,
    RowGroup,
    absolute,
    is_many,
    pieces_of,
    read_piece,
    row_hashes,
    share,
)
from rejo.tables.reading import Table, read_table
from rejo.tables.sources import check_output_format, is_url, place_of
from rejo.tables.values import (
    MISSING,
    Words,
    cells,
    joined,
    merged,
    same_spelling,
    spellings_known,
    words_of,
)
from rejo.tables.watch import Finding, HeldFile, Watch

__all__ = [
    "MISSING",
    "Table",
    "TableEncoder",
    "TableError",
    "TableWriter",
    "read_chunks",
    "read_table",
]
