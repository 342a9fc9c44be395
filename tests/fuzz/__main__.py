"""``python -m tests.fuzz``."""

import os
import sys

if __name__ == "__main__":
    # Before NumPy is imported: a fork has none of the threads of its parent.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"
    from tests.fuzz.runner import run

    sys.exit(run())
