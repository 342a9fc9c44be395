"""``python -m rejo.cli`` is ``rejo``."""

import sys

from rejo.cli import main

sys.exit(main())
