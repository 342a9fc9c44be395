"""Made-up rows of the study, in which it is known which method is better."""

import numpy as np
import pytest

COSTS = (0.04, 0.12, 0.2, 0.28, 0.36, 0.44)
SHARES = (0.05, 0.25, 0.4)


def make_rows(
    dataset,
    excess,
    *,
    split="random",
    shares=SHARES,
    n_repetitions=12,
    costs=COSTS,
    noise=0.01,
    crossing=None,
    seed=0,
):
    """Rows of methods whose error rate exceeds a common one by ``excess[method]`` on average."""
    rng = np.random.default_rng(seed)
    n = 400
    rows = []
    for share in shares:
        for repetition in range(n_repetitions):
            luck = rng.normal(scale=0.02)  # of the training set, the same for all methods
            for method, extra in excess.items():
                for w in costs:
                    R = float(np.clip(0.45 - 0.8 * w + luck, 0, 1))
                    E = 0.02 + 0.25 * w + 0.02 * (0.4 - share) + luck / 10 + extra
                    E = float(np.clip(E + rng.normal(scale=noise), 0, 1 - R))
                    rows.append(
                        {
                            "dataset": dataset,
                            "split": split,
                            "share": share,
                            "repetition": repetition,
                            "method": method,
                            "reject_cost": w,
                            "R": R,
                            "E": E,
                            "risk": w * R + E,
                            "ordinal_risk": w * R + E,
                            "crossing_rate": (crossing or {}).get(method),
                            "n_train": round(share * n),
                            "n_test": n - round(share * n),
                            "seconds": 0.1,
                            "params": "{}",
                            "code": "rejo 0.1.0, files 0",
                        }
                    )
    return rows


@pytest.fixture(scope="session")
def rows_of():
    return make_rows
