"""``python -m rejo.cli`` is ``rejo``."""

import sys

from rejo.__main__ import run

sys.exit(run())
