"""``python -m rejo`` is ``rejo``; alone, it shows versions and the engine, for bug reports."""

import sys

from rejo.cli import main

sys.exit(main(sys.argv[1:] or ["--version", "--verbose"]))
